"""Tasks that stay where they are, for test_stack.py."""

import asyncio
import sys
import time

import ray

ray.init(address="auto", log_to_driver=False)


@ray.remote(num_cpus=0, max_retries=0)
def burns():
    while True:
        burns_inside()


def burns_inside():
    kept = bytearray(300_000)
    for _ in range(100_000):
        kept[0] ^= 1  # line: burns


if "burns" in sys.argv:  # for profiles, and only as long as those take
    ray.wait([burns.remote() for _ in range(2)], num_returns=2)
    sys.exit()


@ray.remote(num_cpus=0)
def sleeps(seconds):
    in_the_middle(seconds)


def in_the_middle(seconds):
    time.sleep(seconds)  # line: sleeps


@ray.remote(num_cpus=0)
def gets(refs):
    ray.get(refs[0])  # line: gets


@ray.remote(num_cpus=0)
def waits(refs):
    ray.wait(refs)  # line: waits


@ray.remote(num_cpus=0)
def spins():
    while True:
        pass


@ray.remote(num_cpus=0)
def pauses():
    for _ in range(3):  # a client that leaves without a relay lets it go on
        breakpoint()  # line: pauses
    return 1


@ray.remote(num_cpus=0, max_concurrency=3)
class Threads:
    def naps(self):
        time.sleep(3600)  # line: naps

    def blocks(self, refs):
        ray.get(refs[0])  # line: blocks


@ray.remote(num_cpus=0)
class Coroutines:
    async def waits(self):
        await asyncio.sleep(3600)


threads, coroutines = Threads.options(name="threads").remote(), Coroutines.remote()
sleeping = [sleeps.remote(3600) for _ in range(3)]
kept = [sleeping, gets.remote(sleeping[:1]), waits.remote(sleeping), spins.remote(), threads.naps.remote(),
        threads.blocks.remote(sleeping[:1]), coroutines.waits.remote()]
if "pauses" in sys.argv:
    kept.append(pauses.remote())
time.sleep(4)  # workers report once a second
print("READY", flush=True)
ray.get(sleeping)  # line: driver
