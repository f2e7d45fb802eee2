"""An NFSv3 client (RFC 1813) that has many calls under way on one connection, and outlives its server.

A call is started by send() and its reply comes by replies(), in whatever order the server has it ready; call() does both
for one. A reply is a Reply: its status, and the fields that its procedure has.
"""
import itertools
import os
import random
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from oncrpc import Unpacker, call_message, credential, opaque, send_record

NFS, MOUNT, NFSACL = 100003, 100005, 100227
GETATTR, SETATTR, LOOKUP, READLINK, READ, WRITE, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR, RENAME, LINK, READDIR, \
    COMMIT = 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 21
STATUS = {0: "OK", 1: "PERM", 2: "NOENT", 5: "IO", 13: "ACCES", 17: "EXIST", 18: "XDEV", 20: "NOTDIR", 21: "ISDIR",
          22: "INVAL", 27: "FBIG", 28: "NOSPC", 30: "ROFS", 31: "MLINK", 63: "NAMETOOLONG", 66: "NOTEMPTY", 69: "DQUOT",
          70: "STALE", 10001: "BADHANDLE", 10004: "NOTSUPP", 10006: "SERVERFAULT", 10007: "BADTYPE", 10008: "JUKEBOX"}
UNCHECKED, GUARDED, EXCLUSIVE = 0, 1, 2
GETACL, SETACL = 1, 2                                   # of NFSACL
ACCESS_ACL, DEFAULT_ACL = 1, 4
OWNER, USER, OWNING_GROUP, MASK, OTHER, OF_DEFAULT = 0x01, 0x02, 0x04, 0x10, 0x20, 0x1000
UNSTABLE, DATA_SYNC, FILE_SYNC = 0, 1, 2
REGULAR, DIRECTORY, SYMLINK_TYPE, FIFO = 1, 2, 5, 7


class Gone(Exception):
    """The server closed the connection, or does not answer."""


def text(name):
    return opaque(os.fsencode(name))


def sattr(mode=None, size=None, mtime=None, uid=None):
    words = struct.pack(">I", 0) if mode is None else struct.pack(">II", 1, mode)
    words += struct.pack(">I", 0) if uid is None else struct.pack(">II", 1, uid)
    words += struct.pack(">I", 0)
    words += struct.pack(">I", 0) if size is None else struct.pack(">IQ", 1, size)
    words += struct.pack(">I", 0)
    return words + (struct.pack(">I", 0) if mtime is None else struct.pack(">III", 2, mtime, 0))


class Attributes:
    def __init__(self, data, at):
        self.type, self.mode, self.nlink, self.uid = struct.unpack_from(">4I", data, at)
        self.size = struct.unpack_from(">Q", data, at + 20)[0]
        self.fileid = struct.unpack_from(">Q", data, at + 52)[0]
        self.mtime = struct.unpack_from(">I", data, at + 68)[0]


class Reply(Unpacker):
    """The reply to one call; op: what the caller gave to send()."""

    def __init__(self, data, op, procedure):
        super().__init__(data)
        self.op = op
        self.status = STATUS.get(self.u32(), "another")
        self.handle = self.attributes = self.verifier = None
        decode = {GETATTR: self.fattr, LOOKUP: self.lookup, READ: self.read, WRITE: self.write, COMMIT: self.commit,
                  CREATE: self.made, MKDIR: self.made, SYMLINK: self.made, MKNOD: self.made,
                  READLINK: self.readlink}.get(procedure)
        if self.status == "OK" and decode:
            decode()

    def fattr(self):
        self.at += 84
        self.attributes = Attributes(self.data, self.at - 84)

    def post_op(self):
        if self.u32():
            self.fattr()

    def wcc(self):
        if self.u32():
            self.at += 24
        if self.u32():
            self.at += 84

    def lookup(self):
        self.handle = self.opaque()
        self.post_op()

    def made(self):
        if self.u32():
            self.handle = self.opaque()
        self.post_op()

    def read(self):
        self.post_op()
        self.at += 8
        self.bytes = self.opaque()

    def readlink(self):
        self.post_op()
        self.bytes = self.opaque()

    def write(self):
        self.wcc()
        self.count, self.committed, self.verifier = self.u32(), self.u32(), self.fixed(8)

    def commit(self):
        self.wcc()
        self.verifier = self.fixed(8)


class Client:
    def __init__(self, port, host="127.0.0.1", patience=60, uid=0):
        """patience: seconds that a reply may take."""
        self.address, self.patience = (host, port), patience
        self.credential = credential(uid, uid)
        self.xids = itertools.count(random.getrandbits(30))
        self.socket, self.waiting, self.input = None, {}, bytearray()

    def connect(self, deadline):
        """Connect to a server that may only be starting; True when it answers before the deadline (time.monotonic())."""
        while time.monotonic() < deadline:
            try:
                self.close()
                self.socket = socket.socket()
                self.socket.settimeout(2)
                self.socket.connect(self.address)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.call(0)
                self.socket.settimeout(self.patience)
                return True
            except (OSError, Gone):
                time.sleep(0.02)
        return False

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket, self.waiting, self.input = None, {}, bytearray()

    def send(self, procedure, arguments=b"", op=None, program=NFS):
        xid = next(self.xids) & 0xffffffff
        self.waiting[xid] = (op, procedure, program)
        try:
            send_record(self.socket, call_message(xid, program, 3, procedure, self.credential, arguments))
        except OSError as error:
            raise Gone(error) from error

    def replies(self):
        """Wait for at least one reply; the calls that have none yet are in self.waiting."""
        found = []
        while not found:
            try:
                more = self.socket.recv(1 << 18)
            except OSError as error:
                raise Gone(error) from error
            if not more:
                raise Gone("the connection was closed")
            self.input += more
            while len(self.input) >= 4:
                length = struct.unpack_from(">I", self.input)[0] & 0x7fffffff
                if len(self.input) < 4 + length:
                    break
                found.append(self.decode(bytes(self.input[4:4 + length])))
                del self.input[:4 + length]
        return found

    def decode(self, record):
        xid, direction, denied, _, _, accepted = struct.unpack_from(">6I", record)
        op, procedure, program = self.waiting.pop(xid)
        assert (direction, denied, accepted) == (1, 0, 0), f"no reply to procedure {procedure}: {record[:24].hex()}"
        if procedure == 0:
            return None
        return Reply(record[24:], op, procedure if program == NFS else None)

    def call(self, procedure, arguments=b"", program=NFS):
        assert not self.waiting
        self.send(procedure, arguments, program=program)
        return self.replies()[0]

    def mnt(self, path):
        reply = self.call(1, text(path), program=MOUNT)
        assert reply.status == "OK", f"MNT {path}: {reply.status}"
        return reply.opaque()

    def acl(self, handle, which):
        """All entries of an access or a default ACL: (type, id, perm) each."""
        reply = self.call(GETACL, opaque(handle) + struct.pack(">I", which), program=NFSACL)
        if reply.status != "OK":
            raise AssertionError(f"GETACL: {reply.status}")
        reply.post_op()
        reply.u32()
        lists = []
        for _ in range(2):
            reply.u32()
            lists.append([(reply.u32(), reply.u32(), reply.u32()) for _ in range(reply.u32())])
        return lists[which == DEFAULT_ACL]

    def names(self, folder):
        """All names of a directory but "." and ".."."""
        cookie, verifier, names, end = 0, bytes(8), [], False
        while not end:
            reply = self.call(READDIR, opaque(folder) + struct.pack(">Q", cookie) + verifier + struct.pack(">I", 32768))
            if reply.status != "OK":
                raise AssertionError(f"READDIR: {reply.status}")
            reply.post_op()
            verifier = reply.fixed(8)
            while reply.u32():
                reply.u64()
                names.append(os.fsdecode(reply.opaque()))
                cookie = reply.u64()
            end = reply.u32()
        return sorted(set(names) - {".", ".."})


def acl_entries(entries):
    """entries: (type, id, perm) each"""
    return struct.pack(">II", len(entries), len(entries)) + b"".join(struct.pack(">3I", *entry) for entry in entries)


def a_setacl(handle, access=None, default=None):
    """SETACL of what is given."""
    mask = (ACCESS_ACL if access else 0) | (DEFAULT_ACL if default else 0)
    return opaque(handle) + struct.pack(">I", mask) + acl_entries(access or []) + acl_entries(default or [])


def a_write(handle, offset, data, stable):
    return opaque(handle) + struct.pack(">QII", offset, len(data), stable) + opaque(data)


def a_read(handle, offset, count):
    return opaque(handle) + struct.pack(">QI", offset, count)


def a_name(folder, name):
    return opaque(folder) + text(name)


def a_setattr(handle, **attributes):
    return opaque(handle) + sattr(**attributes) + bytes(4)


def a_create(folder, name, how=UNCHECKED, verifier=None, **attributes):
    return a_name(folder, name) + struct.pack(">I", how) + (verifier if how == EXCLUSIVE else sattr(**attributes))


def a_commit(handle):
    return opaque(handle) + bytes(12)
