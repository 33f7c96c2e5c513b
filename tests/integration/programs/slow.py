"""Groups of tasks that are slow, each for a reason of its own, and one that is not, for test_timeline.py: one group after the
other on a node with four CPUs, and then the driver ends."""

import time

import ray

CPUS = 4

ray.init(address="auto", log_to_driver=False)


@ray.remote
def warm():
    time.sleep(1)


@ray.remote
def healthy():
    time.sleep(0.5)


@ray.remote
def tiny(number):
    return number


@ray.remote
def uneven(seconds):
    time.sleep(seconds)


@ray.remote
class One:
    def step(self):
        time.sleep(0.1)


@ray.remote
def one_by_one():
    for _ in range(6):
        ray.get(healthy.options(name="called").remote())


@ray.remote
def all_at_once():
    ray.get([healthy.remote() for _ in range(2 * CPUS)])


ray.get([warm.remote() for _ in range(CPUS)])
ray.get([healthy.remote() for _ in range(4 * CPUS)])
ray.get([tiny.remote(number) for number in range(1000)])
ray.get([uneven.remote(3 if number == 11 else 0.2) for number in range(12)])
one = One.remote()
ray.get([one.step.remote() for _ in range(30)])
ray.get(all_at_once.remote())
ray.get(one_by_one.remote())
time.sleep(2)  # processes report once a second
