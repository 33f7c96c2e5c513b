#!/usr/bin/env python3
"""The flaky tests: those that tests/flaky.toml lists, and those of a run.

    flakes.py check                        exit code 1 if the list is too long, or an entry is expired, unknown or without a cause
    flakes.py summary DIRECTORY [--ci]     what failed in a run, and its flakes, a line each. Exit code, by the flakes alone: 0:
                                           none, or listed ones only, or, with --ci, at most CI_LIMIT; 7: others; 1: with --ci, more
"""

import argparse
import datetime
import re
import sys
from pathlib import Path

import reruns

try:
    import tomllib
except ImportError:  # Python 3.10: pytest brings it
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "tests/flaky.toml"
LIMIT = 8
CI_LIMIT = 3
MOST = 500  # characters of what went wrong
UNLISTED = 7
# A race of the product is none of them: it is mended.
CAUSES = ("test-clock", "machine", "ray", "debugpy")


def entries(path=LIST):
    if not path.exists():
        return []
    with path.open("rb") as file:
        return tomllib.load(file).get("flaky", [])


def exists(id):
    """Whether there is a test of this id: of pytest, of ctest (its name), of VS Code (its file)."""
    file, _, name = id.partition("::")
    if not name:
        return (ROOT / file).is_file() or any(ROOT.glob(f"tests/unit/**/{file}.c"))
    path = ROOT / file
    function = name.split("::")[-1].split("[")[0]
    return path.is_file() and re.search(rf"^ *(async )?def {re.escape(function)}\(", path.read_text(), re.MULTILINE) is not None


def problems(listed, today):
    found = [f"{len(listed)} entries: at most {LIMIT} are allowed"] if len(listed) > LIMIT else []
    for entry in listed:
        id = entry.get("id", "an entry without id")
        until = entry.get("until")
        if not entry.get("id") or not exists(id):
            found.append(f"{id}: there is no such test")
        if entry.get("cause") not in CAUSES:
            found.append(f"{id}: the cause {entry.get('cause')!r} is none of {', '.join(CAUSES)}")
        if not entry.get("reason"):
            found.append(f"{id}: no reason")
        if not isinstance(until, datetime.date):
            found.append(f"{id}: `until` is no date")
        elif until < today:
            found.append(f"{id}: listed until {until}: mend it")
    return found


def check():
    listed = entries()
    found = problems(listed, datetime.date.today())
    print("\n".join(f"tests/flaky.toml: {problem}" for problem in found) or f"{len(listed)} flaky tests are listed, at most {LIMIT} may be")
    return 1 if found else 0


def summary(directory, ci):
    for row in reruns.Run(directory).rows("failed.jsonl"):
        print(f"failed {row['id']}: {row['line'][:MOST]} ({row['reason'][:MOST]}), load {row['load']}")
    rows = reruns.Run(directory).rows("flakes.jsonl")
    listed = {entry["id"] for entry in entries()}
    for row in rows:
        known = " (listed)" if row["id"] in listed else ""
        print(f"flaky {row['id']}: {row['line']}, load {row['load']}, CPU pressure {row['pressure']} %{known}")
    if ci:
        if len(rows) > CI_LIMIT:
            print(f"{len(rows)} flaky tests: at most {CI_LIMIT} are accepted")
            return 1
        return 0
    return UNLISTED if any(row["id"] not in listed for row in rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    of_run = commands.add_parser("summary")
    of_run.add_argument("directory", type=Path)
    of_run.add_argument("--ci", action="store_true")
    options = parser.parse_args()
    sys.exit(check() if options.command == "check" else summary(options.directory, options.ci))


if __name__ == "__main__":
    main()
