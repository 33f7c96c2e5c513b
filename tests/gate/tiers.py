"""Which tests a run has: the default tier, a slice of the rest, or all. The rules are in tiers.toml.

A test is named by its id: pytest's node id, `tests/vscode/FILE`, `tests/fuzz/FILE`. Tests that share something costly (a file,
a cluster) are a group; a slice holds whole groups. `spread` divides what is not in the default tier evenly over the slices, by
the seconds that tiers.toml has for a group, else a second for each test.

As a program:
    tiers.py slice                          the slice of this tree: its hash modulo SLICES
    tiers.py select SUITE --tier default [--slice N] <IDS      those of the ids on stdin, one a line, that the run has
    tiers.py tidy [--slice N]               the C files to tidy: those that differ from the base, and the slice of the others
"""

import argparse
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10: pytest brings it
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SLICES = 20


class Suite:
    """The rules of one suite: a table of tiers.toml.

    `default`: patterns of the ids that are in the default tier; absent: all. `full`: those of them that are not.
    `smoke`: ids that are, whatever the others say. `clusters = true`: only tests of the first cluster are in the default tier,
    but for smoke. `group`: a pattern; what it finds in an id divides a file into groups. `alone`: ids that run when the others
    have ended, one at a time; or the name of the table that says so. `seconds`: by group, what it takes.
    """

    KEYS = {"default", "full", "smoke", "clusters", "group", "alone", "seconds", "timeout"}

    def __init__(self, name, table):
        unknown = set(table) - self.KEYS
        if unknown:
            raise ValueError(f"tiers.toml: [{name}] has unknown keys: {', '.join(sorted(unknown))}")
        self.name = name
        self.patterns = {key: [re.compile(text) for text in table[key]]
                         for key in ("default", "full", "smoke", "alone") if key in table}
        self.clusters = table.get("clusters", False)
        self.group_pattern = re.compile(table["group"]) if "group" in table else None
        self.seconds = table.get("seconds", {})
        self.timeout = table.get("timeout", 120)

    def matches(self, key, id):
        return any(pattern.search(id) for pattern in self.patterns.get(key, ()))

    def in_default(self, id, cluster=None):
        """`cluster`: the name of the cluster that a test shares with others; the first one's is FIRST_CLUSTER."""
        if self.matches("smoke", id):
            return True
        if self.clusters and cluster not in (None, FIRST_CLUSTER):
            return False
        return ("default" not in self.patterns or self.matches("default", id)) and not self.matches("full", id)

    def group(self, id, cluster=None):
        if cluster not in (None, FIRST_CLUSTER):
            return cluster
        file = id.split("::", 1)[0]
        found = self.group_pattern and self.group_pattern.search(id)
        return f"{file} {found.group(0)}" if found else file

    def spread(self, tests):
        """The slice of each group of tests, pairs of id and cluster: the longest first, each to the slice with the least."""
        weights = {}
        for id, cluster in tests:
            group = self.group(id, cluster)
            weights[group] = weights.get(group, 0) + 1
        weights = {group: self.seconds.get(group, count) for group, count in weights.items()}
        # What is equally long begins at a slice of its own suite, so that not all small suites are in the first.
        first = zlib.crc32(self.name.encode()) % SLICES
        loads = [0] * SLICES
        slices = {}
        for group in sorted(weights, key=lambda group: (-weights[group], group)):
            number = min(range(SLICES), key=lambda n: (loads[n], (n - first) % SLICES))
            slices[group] = number
            loads[number] += weights[group]
        return slices

    def select(self, tests, tier, number=None):
        """Those of the tests, pairs of id and cluster, that a run of `tier` with slice `number` (None: without) has."""
        if tier == "full":
            return set(tests)
        chosen = {test for test in tests if self.in_default(*test)}
        if number is not None:
            rest = [test for test in tests if test not in chosen]
            slices = self.spread(rest)
            chosen |= {test for test in rest if slices[self.group(*test)] == number}
        return chosen

    def left_out(self, tests):
        """The tests that neither the default tier nor a slice has."""
        held = self.select(tests, "default")
        for number in range(SLICES):
            held |= self.select(tests, "default", number)
        return [test for test in tests if test not in held]


FIRST_CLUSTER = "(0, '')"  # integration/conftest.py: kind_of


def load(path=HERE / "tiers.toml"):
    with open(path, "rb") as file:
        tables = tomllib.load(file)
    for table in tables.values():
        if isinstance(table.get("alone"), str):
            table["alone"] = tables[table["alone"]]["alone"]
    return {name: Suite(name, table) for name, table in tables.items()}


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def slice_of_tree():
    return int(git("rev-parse", "HEAD^{tree}") or "0", 16) % SLICES


def base():
    """The commit that the change begins at: $RAYDBG_BASE, else the last one that is older than a day; None: there is none."""
    return os.environ.get("RAYDBG_BASE") or git("rev-list", "-1", "--first-parent", "--before=1 day ago", "HEAD") or None


LAYERS = ("base", "proto", "dap", "relay", "cli")  # and their rooms


def tidy_files(number=None):
    """C files that differ from the base or include a header that does, and the slice of the others. Without a base: all."""
    files = git("ls-files", *(f"{layer}/*.c" for layer in LAYERS)).splitlines()
    start = base()
    if start is None or not git("rev-parse", "--verify", "--quiet", start + "^{commit}"):
        return files
    changed = set(git("diff", "--name-only", start).splitlines())
    if ".clang-tidy" in changed:
        return files
    headers = [name for name in changed if name.endswith(".h")]
    while headers:  # and those that include one that includes one
        texts = git("grep", "-lE", f'^ *# *include *"({"|".join(map(re.escape, headers))})"', "--",
                    *(f"{layer}/*.[ch]" for layer in LAYERS)).splitlines()
        headers = [name for name in texts if name.endswith(".h") and name not in changed]
        changed.update(texts)
    return [name for name in files if name in changed or zlib.crc32(name.encode()) % SLICES == number]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("slice")
    select = commands.add_parser("select")
    select.add_argument("suite")
    select.add_argument("--tier", choices=("default", "full"), default="default")
    for command in select, commands.add_parser("tidy"):
        command.add_argument("--slice", type=int, choices=range(SLICES))
    options = parser.parse_args()
    if options.command == "slice":
        print(slice_of_tree())
    elif options.command == "tidy":
        print("\n".join(tidy_files(options.slice)))
    else:
        tests = [(line.strip(), None) for line in sys.stdin if line.strip()]
        suite = load()[options.suite]
        assert not suite.left_out(tests)
        chosen = suite.select(tests, options.tier, options.slice)
        print("\n".join(id for id, cluster in tests if (id, cluster) in chosen))


if __name__ == "__main__":
    main()
