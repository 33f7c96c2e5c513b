"""A Ray driver that stops itself (driver), or that has a task stop in a thread which outlives its call: the
call ends when the thread goes on (thread), or at once (late).

Prints READY, then `RESULT name value`, then DONE. Lines that tests look for end in a comment of the form `line: name`.
"""

import sys
import threading
import time

import ray


@ray.remote
def slow():
    time.sleep(4)
    return 7


def train(results, begun):
    label = "before"
    breakpoint()  # line: thread-breakpoint
    begun.set()
    time.sleep(4)
    label = "after"  # line: thread-after
    results.append(label)


results = []


@ray.remote
def begin(late):
    begun = threading.Event()
    threading.Thread(target=train, args=(results, begun)).start()
    return late or begun.wait()


def drive():
    breakpoint()  # line: driver-breakpoint
    value = ray.get(slow.remote())
    return value + 1  # line: driver-return


if __name__ == "__main__":
    ray.init(address="auto")
    print("READY", flush=True)
    if "driver" in sys.argv:
        print("RESULT driver", drive(), flush=True)
    if "driver" not in sys.argv:
        print("RESULT begin", ray.get(begin.remote("late" in sys.argv)), flush=True)
        time.sleep(600)  # the worker lives as long as its job
    print("DONE", flush=True)
