"""Run nfsload against servers: in interleaved rounds, each result with what disturbed it."""
import contextlib
import dataclasses
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import servers
from machine import TOP

SPREAD_MAX = 0.15                       # rounds that differ by more of their median are noisy
OTHERS_MAX = 0.10                       # so is a round in which others used more of a core
CLIENT_FULL = 0.95                      # of a core: nfsload was the limit, not the server
BACKGROUND_LEAD_S = 1.5                 # until a second nfsload has its files and is at work
OTHER_CLIENT = "127.0.0.2"               # whom the server takes for somebody else
RUN_MAX_S = 300


@dataclasses.dataclass
class Tools:
    """The programs of a build."""
    build: str

    def __getattr__(self, name):
        folder = "bench" if name in ("nfsload", "nfsceiling") else ""
        return os.path.join(self.build, folder, name)


@dataclasses.dataclass
class Group:
    """Rows that are run against one server while it is up."""
    server: str                         # a name for servers.make()
    rows: list
    label: str = ""                     # in the report; the server's name unless given
    settings: dict = dataclasses.field(default_factory=dict)
    options: str = ""
    counters: bool = False


class Store:
    """Where the exported directories are: a file system by its type, a directory, or ringnfsd's own memory."""

    def __init__(self, name, directory):
        self.name, self.directory = name, directory
        self.is_memory = name == "memory"

    @property
    def is_disk(self):
        return self.name not in ("memory", "tmpfs")

    def serves(self, server):
        return not self.is_memory or "memory" in server.stores or isinstance(server, servers.Ceiling)

    @contextlib.contextmanager
    def export(self, server):
        """Something new to export, gone afterwards."""
        if self.is_memory and "memory" in server.stores:
            yield "memory:/bench"
            return
        path = tempfile.mkdtemp(prefix="ringnfs-bench.", dir=self.directory)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


class SlowLink:
    """Two network namespaces with a slow link between them: for a server with a fast client beside it, and a slow one."""
    SERVER, CLIENT, RATE = "192.0.2.1", "192.0.2.2", "8mbit"

    def __enter__(self):
        self.near, self.far = (f"ringbench{os.getpid()}{end}" for end in "sc")
        try:
            for line in (f"ip netns add {self.near}", f"ip netns add {self.far}",
                         f"ip -n {self.near} link set lo up", f"ip -n {self.far} link set lo up",
                         f"ip -n {self.near} link add eth0 type veth peer name eth0 netns {self.far}",
                         f"ip -n {self.near} address add {self.SERVER}/24 dev eth0",
                         f"ip -n {self.far} address add {self.CLIENT}/24 dev eth0",
                         f"ip -n {self.near} link set eth0 up", f"ip -n {self.far} link set eth0 up",
                         f"tc -n {self.near} qdisc add dev eth0 root tbf rate {self.RATE} burst 32kb latency 400ms",
                         f"tc -n {self.far} qdisc add dev eth0 root tbf rate {self.RATE} burst 32kb latency 400ms"):
                done = subprocess.run(line.split(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                      check=False)
                if done.returncode != 0:
                    raise servers.Failed(f"no slow link: {line}: {done.stderr.strip()}")
        except (OSError, servers.Failed) as error:
            self.__exit__()
            raise servers.Failed(str(error)) from error
        return self

    def __exit__(self, *_):
        for name in self.near, self.far:
            with contextlib.suppress(OSError):
                subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)

    @staticmethod
    def inside(namespace):
        return ["ip", "netns", "exec", namespace]


class Bench:
    """The measurements of one run: how they are made, and the cells that they fill."""

    def __init__(self, args, tools, cores):
        self.args, self.tools = args, tools
        self.server_cores, self.client_cores = cores
        self.cells, self.notes = {}, []

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            print(f"bench: {text}", file=sys.stderr, flush=True)

    def run_part(self, part, store, groups, link=None):
        """Measure all groups, round by round."""
        for number in range(self.args.rounds):
            for group in groups:
                try:
                    self.run_group(part, store, group, number, link)
                except (servers.Failed, OSError, subprocess.SubprocessError) as error:
                    print(f"bench: {error}", file=sys.stderr, flush=True)
                    for row in group.rows:
                        self.keep(part, store, group, row, {"failed": str(error)})

    def run_group(self, part, store, group, number, link):
        server = servers.make(group.server, self.tools)
        server.settings, server.options = group.settings, group.options
        if link:
            server.host, server.prefix = "0.0.0.0", link.inside(link.near)
        with store.export(server) as export:
            try:
                server.start(export, self.server_cores)
                self.wait_ready(server)
                for row in group.rows:
                    print(f"bench: {part}, {store.name}, round {number + 1} of {self.args.rounds}, "
                          f"{group.label or group.server}: {row.name}", file=sys.stderr, flush=True)
                    self.keep(part, store, group, row, self.run_row(server, store, group, row, link))
            finally:
                if server.scratch:
                    server.stop()

    def wait_ready(self, server):
        deadline = time.monotonic() + servers.READY_S
        while time.monotonic() < deadline and server.alive():
            if subprocess.run(self.nfsload(server, ["ping"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise servers.Failed(f"{server.name} does not answer: {server.last_words()}")

    def nfsload(self, server, words, far=None):
        """nfsload's command line; `far` is the link whose other end it is to run on."""
        prefix = far.inside(far.far) if far else server.prefix
        return [*prefix, self.tools.nfsload, "--host", far.SERVER if far else "127.0.0.1", "--path", server.path,
                "--nfs-port", str(server.port), "--mount-port", str(server.mount_port), *words]

    def words(self, row, store):
        words = row.words.split()
        if row.count_on_disk and store.is_disk:
            words += ["--count", str(row.count_on_disk // 10 if self.args.quick else row.count_on_disk)]
        else:
            words += ["--seconds", str(self.args.seconds), "--warmup", "0.1" if self.args.quick else "0.3"]
        if self.args.quick:
            words += row.quick.split()
        return words

    def run_row(self, server, store, group, row, link):
        """One run: what nfsload says, as it says it, or {"failed": why}."""
        words = self.words(row, store) + ["--json", "--server-pid", ",".join(map(str, server.pids()))]
        if self.client_cores:
            words += ["--cores", ",".join(map(str, [*self.server_cores, *self.client_cores]))]
        command = self.nfsload(server, words)
        before = server.counters() if group.counters else {}
        with self.background(server, row, link):
            result = self.call(command, servers.ahead if row.ahead else servers.pinned)
        after = server.counters() if group.counters else {}
        result.update({name: after[name] - before[name] for name in after if name in before})
        result.update(server_memory_kb=server.memory_kb(), command=shlex.join(command),
                      server_command=shlex.join(server.command))
        wanted = row.about.get("x") if row.words.startswith(("read-seq", "write-unstable")) else None
        if "bs" in result and isinstance(wanted, int) and result["bs"] != wanted:
            return {"skipped": f"the server takes {result['bs']} bytes at most"}
        if not server.alive():
            raise servers.Failed(f"{server.name} ended by itself in {row.name}: {server.last_words()}")
        return result

    def call(self, command, placed):
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=RUN_MAX_S, preexec_fn=placed(self.client_cores))
            result = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            return {"failed": f"not done after {RUN_MAX_S} s"}
        except ValueError:
            return {"failed": (done.stderr.strip().splitlines() or [f"nfsload ended with {done.returncode}"])[-1]}
        if result["errors"]:
            result["complaint"] = (done.stderr.strip().splitlines() or [""])[0]
        return result

    @contextlib.contextmanager
    def background(self, server, row, link):
        """The second nfsload of a row, at work."""
        if not row.background:
            yield
            return
        words = [*row.background.split(), "--seconds", str(RUN_MAX_S)]
        if not row.far:
            words += ["--from", OTHER_CLIENT]
        with tempfile.TemporaryFile() as said:
            # Clients of a real server do not take processor time from one another: the callers come first here.
            process = subprocess.Popen(["nice", "-n", "19", *self.nfsload(server, words, link if row.far else None)],
                                       stdout=said, stderr=said, preexec_fn=servers.pinned(self.client_cores))
            try:
                time.sleep(BACKGROUND_LEAD_S)
                yield
                if process.poll() is not None:
                    said.seek(0)
                    raise servers.Failed(f"the load beside it ended early: {said.read().decode(errors='replace').strip()}")
            finally:
                process.terminate()
                process.wait()

    def keep(self, part, store, group, row, result):
        label = group.label or group.server.partition("=")[0]
        ours = servers.is_ours(servers.make(group.server, self.tools))
        cell = self.cells.setdefault((part, store.name, label, row.name), {
            "part": part, "store": store.name, "server": label, "ours": ours, "row": row.name, "rate": row.rate[0],
            "unit": row.rate[1], "cost": row.cost[0], "cost_unit": row.cost[1], "about": row.about, "rounds": []})
        cell["rounds"].append(result)

    def finish(self):
        """All cells, with medians, spreads and marks."""
        for cell in self.cells.values():
            summarise(cell)
        return list(self.cells.values())


def values(rounds, *keys):
    found = []
    for result in rounds:
        for key in keys:
            result = result.get(key, {})
        found.append(result)
    return found


def spread(numbers):
    middle = statistics.median(numbers)
    return (max(numbers) - min(numbers)) / middle if middle else 0.0


def summarise(cell):
    """Medians of the good rounds, and why they may not be trusted."""
    good = [r for r in cell["rounds"] if not r.get("failed") and not r.get("skipped") and not r["errors"]]
    cell["failed"] = next((r.get("failed") or f"{r['errors']} wrong replies: {r.get('complaint', '')}"
                           for r in cell["rounds"] if r.get("failed") or r.get("errors")), None)
    cell["skipped"] = next((r["skipped"] for r in cell["rounds"] if r.get("skipped")), None)
    cell["good_rounds"], cell["noisy"], cell["client_full"] = len(good), [], False
    if not good:
        return
    cell["rate_median"] = statistics.median(values(good, cell["rate"]))
    cell["cost_median"] = statistics.median(values(good, cell["cost"]))
    cell["p50_us"], cell["p99_us"] = (statistics.median(values(good, "lat_us", p)) for p in ("p50", "p99"))
    cell["rate_spread"] = round(spread(values(good, cell["rate"])), 4)
    cell["cost_spread"] = round(spread(values(good, cell["cost"])), 4)
    cell["other_cores"] = statistics.median(values(good, "other_cores"))
    cell["client_full"] = statistics.median(values(good, "client_cores")) > CLIENT_FULL
    cell["memory_kb"] = max(values(good, "server_memory_kb"))
    cell["retransmissions"] = sum(values(good, "retransmissions"))
    flushes = sum(r.get("flushes", 0) for r in good)
    if flushes:
        cell["calls_per_flush"] = sum(r["calls_flushed"] for r in good) / flushes
    if max(cell["rate_spread"], cell["cost_spread"]) > SPREAD_MAX:
        cell["noisy"].append(f"rounds differ by {max(cell['rate_spread'], cell['cost_spread']):.0%}")
    if cell["other_cores"] > OTHERS_MAX and cell["part"] not in ("fairness", "slow", "floods"):
        cell["noisy"].append(f"others used {cell['other_cores']:.2f} of a core")


def build(args):
    """Build the programs that are needed; returns their Tools. The build folder is the one that ./serve makes."""
    tools = Tools(os.path.abspath(args.build))
    if args.no_build:
        absent = [path for path in (tools.ringnfsd, tools.ringnfsctl, tools.nfsload, tools.nfsceiling)
                  if not os.access(path, os.X_OK)]
        if absent:
            raise servers.Failed(f"--no-build: there is no program {', '.join(absent)}; leave the option away to have it "
                                 "built, or name with --build DIR where `make all bench` was run")
        return tools
    script = 'source .ci/common.sh && need "the build" "${build_needs[@]}" && build_tree "$1" && make -s -C "$1" bench'
    if subprocess.run(["bash", "-c", script, "bench/run", tools.build], cwd=TOP, stdout=sys.stderr, check=False).returncode:
        raise servers.Failed("the build failed")
    return tools
