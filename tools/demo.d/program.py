"""The demo's Ray program: a task, an actor on a second node, and a task that fails, all of which stop."""

import sys

import numpy as np
import ray


@ray.remote
def square(x):
    y = x * x
    arr = np.arange(100_000)
    big = ray.put(np.zeros(1_000_000))
    breakpoint()
    z = y + int(arr.sum())
    return z, big


@ray.remote(resources={"second": 1})
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


def parse(row):
    name, value = row.split("=")
    return name, float(value)


@ray.remote(max_retries=0, runtime_env={"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}})
def load(rows):
    table = {}
    for row in rows:
        name, value = parse(row)
        table[name] = value
    return table


def main(address):
    ray.init(address=address, _node_ip_address="127.0.0.1", log_to_driver=False)
    shards = [ray.put(np.ones(500_000)) for _ in range(3)]
    trainer = Trainer.remote(rank=3, shards=shards)
    calls = {"square": square.remote(12), "Trainer.step": trainer.step.remote(0.1),
             "load": load.remote(["a=1", "b=two"])}
    for name, call in calls.items():
        try:
            print(name, "->", str(ray.get(call))[:60], flush=True)
        except ray.exceptions.RayTaskError as error:
            print(name, "failed:", repr(error.cause), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
