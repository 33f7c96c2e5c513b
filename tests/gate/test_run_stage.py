"""What becomes of failures: each is planted in a directory of its own and run as a stage of tools/test is."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waits import limit as limit_of

HERE = Path(__file__).resolve().parent
RUN_STAGE = HERE / "run_stage.py"
SUPPORT = HERE.parent / "support"


class Stage:
    """A directory of planted tests, and the runs of it."""

    def __init__(self, directory):
        self.directory = directory
        self.artifacts = directory / "artifacts"
        (directory / "conftest.py").write_text(f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n")

    def plant(self, text, name="test_planted.py"):
        path = self.directory / name
        path.write_text(text)
        return path

    def run(self, *arguments, limit=100, runner="pytest"):
        argv = [sys.executable, RUN_STAGE, "--stage", "planted", "--limit", str(limit), "--root", self.directory, runner, "--", *arguments]
        env = {**os.environ, "RAYDBG_TEST_ARTIFACTS": str(self.artifacts)}
        return subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit_of(100))

    def pytest(self, *arguments, **options):
        return self.run("-p", "no:cacheprovider", "-n", "2", *arguments, str(self.directory), **options)

    def rows(self, name):
        path = self.artifacts / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


# Fails in the first process that runs it and passes in others; each process leaves a file.
FLAKE = """
import os, pathlib
SEEN = pathlib.Path({seen!r})

def test_flake():
    first = not SEEN.exists()
    with SEEN.open("a") as file:
        file.write(f"{{os.getpid()}}\\n")
    assert not first, "planted: the first time it fails"

def test_sound():
    pass
"""


SIGNALS = """
import signal, subprocess

def test_signals():
    for number in signal.SIGINT, signal.SIGQUIT:
        sleep = subprocess.Popen(["sleep", "100"])
        sleep.send_signal(number)
        assert sleep.wait(50) == -number
"""


def test_signals_of_the_terminal_work_in_the_background(stage):
    stage.plant(SIGNALS)
    before = [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)]
    try:
        done = stage.pytest()
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGQUIT), before):
            signal.signal(number, handler)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("chooses", [(), ("--deselect", "nothing.py::of_this[name]"), ("-k", "flake or sound")])
def test_a_flake_is_reported_and_passes(stage, chooses):
    """What chooses the tests of the first run is not said in a rerun, where each is named."""
    seen = stage.directory / "seen"
    stage.plant(FLAKE.format(seen=str(seen)))
    done = stage.pytest(*chooses)
    assert done.returncode == 0, done.stdout
    assert len(set(seen.read_text().split())) == 3, "each rerun is a new process"
    [flake] = stage.rows("flakes.jsonl")
    assert flake["id"].endswith("test_planted.py::test_flake")
    assert "planted: the first time it fails" in flake["line"] and "load" in flake
    assert "\nflaky " in done.stdout and done.stdout.splitlines()[-1] == "planted: 0 failed, 1 flaky"


def test_a_failure_fails(stage):
    stage.plant("def test_wrong():\n    assert 1 == 2\n")
    done = stage.pytest()
    assert done.returncode == 1, done.stdout
    assert "rerun 1 of 2" in done.stdout and "failed again, alone" in done.stdout
    assert stage.rows("flakes.jsonl") == []
    [failed] = stage.rows("failed.jsonl")
    assert failed["id"].endswith("::test_wrong") and "1 == 2" in failed["line"] and "failed again, alone" in failed["reason"]


def test_half_a_race_is_no_flake(stage):
    """It passes in the first rerun and fails in the second."""
    count = stage.directory / "count"
    stage.plant(f"""
import pathlib
COUNT = pathlib.Path({str(count)!r})

def test_race():
    n = int(COUNT.read_text()) if COUNT.exists() else 0
    COUNT.write_text(str(n + 1))
    assert n == 1
""")
    done = stage.pytest()
    assert done.returncode == 1, done.stdout
    assert count.read_text() == "3"


GROUPS = """
import os, pathlib, pytest
SEEN = pathlib.Path({seen!r})

@pytest.mark.parametrize("number", range(8))
def test_of_a_group(number):
    with SEEN.open("a") as file:
        file.write(f"{{number % 2}} {{os.getpid()}}\\n")
    assert number or SEEN.read_text().count("\\n") > 8, "planted: the first time it fails"
"""
GROUPED = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xdist_group(f"cluster-{item.callspec.params['number'] % 2}"))
"""


def test_a_group_is_one_processs_and_no_part_of_an_id(stage):
    """xdist adds it to the ids; the groups of a conftest take effect only if they are there before."""
    seen = stage.directory / "seen"
    stage.plant(GROUPS.format(seen=str(seen)))
    with (stage.directory / "conftest.py").open("a") as file:
        file.write(GROUPED)
    done = stage.pytest("--dist", "loadgroup", "--no-loadscope-reorder")
    assert done.returncode == 0, done.stdout
    assert len({tuple(row.split()) for row in seen.read_text().splitlines()[:8]}) == 2, "one process for each group"
    [flake] = stage.rows("flakes.jsonl")
    assert flake["id"].endswith("test_planted.py::test_of_a_group[0]")


HARD = {
    "sanitizer": ("raise AssertionError('raydbg ended with 99; its stderr: ==7==ERROR: AddressSanitizer: heap-use-after-free')",
                  "a sanitizer's report"),
    "undefined": ("raise AssertionError('relay/hub.c:12:3: runtime error: signed integer overflow')", "a sanitizer's report"),
    "signal": ("raise AssertionError('raydbg ended with -11; its stderr:')", "a signal"),
    "double": ("raise AssertionError('next (7) was answered 2 times')", "a double answer"),
    "pause": ("raise AssertionError('20 x kill -9 of the relay: the pause is lost')", "a lost pause"),
    "crash": ("import os; os.kill(os.getpid(), 9)", "a signal"),
    "sanitizers.check": ("import sanitizers; sanitizers.check(99, 'ERROR: LeakSanitizer: detected memory leaks')", "a sanitizer's report"),
    "class": ("class Hard(AssertionError): pass\n    raise Hard('the task went on by itself')", "the task went on by itself"),
    "cause": ("class Hard(AssertionError): pass\n    try:\n        raise Hard('it went on')\n    finally:\n        assert 0", "it went on"),
}


@pytest.mark.parametrize("name", HARD)
def test_some_failures_are_never_run_again(stage, name):
    text, reason = HARD[name]
    count = stage.directory / "count"
    stage.plant(f"def test_hard():\n    open({str(count)!r}, 'a').write('x')\n    {text}\n")
    done = stage.pytest()
    assert done.returncode == 1, done.stdout
    assert count.read_text() == "x", "it ran once"
    assert f"not run again: {reason}" in done.stdout
    assert stage.rows("flakes.jsonl") == stage.rows("reruns.jsonl") == []


def test_a_hang_fails_at_its_own_limit(stage):
    stage.plant("import time\n\ndef test_hang():\n    time.sleep(600)\n\ndef test_sound():\n    pass\n")
    done = stage.pytest("--timeout", "2")
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout
    assert re.search(r"^FAILED .*test_hang - .*Timeout.*\(failed again, alone: .*Timeout", done.stdout, re.MULTILINE), done.stdout


def test_a_stage_that_hangs_is_ended(stage):
    stage.plant("import time\n\ndef test_hang():\n    time.sleep(600)\n")
    done = stage.pytest(limit=5)
    assert done.returncode == 1 and "the stage's time was over" in done.stdout, done.stdout


def test_more_than_eight_are_not_run_again(stage):
    stage.plant("import pytest\n\n@pytest.mark.parametrize('n', range(9))\ndef test_wrong(n):\n    assert n < 0\n")
    done = stage.pytest()
    assert done.returncode == 1 and "more than 8 tests of this stage failed" in done.stdout, done.stdout
    assert "rerun 1" not in done.stdout


def test_a_run_has_twelve_reruns(stage):
    stage.plant("import pytest\n\n@pytest.mark.parametrize('n', range(7))\ndef test_wrong(n):\n    assert n < 0\n")
    assert "failed again" in stage.pytest().stdout
    assert "more than 12 tests of this run failed" in stage.pytest().stdout


def test_what_cannot_be_collected_fails(stage):
    stage.plant("import nothing_of_this_name\n")
    done = stage.pytest()
    assert done.returncode == 1 and "rerun 1" not in done.stdout, done.stdout


def test_a_flaky_fixture_counts(stage):
    """A class's fixture is made anew in the rerun."""
    seen = stage.directory / "seen"
    stage.plant(f"""
import pathlib, pytest
SEEN = pathlib.Path({str(seen)!r})

@pytest.fixture(scope="module")
def cluster():
    first = not SEEN.exists()
    SEEN.touch()
    assert not first, "planted: it does not start"

def test_on_it(cluster):
    pass
""")
    done = stage.pytest()
    assert done.returncode == 0 and "1 flaky" in done.stdout, done.stdout


# --- ctest ---


@pytest.fixture
def ctest(stage):
    """ctest(name="shell command", …): a build directory with these tests."""
    def make(**tests):
        build = stage.directory / "build"
        build.mkdir()
        for name, command in tests.items():
            (build / f"{name}.sh").write_text(command + "\n")
        (build / "CTestTestfile.cmake").write_text("".join(f'add_test({name} "bash" "{build}/{name}.sh")\n' for name in tests))
        return lambda *arguments: stage.run("--test-dir", str(build), "-j", "2", *arguments, runner="ctest")
    return make


def test_ctest(stage, ctest):
    seen = stage.directory / "seen"
    flake = f"[ -e {seen} ] && exit 0; touch {seen}; echo '[  ERROR   ] --- planted'; exit 1"
    run = ctest(test_flake=flake, test_sound="exit 0")
    done = run()
    assert done.returncode == 0, done.stdout
    [row] = stage.rows("flakes.jsonl")
    assert row["id"] == "test_flake" and "planted" in row["line"]


@pytest.mark.parametrize(("command", "reason"), [
    ("exit 1", "failed again, alone"),
    ("echo '==1==ERROR: AddressSanitizer: stack-overflow'; exit 99", "not run again: a sanitizer's report"),
    ("kill -SEGV $$", "not run again: a signal"),
    ("echo 'Test failed with exception: Segmentation fault(11)'; exit 1", "not run again: a signal"),
    ("sleep 100", "failed again, alone"),
])
def test_ctest_failures(ctest, command, reason):
    done = ctest(test_wrong=command, test_sound="exit 0")("--timeout", "2")
    assert done.returncode == 1 and reason in done.stdout, done.stdout


# --- files ---


def test_files(stage):
    """A file that fails once is flaky; one that goes on failing is not."""
    stage.plant("""
import json, os, sys
names = sys.argv[1:]
again = "--again" in names
for name in names:
    if name == "always" or (name == "once" and not again):
        with open(os.environ["GATE_RECORD"], "a") as file:
            file.write(json.dumps({"id": name, "line": "planted", "hard": None}) + "\\n")
sys.exit("always" in names or ("once" in names and not again))
""", "command.py")
    command = [sys.executable, str(stage.directory / "command.py"), "--"]
    done = stage.run(*command, "once", "sound", runner="files")
    assert done.returncode == 0 and "flaky once: planted" in done.stdout, done.stdout
    done = stage.run(*command, "always", runner="files")
    assert done.returncode == 1 and "FAILED always - planted" in done.stdout, done.stdout
