"""Tasks that wait for each other in a circle, and tasks that only look like it; each is called like the thing that it does.

    deadlocks.py [SUFFIX]

Starts all, with SUFFIX behind each name, prints READY, and stays.
"""

import sys
import time

import ray

NODES, NODE_CPUS = 2, 4  # of the test's cluster
SETTLE_S = 4  # a call that comes before its partner has begun is answered, and there is no circle


@ray.remote(num_cpus=0)
class Caller:
    def answer(self):
        return 1

    def call(self, other):
        time.sleep(SETTLE_S)
        return ray.get(other[0].answer.remote())

    def call_and_compute(self, other):
        """Keeps the reference to what is queued behind its partner, and works on."""
        time.sleep(SETTLE_S)
        kept = other[0].answer.remote()
        time.sleep(600)
        return kept

    def call_and_get_another(self, other):
        """Waits, but not for what it has called."""
        time.sleep(SETTLE_S)
        kept = other[0].answer.remote()
        ray.get(sleeper.remote())
        return kept

    def poll(self, other):
        """Looks again and again, and could do something else in between."""
        time.sleep(SETTLE_S)
        kept = other[0].answer.remote()
        while not ray.wait([kept], timeout=0.2)[0]:
            pass


@ray.remote(num_cpus=0)
class Threaded(Caller.__ray_metadata__.modified_class):
    def nap(self):
        time.sleep(600)


@ray.remote(num_cpus=0)
def sleeper():
    time.sleep(600)


@ray.remote(num_cpus=0)
def quick():
    return 1


@ray.remote(num_cpus=NODE_CPUS)
def lends():
    """There is one for each node, with all of its CPUs. Ray lends them on while the task waits in ray.get: to one of the two
    that it waits for. The other waits for CPUs that this task has, too, but would get them back only from the first."""
    time.sleep(SETTLE_S)
    ray.get([borrows.remote(), borrows.remote()])


@ray.remote(num_cpus=NODE_CPUS)
def borrows():
    time.sleep(600)


def pair(kind=Caller, **options):
    one, two = kind.options(**options).remote(), Caller.remote()
    ray.get([one.answer.remote(), two.answer.remote()])
    return one, two


def named(method, name):
    return method.options(name=name)


def start(suffix):
    kept = []

    def partners(name, method, one, two, back="call"):
        """`one` runs the method of this name, `two` calls back."""
        kept.extend([one, two, named(getattr(one, method), name + suffix).remote([two]),
                     named(getattr(two, back), f"partner_of_{name}{suffix}").remote([one])])

    one, two = pair()
    kept.extend([one, two, named(one.call, "call_one" + suffix).remote([two]),
                 named(two.call, "call_two" + suffix).remote([one])])
    partners("calls_and_computes", "call_and_compute", *pair())
    partners("calls_and_gets_another", "call_and_get_another", *pair())
    partners("polls", "poll", *pair())
    one, two = pair(Threaded, max_concurrency=2)
    kept.append(one.nap.remote())
    partners("one_thread_waits", "call", one, two)
    return kept


@ray.remote(num_cpus=0)
def outer(name, resource):
    return ray.get(quick.options(name=name, resources={resource: 4}).remote())


def main(suffix=""):
    ray.init(address="127.0.0.1:6379", _node_ip_address="127.0.0.1", log_to_driver=False, namespace="deadlocks" + suffix)
    kept = start(suffix)
    kept.append(outer.options(name="outer" + suffix, resources={"b": 0.1}).remote("inner" + suffix, "b"))
    kept.extend(lends.options(name="lends_its_cpus" + suffix).remote() for _ in range(NODES))
    print("READY", flush=True)
    time.sleep(3600)
    return kept


if __name__ == "__main__":
    main(*sys.argv[1:])
