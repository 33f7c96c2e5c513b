"""Tasks that have finished, failed, run and wait, for test_timeline.py; then ray.timeline() into spans.json."""

import os
import time
from collections import Counter

import ray
from ray.util.state import list_tasks

ray.init(address="auto", log_to_driver=False)


@ray.remote
def quick(number):
    return number


@ray.remote
def half_second():
    time.sleep(0.5)


@ray.remote
def parent():
    return sum(ray.get([quick.remote(number) for number in range(5)]))


@ray.remote(max_retries=2, retry_exceptions=True)
def fails():
    time.sleep(0.1)
    raise ValueError("as planned")


@ray.remote(max_retries=0)
def killed():
    time.sleep(2.5)  # Ray is told of its start
    os.kill(os.getpid(), 9)


@ray.remote(max_retries=0)
def killed_at_once():
    os.kill(os.getpid(), 9)


@ray.remote(num_cpus=0)
def runs_on():
    time.sleep(3600)


@ray.remote(resources={"nowhere": 1})
def waits_for_ever():
    pass


@ray.remote(num_cpus=0)
def takes(argument):
    return argument


@ray.remote(num_cpus=0, max_concurrency=4)
class Threads:
    def nap(self):
        time.sleep(0.3)


@ray.remote(num_cpus=0)
class Coroutines:
    async def nap(self):
        import asyncio
        await asyncio.sleep(0.3)


def outcome(ref):
    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        return type(error).__name__


CALLS = {"quick": 25, "half_second": 6, "parent": 1, "Threads.nap": 10, "Coroutines.nap": 6}


def reported():
    """Whether Ray has been told of all these calls."""
    ended = Counter(task.name for task in list_tasks(detail=True, limit=1000)
                    if task.creation_time_ms and task.start_time_ms and task.end_time_ms)
    profiled = Counter(event["cat"] for event in ray.timeline())
    return all(ended[name] >= count <= profiled[f"task::{name}"] for name, count in CALLS.items())


threads, coroutines = Threads.options(name="threads").remote(), Coroutines.remote()
running = runs_on.remote()
kept = [running, waits_for_ever.remote(), takes.remote(running)]
done = [quick.remote(number) for number in range(20)] + [half_second.remote() for _ in range(6)] + [parent.remote()]
done += [threads.nap.remote() for _ in range(10)] + [coroutines.nap.remote() for _ in range(6)]
done += [fails.remote()]
outcomes = [outcome(ref) for ref in done]
while not reported():  # what is killed takes with it what its process has not told of the calls before
    time.sleep(0.2)
outcomes += [outcome(task.remote()) for task in (killed, killed_at_once)]
print("OUTCOMES", outcomes[-3:])
time.sleep(4)  # workers report once a second
ray.timeline(filename="spans.json")
print("READY", flush=True)
time.sleep(3600)
