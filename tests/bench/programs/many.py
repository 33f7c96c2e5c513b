"""Runs many short tasks to their end, so that the GCS has their events."""

import os
import sys

import ray


@ray.remote
def nothing(i):
    return i


ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address="127.0.0.1", log_to_driver=False)
left = int(sys.argv[1])
while left:
    size = min(left, 1000)
    ray.get([nothing.remote(i) for i in range(size)])
    left -= size
print("FINISHED", flush=True)
