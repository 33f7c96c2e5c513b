"""A Ray driver whose job has this runtime_env, in JSON, and runs nothing: job_with_env.py RUNTIME_ENV."""

import json
import sys
import time

import ray

runtime_env = {**json.loads(sys.argv[1]), "config": {"eager_install": False}}
ray.init(address="127.0.0.1:6379", _node_ip_address="127.0.0.1", runtime_env=runtime_env)
print("READY", flush=True)
time.sleep(600)
