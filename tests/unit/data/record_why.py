#!/usr/bin/env python3
"""Writes ray-<version>-why-*.{bin,err}: what a real two-node Ray tells of the failures of tests/integration/programs/failures.py.

    record_why.py [RAY]

The ids and times in it differ from run to run: the tests look things up by name.
"""

import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent.parent
sys.path[:0] = [str(TESTS / name) for name in ("support", "integration")]

from cluster import PROGRAMS, Cluster, Spec  # noqa: E402

WAITING = ("wait_holder", "wait_lock", "wait_actors", "wait_infeasible", "wait_argument", "wait_get", "wait_queue", "wait_python", "wait_group")
LAST_WORDS = ("segv", "abort", "kill9_later")


def main(ray="2.60.0"):
    spec = Spec() if ray == "2.60.0" else Spec(python="3.11", ray=ray, debugpy="1.8.0")
    with Cluster(spec) as cluster:
        cluster.driver("failures.py").wait_for("^DONE", 600)
        cluster.driver("failures.py", *WAITING).wait_for("^DONE", 120)
        time.sleep(10)  # workers tell the GCS once a second, raylets what waits every few seconds
        cluster.python(PROGRAMS / "record_why.py", HERE, f"ray-{ray}-why", timeout=120, check=True)
        for name in LAST_WORDS if ray == "2.60.0" else ():
            [log] = [path for path in cluster.directory.glob("session_2*/logs/worker-*.err")
                     if f":task_name:{name}\n" in path.read_text(errors="replace")]
            (HERE / f"ray-{ray}-why-{name}.err").write_bytes(log.read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
