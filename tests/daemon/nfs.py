#!/usr/bin/env python3
"""A few NFSv3 calls for shell scripts, over a client of twenty lines.

usage: nfs.py null PORT [PROTO [PROGRAM VERSION]]
       nfs.py mnt PORT PATH                     prints the handle in hex
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

NFS, MOUNT = 100003, 100005


class Refused(Exception):
    pass


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


class Unpacker:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        self.at += 4
        return struct.unpack_from(">I", self.data, self.at - 4)[0]

    def u64(self):
        self.at += 8
        return struct.unpack_from(">Q", self.data, self.at - 8)[0]

    def opaque(self):
        length = self.u32()
        start = self.at
        self.at += length + -length % 4
        return self.data[start:start + length]

    def skip_attributes(self):
        if self.u32():
            self.at += 84


class Client:
    def __init__(self, port, program=NFS, version=3, proto="tcp", host="127.0.0.1"):
        self.program, self.version, self.stream = program, version, proto == "tcp"
        self.socket = socket.socket(type=socket.SOCK_STREAM if self.stream else socket.SOCK_DGRAM)
        self.socket.settimeout(30)
        self.socket.connect((host, port))

    def message(self, procedure, arguments=b""):
        credential = struct.pack(">I", 0) + opaque(b"test") + struct.pack(">3I", os.getuid(), os.getgid(), 0)
        return struct.pack(">6I", random.getrandbits(32), 0, 2, self.program, self.version, procedure) \
            + struct.pack(">I", 1) + opaque(credential) + struct.pack(">2I", 0, 0) + arguments

    def send(self, message):
        if self.stream:
            message = struct.pack(">I", 0x80000000 | len(message)) + message
        self.socket.sendall(message)

    def receive(self):
        if not self.stream:
            return self.socket.recv(65536)
        record, last = b"", False
        while not last:
            header = struct.unpack(">I", self.exactly(4))[0]
            last = bool(header >> 31)
            record += self.exactly(header & 0x7fffffff)
        return record

    def exactly(self, count):
        data = bytearray()
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError("the server closed the connection")
            data += more
        return bytes(data)

    def call(self, procedure, arguments=b""):
        self.send(self.message(procedure, arguments))
        return self.results(self.receive())

    @staticmethod
    def results(reply):
        unpacker = Unpacker(reply)
        unpacker.u32()
        if (unpacker.u32(), unpacker.u32()) != (1, 0):
            raise Refused("the call was denied")
        unpacker.u32()
        unpacker.opaque()
        status = unpacker.u32()
        if status:
            raise Refused(f"accept_stat {status}")
        return unpacker

    def nfs(self, procedure, arguments):
        """-> the results behind the status"""
        results = self.call(procedure, arguments)
        status = results.u32()
        if status:
            raise Refused(f"status {status}")
        return results


def handle_of(text):
    return opaque(bytes.fromhex(text))


def null(port, proto="tcp", program=NFS, version=3):
    Client(int(port), int(program), int(version), proto).call(0)


def mnt(port, path):
    print(Client(int(port), MOUNT).nfs(1, opaque(os.fsencode(path))).opaque().hex())


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
    results.skip_attributes()
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
        results.skip_attributes()
        verifier = results.data[results.at:results.at + 8]
        results.at += 8
        before = cookie
        while results.u32():
            fileid, name, cookie = results.u64(), results.opaque(), results.u64()
            if plus:
                results.skip_attributes()
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
            client.results(client.receive())
            client.send(client.message(7, write_arguments(handle, data, random.randrange(256) * 4096)))
    except (EOFError, ConnectionError):
        pass


def main():
    verbs = {"null": null, "mnt": mnt, "lookup": lookup, "create": create, "mode": mode, "read": read,
             "write": write, "list": list_, "load": load}
    if len(sys.argv) < 3 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    try:
        verbs[sys.argv[1]](*sys.argv[2:])
    except (Refused, OSError, EOFError) as error:
        sys.exit(f"{' '.join(sys.argv[1:4])}: {error}")


main()
