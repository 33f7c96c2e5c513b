"""Actors that stop with many references in their variables and then have many lines to step over, one for each name."""

import os
import sys

import numpy
import ray


@ray.remote
class Holder:
    def run(self, count):
        refs = [ray.put(i) for i in range(count)]
        few = refs[:12]
        big = ray.put(numpy.zeros(1_000_000))
        first, last, by_name = refs[0], refs[-1], {str(i): ref for i, ref in enumerate(few)}
        total, items, text = 0, list(range(50)), "text"
        breakpoint()
        for i in range(1_000_000):
            total += i
            total -= len(items)
            total ^= len(text)
        return total, big, first, last, by_name


ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address="127.0.0.1", log_to_driver=False)
actors = [Holder.options(name=name, num_cpus=1).remote() for name in sys.argv[2:]]
ray.get([actor.run.remote(int(sys.argv[1])) for actor in actors])
