"""The program that README.md debugs first, as a reader has it: nothing in it knows of a debugger.

    raydbg run --break app.py:22 -- python app.py

Lines 20 to 23 are where README prints them: test_docs_commands.py compares what raydbg shows with what is printed there.
"""

import sys

import ray


def main(numbers):
    ray.init()
    squares = ray.get([square.remote(number) for number in numbers])
    print("the squares are", squares)


@ray.remote
def square(x):
    y = x * x
    z = y + 1
    return z - 1


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [3])
