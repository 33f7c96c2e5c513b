"""A Ray driver whose tasks and actors pause at breakpoint(); which ones, its arguments say.

    pauses.py square on_b actor threaded async twice boom walk

Prints READY, then one line `RESULT name value` or `ERROR name type: message` for each call as it completes, then DONE.
Lines that tests look for end in a comment of the form `line: name`.
"""

import asyncio
import builtins
import os
import sys
import time
import weakref

import numpy
import ray


@ray.remote
def square(x):
    y = x * x
    breakpoint()  # line: square-breakpoint
    z = y + 1  # line: square-after
    return z - 1  # line: square-return


@ray.remote(resources={"b": 1})
def on_b(x):
    where = ray.util.get_node_ip_address()
    breakpoint()  # line: on-b-breakpoint
    return f"{x}@{where}"


@ray.remote
class Trainer:
    def __init__(self):
        self.steps = 0

    def step(self, rate):
        loss = 1.0 / (1 + self.steps)
        breakpoint()  # line: trainer-breakpoint
        self.steps += 1  # line: trainer-after
        return self.steps + rate * loss


def wait_turn(rank):
    """Lets rank 0 reach its breakpoint() first.

    Ray loses a breakpoint() that another thread calls during the process's first one: breakpoint is pydevd's then.
    """
    while rank and os.environ.get("RAY_DEBUG") != "legacy" and builtins.breakpoint.__module__ != "ray.util.debugpy":
        time.sleep(0.01)


@ray.remote(max_concurrency=3)
class Pool:
    def work(self, rank):
        label = f"rank {rank}"
        wait_turn(rank)
        breakpoint()  # line: pool-breakpoint
        return label


@ray.remote
class Async:
    async def work(self, rank):
        await asyncio.sleep(0.05)
        breakpoint()  # line: async-breakpoint
        return rank


@ray.remote
def twice(x):
    breakpoint()  # line: twice-first
    x += 1
    x *= 2
    breakpoint()  # line: twice-second
    return x


@ray.remote
def again(count):
    """Waits at the same line again and again."""
    for number in range(count):
        breakpoint()  # line: again-breakpoint
    return number + 1


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __repr__(self):
        return f"Point({self.x}, {self.y})"


def helper(values, scale):
    total = 0
    for i, value in enumerate(values):
        scaled = value * scale  # line: helper-loop
        total += scaled  # line: helper-add
    return total  # line: helper-return


@ray.remote
def walk(count):
    """Locals of every kind, a call to step into, and a loop that runs again and again."""
    number, big = 7, 2**70
    mapping = {"one": 1, "nested": {"two": 2}}
    items = list(range(count))
    point = Point(3, 4)
    array = numpy.arange(1000, dtype=numpy.int64)
    reference = ray.put(numpy.zeros(1_000_000, dtype=numpy.uint8))
    text = "h\u00e9llo \U0001f600"
    breakpoint()  # line: walk-breakpoint
    first = helper(items, 2)  # line: walk-call
    second = helper(items, 3)  # line: walk-second-call
    return first + second + number  # line: walk-return


def inner(n):
    raise KeyError(f"bad {n}")  # line: boom-cause


def middle(n):
    value = n + 1
    try:
        inner(value)
    except KeyError as error:
        raise ValueError(f"boom {value}") from error  # line: boom-raise


@ray.remote(max_retries=0, runtime_env={"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}})
def boom(n):
    tag = "outer"
    middle(n)  # line: boom-call
    return tag


@ray.remote
def spin(seconds):
    """Runs on by itself, for pause requests and breakpoints set later; stops once at its start."""
    turns = 0
    breakpoint()  # line: spin-breakpoint
    end = time.time() + seconds
    while time.time() < end:
        turns += 1  # line: spin-loop
        time.sleep(0.01)
    return turns > 0


class Dropped:
    pass


class Endless:
    def __repr__(self):
        while True:
            pass


@ray.remote
def looked():
    """What a look must not disturb: an object's end, a fork, and the variables beside one that cannot be shown."""
    dropped, endless, plain = Dropped(), Endless(), 7
    watch = weakref.ref(dropped)
    breakpoint()  # line: looked-breakpoint
    dropped = None
    child = os.fork()
    if not child:
        os._exit(plain)
    code = os.WEXITSTATUS(os.waitpid(child, 0)[1])  # line: looked-wait
    return f"{watch() is not None} {code} {dropped} {type(endless).__name__}"


def start_actor():
    trainer = Trainer.options(name="bob").remote()
    return {"actor": trainer.step.remote(0.5)}, trainer


def start_threaded():
    pool = Pool.options(name="pool").remote()
    return {f"threaded-{rank}": pool.work.remote(rank) for rank in range(3)}, pool


def start_async():
    actor = Async.options(name="async").remote()
    return {f"async-{rank}": actor.work.remote(rank) for rank in range(3)}, actor


# Each returns its calls by name, and what has to be kept alive for them.
STARTS = {
    "square": lambda: ({"square": square.remote(3)}, None),
    "on_b": lambda: ({"on_b": on_b.remote(5)}, None),
    "actor": start_actor,
    "threaded": start_threaded,
    "async": start_async,
    "twice": lambda: ({"twice": twice.remote(1)}, None),
    "walk": lambda: ({"walk": walk.remote(10)}, None),
    "boom": lambda: ({"boom": boom.remote(1)}, None),
    "looked": lambda: ({"looked": looked.remote()}, None),
    "spin": lambda: ({"spin": spin.remote(600)}, None),
    "again": lambda: ({"again": again.remote(int(os.environ["AGAIN"]))}, None),
}


def report(name, call):
    try:
        print(f"RESULT {name} {ray.get(call)}", flush=True)
    except Exception as error:
        cause = getattr(error, "cause", None) or error
        print(f"ERROR {name} {type(cause).__name__}: {str(cause).splitlines()[0]}", flush=True)


def main(wanted):
    ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address=os.environ.get("NODE_IP", "127.0.0.1"))
    print("READY", flush=True)
    calls, kept = {}, []
    for name in wanted:
        started, keep = STARTS[name]()
        calls.update(started)
        kept.append(keep)
    names = {call: name for name, call in calls.items()}
    waiting = list(names)
    while waiting:
        done, waiting = ray.wait(waiting)
        report(names[done[0]], done[0])
    print("DONE", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
