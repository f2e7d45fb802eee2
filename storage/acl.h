/*
 * storage/acl.h - the rules of POSIX ACLs (acl(5), POSIX 1003.1e draft 17), for where no kernel applies them. Any thread.
 *
 * An ACL that says no more than nine mode bits can is "minimal"; a file that has one has none, since its mode says it. In
 * a mode that goes with another ACL the group's bits are those of the mask.
 */
#ifndef RINGNFS_STORAGE_ACL_H
#define RINGNFS_STORAGE_ACL_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/cred.h"
#include "storage/store.h"

/* 0 when the entries are complete and in the order of their tags, as the kernel wants them; else -EINVAL. */
int acl_check(const struct store_acl *acl);

/*
 * Whether an owner, or somebody else, may set these ACLs (store_setacl()) of a file of that type: 0 or -errno. When more
 * than one thing is wrong, the answer is that of the kernel's server.
 */
int acl_may_set(mode_t type, bool owner, const struct store_acl *access, const struct store_acl *defaults);

/* The three entries of a mode; acl has room for them. */
void acl_from_mode(uint32_t mode, struct store_acl *acl);

/* The nine bits of the mode that go with a valid ACL, and whether it is minimal. */
uint32_t acl_to_mode(const struct store_acl *acl, bool *minimal);

/* Whether a valid ACL of a file of owner and group gives a caller all of these (4 read, 2 write, 1 execute). */
bool acl_permits(const struct store_acl *acl, uid_t owner, gid_t group, const struct store_cred *cred, unsigned wanted);

/* chmod(2): the entries get the bits of a mode. */
void acl_chmod(struct store_acl *acl, uint32_t mode);

/*
 * The access ACL of what is made with a mode below a default ACL, out of a copy of that: neither it nor the mode, whose
 * new bits are returned, keeps what the other has not.
 */
uint32_t acl_inherit(struct store_acl *acl, uint32_t mode);

#endif
