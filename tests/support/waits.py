"""How tests wait, for how long at most, and which failures are never tried again.

    wait_until(lambda: relay.sessions() == [], "the session ends")     # what must happen
    gate.reached.wait(limit())                                         # the same, for an event

No wait has a number of its own: all end after LIMIT seconds, times the machine's patience, and only a hang takes so long.
What must not happen is looked for behind a fence: a request whose answer comes after it, or a Gate that is shut meanwhile.
"""

import contextlib
import functools
import os
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 60
SHORT = 0.3  # for what must not come
REST, LONGEST_REST = 4, 2  # of wait_until(): times as long as it looked, and seconds


class Hard(AssertionError):
    """A failure that no load of the machine excuses, so that a rerun must not hide it: a sanitizer's report, a process of
    raydbg that a fault ended, a violation of DAP, a lost pause, a process that is left over."""


@contextlib.contextmanager
def hard():
    """`with hard():` around assertions about state, without waits among them: they fail as Hard, with the same text.

    So does a look into what is not there, such as `hub.pause()["held"]` of a pause that is gone.
    """
    try:
        yield
    except Hard:
        raise
    except AssertionError as error:
        raise Hard(*error.args).with_traceback(error.__traceback__) from None
    except (TypeError, LookupError) as error:
        raise Hard(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__) from error


def patience():
    """By how much limits are multiplied on this machine, 1 to 8: $RAYDBG_TEST_PATIENCE."""
    try:
        return min(8.0, max(1.0, float(os.environ.get("RAYDBG_TEST_PATIENCE") or 1)))
    except ValueError:
        return 1.0


@functools.cache
def is_sanitized(path):
    """Whether this program was built with AddressSanitizer."""
    try:
        return b"__asan_init" in Path(path).read_bytes()
    except OSError:
        return False


def limit(seconds=LIMIT, binary=None):
    """A limit for what has to happen: more on a slow machine, and double for a raydbg with sanitizers. `binary` is by
    default the raydbg under test. `seconds` is for what takes longer than LIMIT on a quiet machine."""
    binary = binary or os.environ.get("RAYDBG") or ROOT / "build-asan/raydbg"
    return seconds * patience() * (2 if is_sanitized(binary) else 1)


def wait_until(find, what, every=0.02, most=None, failure=AssertionError):
    """The first true value of find(). `what` is what was waited for, or a function that says it. `most`: limit().

    It rests for longer than it looks: what find() asks, such as a Ray's dashboard, has a higher priority than Ray's workers,
    which would never do what is waited for while two or three tests ask without a pause."""
    most = most or limit()
    begun = time.monotonic()
    deadline = begun + most
    while not (found := find()):
        looked = time.monotonic() - begun
        if time.monotonic() > deadline:
            raise failure(f"{what() if callable(what) else what}: not within {most:.0f} s")
        time.sleep(max(every, min(REST * looked, LONGEST_REST)))
        begun = time.monotonic()
    return found


def settle(seconds=SHORT):
    """Lets time pass. It is for what must not happen where no fence is possible, for a timer of the product's of which a
    test needs the end (a lower bound), and for the pace of a script; never for what must happen: that is wait_until."""
    time.sleep(seconds)


class Gate:
    """A handler, or any function, that waits until the test opens it, so that an order can be tested instead of a time.

        adapter.on["scopes"] = gate = Gate(adapter.on["scopes"])
        seq = client.send("scopes", …)
        gate.wait_reached()
        …                             # others are answered while it is shut
        gate.open()
    """

    def __init__(self, then):
        self.then = then
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, *arguments):
        self.reached.set()
        self.opened.wait(limit())
        return self.then(*arguments)

    def wait_reached(self):
        assert self.reached.wait(limit()), "nobody came to the gate"

    def open(self):
        self.opened.set()
