"""The task of main.py: its worker imports this module from Ray's copy of the working_dir."""

import ray


@ray.remote
def copied(x):
    breakpoint()
    y = x + 1  # line: copied-add
    z = y * 2  # line: copied-double
    return z
