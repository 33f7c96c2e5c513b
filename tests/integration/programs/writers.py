"""Writes what `raydbg logs` reads; each function is called like the thing that it does. Prints READY, and stays.

Every output has what is hard to pass on: colours, bytes that are not UTF-8, a line break that is missing at the end.
"""

import os
import sys
import time

import ray

PARTS = {"out": b"out \xff\xfe \033[31mred\033[0m \xc3\xa4\n" + b"x" * 300_000 + b"\nno end", "err": b"err \x80\033]0;t\007\n"}
ATTEMPT = b"attempt %d \xff\033[1m\x00\n"


def write(stream, data):
    with open(stream.fileno(), "wb", closefd=False) as file:
        file.write(data)


@ray.remote(num_cpus=1)
def writes():
    write(sys.stdout, PARTS["out"])
    write(sys.stderr, PARTS["err"])
    return os.getpid()


@ray.remote(num_cpus=1)
def writes_again():
    write(sys.stdout, b"of the other task\n")


@ray.remote(num_cpus=1, max_retries=10)
def tries():
    """The tenth retry succeeds; each attempt says which it is."""
    path = os.environ["RAY_TMPDIR"] + "/tries"
    count = len(open(path).read()) if os.path.exists(path) else 0
    with open(path, "a") as file:
        file.write("x")
    write(sys.stdout, ATTEMPT % count)
    if count < 10:
        os._exit(1)
    return count


@ray.remote(num_cpus=0)
def ticks():
    open(os.environ["RAY_TMPDIR"] + "/ticking", "w").close()
    for i in range(100_000):
        print("tick", i, flush=True)
        time.sleep(0.2)


@ray.remote(num_cpus=0)
def stamped():
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"2020-01-01 00:00:00,000 INFO old\nof the old\n{now},000 INFO new\nof the new", flush=True)


@ray.remote(num_cpus=0, max_retries=0)
def dies():
    print("last word of dies", flush=True)
    time.sleep(3)
    os._exit(3)


@ray.remote(num_cpus=0, max_retries=-1)
def mortal():
    print("a life of the task", flush=True)
    time.sleep(3)
    os._exit(1)


@ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
class Mortal:
    def live(self):
        print("a life of the actor", flush=True)
        time.sleep(3)
        os._exit(1)


@ray.remote(num_cpus=0)
class Writer:
    def say(self, text):
        print(text, flush=True)
        print(text, "err", file=sys.stderr, flush=True)


def main():
    ray.init(address="127.0.0.1:6379", _node_ip_address="127.0.0.1", log_to_driver=False, namespace="writers")
    ray.get(writes.remote())
    ray.get(writes_again.remote())
    time.sleep(2.5)  # workers tell the GCS once a second, and the next one ends its worker
    ray.get(tries.remote())
    writer = Writer.options(name="writer").remote()
    ray.get(writer.say.remote("hello from the actor"))
    ray.get(stamped.remote())
    dead = dies.remote()
    ray.wait([dead])
    actor = Mortal.options(name="mortal_actor").remote()
    lives = [mortal.remote(), actor.live.remote()]
    running = ticks.remote()
    while not os.path.exists(os.environ["RAY_TMPDIR"] + "/ticking"):
        time.sleep(0.2)
    time.sleep(2.5)
    print("READY", flush=True)
    ray.get([running, *lives])


if __name__ == "__main__":
    main()
