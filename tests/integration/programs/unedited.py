"""A Ray driver that knows nothing of debuggers: no breakpoint(), a runtime_env and a setup hook of its own.

    unedited.py task own_env actor threaded asynchronous process driver

Makes each kind of call twice, one after the other; prints `RESULT name value` for each, and ends with exit code 7.
Lines that tests look for end in a comment of the form `line: name`.
"""

import os
import subprocess
import sys

import ray

FILE = os.path.abspath(__file__)


def own_hook():
    os.environ["OWN_HOOK"] = "ran"


@ray.remote
def task(n):
    doubled = n * 2  # line: task
    return doubled, os.environ["OWN_VARIABLE"], os.environ["OWN_HOOK"]


@ray.remote(runtime_env={"env_vars": {"OWN_VARIABLE": "another"}})
def own_env(n):
    doubled = n * 2  # line: own_env
    return doubled, os.environ["OWN_VARIABLE"], os.environ["OWN_HOOK"]


class Work:
    def step(self, n):
        doubled = n * 2  # line: actor
        return doubled, os.environ["OWN_VARIABLE"], os.environ["OWN_HOOK"]


@ray.remote
class Threaded:
    def step(self, n):
        doubled = n * 2  # line: threaded
        return doubled, os.environ["OWN_VARIABLE"], os.environ["OWN_HOOK"]


@ray.remote
class Asynchronous:
    async def step(self, n):
        doubled = n * 2  # line: asynchronous
        return doubled, os.environ["OWN_VARIABLE"], os.environ["OWN_HOOK"]


def in_process(n):
    doubled = n * 2  # line: process
    return doubled


@ray.remote
def process(n):
    """In a Python process of its own, which knows nothing of Ray."""
    said = subprocess.run([sys.executable, FILE, "--process", str(n)], check=True, stdout=subprocess.PIPE).stdout
    return int(said), os.environ["OWN_VARIABLE"], os.environ["OWN_HOOK"]


def in_driver(n):
    doubled = n * 2  # line: driver
    return doubled, "-", "-"


def calls():
    """The function for each name: what makes the call, and waits for it."""
    def of(actor):
        return lambda n: ray.get(actor.step.remote(n))
    return {
        "task": lambda: lambda n: ray.get(task.remote(n)),
        "own_env": lambda: lambda n: ray.get(own_env.remote(n)),
        "actor": lambda: of(ray.remote(Work).remote()),
        "threaded": lambda: of(Threaded.options(max_concurrency=4).remote()),
        "asynchronous": lambda: of(Asynchronous.remote()),
        "process": lambda: lambda n: ray.get(process.remote(n)),
        "driver": lambda: in_driver,
    }


def main(names):
    if names[0] == "--process":
        print(in_process(int(names[1])))
        return
    variables = {"OWN_VARIABLE": "own"}  # line: early
    ray.init(runtime_env={"env_vars": variables, "worker_process_setup_hook": own_hook})
    made = []  # an actor that nobody has is killed, whatever its debugger was about to say
    for name in names:
        call = calls()[name]()
        made.append(call)
        for n in (1, 2):
            print("RESULT", name, *call(n), flush=True)
    sys.exit(7)


if __name__ == "__main__":
    main(sys.argv[1:])
