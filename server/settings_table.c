/* server/settings_table.c - see settings_table.h. */
#include "server/settings_table.h"

#include "server/settings.h"

#define BOOL(field)                   .type = SETTING_BOOL, .unit = "", .offset = offsetof(struct settings, field), \
                                      .width = sizeof(bool)
#define RANGE(kind, field, of, from, to, step) \
                                      .type = kind, .offset = offsetof(struct settings, field), \
                                      .width = sizeof(((struct settings *)NULL)->field), .unit = of, \
                                      .min = from, .max = to, .multiple = step
#define NUMBER(field, unit, min, max) RANGE(SETTING_NUMBER, field, unit, min, max, 1)
#define SIZE(field, min, max, step)   RANGE(SETTING_SIZE, field, "bytes", min, max, step)
#define CHOICE(field, words)          .type = SETTING_CHOICE, .unit = "", .choices = words, \
                                      .offset = offsetof(struct settings, field), \
                                      .width = sizeof(((struct settings *)NULL)->field)
#define STRING(field)                 .type = SETTING_STRING, .unit = "", .offset = offsetof(struct settings, field), \
                                      .width = sizeof(char *)
#define KIB(n) (UINT64_C(n) << 10)
#define MIB(n) (UINT64_C(n) << 20)
#define GIB(n) (UINT64_C(n) << 30)

static const char *const rpcbind_words[] = { "auto", "system", "off", NULL };
static const char *const engine_words[] = { "auto", "uring", "pool", NULL };
static const char *const inline_words[] = { "auto", "on", "off", NULL };
static const char *const sandbox_words[] = { "auto", "on", "off", NULL };
static const char *const log_level_words[] = { "error", "warn", "info", "debug", NULL };

const struct setting settings_table[] = {
    { "port", NUMBER(port, "", 0, 65535), .initial = "2049",
      .help = "TCP and UDP port for NFS; 0 lets the kernel choose one." },
    { "mount_port", NUMBER(mount_port, "", 0, 65535), .initial = "0",
      .help = "TCP and UDP port for MOUNT; 0 is the same as port." },
    { "tcp", BOOL(tcp), .initial = "on",
      .help = "Whether calls are taken over TCP." },
    { "udp", BOOL(udp), .initial = "on",
      .help = "Whether calls are taken over UDP." },
    { "rpcbind", CHOICE(rpcbind, rpcbind_words), .initial = "auto",
      .help = "Whether the ports are registered with the system's rpcbind: auto goes on without one, system does not "
              "start without one, off leaves it alone." },
    { "threads", NUMBER(threads, "", 1, 1024), .initial = "8", .live = true,
      .help = "Threads for operations that wait for a disk; the counterpart of RPCNFSDCOUNT." },
    { "workers", NUMBER(workers, "", 0, 256), .initial = "0",
      .help = "Event workers, each with a loop and a ring of its own; 0 is one per CPU, at most 8." },
    { "engine", CHOICE(engine, engine_words), .initial = "auto",
      .help = "How file data is read and written: by io_uring, by the pool of threads, or by io_uring where the kernel "
              "gives one (auto)." },
    { "inline", CHOICE(inline_mode, inline_words), .initial = "auto",
      .help = "Whether operations on names run on the event worker itself; auto does so while they are fast." },
    { "ring_entries", NUMBER(ring_entries, "", 8, 32768), .initial = "256",
      .help = "Submissions that fit into a worker's ring at once." },
    { "rtmax", SIZE(rtmax, KIB(4), MIB(4), 512), .initial = "1M",
      .help = "Largest READ that is answered in one reply; a multiple of 512." },
    { "wtmax", SIZE(wtmax, KIB(4), MIB(4), 512), .initial = "1M",
      .help = "Largest WRITE that is taken in one call; a multiple of 512." },
    { "dtpref", SIZE(dtpref, KIB(4), MIB(1), 512), .initial = "64K",
      .help = "Size of a READDIR reply that clients are told to prefer; a multiple of 512." },
    { "max_memory", SIZE(max_memory, MIB(16), GIB(1024), 1), .initial = "512M",
      .help = "Memory for buffers in the whole server; at this bound it stops reading from clients, and from one client "
              "when a quarter of it holds his large calls and his replies." },
    { "max_connections", NUMBER(max_connections, "", 1, 1000000), .initial = "10000",
      .help = "TCP connections that may be open at once." },
    { "client_connections", NUMBER(client_connections, "", 0, 1000000), .initial = "0",
      .help = "TCP connections that one client may have, which is an IPv4 address or an IPv6 network of 64 bits; 0 is a "
              "quarter of max_connections, and 16 at least." },
    { "idle_timeout", NUMBER(idle_timeout, "seconds", 0, 86400), .initial = "360",
      .help = "A TCP connection without a call under way that has moved no byte for so long is closed; 0 closes none. "
              "Clients connect again when they have something to ask." },
    { "keepalive", NUMBER(keepalive, "seconds", 0, 32767), .initial = "60",
      .help = "How long a TCP peer may be silent before it is asked whether it is still there; one that does not answer "
              "is given up after twice the time; 0 leaves this to the kernel." },
    { "calls_per_connection", NUMBER(calls_per_connection, "", 1, 65536), .initial = "1024",
      .help = "Calls of one connection that may be under way; at this bound it is not read from." },
    { "calls_per_client", NUMBER(calls_per_client, "", 16, 1000000), .initial = "2048",
      .help = "Calls of one client that may be under way over all of his TCP connections; at this bound none of them is "
              "read from, so that others need not wait behind him." },
    { "fd_cache", NUMBER(fd_cache, "files", 0, 1000000), .initial = "0",
      .help = "Files kept open per exported directory; 0 is a share of the limit of open files (RLIMIT_NOFILE)." },
    { "socket_buffer", SIZE(socket_buffer, 0, GIB(1), 1), .initial = "0",
      .help = "Send and receive buffer of a TCP connection; 0 lets the kernel tune it." },
    { "udp_buffer", SIZE(udp_buffer, 0, GIB(1), 1), .initial = "4M",
      .help = "Receive buffer of a UDP socket; 0 is the kernel's default." },
    { "backlog", NUMBER(backlog, "", 1, 65535), .initial = "1024",
      .help = "Connections that may wait to be accepted." },
    { "drain_timeout", NUMBER(drain_timeout, "seconds", 0, 3600), .initial = "5", .live = true,
      .help = "How long calls under way may take to finish when the server is stopped." },
    { "drc_entries", NUMBER(drc_entries, "entries", 0, 10000000), .initial = "16384",
      .help = "Replies that are kept for two minutes, so that a call that is sent again is not done again; each takes "
              "about 450 bytes, the oldest make room, and 0 keeps none." },
    { "mount_list", NUMBER(mount_list, "entries", 0, 1000000), .initial = "4096",
      .help = "Mounts that are remembered for showmount -a." },
    { "host_cache", NUMBER(host_cache, "entries", 64, 1000000), .initial = "4096",
      .help = "Answers about host names, names of addresses and netgroups that are kept." },
    { "host_ttl", NUMBER(host_ttl, "seconds", 1, 86400), .initial = "120",
      .help = "How long such an answer is good for; that there is none is believed for a quarter of it, at most 30 "
              "seconds." },
    { "host_stale", NUMBER(host_stale, "seconds", 0, 604800), .initial = "900",
      .help = "How long the last answer is used, counted from when it came, while name servers fail; never shorter "
              "than host_ttl." },
    { "groups_cache", NUMBER(groups_cache, "entries", 64, 1000000), .initial = "4096",
      .help = "Users whose groups are remembered, for exports with manage_gids." },
    { "groups_ttl", NUMBER(groups_ttl, "seconds", 1, 86400), .initial = "600",
      .help = "How long a user's groups are good for; that he is not known here is believed for a quarter of it, at most "
              "30 seconds; while the directory service fails, the last answer stays in use." },
    { "krb5_keytab", STRING(krb5_keytab), .initial = "",
      .help = "File with the server's Kerberos keys, for exports with sec=krb5, krb5i or krb5p; by default what Kerberos "
              "says, /etc/krb5.keytab mostly." },
    { "krb5_principal", STRING(krb5_principal), .initial = "nfs",
      .help = "Whom the server is in Kerberos: a service that has keys for any host (nfs), SERVICE@HOST, or a principal "
              "(nfs/host.example.org@EXAMPLE.ORG); empty takes every key of the keytab." },
    { "gss_contexts", NUMBER(gss_contexts, "entries", 16, 1000000), .initial = "8192",
      .help = "Security contexts of callers with Kerberos, one for each user of each client; the one that was used least "
              "recently makes room, and its client makes a new one." },
    { "memory_bytes", SIZE(memory_bytes, MIB(1), GIB(1024), 1), .initial = "1G",
      .help = "What fits into a memory: export." },
    { "memory_files", NUMBER(memory_files, "files", 1, 1000000000), .initial = "1000000",
      .help = "How many files and directories fit into a memory: export." },
    { "sandbox", CHOICE(sandbox, sandbox_words), .initial = "auto",
      .help = "Whether threads give up the capabilities, system calls and paths that they do not need: auto as far as this "
              "machine lets them, on not without all of it, off nothing." },
    { "log_level", CHOICE(log_level, log_level_words), .initial = "info", .live = true,
      .help = "What is told on standard error: errors alone, or also warnings, notices, and each refused call." },
    { "log_limit", NUMBER(log_limit, "lines", 0, 1000000), .initial = "100", .live = true,
      .help = "How many mounts are told in ten seconds, and how many refused ones: clients can cause as many as they "
              "like. Further ones are counted and told in one line; 0 tells all." },
    { "state_dir", STRING(state_dir), .initial = "",
      .help = "Directory for the handle key and lists; by default /var/lib/ringnfs for root, else ringnfs below "
              "$XDG_STATE_HOME or ~/.local/state." },
};

const size_t settings_table_rows = sizeof(settings_table) / sizeof(*settings_table);
