"""Checks that docs/why.md lists each `code` that `raydbg why` gives, and no other: `python tests/gate/why_codes.py`.

The codes are the literals in the second argument of why_report_cause(), and those of the tables from which that is taken.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/why.md"
ROOMS = ("relay/why", "relay/why_records")
LIST = re.compile(r"^`code` is stable, so that a program can use it: (.*?)Ray's own name", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"\bwhy_report_cause\(\s*\w+,([^,]*),")
CODE = re.compile(r'"([a-z_]+)"')
# What a call takes from elsewhere: a table of this page, Ray's own name, and what the report, or another relay's, has already.
OTHERS = {"end.code", "end->code", "scheduling_states[i].code", "ray_error_type_name(type)", "report->code", "const char *code",
          "good_code_of(string_in(root"}
TABLES = {"relay/why_records/process_end.c": re.compile(r'^    \{(?:NULL|"\w+"), "[^"]*", [A-Z_0-9]+, "([a-z_]+)",', re.MULTILINE),
          "relay/why/why_resources.c": re.compile(r'^    \{"[A-Z_]+", "([a-z_]+)",', re.MULTILINE)}


def codes(file, text):
    """The codes that a source file gives, and what of its calls this does not understand."""
    found, strange = set(TABLES[file].findall(text) if file in TABLES else ()), []
    for argument in (argument.strip() for argument in CALL.findall(text)):
        if argument in OTHERS:
            continue
        literals = CODE.findall(argument)
        found.update(literals)
        if not literals:
            strange.append(argument)
    return found, strange


def problems(page, sources):
    """What is wrong with the page; `sources` is the text of each file by its name."""
    listed = re.findall(r"`([a-z_]+)`", "".join(LIST.findall(page)))
    given = set()
    for file, text in sorted(sources.items()):
        found, strange = codes(file, text)
        given |= found
        for argument in strange:
            yield f"{file}: why_report_cause() takes its code from {argument}, which tests/gate/why_codes.py does not know"
        if file in TABLES and not TABLES[file].search(text):
            yield f"{file}: it has no table of codes"
    for code in sorted(given - set(listed)):
        yield f"{PAGE}: the code {code} is not in the list"
    for code in sorted(set(listed) - given):
        yield f"{PAGE}: no report has the code {code}"
    for code in sorted({code for code in listed if listed.count(code) > 1}):
        yield f"{PAGE}: the code {code} is there twice"


def main():
    files = sorted(file for room in ROOMS for file in (ROOT / room).glob("*.c"))
    sources = {str(file.relative_to(ROOT)): file.read_text() for file in files}
    found = list(problems((ROOT / PAGE).read_text(), sources))
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
