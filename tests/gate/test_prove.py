"""--prove and --stress of tools/test: flakes are planted in a tree of its own and run beside busy loops."""

import os
import re
import subprocess
import sys
from pathlib import Path

import prove
import pytest
import tiers
from busy import busy
from waits import limit, wait_until

PROVE = Path(__file__).resolve().parent / "prove.py"


class Tree:
    """A directory with tests of some suites."""

    def __init__(self, root):
        self.root = root
        self.artifacts = root / "artifacts"

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def plant_unit(self, name, command):
        """A unit test of both builds, which runs this shell command."""
        self.plant(f"tests/unit/{name}.c", "")
        for build in prove.UNIT_BUILDS:
            script = self.root / self.plant(f"{build}/{name}.sh", command + "\n")
            self.plant(f"{build}/CTestTestfile.cmake", f'add_test({name} "bash" "{script}")\n')
        return name

    def run(self, command, *arguments):
        """The exit code, and what was printed."""
        argv = [sys.executable, PROVE, "--root", self.root, command, *arguments]
        env = {**os.environ, "RAYDBG_TEST_ARTIFACTS": str(self.artifacts), "RAYDBG_TEST_PATIENCE": "1"}
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(100))
        return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


# Fails in each third process that runs it.
FLAKE = """
import pathlib, pytest
COUNT = pathlib.Path(__file__).with_suffix(".count")

def test_flake():
    count = len(COUNT.read_text()) if COUNT.exists() else 0
    COUNT.write_text("x" * (count + 1))
    assert count % 3 != 2, "planted: each third time"

def test_sound():
    pass

@pytest.mark.skip(reason="planted")
def test_left_out():
    pass
"""


def test_prove_finds_a_flake(tree):
    name = tree.plant("tests/gate/test_planted.py", FLAKE)
    code, text = tree.run("prove", "--times", "4", name)
    assert code == 1, text
    assert "time limits x 3.0" in text
    assert "gate, 3 of 4: 1 passed, 1 failed" in text and "planted: each third time" in text
    assert text.splitlines()[-5:] == [
        "passed  failed  test",
        f"     3       1  {name}::test_flake",
        f"     0       0  {name}::test_left_out (skipped 4 times)",
        f"     4       0  {name}::test_sound",
        "1 of 3 tests did not pass each of 4 times"]
    [log] = (tree.artifacts / "prove").iterdir()
    assert log.name == "gate-3.log" and "planted: each third time" in log.read_text()


def test_prove_finds_a_flake_of_a_unit_test(tree):
    count = tree.root / "count"
    name = tree.plant_unit("test_base_planted", f"echo >>{count}; [ $(wc -l <{count}) != 3 ]")
    code, text = tree.run("prove", "--times", "2", f"tests/unit/{name}.c")
    assert code == 1, text
    assert text.splitlines()[-3:] == [f"     1       1  build: {name}", f"     2       0  build-asan: {name}",
                                      "1 of 2 tests did not pass each of 2 times"]


def test_what_is_sound_is_proven(tree):
    name = tree.plant("tests/gate/test_planted.py", "def test_sound():\n    pass\n")
    unit = tree.plant_unit("test_base_planted", "exit 0")
    code, text = tree.run("prove", "--times", "2", name, unit)
    assert code == 0, text
    assert "0 of 3 tests did not pass each of 2 times" in text
    assert list((tree.artifacts / "prove").iterdir()) == []


@pytest.mark.parametrize(("text", "said"), [
    ("import nothing_of_this_name\n", "ImportError while importing test module"),
    ("import os\n\ndef test_crash():\n    os._exit(3)\n", "the run failed: exit code 3"),
])
def test_what_does_not_run_is_not_proven(tree, text, said):
    code, printed = tree.run("prove", "--times", "1", tree.plant("tests/gate/test_planted.py", text))
    assert code == 1 and said in printed, printed


def test_stress_ends_at_the_first_failure(tree):
    name = tree.plant("tests/gate/test_planted.py", FLAKE)
    code, text = tree.run("stress", f"{name}::test_flake")
    assert code == 1, text
    assert re.search(r"^gate failed the 3\. time, after \d+ s: .*/stress/gate\.log$", text, re.MULTILINE), text
    assert "planted: each third time" in (tree.artifacts / "stress/gate.log").read_text()
    assert (tree.root / "tests/gate/test_planted.count").read_text() == "xxx"


def test_stress_keeps_the_evidence(tree):
    """Of a suite whose conftest keeps some."""
    support = PROVE.parent.parent / "support"
    tree.plant("tests/gate/conftest.py", f"import sys; sys.path.insert(0, {str(support)!r})\n"
               "import evidence\n\ndef pytest_configure(config):\n    evidence.register(config)\n")
    name = tree.plant("tests/gate/test_planted.py", FLAKE)
    code, text = tree.run("stress", f"{name}::test_flake")
    assert code == 1, text
    assert "call failed" in (tree.artifacts / "evidence/gate-test_planted.py-test_flake/machine.txt").read_text()


@pytest.mark.parametrize("end", [("--times", "2"), ("--seconds", "1")])
def test_stress_ends_where_it_was_told_to(tree, end):
    unit = tree.plant_unit("test_base_planted", "exit 0")
    code, text = tree.run("stress", *end, unit)
    assert code == 0 and re.search(r"^passed \d+ times in \d+ s$", text, re.MULTILINE), text


def test_stress_of_nothing_is_no_success(tree):
    name = tree.plant("tests/gate/test_planted.py", "")
    code, text = tree.run("stress", "--times", "2", name)
    assert code == 1 and "no test has run" in text, text


@pytest.mark.parametrize("arguments", [("prove", "tests/gate/test_none.py"), ("prove", "README.md"), ("stress", "test_none"),
                                       ("stress",), ("prove", "--times", "0")])
def test_wrong_arguments(tree, arguments):
    code, text = tree.run(*arguments)
    assert code == 2, text


def git(root, *arguments):
    identity = ("-c", "user.name=x", "-c", "user.email=x@localhost")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, stdout=subprocess.DEVNULL)


def test_the_files_that_differ(tree, monkeypatch):
    """What was changed since the base, committed or not, and what is new; not what is no test, or gone."""
    kept, gone, edited = (tree.plant(f"tests/conversations/test_{name}.py", "") for name in ("kept", "gone", "edited"))
    git(tree.root, "init", "-q")
    git(tree.root, "add", ".")
    git(tree.root, "commit", "-qm", "base")
    tree.plant(edited, "# edited\n")
    git(tree.root, "rm", "-q", gone)
    git(tree.root, "commit", "-qam", "change")
    new = [tree.plant("tests/unit/test_base_new.c", ""), tree.plant("tests/vscode/z-new.test.ts", "")]
    tree.plant("tests/conversations/conftest.py", "")
    monkeypatch.setattr(tiers, "ROOT", tree.root)
    monkeypatch.setenv("RAYDBG_BASE", "HEAD~1")
    assert prove.changed() == [edited, *new]
    monkeypatch.setenv("RAYDBG_BASE", "0123456")
    with pytest.raises(prove.Wrong, match="no commit 0123456"):
        prove.changed()
    monkeypatch.delenv("RAYDBG_BASE")
    assert prove.changed() == [edited, kept, *new], "all of it is of the last day"


def test_busy_loops_end_with_who_started_them(tmp_path):
    """Also if that is killed."""
    program = "import os, signal, busy\nwith busy.busy(2) as loops:\n" \
              "    print(*(loop.pid for loop in loops), flush=True)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=PROVE.parent, stdout=subprocess.PIPE, text=True, timeout=limit())
    for pid in done.stdout.split():
        wait_until(lambda pid=pid: not is_running(pid), "the loop ends")
    with busy(1) as [loop]:
        assert is_running(loop.pid)
    assert not is_running(loop.pid)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
