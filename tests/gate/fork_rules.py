"""Finds tests that fork their own process: `python tests/gate/fork_rules.py`.

gRPC's threads run in the process of the tests. A fork that runs Python before exec can abort or hang on their locks, so that
the program under test never runs: `preexec_fn` and pty.fork() do that. `setsid --ctty` and the streams of Popen do without.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORKS = {("os", "fork"), ("os", "forkpty"), ("pty", "fork")}


def find(text):
    """(line, what) of each fork."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        callee = (getattr(getattr(node.func, "value", None), "id", ""), getattr(node.func, "attr", ""))
        if callee in FORKS:
            yield node.lineno, ".".join(callee)
        if any(keyword.arg == "preexec_fn" for keyword in node.keywords):
            yield node.lineno, "preexec_fn"


def main():
    code = 0
    for path in sorted(ROOT.glob("tests/**/test_*.py")):
        for line, what in find(path.read_text()):
            code = 1
            print(f"{path.relative_to(ROOT)}:{line}: {what}: gRPC's threads may hold a lock; start another program with Popen")
    return code


if __name__ == "__main__":
    sys.exit(main())
