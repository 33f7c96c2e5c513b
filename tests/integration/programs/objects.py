"""A Ray driver whose references are known, in a cluster of two nodes (127.0.0.1; 127.0.0.2 has the resource b).

    objects.py hold|spill|witness [third]|many COUNT|hoard|leaker|grow COUNT|drip COUNT MILLISECONDS

Each mode prints lines `RESULT name value`, then READY, and stays until it is ended; `hold`, `spill`, `witness` and
`many` pause a task first. A value is an object's id in hex, a pid, or what the mode's comment says. Lines that tests
look for end in a comment of the form `line: name`.
"""

import os
import sys
import tempfile
import threading
import time

import numpy
import ray

MB = 10**6
FIRST, SECOND, THIRD = ({f"node:127.0.0.{n}": 0.01} for n in (1, 2, 3))


class Said:
    """Lines that tasks say through a pipe are printed by the driver: Ray's own way adds to them and may be late."""

    def __init__(self):
        self.path = os.path.join(tempfile.mkdtemp(dir=os.environ.get("RAY_TMPDIR")), "said")
        os.mkfifo(self.path)
        stream = os.fdopen(os.open(self.path, os.O_RDWR), "r")
        threading.Thread(target=self._print, args=(stream,), daemon=True).start()

    @staticmethod
    def _print(stream):
        for line in stream:
            sys.stdout.write(line)
            sys.stdout.flush()


def say(path, **values):
    """RESULT lines; a reference is told by its id."""
    with open(path, "w") as pipe:
        for name, value in values.items():
            pipe.write(f"RESULT {name} {value.hex() if isinstance(value, ray.ObjectRef) else value}\n")


def array_of(size):
    return numpy.zeros(size, dtype=numpy.uint8)


class Fake:
    """Looks like a reference, and is none."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


class Holder:
    def __init__(self, reference):
        self.reference = reference


@ray.remote(resources=FIRST)
class Keeper:
    """Owns, on the first node, what others borrow; its state keeps it."""

    def __init__(self):
        self.kept = ray.put(array_of(8 * MB))  # line: keeper-put
        self.given = ray.put(array_of(2 * MB))  # line: given-put

    def kept_id(self):
        return self.kept.hex(), os.getpid()

    def give(self):
        return [self.given]


@ray.remote(resources=FIRST)
def produce(size):
    return array_of(size)


@ray.remote(resources=FIRST)
def sleeper():
    time.sleep(3600)


@ray.remote(resources={"nowhere": 1})
def unplaced():
    """Never runs: no node has what it wants."""


@ray.remote(resources=FIRST, num_cpus=0)
def reader(path, references):
    """Borrows, on the first node, what the paused task on the second owns; and sleeps."""
    say(path, reader_pid=os.getpid())
    time.sleep(3600)


def closing_over(reference):
    return lambda: reference


@ray.remote(resources=SECOND)
def hold(path, actor, borrowed_in):
    borrowed = borrowed_in[0]
    big = ray.put(array_of(8 * MB))  # line: big-put
    small = produce.remote(100)  # line: small-call
    returned = produce.remote(8 * MB)  # line: returned-call
    ray.wait([small, returned], num_returns=2)
    refs = [ray.put(array_of(MB)) for _ in range(12)]  # line: refs-put
    by_name = {"first": refs[0], "second": refs[1]}
    pending = sleeper.remote()
    nowhere = unplaced.remote()
    inner = ray.put(array_of(3 * MB))  # line: inner-put
    nested = ray.put([inner])
    say(path, captured=inner)
    del inner
    holder = Holder(ray.put(array_of(MB)))
    closure = closing_over(ray.put(array_of(MB)))
    shared = ray.put(array_of(MB))
    reading = reader.remote(path, [shared])
    looks_like = f"ObjectRef({big.hex()})"
    strings = [looks_like, "ObjectRef(zz)"]
    fake = Fake(looks_like)
    array = ray.get(refs[2])
    own = array_of(MB)
    say(path, pid=os.getpid(), big=big, small=small, returned=returned, borrowed=borrowed, pending=pending,
        nowhere=nowhere, nested=nested, held=holder.reference, closed=closure(), shared=shared, reading=reading,
        viewed=refs[2], refs=",".join(ref.hex() for ref in refs), actor=actor._actor_id.hex())
    breakpoint()  # line: hold-breakpoint
    breakpoint()  # line: hold-again
    return len(strings), fake, own.size, array.size, by_name, nested, pending, nowhere, reading


@ray.remote(resources=FIRST)
def spill(path):
    """Fills a store of 80 MB twice; `gone` was the first."""
    hoard = [ray.put(array_of(8 * MB)) for _ in range(18)]  # line: spill-put
    gone = hoard[0]
    say(path, pid=os.getpid(), gone=gone)
    breakpoint()
    return len(hoard)


@ray.remote(resources=FIRST)
class Mortal:
    def give(self):
        return [ray.put(array_of(2 * MB))], os.getpid()


@ray.remote(resources=THIRD, max_retries=0)
def on_third(size):
    return array_of(size)


@ray.remote(resources=SECOND)
def witness(path, lent, pid, third):
    """The owner of `orphan` will be killed; so will the third node, if there is one, that has `lost`."""
    orphan = lent[0]
    lost = on_third.remote(4 * MB) if third else produce.remote(4 * MB)
    ray.wait([lost], fetch_local=False)  # else it is copied here
    say(path, pid=os.getpid(), lost=lost, orphan=orphan, owner_pid=pid)
    breakpoint()
    return orphan is lost


@ray.remote(resources=FIRST)
def many(path, count):
    refs = [ray.put(i) for i in range(count)]  # line: many-put
    first, last = refs[0], refs[-1]
    say(path, pid=os.getpid(), first=first, last=last)
    breakpoint()
    return first, last


@ray.remote(resources=FIRST)
class Hoarder:
    """Its values use all that its node's store has: some by references that it keeps, some without any."""

    def __init__(self):
        self.references, self.values = [], []

    def fill(self):
        for _ in range(6):
            self.references.append(ray.put(array_of(8 * MB)))  # line: hoard-put
            self.values.append(ray.get(self.references[-1]))
        for _ in range(3):
            self.values.append(ray.get(ray.put(array_of(8 * MB))))  # line: hoard-value
        return os.getpid()


@ray.remote(resources=FIRST)
class Leaker:
    """Grows when it is told to, and by itself."""

    def __init__(self):
        self.kept = []

    def grow(self, count):
        for _ in range(count):
            self.kept.append(ray.put(array_of(MB)))  # line: leak-put
        return len(self.kept)

    def drip(self, path, count, seconds):
        say(path, dripper_pid=os.getpid())
        for _ in range(count):
            self.kept.append(ray.put(array_of(250_000)))  # line: drip-put
            time.sleep(seconds)
        return len(self.kept)


# Each returns the call that goes on, if there is one, and what has to be kept alive.

def run_hold(path):
    actor = Keeper.options(name="keeper").remote()
    kept, pid = ray.get(actor.kept_id.remote())
    [given] = ray.get(actor.give.remote())
    call = hold.remote(path, actor, [given])
    say(path, kept=kept, keeper_pid=pid, driver_pid=os.getpid())
    return call, actor


def run_spill(path):
    return spill.remote(path), None


def run_witness(path, third=""):
    mortal = Mortal.remote()
    lent, pid = ray.get(mortal.give.remote())
    return witness.remote(path, lent, pid, third), mortal


def run_many(path, count):
    return many.remote(path, int(count)), None


def run_hoard(path):
    actor = Hoarder.options(name="hoarder").remote()
    say(path, hoarder_pid=ray.get(actor.fill.remote()))
    return None, actor


def run_leaker(path):
    actor = Leaker.options(name="leaker").remote()
    say(path, grown=ray.get(actor.grow.remote(2)))
    return None, actor


def run_grow(path, count):
    """Of another driver's leaker."""
    say(path, grown=ray.get(ray.get_actor("leaker").grow.remote(int(count))))
    sys.exit()


def run_drip(path, count, milliseconds):
    actor = Leaker.options(name="dripper").remote()
    return actor.drip.remote(path, int(count), int(milliseconds) / 1000), actor


MODES = {"hold": run_hold, "spill": run_spill, "witness": run_witness, "many": run_many, "hoard": run_hoard,
         "leaker": run_leaker, "grow": run_grow, "drip": run_drip}


def main(mode, *arguments):
    ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address="127.0.0.1",
             namespace="objects", log_to_driver=False)
    said = Said()
    call, kept = MODES[mode](said.path, *arguments)
    say(said.path, ready=mode)
    try:
        if call:
            ray.get(call)
    except Exception as error:
        print("ERROR", mode, str(error).replace("\n", " | "), flush=True)
    threading.Event().wait()
    return kept


if __name__ == "__main__":
    main(*sys.argv[1:])
