"""A Ray driver whose working_dir, this directory, is copied for its workers."""

import os
from pathlib import Path

import ray
from steps import copied

ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address=os.environ.get("NODE_IP", "127.0.0.1"),
         runtime_env={"working_dir": str(Path(__file__).parent)})
print(f"RESULT copied {ray.get(copied.remote(1))}", flush=True)
