#!/usr/bin/env python3
"""Runs the tests of a stage with a time limit, and what failed again, twice: see reruns.py.

    run_stage.py [--stage NAME] [--limit SECONDS] pytest -- ARGUMENT...    of pytest; --suite is its table of tiers.toml
    run_stage.py [--stage NAME] [--limit SECONDS] ctest -- ARGUMENT...     of ctest
    run_stage.py [--stage NAME] [--limit SECONDS] files -- COMMAND... -- FILE...
                                            runs COMMAND FILE..., which writes the files that failed to $GATE_RECORD

All of it in the project's root, or in --root. The directory of the run is $RAYDBG_TEST_ARTIFACTS, by default artifacts/test.
Exit code 0: all passed, or what failed is flaky (a line `flaky …` for each, and one in flakes.jsonl there); 1: something failed
(a line in failed.jsonl there); 5: pytest has selected nothing.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import reruns

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NOTHING_SELECTED = 5


def run_directory():
    return Path(os.environ.get("RAYDBG_TEST_ARTIFACTS", ROOT / "artifacts/test"))


def take_interrupts():
    """Signals of the terminal work in the tests, which send them, also where a shell has started this in the background: there
    they are ignored, and each process below would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def run_limited(argv, limit, **options):
    """The exit code of a command, or None if it was ended because it took longer than `limit` seconds."""
    process = subprocess.Popen(argv, start_new_session=True, **options)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        print(f"{Path(argv[0]).name} took longer than the stage's {limit:.0f} s: it is ended", flush=True)
        for number in signal.SIGTERM, signal.SIGKILL:
            try:
                os.killpg(process.pid, number)
                process.wait(20)  # timed: this is the runner, not a test
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        return None
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        raise


def read_rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Runner:
    """Runs tests once, with `first`, and those that failed `again`: an exit code, None if the time was over, and the failures."""

    nothing = None  # the exit code for: nothing was selected

    def __init__(self, arguments, scratch, root):
        self.arguments = arguments
        self.scratch = scratch
        self.root = root
        self.output = None  # a file for what is printed; None: to where this process prints

    def first(self, limit):
        return self.run(self.arguments, 0, limit)

    def limited(self, argv, limit, env):
        return run_limited(argv, limit, env=env, cwd=self.root, stdout=self.output, stderr=self.output and subprocess.STDOUT)


class Pytest(Runner):
    # In a rerun each test is alone, and named. Each of these takes a value.
    DROPPED = ("-n", "--dist", "--tier", "--slice", "--part", "-k", "--deselect", "--durations", "--durations-min")

    nothing = NOTHING_SELECTED

    def __init__(self, arguments, scratch, root):
        super().__init__(arguments, scratch, root)
        path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
        self.env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, arguments, number, limit):
        record = self.scratch / str(number)
        argv = [sys.executable, "-m", "pytest", "-p", "gate_plugin", "--gate-record", str(record), *arguments]
        code = self.limited(argv, limit, self.env)
        return code, reruns.merge(read_rows(record))

    def again(self, ids, attempt, limit):
        names = self.scratch / f"ids-{attempt}"
        names.write_text("".join(f"{id}\n" for id in ids))
        return self.run([*self.kept(), "-n", "0", f"@{names}"], attempt, limit)

    def kept(self):
        """The first run's options, without what chooses and divides tests."""
        kept, skip = [], False
        for argument in self.arguments:
            name = argument.split("=", 1)[0]
            if skip:
                skip = False
            elif name in self.DROPPED:
                skip = "=" not in argument
            elif not (self.root / argument.split("::", 1)[0]).exists():
                kept.append(argument)
        return kept

    @staticmethod
    def is_sound(code):
        return code in (0, 1)


class Ctest(Runner):
    # "  3/166 Test  #12: test_dap_frame ...........***Failed    0.02 sec"
    LINE = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) \.+ *\*{3}([A-Za-z :]+?) +[\d.]+ sec", re.MULTILINE)
    PASSED = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) \.+ +Passed ", re.MULTILINE)
    COUNT = re.compile(r"^\d+% tests passed, (\d+) tests? failed out of \d+$", re.MULTILINE)
    ENV = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}

    def run(self, arguments, number, limit):
        log = self.scratch / str(number)
        argv = ["ctest", "--output-on-failure", "--no-tests=error", *arguments]
        tee = f'set -o pipefail; "$@" 2>&1 | tee {log}'
        code = self.limited(["bash", "-c", tee, "ctest", *argv], limit, {**os.environ, **self.ENV})
        return code, self.failures(log.read_text(errors="replace"))

    def passes(self, text):
        return self.PASSED.findall(text)

    def failures(self, text):
        found = list(self.LINE.finditer(text))
        count = self.COUNT.search(text)
        if count and int(count.group(1)) != len(found):
            raise SystemExit(f"ctest tells of {count.group(1)} failures, {len(found)} were found in what it printed")
        failures = []
        for match, following in zip(found, [*found[1:], None]):
            output = text[match.start():following.start() if following else len(text)]
            lines = [line for line in output.splitlines()[1:] if re.search(r"\[ *ERROR *\]|error:|assert", line)]
            hard = reruns.hard_text(output)
            failures.append({"id": match.group(1), "line": (lines or [match.group(2).strip()])[0].strip()[:300], "hard": hard,
                             **reruns.machine()})
        return reruns.merge(failures)

    def again(self, ids, attempt, limit):
        return self.run([*self.arguments, "-j", "1", "-R", "^(" + "|".join(map(re.escape, ids)) + ")$"], attempt, limit)

    @staticmethod
    def is_sound(code):
        return code in (0, 8)  # 8: some tests failed


class Files(Runner):
    """A command that takes names of files and writes which of them failed, as Recorder does; with `--again N` in a rerun."""

    def __init__(self, arguments, scratch, root):
        split = arguments.index("--")
        self.command = arguments[:split]
        super().__init__(arguments[split + 1:], scratch, root)

    def run(self, names, number, limit):
        record = self.scratch / str(number)
        env = {**os.environ, "GATE_RECORD": str(record)}
        code = self.limited([*self.command, *names], limit, env)
        return code, reruns.merge(read_rows(record))

    def again(self, ids, attempt, limit):
        return self.run([*ids, "--again", str(attempt)], attempt, limit)

    @staticmethod
    def is_sound(code):
        return code in (0, 1)


RUNNERS = {"pytest": Pytest, "ctest": Ctest, "files": Files}


def tell_failed(run, stage, failed):
    """Prints and notes pairs of a failure and why it counts."""
    for failure, reason in failed:
        print(f"FAILED {failure.id} - {failure.line} ({reason})")
        run.note_failed(stage, failure, reason)


def run_stage(runner, stage, limit, run):
    code, failures = runner.first(limit)
    if code == 0 or (code is not None and code == runner.nothing):
        return code
    if code is None or not runner.is_sound(code) or not failures:
        why = "not run again: " + ("the stage's time was over" if code is None else f"exit code {code}")
        tell_failed(run, stage, [(failure, why) for failure in failures])
        print(f"{stage}: {why}")
        return 1

    def rerun(ids, attempt):
        print(f"\n-- {stage}: rerun {attempt} of {reruns.PASSES}, alone: {len(ids)} of the tests that failed", flush=True)
        code, again = runner.again(ids, attempt, limit)
        if code is None or not runner.is_sound(code) or (code != 0 and not again):
            return None
        return again

    verdict = run.judge(stage, failures, rerun)
    tell_failed(run, stage, verdict.failed)
    for failure in verdict.flaky:
        print(f"flaky {failure.id}: {failure.line} (load {failure.load})")
    print(f"{stage}: {len(verdict.failed)} failed, {len(verdict.flaky)} flaky")
    return 1 if verdict.failed else 0


def main():
    take_interrupts()
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stage", default="stage")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for the first run, and for each rerun")
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("runner", choices=RUNNERS)
    options = parser.parse_args(sys.argv[1:split])
    with tempfile.TemporaryDirectory(prefix="raydbg-stage-") as scratch:
        runner = RUNNERS[options.runner](sys.argv[split + 1:], Path(scratch), options.root)
        sys.exit(run_stage(runner, options.stage, options.limit, reruns.Run(run_directory())))


if __name__ == "__main__":
    main()
