/* server/settings_table.c - see settings_table.h. */
#include "server/settings_table.h"

#include "server/cpus.h"
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
#define STRING(field, what)           .type = SETTING_STRING, .unit = what, .offset = offsetof(struct settings, field), \
                                      .width = sizeof(char *)
#define KIB(n) (UINT64_C(n) << 10)
#define MIB(n) (UINT64_C(n) << 20)
#define GIB(n) (UINT64_C(n) << 30)

static const char *const rpcbind_words[] = { "auto", "system", "off", NULL };
static const char *const engine_words[] = { "auto", "uring", "pool", NULL };
static const char *const inline_words[] = { "auto", "on", "off", NULL };
static const char *const journal_data_words[] = { "digest", "whole", NULL };
static const char *const sandbox_words[] = { "auto", "on", "off", NULL };
static const char *const memory_clock_words[] = { "auto", "real", "counted", NULL };
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
    { "threads", NUMBER(threads, "", 1, 1024), .zero = "auto", .initial = "auto", .live = true,
      .help = "Threads for operations that wait for a disk; the counterpart of RPCNFSDCOUNT. auto is 8 to 64, as many as "
              "the work takes: there is one more when work has waited for 5 ms, and one fewer when they are idle.",
      .when = "A number holds when the server shares its machine, or for disks that get slower with more at once; see "
              "queued, waited and busy in what ringnfsctl stats tells of threads. More than 64 can pay for many disks, "
              "or for one that is far away." },
    { "workers", NUMBER(workers, "", 0, 256), .zero = "auto", .initial = "auto",
      .help = "Event workers, each with a loop and a ring of its own; auto is one per CPU, at most 8, or one for each CPU "
              "that cpu_affinity lists.",
      .when = "Fewer leave processors to others; more than there are CPUs never help." },
    { "cpu_affinity", STRING(cpu_affinity, "a list of CPUs such as 0-3,6, auto or off"), .check = cpus_check,
      .initial = "off", .live = true,
      .help = "CPUs that event workers run on, each on one of them, in turn: a list, all that there are (auto), or "
              "wherever the kernel likes (off).",
      .when = "On machines with several memory nodes name the CPUs next to the network card. On a machine with other "
              "work leave it alone: a worker that may not move waits behind whoever has its CPU." },
    { "engine", CHOICE(engine, engine_words), .initial = "auto",
      .help = "How file data is read and written: by io_uring, by the pool of threads, or by io_uring where the kernel "
              "gives one (auto)." },
    { "inline", CHOICE(inline_mode, inline_words), .initial = "auto",
      .help = "Whether operations on names run on the event worker itself; auto does so while they are fast." },
    { "ring_entries", NUMBER(ring_entries, "", 8, 32768), .initial = "256",
      .help = "Submissions that fit into a worker's ring at once.",
      .when = "Hardly ever: a full ring is handed over earlier, and nothing is lost." },
    { "sqpoll", NUMBER(sqpoll, "milliseconds", 1, 60000), .zero = "off", .initial = "off",
      .help = "How long a thread of the kernel, one for each worker, goes on looking for submissions when there are none, "
              "so that workers need no system call to submit; off: there is no such thread.",
      .when = "Only where there are CPUs to spare, one for each worker, and the load is uncached or stable I/O on a "
              "fast disk: such a thread keeps a CPU busy. On a machine without spare ones it makes everything slower." },
    { "rtmax", SIZE(rtmax, KIB(4), MIB(4), 512), .initial = "1M", .live = true,
      .help = "Largest READ that is answered in one reply; a multiple of 512. Clients ask for it when they mount.",
      .when = "Less for many clients behind a slow link, which then take turns sooner. More than 1M is for clients that "
              "ask for more: many stop at 1M." },
    { "wtmax", SIZE(wtmax, KIB(4), MIB(4), 512), .initial = "1M", .live = true,
      .help = "Largest WRITE that is taken in one call; a multiple of 512. Clients ask for it when they mount.",
      .when = "As for rtmax." },
    { "rtpref", SIZE(rtpref, KIB(4), MIB(4), 512), .zero = "auto", .initial = "auto", .live = true,
      .help = "Size of READs that clients are told to prefer; a multiple of 512. auto, and at most: rtmax.",
      .when = "To have clients ask for less without forbidding more. Linux goes by rtmax when rsize is not given." },
    { "wtpref", SIZE(wtpref, KIB(4), MIB(4), 512), .zero = "auto", .initial = "auto", .live = true,
      .help = "Size of WRITEs that clients are told to prefer; a multiple of 512. auto, and at most: wtmax.",
      .when = "As for rtpref." },
    { "dtpref", SIZE(dtpref, KIB(4), MIB(4), 512), .initial = "64K", .live = true,
      .help = "Size of a READDIR reply that clients are told to prefer, and up to which they get one; a multiple of 512. "
              "What a client asks for up to 64K it gets in any case.",
      .when = "More for clients far away that list large directories; each such call takes three times as much memory." },
    { "max_memory", SIZE(max_memory, MIB(16), GIB(1024), 1), .initial = "512M", .live = true,
      .help = "Memory for buffers in the whole server; at this bound it stops reading from clients, and from one client "
              "when a quarter of it holds his large calls and his replies.",
      .when = "Less on a small machine. More when buffers in ringnfsctl stats come near it: for hundreds of clients "
              "that write or read at once." },
    { "max_connections", NUMBER(max_connections, "", 1, 1000000), .initial = "10000", .live = true,
      .help = "TCP connections that may be open at once.",
      .when = "When connections_refused in ringnfsctl stats grows; the limit of open files (RLIMIT_NOFILE) must be four "
              "times as large." },
    { "client_connections", NUMBER(client_connections, "", 0, 1000000), .zero = "auto", .initial = "auto", .live = true,
      .help = "TCP connections that one client may have, which is an IPv4 address or an IPv6 network of 64 bits; auto is a "
              "quarter of max_connections, and 16 at least.",
      .when = "When all clients come from one address, through a translation of addresses." },
    { "idle_timeout", NUMBER(idle_timeout, "seconds", 0, 86400), .zero = "off", .initial = "360", .live = true,
      .help = "A TCP connection without a call under way that has moved no byte for so long is closed; off closes none. "
              "Clients connect again when they have something to ask.",
      .when = "off, or longer, for clients behind a firewall that lets new connections out slowly." },
    { "keepalive", NUMBER(keepalive, "seconds", 0, 32767), .initial = "60", .live = true,
      .help = "How long a TCP peer may be silent before it is asked whether it is still there; one that does not answer "
              "is given up after twice the time; 0 leaves this to the kernel. New connections follow.",
      .when = "Less when dead clients hold what others wait for; more for links that are down for minutes." },
    { "calls_per_connection", NUMBER(calls_per_connection, "", 1, 65536), .initial = "1024", .live = true,
      .help = "Calls of one connection that may be under way; at this bound it is not read from.",
      .when = "Less, such as 64, where one client's burst must not be in front of everybody's next call." },
    { "calls_per_client", NUMBER(calls_per_client, "", 16, 1000000), .initial = "2048", .live = true,
      .help = "Calls of one client that may be under way over all of his TCP connections; at this bound none of them is "
              "read from, so that others need not wait behind him.",
      .when = "As for calls_per_connection." },
    { "fd_cache", NUMBER(fd_cache, "files", 0, 1000000), .zero = "auto", .initial = "auto",
      .help = "Files kept open per exported directory; auto is a share of the limit of open files (RLIMIT_NOFILE).",
      .when = "Less when the machine runs short of open files or of inodes in memory; rather raise the limit for more." },
    { "socket_buffer", SIZE(socket_buffer, 0, GIB(1), 1), .zero = "auto", .initial = "auto", .live = true,
      .help = "Send and receive buffer of a TCP connection; auto lets the kernel tune it. The kernel's bounds are the "
              "sysctls net.core.rmem_max and net.core.wmem_max. New connections follow.",
      .when = "For a fast link with a long way, when net.ipv4.tcp_rmem and tcp_wmem cannot be raised: its bytes a "
              "second times its round trip. A number ends the kernel's tuning." },
    { "udp_buffer", SIZE(udp_buffer, 0, GIB(1), 1), .zero = "auto", .initial = "auto",
      .help = "Receive buffer of a UDP socket, one for each worker; auto is as much as the kernel gives, up to 4M. Its "
              "bound is the sysctl net.core.rmem_max.",
      .when = "When UDP loses datagrams here (RcvbufErrors in nstat): raise net.core.rmem_max, and this beyond 4M." },
    { "tcp_nodelay", BOOL(tcp_nodelay), .initial = "on", .live = true,
      .help = "Whether a reply is sent without waiting for the client to confirm what came before it (TCP_NODELAY). New "
              "connections follow.",
      .when = "Leave it on: all replies that are ready go out in one piece anyhow, so off saves nothing and can cost 40 "
              "ms a call." },
    { "backlog", NUMBER(backlog, "", 1, 65535), .initial = "1024",
      .help = "Connections that may wait to be accepted. The kernel's bound is the sysctl net.core.somaxconn.",
      .when = "When thousands of clients connect in one moment, such as after a power failure, and nstat counts "
              "ListenOverflows." },
    { "drain_timeout", NUMBER(drain_timeout, "seconds", 0, 3600), .initial = "5", .live = true,
      .help = "How long calls under way may take to finish when the server is stopped." },
    { "drc_entries", NUMBER(drc_entries, "entries", 0, 10000000), .initial = "16384",
      .help = "Replies that are kept for two minutes, so that a call that is sent again is not done again; each takes "
              "about 450 bytes, the oldest make room, and 0 keeps none." },
    { "mount_list", NUMBER(mount_list, "entries", 0, 1000000), .initial = "4096",
      .help = "Mounts that are remembered for showmount -a." },
    { "host_cache", NUMBER(host_cache, "entries", 64, 1000000), .initial = "4096",
      .help = "Answers about host names, names of addresses and netgroups that are kept." },
    { "host_ttl", NUMBER(host_ttl, "seconds", 1, 86400), .initial = "120", .live = true,
      .help = "How long such an answer is good for; that there is none is believed for a quarter of it, at most 30 "
              "seconds." },
    { "host_stale", NUMBER(host_stale, "seconds", 0, 604800), .initial = "900", .live = true,
      .help = "How long the last answer is used, counted from when it came, while name servers fail; never shorter "
              "than host_ttl." },
    { "groups_cache", NUMBER(groups_cache, "entries", 64, 1000000), .initial = "4096",
      .help = "Users whose groups are remembered, for exports with manage_gids." },
    { "groups_ttl", NUMBER(groups_ttl, "seconds", 1, 86400), .initial = "600", .live = true,
      .help = "How long a user's groups are good for; that he is not known here is believed for a quarter of it, at most "
              "30 seconds; while the directory service fails, the last answer stays in use." },
    { "krb5_keytab", STRING(krb5_keytab, "an absolute path"), .initial = "",
      .help = "File with the server's Kerberos keys, for exports with sec=krb5, krb5i or krb5p; by default what Kerberos "
              "says, /etc/krb5.keytab mostly." },
    { "krb5_principal", STRING(krb5_principal, "a principal or a service"), .initial = "nfs",
      .help = "Whom the server is in Kerberos: a service that has keys for any host (nfs), SERVICE@HOST, or a principal "
              "(nfs/host.example.org@EXAMPLE.ORG); empty takes every key of the keytab." },
    { "gss_contexts", NUMBER(gss_contexts, "entries", 16, 1000000), .initial = "8192",
      .help = "Security contexts of callers with Kerberos, one for each user of each client; the one that was used least "
              "recently makes room, and its client makes a new one." },
    { "memory_bytes", SIZE(memory_bytes, MIB(1), GIB(1024), 1), .initial = "1G",
      .help = "What fits into a memory: export." },
    { "memory_files", NUMBER(memory_files, "files", 1, 1000000000), .initial = "1000000",
      .help = "How many files and directories fit into a memory: export." },
    { "memory_unstable", BOOL(memory_unstable), .initial = "off",
      .help = "Whether data that was written UNSTABLE to a memory: export is that until it is committed, as on a disk, so "
              "that a crash on demand loses it; it then takes up to twice the memory. Off, all of it is stable at once. On "
              "by default with --ephemeral and in libringnfs." },
    { "memory_user_bytes", SIZE(memory_user_bytes, 0, GIB(1024), 1), .initial = "0",
      .help = "What one user's files may take of a memory: export, but root's; as with a disk's quotas he is told that "
              "his is used up, not that there is no space. 0 is no limit." },
    { "memory_user_files", NUMBER(memory_user_files, "files", 0, 1000000000), .initial = "0",
      .help = "How many files and directories of a memory: export one user may own, likewise." },
    { "memory_clock", CHOICE(memory_clock, memory_clock_words), .initial = "auto",
      .help = "Times of files in memory: exports: real is the clock of the day; counted begins with the year 2000 and "
              "moves on by a millisecond with each change; auto is counted for a deterministic server, else real." },
    { "deterministic", NUMBER(deterministic, "", 0, UINT32_MAX), .initial = "0",
      .help = "For tests: the same calls, one after the other, to memory: exports get the same replies, byte for byte, "
              "from every server that has this number. Handles, file system ids and write verifiers are made from it, so "
              "whoever knows it can make handles. 0 draws all of them at random." },
    { "sandbox", CHOICE(sandbox, sandbox_words), .initial = "auto",
      .help = "Whether threads give up the capabilities, system calls and paths that they do not need: auto as far as this "
              "machine lets them, on not without all of it, off nothing." },
    { "journal", STRING(journal, "a file"), .initial = "",
      .help = "A file that all calls and their results are written to as lines of JSON (ringnfs-journal(5)), emptied first; "
              "none when empty. Calls never wait for it: what the disk does not take is lost, and the file says how much." },
    { "journal_data", CHOICE(journal_data, journal_data_words), .initial = "digest",
      .help = "What the journal has of the data of READ and WRITE: its length and a digest, or the whole of it, which "
              "ringnfsctl replay needs." },
    { "capture", STRING(capture, "a file"), .initial = "",
      .help = "A file that all calls and their results are written to as packets (pcapng), which tshark and wireshark open, "
              "in the clear also where Kerberos encrypts them; none when empty." },
    { "journal_queue", SIZE(journal_queue, MIB(8), GIB(4), 1), .initial = "64M",
      .help = "Memory for calls that wait to be written to the journal, and as much for the capture file; what finds no room "
              "there is not written." },
    { "log_level", CHOICE(log_level, log_level_words), .initial = "info", .live = true,
      .help = "What is told on standard error: errors alone, or also warnings, notices, and each refused call." },
    { "log_limit", NUMBER(log_limit, "lines", 0, 1000000), .initial = "100", .live = true,
      .help = "How many mounts are told in ten seconds, and how many refused ones: clients can cause as many as they "
              "like. Further ones are counted and told in one line; 0 tells all." },
    { "state_dir", STRING(state_dir, "an absolute path"), .initial = "",
      .help = "Directory for the handle key and lists; by default /var/lib/ringnfs for root, else ringnfs below "
              "$XDG_STATE_HOME or ~/.local/state." },
};

const size_t settings_table_rows = sizeof(settings_table) / sizeof(*settings_table);
