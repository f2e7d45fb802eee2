/*
 * tests/lib/live_acl.h - ACLs of files on a live server: lists to set, what is told of them, and who may do what by them.
 *
 * The files are Alice's and her group's. Where callers are not told apart, a test that makes one is left out.
 */
#ifndef RINGNFS_TESTS_LIB_LIVE_ACL_H
#define RINGNFS_TESTS_LIB_LIVE_ACL_H

#include "tests/lib/live.h"

#define ALICE 1000
#define BOB 1001
#define CAROL 1002
#define DAVE 1003
#define HERS 100                        /* Alice's group */
#define TEAM 200
#define ALL (NFS_ACL | NFS_ACLCNT | NFS_DFACL | NFS_DFACLCNT)
#define BOTH (NFS_ACL | NFS_DFACL)
#define USUAL "rw,no_root_squash,insecure"      /* options of an export */

/* Entries of a list. */
#define OWNER(perm)     { NFS_ACL_USER_OBJ, ALICE, perm }
#define USER(id, perm)  { NFS_ACL_USER, id, perm }
#define GROUP_OBJ(perm) { NFS_ACL_GROUP_OBJ, HERS, perm }
#define GROUP(id, perm) { NFS_ACL_GROUP, id, perm }
#define MASK(perm)      { NFS_ACL_CLASS_OBJ, 0, perm }
#define OTHER(perm)     { NFS_ACL_OTHER_OBJ, 0, perm }

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Set an array of entries as the access ACL. */
#define SET(srv, file, list) live_setacl(srv, file, NFS_ACL, list, COUNT(list), NULL, 0)

extern const aclent bob_reads[5], team_writes[6];

nfs_fh3 live_her_file(struct live *srv, const char *name, uint32_t mode);       /* in the root */
nfs_fh3 live_her_dir(struct live *srv, const char *name, uint32_t mode);

/* What GETACL tells when it is asked for everything. It must work. */
const secattr *live_acl(struct live *srv, const nfs_fh3 *file);

/* The access ACL, or the default ACL, is this list; given without NFS_ACL_DEFAULT. */
void live_assert_acl(struct live *srv, const nfs_fh3 *file, const aclent *want, u_int count);
void live_assert_default(struct live *srv, const nfs_fh3 *dir, const aclent *want, u_int count);

/* The same of the access ACL, with the entries in braces. */
#define ASSERT_ACL(srv, file, ...) \
    live_assert_acl(srv, file, (const aclent[])__VA_ARGS__, COUNT(((const aclent[])__VA_ARGS__)))

/* Call as this user from now on; returns what ACCESS allows him. */
uint32_t live_may(struct live *srv, const nfs_fh3 *file, uint32_t uid, uint32_t gid);

#endif
