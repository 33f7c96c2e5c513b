"""A Ray driver with tasks of these names that pause at once, and can then be stepped for ever."""

import sys

import ray


def walk():
    count = 0
    breakpoint()  # line: start
    while True:  # line: loop
        count += 1  # line: first
        value = count % 7  # line: second
        del value  # line: third


def main(names):
    ray.init(address="127.0.0.1:6379", _node_ip_address="127.0.0.1")
    ray.get([ray.remote(walk).options(name=name).remote() for name in names])


if __name__ == "__main__":
    main(sys.argv[1:])
