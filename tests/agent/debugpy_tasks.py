"""Tasks that stop in debugpy. Lines that tests look for end in a comment of the form `line: name`."""

import threading


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


def stand_beside():
    """Stops in a thread that is not the main one."""
    thread = threading.Thread(target=stand, name="beside")
    thread.start()
    thread.join()


def stand():
    """Stops again and again, whatever moves it on."""
    number = 7
    while number:
        breakpoint()
    return number
