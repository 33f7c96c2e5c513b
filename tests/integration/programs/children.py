"""A Ray driver whose task starts a Python child process after its breakpoint."""

import os
import subprocess
import sys

import ray


@ray.remote
def parent():
    breakpoint()
    done = subprocess.run([sys.executable, "-c", "print('child')"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address="127.0.0.1")
print("RESULT parent", ray.get(parent.remote()), flush=True)
