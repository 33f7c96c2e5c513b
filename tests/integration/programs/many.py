"""A Ray driver with many actors that pause: `many.py COUNT [pool] [late FILE] [loop]`.

COUNT actors of class Trainer with a rank, in turn on the first and on the second node; `pool` is an actor of three
threads; `late` makes one more Trainer, that pauses nowhere by itself, once FILE is there. With `loop` the trainers pause
again and again.
Prints as pauses.py does.
"""

import os
import sys
import time

import ray

NODES = ("node:__internal_head__", "b")


def trainer(rank):
    return Trainer.options(resources={NODES[rank % 2]: 0.001}).remote(rank)


@ray.remote(num_cpus=0)
class Trainer:
    def __init__(self, rank):
        self.rank = rank
        self.steps = 0

    def step(self, count):
        for _ in range(count):
            self.steps += 1  # line: train-step
            breakpoint()  # line: train-breakpoint
        return self.steps  # line: train-return

    def work(self, count):
        for number in range(count):
            self.steps += number  # line: late-loop
            time.sleep(0.01)
        return self.steps  # line: late-return


@ray.remote(num_cpus=0, max_concurrency=3)
class Pool:
    def __init__(self):
        self.entered = 0

    def work(self, number):
        # Ray loses a breakpoint() that another thread calls during the process's first one. That has to import debugpy first.
        while number and breakpoint.__module__ != "ray.util.debugpy":
            time.sleep(0.01)
        mine = number
        breakpoint()  # line: pool-breakpoint
        mine += 100  # line: pool-after
        return mine


def main(count, *more):
    ray.init(address="auto")
    trainers = [trainer(rank) for rank in range(int(count))]
    calls = {f"train-{rank}": trainer.step.remote(20 if "loop" in more else 1)
             for rank, trainer in enumerate(trainers)}
    if "pool" in more:
        pool = Pool.remote()
        calls |= {f"pool-{number}": pool.work.remote(number) for number in range(3)}
    print("READY", flush=True)
    if "late" in more:
        path = more[more.index("late") + 1]
        while not os.path.exists(path):
            time.sleep(0.05)
        trainers.append(trainer(99))
        calls["late"] = trainers[-1].step.remote(1)
    names = {call: name for name, call in calls.items()}
    while names:
        done, _ = ray.wait(list(names))
        name = names.pop(done[0])
        try:
            print("RESULT", name, ray.get(done[0]), flush=True)
        except Exception as error:
            print("ERROR", name, f"{type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
    print("DONE", flush=True)


main(*sys.argv[1:])
