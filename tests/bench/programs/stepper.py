"""Actors that stop and then have many lines to step over; one for each way of debugging them."""

import os
import sys

import ray


@ray.remote
class Stepper:
    def run(self, name):
        total, items = 0, list(range(50))
        mapping = {str(i): i for i in range(20)}
        breakpoint()
        for i in range(1_000_000):
            total += i
            total -= len(mapping)
            total ^= len(items)
        return total


ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address="127.0.0.1", log_to_driver=False)
actors = [Stepper.options(name=name, num_cpus=1).remote() for name in sys.argv[1:]]
ray.get([actor.run.remote(name) for actor, name in zip(actors, sys.argv[1:])])
