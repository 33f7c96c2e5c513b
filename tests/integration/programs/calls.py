"""A Ray driver whose task calls another on the second node: what "step into the remote task" is about.

    calls.py outer plain chain …

Prints READY, then `RESULT name value` for each as it completes, then DONE. Lines that tests look for end in a comment
of the form `line: name`.
"""

import os
import sys

import ray


@ray.remote(resources={"b": 1})
def leaf(x):
    doubled = x * 2  # line: leaf-first
    where = ray.util.get_node_ip_address()  # line: leaf-where
    return doubled, where  # line: leaf-return


@ray.remote(num_cpus=1)
def middle(x):
    value, where = ray.get(leaf.remote(x + 1))  # line: middle-get
    return value, where  # line: middle-after


@ray.remote
def outer(x):
    """Submits on one line and gets on another."""
    breakpoint()  # line: outer-breakpoint
    reference = leaf.remote(x)  # line: outer-submit
    y = x + 1  # line: outer-between
    value, where = ray.get(reference)  # line: outer-get
    return value + y, where  # line: outer-after


@ray.remote
def chain(x):
    """Two calls deep, and back again."""
    breakpoint()  # line: chain-breakpoint
    value, where = ray.get(middle.remote(x))  # line: chain-get
    return value, where  # line: chain-after


@ray.remote
def lonely(x):
    """Calls nothing."""
    breakpoint()  # line: lonely-breakpoint
    return x + 1  # line: lonely-return


@ray.remote
def stops(x):
    """Stops itself while what it has called is looked at."""
    breakpoint()  # line: stops-breakpoint
    reference = leaf.remote(x)  # line: stops-submit
    breakpoint()  # line: stops-second
    return ray.get(reference)  # line: stops-return


def main(wanted):
    ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"),
             _node_ip_address=os.environ.get("NODE_IP", "127.0.0.1"))
    print("READY", flush=True)
    calls = {name: globals()[name].remote(3) for name in wanted}
    for name, call in calls.items():
        print(f"RESULT {name} {ray.get(call)}", flush=True)
    print("DONE", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
