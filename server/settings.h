/*
 * server/settings.h - everything that can be tuned, as plain values; settings_table.c has a row for each.
 *
 * The table feeds the parser of ringnfs.conf, --set, --help-settings and the manual page. Values are checked against
 * their row's range when they are set; an error names the key, what was read and what would be right.
 */
#ifndef RINGNFS_SERVER_SETTINGS_H
#define RINGNFS_SERVER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum setting_rpcbind { RPCBIND_AUTO, RPCBIND_SYSTEM, RPCBIND_OFF };
enum setting_engine { SETTING_ENGINE_AUTO, SETTING_ENGINE_URING, SETTING_ENGINE_POOL };
enum setting_journal_data { SETTING_JOURNAL_DIGEST, SETTING_JOURNAL_WHOLE };
enum setting_sandbox { SETTING_SANDBOX_AUTO, SETTING_SANDBOX_ON, SETTING_SANDBOX_OFF };
enum setting_inline { SETTING_INLINE_AUTO, SETTING_INLINE_ON, SETTING_INLINE_OFF };
enum setting_memory_clock { MEMORY_CLOCK_AUTO, MEMORY_CLOCK_REAL, MEMORY_CLOCK_COUNTED };

struct setting;

struct settings {
    uint32_t port;                      /* 0: the kernel chooses; default 2049 */
    uint32_t mount_port;                /* 0: the same as port */
    bool udp, tcp;
    enum setting_rpcbind rpcbind;
    uint32_t threads;                   /* that may block, RPCNFSDCOUNT; 0: as many as the work takes */
    uint32_t workers;                   /* event workers; 0: one per CPU, at most 8 */
    char *cpu_affinity;                 /* owned; where workers run: a list of CPUs, "auto" or "off" (cpus.h) */
    enum setting_engine engine;
    enum setting_inline inline_mode;    /* "inline" */
    uint32_t ring_entries;
    uint32_t sqpoll;                    /* milliseconds that a thread of the kernel looks for entries; 0: there is none */
    uint32_t rtmax, wtmax, dtpref;      /* bytes; 4 KiB to 4 MiB */
    uint32_t rtpref, wtpref;            /* likewise; 0, and what is more: rtmax and wtmax */
    uint64_t max_memory;                /* bytes of buffers in the whole server */
    uint32_t max_connections;
    uint32_t client_connections;        /* of one client; 0: a quarter of max_connections, 16 at least */
    uint32_t idle_timeout;              /* seconds; 0: never */
    uint32_t keepalive;                 /* seconds; 0: the kernel's own */
    uint32_t calls_per_connection;
    uint32_t calls_per_client;
    uint32_t fd_cache;                  /* files kept open per export; 0: a part of RLIMIT_NOFILE */
    uint32_t socket_buffer;             /* bytes; 0: the kernel tunes it */
    uint32_t udp_buffer;                /* bytes; 0: as much as the kernel gives, up to 4 MiB */
    bool tcp_nodelay;
    uint32_t backlog;
    uint32_t drain_timeout;             /* seconds */
    uint32_t drc_entries;               /* replies kept for calls that are sent again; 0: none */
    uint32_t mount_list;                /* entries remembered for showmount */
    uint32_t groups_cache;              /* users whose groups are known */
    uint32_t groups_ttl;                /* seconds for which they are good */
    uint32_t host_cache;                /* answers about names and addresses of clients */
    uint32_t host_ttl;                  /* seconds that such an answer is good for */
    uint32_t host_stale;                /* seconds after which it is given up when no other can be had */
    char *krb5_keytab;                  /* owned; NULL: the usual one of Kerberos */
    char *krb5_principal;               /* owned; the server's own: a service, SERVICE@HOST, or a principal */
    uint32_t gss_contexts;              /* of callers with Kerberos that are known */
    uint64_t memory_bytes;              /* a memory: export's size */
    uint64_t memory_files;
    bool memory_unstable;               /* UNSTABLE data there can be lost by a crash on demand */
    uint64_t memory_user_bytes;         /* of what one user owns in it; 0: no limit, likewise: */
    uint64_t memory_user_files;
    enum setting_memory_clock memory_clock;
    uint32_t deterministic;             /* seed of what is random otherwise; 0: it stays random */
    enum setting_sandbox sandbox;
    char *journal;                      /* owned; a file that calls are written to; NULL: none */
    enum setting_journal_data journal_data;
    char *capture;                      /* owned; likewise, as packets */
    uint64_t journal_queue;             /* bytes of calls that wait to be written, for each of the two files */
    uint32_t log_level;                 /* enum log_level */
    uint32_t log_limit;                 /* lines of one kind in ten seconds (LOG_WINDOW_MS); 0: all */
    char *state_dir;                    /* owned; NULL: the default of the user */
};

/* Fill in the defaults. */
void settings_init(struct settings *settings);
void settings_fini(struct settings *settings);

/* Fill in the values of another. Returns 0 or -ENOMEM. */
int settings_copy(struct settings *settings, const struct settings *from);

/*
 * Set one value from text ("65536", "64K", "1M", "on", "auto"). Returns 0 or -EINVAL; error then holds one line such as
 * "rtmax: 8M is out of range (4K to 4M)" or "unknown setting treads (did you mean threads?)".
 */
int settings_set(struct settings *settings, const char *key, const char *value, char *error, size_t error_size);

/*
 * Read an INI file (libinih): "key = value" lines, bare or in a section [ringnfs]; ';' and '#' begin comments. Another
 * section, a key given twice, an over-long line or a NUL byte is an error. Errors name file and line. Returns 0,
 * -EINVAL for a mistake in it, or the -errno of reading it; on error settings may be partly changed.
 */
int settings_load(struct settings *settings, const char *path, char *error, size_t error_size);

/* Rules between settings (e.g. tcp and udp both off). Returns 0 or -EINVAL with error. */
int settings_check(const struct settings *settings, char *error, size_t error_size);

/* The row of a key (settings_table.h), or NULL with error: "unknown setting treads (did you mean threads?)". */
const struct setting *settings_find(const char *key, char *error, size_t error_size);

/* A setting's value as it would be written. Returns out. */
const char *settings_format(const struct settings *settings, const struct setting *row, char *out, size_t size);

/* The table for people (--help-settings) and as roff for the manual page. */
void settings_print_help(FILE *out);
void settings_print_roff(FILE *out);

#endif
