"""Tasks that stop in debugpy. Lines that tests look for end in a comment of the form `line: name`."""

import importlib
import os
import signal
import sys
import threading
import time
import weakref


def inner(value):
    raise ValueError("boom %d" % value)  # line: boom-raise


def boom():
    total = 2
    inner(total)


def walk():
    number = 7
    breakpoint()  # line: walk-breakpoint
    number += 1  # line: walk-after
    number += 2  # line: walk-then
    for i in range(3):  # line: walk-for
        number += i  # line: walk-loop
    return number  # line: walk-return


def count():
    number = 0
    breakpoint()
    while number < 500:
        number += 1
    return number


def boom_at_length():
    text = "boom" * 5_000_000
    raise ValueError(text)  # line: boom-at-length


def stand_beside():
    """Stops in a thread that is not the main one."""
    thread = threading.Thread(target=stand, name="beside")
    thread.start()
    thread.join()


def pool():
    """Three threads wait for a client; `WAITING` comes then."""
    threads = [threading.Thread(target=walk) for _ in range(3)]
    for thread in threads:
        thread.start()
    until_waiting(3)
    print("WAITING", flush=True)
    for thread in threads:
        thread.join()


def pool_late():
    """Two threads wait for a client; one of them does not look again before that has come and left."""
    threads = [threading.Thread(target=walk) for _ in range(2)]
    threads[0].start()
    until_waiting(1)
    pydb, left = sys.modules["pydevd"].PyDB, threading.Event()
    process, disconnect = pydb.process_internal_commands, pydb.on_disconnect

    def process_late(self, *given):
        if threading.current_thread() is threads[1] and not left.is_set():
            print("WAITING", flush=True)
            left.wait()
        return process(self, *given)

    def on_disconnect(self):
        disconnect(self)
        left.set()

    pydb.process_internal_commands, pydb.on_disconnect = process_late, on_disconnect
    threads[1].start()
    for thread in threads:
        thread.join()


def until_waiting(count):
    while len([1 for frame in sys._current_frames().values() if waits(frame)]) < count:
        time.sleep(0.2)  # a first debugpy compiles itself meanwhile


def waits(frame):
    while frame and frame.f_code.co_name != "_wait_for_attach":
        frame = frame.f_back
    return frame is not None


def stand():
    """Stops again and again, whatever moves it on."""
    number = 7
    while number:
        breakpoint()
    return number


def prints_beside():
    """Threads print nothing, as often as they can."""
    sys.setswitchinterval(1e-6)
    for _ in range(2):
        threading.Thread(target=lambda: [print(*[""] * 50, sep="", end="", flush=True) for _ in iter(int, 1)], daemon=True).start()
    return stand()


def flood():
    """Prints more than sockets hold."""
    breakpoint()
    for _ in range(20_000):
        print("y" * 1000)
    os.write(1, b"FLOODED\n")
    return stand()


def imported():
    """Runs modules of $IMPORT_FROM: those whose name ends in `_before` are imported before the first stop."""
    directories = os.environ["IMPORT_FROM"].split(":")
    sys.path[:0] = directories
    names = sorted(name[:-3] for directory in directories for name in os.listdir(directory) if name.endswith(".py"))
    before = {name: importlib.import_module(name) for name in names if name.endswith("_before")}
    breakpoint()
    return sum((before.get(name) or importlib.import_module(name)).run(1) for name in names)


class Spins:
    def __repr__(self):
        while True:
            pass


class Sleeps:
    def __init__(self, seconds):
        self.seconds = seconds

    def __repr__(self):
        time.sleep(self.seconds)
        return "slept"


class Holder:
    fine = 5

    @property
    def endless(self):
        while True:
            pass


def odd(seconds=100_000):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # as in Ray's workers
    holder, plain, sleeps, spins = Holder(), 7, Sleeps(seconds), Spins()
    breakpoint()  # line: odd-breakpoint
    plain += 1
    return plain, holder.fine, sleeps.seconds, type(spins).__name__, signal.getsignal(signal.SIGURG).name


def odd_in_a_thread():
    """Nothing interrupts a sleep there."""
    results = []
    thread = threading.Thread(target=lambda: results.append(odd(float(os.environ["SLEEP_S"]))))
    thread.start()
    thread.join()
    return results[0]


def sourceless():
    """Its code is in no file."""
    space = {}
    exec(compile("def run(number):\n    breakpoint()\n    return number\n", "<stdin>", "exec"), space)
    return space["run"](7)


def forked():
    breakpoint()
    child = os.fork()  # line: forked-fork
    if not child:  # line: forked-child
        breakpoint()
        os._exit(7)
    return os.WEXITSTATUS(os.waitpid(child, 0)[1])  # line: forked-wait


class Resource:
    pass


def dropped():
    """What it returns: whether what it has dropped is alive, and what it has kept."""
    resource, kept, own = Resource(), [1, 2], {}
    own = locals() if os.environ.get("OWN_LOCALS") else own
    watch = weakref.ref(resource)
    breakpoint()  # line: dropped-breakpoint
    own.pop("resource", None)
    resource = None  # line: dropped-drop
    alive = watch() is not None
    return alive, kept, resource, sorted(own)


def dropped_by_a_caller():
    resource, kept = Resource(), [3]
    watch = weakref.ref(resource)
    stand_once(kept)
    resource = None
    return watch() is not None, kept, resource


def stand_once(given):
    first = given[0]
    breakpoint()  # line: stand-once
    return first


def gate():
    while not os.path.exists(os.environ["GATE"]):
        time.sleep(0.05)


def linger():
    number = 7
    breakpoint()
    gate()
    return number


def outlive():
    """A thread goes on; the main one stays, as a worker's does when a task has ended, and never stops in the debugger."""
    threading.Thread(target=linger).start()
    threading.Event().wait()
