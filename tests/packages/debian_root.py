"""A Debian 11 in a directory, made by debootstrap, and a Ray cluster in it, in namespaces of its own."""

import contextlib
import os
import re
import subprocess
from pathlib import Path

from conftest import ROOT, clean_environment, output
from waits import limit, wait_until

RELEASE = "bullseye"
PACKAGES = ["python3", "python3-venv", "systemd"]
CACHE = ROOT / ".cache/debian11"
PYTHON = "/ray/bin/python"
# What each start of a process inside has to have.
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
# Debian's own scripts need /proc; it is gone with the command.
WITH_PROC = ("unshare", "--mount", "sh", "-ec", 'mount -t proc proc "$1/proc"; exec chroot "$@"', "sh")
# The shell stays, as PID 1, and waits for orphans.
START = """set -e
ip link set lo up
mount -t proc proc "$1/proc"
mount -t tmpfs none "$1/dev/shm"
chroot "$@"
"""
DRIVER = """
import ray

@ray.remote
def square(side):
    area = side * side
    breakpoint()
    return area

ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100_000_000)
print("the task returned", ray.get(square.remote(7)), flush=True)
"""


def mirror():
    """The mirror of Debian that this system's apt uses, or that of $RAYDBG_DEBIAN_MIRROR."""
    if "RAYDBG_DEBIAN_MIRROR" in os.environ:
        return os.environ["RAYDBG_DEBIAN_MIRROR"]
    known = output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
    found = next((uri.rstrip("/") for uri in known if uri.rstrip("/").endswith("/debian")), None)
    assert found, "apt knows no mirror of Debian here: name one in RAYDBG_DEBIAN_MIRROR"
    return found


class DebianRoot:
    """`path` is the root: as debootstrap left it, which is kept in .cache/debian11. run() runs a command in it, with the
    host's network."""

    def __init__(self, path):
        self.path = Path(path)
        made = CACHE / f"{RELEASE}-{'-'.join(PACKAGES)}.tar"
        if made.exists():
            self.path.mkdir()
            output("tar", "-C", self.path, "-xpf", made)
        else:
            output("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", RELEASE, self.path, mirror(), timeout=limit(1200))
            made.parent.mkdir(parents=True, exist_ok=True)
            output("tar", "-C", self.path, "-cf", f"{made}.{os.getpid()}", ".")
            os.replace(f"{made}.{os.getpid()}", made)
        assert (self.path / "etc/debian_version").read_text().startswith("11.")
        (self.path / "etc/hosts").write_text("127.0.0.1 localhost\n")

    def run(self, *argv, **options):
        """What the command printed; fails if it fails."""
        return output(*WITH_PROC, self.path, *argv, env=ENVIRONMENT, **options)

    def fails(self, *argv):
        """(exit code, both of its streams)."""
        done = subprocess.run([*WITH_PROC, self.path, *argv], env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def put(self, file, name=None):
        """Copies a file into the root's /; its path there."""
        target = self.path / (name or Path(file).name)
        target.write_bytes(Path(file).read_bytes())
        return f"/{target.name}"

    def install_ray(self):
        """Ray and debugpy, from tools/setup's files, in an environment of Debian's Python in /ray."""
        (self.path / "wheels").mkdir()
        for wheel in (CACHE / "wheels").glob("*.whl"):
            os.link(wheel, self.path / "wheels" / wheel.name)
        self.run("python3", "-m", "venv", "/ray")
        self.run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", "/wheels", "ray", "debugpy", "numpy",
                 timeout=limit(600))


class PausedCluster:
    """A real Ray in a DebianRoot whose one task is paused; run() runs a command beside it."""

    def __init__(self, root):
        self.root = root
        (root.path / "driver.py").write_text(DRIVER)
        self.log = root.path / "driver.log"
        self.outer = subprocess.Popen(
            ["unshare", "--pid", "--mount", "--net", "--fork", "--kill-child", "sh", "-c", START, "sh", root.path, PYTHON,
             "/driver.py"], env=clean_environment(**ENVIRONMENT), stdin=subprocess.DEVNULL, stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT)

    def __enter__(self):
        try:
            wait_until(lambda: self.ended() or re.search(r"Waiting for debugger|debugpy", self.output()), self.output, every=0.2,
                       most=limit(180))
            assert not self.ended(), self.output()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.outer.kill()
        self.outer.wait()

    def ended(self):
        return self.outer.poll() is not None

    def output(self):
        return self.log.read_text(errors="replace")

    def run(self, *argv, **options):
        inner = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text().split()[0]
        return output("nsenter", "--target", inner, "--pid", "--mount", "--net", "chroot", self.root.path, *argv,
                      env=ENVIRONMENT, **options)
