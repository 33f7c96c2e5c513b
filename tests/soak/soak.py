#!/usr/bin/env python3
"""Random clients that attach, step, look, leave, crash and stall, on a relay that is killed and upgraded, for a while.

After each action the invariants are checked: every request has exactly one response (a client that lost its relay: at
most one); every task is still stopped at the line where the last step left it, and nobody has let it go; what the relay
lists is true. RSS is compared between the quiet moments of a relay's life, and descriptors, too.

    tests/soak/soak.py --seconds 1800 --seed 7        # tools/test --soak does this
    tests/soak/soak.py --ray                          # on tasks of a real two-node Ray

The same seed gives the same actions. Ends with its numbers, and exit code 1 at the first violation.
"""

import argparse
import collections
import contextlib
import os
import random
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/integration")]

import dap_client  # noqa: E402
from dap_client import DapError  # noqa: E402
from fake_adapter import PROGRAM, FakeAdapter  # noqa: E402
from relay_process import ClientProcess, RelayProcess, release_path  # noqa: E402
from relay_under_test import raydbg_path  # noqa: E402
from slow_client import SlowClient  # noqa: E402
from waits import Hard, wait_until  # noqa: E402

MIB = 1 << 20
MAX_CLIENTS = 12
GROWTH = 4 * MIB  # of RSS, between two quiet moments of one relay: what floods have left behind in the heap


class Violation(Hard):
    """An invariant does not hold."""


class Failure(AssertionError):
    """An action failed otherwise: nothing came in time, or a connection broke."""


def failure_of(error):
    return Violation if isinstance(error, Hard) else Failure


class FakeTask:
    """A task at a fake adapter, which is the oracle: what it was told is what happened."""

    def __init__(self, number):
        self.name = f"fake {number}"
        self.adapter = FakeAdapter()
        self.adapter.line = 1000 * number
        self.program = PROGRAM

    def arguments(self):
        return {"connect": self.adapter.address}

    def client_process(self, relay, kind):
        return ClientProcess(relay, kind, self.adapter)

    def is_listed(self, pause):
        return str(self.adapter.port) in str(pause)

    def line(self):
        return self.adapter.line

    def stepped(self):
        """Called after each step; the adapter has counted it."""

    def check(self):
        told = {"continue", "disconnect", "terminate", "pause"} & set(self.adapter.commands())
        if told or len(self.adapter.connections) != 1 or self.adapter.connection().ended.is_set():
            raise Violation(f"{self.name}: the pause is lost: {told or len(self.adapter.connections)}")
        if self.adapter.problems:
            raise Violation(f"{self.name}: {self.adapter.problems}")
        # What was checked need not be kept for half an hour.
        del self.adapter.received[:-100]
        del self.adapter.raw[:]

    def close(self):
        self.adapter.close()


class RayTask:
    """A paused task of a real Ray that can be stepped for ever: its loop has three lines."""

    def __init__(self, cluster, name, lines, program):
        self.cluster, self.name, self.lines, self.program, self.at = cluster, name, lines, str(program), 0

    def arguments(self):
        return {"task": self.name}

    def client_process(self, relay, kind):
        return ClientProcess(relay, kind, popen=self.cluster.popen, **self.arguments())

    def is_listed(self, pause):
        return pause.get("task_name") == self.name

    def line(self):
        return self.lines[0] if not self.at else self.lines[1 + (self.at - 1) % (len(self.lines) - 1)]

    def stepped(self):
        self.at += 1

    def check(self):
        if self.cluster.drivers[0].process.poll() is not None:
            raise Violation(f"the driver ended: {self.cluster.driver_output()}")

    def close(self):
        pass


class Soak:
    def __init__(self, start_relay, tasks, seed, quiet_every=20.0, check_rss=True, without=()):
        self.start_relay, self.tasks, self.check_rss = start_relay, tasks, check_rss
        self.random, self.without = random.Random(seed), without
        self.relay = start_relay()
        self.clients = []  # (client, task, role asked for)
        self.counts = collections.Counter()
        self.requests = 0
        self.quiet_every, self.quiet_at = quiet_every, time.monotonic() + quiet_every
        self.quiet = []  # (RSS, descriptors) of this relay's quiet moments
        self.growth, self.compared = 0, 0
        self.number = 0

    # --- the run ---

    ACTIONS = {"join": 24, "look": 40, "step": 40, "burst": 10, "breakpoints": 12, "take_over": 8, "leave": 12, "vanish": 10,
               "kill_client": 3, "stall": 2, "hostile": 6, "http": 8, "kill_relay": 4, "end_relay": 2, "upgrade": 2}
    DEATHS = ("kill_relay", "end_relay", "upgrade")

    def is_calm(self):
        """Three quarters of the time no relay dies, so that its RSS can be compared between its quiet moments."""
        return (time.monotonic() - self.started) % (8 * self.quiet_every) < 6 * self.quiet_every

    def run(self, seconds):
        self.started = time.monotonic()
        end = self.started + seconds
        for task in self.tasks:
            self.join(task)
        names = [name for name in self.ACTIONS if name not in self.without]
        weights = [self.ACTIONS[name] for name in names]
        while time.monotonic() < end:
            name = self.random.choices(names, weights)[0]
            if name in self.DEATHS and self.is_calm():
                continue
            self.act(name)
            if time.monotonic() > self.quiet_at:
                self.be_quiet()
                self.quiet_at = time.monotonic() + self.quiet_every
        self.be_quiet()

    def act(self, name):
        try:
            getattr(self, name)()
            self.counts[name] += 1
            for task in self.tasks:
                task.check()
        except (AssertionError, OSError, KeyError, ValueError) as error:
            number = sum(self.counts.values())
            raise failure_of(error)(f"action {number}, {name}: {type(error).__name__}: {error}") from error

    def pick(self):
        """A client and its task; None if there is nobody."""
        return self.random.choice(self.clients) if self.clients else None

    # --- actions ---

    def join(self, task=None):
        if len(self.clients) >= MAX_CLIENTS:
            return
        task = task or self.random.choice(self.tasks)
        kind = self.random.choice(["tcp", "websocket"])
        wishes = self.random.choice([{}, {}, {"role": "observer"}, {"takeOver": True}])
        self.number += 1
        client = self.relay.client(kind, f"client {self.number}")
        client.initialize(clientID=client.name)
        client.attach({"token": self.relay.token, **task.arguments(), **wishes})
        self.clients.append((client, task, wishes))
        self.expect_stop(client, task)

    def expect_stop(self, client, task):
        thread = client.stopped()["threadId"]
        self.expect_line(client, task, thread)
        client.thread = thread

    def expect_line(self, client, task, thread):
        line = client.stack(thread)[0]["line"]
        if line != task.line():
            raise Violation(f"{task.name}: {client.name} sees line {line}, not {task.line()}\n{client.text(20)}")

    def look(self):
        if picked := self.pick():
            client, task, _ = picked
            self.expect_line(client, task, client.thread)
            frame = client.stack(client.thread)[0]["id"]
            client.locals(frame)
            client.ok("threads")

    def step(self):
        if not (picked := self.pick()):
            return
        client, task, _ = picked
        answer = client.request("next", {"threadId": client.thread})
        if not answer["success"]:
            if "driv" not in answer["message"] and "observ" not in answer["message"]:
                raise Violation(f"a step was refused: {answer}")
            return
        task.stepped()
        for other, its_task, _ in self.clients:
            if its_task is task:
                other.stopped(reason="step")
                self.expect_line(other, task, other.thread)
        self.counts["steps taken"] += 1

    def burst(self):
        """Requests of all clients at once, pipelined."""
        asked = []
        for _ in range(10):
            for client, _, _ in self.clients:
                command, arguments = self.random.choice([
                    ("threads", {}), ("stackTrace", {"threadId": client.thread}), ("nonsense", {}), ("cancel", {}),
                    ("breakpointLocations", {}), ("modules", {}), ("scopes", {"frameId": 10 ** 9})])
                asked.append((client, client.send(command, arguments)))
        for client, seq in asked:
            client.response(seq)

    def breakpoints(self):
        if picked := self.pick():
            client, task, _ = picked
            # Far from where the tasks walk: they must not stop anywhere else.
            wanted = self.random.sample(range(100_000, 100_050), self.random.randrange(5))
            answer = client.set_breakpoints(task.program, wanted)["breakpoints"]
            if len(answer) != len(wanted):
                raise Violation(f"{len(wanted)} breakpoints, {len(answer)} answers")

    def take_over(self):
        if picked := self.pick():
            client, _, _ = picked
            client.ok("raydbg/takeOver")

    def leave(self):
        if picked := self.pick():
            self.clients.remove(picked)
            picked[0].disconnect()
            self.finish(picked[0])

    def vanish(self):
        if picked := self.pick():
            client, task, _ = picked
            self.clients.remove(picked)
            if self.random.random() < 0.5:
                client.send("stackTrace", {"threadId": client.thread})
            client.strict = False
            client.transport.reset()
            self.finish(client)

    def kill_client(self):
        task = self.random.choice(self.tasks)
        task.client_process(self.relay, self.random.choice(["tcp", "websocket"])).kill9()

    def stall(self):
        """An observer that does not read while others work."""
        task = self.random.choice(self.tasks)
        fake = task.adapter
        slow = SlowClient(self.relay, self.random.choice(["tcp", "websocket"]), fake, role="observer")
        for number in range(300):
            fake.connection().event("output", {"category": "stdout", "output": f"{number} " + "x" * 20_000})
        for client, its_task, _ in self.clients:
            if its_task is task:
                wait_until(lambda c=client: any(e["body"]["output"].startswith("299 ") for e in c.events("output")[-400:]),
                           "the flood passes")
                self.forget(client)
        slow.close()

    def hostile(self):
        with contextlib.suppress(OSError), self.relay.connect() as sock:
            sock.sendall(self.random.choice([b"GET /v1/pauses HTTP/1.1\r\n\r\n", b"Content-Length: 7\r\n\r\nnothing",
                                             self.random.randbytes(500), b"\x16\x03\x01\x02\x00\x01"]))

    def http(self):
        pauses = self.relay.pauses()
        for task in self.tasks:
            pause = next((p for p in pauses if task.is_listed(p)), None)
            if not pause or not pause["held"]:
                raise Violation(f"{task.name} is not listed as held: {pause}")
        self.relay.http("GET", "/metrics")

    def kill_relay(self):
        """With requests under way; no step is, so that what is true is known."""
        for client, _, _ in self.clients:
            client.strict = False
            client.send("threads")
        self.relay.kill9()
        self.comes_back(self.relay.restart)

    def end_relay(self):
        if self.relay.terminate():
            raise Violation(f"SIGTERM: exit code {self.relay.process.returncode}: {self.relay.stderr()}")
        self.comes_back(self.relay.restart)

    def upgrade(self):
        def start():
            old = self.relay
            self.relay = self.start_relay("--upgrade", state=old.state, listen=old.addresses)
            self.relay.own_state, old.own_state = old.own_state, False
            if old.wait():
                raise Violation(f"upgrade: the old relay's exit code is {old.process.returncode}: {old.stderr()}")
        self.comes_back(start)

    def comes_back(self, start):
        """Starts the next relay; clients find their connections closed, and come again."""
        before, self.clients = self.clients, []
        start()
        for client, _, _ in before:
            client.wait_end()
            self.finish(client)
        self.quiet = []
        self.http()
        for _, task, _ in before[:4]:
            self.join(task)

    # --- quiet moments ---

    def finish(self, client):
        """Checks one response per request, and forgets the client."""
        if client in self.relay.clients:
            self.relay.clients.remove(client)
        client.close()
        twice = [seq for seq, count in client._answers.items() if count > 1]
        if twice:
            raise Violation(f"{client.name}: answered twice: {twice}")
        self.requests += len(client._requests)
        # What is kept for the report of a failed test would fill the memory in half an hour.
        if client in dap_client.recent_clients:
            dap_client.recent_clients.remove(client)
        client.transcript.clear()
        client._events.clear()

    @staticmethod
    def forget(client):
        """A transcript of half an hour would fill the memory."""
        with client._changed:
            del client.transcript[:-50]
            client._events = [e for e in client._events if e["event"] != "output"]

    def be_quiet(self):
        for client, _, _ in self.clients:
            client.disconnect()
            self.finish(client)
        self.clients.clear()
        wait_until(lambda: not self.relay.sessions(), lambda: f"no session is left: {self.relay.sessions()}")
        time.sleep(0.5)
        now = self.relay.rss(), len(os.listdir(f"/proc/{self.relay.pid}/fd"))
        self.quiet.append(now)
        # The first quiet moment of a relay's life is what the later ones are held against.
        growth = now[0] - self.quiet[0][0]
        self.compared += len(self.quiet) > 1
        self.growth = max(self.growth, growth)
        if now[1] > self.quiet[0][1] + 3:
            raise Violation(f"descriptors leak: {[q[1] for q in self.quiet]}")
        if self.check_rss and growth > GROWTH:
            raise Violation(f"RSS grew by {growth / MIB:.1f} MiB: {[round(q[0] / MIB, 1) for q in self.quiet]}")

    def close(self, check=True):
        try:
            self.relay.close(check)
        finally:
            for task in self.tasks:
                task.close()

    def numbers(self):
        actions = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return (f"{sum(self.counts[name] for name in self.ACTIONS)} actions ({actions}); {self.requests} requests, each "
                f"answered once; RSS between {self.compared} pairs of quiet moments: at most +{self.growth / MIB:.2f} MiB")


def soak_fake(seconds, seed, binary, check_rss=True, without=(), tasks=4):
    """Runs the soak on fake adapters; returns its numbers, or raises Violation or Failure."""
    def start(*arguments, **options):
        return RelayProcess("--allow-connect", *arguments, binary=binary, **options)
    return _run(Soak(start, [FakeTask(n + 1) for n in range(tasks)], seed, max(5.0, seconds / 36), check_rss, without), seconds)


def soak_ray(seconds, seed, binary, without=()):
    """The same on tasks of a real Ray."""
    from cluster import Cluster, Spec, line_of
    program = HERE / "walks.py"
    with Cluster(Spec(), binary) as cluster:
        names = [f"walk_{n}" for n in range(3)]
        cluster.driver(program, *names)
        cluster.wait_paused(len(names))
        lines = [line_of(program, mark) for mark in ("start", "loop", "first", "second", "third")]
        tasks = [RayTask(cluster, name, lines, program) for name in names]

        def start(*arguments, **options):
            def popen(argv, env, stderr):
                return cluster.popen(argv, env=env, stderr=stderr, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            return RelayProcess(*arguments, binary=binary, popen=popen, connect=cluster.connect, address=cluster.head(),
                                **options)
        return _run(Soak(start, tasks, seed, max(5.0, seconds / 36), without=(*without, "stall")), seconds)


def _run(soak, seconds):
    ok = False
    try:
        soak.run(seconds)
        ok = True
    except (Violation, Failure, DapError) as error:
        raise failure_of(error)(f"{error}\nafter {soak.numbers()}") from error
    finally:
        soak.close(check=ok)
    return soak.numbers()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time; it is printed")
    parser.add_argument("--ray", action="store_true", help="on a real two-node Ray")
    parser.add_argument("--without", default="", help=f"leave out these, with commas: {', '.join(Soak.ACTIONS)}")
    parser.add_argument("--asan", action="store_true", help="the sanitized binary; RSS is not checked then")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 30) if options.seed is None else options.seed
    binary = raydbg_path() if options.asan else release_path()
    without = options.without.split(",")
    print(f"soak: seed {seed}, {options.seconds:.0f} s, {binary}", flush=True)
    try:
        if options.ray:
            print(soak_ray(options.seconds, seed, binary, without))
        else:
            print(soak_fake(options.seconds, seed, binary, not options.asan, without))
    except (Violation, Failure) as violation:
        sys.exit(f"VIOLATION (seed {seed}): {violation}")
    print("0 violations")


if __name__ == "__main__":
    main()
