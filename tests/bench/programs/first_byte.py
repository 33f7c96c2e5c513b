"""Times commands to the first byte of their output and to their end, taking turns; prints what it saw as JSON.

usage: first_byte.py ROUNDS < {"name": ["program", "argument", …], …}
"""

import json
import os
import sys
import time


def timed(argv):
    """Seconds to the first byte (None if there was none) and to the end, and those of its processor."""
    reader, writer = os.pipe()
    started = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_CLOSE, writer), (os.POSIX_SPAWN_CLOSE, reader)])
    os.close(writer)
    first = time.perf_counter() - started if os.read(reader, 1) else None
    while os.read(reader, 1 << 16):
        pass
    _, status, usage = os.wait4(pid, 0)
    ended = time.perf_counter() - started
    os.close(reader)
    if status:
        sys.exit(f"{argv} ended with {os.waitstatus_to_exitcode(status)}")
    return first, ended, usage.ru_utime + usage.ru_stime


def main():
    commands = json.load(sys.stdin)
    seen = {name: [] for name in commands}
    for _ in range(int(sys.argv[1])):
        for name, argv in commands.items():
            seen[name].append(timed(argv))
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
