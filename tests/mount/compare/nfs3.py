"""A client for NFSv3 and MOUNT (RFC 1813), and NFSACL (xdr/nfs_acl.x), that chooses its address, its port and who it says
it is.

Every call returns (status, meaning): status is a name; meaning is what two servers should agree on (attributes without
times and without numbers of their own) or None.
"""
import errno
import itertools
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "lib"))
import oncrpc  # noqa: E402
from oncrpc import opaque  # noqa: E402

NFS, MOUNT, NFSACL = 100003, 100005, 100227
SERVER, SERVER6 = "192.0.2.1", "2001:db8::1"
TYPES = (None, "file", "directory", "block", "char", "symlink", "socket", "fifo")
STATUS = {0: "OK", 1: "PERM", 2: "NOENT", 5: "IO", 6: "NXIO", 13: "ACCES", 17: "EXIST", 18: "XDEV", 19: "NODEV",
          20: "NOTDIR", 21: "ISDIR", 22: "INVAL", 27: "FBIG", 28: "NOSPC", 30: "ROFS", 31: "MLINK", 63: "NAMETOOLONG",
          66: "NOTEMPTY", 69: "DQUOT", 70: "STALE", 71: "REMOTE", 10001: "BADHANDLE", 10002: "NOT_SYNC",
          10003: "BAD_COOKIE", 10004: "NOTSUPP", 10005: "TOOSMALL", 10006: "SERVERFAULT", 10007: "BADTYPE",
          10008: "JUKEBOX"}
UNCHECKED, GUARDED, EXCLUSIVE = 0, 1, 2
FILE_SYNC = 2


class Caller:
    """uid, gid, gids: AUTH_SYS; without a uid: AUTH_NONE."""

    def __init__(self, name, uid=None, gid=None, gids=()):
        self.name = name
        self.credential = oncrpc.credential(uid, gid, gids)


class Place:
    """Where a call comes from."""

    def __init__(self, address, privileged=True):
        self.address, self.privileged = address, privileged

    def __str__(self):
        return self.address + ("" if self.privileged else " unprivileged")


def text(name):
    return opaque(name.encode())


def sattr(mode=None, uid=None, gid=None, size=None, atime=None, mtime=None):
    """Times: "server", or seconds."""
    words = b""
    for value in (mode, uid, gid):
        words += struct.pack(">I", 0) if value is None else struct.pack(">II", 1, value)
    words += struct.pack(">I", 0) if size is None else struct.pack(">IQ", 1, size)
    for value in (atime, mtime):
        words += struct.pack(">I", 0) if value is None else struct.pack(">I", 1) if value == "server" else \
            struct.pack(">III", 2, value, 0)
    return words


def entries(acl):
    """A list of an ACL: how many, and each as (type, id, permissions); or the words as they are."""
    if isinstance(acl, bytes):
        return acl
    return struct.pack(">II", len(acl), len(acl)) + b"".join(struct.pack(">3I", *entry) for entry in acl)


class Results(oncrpc.Unpacker):
    def attributes(self):
        kind, mode, nlink, uid, gid, size = struct.unpack_from(">5IQ", self.fixed(84))
        words = [TYPES[kind], f"{mode:o}", f"{uid}:{gid}", f"nlink {nlink}"]
        return " ".join(words + ([f"size {size}"] if TYPES[kind] in ("file", "symlink") else []))

    def post_op(self):
        return self.attributes() if self.u32() else None

    def wcc(self):
        if self.u32():
            self.fixed(24)
        return self.post_op()


class Server:
    def __init__(self, name, nfs_port, mount_port, files):
        self.name, self.files = name, files
        self.ports = {NFS: nfs_port, MOUNT: mount_port, NFSACL: nfs_port}
        self.connections, self.xids = {}, itertools.count(1)
        self.low_ports = itertools.cycle(range(1023, 600, -1))

    def connect(self, program, place):
        family, host = (socket.AF_INET6, SERVER6) if ":" in place.address else (socket.AF_INET, SERVER)
        while True:
            connection = socket.socket(family, socket.SOCK_STREAM)
            connection.settimeout(30)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                connection.bind((place.address, next(self.low_ports) if place.privileged else 0))
                connection.connect((host, self.ports[program]))
                return connection
            except OSError as error:
                connection.close()
                if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                    raise

    def call(self, program, procedure, place, caller, arguments):
        """-> (None, what follows the reply's header), or (why the call is refused, None)."""
        key = program, place.address, place.privileged
        if key not in self.connections:
            self.connections[key] = self.connect(program, place)
        connection, xid = self.connections[key], next(self.xids)
        message = oncrpc.call_message(xid, program, 3, procedure, caller.credential, arguments)
        try:
            oncrpc.send_record(connection, message)
            return None, oncrpc.results(oncrpc.receive_record(connection), xid, Results)
        except oncrpc.Refused as error:
            return str(error), None
        except (EOFError, TimeoutError) as error:
            self.connections.pop(key).close()
            return f"no reply ({error})", None

    def mnt(self, path, place, caller):
        """-> (status, flavours, handle)"""
        refused, results = self.call(MOUNT, 1, place, caller, text(path))
        status = refused or STATUS[results.u32()]
        if status != "OK":
            return status, None, None
        handle = results.opaque()
        return status, sorted(results.u32() for _ in range(results.u32())), handle

    def nfs(self, procedure, place, caller, arguments, decode=None, program=NFS):
        """-> (status, what decode makes of a success)"""
        refused, results = self.call(program, procedure, place, caller, arguments)
        status = refused or STATUS[results.u32()]
        return status, decode(results) if decode and status == "OK" else None

    def getattr(self, handle, place, caller):
        return self.nfs(1, place, caller, opaque(handle), Results.attributes)

    def setattr(self, handle, place, caller, **attributes):
        return self.nfs(2, place, caller, opaque(handle) + sattr(**attributes) + bytes(4))

    def lookup(self, handle, name, place, caller):
        """-> (status, attributes, handle)"""
        def decode(results):
            found = results.opaque()
            return results.post_op(), found
        status, found = self.nfs(3, place, caller, opaque(handle) + text(name), decode)
        return (status, *(found or (None, None)))

    def access(self, handle, place, caller, bits=0x3f):
        def decode(results):
            results.post_op()
            return f"{results.u32():#x}"
        return self.nfs(4, place, caller, opaque(handle) + struct.pack(">I", bits), decode)

    def readlink(self, handle, place, caller):
        def decode(results):
            results.post_op()
            return results.opaque()
        return self.nfs(5, place, caller, opaque(handle), decode)

    def read(self, handle, place, caller, offset=0, count=64):
        def decode(results):
            results.post_op()
            count, end = results.u32(), results.u32()
            return count, end, results.opaque()
        return self.nfs(6, place, caller, opaque(handle) + struct.pack(">QI", offset, count), decode)

    def write(self, handle, place, caller, data, offset=0, stable=FILE_SYNC):
        def decode(results):
            results.wcc()
            return results.u32(), f"stable {results.u32()}"
        arguments = opaque(handle) + struct.pack(">QII", offset, len(data), stable) + opaque(data)
        return self.nfs(7, place, caller, arguments, decode)

    def create(self, folder, name, place, caller, how=UNCHECKED, **attributes):
        how = struct.pack(">I", how) + (bytes(range(8)) if how == EXCLUSIVE else sattr(**attributes))
        return self.nfs(8, place, caller, opaque(folder) + text(name) + how)

    def mkdir(self, folder, name, place, caller, **attributes):
        return self.nfs(9, place, caller, opaque(folder) + text(name) + sattr(**attributes))

    def symlink(self, folder, name, place, caller, target):
        return self.nfs(10, place, caller, opaque(folder) + text(name) + sattr(mode=0o777) + text(target))

    def mknod(self, folder, name, place, caller, kind, mode=0o644):
        device = struct.pack(">II", 1, 3) if kind in ("block", "char") else b""
        arguments = opaque(folder) + text(name) + struct.pack(">I", TYPES.index(kind)) + sattr(mode=mode) + device
        return self.nfs(11, place, caller, arguments)

    def remove(self, folder, name, place, caller):
        return self.nfs(12, place, caller, opaque(folder) + text(name))

    def rmdir(self, folder, name, place, caller):
        return self.nfs(13, place, caller, opaque(folder) + text(name))

    def rename(self, folder, name, to_folder, to_name, place, caller):
        return self.nfs(14, place, caller, opaque(folder) + text(name) + opaque(to_folder) + text(to_name))

    def link(self, handle, folder, name, place, caller):
        return self.nfs(15, place, caller, opaque(handle) + opaque(folder) + text(name))

    def readdir(self, handle, place, caller, plus=False):
        """The whole directory: names, with READDIRPLUS and their attributes; those of ".." are left out."""
        cookie, verifier, end, names = 0, bytes(8), False, []
        while not end:
            limits = struct.pack(">II", 4096, 32768) if plus else struct.pack(">I", 4096)
            refused, results = self.call(NFS, 17 if plus else 16, place, caller,
                                         opaque(handle) + struct.pack(">Q", cookie) + verifier + limits)
            status = refused or STATUS[results.u32()]
            if status != "OK":
                return status, None
            results.post_op()
            verifier = results.fixed(8)
            while results.u32():
                results.u64()
                name, cookie, attributes = results.opaque().decode(), results.u64(), None
                if plus:
                    attributes = results.post_op()
                    if results.u32():
                        results.opaque()
                names.append((name, attributes if name != ".." else None))
            end = results.u32()
        return "OK", sorted(names, key=lambda entry: entry[0])

    def fsid(self, handle, place, caller):
        """A number of the server's own, for comparing with others of its."""
        return self.nfs(1, place, caller, opaque(handle), lambda results: struct.unpack_from(">Q", results.data,
                                                                                            results.at + 44)[0])

    def fsstat(self, handle, place, caller):
        """-> (status, bytes of the file system)"""
        def decode(results):
            results.post_op()
            return results.u64()
        return self.nfs(18, place, caller, opaque(handle), decode)

    def fsinfo(self, handle, place, caller):
        return self.nfs(19, place, caller, opaque(handle))

    def commit(self, handle, place, caller):
        return self.nfs(21, place, caller, opaque(handle) + bytes(12))

    def getacl(self, handle, place, caller, mask=0xf):
        """-> (status, mask, how many entries and those, of both ACLs)"""
        def decode(results):
            words = [results.post_op(), f"mask {results.u32():#x}"]
            for _ in range(2):
                words.append(f"{results.u32()}:")
                words += [f"{results.u32():#x}:{results.u32()}:{results.u32():o}" for _ in range(results.u32())]
            return tuple(words)
        return self.nfs(1, place, caller, opaque(handle) + struct.pack(">I", mask), decode, NFSACL)

    def setacl(self, handle, place, caller, mask, access=(), default=()):
        """-> (status, attributes)"""
        arguments = opaque(handle) + struct.pack(">I", mask) + entries(access) + entries(default)
        return self.nfs(2, place, caller, arguments, Results.post_op, NFSACL)
