"""An emulated machine (tests/guest) that serves a disk of its own by ringnfsd, and that can lose its power."""
import os
import shutil
import socket
import subprocess
import time

from disk import Disk

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.realpath(os.environ.get("GUEST_CACHE", "/var/cache/ringnfs-guest"))
RINGNFSD = os.path.realpath(os.environ.get("RINGNFSD") or f"{HERE}/../../build/ringnfsd")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Drive:
    """A disk and its file system, mounted as /data, or below it as /data/LABEL."""

    def __init__(self, scratch, label="data", kind="ext4", size="192M", features=()):
        self.label, self.image, self.path = label, f"{scratch}/image.{label}", f"{scratch}/disk.{label}"
        make = ["mkfs.xfs", "-q", "-L", label] if kind == "xfs" else \
            ["mkfs.ext4", "-q", "-b", "4096", "-L", label, "-E", "lazy_itable_init=0,lazy_journal_init=0"]
        subprocess.run(["truncate", "-s", size, self.image], check=True)
        subprocess.run([*make, *features, self.image], check=True)
        self.disk = Disk(self.image, self.path)


class Machine:
    """
    drives: what it has; exports: lines of exports(5); mount: options of mount(8); state: the server's state directory,
    with a key from out here where that is not on a disk.
    """

    def __init__(self, scratch, drives, exports, mount="defaults", state="/data/state"):
        self.scratch, self.drives, self.port, self.process = scratch, drives, free_port(), None
        self.control, self.image, self.disk = f"{scratch}/control", drives[0].image, drives[0].disk
        os.mkdir(self.control)
        shutil.copy(f"{HERE}/machine-stage2", f"{self.control}/stage2")
        with open(f"{self.control}/config", "w", encoding="utf-8") as config:
            config.write(f"cache={CACHE}\nRINGNFSD={RINGNFSD}\nmount={mount}\nstate={state}\n"
                         f"ringnfsctl='{os.path.dirname(RINGNFSD)}/ringnfsctl -d {state}'\n")
        with open(f"{self.control}/handle-key", "w", encoding="utf-8") as key:
            key.write(os.urandom(16).hex() + "\n")
        with open(f"{self.control}/exports", "w", encoding="utf-8") as file:
            file.write("\n".join(exports) + "\n")

    def boot(self):
        """Switch it on; the server answers on self.port some seconds later."""
        devices = []
        for name, where in (("root", "path=/,readonly=on"), ("control", f"path={self.control}")):
            devices += ["-fsdev", f"local,security_model=none,multidevs=remap,id={name},{where}",
                       "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
        for number, drive in enumerate(self.drives):
            devices += ["-blockdev", f"driver=nbd,node-name=d{number},server.type=unix,server.path={drive.path}",
                        "-device", f"scsi-hd,drive=d{number},lun={number},write-cache=on"]
        self.process = subprocess.Popen([
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-machine", "pc", "-bios", "qboot.rom", "-cpu", "Nehalem",
            "-smp", "1", "-m", "1G", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-kernel", f"{CACHE}/vmlinux", "-initrd", f"{CACHE}/initramfs",
            "-append", "console=ttyS0 panic=-1 mitigations=off nokaslr no_timer_check cryptomgr.notests",
            "-serial", f"file:{self.scratch}/console",
            "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:2049",
            "-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-scsi-pci"] + devices,
            stdin=subprocess.DEVNULL)

    def cut_power(self, chance):
        """-> how many blocks of the disks' caches are gone with it"""
        self.process.kill()
        self.process.wait()
        self.process = None
        return sum(drive.disk.power_cut(chance) for drive in self.drives)

    def damage(self):
        """What a check of the file system finds after its journal was replayed, on a copy; "" when it is sound."""
        copy = f"{self.scratch}/copy"
        subprocess.run(["cp", "--sparse=always", self.image, copy], check=True)
        repaired = subprocess.run(["e2fsck", "-fp", copy], capture_output=True, text=True, check=False)
        checked = subprocess.run(["e2fsck", "-fn", copy], capture_output=True, text=True, check=False)
        return "" if repaired.returncode < 4 and checked.returncode == 0 else repaired.stdout + checked.stdout

    def blocks(self, path):
        """The disk's blocks that hold a file's data; path: below /data. What is not on the disk yet has none."""
        listed = subprocess.run(["debugfs", "-R", f"blocks {path}", self.image], capture_output=True, text=True, check=True)
        return {int(block) for block in listed.stdout.split()}

    def tell(self, command, patience=60):
        """Run a shell command in the machine. -> what it printed"""
        with open(f"{self.control}/command.new", "w", encoding="utf-8") as file:
            file.write(command)
        os.rename(f"{self.control}/command.new", f"{self.control}/command")
        deadline = time.monotonic() + patience
        while os.path.exists(f"{self.control}/command"):
            if time.monotonic() > deadline:
                raise AssertionError(f"{command}: no answer")
            time.sleep(0.05)
        with open(f"{self.control}/answer", encoding="utf-8") as file:
            return file.read()

    def last_words(self):
        words = ""
        for name in (f"{self.control}/log", f"{self.scratch}/console"):
            if os.path.exists(name):
                with open(name, encoding="utf-8", errors="replace") as file:
                    words += "".join(file.readlines()[-30:])
        return words

    def off(self):
        if self.process:
            self.process.kill()
            self.process.wait()
