#!/usr/bin/python3
"""The same accesses to the kernel's NFS server and to this one, row by row.

usage: access.py tree DIR              make what both servers export
       access.py compare RINGNFSCTL    in the guest, with both servers running (see servers)

A row is one kind of access, by one caller from one address to one export: PASS when every access in it ends alike on
both servers: the same status and the same meaning of the results, and for changes the same owner, mode, size and name
afterwards, seen from below.  FAIL is followed by the accesses that differ.  A difference in KNOWN is none.
"""
import os
import re
import shutil
import stat
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
    (r"listed: /srv/names (198\.51\.100\.5|lab5\.example\.test)", "", r"sync\S* \| -|- \| sync\S*",
     "MOUNT: clients are listed as they are written; exportfs shows the address"),

    ("MNT .*", "/srv/plain/(open/)?file", r"OK \[1\] \| NOTDIR", "MOUNT: directories only (5.2.1)"),
    ("MNT .*", "/srv/plain/link", r"OK \[1\] \| NOTDIR", "MOUNT: symbolic links are not followed"),
    ("MNT .*", r"/srv/plain/\.\.(/.*)?", r"(OK \[1\]|ACCES) \| (OK \[1\]|NOENT)",
     "Names: '..' of an export's root is the root"),
    ("MNT .*", r"/srv/\./plain", r"OK \[1\] \| ACCES", "MOUNT: as it is written, this path is outside of every export"),
    ("MNT .*", "/srv/plain/(file/below|x.* of 267)", r"ACCES \| (NOTDIR|NAMETOOLONG)", "5.2.1 has words for it"),
    ("MNT .*|/srv/outer/inner from .*", "/srv/outer/inner.*|MNT .*", r"OK \[1\] \| ACCES",
     "Handles: MNT of an export inside of another one is for its own clients only"),

    ("from .*", "(RENAME|LINK) .*", r"(OK .*|ACCES) \| (XDEV|ROFS|PERM|STALE)",
     "Handles: both exports are checked first, and two of them are XDEV; nfsd links from one to the other"),
    (".* by AUTH_NONE", ".*", r"ACCES \| denied \(1, 5\)", "Security flavours: AUTH_TOOWEAK (RFC 5531 section 9)"),

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

    (".* in /srv/ro by .*", ".*", r"(ACCES|EXIST|INVAL|ISDIR|PERM)( .*|) \| ROFS\2", "Handles: 'ro' is checked first"),
    ("CREATE in /srv/ro by .*", ".* (unchecked|truncated)", r"OK( .*) \| ROFS\1", "Handles: 'ro' is checked first"),
    ("REMOVE, RMDIR .*", "REMOVE .*/missing", r"ACCES \| NOENT", "two of the statuses of 3.3.12, which has no order"),
    ("RENAME .*", "missing to new", r"ACCES \| NOENT", "two of the statuses of 3.3.14, which has no order"),
    ("RENAME .*", "open to open/new", r"ACCES( .*) \| INVAL\1", "two of the statuses of 3.3.14, which has no order"),
    ("LINK .*", "open as .*", r"ACCES \| ISDIR", "a directory is never linked, whoever asks"),
)

EXPORTS = ("plain", "ro", "root", "all", "minus", "async", "zero", "secure", "first", "nets", "single", "defaults",
           "bare", "names", "with space", "octal space", "outer", "outer/inner", "extra")
NOT_EXPORTED = ("hidden",)
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


KINDS = {"GETATTR": attributes, "ACCESS": permissions, "LOOKUP": names, "READ": reads, "READDIR": listings,
         "WRITE": writes, "CREATE": creations, "SETATTR": settings, "MKDIR, SYMLINK, MKNOD": things,
         "REMOVE, RMDIR": removals, "RENAME": renames, "LINK": links}


def users(comparison):
    """Who may do what, by what an export makes of its callers."""
    for name, callers in (("plain", CALLERS), ("root", (ROOT, USER, LAST)), ("all", (ROOT, USER)),
                          ("minus", (ROOT, LAST)), ("ro", (ROOT, USER)), ("zero", (USER,))):
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
    comparison = Comparison((Server("nfsd", 2049, 20048, "/data/nfsd"),
                             Server("ringnfsd", 2050, 2050, "/data/ringnfs")))
    shapes(comparison, control)
    for part in (paths, clients, nested, pairs, users):
        part(comparison)
    for number, known in enumerate(KNOWN):
        if number not in comparison.used:
            comparison.verdict(f"known difference: {known[0]}: {known[1]}", ["  there is none any more"])
    print(f"{comparison.rows} rows, {comparison.failed} differ; {comparison.accesses} accesses, {comparison.meant} "
          f"differ as they should; {time.monotonic() - start:.0f} s")
    return comparison.failed > 0


if sys.argv[1:2] == ["tree"] and len(sys.argv) == 3:
    tree(sys.argv[2])
elif sys.argv[1:2] == ["compare"] and len(sys.argv) == 3:
    sys.exit(compare(sys.argv[2]))
else:
    sys.exit(__doc__)
