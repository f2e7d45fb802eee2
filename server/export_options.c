/* server/export_options.c - see export_options.h. */
#include "server/export_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/export_sec.h"
#include "server/log.h"
#include "server/text.h"

#define ANON_ID 65534                                    /* nobody and nogroup; -2 in 16 bits */
#define LAST_ID UINT64_C(4294967294)                     /* -2 in 32 bits; -1 means "none" to the kernel */
#define UUID_DIGITS 32
#define SHOWN_MAX 96                                     /* bytes of a wrong word that are shown */
#define HELP_INDENT 22

enum option_type {
    OPTION_FLAG,                        /* sets a bool to flag */
    OPTION_SEC_FLAG,                    /* the same, of struct export_sec: for the flavours of the last sec= */
    OPTION_NOTHING,                     /* says what we do anyway */
    OPTION_ID,                          /* uint32_t; -2 is 4294967294 */
    OPTION_SIZE,                        /* uint32_t, bytes; a multiple of 512 */
    OPTION_RATE,                        /* uint64_t, bytes a second */
    OPTION_NUMBER,                      /* uint32_t */
    OPTION_IO,                          /* enum store_io */
    OPTION_DIR,                         /* const char *: an absolute path, owned */
    OPTION_MOUNT_POINT,                 /* the same, or "" where no value is given */
    OPTION_FSID,
    OPTION_SEC,                         /* a list of flavours, between colons */
    OPTION_REFUSED                      /* of exports(5); help says why it is not taken */
};

struct export_option {
    const char *name;
    enum option_type type;
    size_t offset;
    bool flag;
    uint64_t min, max;
    const char *value;                  /* what follows the "=", for people; NULL: there is no value */
    bool optional;                      /* the value can be left out */
    bool alias;                         /* not shown: another row is in its place, or its absence says the same */
    const char *help;
    const char *when;                   /* when to touch it, for the manual; NULL: help says enough */
};

#define AT(field)               .offset = offsetof(struct export_rights, field)
#define FLAG(field, on)         .type = OPTION_FLAG, AT(field), .flag = on
#define SEC_FLAG(field, on)     .type = OPTION_SEC_FLAG, .offset = offsetof(struct export_sec, field), .flag = on
#define NOTHING                 .type = OPTION_NOTHING
#define ID(field)               .type = OPTION_ID, AT(field), .max = LAST_ID, .value = "ID"
#define SIZE(field, from, to)   .type = OPTION_SIZE, AT(field), .min = from, .max = to, .value = "BYTES"
#define RATE(field, from, to)   .type = OPTION_RATE, AT(field), .min = from, .max = to, .value = "BYTES"
#define NUMBER(field, from, to) .type = OPTION_NUMBER, AT(field), .min = from, .max = to, .value = "NUMBER"
#define MOUNT_POINT             .type = OPTION_MOUNT_POINT, AT(mount_point), .value = "DIR", .optional = true
#define REFUSED                 .type = OPTION_REFUSED
#define NOT_YET                 "is not supported in this version"
#define NFS4_ONLY               "belongs to NFSv4: this server speaks NFSv3"

static const struct export_option export_options[] = {
    { "ro", SEC_FLAG(read_only, true), .help = "Refuse every change (default)." },
    { "rw", SEC_FLAG(read_only, false), .help = "Allow changes." },
    { "sync", FLAG(async, false), .help = "Reply once a change is on disk (default)." },
    { "async", FLAG(async, true), .help = "Reply before changes are on disk; a crash of the server loses them." },
    { "secure", FLAG(secure, true), .help = "Take calls without Kerberos from ports below 1024 only (default)." },
    { "insecure", FLAG(secure, false), .help = "Take calls from any port." },
    { "wdelay", FLAG(wdelay, true), .help = "Let stable writes that arrive together share one flush (default); none waits for "
                                            "others that may come.",
      .when = "Leave it on: it costs nothing when writes come alone." },
    { "no_wdelay", FLAG(wdelay, false), .help = "Begin a flush with the first of them; those behind it share the next one." },
    { "root_squash", SEC_FLAG(root_squash, true), .help = "Take uid 0 and gid 0 for anonuid and anongid (default)." },
    { "no_root_squash", SEC_FLAG(root_squash, false), .help = "Let the client's root be root." },
    { "all_squash", SEC_FLAG(all_squash, true), .help = "Take every caller for anonuid and anongid." },
    { "no_all_squash", SEC_FLAG(all_squash, false), .help = "Take callers for whom they say they are (default)." },
    { "anonuid", ID(anon_uid), .help = "The uid of squashed callers; default 65534, -2 is 4294967294." },
    { "anongid", ID(anon_gid), .help = "The gid of squashed callers; default 65534, -2 is 4294967294." },
    { "manage_gids", FLAG(manage_gids, true), .help = "Take the groups that this machine knows of a user for those "
                                                      "that the client tells, 16 at most." },
    { "fsid", .type = OPTION_FSID, .value = "NUMBER|root|UUID",
      .help = "Names the export in file handles, whatever directory is behind it." },
    { "path", .type = OPTION_DIR, AT(dir), .value = "DIR", .help = "Serve this directory under the export's name." },
    { "mp", MOUNT_POINT, .alias = true, .help = "The same as mountpoint." },
    { "mountpoint", MOUNT_POINT, .help = "Serve only while this directory (or else the export's own) is a mount point; "
                                         "one that is mounted later is served from then on." },
    { "rtmax", SIZE(rtmax, 4 << 10, 4 << 20), .help = "Largest READ answered in one reply; default: the server's.",
      .when = "For an export whose clients should take turns sooner, or read in larger pieces, than those of others." },
    { "wtmax", SIZE(wtmax, 4 << 10, 4 << 20), .help = "Largest WRITE taken in one call; default: the server's.",
      .when = "As for rtmax." },
    { "rtpref", SIZE(rtpref, 4 << 10, 4 << 20), .help = "READ that clients are told to prefer; default: the "
                                                        "server's, at most: rtmax." },
    { "wtpref", SIZE(wtpref, 4 << 10, 4 << 20), .help = "WRITE that clients are told to prefer; default: the "
                                                        "server's, at most: wtmax." },
    { "dtpref", SIZE(dtpref, 4 << 10, 4 << 20), .help = "Preferred size of a READDIR reply; default: the server's.",
      .when = "As for the server's dtpref." },
    { "io", .type = OPTION_IO, AT(io), .value = "auto|buffered|dontcache|direct",
      .help = "The way of file data: through the page cache (buffered), likewise but leaving nothing there (dontcache), or "
              "past it (direct); auto, the default, is buffered.",
      .when = "dontcache or direct for large files that are read or written once, such as backups, so that they do not "
              "drive everything else out of memory; direct leaves out the copy as well, but each call then waits for the "
              "disk." },
    { "readahead", SIZE(readahead, 0, 64 << 20), .help = "Bytes behind a stream of READs that are fetched from disk ahead "
                                                         "of it; default, and 0: as the kernel does by itself.",
      .when = "Some MiB for disks with many spindles or far away, when a single stream is slower than the disk." },
    { "max_rate", RATE(max_rate, 64 << 10, UINT64_C(1) << 40), .help = "READ and WRITE together, in bytes a second (64K or "
                                                                       "more), for each address that calls; default: no "
                                                                       "limit." },
    { "max_iops", NUMBER(max_iops, 1, 100000000), .help = "Calls a second, of whatever kind, for each address that "
                                                          "calls; default: no limit." },
    { "nordirplus", FLAG(readdirplus, false), .help = "Refuse READDIRPLUS: clients read names alone." },
    { "noatime", FLAG(noatime, true), .help = "Reading a file or directory leaves its time of access alone; symbolic "
                                              "links follow their file system.",
      .when = "Where nobody looks at times of access: it saves a write for each file that is read. The usual, a file "
              "system that is mounted with relatime, has one a day at most." },
    { "nodiratime", FLAG(nodiratime, true), .help = "The same for directories alone.",
      .when = "Where times of access matter, but not those of directories." },
    { "acl", FLAG(acl, true), .alias = true, .help = "Tell clients of POSIX ACLs and let them set some (default)." },
    { "no_acl", FLAG(acl, false), .help = "Refuse both: clients see modes alone. The file system goes by its ACLs all the "
                                          "same." },
    { "subtree_check", FLAG(subtree_check, true), .help = "With each call, check that the file is still inside of the export, "
                                                          "and that the caller may pass the directories above it." },
    { "no_subtree_check", FLAG(subtree_check, false), .help = "Check the export of a handle only (default)." },
    { "hide", FLAG(nohide, false), .help = "Where the export is a mount point inside of another one, show what is "
                                           "underneath there, unless that one has crossmnt (default)." },
    { "nohide", FLAG(nohide, true), .help = "Where the export is a mount point inside of another one, clients of both "
                                            "walk into it from there." },
    { "crossmnt", FLAG(crossmnt, true), .help = "Clients walk into file systems that are mounted inside of the export, "
                                                "under its options unless a line has others for them." },
    { "nocrossmnt", FLAG(crossmnt, false), .alias = true, .help = "They see what is underneath (default)." },
    { "auth_nlm", FLAG(insecure_locks, false), .alias = true,
      .help = "Requests for locks need the permissions of their callers (default); there are no locks yet." },
    { "secure_locks", FLAG(insecure_locks, false), .alias = true, .help = "The same as auth_nlm." },
    { "insecure_locks", FLAG(insecure_locks, true), .help = "They need none; while there are no locks, that is told when the "
                                                            "exports are read." },
    { "no_auth_nlm", FLAG(insecure_locks, true), .alias = true, .help = "The same as insecure_locks." },
    { "no_pnfs", NOTHING, .help = "No parallel NFS (always so)." },
    { "sec", .type = OPTION_SEC, .value = "FLAVOUR:...",
      .help = "How callers show who they are, best first: sys (they say so, default), none (nobody), krb5 (Kerberos), "
              "krb5i (and nothing is changed on the way), krb5p (nor read). With several sec= in one list, ro, rw and "
              "the squash options are for the flavours of the sec= in front of them." },

    { "squash_uids", REFUSED, .help = NOT_YET },
    { "squash_gids", REFUSED, .help = NOT_YET },
    { "reexport", REFUSED, .help = NOT_YET },
    { "xprtsec", REFUSED, .help = NOT_YET },
    { "refer", REFUSED, .help = NFS4_ONLY },
    { "replicas", REFUSED, .help = NFS4_ONLY },
    { "pnfs", REFUSED, .help = NFS4_ONLY },
    { "security_label", REFUSED, .help = NFS4_ONLY },
};

#define OPTIONS (sizeof(export_options) / sizeof(*export_options))

void
export_rights_init(struct export_rights *rights)
{
    *rights = (struct export_rights){
        .usual = { .flavor = CALL_AUTH_SYS, .read_only = true, .root_squash = true },
        .secure = true, .wdelay = true, .readdirplus = true, .acl = true,
        .anon_uid = ANON_ID, .anon_gid = ANON_ID
    };
}

int
export_rights_copy(struct export_rights *rights, const struct export_rights *from)
{
    *rights = *from;
    rights->dir = rights->mount_point = NULL;
    if (from->dir != NULL)
        rights->dir = strdup(from->dir);
    if (from->mount_point != NULL)
        rights->mount_point = strdup(from->mount_point);
    if ((from->dir == NULL || rights->dir != NULL) && (from->mount_point == NULL || rights->mount_point != NULL))
        return 0;
    export_rights_fini(rights);
    return -ENOMEM;
}

void
export_rights_fini(struct export_rights *rights)
{
    free((char *)rights->dir);
    free((char *)rights->mount_point);
    rights->dir = rights->mount_point = NULL;
}

static const char *
option_name(size_t i)
{
    return i < OPTIONS ? export_options[i].name : NULL;
}

static const struct export_option *
find_option(const char *name, size_t len)
{
    size_t i;

    for (i = 0; i < OPTIONS; i++)
        if (strlen(export_options[i].name) == len && memcmp(export_options[i].name, name, len) == 0)
            return &export_options[i];
    return NULL;
}

static int
apply_id(const struct export_option *row, struct export_rights *rights, const char *value, char *error,
         size_t error_size)
{
    char shown[SHOWN_MAX];
    uint64_t id = LAST_ID;
    uint32_t narrow;
    int err = strcmp(value, "-2") == 0 ? 0 : text_number(value, &id);

    if (err == -EINVAL && value[0] != '-') {
        snprintf(error, error_size, "%s: %s is not a number", row->name,
                 log_quote(shown, sizeof(shown), value, strlen(value)));
        return -EINVAL;
    }
    if (err < 0 || id > row->max) {
        snprintf(error, error_size, "%s: %s is out of range (0 to 4294967294, or -2)", row->name,
                 log_quote(shown, sizeof(shown), value, strlen(value)));
        return -EINVAL;
    }
    narrow = (uint32_t)id;
    memcpy((char *)rights + row->offset, &narrow, sizeof(narrow));
    return 0;
}

static const char *
format_number(char *out, size_t size, bool as_size, uint64_t value)
{
    if (as_size)
        return text_format_size(out, size, value);
    snprintf(out, size, "%llu", (unsigned long long)value);
    return out;
}

/* Read a value in the row's range. Returns 0, or -EINVAL with error. */
static int
read_value(const struct export_option *row, const char *value, uint64_t *number, char *error, size_t error_size)
{
    bool size = row->type != OPTION_NUMBER;
    char shown[SHOWN_MAX], min[24], max[24];
    int err = size ? text_size(value, number) : text_number(value, number);

    log_quote(shown, sizeof(shown), value, strlen(value));
    if (err == -EINVAL) {
        snprintf(error, error_size, "%s: %s is not %s", row->name, shown,
                 row->type == OPTION_NUMBER ? "a number"
                 : row->type == OPTION_SIZE ? "a size (a number, or one with K or M behind it)"
                                            : "a size (a number, or one with K, M or G behind it)");
        return -EINVAL;
    }
    if (err < 0 || *number < row->min || *number > row->max) {
        snprintf(error, error_size, "%s: %s is out of range (%s to %s)", row->name, shown,
                 format_number(min, sizeof(min), size, row->min), format_number(max, sizeof(max), size, row->max));
        return -EINVAL;
    }
    return 0;
}

static int
apply_size(const struct export_option *row, struct export_rights *rights, const char *value, char *error,
           size_t error_size)
{
    char shown[SHOWN_MAX];
    uint64_t bytes;
    uint32_t narrow;
    int err = read_value(row, value, &bytes, error, error_size);

    if (err < 0)
        return err;
    if (bytes % 512 != 0) {
        snprintf(error, error_size, "%s: %s is not a multiple of 512", row->name,
                 log_quote(shown, sizeof(shown), value, strlen(value)));
        return -EINVAL;
    }
    narrow = (uint32_t)bytes;
    memcpy((char *)rights + row->offset, &narrow, sizeof(narrow));
    return 0;
}

static int
apply_number(const struct export_option *row, struct export_rights *rights, const char *value, char *error,
             size_t error_size)
{
    uint64_t number;
    uint32_t narrow;
    int err = read_value(row, value, &number, error, error_size);

    if (err < 0)
        return err;
    narrow = (uint32_t)number;
    if (row->type == OPTION_RATE)
        memcpy((char *)rights + row->offset, &number, sizeof(number));
    else
        memcpy((char *)rights + row->offset, &narrow, sizeof(narrow));
    return 0;
}

static int
apply_dir(const struct export_option *row, struct export_rights *rights, const char *value, char *error,
          size_t error_size)
{
    char **field = (char **)((char *)rights + row->offset);
    char shown[SHOWN_MAX];
    char *copy;

    if (value[0] != '/' && value[0] != '\0') {
        snprintf(error, error_size, "%s: %s is not an absolute path", row->name,
                 log_quote(shown, sizeof(shown), value, strlen(value)));
        return -EINVAL;
    }
    copy = strdup(value);
    if (copy == NULL) {
        snprintf(error, error_size, "%s: out of memory", row->name);
        return -ENOMEM;
    }
    free(*field);
    *field = copy;
    return 0;
}

/* 32 hexadecimal digits with any punctuation among them, as exports(5) has it. */
static bool
read_uuid(const char *text, uint64_t uuid[2])
{
    unsigned digits = 0, digit;

    uuid[0] = uuid[1] = 0;
    for (; *text != '\0'; text++) {
        if (ispunct((unsigned char)*text))
            continue;
        if (!isxdigit((unsigned char)*text) || digits == UUID_DIGITS)
            return false;
        digit = isdigit((unsigned char)*text) ? *text - '0' : tolower((unsigned char)*text) - 'a' + 10;
        uuid[digits / 16] = uuid[digits / 16] << 4 | digit;
        digits++;
    }
    return digits == UUID_DIGITS;
}

static int
apply_fsid(struct export_rights *rights, const char *value, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    uint64_t fsid[2] = { 0, 0 };

    if (strcmp(value, "root") != 0 && !read_uuid(value, fsid)) {
        fsid[0] = 0;
        if (text_number(value, &fsid[1]) < 0 || fsid[1] > UINT32_MAX) {
            snprintf(error, error_size, "fsid: %s is neither a number (0 to 4294967295) nor root nor a UUID",
                     log_quote(shown, sizeof(shown), value, strlen(value)));
            return -EINVAL;
        }
    }
    rights->has_fsid = true;
    memcpy(rights->fsid, fsid, sizeof(fsid));
    return 0;
}

static const char *const io_words[] = {
    [STORE_IO_AUTO] = "auto", [STORE_IO_BUFFERED] = "buffered", [STORE_IO_DONTCACHE] = "dontcache",
    [STORE_IO_DIRECT] = "direct", NULL
};

static const char *
io_word(size_t i)
{
    return io_words[i];
}

static int
apply_io(struct export_rights *rights, const char *value, char *error, size_t error_size)
{
    char shown[SHOWN_MAX], hint[SHOWN_MAX];
    size_t i;

    for (i = 0; io_words[i] != NULL; i++) {
        if (strcmp(value, io_words[i]) == 0) {
            rights->io = (enum store_io)i;
            return 0;
        }
    }
    snprintf(error, error_size, "io: %s is neither auto nor buffered nor dontcache nor direct%s",
             log_quote(shown, sizeof(shown), value, strlen(value)),
             text_suggest(hint, sizeof(hint), value, io_word));
    return -EINVAL;
}

static int
apply_row(const struct export_option *row, struct export_rights *rights, const char *value, char *error,
          size_t error_size)
{
    switch (row->type) {
    case OPTION_FLAG:
        memcpy((char *)rights + row->offset, &row->flag, sizeof(row->flag));
        return 0;
    case OPTION_SEC_FLAG:
        export_sec_set_flag(rights, row->offset, row->flag);
        return 0;
    case OPTION_NOTHING:
        return 0;
    case OPTION_ID:
        return apply_id(row, rights, value, error, error_size);
    case OPTION_SIZE:
        return apply_size(row, rights, value, error, error_size);
    case OPTION_RATE:
    case OPTION_NUMBER:
        return apply_number(row, rights, value, error, error_size);
    case OPTION_DIR:
        return apply_dir(row, rights, value, error, error_size);
    case OPTION_MOUNT_POINT:
        return apply_dir(row, rights, value != NULL ? value : "", error, error_size);
    case OPTION_FSID:
        return apply_fsid(rights, value, error, error_size);
    case OPTION_IO:
        return apply_io(rights, value, error, error_size);
    case OPTION_SEC:
        return export_sec_read(rights, value, error, error_size);
    case OPTION_REFUSED:
        snprintf(error, error_size, "option %s %s", row->name, row->help);
        return -EINVAL;
    }
    return -EINVAL;
}

void
export_options_begin(struct export_rights *rights)
{
    rights->sec_open = 0;
}

int
export_option_apply(struct export_rights *rights, const char *option, char *error, size_t error_size)
{
    size_t len = strcspn(option, "=");
    const char *value = option[len] == '=' ? option + len + 1 : NULL;
    const struct export_option *row = find_option(option, len);
    char shown[SHOWN_MAX], hint[SHOWN_MAX], name[SHOWN_MAX];

    if (row == NULL) {
        snprintf(name, sizeof(name), "%.*s", (int)len, option);
        snprintf(error, error_size, "unknown option %s%s", log_quote(shown, sizeof(shown), option, len),
                 text_suggest(hint, sizeof(hint), name, option_name));
        return -EINVAL;
    }
    if (row->type != OPTION_REFUSED && row->value == NULL && value != NULL) {
        snprintf(error, error_size, "option %s takes no value", row->name);
        return -EINVAL;
    }
    if (row->value != NULL && (value == NULL ? !row->optional : *value == '\0')) {
        snprintf(error, error_size, "option %s needs a value (%s=%s)", row->name, row->name, row->value);
        return -EINVAL;
    }
    return apply_row(row, rights, value, error, error_size);
}

/* A number that is not the default. Returns whether it was printed. */
static bool
print_number(FILE *out, const struct export_option *row, const struct export_rights *rights, const char *comma)
{
    const char *field = (const char *)rights + row->offset;
    uint64_t number;
    uint32_t narrow;

    if (row->type == OPTION_RATE) {
        memcpy(&number, field, sizeof(number));
    } else {
        memcpy(&narrow, field, sizeof(narrow));
        number = narrow;
    }
    if (number == (row->type == OPTION_ID ? ANON_ID : 0))
        return false;
    fprintf(out, "%s%s=%llu", comma, row->name, (unsigned long long)number);
    return true;
}

/* Print a row's option if the rights have it, behind a comma if another one is in front. Returns whether they do. */
static bool
print_option(FILE *out, const struct export_option *row, const struct export_rights *rights, bool first)
{
    const char *comma = first ? "" : ",", *dir;
    bool flag;

    if (row->alias)
        return false;
    switch (row->type) {
    case OPTION_FLAG:
    case OPTION_SEC_FLAG:
        memcpy(&flag, (row->type == OPTION_FLAG ? (const char *)rights : (const char *)&rights->usual) + row->offset,
               sizeof(flag));
        if (flag != row->flag)
            return false;
        fprintf(out, "%s%s", comma, row->name);
        return true;
    case OPTION_ID:
    case OPTION_SIZE:
    case OPTION_NUMBER:
    case OPTION_RATE:
        return print_number(out, row, rights, comma);
    case OPTION_DIR:
    case OPTION_MOUNT_POINT:
        memcpy(&dir, (const char *)rights + row->offset, sizeof(dir));
        if (dir == NULL)
            return false;
        fprintf(out, "%s%s%s", comma, row->name, *dir != '\0' ? "=" : "");
        text_print_exports(out, dir);
        return true;
    case OPTION_FSID:
        if (!rights->has_fsid)
            return false;
        if (rights->fsid[0] == 0 && rights->fsid[1] <= UINT32_MAX)
            fprintf(out, "%sfsid=%u", comma, (unsigned)rights->fsid[1]);
        else
            fprintf(out, "%sfsid=%08x-%04x-%04x-%04x-%012llx", comma, (unsigned)(rights->fsid[0] >> 32),
                    (unsigned)(rights->fsid[0] >> 16 & 0xffff), (unsigned)(rights->fsid[0] & 0xffff),
                    (unsigned)(rights->fsid[1] >> 48), (unsigned long long)rights->fsid[1] & 0xffffffffffff);
        return true;
    case OPTION_IO:
        if (rights->io == STORE_IO_AUTO)
            return false;
        fprintf(out, "%sio=%s", comma, io_words[rights->io]);
        return true;
    case OPTION_SEC:
        fprintf(out, "%ssec=", comma);
        export_sec_print(out, rights);
        return true;
    case OPTION_NOTHING:
        fprintf(out, "%s%s", comma, row->name);
        return true;
    case OPTION_REFUSED:
        break;
    }
    return false;
}

/* What exportfs -v prints, in its order; of what we do anyway it names "hide". */
static const char *const exportfs_order[] = {
    "sync", "async", "wdelay", "no_wdelay", "hide", "nohide", "crossmnt", "subtree_check", "no_subtree_check", "fsid",
    "mountpoint", "anonuid", "anongid", NULL
};

/* The same for each group of flavours that have the same rights. */
static const char *const exportfs_sec_order[] = {
    "sec", "ro", "rw", "secure", "insecure", "root_squash", "no_root_squash", "no_all_squash", "all_squash", NULL
};

static bool
is_in(const char *const *order, const char *name)
{
    for (; *order != NULL; order++)
        if (strcmp(*order, name) == 0)
            return true;
    return false;
}

static void
print_in_order(FILE *out, const char *const *order, const struct export_rights *rights, bool first)
{
    for (; *order != NULL; order++)
        if (print_option(out, find_option(*order, strlen(*order)), rights, first))
            first = false;
}

void
export_rights_print(FILE *out, const struct export_rights *rights)
{
    struct export_rights group;
    unsigned next = 0;
    size_t i;

    print_in_order(out, exportfs_order, rights, true);
    do {
        next = export_sec_group(rights, next, &group);
        print_in_order(out, exportfs_sec_order, &group, false);
    } while (next < rights->nsec);
    for (i = 0; i < OPTIONS; i++)
        if (export_options[i].type != OPTION_NOTHING && !is_in(exportfs_order, export_options[i].name) &&
            !is_in(exportfs_sec_order, export_options[i].name))
            print_option(out, &export_options[i], rights, false);
}

static void
format_head(const struct export_option *row, char *out, size_t size)
{
    if (row->value == NULL)
        snprintf(out, size, "%s", row->name);
    else
        snprintf(out, size, row->optional ? "%s[=%s]" : "%s=%s", row->name, row->value);
}

void
export_options_print_help(FILE *out)
{
    size_t i;

    fprintf(out, "Exports are written as in exports(5): DIRECTORY CLIENT(OPTION,...) ...\n"
                 "CLIENT is an address or a host name, a network (10.0.0.0/8), a pattern for names\n"
                 "(*.example.org), @NETGROUP, or * for everyone; the first of these that fits counts.\n"
                 "Options:\n");
    for (i = 0; i < OPTIONS; i++) {
        const struct export_option *row = &export_options[i];
        char head[64];

        if (row->type == OPTION_REFUSED)
            continue;
        format_head(row, head, sizeof(head));
        text_print_help(out, head, HELP_INDENT, row->help);
    }
}

void
export_options_print_roff(FILE *out)
{
    size_t i;

    for (i = 0; i < OPTIONS; i++) {
        const struct export_option *row = &export_options[i];
        char head[64];

        if (row->type == OPTION_REFUSED)
            continue;
        format_head(row, head, sizeof(head));
        fprintf(out, ".TP\n.B ");
        text_print_roff(out, head);
        fprintf(out, "\n");
        text_print_roff(out, row->help);
        fprintf(out, "\n");
        if (row->when != NULL) {
            text_print_roff(out, row->when);
            fprintf(out, "\n");
        }
    }
}
