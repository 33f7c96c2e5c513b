"""Checks that docs/time-limits.md has each constant of the product that is a time, with its value: `python tests/gate/time_limits.py`.

A time after which something is given up has a row there, which says what happens then; a pace, an age or a size is only named.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/time-limits.md"
ROOMS = ("relay", "cli", "proto", "base", "dap")
TIME = r"[A-Z][A-Z0-9_]*_(?:MS|US|S)"
CONSTANT = re.compile(rf"\b({TIME}) = |^#define ({TIME}) ", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \| (\S+) \| ([^|]+) \|", re.MULTILINE)
ITEM = re.compile(r"^\* (\S+): (`.*)$", re.MULTILINE)


def constants(text):
    """Those that a source file defines."""
    return {one or other for one, other in CONSTANT.findall(text)}


def has_value(text, name, value):
    """Whether the value is on the line of the name."""
    number = re.compile(rf"(?<![\w.]){re.escape(value)}(?![\w.])")
    return any(number.search(line) for line in text.splitlines() if re.search(rf"\b{name}\b", line))


def problems(page, sources):
    """What is wrong with the page; `sources` is the text of each file by its name."""
    rows = [(file, name, value.strip()) for name, file, value in ROW.findall(page)]
    items = [(file, name) for file, names in ITEM.findall(page) for name in re.findall(r"`(\w+)`", names)]
    listed = [(file, name) for file, name, _ in rows] + items
    defined = {(file, name) for file, text in sources.items() for name in constants(text)}
    for file, name in sorted(defined - set(listed)):
        yield f"{file}: {name} is not in {PAGE}"
    for file, name in sorted({one for one in listed if listed.count(one) > 1}):
        yield f"{PAGE}: {name} of {file} is there twice"
    for file, name in items:
        if not re.search(rf"\b{name}\b", sources.get(file, "")):
            yield f"{PAGE}: {file} has no {name}"
    for file, name, value in rows:
        if not has_value(sources.get(file, ""), name, value):
            yield f"{PAGE}: {name} of {file} is not {value}"


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *ROOMS], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                            check=True).stdout.split()
    sources = {name: (ROOT / name).read_text(errors="replace") for name in listed
               if name.endswith((".c", ".h", ".py")) and (ROOT / name).exists()}
    found = list(problems((ROOT / PAGE).read_text(), sources))
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
