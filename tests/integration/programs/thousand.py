"""A Ray driver that knows nothing of debuggers and makes many calls at once, with a runtime_env and a setup hook of its own.

    thousand.py COUNT FILE      prints `RESULT task SUM own ran`, then waits until FILE is there, and ends with exit code 7

The line that tests look for ends in `line: task`.
"""

import os
import sys
import time
from pathlib import Path

import ray


def own_hook():
    os.environ["OWN_HOOK"] = "ran"


@ray.remote
def task(n):
    doubled = n * 2  # line: task
    return doubled, os.environ["OWN_VARIABLE"], os.environ["OWN_HOOK"]


def main(count, file):
    ray.init(runtime_env={"env_vars": {"OWN_VARIABLE": "own"}, "worker_process_setup_hook": own_hook})
    numbers, variables, hooks = zip(*ray.get([task.remote(n) for n in range(int(count))]))
    print("RESULT task", sum(numbers), *sorted({*variables}), *sorted({*hooks}), flush=True)
    while not Path(file).exists():
        time.sleep(0.1)
    sys.exit(7)


if __name__ == "__main__":
    main(*sys.argv[1:])
