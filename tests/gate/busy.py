"""Busy loops: processes that take all the CPU time that they are given."""

import contextlib
import os
import subprocess
import sys

A_CORE = 2
# It ends with the process that started it, also when that is killed.
LOOP = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(100_000):
        pass
"""


def loop_count():
    return A_CORE * len(os.sched_getaffinity(0))


@contextlib.contextmanager
def busy(count):
    """Runs `count` busy loops, each in a session of its own: Linux can share the CPU out by sessions."""
    loops = []
    try:
        for _ in range(count):
            loops.append(subprocess.Popen([sys.executable, "-S", "-c", LOOP, str(os.getpid())], start_new_session=True))
        yield loops
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()
