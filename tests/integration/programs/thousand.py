"""A Ray driver that knows nothing of debuggers and makes many calls at once.

    thousand.py COUNT FILE      prints `RESULT task "sum"`, then waits until FILE is there, and ends with exit code 7

The line that tests look for ends in `line: task`.
"""

import sys
import time
from pathlib import Path

import ray


@ray.remote(num_cpus=0.5)
def task(n):
    doubled = n * 2  # line: task
    return doubled


def main(count, file):
    ray.init()
    print("RESULT task", sum(ray.get([task.remote(n) for n in range(int(count))])), flush=True)
    while not Path(file).exists():
        time.sleep(0.1)
    sys.exit(7)


if __name__ == "__main__":
    main(*sys.argv[1:])
