#!/usr/bin/env python3
"""Plants single-line faults, one at a time, and says which the tests notice. README.md has the rest."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from draw import ROOT, Fault, draw

STATE = ROOT / "artifacts/faults"
TREE = STATE / "tree"
BINARY = "build-asan/raydbg"
LIMIT_S = 900  # for one step; a fault that hangs is noticed, too
MEASURING = ("relay_flow", "relay_soak", "large_cluster", "load")  # these need a build without sanitizers, which has no fault


def run(argv, log, cwd=TREE, limit=LIMIT_S, **env):
    """The exit code; 124 if it did not end in time."""
    log.write(f"$ {' '.join(map(str, argv))}\n")
    log.flush()
    process = subprocess.Popen(argv, cwd=cwd, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **env},
                               start_new_session=True)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return 124


def heavy(options, *argv):
    return [*options.wrapper.split(), *argv]


def prepare(options, log):
    """A worktree of the commit, beside the user's own, built without a fault."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    if not TREE.exists():
        subprocess.run(["git", "worktree", "add", "--detach", TREE, commit], cwd=ROOT, check=True, stdout=log, stderr=log)
    subprocess.run(["git", "checkout", "--quiet", "--detach", "--force", commit], cwd=TREE, check=True)
    for link in (".venv", ".venvs"):
        if not (TREE / link).exists() and (ROOT / link).exists():
            (TREE / link).symlink_to((ROOT / link).resolve())
    if run(heavy(options, "tools/build", "asan"), log, limit=7200) != 0:
        sys.exit(f"the tree does not build: {log.name}")


def tests_of(room):
    done = subprocess.run([TREE / "tools/affected", room], cwd=TREE, stdout=subprocess.PIPE, text=True, check=True)
    paths = done.stdout.split()
    return [path for path in paths if path.endswith(".c")], [path for path in paths if path.endswith(".py")]


def build(options, units, log):
    targets = ["raydbg", *(Path(path).stem for path in units)]
    return run(heavy(options, "cmake", "--build", "build-asan", "--target", *targets), log)


def unit_tests(options, units, log):
    if not units:
        return 0
    names = "|".join(f"^{Path(path).stem}$" for path in units)
    return run(heavy(options, "ctest", "--test-dir", "build-asan", "-R", names, "--timeout", "120", "--stop-on-failure",
                     "--output-on-failure"), log)


def conversations(options, paths, log, *more):
    left_out = [f"tests/conversations/test_{name}.py" for name in MEASURING]
    paths = [path for path in paths if path not in left_out]
    if not paths:
        return 0
    more = [*more, *(f"--ignore={path}" for path in left_out)]
    argv = [".venv/bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout", "300", *more, *paths]
    return run(heavy(options, *argv), log, limit=LIMIT_S * 3, RAYDBG=str(TREE / BINARY))


def failed_tests(path):
    return [line.split()[1] for line in Path(path).read_text().splitlines() if line.startswith(("FAILED ", "ERROR tests/"))]


def notice(options, fault, log):
    """Which tests notice the fault, or None."""
    units, files = tests_of(str(Path(fault.path).parent))
    code = build(options, units, log)
    if code == 124:
        raise SystemExit("the build did not end")
    if code != 0:
        return "the compiler"
    if unit_tests(options, units, log) != 0:
        return "unit tests"
    for which, paths in (("the room's conversations", files), ("all conversations", ["tests/conversations"])):
        if which == "all conversations" and options.near:
            return None
        if conversations(options, paths, log, *(["-n", "3"] if paths == ["tests/conversations"] else [])) != 0:
            log.flush()
            again = failed_tests(log.name)[-1:]
            if not again:
                raise SystemExit(f"no test ran: {log.name}")
            if conversations(options, again, log) != 0:
                return f"{which}: {again[0]}"
    return None


def find_line(fault, lines):
    """Where the fault's line is now: others may have come before it since the faults were drawn. None: it is gone."""
    same = [number for number, line in enumerate(lines) if line == fault.before]
    same = [number for number in same if number and lines[number - 1] == fault.above] or (same if fault.before != "{" else [])
    return min(same, key=lambda number: abs(number - fault.line + 1), default=None)


def plant(fault):
    """Gives what takes the fault out again; None if its line is gone."""
    path = TREE / fault.path
    text = path.read_text()
    lines = text.split("\n")
    number = find_line(fault, lines)
    if number is None:
        return None
    lines[number] = fault.after
    path.write_text("\n".join(lines))
    return lambda: path.write_text(text)


def load(path, options):
    """The faults, drawn once, here or beside this file, and what is known of each by its name."""
    found = next((one for one in (path, Path(__file__).resolve().parent / path.name) if one.exists()), None)
    if not found:
        return draw(options.seed, options.count), {}
    known = json.loads(found.read_text())
    return [Fault(**fault) for fault in known["faults"]], known["results"]


def save(path, faults, results):
    path.write_text(json.dumps({"faults": [vars(fault) for fault in faults], "results": results}, indent=1))


def report(faults, results):
    for fault in faults:
        result = results.get(fault.name)
        said = "not run" if result is None else result["noticed"] and f"noticed by {result['noticed']}" or "SURVIVED"
        print(f"{fault.name}: {said}\n  - {fault.before.strip()}\n  + {fault.after.strip()}")
    done = [results[fault.name] for fault in faults if fault.name in results]
    print(f"{len(faults)} faults, {len(done)} run, {sum(bool(one['noticed']) for one in done)} noticed")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("draw", "run", "report"))
    parser.add_argument("--seed", type=int, default=29)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", default="", help="faults whose name has this text")
    parser.add_argument("--near", action="store_true", help="the tests of the fault's room only")
    parser.add_argument("--wrapper", default="", help="a command in front of each that takes the processor")
    options = parser.parse_args()
    STATE.mkdir(parents=True, exist_ok=True)
    state = STATE / f"seed-{options.seed}.json"
    faults, results = load(state, options)
    if options.what == "draw":
        faults, results = draw(options.seed, options.count), {}
    if options.what == "run":
        with open(STATE / "prepare.log", "w") as log:
            prepare(options, log)
        for number, fault in enumerate(faults, 1):
            known = results.get(fault.name)
            if options.only not in fault.name or (known and (known["noticed"] or options.near or known["all"])):
                continue
            began, restore = time.monotonic(), plant(fault)
            if not restore:
                print(f"{number:2} {fault.name}: its line is gone", flush=True)
                continue
            try:
                with open(STATE / f"{number:02}.log", "w") as log:
                    noticed = notice(options, fault, log)
            finally:
                restore()
            results[fault.name] = {"noticed": noticed, "all": not options.near}
            save(state, faults, results)
            print(f"{number:2} {fault.name}: {noticed or 'SURVIVED'} ({time.monotonic() - began:.0f} s)", flush=True)
    report(faults, results)


if __name__ == "__main__":
    main()
