"""A Ray driver whose tasks pause at breakpoint() one after the other, as many as its argument says.

Prints one line `RESULT task-N N` or `ERROR task-N type: message` for each.
"""

import os
import sys

import ray


@ray.remote
def task(number):
    breakpoint()
    return number


def main(count):
    ray.init(address=os.environ["RAY_ADDRESS"], _node_ip_address=os.environ.get("NODE_IP", "127.0.0.1"))
    for number in range(count):
        try:
            print(f"RESULT task-{number} {ray.get(task.remote(number))}", flush=True)
        except Exception as error:
            cause = getattr(error, "cause", None) or error
            print(f"ERROR task-{number} {type(cause).__name__}: {cause}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
