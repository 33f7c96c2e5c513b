"""Fails, waits and dies in each way that `raydbg why` names; each function is called like the thing that it does.

    failures.py [NAME]...

Runs the scenarios of these names, one after the other, or without a name all that die, three at a time; prints `ERROR name
type: first line` or `RESULT name value` for each, then `DONE`, and stays until it is ended.
"""

import ctypes
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import ray

MEBIBYTE = 1 << 20


KEPT = []


def keep(*things):
    KEPT.extend(things)
    return "kept"


def remote(function=None, **options):
    options = {"max_retries": 0, "num_cpus": 1, **options}
    return ray.remote(**options)(function) if function else lambda f: ray.remote(**options)(f)


def reported():
    """Waits until this worker has told the GCS what it runs; it does so once a second."""
    time.sleep(2.5)


# --- tasks that die ---

@remote
def raise_value():
    raise ValueError("bad 3")


@remote
def child_of_failed(value):
    return value


@remote
def kill9_at_once():
    print("out from kill9", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@remote
def kill9_later():
    print("out from kill9_later", flush=True)
    print("err from kill9_later", file=sys.stderr, flush=True)
    reported()
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@remote
def segv():
    print("out from segv", flush=True)
    reported()
    ctypes.string_at(0)


@remote
def abort():
    reported()
    os.abort()


@remote
def corrupts_the_heap():
    reported()
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    memory = ctypes.c_void_p(libc.malloc(64))
    libc.free(memory)
    libc.free(memory)


@remote
def raw_exit_1():
    reported()
    os._exit(1)


@remote
def raw_exit_137():
    reported()
    os._exit(137)


@remote
def sigterm():
    reported()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


@remote
def exit_1():
    reported()
    sys.exit(1)


@remote
def exit_0():
    reported()
    sys.exit(0)


@remote(runtime_env={"env_vars": {"OF_ITS": "own"}})  # in a process of its own: another task might kill it before it tells
def keyboard_interrupt():
    raise KeyboardInterrupt


@remote
def cancelled():
    while True:
        pass


@remote
def cancelled_by_force():
    time.sleep(3600)


@remote(max_retries=2)
def dies_thrice():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@remote
def out_of_memory():
    """Where the memory monitor's threshold is below what the node uses anyway, it kills this."""
    time.sleep(3600)


def out_of_memory_again():
    """Is killed as soon as it runs, for ever."""
    return keep(out_of_memory.options(name="killed_again", max_retries=3).remote())


@ray.remote(num_cpus=0, max_restarts=0)
class Hoarder:
    def rest(self):
        time.sleep(3600)


def out_of_memory_actor():
    """An actor that the memory monitor kills."""
    hoarder = Hoarder.options(name="hoarder").remote()
    keep(hoarder)
    return ray.get(hoarder.rest.remote())


@remote(num_cpus=0)
def finishes():
    return 1


def many_others():
    """More tasks than a small table of Ray's has room for."""
    return len(ray.get([finishes.options(name=f"other_{number}").remote() for number in range(60)]))


# --- actors that die ---

@ray.remote(num_cpus=0)
class Actor:
    def pid(self):
        return os.getpid()

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)

    def segv(self):
        reported()
        ctypes.string_at(0)

    def exit_1(self):
        sys.exit(1)

    def leave(self):
        ray.actor.exit_actor()

    def ping(self):
        return "pong"

    def put(self):
        return [ray.put(b"x" * MEBIBYTE)]


@ray.remote(num_cpus=0)
class RaisesInInit:
    def __init__(self):
        raise RuntimeError("no weights at /nonexistent")

    def ping(self):
        return "pong"


@ray.remote(num_cpus=0)
class DiesInInit:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def ping(self):
        return "pong"


@ray.remote(num_cpus=0)
class Parent:
    """Owns an actor, which dies with it."""

    def adopt(self):
        self.child = Actor.options(name="orphan").remote()
        ray.get(self.child.ping.remote())
        return [self.child]

    def pid(self):
        return os.getpid()


def actor(name, **options):
    made = Actor.options(name=name, **options).remote()
    ray.get(made.ping.remote())
    return made


def actor_killed():
    made = actor("killed_actor")
    return ray.get(made.die.remote())


def actor_segv():
    made = actor("segv_actor")
    return ray.get(made.segv.remote())


def actor_exit_1():
    made = actor("exiting_actor")
    return ray.get(made.exit_1.remote())


def actor_left():
    made = actor("leaving_actor")
    made.leave.remote()
    time.sleep(1)
    return ray.get(made.ping.remote())


def actor_ray_kill():
    made = actor("ray_killed_actor")
    ray.kill(made)
    return ray.get(made.ping.remote())


def actor_out_of_scope():
    actor("dropped_actor")
    return "dropped"


def actor_init_raises():
    made = RaisesInInit.options(name="init_raises").remote()
    return ray.get(made.ping.remote())


def actor_init_dies():
    made = DiesInInit.options(name="init_dies").remote()
    return ray.get(made.ping.remote())


def actor_restarts():
    made = actor("restarted_actor", max_restarts=1)
    try:
        ray.get(made.die.remote())
    except ray.exceptions.RayError as error:
        print("first:", type(error).__name__, flush=True)
    while True:
        try:
            ray.get(made.ping.remote())
            break
        except ray.exceptions.RayError:
            time.sleep(0.2)
    return ray.get(made.die.remote())


def actor_owner_died():
    parent = Parent.options(name="dead_parent").remote()
    [child] = ray.get(parent.adopt.remote())
    ray.kill(parent)
    time.sleep(2)
    return ray.get(child.ping.remote())


# --- environments ---

@remote(runtime_env={"working_dir": "file:///nonexistent/code.zip"})
def bad_working_dir():
    return 1


def actor_bad_env():
    made = Actor.options(name="bad_env_actor", runtime_env={"working_dir": "file:///nonexistent/code.zip"}).remote()
    return ray.get(made.ping.remote())


# --- objects ---

def owner_died():
    owner = actor("owning_actor")
    [ref] = ray.get(owner.put.remote())
    print("OBJECT owner_died", ref.hex(), flush=True)
    ray.kill(owner)
    time.sleep(2)
    return ray.get(ref, timeout=60)


@remote(resources={"b": 0.1})
def made_on_b():
    return b"y" * MEBIBYTE


@remote(resources={"b": 0.1}, max_retries=3)
def made_again_on_b():
    return b"z" * MEBIBYTE


@remote
def consumes(value):
    return len(value)


@ray.remote(resources={"b": 0.1})
class OnB:
    def ping(self):
        return 1


def lost_objects():
    """Objects and an actor on a node that the test ends; then a task needs one of the objects."""
    once, again = made_on_b.remote(), made_again_on_b.remote()
    on_b_actor = OnB.options(name="on_b_actor").remote()
    ray.wait([once, again], num_returns=2, fetch_local=False)
    ray.get(on_b_actor.ping.remote())
    print("OBJECT once", once.hex(), flush=True)
    print("OBJECT again", again.hex(), flush=True)

    def consume():
        while sum(node["Alive"] for node in ray.nodes()) > 1:
            time.sleep(0.5)
        keep(consumes.options(name="consumes_again").remote(again))
        run("consumes", lambda: ray.get(consumes.remote(once)))

    threading.Thread(target=consume, daemon=True).start()
    return keep(once, again, on_b_actor)


def to_a_dead_node():
    strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    return ray.get(raise_value.options(name="to_a_dead_node",
                                       scheduling_strategy=strategy("f" * 54 + "00", soft=False)).remote())


def failed_argument():
    return ray.get(child_of_failed.remote(raise_value.options(name="failed_parent").remote()))


def soft_cancel():
    ref = cancelled.remote()
    time.sleep(3)
    ray.cancel(ref)
    return ray.get(ref)


def force_cancel():
    ref = cancelled_by_force.remote()
    time.sleep(3)
    ray.cancel(ref, force=True)
    return ray.get(ref)


TASKS = (raise_value, kill9_at_once, kill9_later, segv, abort, corrupts_the_heap, raw_exit_1, raw_exit_137, sigterm, exit_1,
         exit_0, keyboard_interrupt, dies_thrice, bad_working_dir)
OTHERS = (failed_argument, soft_cancel, force_cancel, actor_killed, actor_segv, actor_exit_1, actor_left, actor_ray_kill,
          actor_out_of_scope, actor_init_raises, actor_init_dies, actor_restarts, actor_owner_died, actor_bad_env, owner_died,
          to_a_dead_node, lost_objects)


# --- what waits, or is made for a test ---

@remote(resources={"b": 1})
def on_b(seconds):
    time.sleep(seconds)
    return ray.put(b"y" * MEBIBYTE)


@remote(resources={"b": 3.5})
def holder():
    time.sleep(3600)


@remote(resources={"b": 1})
def waits_for_b():
    return 1


@remote(resources={"gpu_x": 1})
def infeasible():
    return 1


@remote(num_cpus=1)
def waits_for_argument(value):
    return value


@remote(num_cpus=0)
def slow_producer():
    time.sleep(3600)


@remote(num_cpus=0)
def waits_in_get(refs):
    return ray.get(refs[0])


@remote(num_cpus=0, runtime_env={"py_executable": "/nonexistent/python"})
def no_python():
    return 1


@ray.remote(num_cpus=0)
class Serial:
    def slow(self):
        time.sleep(3600)

    def behind(self):
        return 1


@ray.remote(resources={"gpu_x": 1})
class InfeasibleActor:
    def ping(self):
        return 1


def wait_holder():
    keep(holder.remote())
    time.sleep(3)
    return keep(*[waits_for_b.remote() for _ in range(3)])


def wait_infeasible():
    return keep(infeasible.remote(), InfeasibleActor.options(name="infeasible_actor").remote())


def wait_argument():
    return keep(waits_for_argument.remote(slow_producer.remote()))


def wait_get():
    return keep(waits_in_get.remote([slow_producer.remote()]))


@remote(num_cpus=0)
def sleeps_on(begun):
    open(begun, "w").close()
    time.sleep(3600)


def wait_cancelled():
    """ray.cancel does not wake a thread that sleeps; a task that has not begun would be cancelled."""
    with tempfile.TemporaryDirectory(prefix="sleeps-on-") as directory:
        begun = os.path.join(directory, "begun")
        ref = sleeps_on.remote(begun)
        while not os.path.exists(begun):
            time.sleep(0.1)
    time.sleep(1)
    ray.cancel(ref)
    return keep(ref)


def wait_queue():
    serial = Serial.options(name="serial").remote()
    return keep(serial, serial.slow.remote(), serial.behind.remote())


@remote(num_cpus=0)
def paused():
    breakpoint()


def wait_breakpoint():
    return keep(paused.remote())


def wait_python():
    return keep(no_python.remote())


def wait_group():
    group = ray.util.placement_group([{"CPU": 100}], name="too_big")
    return keep(group, waits_for_argument.options(
        name="in_group",
        scheduling_strategy=ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(group)).remote(1))


@ray.remote(num_cpus=0)
class Caller:
    def call(self, other):
        return ray.get(other[0].answer.remote())

    def answer(self):
        return 1


@remote(resources={"b": 0.3}, num_cpus=0)
def outer():
    return ray.get(inner.remote())


@remote(resources={"b": 0.3}, num_cpus=0)
def inner():
    return 1


def wait_actors():
    """Two actors that call each other, each of which runs one call at a time."""
    one, two = Caller.options(name="caller_one").remote(), Caller.options(name="caller_two").remote()
    ray.get([one.answer.remote(), two.answer.remote()])
    first = one.call.options(name="call_one").remote([two])
    second = two.call.options(name="call_two").remote([one])
    return keep(one, two, first, second)


def wait_lock():
    """With wait_holder: a task that holds of a resource what is left, and waits for one that needs as much."""
    return keep(outer.remote())


@remote(num_cpus=0, max_retries=5)
def dies_once(directory):
    """Runs on at its second attempt."""
    if os.path.exists(f"{directory}/died"):
        time.sleep(3600)
    open(f"{directory}/died", "w").close()
    reported()
    os.kill(os.getpid(), signal.SIGKILL)


def wait_retry():
    return keep(dies_once.remote(tempfile.mkdtemp()))


def wait_restart():
    """An actor that lives again."""
    made = actor("lives_again", max_restarts=-1)
    try:
        ray.get(made.die.remote())
    except ray.exceptions.RayError:
        pass
    while True:
        try:
            return keep(made, ray.get(made.ping.remote()))
        except ray.exceptions.RayError:
            time.sleep(0.2)


def wait_full_group():
    """A task and an actor in a placement group whose only bundle another task has, and one outside of it."""
    group = ray.util.placement_group([{"b": 0.01, "CPU": 0.01}], name="full")
    ray.get(group.ready())
    strategy = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(group)
    keep(group, slow_producer.options(name="has_the_bundle", num_cpus=0.01, resources={"b": 0.01},
                                      scheduling_strategy=strategy).remote())
    time.sleep(3)
    return keep(waits_for_argument.options(name="in_full_group", num_cpus=0.01, scheduling_strategy=strategy).remote(1),
                Actor.options(name="actor_in_full_group", num_cpus=0.01, scheduling_strategy=strategy).remote())


def wait_label():
    """Ray 2.9 knows no label_selector."""
    return keep(slow_producer.options(name="wants_a_label", label_selector={"zone": "eu"}).remote(),
                Actor.options(name="actor_wants_a_label", label_selector={"zone": "in(eu,us)"}).remote())


@ray.remote(num_cpus=0)
class SlowInit:
    def __init__(self, refs=()):
        if refs:
            ray.get(refs[0])
        time.sleep(3600)

    def ping(self):
        return 1


@ray.remote(num_cpus=0)
class StopsInInit:
    def __init__(self):
        breakpoint()

    def ping(self):
        return 1


def wait_init():
    """Actors whose __init__ runs, one of which waits for a task; and a call of the first."""
    slow = SlowInit.options(name="slow_init").remote()
    return keep(slow, slow.ping.remote(), SlowInit.options(name="gets_in_init").remote([slow_producer.remote()]))


def wait_breakpoint_in_init():
    stops = StopsInInit.options(name="stops_in_init").remote()
    return keep(stops, stops.ping.remote())


@remote(num_cpus=0)
def waits_for_pip():
    return 1


def wait_pip():
    """pip asks an index that never answers."""
    index = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{index.getsockname()[1]}/"
    env = {"pip": {"packages": ["no-such-package"], "pip_install_options": ["--index-url", url, "--timeout", "3600"]}}
    return keep(index, waits_for_pip.options(runtime_env=env).remote())


WAITING = (wait_init, wait_breakpoint_in_init, wait_pip, wait_retry, wait_restart, wait_full_group, wait_label,
           wait_cancelled, wait_holder, wait_lock, wait_actors, wait_infeasible, wait_argument, wait_get, wait_queue, wait_python, wait_group,
           wait_breakpoint)


def run(name, start):
    try:
        print("RESULT", name, start(), flush=True)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        print("ERROR", name, f"{type(error).__name__}: {lines[0]}", flush=True)


def scenarios():
    tasks = {task._function_name.rpartition(".")[2]: lambda task=task: ray.get(task.remote(), timeout=120)
             for task in (*TASKS, out_of_memory)}
    return {**tasks, **{other.__name__: other for other in (*OTHERS, *WAITING, out_of_memory_again, out_of_memory_actor, many_others)}}


def main(names):
    ray.init(address="127.0.0.1:6379", _node_ip_address="127.0.0.1", log_to_driver=False, namespace="failures")
    known = scenarios()
    dying = [*known][:len(TASKS)] + [other.__name__ for other in OTHERS]
    with ThreadPoolExecutor(1 if names else 3) as threads:
        for name in names or dying:
            threads.submit(run, name, known[name])
    print("DONE", flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1:])
