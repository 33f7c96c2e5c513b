"""A program under debugpy for the console: `square` stops at its breakpoint() each time a client has attached.

Prints its port, then what it does.
"""

import time

import debugpy

PORT = debugpy.listen(("127.0.0.1", 0))[1]
print(PORT, flush=True)


def helper(values, scale):
    total = 0
    for value in values:
        total += value * scale  # line: add
    return total


def rest():
    time.sleep(0.02)


class Shape:
    def area(self, side):
        rest()

        def power(number):
            return number * number  # line: power

        return power(side)


def square(x):
    items = list(range(100))
    nested = {"a": {"b": {"c": {"d": items}}}}
    debugpy.breakpoint()
    y = x * x  # line: first
    total = helper(items, 2)

    # No code here.  line: comment
    area = Shape().area(x)
    return y, total, area, nested  # line: last


while True:
    debugpy.wait_for_client()
    print(square(3)[:3], flush=True)
