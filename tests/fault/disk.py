"""A disk with a volatile write cache, for an emulated machine: what was not flushed may be gone after a power cut.

Served by the NBD protocol on a Unix socket. A write stays in the cache until the machine flushes (NBD_CMD_FLUSH) or asks
for it to be stable at once (FUA); power_cut() forgets what is in the cache, or a part of it, as a disk does that had begun
to write it out in an order of its own. The disk can also be told to fail.
"""
import os
import socket
import struct
import threading
import time

BLOCK = 4096
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
FUA = 1
EIO = 5
OPTION_MAGIC, REPLY_MAGIC = 0x49484156454F5054, 0x3e889045565a9
HAS_FLAGS, SEND_FLUSH, SEND_FUA = 1, 4, 8


class Disk:
    def __init__(self, image, path):
        self.file = os.open(image, os.O_RDWR)
        self.size = os.fstat(self.file).st_size
        self.lock = threading.Lock()
        self.cache = {}                 # block number -> its bytes, not flushed yet
        self.failing = set()            # of READ, WRITE, FLUSH: answered with an I/O error
        self.bad = {READ: set(), WRITE: set()}      # blocks for which that is so
        self.delay = 0                  # seconds that a flush takes
        self.flushes = self.failures = 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def power_cut(self, chance):
        """Forget what was not flushed, all of it or half of it. -> how many blocks are gone"""
        self.delay = 0
        with self.lock:
            some = chance.random() < 0.5
            kept = [block for block in sorted(self.cache) if some and chance.random() < 0.5]
            gone = len(self.cache) - len(kept)
            for block in kept:
                self.store(block)
            self.cache.clear()
            return gone

    def store(self, block):
        os.pwrite(self.file, self.cache.pop(block), block * BLOCK)

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(connection.makefile("rwb"),), daemon=True).start()

    def serve(self, stream):
        try:
            if self.negotiate(stream):
                while self.request(stream):
                    pass
        except (OSError, struct.error, ValueError):
            pass                        # the machine is gone

    def negotiate(self, stream):
        stream.write(b"NBDMAGIC" + struct.pack(">QH", OPTION_MAGIC, 3))
        stream.flush()
        stream.read(4)
        flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA
        while True:
            _, option, length = struct.unpack(">QII", stream.read(16))
            stream.read(length)
            if option == 1:             # NBD_OPT_EXPORT_NAME
                stream.write(struct.pack(">QH", self.size, flags))
                stream.flush()
                return True
            if option == 7:             # NBD_OPT_GO
                stream.write(struct.pack(">QIIIHQH", REPLY_MAGIC, option, 3, 12, 0, self.size, flags))
                stream.write(struct.pack(">QIII", REPLY_MAGIC, option, 1, 0))
                stream.flush()
                return True
            stream.write(struct.pack(">QIII", REPLY_MAGIC, option, 1 if option == 2 else 0x80000001, 0))
            stream.flush()
            if option == 2:             # NBD_OPT_ABORT
                return False

    def request(self, stream):
        _, flags, kind, handle, offset, length = struct.unpack(">IHHQQI", stream.read(28))
        data = stream.read(length) if kind == WRITE else b""
        if kind == DISCONNECT:
            return False
        with self.lock:
            touched = range(offset // BLOCK, (offset + max(length, 1) - 1) // BLOCK + 1)
            failed = kind in self.failing or not self.bad.get(kind, set()).isdisjoint(touched)
            self.failures += failed
            if kind == WRITE and not failed:
                self.write(offset, data, flags & FUA)
            elif kind == FLUSH and not failed:
                time.sleep(self.delay)
                self.flush()
            answer = self.read(offset, length) if kind == READ and not failed else b""
        stream.write(struct.pack(">IIQ", 0x67446698, EIO if failed else 0, handle) + answer)
        stream.flush()
        return True

    def flush(self):
        self.flushes += 1
        for block in list(self.cache):
            self.store(block)

    def block(self, number):
        return self.cache.get(number) or os.pread(self.file, BLOCK, number * BLOCK).ljust(BLOCK, b"\0")

    def read(self, offset, length):
        first, last = offset // BLOCK, (offset + length - 1) // BLOCK
        data = b"".join(self.block(number) for number in range(first, last + 1))
        return data[offset - first * BLOCK:][:length]

    def write(self, offset, data, stable):
        first, last = offset // BLOCK, (offset + len(data) - 1) // BLOCK
        whole = bytearray(b"".join(self.block(number) for number in range(first, last + 1)))
        whole[offset - first * BLOCK:offset - first * BLOCK + len(data)] = data
        for number in range(first, last + 1):
            at = (number - first) * BLOCK
            self.cache[number] = bytes(whole[at:at + BLOCK])
            if stable:
                self.store(number)
