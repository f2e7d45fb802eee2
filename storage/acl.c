/* storage/acl.c - see acl.h. */
#include "storage/acl.h"

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

#define PERM_ALL 7u

/*
 * What may follow what: tags ascend, and all but users and groups come once. Somebody who is named twice counts with the
 * first of his entries: acl(5) has no such ACLs, but the kernel takes them, so they may come from a file.
 */
static bool
follows(const struct store_ace *entry, const struct store_ace *before)
{
    bool named = entry->tag == STORE_ACL_USER || entry->tag == STORE_ACL_GROUP;

    if (entry->perm > PERM_ALL || (named && entry->id == STORE_ACL_NO_ID))
        return false;
    return before == NULL || entry->tag > before->tag || (named && entry->tag == before->tag);
}

int
acl_check(const struct store_acl *acl)
{
    const unsigned needed = STORE_ACL_USER_OBJ | STORE_ACL_GROUP_OBJ | STORE_ACL_OTHER;
    const unsigned named = STORE_ACL_USER | STORE_ACL_GROUP;
    const unsigned all = needed | named | STORE_ACL_MASK;
    unsigned seen = 0;

    for (uint32_t i = 0; i < acl->count; i++) {
        const struct store_ace *entry = &acl->entries[i];

        if (entry->tag == 0 || (entry->tag & (entry->tag - 1)) != 0 || (entry->tag & ~all) != 0 ||
            !follows(entry, i > 0 ? entry - 1 : NULL))
            return -EINVAL;
        seen |= entry->tag;
    }
    if ((seen & needed) != needed || ((seen & named) && !(seen & STORE_ACL_MASK)))
        return -EINVAL;
    return 0;
}

static int
check_one(const struct store_acl *acl, bool owner)
{
    if (!owner)
        return -EPERM;
    return acl->count > 0 ? acl_check(acl) : 0;
}

int
acl_may_set(mode_t type, bool owner, const struct store_acl *access, const struct store_acl *defaults)
{
    int err = 0;

    if (S_ISLNK(type) && (access != NULL || defaults != NULL))
        return -EOPNOTSUPP;
    if (access != NULL)
        err = check_one(access, owner);
    if (err < 0 || defaults == NULL)
        return err;
    if (!S_ISDIR(type))
        return defaults->count > 0 ? -EACCES : 0;
    return check_one(defaults, owner);
}

void
acl_from_mode(uint32_t mode, struct store_acl *acl)
{
    acl->count = 3;
    acl->entries[0] = (struct store_ace){ STORE_ACL_USER_OBJ, mode >> 6 & PERM_ALL, STORE_ACL_NO_ID };
    acl->entries[1] = (struct store_ace){ STORE_ACL_GROUP_OBJ, mode >> 3 & PERM_ALL, STORE_ACL_NO_ID };
    acl->entries[2] = (struct store_ace){ STORE_ACL_OTHER, mode & PERM_ALL, STORE_ACL_NO_ID };
}

static struct store_ace *
find(const struct store_acl *acl, unsigned tag)
{
    for (uint32_t i = 0; i < acl->count; i++) {
        if (acl->entries[i].tag == tag)
            return (struct store_ace *)&acl->entries[i];
    }
    return NULL;
}

/* The entry that the group's bits of the mode stand for. */
static struct store_ace *
find_class(const struct store_acl *acl)
{
    struct store_ace *mask = find(acl, STORE_ACL_MASK);

    return mask != NULL ? mask : find(acl, STORE_ACL_GROUP_OBJ);
}

uint32_t
acl_to_mode(const struct store_acl *acl, bool *minimal)
{
    *minimal = acl->count == 3;
    return (uint32_t)(find(acl, STORE_ACL_USER_OBJ)->perm << 6 | find_class(acl)->perm << 3 |
                      find(acl, STORE_ACL_OTHER)->perm);
}

static bool
has(unsigned perm, unsigned wanted)
{
    return (wanted & ~perm) == 0;
}

bool
acl_permits(const struct store_acl *acl, uid_t owner, gid_t group, const struct store_cred *cred, unsigned wanted)
{
    const struct store_ace *mask = find(acl, STORE_ACL_MASK);
    unsigned most = mask != NULL ? mask->perm : PERM_ALL;
    bool member = false;

    if (cred->uid == owner)
        return has(find(acl, STORE_ACL_USER_OBJ)->perm, wanted);
    for (uint32_t i = 0; i < acl->count; i++) {
        const struct store_ace *entry = &acl->entries[i];

        if (entry->tag == STORE_ACL_USER && entry->id == cred->uid)
            return has(entry->perm & most, wanted);
        if ((entry->tag == STORE_ACL_GROUP_OBJ && cred_in_group(cred, group)) ||
            (entry->tag == STORE_ACL_GROUP && cred_in_group(cred, entry->id))) {
            member = true;
            if (has(entry->perm & most, wanted))
                return true;            /* one of his groups gives all of it */
        }
    }
    return !member && has(find(acl, STORE_ACL_OTHER)->perm, wanted);
}

void
acl_chmod(struct store_acl *acl, uint32_t mode)
{
    find(acl, STORE_ACL_USER_OBJ)->perm = mode >> 6 & PERM_ALL;
    find_class(acl)->perm = mode >> 3 & PERM_ALL;
    find(acl, STORE_ACL_OTHER)->perm = mode & PERM_ALL;
}

uint32_t
acl_inherit(struct store_acl *acl, uint32_t mode)
{
    bool minimal;

    mode = (mode & ~0777u) | (mode & acl_to_mode(acl, &minimal));
    acl_chmod(acl, mode);
    return mode;
}
