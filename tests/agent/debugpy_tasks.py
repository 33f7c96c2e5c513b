"""Tasks that stop in debugpy. Lines that tests look for end in a comment of the form `line: name`."""

import os
import threading
import time


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
    return number


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
