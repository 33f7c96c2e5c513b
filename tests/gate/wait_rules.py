"""Finds waits with a clock of their own in the tests: `python tests/gate/wait_rules.py [FILE]...`, all tests without FILEs.

What must happen is waited for with waits.py of tests/support, waits.h of tests/unit or waits.ts of tests/vscode/lib; how long
something takes is for tools/bench. A line that has to know the time nevertheless says why: `# timed: …`, in C and TypeScript
`/* timed: … */`. Files from before this rule may have as many such lines as wait_rules.toml says, and no file may have fewer:
then the number there is lowered.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_suffix(".toml")
MARK = "timed: "
# What is debugged, measured or left alone for long, and the one place that may sleep.
EXEMPT = re.compile(r"^tests/(bench|fuzz|soak|unit/data|vscode/(workspace|node_modules)|[a-z]+/programs)/|/waits\.(py|h|ts)$|"
                    r"^tests/agent/(debuggees?|debugpy_tasks|debugpy_worker|like_programs)\.py$|^tests/support/agent_program\.py$")
CLOCKS = {"monotonic", "perf_counter", "monotonic_ns", "perf_counter_ns"}
WAITS = {"wait", "join", "settimeout", "result", "communicate", "create_connection", "wait_until", "wait_for", "wait_event"}
# Methods that take their limit as this argument.
POSITIONS = {"stopped": 0, "wait_end": 0, "error": 1, "expect": 1, "response": 1, "result": 1, "wait_first": 1, "wait_for": 1,
             "ok": 2, "request": 2, "step": 2, "wait_event": 2}
TEXT = {".c": r"\b(usleep|nanosleep|uv_sleep|sleep_ms|sleep) *\(", ".h": r"\b(usleep|nanosleep|uv_sleep|sleep_ms|sleep) *\(",
        ".ts": r"\b(waitForTimeout|setTimeout)\(|\btimeout: *\d"}


def is_number(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def reads_clock(node):
    return any(isinstance(each, ast.Call) and getattr(each.func, "attr", "") in CLOCKS for each in ast.walk(node))


def is_upper_bound(compare):
    """Whether a duration must be less than something: after the clock was read, or of what it was subtracted from."""
    sides = [compare.left, *compare.comparators]
    return any(reads_clock(small) and isinstance(small, ast.BinOp)
               for left, op, right in zip(sides, compare.ops, sides[1:])
               for small in ([left] if isinstance(op, (ast.Lt, ast.LtE)) else [right] if isinstance(op, (ast.Gt, ast.GtE)) else []))


def breaches(node):
    """What is wrong with this node: none or more."""
    if isinstance(node, ast.Assert):
        if any(isinstance(each, ast.Compare) and is_upper_bound(each) for each in ast.walk(node.test)):
            yield "a duration is asserted"
    if not isinstance(node, ast.Call):
        return
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name == "sleep" and getattr(getattr(node.func, "value", None), "id", "") == "time":
        yield "time.sleep"
    is_method = isinstance(node.func, ast.Attribute)
    position = POSITIONS.get(name) if is_method else None
    if any(each.arg == "timeout" and is_number(each.value) for each in node.keywords):
        yield "a timeout with a number"
    elif position is not None and position < len(node.args) and is_number(node.args[position]):
        yield f"{name}() with a number"
    elif name in WAITS and is_method and len(node.args) == 1 and is_number(node.args[0]) and node.args[0].value:
        yield f"{name}() with a number"


def find_python(text):
    for node in ast.walk(ast.parse(text)):
        for what in breaches(node):
            yield node.lineno, what


def find_text(text, pattern):
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.search(pattern, re.sub(r"//.*|/\*.*?\*/", "", line)):
            yield number, found[0].rstrip("( ")


def find(path, text):
    """(line, what) of each breach."""
    found = find_python(text) if path.suffix == ".py" else find_text(text, TEXT[path.suffix])
    lines = text.splitlines()
    return sorted((number, what) for number, what in found if MARK not in lines[number - 1])


def test_files():
    for path in sorted(ROOT.glob("tests/**/*")):
        if path.suffix in (".py", *TEXT) and not EXEMPT.search(str(path.relative_to(ROOT))):
            yield path


def main(names):
    allowed, code = tomllib.loads(ALLOWED.read_text()), 0
    paths = [Path(name).resolve() for name in names] or list(test_files())
    for path in paths:
        name = str(path.relative_to(ROOT))
        found, most = find(path, path.read_text()), allowed.pop(name, 0)
        if len(found) > most:
            code = 1
            for number, what in found:
                print(f"{name}:{number}: {what}")
        elif len(found) < most:
            code = 1
            print(f"{name}: {len(found)} are left, {most} in {ALLOWED.name}: lower that")
    if not names and allowed:
        code = 1
        print(f"{ALLOWED.name} has what is no test: {', '.join(allowed)}")
    if code:
        print("tests wait by tests/support/waits.py, tests/unit/waits.h, tests/vscode/lib/waits.ts (CONTRIBUTING.md); a line that must know the time says `timed: why`")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
