#!/usr/bin/env python3
"""Clients that a restart must not disturb.

usage: restart.py load PORT HANDLE STOP          work until the file STOP exists; prints what was done
       restart.py journal LOAD FILE             are all calls that load has printed in the journal, once each?
       restart.py replay PORT HANDLE CTL...      calls sent again to the next server, from the same address and port
       restart.py halves PORT HANDLE CTL...      a call of which one half comes before and one after
       restart.py unread PORT HANDLE CTL...      replies that are not taken before
       restart.py pretend STEP                   be a new server that ends after offer, ready or state (server/channel.h)
       restart.py kill PID PROGRAM...            be a new server, but kill the old one once it has made its offer
       restart.py between WHAT PROGRAM...        be between an old server and a new one: the "offer" or the "state" is of
                                                 another version, or the process of that number is killed once its state
                                                 has been sent
       restart.py manage SOCKET FILE             be a service manager: write down who says what, "PID TEXT" a line

CTL... is a command that restarts the server. The exit status is 1 when a client has seen anything of it.

load: connections with several calls under way each, clients with datagrams, which send again what is not answered, and
clients that connect anew for each call. Every change is made so that it fails when it is made twice: guarded CREATE, MKDIR,
RENAME to a new name, REMOVE, RMDIR.
"""
import collections
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "lib"))
import oncrpc  # noqa: E402
from oncrpc import opaque  # noqa: E402

NFS, GETATTR, READ, WRITE, CREATE, MKDIR, REMOVE, RMDIR, RENAME = 100003, 1, 6, 7, 8, 9, 12, 13, 14
STREAMS, DEPTH, DATAGRAMS = 4, 4, 2
# A connection that its client closes while the old server still has a descriptor of it stays in the new one's epoll(7) set
# for that moment. libev copes with it, ThreadSanitizer takes its epoll_ctl(2) for a race for the number.
CONNECTERS = 0 if "TSAN_OPTIONS" in os.environ else 2
AGAIN_S, PATIENCE_S = 0.5, 20
NO_ATTRIBUTES = struct.pack(">6I", 0, 0, 0, 0, 0, 0)


class Seen(Exception):
    """A client has noticed something."""


def entry(directory, name):
    return opaque(directory) + opaque(name.encode())


def create(directory, name):
    return CREATE, entry(directory, name) + struct.pack(">I", 1) + NO_ATTRIBUTES


def changes(directory, prefix, number):
    """What is done to one file and one directory, one after the other."""
    name = f"{prefix}-{number}"
    yield create(directory, name)
    yield RENAME, entry(directory, name) + entry(directory, name + "-moved")
    yield REMOVE, entry(directory, name + "-moved")
    yield MKDIR, entry(directory, name) + NO_ATTRIBUTES
    yield GETATTR, opaque(directory)
    yield RMDIR, entry(directory, name)


class Xids:
    def __init__(self):
        self.lock, self.last = threading.Lock(), int(time.time()) & 0x7fffffff

    def next(self):
        with self.lock:
            self.last += 1
            return self.last


XIDS = Xids()


def message(xid, procedure, arguments):
    return oncrpc.call_message(xid, NFS, 3, procedure, oncrpc.credential(0, 0), arguments)


def status(reply, xid):
    return oncrpc.results(reply, xid).u32()


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Load:
    def __init__(self, port, handle, stop):
        self.port, self.handle, self.stop = port, handle, stop
        self.lock, self.calls, self.again, self.longest, self.seen = threading.Lock(), 0, 0, 0, []
        self.sent_again = set()             # their xids

    def over(self):
        return os.path.exists(self.stop) or self.seen

    def count(self, calls=0, again=0, took=0):
        with self.lock:
            self.calls += calls
            self.again += again
            self.longest = max(self.longest, took)

    def expect(self, reply, xid, procedure):
        found = status(reply, xid)
        if found:
            raise Seen(f"procedure {procedure}, xid {xid:#x}: status {found}")

    def stream(self, name):
        """DEPTH sequences of changes at once over one connection; replies come in any order."""
        connection = connect(self.port)
        under_way, number = {}, 0
        sequences = [iter(()) for _ in range(DEPTH)]

        def send(place):
            nonlocal number
            step = next(sequences[place], None)
            if step is None:
                if self.over():
                    return
                number += 1
                sequences[place] = changes(self.handle, name, number)
                step = next(sequences[place])
            xid = XIDS.next()
            under_way[xid] = (place, step[0], time.monotonic())
            oncrpc.send_record(connection, message(xid, *step))

        for place in range(DEPTH):
            send(place)
        while under_way:
            reply = oncrpc.receive_record(connection)
            xid = struct.unpack_from(">I", reply)[0]
            place, procedure, since = under_way.pop(xid)
            self.expect(reply, xid, procedure)
            self.count(calls=1, took=time.monotonic() - since)
            send(place)

    def datagrams(self, name):
        client = socket.socket(type=socket.SOCK_DGRAM)
        client.connect(("127.0.0.1", self.port))
        client.settimeout(AGAIN_S)
        number = 0
        while not self.over():
            number += 1
            for procedure, arguments in changes(self.handle, name, number):
                xid, since, times = XIDS.next(), time.monotonic(), 0
                while True:
                    client.send(message(xid, procedure, arguments))
                    try:
                        reply = client.recv(65536)
                        while struct.unpack_from(">I", reply)[0] != xid:
                            reply = client.recv(65536)
                        break
                    except TimeoutError:
                        times += 1
                        self.sent_again.add(xid)
                        if time.monotonic() - since > PATIENCE_S:
                            raise Seen(f"procedure {procedure} by UDP: no answer") from None
                self.expect(reply, xid, procedure)
                self.count(calls=1, again=times, took=time.monotonic() - since)

    def connecter(self, name):
        number = 0
        while not self.over():
            number += 1
            for procedure, arguments in changes(self.handle, name, number):
                xid, since = XIDS.next(), time.monotonic()
                with connect(self.port) as connection:
                    oncrpc.send_record(connection, message(xid, procedure, arguments))
                    self.expect(oncrpc.receive_record(connection), xid, procedure)
                self.count(calls=1, took=time.monotonic() - since)

    def guard(self, work, name):
        try:
            work(name)
        except (Seen, OSError, EOFError, AssertionError, oncrpc.Refused) as error:
            self.seen.append(f"{name}: {type(error).__name__}: {error}")

    def run(self):
        workers = [(self.stream, STREAMS), (self.datagrams, DATAGRAMS), (self.connecter, CONNECTERS)]
        threads = [threading.Thread(target=self.guard, args=(work, f"{work.__name__}{i}"))
                   for work, count in workers for i in range(count)]
        first = XIDS.last + 1
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"calls {self.calls}, datagrams sent again {self.again}, longest {self.longest * 1000:.0f} ms, "
              f"xids {first} to {XIDS.last}, again {sorted(self.sent_again)}")
        if self.seen:
            sys.exit("\n".join(self.seen))


def load(port, handle, stop):
    Load(port, handle, stop).run()


def journal(printed, file):
    """Every xid was one call's that has been answered; one that was sent again may be told of again."""
    with open(printed, encoding="ascii") as line:
        xids, again = line.read().split("xids ")[1].split(", again ")
        first, last = (int(word) for word in xids.split()[::2])
    with open(file, encoding="ascii") as lines:
        told = [json.loads(line) for line in lines]
    if "ringnfs_journal" not in told[0] or any("xid" not in line for line in told[1:]):
        sys.exit(f"not a call: {[line for line in told if 'xid' not in line]}")
    xids = [line["xid"] for line in told[1:] if line["prog"] == "NFS" and not line.get("replayed")]
    found, wanted = [xid for xid in xids if first <= xid <= last], range(first, last + 1)
    counts = collections.Counter(found)
    twice = [xid for xid, count in counts.items() if count > 1 and xid not in json.loads(again)]
    if set(counts) != set(wanted) or twice:
        missing = sorted(set(wanted) - set(found))
        sys.exit(f"{len(found)} calls of {len(wanted)}; missing {missing[:10]}, twice {twice[:10]}")
    print(len(found))


def restart(command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def exchange(client, datagram, record):
    if datagram:
        client.send(record)
        return client.recv(65536)
    oncrpc.send_record(client, record)
    return oncrpc.receive_record(client)


def client_of(port, kind, local):
    client = socket.socket(type=kind)
    client.settimeout(PATIENCE_S)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    client.bind(("127.0.0.1", local))
    client.connect(("127.0.0.1", port))
    return client


def replay(port, handle, *command):
    """The same bytes from the same port: the reply is the first one, and nothing is done again."""
    for kind, anew in ((socket.SOCK_STREAM, False), (socket.SOCK_STREAM, True), (socket.SOCK_DGRAM, False)):
        datagram, name, xid = kind == socket.SOCK_DGRAM, f"once-{kind}-{anew}", XIDS.next()
        client = client_of(port, kind, 0)
        call = message(xid, *create(handle, name))
        first = exchange(client, datagram, call)
        if status(first, xid):
            raise Seen(f"{name} cannot be made: {status(first, xid)}")
        if anew:
            local = client.getsockname()[1]
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        restart(command)
        if anew:
            client = client_of(port, kind, local)
        if exchange(client, datagram, call) != first:
            raise Seen(f"{name}: another reply to the same call after the restart")
        other = XIDS.next()
        if status(exchange(client, datagram, message(other, *create(handle, name))), other) != 17:
            raise Seen(f"{name}: a new call must find the file")


def halves(port, handle, *command):
    """Cuts in the mark, in the header, in the arguments, and between two fragments."""
    whole = message(XIDS.next(), GETATTR, opaque(handle))
    one = struct.pack(">I", 0x80000000 | len(whole)) + whole
    two = struct.pack(">I", 44) + whole[:44] + struct.pack(">I", 0x80000000 | (len(whole) - 44)) + whole[44:]
    cuts = [(one, 2), (one, 4), (one, 30), (one, len(one) - 1), (two, 30), (two, 48), (two, 50), (two, 60)]
    clients = [connect(port) for _ in cuts]
    for client, (record, cut) in zip(clients, cuts):
        client.sendall(record[:cut])
    time.sleep(0.2)                                      # let the server have them
    restart(command)
    for client, (record, cut) in zip(clients, cuts):
        client.sendall(record[cut:])
        if status(oncrpc.receive_record(client), struct.unpack_from(">I", whole)[0]):
            raise Seen(f"cut at {cut}: refused")


def unread(port, handle, *command):
    """More replies than fit into the sockets, of a file whose bytes tell where they are."""
    size, count = 1 << 20, 24
    client = connect(port)
    for xid in range(count):
        oncrpc.send_record(client, message(xid + 1, READ, opaque(handle) + struct.pack(">QI", xid % 8 * size, size)))
    time.sleep(0.5)                                      # let the server fill the socket
    restart(command)
    for _ in range(count):
        reply = oncrpc.receive_record(client)
        results = oncrpc.results(reply)
        if results.u32():
            raise Seen("READ is refused")
        if results.u32():
            results.fixed(84)
        results.u32()
        results.u32()
        place = struct.unpack_from(">I", reply)[0] - 1
        if results.opaque() != struct.pack(">Q", place % 8) * (size // 8):
            raise Seen(f"reply {place}: other data")


CHANNEL = 3


def pretend(step):
    channel = socket.socket(fileno=CHANNEL)
    socket.recv_fds(channel, 4096, 253)
    if step != "offer":
        channel.send(b"r%d" % os.getpid())
    if step == "state":
        socket.recv_fds(channel, 4096, 253)
    os._exit(1)


def kill(pid, *program):
    select.select([CHANNEL], [], [], PATIENCE_S)
    os.kill(int(pid), signal.SIGKILL)
    os.execv(program[0], program)


def another_version(document):
    """The same document (server/channel.c), but for its version."""
    data = bytearray(os.pread(document, os.fstat(document).st_size, 0))
    struct.pack_into(">I", data, 8, struct.unpack_from(">I", data, 8)[0] + 1)
    changed = os.memfd_create("document")
    os.write(changed, data)
    return changed


def between(what, *program):
    old = socket.socket(fileno=CHANNEL)
    new, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        os.dup2(theirs.fileno(), CHANNEL)
        os.execv(program[0], program)
    theirs.close()
    while True:
        source = select.select([old, new], [], [])[0][0]
        message, descriptors, _, _ = socket.recv_fds(source, 4096, 253)
        if not message:
            sys.exit()
        if message[:1] == what[:1].encode():             # the letter of its kind
            descriptors[0] = another_version(descriptors[0])
        if message[:1] == b"s" and what.isdigit():
            os.kill(int(what), signal.SIGKILL)
        socket.send_fds(new if source is old else old, [message], descriptors)
        if message[:1] == b"s" and what.isdigit():
            sys.exit()
        for descriptor in descriptors:
            os.close(descriptor)


def manage(name, file):
    """What is @ first is an abstract socket."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    listener.bind(name.replace("@", "\0", 1) if name.startswith("@") else name)
    with open(file, "w", encoding="ascii") as out:
        while True:
            text, control, _, _ = listener.recvmsg(4096, socket.CMSG_SPACE(12))
            pid = struct.unpack("3i", control[0][2])[0]
            print(pid, text.decode("ascii").replace("\n", " "), file=out, flush=True)


def main():
    verbs = {"load": load, "replay": replay, "halves": halves, "unread": unread}
    if sys.argv[1:2] == ["pretend"]:
        pretend(sys.argv[2])
    if sys.argv[1:2] == ["kill"]:
        kill(*sys.argv[2:])
    if sys.argv[1:2] == ["journal"]:
        sys.exit(journal(*sys.argv[2:]))
    if sys.argv[1:2] == ["between"]:
        between(*sys.argv[2:])
    if sys.argv[1:2] == ["manage"]:
        manage(*sys.argv[2:])
    if len(sys.argv) < 5 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    try:
        verbs[sys.argv[1]](int(sys.argv[2]), bytes.fromhex(sys.argv[3]), *sys.argv[4:])
    except (Seen, OSError, EOFError, oncrpc.Refused) as error:
        sys.exit(f"{sys.argv[1]}: {type(error).__name__}: {error}")


main()
