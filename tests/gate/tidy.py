#!/usr/bin/env python3
"""Runs clang-tidy over C files, and remembers those that passed.

    tidy.py [--build DIR] <FILES      paths below the root, one a line; DIR is built, with clang

A file is not examined again while nothing has changed of what clang-tidy sees: the file and all that it includes (ninja's
dependencies), how it is compiled, .clang-tidy, and clang-tidy itself. That is kept for each user, for all clones:
~/.cache/raydbg-tidy has an empty file for each that passed, for 30 days. Exit code 1: clang-tidy has something to say.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT_SECONDS = 30 * 86400


def cache_directory():
    """None: there is no home to keep it in."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME") and os.environ["HOME"] + "/.cache"
    return Path(home) / "raydbg-tidy" if home else None


@lru_cache(maxsize=None)
def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def find_program():
    """clang-tidy, by its own name or with its version."""
    names = ["clang-tidy", *(f"clang-tidy-{version}" for version in range(30, 13, -1))]
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        sys.exit("tidy: no clang-tidy: tools/setup installs it")
    return found


class Build:
    """What is compiled how, and with which headers: of a directory that cmake and ninja made."""

    def __init__(self, root, directory):
        self.root = root
        self.directory = directory
        self.commands = {}
        for row in json.loads((directory / "compile_commands.json").read_text()):
            self.commands.setdefault(row["file"], []).append(row["command"])
        self.headers = {}
        text = subprocess.run(["ninja", "-C", directory, "-t", "deps"], check=True, stdout=subprocess.PIPE, text=True).stdout
        for block in text.split("\n\n"):
            paths = [os.path.normpath(directory / line.strip()) for line in block.splitlines()[1:]]
            if paths:
                self.headers.setdefault(paths[0], set()).update(paths)

    def key(self, file, common):
        """A digest of all that clang-tidy sees of a file; None where that is not known."""
        path = str(self.root / file)
        if path not in self.commands or path not in self.headers:
            return None
        commands = [re.sub(rf"{re.escape(str(self.root))}(?=[/ ]|$)", ".", command) for command in self.commands[path]]
        rows = sorted((header.removeprefix(f"{self.root}/"), digest(header)) for header in self.headers[path])
        return hashlib.sha256(json.dumps([common, file, sorted(commands), rows]).encode()).hexdigest()


class Tidy:
    def __init__(self, root, build, cache):
        self.root = root
        self.build = build
        self.cache = cache
        self.program = find_program()
        config = root / ".clang-tidy"
        version = subprocess.run([self.program, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.common = [version, digest(os.path.realpath(self.program)), digest(config)]

    def known(self, key):
        """True if what has this key passed before; what is used is kept on."""
        try:
            os.utime(self.cache / key)
        except (OSError, TypeError):
            return False
        return True

    def remember(self, key):
        if self.cache and key:
            try:
                self.cache.mkdir(parents=True, exist_ok=True)
                (self.cache / key).touch()
            except OSError as error:
                print(f"tidy: {error}: it is not remembered what passed", file=sys.stderr)
                self.cache = None

    def examine(self, file, key):
        """True if clang-tidy has nothing to say about a file."""
        done = subprocess.run([self.program, "-quiet", "-p", self.build.directory, self.root / file], cwd=self.root,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            self.remember(key)
            return True
        print(done.stdout, f"tidy: {file}: exit code {done.returncode}", sep="", flush=True)
        return False

    def forget_old(self):
        if self.cache and self.cache.is_dir():
            for path in self.cache.iterdir():
                if path.stat().st_mtime < time.time() - KEPT_SECONDS:
                    path.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build-werror-clang")
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args()
    files = [line.strip() for line in sys.stdin if line.strip()]
    root = options.root.resolve()
    tidy = Tidy(root, Build(root, options.build.resolve()), cache_directory())
    keys = {file: tidy.build.key(file, tidy.common) for file in files}
    left = [file for file in files if not tidy.known(keys[file])]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        passed = list(threads.map(lambda file: tidy.examine(file, keys[file]), left))
    tidy.forget_old()
    if not all(passed):
        sys.exit(1)
    print(f"clang-tidy has nothing to say about {len(files)} files, {len(files) - len(left)} of them as before")


if __name__ == "__main__":
    main()
