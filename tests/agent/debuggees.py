"""What is debugged in tests of the agent; lines that tests look for end in a comment `line: name`."""

import collections
import os
import sys
import threading
import time


def helper(a, b):
    c = a + b  # line: helper-first
    c *= 2
    return c  # line: helper-return


def plain():
    x = 21
    name = "\u00fcn\u00efc\u00f6d\u00e9 \u6f22\u5b57"
    breakpoint()  # line: plain-breakpoint
    y = helper(x, 1)  # line: plain-call
    z = [helper(i, y) for i in range(3)]  # line: plain-list
    return y + sum(z)  # line: plain-return


def helper_task():
    x = 1  # line: task-first
    return x + 2  # line: task-second


def get(value):
    """ray.get(), of a result that was stepped out with."""
    rpdb = sys.modules["ray.util.rpdb"]
    rpdb._connect_ray_pdb(breakpoint_uuid="00").set_trace(frame=sys._getframe().f_back)
    return value


rays_get = type(get)(get.__code__, {"__name__": "ray._private.worker", "sys": sys})


def gets():
    x = 1
    breakpoint()
    y = rays_get(x + 1)  # line: gets-get
    return y


class Bad:
    def __repr__(self):
        raise RuntimeError("no repr \udc80")


class Property:
    calls = 0

    def __init__(self):
        self.own = 1

    @property
    def costly(self):
        Property.calls += 1
        return 1


class Slots:
    __slots__ = ("one", "two")

    def __init__(self):
        self.one = 1


def values():
    bad, prop, slots = Bad(), Property(), Slots()
    big = "x" * 200000
    many = list(range(100000))
    mapping = {"one": 1, ("two", 3): [1, 2], bad: 3, 4: {"deep": {"deeper": 5}}}
    nested = []
    nested.append(nested)
    surrogate = "a\udc80b"
    huge = 10 ** 100000
    queue = collections.deque([1, 2, 3])
    empty = {}
    text = b"bytes"
    breakpoint()
    return bad is not None and (prop.own, len(many), big[0], slots.one, mapping["one"], empty, text, queue[0])


def loop():
    total = 0
    breakpoint()
    for i in range(10):
        total += i  # line: loop-add

    return total  # line: loop-return


def inner(n):
    raise KeyError("bad %d" % n)  # line: inner-raise


def middle(n):
    value = n + 1
    try:
        inner(value)
    except KeyError as error:
        raise ValueError("boom %d" % value) from error  # line: middle-raise


def fails():
    tag = "outer"
    breakpoint()
    middle(1)  # line: fails-call
    return tag


def fails_at_once():
    tag = "outer"
    middle(1)
    return tag


def catches():
    """Returns None, as a frame does that an exception leaves."""
    breakpoint()
    try:
        middle(1)
    except ValueError:
        caught = True
    with open(os.devnull):
        assert caught


def fails_in_with():
    breakpoint()
    with open(os.devnull):
        middle(1)
    return 1


def twice():
    x = 1
    breakpoint()  # line: twice-first
    x += 1
    breakpoint()  # line: twice-second
    x *= 2
    return x


def prints():
    """Another thread prints all the time, and things that look like pdb's or DAP's."""
    stop = threading.Event()

    def noise():
        while not stop.is_set():
            print("(Pdb) \x02\x03 Content-Length: 10\r\n\r\n{}", file=sys.stdout)
            time.sleep(0.001)
    thread = threading.Thread(target=noise)
    thread.start()
    breakpoint()
    stop.set()
    thread.join()
    return "printed"


def spins():
    breakpoint()
    end = time.time() + 20
    turns = 0
    while not os.path.exists(os.environ["STOP_FILE"]) and time.time() < end:
        turns += 1  # line: spins-loop
        time.sleep(0.002)
    return turns >= 0


def generates():
    breakpoint()
    total = 0
    for item in numbers():  # line: generates-for
        total += item  # line: generates-add
    return total


def numbers():
    yield 1  # line: numbers-first
    yield 2


def forks():
    breakpoint()
    pid = os.fork()
    if pid == 0:
        helper(1, 2)
        os._exit(7)
    return os.WEXITSTATUS(os.waitpid(pid, 0)[1])  # line: forks-wait


def threads():
    breakpoint()
    results = []
    thread = threading.Thread(target=lambda: results.append(helper(1, 2)))
    thread.start()
    thread.join()
    return results


def interrupted():
    try:
        breakpoint()
        seconds = 5
        time.sleep(seconds)
        time.sleep(seconds)
    except KeyboardInterrupt:
        return "interrupted"


def traced():
    seen = []

    def trace(frame, event, value):
        seen.append(frame.f_code.co_name)
    breakpoint()
    sys.settrace(trace)
    breakpoint()  # line: traced-second
    helper(1, 2)
    sys.settrace(None)
    return "helper" in seen


class Held:
    alive = 0

    def __init__(self):
        Held.alive += 1

    def __del__(self):
        Held.alive -= 1


def holds():
    """What a function held that failed is gone a moment later, though it was looked at."""
    try:
        holder()
    except ValueError:
        pass
    breakpoint()
    end = time.time() + 5
    while Held.alive and time.time() < end:
        time.sleep(0.01)
    return Held.alive


def holder():
    held = Held()
    breakpoint()
    raise ValueError(repr(held))
