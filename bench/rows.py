"""What is measured, as tables: one row adds a measurement."""
import dataclasses

RATE, BULK, ENTRIES, FILES = ("ops_s", "ops/s"), ("mb_s", "MB/s"), ("entries_s", "entries/s"), ("tasks_s", "files/s")


@dataclasses.dataclass
class Row:
    """One run of nfsload."""
    name: str
    words: str                          # nfsload's workload and options
    rate: tuple = RATE                  # key in nfsload's JSON, unit
    quick: str = ""                     # added for --quick: fewer or smaller files
    background: str = ""                # a second nfsload that runs meanwhile
    far: bool = False                   # that one is a client behind a slow link
    ahead: bool = False                 # it goes before everything else on the clients' core
    count_on_disk: int = 0              # tasks instead of a time where the store is a disk
    about: dict = dataclasses.field(default_factory=dict)   # where the row's point is in a plot

    @property
    def cost(self):
        """Key and unit of the server's processor time: per GB where data moves in bulk."""
        return ("cpu_s_gb", "s/GB") if self.rate == BULK else ("cpu_us_op", "us/op")


SMALL = "--size 8m"

# ext4 takes a freed inode again only after minutes and looks past all of these at each creation: on a disk, create makes
# a number of files, so that a fast server does not slow down the next one.
TABLE = [
    Row("null", "null"),
    Row("getattr", "getattr"),
    Row("lookup", "lookup"),
    Row("read-4k", "read-rand --bs 4k", quick=SMALL),
    Row("read-128k", "read-rand --bs 128k --trunc", BULK, quick=SMALL),
    Row("read-1m", "read-seq --bs 1m --trunc", BULK, quick=SMALL),
    Row("write-4k", "write-unstable --bs 4k --size 4m"),
    Row("write-1m", "write-unstable --bs 1m", BULK, quick=SMALL),
    Row("create", "create", count_on_disk=10000),
    Row("rename", "rename"),
    Row("readdirplus", "readdirplus", ENTRIES, quick="--files 1000"),
    Row("smallfile", "smallfile", FILES, quick="--files 500"),
    Row("mixed", "mixed", quick="--files 200"),
    Row("copy", "copy", BULK, quick="--size 16m"),
    Row("read-8k-udp", "read-rand --bs 8k --proto udp --depth 8", BULK, quick=SMALL),
]

# Sizes around what fits into pages, segments and datagrams, odd ones too: where others have cliffs.
SIZES = [2048, 4096, 8192, 10240, 11519, 11520, 11775, 11776, 12288, 13312, 14336, 14847, 14848, 15360, 16384, 32768,
         65536, 131072, 262144, 524288, 1 << 20, 2 << 20, 4 << 20]
SIZES_QUICK = [2048, 8192, 11519, 11520, 16384, 65536, 1 << 20]
DATAGRAM_MAX = 61440


def sweep(quick):
    rows = []
    for proto in "tcp", "udp":
        for kind, workload in ("read", "read-seq"), ("write", "write-unstable"):
            for depth in 1, 16:
                for size in SIZES_QUICK if quick else SIZES:
                    if proto == "udp" and size > DATAGRAM_MAX:
                        continue
                    rows.append(Row(f"{kind} {proto} depth {depth} {size}",
                                    f"{workload} --proto {proto} --depth {depth} --bs {size} --files 2 --size 32m", BULK,
                                    quick=SMALL, about={"line": f"{kind} {proto} depth {depth}", "x": size}))
    return rows


COMMIT = [
    Row("64 files, FILE_SYNC, 16 connections", "write-filesync --files 64 --size 4k --bs 4k --conns 16 --depth 4"),
    Row("1 file, FILE_SYNC, 16 connections", "write-filesync --files 1 --size 4m --bs 4k --conns 16 --depth 4"),
    Row("64 files, FILE_SYNC, 1 connection, depth 1", "write-filesync --files 64 --size 4k --bs 4k --depth 1"),
    Row("COMMIT after each MiB", "write-commit --bs 1m --depth 1", BULK, quick=SMALL),
    Row("files of 1 MiB, a COMMIT each, 16 connections",
        "write-unstable --bs 64k --size 1m --files 64 --conns 16 --depth 4", BULK),
]

CALLERS = "getattr --conns 100 --depth 1 --pause 10"        # 10,000 a second: the server is not busy with them

FAIRNESS = [
    Row("idle", CALLERS),
    Row("beside a reader", CALLERS, background="read-seq --bs 1m --depth 16 --trunc"),
    Row("beside a writer", CALLERS, background="write-unstable --bs 1m --depth 16"),
]

SLOW = [
    Row("idle", CALLERS),
    Row("beside a slow reader", CALLERS, background="read-seq --bs 256k --size 256k --files 1 --depth 64", far=True),
    Row("beside a slow writer", CALLERS, background="write-unstable --bs 256k --size 256k --files 1 --depth 16", far=True),
]

# Somebody who looks at files, and somebody who makes them: some 2000 calls a second each.
HONEST = {
    "files": "smallfile --files 100 --conns 2 --depth 1 --pause 2",
    "names": "create --conns 2 --depth 1 --pause 1",
}
HARMFUL = {
    "senders of a byte at a time": "flood-bytes",
    "half-open connections": "flood-silent --sockets 2000",
    "15,000 connections, given up and made again": "flood-conns --sockets 15000",
    "announcements of 4 GiB": "flood-4g",
    "receivers that never read": "flood-deaf",
    "xids": "flood-xids",
    "giant counts in READ": "flood-reads",
    "giant counts in READDIRPLUS": "flood-lists",
    "deep directories": "flood-deep",
    "long paths in MNT": "flood-paths",
}


def floods():
    rows = []
    for kind, words in HONEST.items():
        rows.append(Row(f"{kind}, idle", words, ahead=True))
        rows += [Row(f"{kind}, beside {name}", words, background=flood, ahead=True, about={"idle": f"{kind}, idle"})
                 for name, flood in HARMFUL.items()]
    return rows


def scale(quick, on_disk):
    connections = [1, 16, 256] if quick else [1, 4, 16, 64, 256, 1000, 2000, 4000]
    files = [100, 1000] if quick else [100, 1000, 10000] + ([] if on_disk else [100000])
    sizes = ["1m", "1g", "1t"]
    return (
        [Row(f"{n} connections", f"getattr --conns {n} --depth 1", about={"line": "connections", "x": n})
         for n in connections] +
        [Row(f"{n} files", f"lookup --files {n} --size 1", about={"line": "files", "x": n}) for n in files] +
        [Row(f"file of {s}", f"read-rand --bs 4k --files 1 --sparse --size {s}", about={"line": "file size", "x": s})
         for s in sizes])


@dataclasses.dataclass
class Knob:
    """A setting, or an option of the export, and a workload that shows what it does."""
    name: str
    values: list
    row: Row
    export: bool = False                # the values are export options
    disk: bool = False                  # shows on a disk only


KNOBS = [
    Knob("threads", ["1", "8", "32", "auto"], Row("create, 16 connections", "create --conns 16", count_on_disk=10000),
         disk=True),
    Knob("workers", ["1", "2", "4"], Row("getattr, 16 connections", "getattr --conns 16")),
    Knob("cpu_affinity", ["off", "auto"], Row("getattr, 16 connections", "getattr --conns 16")),
    Knob("inline", ["on", "auto", "off"], Row("create", "create", count_on_disk=10000)),
    Knob("engine", ["uring", "pool"], Row("write-4k", "write-unstable --bs 4k --size 4m")),
    Knob("ring_entries", ["16", "256", "4096"],
         Row("write-4k, depth 128", "write-unstable --bs 4k --size 4m --depth 128")),
    Knob("sqpoll", ["off", "20"], Row("FILE_SYNC", COMMIT[0].words), disk=True),
    Knob("rtmax", ["64K", "1M", "4M"], Row("read, largest size", "read-seq --bs 4m --trunc", BULK, quick=SMALL)),
    Knob("wtmax", ["64K", "1M", "4M"], Row("write, largest size", "write-unstable --bs 4m", BULK, quick=SMALL)),
    Knob("rtpref", ["32K", "256K", "1M"], Row("read, preferred size", "read-seq --preferred --trunc", BULK, quick=SMALL)),
    Knob("wtpref", ["32K", "256K", "1M"], Row("write, preferred size", "write-unstable --preferred", BULK, quick=SMALL)),
    Knob("dtpref", ["64K", "256K", "1M"],
         Row("readdirplus, up to 1 MiB", "readdirplus --dircount 1m", ENTRIES, quick="--files 1000")),
    Knob("fd_cache", ["16", "auto"], Row("smallfile", "smallfile", FILES, quick="--files 500")),
    Knob("socket_buffer", ["64K", "auto", "4M"], Row("read-1m", "read-seq --bs 1m --trunc", BULK, quick=SMALL)),
    Knob("tcp_nodelay", ["on", "off"], Row("read-4k, depth 1", "read-rand --bs 4k --depth 1", quick=SMALL)),
    Knob("backlog", ["16", "1024"], Row("connect, 256 at once", "connect --depth 256")),
    Knob("udp_buffer", ["256K", "auto"],
         Row("write-32k-udp", "write-unstable --bs 32k --proto udp --depth 16", BULK, quick=SMALL)),
    Knob("max_memory", ["16M", "512M"], Row("write-1m, depth 64", "write-unstable --bs 1m --depth 64", BULK, quick=SMALL)),
    Knob("calls_per_connection", ["1", "16", "1024"], Row("getattr, depth 64", "getattr --depth 64")),
    Knob("calls_per_client", ["16", "2048"], Row("getattr, 16 connections", "getattr --conns 16")),
    Knob("sandbox", ["off", "auto"], Row("lookup", "lookup")),
    Knob("drc_entries", ["0", "16384"], Row("rename", "rename")),
    Knob("delay", ["wdelay", "no_wdelay"], Row("FILE_SYNC", COMMIT[0].words), export=True, disk=True),
    Knob("io of reads", ["io=auto", "io=buffered", "io=dontcache", "io=direct"],
         Row("read-128k", "read-rand --bs 128k --trunc", BULK, quick=SMALL), export=True, disk=True),
    Knob("io of writes", ["io=auto", "io=buffered", "io=dontcache", "io=direct"],
         Row("write-1m", "write-unstable --bs 1m", BULK, quick=SMALL), export=True, disk=True),
    Knob("readahead", ["io=dontcache", "io=dontcache,readahead=4M"],
         Row("read-seq, 128k, depth 1", "read-seq --bs 128k --depth 1 --files 1", BULK, quick=SMALL), export=True,
         disk=True),
    Knob("noatime", ["rw", "noatime"], Row("read-4k", "read-rand --bs 4k", quick=SMALL), export=True, disk=True),
    Knob("nodiratime", ["rw", "nodiratime"], Row("readdir", "readdir", ENTRIES, quick="--files 1000"), export=True,
         disk=True),
    Knob("max_rate", ["max_rate=10M", "max_rate=100M"],
         Row("read-128k", "read-rand --bs 128k --trunc", BULK, quick=SMALL), export=True),
    Knob("max_iops", ["max_iops=1000", "max_iops=10000"], Row("getattr", "getattr --files 100"), export=True),
    Knob("durability", ["sync", "async"], Row("FILE_SYNC", COMMIT[0].words), export=True, disk=True),
]
