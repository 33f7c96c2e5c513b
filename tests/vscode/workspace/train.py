"""The program that the tests debug: a task, an actor on the second node, and a task that runs on."""
import os
import sys
import time

import numpy as np
import ray


def scaled(values, factor):
    total = 0.0
    for value in values:
        total += value * factor
    return total


@ray.remote
def square(x):
    y = x * x
    arr = np.arange(100_000)
    big = ray.put(np.zeros(1_000_000))
    breakpoint()
    z = y + int(arr.sum())
    total = scaled([1.0, 2.0, 3.0], z)
    return total, big


@ray.remote(resources={"b": 1})
class Trainer:
    def __init__(self, rank, shards):
        self.rank = rank
        self.shards = shards
        self.losses = []

    def step(self, rate):
        loss = 0.6931 * (1 - rate)
        self.losses.append(loss)
        breakpoint()
        return loss


@ray.remote(max_retries=0)
def doomed():
    patience = "none"
    breakpoint()
    return patience


@ray.remote(max_retries=0)
def fails(x):
    breakpoint()
    print("its last words", flush=True)
    return 1 / (x - 3)


@ray.remote(resources={"b": 1})
def remote_part(x):
    doubled = x * 2
    return doubled + 1


@ray.remote
def caller(x):
    breakpoint()
    y = ray.get(remote_part.remote(x))
    z = y + 1
    return z


@ray.remote(num_cpus=0)
class Gang:
    """Each rank goes round on its own; the last one is late in the second round, until train.py.late is there."""

    def __init__(self, rank):
        self.rank = rank

    def run(self):
        for step in range(4):
            loss = float("nan") if self.rank == 2 else 0.6931 - step / 10
            breakpoint()
            total = self.meet(step) + loss
        return total

    def meet(self, step):
        while self.rank == 3 and step == 1 and not os.path.exists(__file__ + ".late"):
            time.sleep(0.1)
        return step * self.rank


def gang():
    ranks = [Gang.options(resources={resource: 0.001}).remote(rank)
             for rank, resource in enumerate(["node:127.0.0.1", "b", "node:127.0.0.1", "b"])]
    return [actor.run.remote() for actor in ranks], ranks


def trainer():
    shards = [ray.put(np.ones(500_000)) for _ in range(3)]
    actor = Trainer.options(name="bob").remote(rank=3, shards=shards)
    return actor.step.remote(0.1), actor


# In this task, and in those that it calls, breakpoint() is Ray's legacy pdb.
LEGACY = {"env_vars": {"RAY_DEBUG": "legacy"}}

CALLS = {"square": lambda: (square.remote(12), None), "trainer": trainer, "doomed": lambda: (doomed.remote(), None),
         "fails": lambda: (fails.remote(3), None),
         "gang": gang, "caller": lambda: (caller.remote(20), None),
         "legacy_caller": lambda: (caller.options(name="legacy_caller", runtime_env=LEGACY).remote(20), None)}


def main(names):
    ray.init(_node_ip_address="127.0.0.1", log_to_driver=False)
    calls = {name: CALLS[name]() for name in names}
    print("READY", flush=True)
    for name, (call, _) in calls.items():
        try:
            print("RESULT", name, str(ray.get(call))[:60], flush=True)
        except ray.exceptions.RayError as error:
            print("ERROR", name, type(error).__name__, flush=True)
    print("DONE", flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1:])
