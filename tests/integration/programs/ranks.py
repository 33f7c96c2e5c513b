"""A Ray driver that knows nothing of debuggers: three ranks that count at the same time, until the first has counted to 100.

    ranks.py DIRECTORY

A task waits in ray.get() for the first, and another actor has nothing to do meanwhile. Prints `RESULT name value` for each,
and ends with exit code 7. In DIRECTORY, which is empty, each says that it has begun, and the driver that the first has ended.
"""

import pathlib
import sys
import time

import ray


class Rank:
    def count(self, rank, most, directory):
        (directory / str(rank)).touch()
        while len(list(directory.iterdir())) < 4:
            time.sleep(0.01)
        reached = 0
        while reached < most and not (directory / "end").exists():
            reached += 1  # line: count
            time.sleep(0.01)
        return "counted"


@ray.remote(num_cpus=0)
def count(rank, most, directory):
    return Rank().count(rank, most, directory)


@ray.remote(num_cpus=0)
def wait(refs, directory):
    (directory / "waits").touch()
    value = ray.get(refs[0])
    return value + " and got"


@ray.remote(num_cpus=0)
class Idle:
    def work(self, n):
        return n * 2


def main():
    ray.init()
    directory = pathlib.Path(sys.argv[1])
    idle = Idle.remote()
    ray.get(idle.work.remote(1))
    actor = ray.remote(num_cpus=0)(Rank)
    ranks = actor.remote(), actor.options(max_concurrency=2).remote()  # Ray ends an actor whose handle is gone
    first = ranks[0].count.remote(0, 100, directory)
    calls = {"first": first, "waiting": wait.remote([first], directory), "task": count.remote(1, 10**6, directory),
             "threaded": ranks[1].count.remote(2, 10**6, directory)}
    ray.get(first)
    (directory / "end").touch()
    for name, ref in calls.items():
        print("RESULT", name, ray.get(ref), flush=True)
    print("RESULT idle", ray.get(idle.work.remote(3)), flush=True)
    sys.exit(7)


main()
