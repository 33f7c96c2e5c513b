#!/usr/bin/env python3
"""Runs tests again and again beside busy loops, two a core: a test that waits for a clock fails there sooner or later.

    prove.py suites [NAME]...                       the suites of these tests, one a line: what has to be built
    prove.py prove [--times N] [NAME]...            each N times (10); ends with a table of what passed and failed how often
    prove.py stress [--times N] [--seconds N] NAME  one until it fails, or until it has run so often or so long

A NAME is a test file, an id of pytest's, or the name of a unit test. Without a NAME: the test files that differ from the
base ($RAYDBG_BASE, else what was there a day ago), or are new. The tests' binaries are there already, built.

What a failed run has printed is in $RAYDBG_TEST_ARTIFACTS (artifacts/test), in prove/ or stress/; what pytest keeps of a failed
test is in evidence/ there. Exit code 0: all passed; 1: a test has failed, or did not run each time; 2: wrong arguments.
"""

import argparse
import contextlib
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import reruns
import tiers
from busy import A_CORE, busy, loop_count
from run_stage import NOTHING_SELECTED, ROOT, Ctest, Files, Pytest, run_directory, take_interrupts

TIMES = 10
# Beside the loops, a test has this share less of the CPU.
SLOWER = 1 + A_CORE
MOST_PATIENCE = 8
RUN_S = 3600  # only a hang of the runner itself takes so long
REPORT_S = 30

# The suites: what is in its files' names, the binary that they test, and the seconds that one test may take.
PYTEST = {"conversations": ("build-asan/raydbg", 300), "agent": ("build/raydbg", 120), "integration": ("build/raydbg", 400),
          "gate": ("build/raydbg", 120)}
UNIT_BUILDS = ("build", "build-asan")
UNIT_S = 120
SUITE_OF = re.compile(r"^tests/(?:(unit)/test_\w+\.c|(vscode)/[\w-]+\.test\.ts|(conversations|agent|integration|gate|packages)/test_\w+\.py)$")


class Wrong(Exception):
    """An argument that names nothing."""


def suite_of(name):
    """The suite of a NAME, or None."""
    found = SUITE_OF.match(name.split("::", 1)[0])
    return found and next(filter(None, found.groups()))


def named(name, root):
    """The NAME in its long form, a path of a file that is there and what follows it."""
    if re.fullmatch(r"test_\w+", name):
        name = f"tests/unit/{name}.c"
    path = name.split("::", 1)[0]
    if not suite_of(name) or not (root / path).is_file():
        raise Wrong(f"{name} is no test")
    return name


def changed():
    """The test files that differ from the base, and those that git does not know yet."""
    start = tiers.base()
    if start and not tiers.git("rev-parse", "--verify", "--quiet", start + "^{commit}"):
        raise Wrong(f"RAYDBG_BASE: there is no commit {start}")
    names = tiers.git("diff", "--name-only", start).splitlines() if start else tiers.git("ls-files").splitlines()
    names += tiers.git("ls-files", "--others", "--exclude-standard").splitlines()
    return sorted({name for name in names if suite_of(name) and (tiers.ROOT / name).is_file()})


def patience():
    return float(os.environ.get("RAYDBG_TEST_PATIENCE") or 1)


def take_patience():
    """Time limits, here and in all tests, that suit the loops."""
    os.environ["RAYDBG_TEST_PATIENCE"] = f"{max(1, min(MOST_PATIENCE, patience() * SLOWER)):.1f}"


@dataclass
class Outcome:
    """Of one run: the ids that passed and were skipped, a Failure for each that failed, and what was wrong with the run."""
    passed: set = field(default_factory=set)
    skipped: set = field(default_factory=set)
    failures: list = field(default_factory=list)
    problem: str | None = None


class Subject:
    """Tests that one command runs. A subclass has `runner`, and tells what passed in `read_passed`."""

    def __init__(self, title, runner):
        self.title, self.runner = title, runner

    def run(self, number, log):
        """Runs them for the `number`th time; what they print goes to the file `log`."""
        with log.open("w") as self.runner.output:
            code, failures = self.runner.run(self.arguments(number), number, RUN_S * patience())
        outcome = Outcome(failures=failures)
        if code == 0 or failures:
            self.read_passed(number, outcome)
        elif code != NOTHING_SELECTED:
            outcome.problem = "it took too long" if code is None else f"exit code {code}"
        return outcome


class PytestSubject(Subject):
    def __init__(self, suite, names, scratch, root):
        binary, seconds = PYTEST[suite]
        super().__init__(suite, Pytest(names, scratch, root))
        self.runner.env["RAYDBG"] = str(root / binary)
        self.options = ["-p", "no:cacheprovider", "--color=no", "-n", "0", "--timeout", str(int(seconds * patience()))]

    def outcomes(self, number):
        return self.runner.scratch / f"outcomes-{number}"

    def arguments(self, number):
        return [*self.options, "--gate-outcomes", str(self.outcomes(number)), *self.runner.arguments]

    def read_passed(self, number, outcome):
        failed = {failure.id for failure in outcome.failures}
        with contextlib.suppress(FileNotFoundError):
            for line in self.outcomes(number).read_text().splitlines():
                what, id = line.split(" ", 1)
                if id not in failed:
                    getattr(outcome, what).add(id)


class UnitSubject(Subject):
    def __init__(self, build, names, scratch, root):
        pattern = "^(" + "|".join(Path(name).stem for name in names) + ")$"
        super().__init__(f"unit, {build}", Ctest(["--test-dir", build, "-j", "1", "-R", pattern], scratch, root))
        self.build = build

    def arguments(self, number):
        return [*self.runner.arguments, "--timeout", str(int(UNIT_S * patience()))]

    def read_passed(self, number, outcome):
        text = (self.runner.scratch / str(number)).read_text(errors="replace")
        outcome.passed = {f"{self.build}: {name}" for name in self.runner.passes(text)}
        for failure in outcome.failures:
            failure.id = f"{self.build}: {failure.id}"


class EditorSubject(Subject):
    COMMAND = (sys.executable, "tests/vscode/run.py", "build/vsix", "build/raydbg", "--")

    def __init__(self, names, scratch, root):
        super().__init__("vscode", Files([*self.COMMAND, *names], scratch, root))

    def arguments(self, number):
        return self.runner.arguments

    def read_passed(self, number, outcome):
        outcome.passed = set(self.runner.arguments) - {failure.id for failure in outcome.failures}


def subjects(names, scratch, root):
    """What runs these tests: one for each suite, for the unit tests one for each build."""
    by_suite = {}
    for name in names:
        by_suite.setdefault(suite_of(name), []).append(name)
    made = []
    for suite, of_suite in by_suite.items():
        def directory_for(title):
            directory = scratch / title
            directory.mkdir()
            return directory
        if suite == "unit":
            made += [UnitSubject(build, of_suite, directory_for(build), root) for build in UNIT_BUILDS]
        elif suite == "vscode":
            made.append(EditorSubject(of_suite, directory_for(suite), root))
        elif suite in PYTEST:
            made.append(PytestSubject(suite, of_suite, directory_for(suite), root))
        else:
            print(f"not run: {', '.join(of_suite)} (tools/test {suite})", flush=True)
    return made


def file_name(title):
    return re.sub(r"[^\w-]+", "-", title)


def first_lines(outcome):
    return [f"  FAILED {failure.id} - {failure.line}" for failure in outcome.failures] \
        + ([f"  the run failed: {outcome.problem}"] if outcome.problem else [])


class Counts:
    """How often each test passed, failed and was skipped."""

    def __init__(self):
        self.rows = {}

    def add(self, outcome):
        for index, ids in enumerate((outcome.passed, {failure.id for failure in outcome.failures}, outcome.skipped)):
            for id in ids:
                self.rows.setdefault(id, [0, 0, 0])[index] += 1

    def unsound(self, times):
        """Those that failed, or did not run each time."""
        return [id for id, (passed, failed, skipped) in self.rows.items() if failed or passed + skipped < times]

    def table(self):
        rows = sorted(self.rows.items(), key=lambda row: (-row[1][1], row[1][0], row[0]))
        return ["passed  failed  test"] + [f"{passed:6d}  {failed:6d}  {id}" + (f" (skipped {skipped} times)" if skipped else "")
                                           for id, (passed, failed, skipped) in rows]


def prove(tests, times, directory):
    counts, problems = Counts(), 0
    for number in range(1, times + 1):
        for subject in tests:
            log = directory / f"{file_name(subject.title)}-{number}.log"
            begin = time.monotonic()
            outcome = subject.run(number, log)
            counts.add(outcome)
            problems += outcome.problem is not None
            said = first_lines(outcome)
            print(f"{subject.title}, {number} of {times}: {len(outcome.passed)} passed, {len(outcome.failures)} failed"
                  f" ({time.monotonic() - begin:.0f} s, load {reruns.machine()['load']})" + (f": {log}" if said else ""))
            print(*said, sep="\n", end="\n" if said else "", flush=True)
            if not said:
                log.unlink()
    print("", *counts.table(), sep="\n")
    unsound = counts.unsound(times)
    print(f"{len(unsound)} of {len(counts.rows)} tests did not pass each of {times} times"
          + (f", and {problems} runs failed" if problems else ""))
    return 1 if unsound or problems else 0


def stress(tests, times, seconds, directory):
    """Until one fails. `times` and `seconds` are limits, or None."""
    begin = reported = time.monotonic()
    number = 0
    while (times is None or number < times) and (seconds is None or time.monotonic() < begin + seconds):
        number += 1
        for subject in tests:
            log = directory / f"{file_name(subject.title)}.log"
            outcome = subject.run(number, log)
            said = first_lines(outcome)
            if not outcome.passed and not said:
                said = ["  no test has run"]
            if said:
                print(log.read_text(errors="replace"), *said, f"{subject.title} failed the {number}. time,"
                      f" after {time.monotonic() - begin:.0f} s: {log}", sep="\n")
                return 1
        if time.monotonic() > reported + REPORT_S:
            reported = time.monotonic()
            print(f"passed {number} times in {reported - begin:.0f} s", flush=True)
    print(f"passed {number} times in {time.monotonic() - begin:.0f} s")
    return 0


def positive(text):
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("suites").add_argument("names", nargs="*")
    proof = commands.add_parser("prove")
    proof.add_argument("--times", type=positive, default=TIMES)
    proof.add_argument("names", nargs="*")
    until = commands.add_parser("stress")
    until.add_argument("--times", type=positive)
    until.add_argument("--seconds", type=positive)
    until.add_argument("names", nargs=1)
    return parser.parse_args()


def run(options, names):
    directory = run_directory() / options.command
    directory.mkdir(parents=True, exist_ok=True)
    take_patience()
    with tempfile.TemporaryDirectory(prefix="raydbg-prove-") as scratch, busy(loop_count()) as loops:
        print(f"beside {len(loops)} busy loops; time limits x {patience():.1f}", flush=True)
        tests = subjects(names, Path(scratch), options.root)
        if options.command == "prove":
            return prove(tests, options.times, directory)
        return stress(tests, options.times, options.seconds, directory)


def main():
    take_interrupts()
    options = arguments()
    try:
        names = [named(name, options.root) for name in options.names] or changed()
    except Wrong as error:
        print(f"prove: {error}", file=sys.stderr)
        return 2
    if options.command == "suites":
        print(*sorted({suite_of(name) for name in names}), sep="\n")
        return 0
    if not names:
        print("no test file differs from the base")
        return 0
    return run(options, names)


if __name__ == "__main__":
    sys.exit(main())
