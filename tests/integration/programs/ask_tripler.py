"""Asks the application `tripler` of the cluster's Serve twice, once it runs: prints `RESULT value` for each."""

import time

import ray
from ray import serve

ray.init(address="auto", log_to_driver=False)
state = None
while state != "RUNNING":
    time.sleep(0.2)
    application = serve.status().applications.get("tripler")
    if application and application.status != state:
        state = application.status
        print(state, application.message, flush=True)
handle = serve.get_app_handle("tripler")
for n in (1, 2):
    print("RESULT", n, handle.remote(n).result(timeout_s=300), flush=True)
