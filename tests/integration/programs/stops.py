"""A Ray driver that knows nothing of debuggers, with calls that fail, and ranks that count.

    stops.py fails KIND...      makes each kind of call, which raises, and prints `RESULT kind "exception: text"`
    stops.py ranks COUNT STEPS  COUNT actors of ranks 0, 1, … make STEPS steps at once; `RESULT ranks "sum"`

Ends with exit code 7, or as a driver that nobody has caught. Lines that tests look for end in `line: name`.
"""

import os
import sys

import ray


def lose(n):
    lost = n * 3
    raise ValueError(f"lost {lost}")  # line: lose


@ray.remote
def task(n):
    return lose(n)


@ray.remote(num_returns="streaming")
def stream(n):
    yield n
    lose(n)


@ray.remote
def calm(n):
    try:
        lose(n)
    except ValueError:
        return n


@ray.remote
def holds(n):
    kept = ray.put(bytes(8_000_000))
    n += 1  # line: holds
    return n if kept else 0


class Work:
    def step(self, n):
        return lose(n)


@ray.remote
class Asynchronous:
    async def step(self, n):
        return lose(n)


@ray.remote
class Rank:
    def __init__(self):
        self.total = 0

    def step(self, n):
        self.total += n  # line: step
        return self.total

    def where(self):
        return ray.get_runtime_context().get_node_id()


def step_of(actor):
    """Holds the actor for the call: a method of Ray 2.9 does not."""
    return ray.get(actor.step.remote(2))


def call_calm():
    return ray.get(calm.remote(2))  # line: call


CALLS = {
    "task": lambda: ray.get(task.remote(2)),
    "actor": lambda: step_of(ray.remote(Work).remote()),
    "threaded": lambda: step_of(ray.remote(Work).options(max_concurrency=3).remote()),
    "asynchronous": lambda: step_of(Asynchronous.remote()),
    "stream": lambda: [ray.get(one) for one in stream.remote(2)],
    "calm": call_calm,
    "holds": lambda: ray.get(holds.remote(2)),
}


def fails(kinds):
    for kind in kinds:
        if kind == "driver":
            lose(2)
        try:
            print("RESULT", kind, CALLS[kind](), flush=True)
        except ValueError as error:
            print("RESULT", kind, str(error).splitlines()[-1], flush=True)


def ranks(count, steps):
    actors = [Rank.options(runtime_env={"env_vars": {"RANK": str(rank)}}, scheduling_strategy="SPREAD").remote()
              for rank in range(count)]
    nodes = ray.get([actor.where.remote() for actor in actors])
    print("NODES", *nodes, flush=True)
    totals = ray.get([actor.step.remote(1) for _ in range(steps) for actor in actors])
    print("RESULT ranks", sum(totals[-count:]), flush=True)


def main(what, *arguments):
    ray.init(runtime_env={"env_vars": {"OWN_VARIABLE": os.environ.get("OWN", "own")}})
    if what == "ranks":
        ranks(*map(int, arguments))
    else:
        fails(arguments)
    sys.exit(7)


if __name__ == "__main__":
    main(*sys.argv[1:])
