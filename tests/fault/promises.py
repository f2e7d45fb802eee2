"""One client that remembers what the server has promised it, and looks for it after the server has died.

A promise is a reply: to WRITE with DATA_SYNC or FILE_SYNC, to COMMIT, and, on a sync export, to each call that changes a
name or an attribute. Every file block has the version that was promised last, and the later ones that were sent; after a
crash each 8 bytes of it must be of one of these. Every name leads to the object, by its own handle, with the attributes
that were promised; where a call had no reply yet, to what was there before it or after it.

With strict=False nothing is promised (an async export): what is gone is counted as lost, and only what never was written
there, or belongs to another file, is wrong.
"""
import random
import struct
import time

import nfs3
from nfs3 import Gone, a_commit, a_create, a_name, a_read, a_setattr, a_write, opaque, sattr, text

FILES, BLOCKS, BLOCK = 4, 24, 3000      # blocks straddle pages
FOLDERS, NAMES = 3, 12
DEPTH = 8
OLD_HANDLES = 32                        # of removed files, looked at after a crash
WORD = struct.Struct(">IHH")             # version, block, client and file


class Broken(Exception):
    """The server answered what no server may."""


class Block:
    def __init__(self):
        self.promised = 0               # version on stable storage; 0: never written
        self.later = []                 # versions sent since, oldest first
        self.unstable = None            # (version, verifier) that was taken UNSTABLE and not committed
        self.latest = 0

    def keep(self, version):
        self.promised, self.later, self.unstable = version, [v for v in self.later if v > version], None


class File:
    def __init__(self, number):
        self.number, self.name, self.handle = number, f"data{number}", None
        self.blocks = [Block() for _ in range(BLOCKS)]


class Object:
    """What a name leads to. For each attribute the values that it may have: one, unless a call had no reply."""

    def __init__(self, kind, handle=None, fileid=None, **values):
        self.kind, self.handle, self.fileid = kind, handle, fileid
        self.values = {name: {value} for name, value in values.items()}


class Op:
    """A call under way on names or attributes: done() once it is answered; it holds keys that no other may touch."""

    def __init__(self, procedure, arguments, keys, done, changes=(), repeat=False):
        self.procedure, self.arguments, self.keys, self.done = procedure, arguments, keys, done
        self.changes = dict(changes)    # (folder, name) -> what is there afterwards, None: nothing
        self.repeat = repeat            # sent again after a crash it must succeed


class Write:
    def __init__(self, file, first, versions, stable):
        self.file, self.first, self.versions, self.stable = file, first, versions, stable
        self.keys = [(file, block) for block in range(first, first + len(versions))]


class Commit:
    def __init__(self, file):
        self.file, self.keys = file, [(file, "commit")]
        self.covers = [(block, block.unstable) for block in file.blocks if block.unstable]


class Promises:
    def __init__(self, number, port, root, seed, strict=True, wait=60, set_id=True):
        """wait: seconds until the server is back; set_id: a change of the size leaves the set-user-ID bit (root's does)."""
        self.number, self.root, self.strict, self.wait, self.set_id = number, root, strict, wait, set_id
        self.random = random.Random(f"{seed} {number}")
        self.client = nfs3.Client(port)
        self.generation, self.serial = 0, 0
        self.verifier = None
        self.count = dict.fromkeys(("calls", "blocks", "names", "resent", "in flight", "lost"), 0)
        self.wrong = []

    # ---- the load ----

    def begin(self):
        """Make the folders and files to work in; all of it is promised."""
        self.busy, self.table, self.removed = set(), {}, []
        self.files = [File(number) for number in range(FILES)]
        self.top = self.must(nfs3.MKDIR, a_name(self.root, f"client{self.number}.{self.generation}") + sattr(mode=0o755))
        self.folders = [self.must(nfs3.MKDIR, a_name(self.top, f"folder{n}") + sattr(mode=0o755)) for n in range(FOLDERS)]
        for file in self.files:
            file.handle = self.must(nfs3.CREATE, a_create(self.top, file.name, mode=0o644))

    def must(self, procedure, arguments):
        reply = self.client.call(procedure, arguments)
        if reply.status != "OK":
            raise Broken(f"procedure {procedure}: {reply.status}")
        return reply.handle

    def load(self):
        """Keep calls under way until the server dies."""
        while True:
            while len(self.client.waiting) < DEPTH:
                self.start_one()
            for reply in self.client.replies():
                self.count["calls"] += 1
                self.busy.difference_update(reply.op.keys)
                self.take(reply)

    def take(self, reply):
        op = reply.op
        if isinstance(op, Op):
            if reply.status != "OK":
                raise Broken(f"procedure {op.procedure} {op.keys}: {reply.status}")
            self.table.update(op.changes)
            op.done(reply)
        elif reply.status != "OK":
            raise Broken(f"{type(op).__name__} of {op.file.name}: {reply.status}")
        elif isinstance(op, Write):
            self.written(op, reply)
        elif isinstance(op, Commit):
            self.committed(op, reply)

    def start_one(self):
        kind = self.random.random()
        started = self.start_write() if kind < 0.45 else self.start_commit() if kind < 0.52 else self.start_name()
        if not started:
            self.start_write()

    def hold(self, op, procedure, arguments):
        self.busy.update(op.keys)
        self.client.send(procedure, arguments, op)
        return True

    # ---- data ----

    def pattern(self, file, block, version):
        return WORD.pack(version, block, self.number << 8 | file.number) * (BLOCK // 8) if version else bytes(BLOCK)

    def start_write(self):
        file = self.random.choice(self.files)
        first = self.random.randrange(BLOCKS)
        length = min(self.random.choice((1, 1, 1, 2, 5)), BLOCKS - first)
        if any((file, block) in self.busy for block in range(first, first + length)):
            return False
        self.serial += 1
        versions = [self.serial] * length
        stable = self.random.choice((nfs3.UNSTABLE, nfs3.UNSTABLE, nfs3.DATA_SYNC, nfs3.FILE_SYNC))
        return self.write(Write(file, first, versions, stable))

    def write(self, op):
        data = b""
        for block, version in enumerate(op.versions, op.first):
            data += self.pattern(op.file, block, version)
            op.file.blocks[block].latest = version
            op.file.blocks[block].later.append(version)
        return self.hold(op, nfs3.WRITE, a_write(op.file.handle, op.first * BLOCK, data, op.stable))

    def written(self, op, reply):
        if reply.count != len(op.versions) * BLOCK:
            raise Broken(f"WRITE of {op.file.name} took {reply.count} bytes")
        if reply.committed < op.stable:
            raise Broken(f"WRITE of {op.file.name} asked for stability {op.stable} and got {reply.committed}")
        self.same_verifier(reply)
        for block, version in enumerate(op.versions, op.first):
            if reply.committed != nfs3.UNSTABLE:
                op.file.blocks[block].keep(version)
            else:
                op.file.blocks[block].unstable = (version, reply.verifier)

    def start_commit(self):
        file = self.random.choice(self.files)
        if (file, "commit") in self.busy:
            return False
        return self.hold(Commit(file), nfs3.COMMIT, a_commit(file.handle))

    def committed(self, op, reply):
        self.same_verifier(reply)
        for block, taken in op.covers:
            if taken[1] == reply.verifier and block.promised < taken[0]:
                newer = block.unstable if block.unstable and block.unstable[0] > taken[0] else None
                block.keep(taken[0])
                block.unstable = newer

    def same_verifier(self, reply):
        if self.verifier not in (None, reply.verifier):
            raise Broken("the write verifier changed while the server ran")
        self.verifier = reply.verifier

    # ---- names and attributes ----

    def start_name(self):
        key = self.random.randrange(FOLDERS), f"name{self.random.randrange(NAMES)}"
        found = self.table.get(key)
        if key in self.busy or found in self.busy:
            return False
        if found is None:
            return self.random.choice((self.make, self.make, self.make_folder, self.link))(key)
        return self.random.choice((self.set_attributes, self.rename, self.remove))(key, found)

    def place(self, key):
        return a_name(self.folders[key[0]], key[1])

    def make(self, key):
        kind = self.random.choice(("file", "file", "exclusive", "symlink", "fifo"))
        mode = self.random.choice((0o600, 0o644, 0o4755 if self.set_id else 0o755))
        if kind == "symlink":
            target = f"target {self.random.random()}"
            return self.make_as(key, Object(nfs3.SYMLINK_TYPE, target=target), nfs3.SYMLINK,
                                self.place(key) + sattr() + text(target))
        if kind == "fifo":
            mode &= 0o777
            return self.make_as(key, Object(nfs3.FIFO, mode=mode), nfs3.MKNOD,
                                self.place(key) + struct.pack(">I", nfs3.FIFO) + sattr(mode=mode))
        if kind == "exclusive":
            verifier = self.random.randbytes(8)
            return self.make_as(key, Object(nfs3.REGULAR, mode=0o600, size=0), nfs3.CREATE,
                                a_create(self.folders[key[0]], key[1], nfs3.EXCLUSIVE, verifier), repeat=True)
        how = self.random.choice((nfs3.UNCHECKED, nfs3.GUARDED))
        size = self.random.choice((0, 0, 12345))
        return self.make_as(key, Object(nfs3.REGULAR, mode=mode, size=size), nfs3.CREATE,
                            a_create(self.folders[key[0]], key[1], how, mode=mode, size=size))

    def make_folder(self, key):
        mode = self.random.choice((0o700, 0o2755))
        return self.make_as(key, Object(nfs3.DIRECTORY, mode=mode), nfs3.MKDIR, self.place(key) + sattr(mode=mode))

    def make_as(self, key, made, procedure, arguments, repeat=False):
        def done(reply):
            made.handle, made.fileid = reply.handle, reply.attributes.fileid
        return self.hold(Op(procedure, arguments, [key, made], done, {key: made}, repeat), procedure, arguments)

    def link(self, key):
        existing = [found for found in self.table.values()
                    if found and found.kind != nfs3.DIRECTORY and found not in self.busy]
        if not existing:
            return False
        found = self.random.choice(existing)
        arguments = opaque(found.handle) + self.place(key)
        return self.hold(Op(nfs3.LINK, arguments, [key, found], lambda reply: None, {key: found}), nfs3.LINK, arguments)

    def rename(self, key, found):
        new = self.random.randrange(FOLDERS), f"name{self.random.randrange(NAMES)}"
        there = self.table.get(new)
        if new in self.busy or new == key or there is found or there in self.busy or \
                (there and (there.kind == nfs3.DIRECTORY) != (found.kind == nfs3.DIRECTORY)):
            return False

        def done(_):
            if there:
                self.name_lost(there)
        arguments = self.place(key) + self.place(new)
        op = Op(nfs3.RENAME, arguments, [key, new, found] + ([there] if there else []), done, {key: None, new: found})
        return self.hold(op, nfs3.RENAME, arguments)

    def remove(self, key, found):
        procedure = nfs3.RMDIR if found.kind == nfs3.DIRECTORY else nfs3.REMOVE
        op = Op(procedure, self.place(key), [key, found], lambda _: self.name_lost(found), {key: None})
        return self.hold(op, procedure, op.arguments)

    def name_lost(self, found):
        if found not in self.table.values():
            self.removed = (self.removed + [found.handle])[-OLD_HANDLES:]

    def set_attributes(self, key, found):
        if found.kind == nfs3.SYMLINK_TYPE:
            return False
        wanted = {"mode": self.random.choice((0o600, 0o640, 0o755))}
        if found.kind == nfs3.REGULAR and self.random.random() < 0.5:
            wanted["size"] = self.random.choice((0, 1, 4096, 70000))
        if self.random.random() < 0.5:
            wanted["mtime"] = self.random.randrange(1 << 30)
        for name, value in wanted.items():
            found.values[name] = (found.values.get(name) or set()) | {value}
        if "size" in wanted or "mtime" in wanted:
            found.values["mtime"] = None        # anything, until the reply

        def done(_):
            for name, value in wanted.items():
                found.values[name] = {value}
        return self.hold(Op(nfs3.SETATTR, a_setattr(found.handle, **wanted), [key, found], done), nfs3.SETATTR,
                         a_setattr(found.handle, **wanted))

    # ---- after a crash ----

    def after_crash(self):
        """Find the server again and see whether all promises are kept; what was not promised is sent again."""
        in_flight = [op for op, _, _ in self.client.waiting.values()]
        self.count["in flight"] += len(in_flight)
        if not self.client.connect(time.monotonic() + self.wait):
            raise Broken("the server does not come back")
        self.busy.clear()
        old, self.verifier = self.verifier, None
        if self.strict:
            self.check_verifier(old)
            self.check_names([op for op in in_flight if isinstance(op, Op)])
            for file in self.files:
                self.check_file(file)
                self.send_again(file)
        else:
            self.count_lost({key for op in in_flight for key in op.keys})

    def bad(self, what):
        self.wrong.append(f"client {self.number}: {what}")

    def check_verifier(self, old):
        reply = self.client.call(nfs3.COMMIT, a_commit(self.files[0].handle))
        if reply.status != "OK":
            self.bad(f"COMMIT: {reply.status}")
        elif reply.verifier == old:
            self.bad("the write verifier is the old one")

    def read_file(self, file):
        data = b""
        while len(data) < BLOCKS * BLOCK:
            reply = self.client.call(nfs3.READ, a_read(file.handle, len(data), BLOCKS * BLOCK - len(data)))
            if reply.status != "OK":
                self.bad(f"READ of {file.name} by its old handle: {reply.status}")
                break
            if not reply.bytes:
                break
            data += reply.bytes
        return data.ljust(BLOCKS * BLOCK, b"\0")

    def check_file(self, file):
        data = self.read_file(file)
        for number, block in enumerate(file.blocks):
            found = data[number * BLOCK:(number + 1) * BLOCK]
            self.count["blocks"] += block.promised > 0
            allowed = [self.pattern(file, number, version) for version in [block.promised] + block.later]
            if found not in allowed and not self.mixed(found, allowed):
                self.bad(f"{file.name} block {number}: promised version {block.promised}, later {block.later}, "
                         f"found {self.versions(found)}")

    @staticmethod
    def mixed(found, allowed):
        """A write that was not promised may be there in part."""
        words = {data[:8] for data in allowed}
        return all(found[at:at + 8] in words for at in range(0, len(found), 8))

    @staticmethod
    def versions(found):
        return sorted({WORD.unpack_from(found, at) for at in range(0, len(found), 8)})[:4]

    def send_again(self, file):
        """As a client does that finds another verifier: all that was UNSTABLE or had no reply; then it must be there."""
        for number, block in enumerate(file.blocks):
            if block.later:
                self.count["resent"] += 1
                self.write(Write(file, number, [block.latest], self.random.choice((nfs3.UNSTABLE, nfs3.FILE_SYNC))))
        while self.client.waiting:
            for reply in self.client.replies():
                self.take(reply)
        self.hold(Commit(file), nfs3.COMMIT, a_commit(file.handle))
        self.take(self.client.replies()[0])
        self.busy.clear()
        data = self.read_file(file)
        for number, block in enumerate(file.blocks):
            if data[number * BLOCK:(number + 1) * BLOCK] != self.pattern(file, number, block.latest):
                self.bad(f"{file.name} block {number}: not version {block.latest} after it was sent again")
            block.keep(block.latest)
            block.later = []

    def look(self, key):
        """-> what is there: (handle, attributes), or None"""
        reply = self.client.call(nfs3.LOOKUP, self.place(key))
        if reply.status not in ("OK", "NOENT"):
            self.bad(f"LOOKUP of {key}: {reply.status}")
        return (reply.handle, reply.attributes) if reply.status == "OK" else None

    def check_names(self, in_flight):
        for op in in_flight:
            self.settle(op)
        for number, folder in enumerate(self.folders):
            expected = sorted(name for (where, name), found in self.table.items() if found and where == number)
            names = self.client.names(folder)
            if names != expected:
                self.bad(f"folder {number} has {sorted(set(names) - set(expected))} and lacks "
                         f"{sorted(set(expected) - set(names))}")
        for key, found in self.table.items():
            if found:
                self.count["names"] += 1
                self.check_object(key, found)
        for handle in self.removed:
            reply = self.client.call(nfs3.GETATTR, opaque(handle))
            if reply.status != "STALE":
                self.bad(f"a file that was removed answers {reply.status}")

    def settle(self, op):
        """A call without a reply was done or not, but not by half; where it is safe to send it again, it is."""
        if op.repeat:
            self.create_again(op)
        seen = {key: self.look(key) for key in op.changes}
        before = {key: self.table.get(key) for key in op.changes}
        if all(self.is_there(seen[key], before[key]) for key in op.changes):
            return
        for key, found in op.changes.items():
            if found and not found.handle and seen[key]:
                found.handle, found.fileid = seen[key][0], seen[key][1].fileid
                found.values = {}       # made, and its attributes not all set yet
        if not all(self.is_there(seen[key], op.changes[key]) for key in op.changes):
            self.bad(f"procedure {op.procedure} on {op.keys[0]} was done by half")
        self.table.update(op.changes)

    def create_again(self, op):
        """RFC 1813 3.3.8: an EXCLUSIVE create that is sent again is a success, whether it was done before or not."""
        reply = self.client.call(op.procedure, op.arguments)
        if reply.status != "OK":
            self.bad(f"an EXCLUSIVE create that is sent again: {reply.status}")

    @staticmethod
    def is_there(seen, found):
        if seen is None or found is None:
            return seen is None and found is None
        return seen[0] == found.handle

    def check_object(self, key, found):
        seen = self.look(key)
        if seen is None or seen[0] != found.handle:
            self.bad(f"{key} leads to {'nothing' if seen is None else 'another file'}")
            return
        reply = self.client.call(nfs3.GETATTR, opaque(found.handle))
        if reply.status != "OK":
            self.bad(f"{key} by its old handle: {reply.status}")
            return
        attributes = reply.attributes
        if attributes.fileid != found.fileid or attributes.type != found.kind:
            self.bad(f"{key} is another file")
        for name, values in found.values.items():
            value = self.target(found) if name == "target" else getattr(attributes, name)
            if values is not None and value not in values:
                self.bad(f"{key}: {name} is {value}, not {values}")
            found.values[name] = {value}
        links = sum(other is found for other in self.table.values())
        if found.kind != nfs3.DIRECTORY and attributes.nlink != links:
            self.bad(f"{key}: {attributes.nlink} links, not {links}")

    def target(self, found):
        return self.client.call(nfs3.READLINK, opaque(found.handle)).bytes.decode()

    # ---- where nothing was promised ----

    def count_lost(self, in_flight):
        """Count what is gone; nothing may be there that was not written there. Then go on in a new folder."""
        for file in self.files:
            reply = self.client.call(nfs3.GETATTR, opaque(file.handle))
            data = self.read_file(file) if reply.status == "OK" else bytes(BLOCKS * BLOCK)
            for number, block in enumerate(file.blocks):
                found = data[number * BLOCK:(number + 1) * BLOCK]
                kept = [self.pattern(file, number, version) for version in [block.promised] + block.later]
                if not self.mixed(found, [self.pattern(file, number, version) for version in range(self.serial + 1)]):
                    self.bad(f"{file.name} block {number} has what was never written there: {self.versions(found)}")
                self.count["lost"] += not self.mixed(found, kept)
        for key, found in self.table.items():
            if key not in in_flight:
                reply = self.client.call(nfs3.LOOKUP, self.place(key))
                self.count["lost"] += (reply.handle if reply.status == "OK" else None) != (found and found.handle)
        self.generation += 1


def run(promises, orders, report):
    """A client's process: load until the server dies, check, report; once for each order ("go"), until another comes."""
    started = False
    while orders.recv() == "go":
        promises.wrong, promises.count = [], dict.fromkeys(promises.count, 0)
        try:
            if not promises.client.socket and not promises.client.connect(time.monotonic() + promises.wait):
                raise Broken("the server cannot be reached")
            if not started or not promises.strict:
                promises.begin()
                started = True
            try:
                promises.load()
            except Gone:
                promises.after_crash()
        except (Broken, Gone, AssertionError) as error:
            promises.bad(f"{type(error).__name__}: {error}")
        report.send((promises.count, promises.wrong))
