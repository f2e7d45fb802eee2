#!/usr/bin/env python3
"""A test in Python that has an NFS server of its own, with libnfs' tools as the client.

    python3 test_ephemeral.py          the daemon is $RINGNFSD, or ringnfsd on the PATH

Server is a context manager, and so a fixture for unittest and pytest alike. The server ends with this process, even if
that is killed, and leaves nothing behind. It needs no privilege.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest


class Server:
    """A ringnfsd that serves what lines of exports(5) say; `exports` has how to reach them, `ports` the ports."""

    def __init__(self, *lines, options=()):
        command = [os.environ.get("RINGNFSD", "ringnfsd"), "--ephemeral", f"--parent-death={os.getpid()}", "--print-ports"]
        for line in lines:
            command += ["-e", line]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()       # comes once calls are answered; nothing, if it does not start
        if not line:
            self.stop()
            raise RuntimeError(f"ringnfsd ended with status {self.process.returncode}")
        told = json.loads(line)
        self.ports = {"nfs": told["nfs"], "mount": told["mount"]}
        self.exports = {export["path"]: export for export in told["exports"]}

    def url(self, export, path=""):
        """The URL of a file in an export, for libnfs."""
        where, question, ports = self.exports[export]["url"].partition("?")
        return where + path + question + ports

    def stop(self):
        """End it, and wait until nothing is left of it."""
        self.process.terminate()
        self.process.stdout.close()
        return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


@unittest.skipUnless(shutil.which("nfs-cp"), "libnfs' tools are not installed")
class ServerTest(unittest.TestCase):
    def setUp(self):
        self.server = Server("memory:/x *(rw,insecure)", "memory:/y *(ro,insecure)")
        self.addCleanup(self.server.stop)

    def store(self, data, url):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return subprocess.run(["nfs-cp", file.name, url], capture_output=True, check=False).returncode

    def test_what_is_written_is_read(self):
        data = os.urandom(3_000_000)
        self.assertEqual(self.store(data, self.server.url("/x", "/file")), 0)
        read = subprocess.run(["nfs-cat", self.server.url("/x", "/file")], capture_output=True, check=True).stdout
        self.assertEqual(read, data)

    def test_a_read_only_export_refuses_changes(self):
        self.assertNotEqual(self.store(b"data", self.server.url("/y", "/file")), 0)

    def test_it_ends_with_status_0(self):
        self.assertEqual(self.server.stop(), 0)


class StartTest(unittest.TestCase):
    def test_a_server_that_does_not_start_is_an_error(self):
        with self.assertRaises(RuntimeError):
            Server("/no/such/directory *(rw)")


if __name__ == "__main__":
    unittest.main()
