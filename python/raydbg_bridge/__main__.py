"""python -m raydbg_bridge: the program itself, with this process's arguments."""

import os
import sys

from raydbg_bridge import find_raydbg_bin


def main():
    program = find_raydbg_bin()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
