"""A Ray driver whose task changes its variables at each line.

Prints READY, then one line `RESULT count value`, then DONE.
"""

import os

import ray


@ray.remote
def count():
    total, seen = 0, {"last": None}
    breakpoint()
    for number in range(100):
        total += number
        seen["last"] = [number, total]
    return total


ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address="127.0.0.1", log_to_driver=False)
print("READY", flush=True)
print("RESULT count", ray.get(count.remote()), flush=True)
print("DONE", flush=True)
