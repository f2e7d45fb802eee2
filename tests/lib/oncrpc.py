"""XDR (RFC 4506) and ONC RPC (RFC 5531) as far as a client of NFS version 3 needs them."""
import struct


class Refused(Exception):
    """The call got an answer, but no results."""


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

    def fixed(self, length):
        self.at += length
        return self.data[self.at - length:self.at]

    def opaque(self):
        length = self.u32()
        return self.fixed(length + -length % 4)[:length]


def credential(uid=None, gid=None, gids=(), machine=b"client"):
    """AUTH_SYS; without a uid: AUTH_NONE."""
    body = b"" if uid is None else struct.pack(">I", 0) + opaque(machine) + \
        struct.pack(f">{3 + len(gids)}I", uid, gid, len(gids), *gids)
    return struct.pack(">I", 0 if uid is None else 1) + opaque(body)


def call_message(xid, program, version, procedure, who, arguments):
    return struct.pack(">6I", xid, 0, 2, program, version, procedure) + who + bytes(8) + arguments


def results(reply, xid=None, unpacker_class=Unpacker):
    """-> what follows the header of a reply, which must be one to that call"""
    unpacker = unpacker_class(reply)
    number, kind = unpacker.u32(), unpacker.u32()
    assert kind == 1 and xid in (None, number)
    if unpacker.u32():
        raise Refused(f"denied {unpacker.u32(), unpacker.u32()}")
    unpacker.u32()
    unpacker.opaque()
    status = unpacker.u32()
    if status:
        raise Refused(f"accept_stat {status}")
    return unpacker


def send_record(connection, message):
    connection.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)


def receive_record(connection):
    def exactly(count):
        data = bytearray()
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise EOFError("connection closed")
            data += more
        return bytes(data)

    record, header = b"", 0
    while not header >> 31:
        header = struct.unpack(">I", exactly(4))[0]
        record += exactly(header & 0x7fffffff)
    return record
