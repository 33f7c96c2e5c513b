"""Reads an OCI archive, and runs its program as a container runtime would, as far as namespaces go without one."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

from waits import limit

STATE = "var/lib/raydbg"


class Image:
    """`config` is the image's; files() its layers' members; unpack() makes a root of them."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.blobs = {f"sha256:{Path(member.name).name}": archive.extractfile(member).read()
                          for member in archive if member.isfile() and member.name.startswith("blobs/")}
            index = json.load(archive.extractfile("index.json"))
        entry, = index["manifests"]
        self.name = entry["annotations"]["org.opencontainers.image.ref.name"]
        self.manifest = json.loads(self.blobs[entry["digest"]])
        self.platform = json.loads(self.blobs[self.manifest["config"]["digest"]])
        self.config = self.platform["config"]

    def layers(self):
        for layer in self.manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(self.blobs[layer["digest"]])) as archive:
                yield archive

    def files(self):
        """{path: its TarInfo}, the last layer's where several have it."""
        return {member.name.strip("/"): member for archive in self.layers() for member in archive}

    def unpack(self, root):
        for archive in self.layers():
            archive.extractall(root, numeric_owner=True)


# PID 1 of new namespaces: makes the root read-only but for the state, drops all privileges, and becomes the program.
START = """
import ctypes, json, os, subprocess, sys
root, user, environment, argv = json.loads(sys.argv[1])
def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)
mount("--bind", root, root)
mount("--bind", root + "/%(state)s", root + "/%(state)s")
mount("-t", "proc", "proc", root + "/proc")
mount("-t", "tmpfs", "-o", "mode=755", "none", root + "/dev")
for device in ("null", "urandom"):
    open(root + "/dev/" + device, "w").close()
    mount("--bind", "/dev/" + device, root + "/dev/" + device)
mount("-o", "remount,bind,ro", root)
os.chroot(root)
os.chdir("/")
libc = ctypes.CDLL(None, use_errno=True)
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
for capability in range(41):
    libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
os.setgroups([])
os.setgid(user)
os.setuid(user)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
os.execve(argv[0], argv, environment)
""" % {"state": STATE}


class Container:
    """The image's program in pid and mount namespaces of its own, and the host's network: as its user, without capabilities,
    the root read-only. Ends with the test."""

    def __init__(self, image, root, *command, env=None):
        user = int(image.config["User"].split(":")[0])
        environment = {**dict(entry.split("=", 1) for entry in image.config["Env"]), **(env or {})}
        argv = [*image.config["Entrypoint"], *(command or image.config["Cmd"])]
        self.log = Path(f"{root}.log")
        self.outer = subprocess.Popen(
            ["unshare", "--pid", "--mount", "--fork", "--kill-child", sys.executable, "-c", START,
             json.dumps([str(root), user, environment, argv])], stdin=subprocess.DEVNULL, stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.outer.kill()
        self.outer.wait()

    def output(self):
        return self.log.read_text(errors="replace")

    def init(self):
        """The pid, as seen from here, of what is PID 1 inside; None before it is there."""
        children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def processes(self):
        """{pid inside: the fields of its /proc/PID/status}, of all processes in the namespace, with HostPid."""
        inside = os.readlink(f"/proc/{self.init()}/ns/pid")
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(path / "ns/pid") == inside:
                    fields = dict(line.split(":\t", 1) for line in (path / "status").read_text().splitlines() if ":\t" in line)
                    found[int(fields["NSpid"].split()[-1])] = {**fields, "HostPid": int(path.name)}
        return found

    def terminate(self):
        """Sends PID 1 SIGTERM; the exit code."""
        os.kill(self.init(), signal.SIGTERM)
        return self.outer.wait(limit())

    def listens(self):
        """The address that the relay says it listens on, or None."""
        found = re.search(r"^raydbg relay listens on (\S+) ", self.output(), re.M)
        return found and found.group(1)
