"""Tasks that have finished, failed, run and wait, for test_timeline.py; then ray.timeline() into spans.json."""

import os
import time

import ray

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


threads, coroutines = Threads.options(name="threads").remote(), Coroutines.remote()
running = runs_on.remote()
kept = [running, waits_for_ever.remote(), takes.remote(running)]
done = [quick.remote(number) for number in range(20)] + [half_second.remote() for _ in range(6)] + [parent.remote()]
done += [threads.nap.remote() for _ in range(10)] + [coroutines.nap.remote() for _ in range(6)]
done += [fails.remote(), killed.remote(), killed_at_once.remote()]
print("OUTCOMES", [outcome(ref) for ref in done][-3:])
time.sleep(4)  # workers report once a second
ray.timeline(filename="spans.json")
print("READY", flush=True)
time.sleep(3600)
