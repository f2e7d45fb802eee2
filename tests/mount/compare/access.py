#!/usr/bin/python3
"""The same accesses to the kernel's NFS server and to this one, row by row.

usage: access.py tree DIR              make what both servers export
       access.py mount DIR             mount file systems inside of it
       access.py compare RINGNFSCTL    in the guest, with both servers running (see servers)

A row is one kind of access, by one caller from one address to one export: PASS when every access in it ends alike on
both servers: the same status and the same meaning of the results, and for changes the same owner, mode, size and name
afterwards, seen from below.  FAIL is followed by the accesses that differ.  A difference in KNOWN is none.
"""
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from nfs3 import EXCLUSIVE, GUARDED, UNCHECKED, Caller, Place, Server  # noqa: E402

# The differences that are meant: patterns of the row, the access and "nfsd | ringnfsd", and the reason.  One that is
# never met is a failure, too, so that the list stays true.
# Sections are those of doc/PROTOCOL.md; numbers, of RFC 1813.
KNOWN = (
    ("listed: /srv/minus <world>", "", r"(.*)anonuid=-2,anongid=-2(.*) \| \1anonuid=4294967294,anongid=4294967294\2",
     "two spellings of one number"),
    ("listed: /srv/checked <world>", "", r"(.*,hide)(,.*) \| \1,subtree_check\2", "exportfs says nothing of it"),
    (r"listed: /srv/names (198\.51\.100\.5|lab5\.example\.test)", "", r"sync\S* \| -|- \| sync\S*",
     "MOUNT: clients are listed as they are written; exportfs shows the address"),

    ("MNT .*", "/srv/plain/(open/)?file", r"OK \[1\] \| NOTDIR", "MOUNT: directories only (5.2.1)"),
    ("MNT .*", "/srv/plain/link", r"OK \[1\] \| NOTDIR", "MOUNT: symbolic links are not followed"),
    ("MNT .*", r"/srv/plain/\.\.(/.*)?", r"(OK \[1\]|ACCES) \| (OK \[1\]|NOENT)",
     "Names: '..' of an export's root is the root"),
    ("MNT .*", r"/srv/\./plain", r"OK \[1\] \| ACCES", "MOUNT: as it is written, this path is outside of every export"),
    ("MNT .*", "/srv/plain/(file/below|x.* of 267)", r"ACCES \| (NOTDIR|NAMETOOLONG)", "5.2.1 has words for it"),

    (".* by AUTH_NONE", "link|fifo|open|readlink of a file", r"(INVAL|ISDIR) \| ACCES",
     "Security flavours: looked at before the file"),
    ("from .*", "(RENAME|LINK) .*", r"(OK .*|ACCES) \| (XDEV|ROFS|PERM|STALE)",
     "Handles: both exports are checked first, and two of them are XDEV; nfsd links from one to the other"),

    ("what is mounted on /srv/still/.*", "READDIRPLUS above", r"OK \[\('(\w+)', None\)\] \| OK \[\('\1', 'directory .*",
     "Mount points: what LOOKUP would lead to has its attributes here, too"),
    ("what is mounted on /srv/still/shown .*", r"fsid of \.\.", r"another \| same",
     "Mount points: '..' of their root is the root"),
    ("what is mounted on /srv/cross/bind .*", "fsid", r"\['same'\] \| \['another'\]",
     "Mount points: each is a file system of its own"),
    ("what is mounted on /srv/cross/bind .*", "LINK .*", r"OK .* \| XDEV",
     "Mount points: each is a file system of its own"),
    ("what is mounted on .*", "LINK .*", r"XDEV \| ROFS", "Handles: 'ro' is checked first"),
    ("what is mounted on .*", "RENAME .*", r"ACCES \| NOENT", "two of the statuses of 3.3.14, which has no order"),

    ("LOOKUP .*", "./", r"accept_stat 4 \| ACCES", "Names: an empty name is ACCES"),
    ("RENAME .*", r"\. to new", r"(ACCES|PERM)(.*) \| INVAL\2", "Names: RENAME of '.' is INVAL"),
    ("REMOVE, RMDIR .*", r"RMDIR .*/\.\.", r"ACCES \| EXIST", "Names: RMDIR of '..' is EXIST"),
    ("ACCESS .*", "link", r"OK 0x2d \| OK 0xd", "EXECUTE is for files (3.3.4), and nobody can execute a symbolic link"),
    ("ACCESS in /srv/ro by .*", "link|fifo", r"OK 0x2?d \| OK 0x1",
     "Handles: 'ro' is for every change; nfsd leaves out what is neither a file nor a folder"),
    ("WRITE .*", "open", r"ISDIR(.*) \| INVAL\1", "3.3.7: INVAL for what is no regular file"),
    ("WRITE .*", "COMMIT.*", r"(ACCES|ROFS) \| OK", "3.3.21 has neither: there is nothing to refuse"),
    ("CREATE .*", ".*/new (no mode|exclusive)", r"OK 100000 (.*) \| OK 100(644|600) \1", "CREATE: the default modes"),
    ("CREATE .*", "(open|link) (unchecked|truncated)", r"OK( .*) \| EXIST\1",
     "CREATE: EXIST if a name is taken by anything but a regular file"),
    ("MKDIR.*", "MKDIR 07777 .*", r"OK 4[13]777 (.*) \| OK 47777 \1", "CREATE: MKDIR sets the set-ID bits"),
    ("LINK .*", ".*", r"(OK .*|ACCES) \| PERM", "CREATE: LINK obeys fs.protected_hardlinks"),
    ("RENAME .*", "mine/file to mine/file", r"ACCES( .*) \| OK\1", "3.3.14: the same file, nothing is done"),
    ("SETATTR .*", "setid: size .*", r"OK 106775 (.*) \| OK 100775 \1",
     "READ, WRITE: the kernel decides, and truncate(2) takes the set-ID bits away"),

    ("SETACL .*", ".*: both", r"ACCES .* \| ACCES .*", "ACLs: nfsd has set the access ACL when it refuses the other one"),
    ("SETACL .*", ".*: bits of no permission", r"(INVAL|PERM|NOTSUPP|ROFS)( .*) \| accept_stat 4\2",
     "ACLs: permissions over 7 are GARBAGE_ARGS; of users and groups nfsd says so later"),
    ("SETACL .*", ".*: more than a block holds", r"accept_stat 4( .*) \| (NOSPC|PERM|NOTSUPP|ROFS)\1",
     "ACLs: 1024 entries are read; nfsd reads what fits a page"),

    (".* in /srv/ro by .*", ".*", r"(ACCES|EXIST|INVAL|ISDIR|PERM)( .*|) \| ROFS\2", "Handles: 'ro' is checked first"),
    ("CREATE in /srv/ro by .*", ".* (unchecked|truncated)", r"OK( .*) \| ROFS\1", "Handles: 'ro' is checked first"),
    ("REMOVE, RMDIR .*", "REMOVE .*/missing", r"ACCES \| NOENT", "two of the statuses of 3.3.12, which has no order"),
    ("RENAME .*", "missing to new", r"ACCES \| NOENT", "two of the statuses of 3.3.14, which has no order"),
    ("RENAME .*", "open to open/new", r"ACCES( .*) \| INVAL\1", "two of the statuses of 3.3.14, which has no order"),
    ("LINK .*", "open as .*", r"ACCES \| ISDIR", "a directory is never linked, whoever asks"),
)

EXPORTS = ("plain", "ro", "root", "all", "minus", "async", "zero", "secure", "first", "nets", "single", "defaults",
           "bare", "names", "with space", "octal space", "outer", "outer/inner", "checked", "extra")
NOT_EXPORTED = ("hidden", "cross", "still")     # or not like the others
# Mount points in them, in the order in which they are mounted.
MOUNTED = ("cross/in", "cross/in/deep", "cross/own", "cross/others", "cross/bind", "still/in", "still/in/deep",
           "still/shown", "still/told")
OWNER, GROUP = (1000, 1000), 2000

# Everything in an export: name, kind or content, mode, uid, gid.  What is in a folder comes behind it.
TREE = (
    ("file", "hello\n", 0o644, 1000, 1000),
    ("owners", "hello\n", 0o600, 1000, 1000),
    ("roots", "hello\n", 0o600, 0, 0),
    ("nobodys", "hello\n", 0o600, 65534, 65534),
    ("anons", "hello\n", 0o600, 1200, 1300),
    ("groups", "hello\n", 0o060, 1000, GROUP),
    ("roots-group", "hello\n", 0o640, 1000, 0),
    ("not-the-owners", "hello\n", 0o007, 1000, 1000),
    ("program", "hello\n", 0o711, 1500, 1500),
    ("closed", "hello\n", 0o000, 1000, 1000),
    ("setid", "hello\n", 0o6775, 1000, GROUP),
    ("link", "link", 0o777, 1000, 1000),
    ("fifo", "fifo", 0o644, 1000, 1000),
    ("open", "folder", 0o777, 0, 0),
    ("open/file", "hello\n", 0o644, 1000, 1000),
    ("mine", "folder", 0o755, 1000, 1000),
    ("mine/file", "hello\n", 0o644, 1000, 1000),
    ("private", "folder", 0o700, 1000, 1000),
    ("private/file", "hello\n", 0o666, 1000, 1000),
    ("group", "folder", 0o2770, 0, GROUP),
    ("group/file", "hello\n", 0o640, 0, GROUP),
    ("sticky", "folder", 0o1777, 0, 0),
    ("sticky/file", "hello\n", 0o666, 1000, 1000),
    ("sealed", "folder", 0o000, 1000, 1000),
    ("drop", "folder", 0o333, 1500, 1500),
    ("drop/file", "hello\n", 0o644, 1000, 1000),
    ("list", "folder", 0o744, 1500, 1500),
    ("list/file", "hello\n", 0o644, 1000, 1000),
    ("anon-folder", "folder", 0o700, 1200, 1300),
    ("nobody-folder", "folder", 0o700, 65534, 65534),
    ("last-folder", "folder", 0o700, 4294967294, 4294967294),
)
FILES = [name for name, kind, *_ in TREE if kind == "hello\n"]
FOLDERS = ["."] + [name for name, kind, *_ in TREE if kind == "folder"]
EVERYTHING = ["."] + [name for name, *_ in TREE]

ROOT, USER, LAST, NOBODY = Caller("root", 0, 0), Caller("1000:1000", *OWNER), Caller("-2", 4294967294, 4294967294), \
    Caller("AUTH_NONE")
CALLERS = (
    ROOT,
    Caller("root with groups", 0, 0, (0, GROUP)),
    USER,
    Caller("1000:0", 1000, 0),
    Caller("1001:1001", 1001, 1001),
    Caller("1001:2000", 1001, GROUP),
    Caller("1001:1001+2000", 1001, 1001, (3000, GROUP)),
    Caller("1001:1001+0", 1001, 1001, (0, 3000)),
    Caller("0:2000", 0, GROUP),
    Caller("nobody", 65534, 65534),
    LAST,
    Caller("-1", 4294967295, 4294967295),
)
# Those for whom a folder may be open that the row's own caller cannot pass.
GUIDES = (ROOT, USER, Caller("", 1500, 1500), Caller("", 0, GROUP), Caller("", 1001, 1001, (GROUP,)))
HOME = Place("192.0.2.10")
PLACES = [Place(address, privileged) for address in
          ("192.0.2.10", "192.0.2.11", "192.0.2.12", "198.51.100.5", "198.51.100.6", "198.51.100.100", "198.51.100.200",
           "2001:db8::10", "2001:db8::11") for privileged in (True, False)
          if privileged or address in ("192.0.2.10", "198.51.100.5", "2001:db8::10")]


def make(path, kind, mode, uid, gid):
    if kind == "folder":
        os.mkdir(path)
    elif kind == "link":
        os.symlink("file", path)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        with open(path, "w", encoding="ascii") as file:
            file.write(kind)
    os.lchown(path, uid, gid)
    if kind != "link":
        os.chmod(path, mode)


def clear(path):
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
    else:
        shutil.rmtree(path)


def tree(top):
    os.umask(0)
    os.mkdir(top)
    for export in EXPORTS + NOT_EXPORTED:
        os.mkdir(os.path.join(top, export), 0o755)
        for name, *how in TREE:
            make(os.path.join(top, export, name), *how)


def seen(path):
    """What a file is, from below."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    size = f" size {info.st_size}" if not stat.S_ISDIR(info.st_mode) else ""
    return f"{info.st_mode:o} {info.st_uid}:{info.st_gid} nlink {info.st_nlink}{size}"


def acls_of(path):
    """Its ACLs, from below: type, id and permissions of each entry."""
    lists = []
    for name in ("access", "default"):
        try:
            value = os.getxattr(path, f"system.posix_acl_{name}", follow_symlinks=False)
        except OSError:
            continue
        lists.append(f"{name} " + " ".join(f"{tag:#x}:{who if tag in (2, 8) else ''}:{perm:o}"
                                           for tag, perm, who in struct.iter_unpack("<HHI", value[4:])))
    return " ".join(lists) or None


def give_acl(path, name, acl):
    """Set one from below."""
    value = b"".join(struct.pack("<HHI", tag, perm, who if tag in (2, 8) else 0xffffffff) for tag, who, perm in acl)
    os.setxattr(path, f"system.posix_acl_{name}", struct.pack("<I", 2) + value)


class Export:
    """One export on one server: handles, and files from below."""

    def __init__(self, server, name, place):
        self.server, self.name, self.place = server, name, place
        self.top = os.path.join(server.files, name)
        self.before = {file: seen(self.below(file)) for file, *_ in TREE}
        _, _, root = server.mnt("/srv/" + name, place, ROOT)
        self.handles = {".": root} if root else {}

    def below(self, name):
        return os.path.join(self.top, name)

    def handle(self, name):
        """None when nobody of GUIDES finds it."""
        if name not in self.handles and name != ".":
            folder, last = os.path.split(name)
            parent = self.handle(folder or ".")
            for guide in GUIDES:
                found = parent and self.server.lookup(parent, last, self.place, guide)[2]
                if found:
                    self.handles[name] = found
                    break
        return self.handles.get(name)

    def fresh(self, *names):
        """Make these files anew, as TREE has them; a name that is not in it is cleared away."""
        for name in names:
            for known in [known for known in self.handles if known != "." and (known + "/").startswith(name + "/")]:
                del self.handles[known]
            if os.path.lexists(self.below(name)):
                clear(self.below(name))
            for other, *how in TREE:
                if other == name or other.startswith(name + "/"):
                    make(self.below(other), *how)


class Comparison:
    def __init__(self, servers):
        self.servers, self.failed, self.rows, self.accesses, self.meant = servers, 0, 0, 0, 0
        self.used = set()
        self.homes = {}

    def home(self, server, name):
        """The export as its best client sees it."""
        key = server.name, name
        if key not in self.homes:
            place = Place("198.51.100.5") if name in ("nets", "names") else HOME
            self.homes[key] = Export(server, name, place)
        return self.homes[key]

    def is_known(self, row, access, nfsd, ours):
        for number, (*patterns, _) in enumerate(KNOWN):
            if all(re.fullmatch(pattern, value) for pattern, value in zip(patterns, (row, access, f"{nfsd} | {ours}"))):
                self.used.add(number)
                self.meant += 1
                return True
        return False

    def row(self, name, accesses):
        """accesses(server) yields (what, result)."""
        start = time.monotonic()
        both = [list(accesses(server)) for server in self.servers]
        wrong = []
        for (what, nfsd), (_, ours) in zip(*both):
            self.accesses += 1
            nfsd, ours = show(nfsd), show(ours)
            if nfsd != ours and not self.is_known(name, what, nfsd, ours):
                wrong.append(f"  {what}: nfsd {nfsd}, ringnfsd {ours}")
        assert [what for what, _ in both[0]] == [what for what, _ in both[1]]
        self.verdict(name, wrong, f" ({len(both[0])} accesses, {time.monotonic() - start:.1f} s)")

    def verdict(self, name, wrong, detail=""):
        self.rows += 1
        self.failed += bool(wrong)
        print("\n".join([f"{'FAIL' if wrong else 'PASS'} {name}{detail}", *wrong]), flush=True)


def show(result):
    if isinstance(result, tuple):
        return " ".join(show(part) for part in result if part is not None)
    return str(result)


# One kind of access each: (export, place, caller) -> (what, result) of each.


def permissions(export, place, caller):
    for name in EVERYTHING:
        handle = export.handle(name)
        yield name, handle and export.server.access(handle, place, caller)


def attributes(export, place, caller):
    for name in EVERYTHING:
        handle = export.handle(name)
        yield name, handle and export.server.getattr(handle, place, caller)
    yield "FSINFO", export.server.fsinfo(export.handle("."), place, caller)


def names(export, place, caller):
    for folder in FOLDERS:
        handle = export.handle(folder)
        for name in ("file", "..", "missing") + ((".", "x" * 255, "") if folder == "." else ()):
            yield f"{folder}/{name[:9]}", handle and export.server.lookup(handle, name, place, caller)[:2]
    for folder in ("file", "link", "fifo"):
        handle = export.handle(folder)
        yield f"{folder}/file", handle and export.server.lookup(handle, "file", place, caller)[:2]


def reads(export, place, caller):
    for name in FILES + ["link", "fifo", "open"]:
        handle = export.handle(name)
        yield name, handle and export.server.read(handle, place, caller)
    yield "readlink", export.server.readlink(export.handle("link"), place, caller)
    yield "readlink of a file", export.server.readlink(export.handle("file"), place, caller)


def listings(export, place, caller):
    for name in FOLDERS + ["file"]:
        for plus in (False, True):
            handle = export.handle(name)
            yield f"{name}{' plus' if plus else ''}", handle and export.server.readdir(handle, place, caller, plus)


def writes(export, place, caller):
    for name in FILES + ["link", "fifo", "open"]:
        export.fresh(name)
        handle = export.handle(name)
        yield name, handle and export.server.write(handle, place, caller, b"written") + (seen(export.below(name)),)
        export.fresh(name)
    yield "COMMIT", export.server.commit(export.handle("file"), place, caller)
    yield "COMMIT of root's", export.server.commit(export.handle("roots"), place, caller)


CREATES = (("no mode", UNCHECKED, {}), ("0666", UNCHECKED, {"mode": 0o666}), ("06755", GUARDED, {"mode": 0o6755}),
           ("exclusive", EXCLUSIVE, {}), ("for 1000", UNCHECKED, {"mode": 0o640, "uid": 1000, "gid": 1000}),
           ("for group", UNCHECKED, {"mode": 0o640, "gid": GROUP}), ("sized", GUARDED, {"mode": 0o600, "size": 5}))


def creations(export, place, caller):
    for folder in FOLDERS:
        for what, how, values in CREATES if folder in ("open", "group") else CREATES[1:2]:
            name = os.path.join(folder, "new")
            handle = export.handle(folder)
            yield f"{name} {what}", handle and export.server.create(handle, "new", place, caller, how, **values) + \
                (seen(export.below(name)),)
            export.fresh(name)
    for name in ("file", "roots", "owners", "open", "link"):
        for what, how, values in (("unchecked", UNCHECKED, {"mode": 0o777}), ("truncated", UNCHECKED, {"size": 0}),
                                  ("guarded", GUARDED, {}), ("exclusive", EXCLUSIVE, {})):
            yield f"{name} {what}", export.server.create(export.handle("."), name, place, caller, how, **values) + \
                (seen(export.below(name)),)
            export.fresh(name)


def things(export, place, caller):
    server = export.server
    for folder in ("open", "mine", "group"):
        handle = export.handle(folder)
        for what, make_it in (
                ("MKDIR", lambda: server.mkdir(handle, "new", place, caller, mode=0o755)),
                ("MKDIR 07777", lambda: server.mkdir(handle, "new", place, caller, mode=0o7777)),
                ("MKDIR for 1000", lambda: server.mkdir(handle, "new", place, caller, mode=0o750, uid=1000, gid=1000)),
                ("SYMLINK", lambda: server.symlink(handle, "new", place, caller, "there")),
                ("MKNOD fifo", lambda: server.mknod(handle, "new", place, caller, "fifo")),
                ("MKNOD socket", lambda: server.mknod(handle, "new", place, caller, "socket")),
                ("MKNOD char", lambda: server.mknod(handle, "new", place, caller, "char"))):
            name = os.path.join(folder, "new")
            yield f"{what} in {folder}", handle and make_it() + (seen(export.below(name)),)
            export.fresh(name)


SETTINGS = (("mode", {"mode": 0o600}), ("set-ID mode", {"mode": 0o6755}), ("sticky", {"mode": 0o1777}),
            ("uid 1000", {"uid": 1000}), ("uid 0", {"uid": 0}), ("uid 1001", {"uid": 1001}),
            ("gid 1000", {"gid": 1000}),
            ("gid 2000", {"gid": GROUP}), ("gid 0", {"gid": 0}), ("size 3", {"size": 3}), ("size 99", {"size": 99}),
            ("times now", {"atime": "server", "mtime": "server"}), ("times then", {"atime": 1000, "mtime": 2000}),
            ("nothing", {}))


def settings(export, place, caller):
    for name in ("file", "roots", "nobodys", "anons", "setid", "mine"):
        for what, values in SETTINGS:
            handle = export.handle(name)
            yield f"{name}: {what}", handle and export.server.setattr(handle, place, caller, **values) + \
                (seen(export.below(name)),)
            if seen(export.below(name)) != export.before[name]:
                export.fresh(name)


def removals(export, place, caller):
    server = export.server
    for folder in ("open", "mine", "group", "sticky", "private", "drop", "list"):
        name = os.path.join(folder, "file")
        handle = export.handle(folder)
        yield f"REMOVE {name}", handle and server.remove(handle, "file", place, caller) + (seen(export.below(name)),)
        export.fresh(name)
        yield f"RMDIR {name}", handle and server.rmdir(handle, "file", place, caller)
        yield f"REMOVE {folder}/missing", handle and server.remove(handle, "missing", place, caller)
        yield f"RMDIR {folder}/..", handle and server.rmdir(handle, "..", place, caller)
        empty = export.below(os.path.join(folder, "empty"))
        os.mkdir(empty, 0o755)
        os.chown(empty, *OWNER)
        yield f"REMOVE {folder}/empty", handle and server.remove(handle, "empty", place, caller)
        yield f"RMDIR {folder}/empty", handle and server.rmdir(handle, "empty", place, caller) + (seen(empty),)
        export.fresh(os.path.join(folder, "empty"))
    yield "RMDIR mine", server.rmdir(export.handle("."), "mine", place, caller)


def renames(export, place, caller):
    server = export.server
    for folder, to in (("open", "open"), ("open", "mine"), ("mine", "open"), ("sticky", "open"), ("open", "sticky"),
                       ("private", "open"), ("group", "open"), ("drop", "open"), ("open", "list"), ("sticky", "sticky"),
                       ("mine", "mine")):
        for target in ("new", "file"):
            handle, to_handle = export.handle(folder), export.handle(to)
            yield f"{folder}/file to {to}/{target}", handle and to_handle and \
                server.rename(handle, "file", to_handle, target, place, caller) + \
                (seen(export.below(folder + "/file")), seen(export.below(f"{to}/{target}")))
            export.fresh(folder + "/file", f"{to}/{target}")
    for name, target in (("file", "open"), ("mine", "file"), ("missing", "new"), (".", "new"), ("open", "open/new")):
        folder, _, last = target.rpartition("/")
        yield f"{name} to {target}", server.rename(export.handle("."), name, export.handle(folder or "."), last, place,
                                                   caller) + (seen(export.below(name)), seen(export.below(target)))
        export.fresh("file", "open", "mine", "new")


def links(export, place, caller):
    for name in ("file", "roots", "owners", "setid", "closed", "link", "open"):
        for folder in ("open", "mine", "private"):
            handle, folder_handle = export.handle(name), export.handle(folder)
            new = export.below(folder + "/new")
            yield f"{name} as {folder}/new", handle and folder_handle and \
                export.server.link(handle, folder_handle, "new", place, caller) + (seen(new),)
            export.fresh(folder + "/new")


def acls(export, place, caller):
    for name in EVERYTHING:
        handle = export.handle(name)
        yield name, handle and export.server.getacl(handle, place, caller)
    give_acl(export.below("mine"), "access", USER_ACL)
    give_acl(export.below("mine"), "default", GROUP_ACL)
    for mask in range(17):
        yield f"mine, mask {mask}", export.server.getacl(export.handle("mine"), place, caller, mask)
    export.fresh("mine")


# Entries: type, id, permissions. Of a list that is wrong: the words as they are.
OWN, NAMED, OWN_GROUP, NAMED_GROUP, MASK, OTHERS, DEFAULT = 1, 2, 4, 8, 16, 32, 0x1000
MINIMAL = ((OWN, 1000, 7), (OWN_GROUP, 1000, 5), (MASK, 0, 5), (OTHERS, 0, 1))
USER_ACL = ((OWN, 1000, 6), (NAMED, 1001, 4), (OWN_GROUP, 1000, 4), (MASK, 0, 6), (OTHERS, 0, 0))
GROUP_ACL = ((OWN, 1000, 7), (OWN_GROUP, 1000, 1), (NAMED_GROUP, GROUP, 6), (MASK, 0, 2), (OTHERS, 0, 4))
ACL_SETTINGS = (
    ("minimal", 1, MINIMAL, ()), ("three entries", 1, MINIMAL[:2] + MINIMAL[3:], ()),
    ("a mask that differs", 1, MINIMAL[:2] + ((MASK, 0, 0),) + MINIMAL[3:], ()),
    ("a user", 1, USER_ACL, ()), ("a group", 3, GROUP_ACL, ()), ("backwards", 1, USER_ACL[::-1], ()),
    ("marked as default", 1, [(tag | DEFAULT, who, perm) for tag, who, perm in USER_ACL], ()),
    ("both", 0xf, USER_ACL, GROUP_ACL), ("default", 0xc, (), GROUP_ACL), ("no default", 5, USER_ACL, ()),
    ("nothing", 0, (), ()), ("none", 5, (), ()), ("numbers only", 0xa, USER_ACL, GROUP_ACL),
    ("other ids", 1, ((OWN, 7, 7), (NAMED, 1001, 4), (OWN_GROUP, 0, 5), (MASK, 9, 5), (OTHERS, 5, 0)), ()),
    ("more bits in the mask", 1, USER_ACL[:3] + ((MASK, 0, 0o77),) + USER_ACL[4:], ()),
    ("twice a user", 1, USER_ACL[:2] + ((NAMED, 1001, 4),) + USER_ACL[2:], ()),
    ("twice the owner", 1, USER_ACL[:1] + USER_ACL, ()), ("no mask", 1, USER_ACL[:3] + USER_ACL[4:], ()),
    ("no others", 1, USER_ACL[:4], ()), ("a mask alone", 1, ((MASK, 0, 7),), ()),
    ("many", 1, USER_ACL[:1] + tuple((NAMED, 3000 + who, who % 8) for who in range(200)) + USER_ACL[2:], ()),
    ("more than a block holds", 1, USER_ACL[:1] + tuple((NAMED, 3000 + who, who % 8) for who in range(1000)) +
     USER_ACL[2:], ()),
    ("bits of no permission", 1, USER_ACL[:1] + ((NAMED, 1001, 8),) + USER_ACL[2:], ()),
    ("nobody's id", 1, USER_ACL[:1] + ((NAMED, 0xffffffff, 4),) + USER_ACL[2:], ()),
    ("no such type", 1, USER_ACL[:1] + ((64, 0, 4),) + USER_ACL[2:], ()), ("mask 16", 16, USER_ACL, ()),
    ("too many", 1, tuple((NAMED, who, 4) for who in range(1025)), ()),
    ("fewer than announced", 1, struct.pack(">II3I", 2, 1, OWN, 1000, 7), ()),
    ("more than announced", 1, struct.pack(">II3I", 0, 1, OWN, 1000, 7), ()),
    ("cut short", 1, MINIMAL, b""),
)


def acl_settings(export, place, caller):
    for name in ("file", "roots", "setid", "mine", "group", "link", "fifo"):
        for what, *how in ACL_SETTINGS:
            handle = export.handle(name)
            yield f"{name}: {what}", handle and export.server.setacl(handle, place, caller, *how) + \
                (seen(export.below(name)), acls_of(export.below(name)))
            if acls_of(export.below(name)) or seen(export.below(name)) != export.before[name]:
                export.fresh(name)
    give_acl(export.below("mine"), "default", GROUP_ACL)
    give_acl(export.below("mine"), "access", USER_ACL)
    yield "mine: the mode of an ACL", export.server.setattr(export.handle("mine"), place, caller, mode=0o750) + \
        (seen(export.below("mine")), acls_of(export.below("mine")))
    for what, *how in (("nothing", 0), ("an access ACL", 1, MINIMAL), ("a default ACL", 4, (), USER_ACL),
                       ("no access ACL", 1), ("no default ACL", 4)):
        yield f"mine: {what}, with both", export.server.setacl(export.handle("mine"), place, caller, *how) + \
            (seen(export.below("mine")), acls_of(export.below("mine")))
    export.fresh("mine")


def acl_permissions(export, place, caller):
    """By ACLs of files, and what is made in a folder with a default ACL."""
    server = export.server
    for name in ("owners", "closed", "group", "private"):
        for what, acl in (("user", USER_ACL), ("group", GROUP_ACL)):
            give_acl(export.below(name), "access", acl)
            handle = export.handle(name)
            yield f"ACCESS {name} by {what}", server.access(handle, place, caller)
            yield f"READ {name} by {what}", server.read(handle, place, caller)
            yield f"LOOKUP {name}/file by {what}", server.lookup(handle, "file", place, caller)[:2]
            export.fresh(name)
    new, made = export.below("open/new"), export.below("open/new/new")
    for what, acl in (("a minimal default ACL", MINIMAL[:2] + MINIMAL[3:]), ("a user's", USER_ACL),
                      ("a group's", GROUP_ACL)):
        os.mkdir(new)
        os.chmod(new, 0o777)
        give_acl(new, "default", acl)
        handle = export.handle("open/new")
        for how, make_it in (
                ("CREATE 0666", lambda: server.create(handle, "new", place, caller, mode=0o666)),
                ("CREATE 0600", lambda: server.create(handle, "new", place, caller, GUARDED, mode=0o600)),
                ("CREATE for 1000", lambda: server.create(handle, "new", place, caller, mode=0o666, uid=1000, gid=1000)),
                ("MKDIR 0777", lambda: server.mkdir(handle, "new", place, caller, mode=0o777)),
                ("MKDIR 0700", lambda: server.mkdir(handle, "new", place, caller, mode=0o700)),
                ("MKNOD fifo", lambda: server.mknod(handle, "new", place, caller, "fifo", mode=0o666)),
                ("SYMLINK", lambda: server.symlink(handle, "new", place, caller, "there"))):
            yield f"{how} below {what}", make_it() + (seen(made), acls_of(made) if seen(made) else None)
            if seen(made):
                clear(made)
        export.fresh("open/new")


KINDS = {"GETATTR": attributes, "ACCESS": permissions, "LOOKUP": names, "READ": reads, "READDIR": listings,
         "WRITE": writes, "CREATE": creations, "SETATTR": settings, "MKDIR, SYMLINK, MKNOD": things,
         "REMOVE, RMDIR": removals, "RENAME": renames, "LINK": links, "GETACL": acls, "SETACL": acl_settings,
         "ACLs": acl_permissions}


def users(comparison):
    """Who may do what, by what an export makes of its callers."""
    for name, callers in (("plain", CALLERS), ("root", (ROOT, USER, LAST)), ("all", (ROOT, USER)),
                          ("minus", (ROOT, LAST)), ("ro", (ROOT, USER)), ("zero", (USER,)),
                          ("checked", (ROOT, USER, CALLERS[4]))):
        for caller in callers:
            for kind, accesses in KINDS.items():
                comparison.row(f"{kind} in /srv/{name} by {caller.name}",
                               lambda server, of=accesses, who=caller, where=name:
                               of(comparison.home(server, where), HOME, who))
    for name in ("plain", "all", "root"):
        comparison.row(f"READ in /srv/{name} by AUTH_NONE",
                       lambda server, where=name: reads(comparison.home(server, where), HOME, NOBODY))


def visits(comparison, server, name, place):
    """What a client gets of an export, and with handles that another client has been given."""
    for caller in (ROOT, USER):
        yield f"MNT by {caller.name}", server.mnt("/srv/" + name, place, caller)[:2]
    export = comparison.home(server, name)
    root, file, folder = export.handle("."), export.handle("open/file"), export.handle("open")
    roots = export.handle("roots")
    new = export.below("open/new")
    if not (root and file and folder and roots):
        yield "no handle", None
        return
    yield "GETATTR", server.getattr(root, place, USER)
    yield "FSINFO", server.fsinfo(root, place, USER)
    yield "ACCESS by root", server.access(roots, place, ROOT)
    yield "ACCESS by its owner", server.access(file, place, USER)
    yield "READ", server.read(file, place, USER)
    yield "LOOKUP", server.lookup(root, "file", place, USER)[:2]
    yield "READDIR", server.readdir(root, place, USER)
    yield "WRITE", server.write(file, place, USER, b"written") + (seen(export.below("open/file")),)
    export.fresh("open/file")
    yield "CREATE by root", server.create(folder, "new", place, ROOT, mode=0o640) + (seen(new),)
    export.fresh("open/new")


def clients(comparison):
    """Who is which client, and what it may do."""
    for name in EXPORTS:
        for place in PLACES:
            comparison.row(f"/srv/{name} from {place}",
                           lambda server, where=name, who=place: visits(comparison, server, where, who))


PATHS = ("/srv/plain", "/srv/plain/", "/srv/plain//", "//srv//plain", "/srv/./plain", "/srv/plain/.", "/srv/plain/open",
         "/srv/plain/open/", "/srv/plain/private", "/srv/plain/sealed", "/srv/plain/file", "/srv/plain/open/file",
         "/srv/plain/link", "/srv/plain/fifo", "/srv/plain/missing", "/srv/plain/missing/below",
         "/srv/plain/file/below",
         "/srv/plain/..", "/srv/plain/../ro", "/srv/plain/open/..", "/srv/plain/../hidden", "/srv", "/srv/", "/",
         "", "srv/plain", "/srv/hidden", "/srv/hidden/open", "/srv/missing", "/nowhere", "/srv/plainly", "/srv/pla",
         "/srv/with space", "/srv/with\\040space", "/srv/octal space/open", "/srv/outer/inner", "/srv/outer/inner/open",
         "/srv/single/open", "/srv/bare/open", "/srv/plain/" + "x" * 255, "/srv/plain/" + "x" * 256,
         "/srv/plain/" + "x/" * 506, "/srv/plain/" + "x/" * 520)


def paths(comparison):
    for place in (HOME, Place("192.0.2.11", False), Place("203.0.113.1")):
        comparison.row(f"MNT from {place}", lambda server, where=place: (
            (path if len(path) < 50 else f"{path[:30]}... of {len(path)}", server.mnt(path, where, ROOT)[:2])
            for path in PATHS))


def across(comparison, server, name, other, place, caller):
    """RENAME and LINK from one export to another."""
    one, two = comparison.home(server, name), comparison.home(server, other)
    for file, folder in (("open/file", "open"), ("file", ".")):
        new = two.below(os.path.join(folder, "new"))
        source = one.handle(os.path.dirname(file) or ".")
        yield f"RENAME {file}", server.rename(source, "file", two.handle(folder), "new", place, caller) + (seen(new),)
        yield f"LINK {file}", server.link(one.handle(file), two.handle(folder), "new", place, caller) + (seen(new),)
        two.fresh(os.path.join(folder, "new"))
        one.fresh(file)


def pairs(comparison):
    for name, other in (("plain", "root"), ("root", "plain"), ("plain", "ro"), ("ro", "plain"), ("plain", "secure"),
                        ("secure", "plain"), ("plain", "bare"), ("plain", "single"), ("single", "plain"),
                        ("plain", "nets"), ("nets", "plain"), ("plain", "async"), ("outer", "outer/inner")):
        for place in (HOME, Place("192.0.2.11"), Place("192.0.2.11", False)):
            for caller in (ROOT, USER):
                comparison.row(f"from /srv/{name} to /srv/{other} by {caller.name} from {place}",
                               lambda server, one=name, two=other, where=place, who=caller:
                               across(comparison, server, one, two, where, who))


def inner(comparison, server, place, caller):
    """What lies in /srv/outer/inner, by way of /srv/outer."""
    outer = comparison.home(server, "outer")
    status, found, handle = server.lookup(outer.handle("."), "inner", place, caller)
    yield "LOOKUP inner", (status, found)
    yield "LOOKUP inner/..", handle and server.lookup(handle, "..", place, caller)[:2]
    yield "READDIR inner", handle and server.readdir(handle, place, caller)
    status, found, handle = server.lookup(handle, "open", place, caller)
    yield "LOOKUP inner/open", (status, found)
    new = os.path.join(server.files, "outer/inner/open/new")
    yield "CREATE inner/open/new", handle and server.create(handle, "new", place, caller, mode=0o640) + (seen(new),)
    if os.path.lexists(new):
        os.unlink(new)


def nested(comparison):
    for place in PLACES:
        for caller in (ROOT, USER):
            comparison.row(f"/srv/outer/inner by way of /srv/outer by {caller.name} from {place}",
                           lambda server, where=place, who=caller: inner(comparison, server, where, who))


def walk(comparison, server, names, place, caller):
    """The handles on the way from an export's root, and how far one gets."""
    handle = comparison.home(server, names[0]).handle(".")
    yield handle
    for name in names[1:]:
        status, _, handle = server.lookup(handle, name, place, caller)
        if status != "OK":
            return
        yield handle


def looks(comparison, server, path, place, caller):
    """What somebody finds who walks to a mount point, and what he may do there."""
    names = path.split("/")
    way = list(walk(comparison, server, names, place, caller))
    yield f"LOOKUP {path}", f"{len(way) - 1} of {len(names) - 1} names"
    yield f"MNT {path}", server.mnt("/srv/" + path, place, caller)[:2]
    if len(way) < len(names):
        return
    here, above = way[-1], way[-2]
    yield "GETATTR", server.getattr(here, place, caller)
    fsids = [server.fsid(handle, place, caller)[1] for handle in way]
    yield "fsid", ["same" if one == other else "another" for one, other in zip(fsids, fsids[1:])]
    yield "FSSTAT", server.fsstat(here, place, caller)
    yield "READDIR", server.readdir(here, place, caller)
    yield "READDIR above", server.readdir(above, place, caller)
    status, entries = server.readdir(above, place, caller, True)
    yield "READDIRPLUS above", (status, [entry for entry in entries or () if entry[0] == names[-1]])
    _, _, up = server.lookup(here, "..", place, caller)
    yield "fsid of ..", up and ("same" if server.fsid(up, place, caller)[1] == fsids[-1] else "another")
    new = os.path.join(server.files, path, "new")
    below = os.path.join(server.files, os.path.dirname(path), "new")
    yield "CREATE", server.create(here, "new", place, caller, mode=0o640) + (seen(new),)
    yield "RENAME out of it", server.rename(here, "new", above, "new", place, caller) + (seen(new), seen(below))
    if not os.path.lexists(new):
        make(new, "", 0o644, 0, 0)
    _, _, file = server.lookup(here, "new", place, caller)
    yield "LINK out of it", file and server.link(file, above, "new", place, caller) + (seen(below),)
    for name in (new, below):
        if os.path.lexists(name):
            os.unlink(name)


def mounts(comparison):
    """File systems that are mounted inside of exports (MOUNTED)."""
    for path in MOUNTED:
        for place in (HOME, Place("192.0.2.11"), Place("192.0.2.11", False)):
            for caller in (ROOT, USER):
                comparison.row(f"what is mounted on /srv/{path} by {caller.name} from {place}",
                               lambda server, where=path, at=place, who=caller:
                               looks(comparison, server, where, at, who))


def mount_all(top):
    """Mount what the server of this tree finds inside of its exports: small file systems, all alike but for their names."""
    for path in MOUNTED:
        point = os.path.join(top, path)
        os.makedirs(os.path.join(point, "underneath"), exist_ok=True)
        os.chmod(os.path.dirname(point), 0o777)
        if path.endswith("bind"):
            subprocess.run(["mount", "--bind", os.path.join(top, "plain/open"), point], check=True)
            continue
        image = f"{top}.{path.replace('/', '.')}"
        with open(image, "wb") as file:
            file.truncate(8 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, point], check=True)
        os.chmod(point, 0o777)
        make(os.path.join(point, "inside"), "hello\n", 0o644, 1000, 1000)


def listed(text):
    """What exportfs -v prints, or ringnfsctl exports show: {(path, client): options}"""
    exports, path = {}, None
    for line in text.splitlines():
        match = re.fullmatch(r"(/.*?)?(?:\s+(\S+)\((\S*)\))?", line.rstrip())
        path = match[1].replace("\\040", " ") if match[1] else path
        if match[2]:
            exports[path, match[2]] = match[3].split(",")
    return exports


def shapes(comparison, control):
    with open("/data/state/exportfs", encoding="ascii") as file:
        nfsd = listed(file.read())
    ours = listed(subprocess.run([control, "-d", "/data/state", "exports", "show"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout)
    for path, client in sorted(nfsd.keys() | ours.keys()):
        row = f"listed: {path} {client}"
        one, two = (",".join(shown.get((path, client), ["-"])) for shown in (nfsd, ours))
        known = one == two or comparison.is_known(row, "", one, two)
        comparison.verdict(row, [] if known else [f"  exportfs {one}", f"  ringnfsctl {two}"])


def compare(control):
    for address in ("192.0.2.10", "192.0.2.11", "192.0.2.12", "198.51.100.5", "198.51.100.6", "198.51.100.100",
                    "198.51.100.200", "203.0.113.1"):
        subprocess.run(["ip", "address", "add", address + "/24", "dev", "eth0"], check=True)
    for address in ("2001:db8::10", "2001:db8::11"):
        subprocess.run(["ip", "address", "add", address + "/64", "dev", "eth0", "nodad"], check=True)
    os.umask(0)
    start = time.monotonic()
    with open("/data/state/pid", encoding="ascii") as file:
        below = f"/proc/{file.read().strip()}/root/data"        # with what is mounted on the servers' side alone
    comparison = Comparison((Server("nfsd", 2049, 20048, below + "/nfsd"),
                             Server("ringnfsd", 2050, 2050, below + "/ringnfs")))
    shapes(comparison, control)
    for part in (paths, clients, nested, mounts, pairs, users):
        part(comparison)
    for number, known in enumerate(KNOWN):
        if number not in comparison.used:
            comparison.verdict(f"known difference: {known[0]}: {known[1]}", ["  there is none any more"])
    print(f"{comparison.rows} rows, {comparison.failed} differ; {comparison.accesses} accesses, {comparison.meant} "
          f"differ as they should; {time.monotonic() - start:.0f} s")
    return comparison.failed > 0


if sys.argv[1:2] == ["tree"] and len(sys.argv) == 3:
    tree(sys.argv[2])
elif sys.argv[1:2] == ["mount"] and len(sys.argv) == 3:
    mount_all(sys.argv[2])
elif sys.argv[1:2] == ["compare"] and len(sys.argv) == 3:
    sys.exit(compare(sys.argv[2]))
else:
    sys.exit(__doc__)
