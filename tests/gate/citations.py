"""Checks that each citation of docs/facts leads to an anchor there: `python tests/gate/citations.py`."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CITATION = re.compile(r"(docs/facts/[a-z]+\.md)#([0-9a-z]+(?:\.[0-9]+)?)")
SUFFIXES = (".c", ".h", ".py", ".proto")


def problems(sources, page):
    """A line for each citation in `sources`, texts by file, that leads nowhere; page(file) is a text of docs/facts, or ""."""
    for file, text in sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            for cited, anchor in CITATION.findall(line):
                if f'<a id="{anchor}"></a>' not in page(cited):
                    yield f"{file}:{number}: {cited} has no anchor {anchor}"


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if name.endswith(SUFFIXES) and not name.startswith("docs/")]
    found = list(problems({name: (ROOT / name).read_text(errors="replace") for name in names if (ROOT / name).is_file()},
                          lambda name: (ROOT / name).read_text() if (ROOT / name).is_file() else ""))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
