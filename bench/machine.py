"""What is measured on: processors, kernel, file systems, and which of its cores to use."""
import datetime
import os
import platform
import socket
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path, default=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return default


def output(*command):
    """The first line that a command prints; None when it cannot be run or fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, cwd=TOP)
    except (OSError, subprocess.CalledProcessError):
        return None
    return (done.stdout.splitlines() or [""])[0]


def fields(path):
    """The first value of each "name : value" line."""
    found = {}
    for line in read(path).splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def file_system(path):
    """Type, source and options of the file system that a path is on."""
    path, best = os.path.realpath(path), ("", None)
    for line in read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        where, options = left.split()[4:6]
        kind, source = right.split()[:2]
        inside = path == where or path.startswith(where.rstrip("/") + "/")
        if inside and len(where) >= len(best[0]):               # of two on the same place the later one is seen
            best = (where, {"mounted_on": where, "type": kind, "source": source, "options": options})
    return best[1] or {"mounted_on": "", "type": "unknown", "source": "", "options": ""}


def directory_on(kind):
    """A directory where files may be made on a file system of this type, or None."""
    wanted = [tempfile.gettempdir(), "/dev/shm", "/var/tmp", TOP]
    for path in wanted:
        if os.access(path, os.W_OK) and file_system(path)["type"] == kind:
            return path
    return None


def siblings(core):
    """The cores that share a physical one with this."""
    text = read(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").strip()
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return found or {core}


def choose_cores(server_count):
    """Cores for the server and for the client: different ones, of different physical cores if there are; or None, None."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return None, None
    server = cores[:max(1, min(server_count, len(cores) - 1))]
    rest = [c for c in cores if c not in server]
    shared = set().union(*(siblings(c) for c in server))
    apart = [c for c in rest if c not in shared]
    return server, [(apart or rest)[-1]]


def describe():
    cpu, memory = fields("/proc/cpuinfo"), fields("/proc/meminfo")
    governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip()
    return {
        "host": socket.gethostname(),
        "cpu": cpu.get("model name") or cpu.get("Model") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "cores_usable": len(os.sched_getaffinity(0)),
        "hypervisor": "hypervisor" in cpu.get("flags", "").split(),
        "governor": governor or None,
        "memory": memory.get("MemTotal"),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "system": next((line.partition("=")[2].strip('"') for line in read("/etc/os-release").splitlines()
                        if line.startswith("PRETTY_NAME=")), None),
        "load_before": os.getloadavg()[0],
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": output("git", "describe", "--always", "--dirty"),
    }
