"""Trainers that pause in a loop and wait for each other in gangs of four; one of them comes late.

gangs.py COUNT LATE RELEASE: the trainer of rank LATE is alone in its gang, and waits for the file RELEASE.
"""

import asyncio
import math
import sys
import time
from pathlib import Path

import ray

COUNT, LATE, RELEASE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
NODES = (None, "b", "c")
STEPS = 3


@ray.remote(num_cpus=0)
class Gang:
    """All of its members leave a meeting together."""

    def __init__(self, size):
        self.size = size
        self.here = 0
        self.all_here = asyncio.Event()

    async def meet(self):
        self.here += 1
        event = self.all_here
        if self.here == self.size:
            self.here = 0
            self.all_here = asyncio.Event()
            event.set()
        await event.wait()


@ray.remote(num_cpus=0)
class Trainer:
    def __init__(self, rank, gang):
        self.rank = rank
        self.gang = gang

    def train(self):
        rank = self.rank
        for step in range(STEPS):
            breakpoint()  # line: pause
            self.update(rank, step)
        return rank

    def update(self, rank, step):
        if rank == LATE and step == 0:
            self.wait_for_release()
        ray.get(self.gang.meet.remote())
        loss = math.nan if rank == 5 else 1e30 if rank == 2 else 0.6931
        return loss  # line: met

    def wait_for_release(self):
        while not Path(RELEASE).exists():
            time.sleep(0.05)  # line: waits


def fours(sequence):
    return [sequence[at:at + 4] for at in range(0, len(sequence), 4)]


ray.init(address="auto", log_to_driver=False)
ranks = [rank for rank in range(COUNT) if rank != LATE]
members = {LATE: [LATE]} if LATE < COUNT else {}
members |= {chunk[0]: chunk for chunk in fours(ranks)}
gangs = {rank: gang for chunk in members.values() for gang in [Gang.remote(len(chunk))] for rank in chunk}
trainers, running = {}, {}
for four in fours(range(COUNT)):
    for rank in four:
        node = NODES[rank % len(NODES)]
        options = {"resources": {node: 0.001}} if node else {"resources": {"node:__internal_head__": 0.001}}
        trainers[rank] = Trainer.options(**options).remote(rank, gangs[rank])
    # No more at a time, so that other programs on this machine go on while all these processes start.
    ray.get([trainers[rank].__ray_ready__.remote() for rank in four])
    running |= {trainers[rank].train.remote(): rank for rank in four}
while running:
    (done,), _ = ray.wait(list(running))
    print("RESULT", running.pop(done), ray.get(done), flush=True)
