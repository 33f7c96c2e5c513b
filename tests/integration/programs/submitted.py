"""A job for `ray job submit`, with nothing of its own but a namespace: submitted.py N

Prints `RESULT hook NAME`, Ray's runtime_env hook of the driver, then `RESULT namespaces NAME…`, what each of N new workers
has in its runtime context. Lines that tests look for end in a comment of the form `line: name`.
"""

import os
import sys

import ray


@ray.remote(num_cpus=0)
class Worker:
    def namespace(self):
        return ray.get_runtime_context().namespace  # line: worker


def main(count):
    ray.init(namespace="own")
    print("RESULT hook", os.environ.get("RAYDBG_RUNTIME_ENV_HOOK"), flush=True)
    workers = [Worker.remote() for _ in range(count)]
    print("RESULT namespaces", *ray.get([worker.namespace.remote() for worker in workers]), flush=True)
    print("RESULT end", count, flush=True)  # line: driver


if __name__ == "__main__":
    main(int(sys.argv[1]))
