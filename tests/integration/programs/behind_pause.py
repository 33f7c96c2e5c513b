"""A task that is stopped at a breakpoint, and tasks that wait for it, each in its way, with SUFFIX behind their names.

    behind_pause.py [SUFFIX]

Prints READY, and stays.
"""

import sys
import time

import ray


@ray.remote(num_cpus=0, resources={"b": 3})
def stopped():
    breakpoint()  # line: stopped
    return 1


@ray.remote(num_cpus=0)
def gets(refs):
    return ray.get(refs[0])


@ray.remote(num_cpus=0)
def takes(value):
    return value


@ray.remote(num_cpus=0, resources={"b": 2})
def needs_b():
    return 1


@ray.remote(num_cpus=0)
class Waiter:
    def get(self, refs):
        return ray.get(refs[0])

    def behind(self):
        return 1


def main(suffix=""):
    ray.init(address="127.0.0.1:6379", _node_ip_address="127.0.0.1", log_to_driver=False, namespace="behind_pause" + suffix)

    def start(name, function, *arguments):
        return function.options(name=name + suffix).remote(*arguments)
    waiter = Waiter.remote()
    ref = start("stopped", stopped)
    time.sleep(3)
    kept = [start("gets", gets, [ref]), start("takes", takes, ref), start("needs_b", needs_b),
            start("get", waiter.get, [ref]), start("behind", waiter.behind)]
    print("READY", flush=True)
    ray.wait(kept, num_returns=len(kept))
    print("DONE", flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
