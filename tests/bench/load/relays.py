"""The relays that tools/bench compares, each started once and given the same adapter.

    with Relays(programs, adapter, peers) as relays:
        relays.rows["haproxy"].address, .pids, .options
"""

import resource
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/support")]

from relay_process import RelayProcess, release_path  # noqa: E402

REFERENCES = 6000  # as many as the body refs1M has, and more

# One thread, as all others: with more, the load has no core left on a small machine.
HAPROXY = """\
global
  nbthread 1
  maxconn {connections}
defaults
  mode tcp
  maxconn {connections}
  timeout connect 10s
  timeout client 1h
  timeout server 1h
listen bench
  bind {listen}
  server adapter {target}
"""


def programs(raydbg=None):
    """Where the compiled programs are: beside the raydbg that was built with them, by default the released one. A
    portable one is built without."""
    beside = raydbg.parent / "tests/bench/load" if raydbg else None
    return beside if beside and beside.exists() else ROOT / "build/tests/bench/load"


def run(*argv):
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run_told(*argv):
    """A program that prints its addresses and then `ready`."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    addresses = []
    while (line := process.stdout.readline().strip()) != "ready":
        if not line:
            raise AssertionError(f"{argv[0]} did not start")
        addresses.append(line)
    return process, addresses


def end(process):
    process.terminate()
    process.wait(10)


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return "127.0.0.1:%d" % sock.getsockname()[1]


def wait_listening(address, process):
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError as error:
            if time.monotonic() > deadline or process.poll() is not None:
                raise AssertionError(f"{process.args} does not listen on {address}") from error
            time.sleep(0.05)


@dataclass
class Adapter:
    """A running fakeadapter."""

    process: subprocess.Popen
    addresses: list

    @classmethod
    def start(cls, stack, ports=1, raydbg=None):
        process, addresses = run_told(str(programs(raydbg) / "fakeadapter"), "--ports", str(ports))
        stack.callback(end, process)
        return cls(process, addresses)


@dataclass
class Row:
    """A relay to be measured: where it listens, whose CPU it takes, and what dapload has to be told for it."""

    name: str
    address: str
    pids: list = field(default_factory=list)
    options: list = field(default_factory=list)


class Relays:
    """Every relay in front of one adapter, by name; ended with the context."""

    def __init__(self, peers=()):
        self.peers = dict(peer.split("=", 1) for peer in peers)
        self.rows = {}

    def __enter__(self):
        self.stack = ExitStack()
        with self.stack:
            self.directory = Path(tempfile.mkdtemp(prefix="raydbg-bench-", dir="/tmp"))
            self.stack.callback(shutil.rmtree, self.directory, ignore_errors=True)
            self.adapter = Adapter.start(self.stack)
            self.target = self.adapter.addresses[0]
            self._start()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def _start(self):
        self._add("direct", self.target)
        process, addresses = run_told(str(programs() / "forward"), "--listen", "127.0.0.1:0", "--target", self.target)
        self.stack.callback(end, process)
        self._add("forward", addresses[0], [process.pid])
        listen = free_address()
        host, _, port = listen.rpartition(":")
        self._proxy("socat", listen, ["socat", f"TCP-LISTEN:{port},bind={host},fork,reuseaddr,nodelay,backlog=1024",
                                      f"TCP:{self.target},nodelay"])
        listen = free_address()
        config = self.directory / "haproxy.cfg"
        connections = min(9000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 2 - 500)
        config.write_text(HAPROXY.format(listen=listen, target=self.target, connections=connections))
        self._proxy("haproxy", listen, ["haproxy", "-db", "-f", str(config)])
        for name, template in self.peers.items():
            listen = free_address()
            command = template.format(listen=listen, target=self.target)
            self._proxy(name, listen, shlex.split(command))
        self._transparent()
        self._full()

    def _add(self, name, address, pids=(), options=()):
        self.rows[name] = Row(name, address, list(pids), list(options))

    def _proxy(self, name, listen, argv):
        process = run(*argv)
        self.stack.callback(end, process)
        wait_listening(listen, process)
        self._add(name, listen, [process.pid])

    def _raydbg(self, *arguments, **options):
        return self.stack.enter_context(RelayProcess(*arguments, binary=release_path(), **options))

    def _transparent(self):
        relay = self._raydbg("--token", "none", "--target", f"debugpy://{self.target}")
        self._add("raydbg transparent", "%s:%d" % relay.address, [relay.pid])

    def _full(self):
        from fake_ray import TASK, FakeRay  # grpc's import takes its time
        ray = self.stack.enter_context(FakeRay(int(self.target.rpartition(":")[2])))
        for _ in range(REFERENCES):
            ray.add_ref(8_000_000)
        relay = self._raydbg("--token", "none", address=ray.address)
        attach = self.directory / "attach"
        attach.write_text('{"request": "attach", "task": "%s"}\n' % TASK.hex())
        self._add("raydbg full", "%s:%d" % relay.address, [relay.pid, *relay.kept_pids()], ["--attach", str(attach)])


class Threads:
    """`raydbg relay` with one client whose threads are so many workers' tasks; with their references if wanted."""

    def __init__(self, targets, references=0, raydbg=None):
        self.targets, self.references, self.raydbg = targets, references, raydbg or release_path()

    def __enter__(self):
        self.stack = ExitStack()
        with self.stack:
            from fake_gang import FakeGang

            class Gang(FakeGang):
                def GetCoreWorkerStats(self, data):
                    reply = super().GetCoreWorkerStats(data)
                    reply.core_worker_stats.object_refs.extend(self.refs)
                    return reply

            adapter = Adapter.start(self.stack, self.targets, self.raydbg)
            gang = self.stack.enter_context(Gang())
            for address in adapter.addresses:
                gang.add("Trainer.step", adapter=Scripted(int(address.rpartition(":")[2])))
            for _ in range(self.references):
                gang.add_ref(8_000_000)
            relay = self.stack.enter_context(RelayProcess("--token", "none", address=gang.address, binary=self.raydbg))
            attach = Path(self.stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))) / "attach"
            attach.write_text('{"request": "attach", "tasks": "*"}\n')
            row = Row(f"raydbg threads, {self.targets}", "%s:%d" % relay.address, [relay.pid, *relay.kept_pids()],
                      ["--attach", str(attach), "--threads", str(self.targets), "--learn"])
            self.stack = self.stack.pop_all()
        return row

    def __exit__(self, *_):
        self.stack.close()


class Scripted:
    """A port of fakeadapter's, as FakeGang wants its adapters to be."""

    def __init__(self, port):
        self.port, self.on, self.connections = port, {}, []

    def close(self):
        pass


class ManyTargets:
    """One `raydbg relay` and as many adapters as there are sessions: a target each."""

    def __init__(self, sessions):
        self.sessions = sessions

    def __enter__(self):
        self.stack = ExitStack()
        with self.stack:
            directory = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="raydbg-bench-", dir="/tmp")))
            adapter = Adapter.start(self.stack, self.sessions)
            relay = self.stack.enter_context(RelayProcess(
                "--token", "none", "--allow-connect", "--max-sessions", str(self.sessions + 10),
                "--max-per-address", str(self.sessions + 10), binary=release_path()))
            attach = directory / "attach"
            attach.write_text("".join('{"request": "attach", "connect": "%s"}\n' % address
                                      for address in adapter.addresses))
            self.row = Row("raydbg full", "%s:%d" % relay.address, [relay.pid, *relay.kept_pids()],
                           ["--attach", str(attach)])
            self.stack = self.stack.pop_all()
        return self.row

    def __exit__(self, *_):
        self.stack.close()
