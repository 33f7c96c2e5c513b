"""What docs/why.md, stack.md and profile.md ask about: a task that has crashed, one that was tried three times, a deadlock, and
what uses the CPU or sleeps. Prints READY, and stays."""

import ctypes
import os
import time
from pathlib import Path

import ray

TRIES = Path(os.environ["TRIES"])  # a file that grows with each attempt
ray.init(log_to_driver=False)


def reported():
    """Waits until this worker has told the GCS what it runs; it does so once a second."""
    time.sleep(2.5)


@ray.remote(num_cpus=0, max_retries=0)
def load():
    print("reading the data", flush=True)
    reported()
    ctypes.string_at(0)


@ray.remote(num_cpus=0, max_retries=2)
def square(x):
    with TRIES.open("a") as tries:
        tries.write("x")
    print("attempt", TRIES.stat().st_size, flush=True)
    reported()
    if TRIES.stat().st_size < 3:
        os._exit(1)
    return x * x


@ray.remote(num_cpus=0)
class Caller:
    def call(self, others):
        time.sleep(1)  # both have begun
        return ray.get(others[0].answer.remote())

    def answer(self):
        return 1


@ray.remote(num_cpus=0, max_retries=0)
def train_step():
    """Uses a fifth of a CPU."""
    while True:
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            pass
        time.sleep(0.04)


@ray.remote(num_cpus=0)
def sleeps():
    time.sleep(3600)


one, two = Caller.remote(), Caller.remote()
kept = [one.call.options(name="call_one").remote([two]), two.call.options(name="call_two").remote([one]), train_step.remote(),
        sleeps.remote()]
ended = [load.remote(), square.remote(3)]
ray.wait(ended, num_returns=2)
time.sleep(2)  # Ray tells of what has ended once a second
print("READY", flush=True)
time.sleep(3600)
