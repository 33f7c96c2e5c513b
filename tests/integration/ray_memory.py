"""`ray memory` as rows, and what Ray's own stubs say: what raydbg is compared with."""

import contextlib
import json
import re
from dataclasses import dataclass

from cluster import PROGRAMS, ClusterError, wait_for
from waits import limit

MB = 10**6


@dataclass(frozen=True, order=True)
class Row:
    """One line of `ray memory`. size is -1 where it says "?"; call_site is "" where it is not recorded."""

    id: str
    ip: str
    pid: int
    type: str
    reference: str
    size: int
    call_site: str
    status: str
    attempt: int


def parse(text):
    """The rows of `ray memory --units B` without a terminal. Old Rays have no column for the attempt."""
    rows = []
    behind = 5 if "| Attempt " in text else 4
    for line in text.splitlines():
        cells = line.split(" | ")
        if len(cells) < 4 + behind or not re.fullmatch("[0-9a-f]{56}", cells[-1].strip()):
            continue
        ip, pid, kind = (cell.strip() for cell in cells[:3])
        status, *attempt, size, reference, ref = (cell.strip() for cell in cells[-behind:])
        site = " | ".join(cells[3:-behind]).rstrip()
        rows.append(Row(ref, ip, int(pid), kind, reference, -1 if size == "?" else int(float(size.removesuffix(" B"))),
                        "" if site == "disabled" else site, "" if status == "-" else status, int(*attempt or [1])))
    return sorted(rows)


def ray_memory(cluster, *arguments):
    done = cluster.run(["ray", "memory", "--address", cluster.head(), *arguments], timeout=limit(90), check=True)
    if "Aggregate object store stats" not in done.stdout:
        raise ClusterError(f"ray memory said:\n{done.stdout}{done.stderr}")
    return done.stdout


def at_the_same_moment(cluster, ask, parsed=parse, arguments=()):
    """What `ray memory` says and what ask() gives at a time at which nothing changed: it is asked before and after."""
    before = parsed(ray_memory(cluster, *arguments))
    for _ in range(10):
        answer = ask()
        after = parsed(ray_memory(cluster, *arguments))
        if before == after:
            return after, answer
        before = after
    raise ClusterError("the cluster's references did not stay the same between two calls of ray memory")


def worker_stats(cluster, pid):
    """See programs/worker_stats.py."""
    done = cluster.python(PROGRAMS / "worker_stats.py", pid, check=True)
    return json.loads(done.stdout)


class Known:
    """What the program objects.py has said: `known.big` is an id, `known.pid` a number as text."""

    def __init__(self, driver, mode, timeout=None):
        driver.wait_for(f"^RESULT ready {mode}$", timeout)
        self._driver = driver

    def __getattr__(self, name):
        return self._driver.result(name)

    def list(self, name):
        return self._driver.result(name).split(",")


def start(cluster, *arguments, paused=True):
    """Starts objects.py in this mode and waits until its task is paused; what it said."""
    driver = cluster.driver("objects.py", *arguments)
    known = Known(driver, arguments[0])
    if paused:
        cluster.wait_paused()
    return known


@contextlib.contextmanager
def mute(cluster, port):
    """Nothing that is sent from this TCP port arrives: whoever connects to it waits for ever."""
    def rules(*changes):
        cluster.run(["sh", "-ec", "; ".join(f"ip rule {change}" for change in changes)], check=True)
    rules(f"add pref 5 ipproto tcp sport {port} blackhole", "add pref 20 lookup local", "del pref 0")
    try:
        yield
    finally:
        rules("add pref 0 lookup local", "del pref 20", "del pref 5")


def wait_dead(cluster, pid):
    wait_for(lambda: not any(w["pid"] == int(pid) for w in cluster.workers("is_alive", "=", "True")), f"{pid} is dead")
