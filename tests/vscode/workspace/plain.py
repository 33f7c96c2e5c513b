"""A driver that mentions no debugger."""
import time

import ray


@ray.remote
def doubled(n):
    twice = n * 2
    return twice


def main():
    ray.init(_node_ip_address="127.0.0.1", log_to_driver=False)
    total = 0
    for n in range(1, 41):
        total += ray.get(doubled.remote(n))
        time.sleep(0.25)
    print("RESULT", total, flush=True)


if __name__ == "__main__":
    main()
