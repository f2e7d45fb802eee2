"""The servers that can be measured: how each is started, what its processes are, and how it ends."""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from machine import TOP, read

READY_S = 20                            # a server that does not answer by then has failed
EXPORT_OPTIONS = "rw,no_root_squash,no_subtree_check,insecure"


class Failed(Exception):
    """A server that could not be started or a run that could not be done; says why."""


def free_port():
    """A port of 127.0.0.1 that was free for TCP and for UDP a moment ago."""
    while True:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            try:
                udp.bind(tcp.getsockname())
            except OSError:
                continue
            return tcp.getsockname()[1]


def answers(port):
    """Does somebody listen on this TCP port of 127.0.0.1?"""
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def pinned(cores):
    """For a child process: stay on these cores."""
    return (lambda: os.sched_setaffinity(0, cores)) if cores else None


def ahead(cores):
    """For a child process: likewise, and there it runs before all others, where the system lets us say so."""
    def begin():
        if cores:
            os.sched_setaffinity(0, cores)
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return begin


class Server:
    """One run of a server on one directory. `name` is what the user called it."""
    stores = ("directory",)
    needs = ()                          # programs

    def __init__(self, name, tools):
        self.name, self.tools = name, tools
        self.process = self.scratch = None
        self.host, self.prefix = "127.0.0.1", []
        self.port = self.mount_port = 0
        self.settings, self.options = {}, ""

    def missing(self):
        """Why it cannot be measured here, or None."""
        lacking = [p for p in self.needs if not shutil.which(p)]
        return f"{', '.join(lacking)} not installed" if lacking else None

    def start(self, export, cores):
        """`export` is a directory, or memory:/NAME."""
        self.scratch = tempfile.mkdtemp(prefix="ringnfs-bench.")
        self.export = export
        self.log = open(os.path.join(self.scratch, "log"), "wb")
        self.launch(cores)

    def spawn(self, command, cores, **more):
        self.command = [*self.prefix, *map(str, command)]
        more.setdefault("stdout", self.log)
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=self.log,
                                        preexec_fn=pinned(cores), **more)

    def write(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    @property
    def path(self):
        """What clients mount."""
        return self.export

    def pids(self):
        return [self.process.pid]

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def last_words(self):
        lines = read(os.path.join(self.scratch, "log")).strip().splitlines()
        return " | ".join(lines[-2:])[-400:] or "it said nothing"

    def memory_kb(self):
        match = re.search(r"VmRSS:\s*(\d+)", read(f"/proc/{self.process.pid}/status"))
        return int(match.group(1)) if match else 0

    def counters(self):
        """Counters of its own that tell something, by name."""
        return {}

    def stop(self):
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self.process is not None:
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


class Ringnfsd(Server):
    """This project's: with the defaults that its users get, or (-async) replying before changes are on disk."""
    stores = ("directory", "memory")

    def __init__(self, name, tools, binary=None):
        super().__init__(name, tools)
        self.binary = binary or tools.ringnfsd
        self.durability = "async" if name.endswith("-async") else "sync"

    def missing(self):
        return None if os.access(self.binary, os.X_OK) else f"there is no program {self.binary}"

    @property
    def path(self):
        return self.export.removeprefix("memory:")

    def launch(self, cores):
        options = ",".join(filter(None, [EXPORT_OPTIONS, self.durability, self.options]))
        command = [self.binary, "-f", "-p", "0", "-a", self.host, "--rpcbind", "off", "--print-ports",
                   "--set", f"state_dir={self.scratch}/state", "-e", f"{self.export} *({options})"]
        for setting in self.settings.items():
            command += ["--set", "=".join(setting)]
        self.spawn(command, cores, stdout=subprocess.PIPE)
        ready, _, _ = select.select([self.process.stdout], [], [], READY_S)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            raise Failed(f"{self.name} did not start: {self.last_words()}")
        ports = json.loads(line)
        self.port, self.mount_port = ports["nfs"], ports["mount"]

    def counters(self):
        """Flushes so far, and the calls that they served."""
        done = subprocess.run([self.tools.ringnfsctl, "-d", f"{self.scratch}/state", "--json", "stats"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        try:
            flushes = json.loads(done.stdout)["flushes"]
            return {"flushes": flushes["flushes"], "calls_flushed": flushes["calls_served"]}
        except (ValueError, KeyError, TypeError):
            return {}


class Ceiling(Server):
    """What this machine could serve at most: nfsceiling."""

    def launch(self, cores):
        self.port, self.mount_port = free_port(), free_port()
        self.spawn([self.tools.nfsceiling, "--port", self.port, "--mount-port", self.mount_port,
                    "--file", os.path.join(self.export, ".ceiling")], cores)


class Unfs3(Server):
    """unfs3, in user space, one thread."""
    needs = ("unfsd",)

    def launch(self, cores):
        self.port, self.mount_port = free_port(), free_port()
        exports = self.write("exports", f"{self.export} 127.0.0.1(rw,no_root_squash,insecure)\n")
        self.spawn(["unfsd", "-d", "-e", exports, "-n", self.port, "-m", self.mount_port, "-p", "-l", "127.0.0.1"], cores)


class Isolated(Server):
    """A server that does not start where it cannot register: with an rpcbind of its own, in namespaces of its own."""
    INSIDE = 'mount -t tmpfs tmpfs /run && mkdir /run/rpcbind && ip link set lo up || exit; rpcbind -f & sleep 1; exec "$@"'

    def isolate(self, command, cores):
        self.spawn(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                    "sh", "-c", self.INSIDE, "sh", *command], cores)
        deadline = time.monotonic() + READY_S
        while not self.pids() and self.alive() and time.monotonic() < deadline:
            time.sleep(0.1)
        if not self.pids():
            raise Failed(f"{self.name} did not start: {self.last_words()}")
        self.prefix = ["nsenter", f"--net=/proc/{self.pids()[0]}/ns/net"]

    def pids(self):
        return [int(pid) for pid in read(f"/proc/{self.process.pid}/task/{self.process.pid}/children").split()]

    def stop(self):
        for pid in self.pids() if self.alive() else []:
            os.kill(pid, signal.SIGKILL)                # the first process in there: all the others end with it
        super().stop()


class Ganesha(Isolated):
    """nfs-ganesha with its VFS, NFSv3 only, else as its package has it."""
    needs = ("ganesha.nfsd", "rpcbind", "unshare", "nsenter", "ip")

    def missing(self):
        return super().missing() or (None if os.geteuid() == 0 else "needs root")

    def launch(self, cores):
        self.port, self.mount_port = 2049, 20048        # its network is its own
        config = self.write("ganesha.conf", f"""
NFS_CORE_PARAM {{
    Protocols = 3; NFS_Port = {self.port}; MNT_Port = {self.mount_port};
    Enable_NLM = false;
}}
EXPORT {{
    Export_Id = 1; Path = {self.export}; Pseudo = /bench; Protocols = 3; Transports = UDP, TCP;
    Access_Type = RW; Squash = No_Root_Squash; SecType = sys;
    FSAL {{ Name = VFS; }}
}}
""")
        self.isolate(["ganesha.nfsd", "-F", "-L", f"{self.scratch}/log", "-f", config, "-p", f"{self.scratch}/pid",
                      "-N", "NIV_CRIT"], cores)


class Nfsd(Server):
    """The kernel's, where the kernel has one. Its threads are not pinned; what they share with all is not counted."""
    needs = ("rpc.nfsd", "rpc.mountd", "exportfs")

    def missing(self):
        if os.geteuid() != 0:
            return "needs root"
        subprocess.run(["modprobe", "nfsd"], stderr=subprocess.DEVNULL, check=False)
        if "nfsd" not in read("/proc/filesystems").split():
            return "this kernel has no nfsd (bench/run --guest boots one that has)"
        if not read("/proc/fs/nfsd/threads", "0").startswith("0"):
            return "this machine's own nfsd is running"
        return super().missing() or (None if answers(111) else "rpcbind does not run")

    def launch(self, cores):
        self.port, self.mount_port = free_port(), free_port()
        durability = "async" if self.name.endswith("-async") else "sync"
        if not os.path.exists("/proc/fs/nfsd/threads"):
            subprocess.run(["mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd"], check=True)
        for name in "etab", "rmtab":
            open(f"/var/lib/nfs/{name}", "a", encoding="utf-8").close()
        for command in (["exportfs", "-o", f"{EXPORT_OPTIONS},{durability},fsid=77", f"127.0.0.1:{self.export}"],
                        ["rpc.nfsd", "--udp", "--tcp", "--no-nfs-version", "4", "-p", str(self.port), "-H", "127.0.0.1",
                         "8"]):
            if subprocess.run(command, stdout=self.log, stderr=self.log, check=False).returncode != 0:
                raise Failed(f"{self.name} did not start: {' '.join(command)}: {self.last_words()}")
        self.spawn(["rpc.mountd", "-F", "-p", self.mount_port], cores)

    def pids(self):
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and read(f"/proc/{pid}/comm") == "nfsd\n"]

    def stop(self):
        subprocess.run(["rpc.nfsd", "0"], stdout=self.log, stderr=self.log, check=False)
        subprocess.run(["exportfs", "-u", f"127.0.0.1:{self.export}"], stdout=self.log, stderr=self.log, check=False)
        super().stop()


KINDS = {
    "ringnfsd": Ringnfsd,
    "ringnfsd-async": Ringnfsd,
    "ceiling": Ceiling,
    "ganesha": Ganesha,
    "unfs3": Unfs3,
    "nfsd": Nfsd,
    "nfsd-async": Nfsd,
}
PEERS = ("ganesha", "unfs3", "nfsd")
PEER_PACKAGES = ("nfs-ganesha", "nfs-ganesha-vfs", "unfs3")


def make(name, tools):
    """A server by its name, or NAME=PROGRAM for another ringnfsd. Raises Failed."""
    label, equals, binary = name.partition("=")
    if equals:
        return Ringnfsd(label, tools, os.path.abspath(binary))
    if name not in KINDS:
        raise Failed(f"there is no server {name}: it is one of {' '.join(KINDS)}, or NAME=PROGRAM for another ringnfsd")
    return KINDS[name](name, tools)


def is_ours(server):
    return isinstance(server, Ringnfsd)
