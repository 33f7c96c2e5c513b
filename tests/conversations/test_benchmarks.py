"""The benchmarks that no section of tools/bench runs, each with little to measure: they build, and come to their end.

That of a large cluster is in test_large_cluster.py.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from waits import limit

BENCH = Path(__file__).resolve().parent.parent / "bench"


@pytest.mark.parametrize("line, last", [
    ("annotate --rounds 2", "strings"),
    ("idle --sessions 20", "20 sessions on 1 tasks"),
    ("many --tasks 10 --rounds 1", "variables, 1 MB"),
])
def test_a_benchmark_comes_to_its_end(line, last):
    name, *arguments = line.split()
    done = subprocess.run([sys.executable, BENCH / name, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=limit())
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1].strip().startswith(last), done.stdout
