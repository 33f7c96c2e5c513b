"""A Ray program without a breakpoint(): tools/demo stops its task at a line."""

import sys

import ray


@ray.remote
def cube(x):
    square = x * x
    result = square * x
    return result


ray.init(address=sys.argv[1], _node_ip_address="127.0.0.1", log_to_driver=False)
print("cubes:", ray.get([cube.remote(3)]), flush=True)
