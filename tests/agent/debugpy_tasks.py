"""Tasks that stop in debugpy. Lines that tests look for end in a comment of the form `line: name`."""

import importlib
import os
import sys


def inner(value):
    raise ValueError("boom %d" % value)  # line: boom-raise


def boom():
    total = 2
    inner(total)


def walk():
    number = 7
    breakpoint()  # line: walk-breakpoint
    number += 1  # line: walk-after
    number += 2
    for i in range(3):
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


def stand():
    """Stops again and again, whatever moves it on."""
    number = 7
    while number:
        breakpoint()
    return number


def imported():
    """Runs modules of $IMPORT_FROM: those whose name ends in `_before` are imported before the first stop."""
    places = os.environ["IMPORT_FROM"].split(":")
    sys.path[:0] = places
    names = sorted(name[:-3] for place in places for name in os.listdir(place) if name.endswith(".py"))
    before = {name: importlib.import_module(name) for name in names if name.endswith("_before")}
    breakpoint()
    return sum((before.get(name) or importlib.import_module(name)).run(1) for name in names)
