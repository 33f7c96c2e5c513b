#!/usr/bin/env python3
"""Prints by how much the time limits of tests are to be multiplied here: 1 on a quiet machine, at most 8. Takes a second.

A slow machine is known by the start of a Python, a busy one by what /proc/pressure/cpu says of the last ten seconds.
"""

import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

PLAIN_START = 0.035  # seconds, on the machine that the limits were chosen on
HIGHEST = 8


def start_time():
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.monotonic() - begin


def pressure():
    """The share of time, in percent, in which something waited for a CPU; 0 where the system does not tell."""
    try:
        return float(re.search(r"some avg10=([\d.]+)", Path("/proc/pressure/cpu").read_text()).group(1))
    except (OSError, AttributeError):
        return 0.0


def patience(start, busy):
    return max(1.0, min(HIGHEST, max(start / PLAIN_START, 1 + busy / 25)))


if __name__ == "__main__":
    print(f"{patience(statistics.median(start_time() for _ in range(7)), pressure()):.1f}")
