"""A Ray Serve deployment, asked twice over its handle: prints `RESULT value` for each. Lines that tests look for are marked."""

import ray
from ray import serve


@serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 0})
class Doubler:
    def __call__(self, n):
        doubled = n * 2  # line: deployment
        return doubled


ray.init()
serve.start(proxy_location="Disabled")
handle = serve.run(Doubler.bind(), route_prefix=None)
for n in (1, 2):
    print("RESULT", handle.remote(n).result(timeout_s=300), flush=True)
serve.shutdown()
