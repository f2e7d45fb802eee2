#!/usr/bin/env python3
"""A few NFSv3 calls for shell scripts, over a small client.

usage: nfs.py null PORT [PROTO [PROGRAM VERSION]]
       nfs.py mnt PORT PATH                     prints the handle in hex
       nfs.py umnt PORT PATH
       nfs.py dump PORT                         prints the MOUNT list, "HOST PATH" a line
       nfs.py lookup PORT HANDLE NAME           the same
       nfs.py create PORT HANDLE NAME           the same
       nfs.py mode PORT HANDLE                  GETATTR: prints the mode in octal
       nfs.py read PORT HANDLE                  prints the first 64 KiB
       nfs.py write PORT HANDLE TEXT
       nfs.py list PORT HANDLE [plus]           prints how many entries; each must come once
       nfs.py load PORT HANDLE                  pipelined writes until the server closes the connection

The exit status is 1 when a call is refused; the reason is on standard error.
"""
import os
import random
import socket
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "lib"))
import oncrpc  # noqa: E402
from oncrpc import Refused, opaque  # noqa: E402

NFS, MOUNT = 100003, 100005


class Client:
    def __init__(self, port, program=NFS, version=3, proto="tcp", host="127.0.0.1"):
        self.program, self.version, self.stream = program, version, proto == "tcp"
        self.socket = socket.socket(type=socket.SOCK_STREAM if self.stream else socket.SOCK_DGRAM)
        self.socket.settimeout(30)
        self.socket.connect((host, port))

    def message(self, procedure, arguments=b""):
        who = oncrpc.credential(os.getuid(), os.getgid(), machine=b"test")
        return oncrpc.call_message(random.getrandbits(32), self.program, self.version, procedure, who, arguments)

    def send(self, message):
        if self.stream:
            oncrpc.send_record(self.socket, message)
        else:
            self.socket.sendall(message)

    def receive(self):
        return oncrpc.receive_record(self.socket) if self.stream else self.socket.recv(65536)

    def call(self, procedure, arguments=b""):
        self.send(self.message(procedure, arguments))
        return oncrpc.results(self.receive())

    def nfs(self, procedure, arguments):
        """-> the results behind the status"""
        results = self.call(procedure, arguments)
        status = results.u32()
        if status:
            raise Refused(f"status {status}")
        return results


def skip_attributes(results):
    if results.u32():
        results.fixed(84)


def handle_of(text):
    return opaque(bytes.fromhex(text))


def null(port, proto="tcp", program=NFS, version=3):
    Client(int(port), int(program), int(version), proto).call(0)


def mnt(port, path):
    print(Client(int(port), MOUNT).nfs(1, opaque(os.fsencode(path))).opaque().hex())


def umnt(port, path):
    Client(int(port), MOUNT).call(3, opaque(os.fsencode(path)))


def dump(port):
    results = Client(int(port), MOUNT).call(2)
    while results.u32():
        print(results.opaque().decode(), os.fsdecode(results.opaque()))


def lookup(port, handle, name):
    print(Client(int(port)).nfs(3, handle_of(handle) + opaque(os.fsencode(name))).opaque().hex())


def create(port, handle, name):
    unchecked, no_attributes = struct.pack(">I", 0), struct.pack(">6I", 0, 0, 0, 0, 0, 0)
    results = Client(int(port)).nfs(8, handle_of(handle) + opaque(os.fsencode(name)) + unchecked + no_attributes)
    results.u32()
    print(results.opaque().hex())


def mode(port, handle):
    results = Client(int(port)).nfs(1, handle_of(handle))
    results.u32()
    print(f"{results.u32():o}")


def read(port, handle):
    results = Client(int(port)).nfs(6, handle_of(handle) + struct.pack(">QI", 0, 65536))
    skip_attributes(results)
    results.u32()
    results.u32()
    sys.stdout.buffer.write(results.opaque())


def write_arguments(handle, data, offset=0):
    return handle_of(handle) + struct.pack(">QII", offset, len(data), 2) + opaque(data)


def write(port, handle, text):
    Client(int(port)).nfs(7, write_arguments(handle, text.encode()))


def entries(client, handle, plus):
    cookie, verifier, end = 0, b"\0" * 8, False
    while not end:
        limits = struct.pack(">II", 65536, 1 << 20) if plus else struct.pack(">I", 65536)
        results = client.nfs(17 if plus else 16, handle_of(handle) + struct.pack(">Q", cookie) + verifier + limits)
        skip_attributes(results)
        verifier = results.fixed(8)
        before = cookie
        while results.u32():
            fileid, name, cookie = results.u64(), results.opaque(), results.u64()
            if plus:
                skip_attributes(results)
                if results.u32():
                    results.opaque()
            yield name, fileid
        end = results.u32()
        if not end and cookie == before:
            raise Refused("no entries, and not the end")


def list_(port, handle, plus=""):
    seen = set()
    for name, _ in entries(Client(int(port)), handle, plus):
        if name in seen:
            raise Refused(f"{name!r} came twice")
        seen.add(name)
    print(len(seen - {b".", b".."}))


def load(port, handle):
    client, data, depth = Client(int(port)), b"x" * 4096, 16
    for number in range(depth):
        client.send(client.message(7, write_arguments(handle, data, number * 4096)))
    try:
        while True:
            oncrpc.results(client.receive())
            client.send(client.message(7, write_arguments(handle, data, random.randrange(256) * 4096)))
    except (EOFError, ConnectionError):
        pass


def main():
    verbs = {"null": null, "mnt": mnt, "umnt": umnt, "dump": dump, "lookup": lookup, "create": create, "mode": mode,
             "read": read, "write": write, "list": list_, "load": load}
    if len(sys.argv) < 3 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    try:
        verbs[sys.argv[1]](*sys.argv[2:])
    except (Refused, OSError, EOFError) as error:
        sys.exit(f"{' '.join(sys.argv[1:4])}: {error}")


main()
