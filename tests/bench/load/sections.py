"""What tools/bench measures, a section each: a function of the settings that gives tables and raw numbers."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import report
from measure import load, rounds
from relays import REFERENCES, ROOT, ManyTargets, Relays, Threads

sys.path[:0] = [str(ROOT / "tests/bench")]

SIZES = {"200": "200 B bodies", "10K": "10 KB bodies", "1M": "1 MB bodies", "20M": "20 MB bodies",
         "refs10K": "10 KB of references bodies", "refs1M": "1 MB of references bodies",
         "new1M": "1 MB, new each time", "newrefs1M": "1 MB of references, new each time"}
RAYDBG = "raydbg transparent", "raydbg full"


@dataclass
class Settings:
    quick: bool = False
    peers: list = field(default_factory=list)
    repetitions: int = 9

    @property
    def seconds(self):
        return 0.3 if self.quick else 0.7

    def sessions(self, wanted):
        """As many as the limit on open files has descriptors for: a target, a listener and two ends each."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 3 - 100
        return min(wanted // (10 if self.quick else 1), most)


@dataclass
class Result:
    """Tables for people, and numbers by what was measured and row."""

    tables: list = field(default_factory=list)
    samples: dict = field(default_factory=dict)

    def add(self, key, title, columns, samples):
        self.tables.append(report.table(title, columns, samples))
        self.samples[key] = samples


def one_client(settings, bodies, names=None, threads=(1, 100)):
    """Each body through each relay, by one client with one request at a time."""
    result = Result()
    with ExitStack() as stack:
        relays = stack.enter_context(Relays(settings.peers))
        rows = [row for row in relays.rows.values() if not names or row.name in names]
        rows += [stack.enter_context(Threads(targets, REFERENCES if targets == 1 else 0)) for targets in threads]
        for body in bodies:
            columns = {"200": report.SMALL, "10K": report.SMALL, "20M": report.LARGE}.get(body, report.BULK)
            seconds = max(1, settings.seconds) if body == "20M" else settings.seconds
            count = min(settings.repetitions, 5) if body == "20M" else settings.repetitions

            def run(row):
                annotates = "refs" in body and row.name in ("raydbg full", "raydbg threads, 1")
                return load(row, "--body", body, "--seconds", seconds, *["--rewritten"] * annotates)

            samples = rounds(count, rows, run, SIZES[body])
            result.add(body, f"{SIZES[body]}, one client, one request at a time", columns, samples)
    return result


def small(settings):
    """200 B and 10 KB: latency and CPU of a message"""
    return one_client(settings, ["200", "10K"])


def bulk(settings):
    """1 MB: throughput"""
    return one_client(settings, ["new1M"])


def annotated(settings):
    """bodies full of references, which raydbg full annotates"""
    return one_client(settings, ["refs10K", "newrefs1M"], compared(settings), threads=(1,))


def large(settings):
    """20 MB: does it stream"""
    return one_client(settings, ["20M"], threads=(1,))


def compared(settings):
    """The rows that say what annotating costs."""
    return ["direct", "haproxy", *RAYDBG, *(peer.partition("=")[0] for peer in settings.peers)]


def many(settings, sessions, run, what, key, title, columns, most, without=()):
    """Many sessions: on the one adapter through each relay, and on a target each through raydbg full."""
    result = Result()
    with Relays(settings.peers) as relays, ManyTargets(sessions) as full:
        rows = [row for row in relays.rows.values() if row.name not in ("raydbg full", *without)]
        samples = rounds(min(settings.repetitions, most), [*rows, full], run, what)
        result.add(key, title, columns, samples)
    return result


def busy(settings):
    """1,000 busy sessions"""
    sessions = settings.sessions(1000)
    return many(settings, sessions,
                lambda row: load(row, "--sessions", sessions, "--seconds", max(1, settings.seconds)),
                f"{sessions} busy sessions", "busy", f"{sessions:,} busy sessions, 200 B bodies", report.MANY, 5)


def idle(settings):
    """5,000 idle sessions, and one that is busy among them"""
    sessions, watched = settings.sessions(5000), 1 if settings.quick else 5
    # A process for each session is another thing: socat is left out.
    return many(settings, sessions,
                lambda row: load(row, "--sessions", sessions, "--busy", 1, "--idle", watched, "--seconds", 0.5),
                f"{sessions} idle sessions", "idle",
                f"{sessions:,} idle sessions, then one of them busy with 200 B bodies", report.QUIET, 3,
                ("direct", "socat"))


def script(name, *arguments):
    """A benchmark on a real Ray, as it stands beside this: its lines."""
    argv = [sys.executable, str(ROOT / "tests/bench" / name), *map(str, arguments)]
    print(f"bench: tests/bench/{name} {' '.join(map(str, arguments))}", file=sys.stderr, flush=True)
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode:
        raise SystemExit(f"bench: tests/bench/{name} failed with {done.returncode}")
    words = [str(word) for word in arguments if "/" not in str(word) and word != "--json"]
    title = " ".join([f"tests/bench/{name}", *words])
    return Result(["\n  ".join([title, *done.stdout.splitlines()])], {title: done.stdout.splitlines()})


def numbers(name, *arguments):
    """Such a benchmark that writes its numbers as well: its lines, and those."""
    with tempfile.NamedTemporaryFile(prefix="raydbg-bench-", suffix=".json") as file:
        result = script(name, *arguments, "--json", file.name)
        result.samples = json.loads(Path(file.name).read_text())
    return result


def step(settings):
    """next, stackTrace, scopes, variables on a real debugpy"""
    return numbers("step", "--rounds", 5 if settings.quick else 60)


def delay(settings):
    """the same from an editor that is 100 ms away, there and back"""
    return numbers("step", "--delay", 100, "--rounds", 3 if settings.quick else 15)


def pdb(settings):
    """a stack in Ray's legacy pdb"""
    return script("pdb", "--rounds", 3 if settings.quick else 30)


def listing(settings):
    """raydbg list against Ray's own commands"""
    return script("list", "--rounds", 2 if settings.quick else 7, "--tasks", 500 if settings.quick else 10000)


def start(settings):
    """the first byte of raydbg list, with a relay and without"""
    return numbers("start", "--rounds", 10 if settings.quick else 200)


def portable(settings):
    """raydbg version and list: the packages' build beside this system's"""
    subprocess.run([ROOT / "tools/portable"], stdout=sys.stderr, check=True)
    return numbers("start", "--portable", "--rounds", 10 if settings.quick else 400)


def memory(settings):
    """raydbg memory against ray memory"""
    return script("memory", "--rounds", 2 if settings.quick else 7)


SECTIONS = {"small": small, "bulk": bulk, "annotated": annotated, "large": large, "busy": busy, "idle": idle,
            "step": step, "delay": delay, "pdb": pdb, "list": listing, "start": start,
            "portable": portable, "memory": memory}
