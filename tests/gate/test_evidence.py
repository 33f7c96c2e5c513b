"""What is kept of a failed test, and what is not."""

import os
import subprocess
import sys
import time
from pathlib import Path

import evidence
import pytest

SUPPORT = Path(__file__).resolve().parent.parent / "support"

TOKEN = "0123456789abcdef" * 4
TEST = "tests/conversations/test_x.py::test_y[a b]"


class Source:
    """Whose files are those of a directory, logs and others."""

    def __init__(self, directory):
        self.directory = directory

    def evidence_files(self, since):
        return [(path.name, path) for path in sorted(self.directory.glob("*.log"))]

    def secrets(self):
        return evidence.secrets_in(self.directory)


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    """In a test of its own, whose evidence goes into tmp_path."""
    monkeypatch.setenv("RAYDBG_TEST_ARTIFACTS", str(tmp_path / "artifacts"))
    recorder = evidence.Recorder()
    monkeypatch.setattr(evidence, "recorder", recorder)
    recorder.begin(TEST)
    yield recorder
    recorder.end()


@pytest.fixture
def source(tmp_path):
    (tmp_path / "state").mkdir()
    return Source(tmp_path / "state")


def copied(recorder, source):
    """What there was to say, and by name the files that are there now."""
    said = recorder.copy([("relay-1", source)], "call failed")
    return said, {path.name: path.read_bytes() for path in recorder.directory.rglob("*") if path.is_file()}


def test_logs_and_the_machine_are_kept(recorder, source):
    (source.directory / "stderr.log").write_text("ready\n")
    said, files = copied(recorder, source)
    assert said == [] and files["stderr.log"] == b"ready\n"
    assert recorder.directory == evidence.top() / "conversations-test_x.py-test_y-a-b"
    text = files["machine.txt"].decode()
    for word in (f"{TEST}: call failed", "loadavg ", "cpu some avg10=", "memory some", "io some", "MB free of", "MemAvailable",
                 "in that time something waited for", "CPU, memory, pid, program:"):
        assert word in text, text


def test_no_secret_is_kept(recorder, source):
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"
    (source.directory / "token").write_text(TOKEN[:20] + "\n")
    (source.directory / "relay.json").write_text('{"port": 1, "key": "a short one"}')
    (source.directory / "ca.key").write_text(key)
    (source.directory / "a.log").write_text(
        f"given {TOKEN[:20]}, {TOKEN} and a short one\nAuthorization: Bearer x.y-z\nRAY_AUTH_TOKEN=abc def\n{key}end\n")
    _, files = copied(recorder, source)
    assert set(files) == {"a.log", "machine.txt"}
    removed = "[removed]"
    assert files["a.log"].decode() == (f"given {removed}, {removed} and {removed}\nAuthorization: Bearer {removed}\n"
                                       f"RAY_AUTH_TOKEN={removed} def\n{removed}\nend\n")


def test_ids_of_ray_are_no_secrets():
    text = b"worker " + b"ab" * 28 + b" object " + b"cd" * 28
    assert evidence.clean(text, ()) == text


def test_arguments_with_secrets_are_not_listed():
    with subprocess.Popen([sys.executable, "-c", "input()", f"RAY_AUTH_TOKEN={TOKEN}", TOKEN], stdin=subprocess.PIPE) as process:
        text = evidence.processes()[process.pid][2]
        process.stdin.close()
    assert text == f"{sys.executable} -c"


def test_only_the_end_of_a_long_file_is_kept(recorder, source):
    (source.directory / "a.log").write_text("".join(f"line {n}\n" for n in range(100_000)))
    _, files = copied(recorder, source)
    lines = files["a.log"].decode().splitlines()
    assert len(files["a.log"]) <= evidence.MOST_OF_A_FILE + 100 and lines[-1] == "line 99999"
    assert "are left out" in lines[0] and lines[1].startswith("line ")


def test_a_test_has_only_so_much_room(recorder, source, monkeypatch):
    monkeypatch.setattr(evidence, "MOST_OF_A_TEST", 250)
    for name in "xyz":
        (source.directory / f"{name}.log").write_text(name * 100)
    said, files = copied(recorder, source)
    assert set(files) == {"x.log", "y.log", "machine.txt"} and said == ["relay-1: 1 files are left out, there is no more room"]


def test_all_tests_have_only_so_much_room(recorder, source, monkeypatch):
    (source.directory / "a.log").write_text("a")
    evidence.top().mkdir(parents=True)
    (evidence.top() / "other").write_bytes(bytes(1000))
    monkeypatch.setattr(evidence, "MOST", 1000)
    said, files = copied(recorder, source)
    assert set(files) == {"machine.txt"} and "no logs are copied" in files["machine.txt"].decode() and said


def test_what_is_no_file_is_left_out(recorder, source):
    os.mkfifo(source.directory / "a.log")
    (source.directory / "b.log").symlink_to("/etc/passwd")
    (source.directory / "c.log").write_text("c")
    said, files = copied(recorder, source)
    assert files["c.log"] == b"c" and "b.log" not in files and len(said) == 1


def test_a_rerun_has_a_directory_of_its_own(recorder, source):
    copied(recorder, source)
    first = recorder.directory
    copied(recorder, source)
    assert recorder.directory == first
    recorder.begin(TEST)
    copied(recorder, source)
    assert recorder.directory.name == first.name + "-2"


def test_a_long_name_is_cut():
    names = {evidence.directory_name("test[" + "x" * n + "-end]") for n in (300, 301)}
    assert len(names) == 2 and all(len(name) <= 150 and name.endswith("-end") for name in names)


def test_old_files_of_a_cluster_are_left_out(tmp_path):
    for name, age in ("old", 100), ("new", 0):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    assert evidence.newer(tmp_path.iterdir(), time.time() - 10) == [tmp_path / "new"]


# --- in a run of pytest ---

CONFTEST = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
import evidence
def pytest_configure(config):
    evidence.register(config)
"""

PROGRAM = """
import evidence, pytest
from pathlib import Path

class Relay:
    def __init__(self, directory, fails=False):
        self.directory, self.fails = directory, fails
        directory.mkdir()
        (directory / "stderr-1").write_text("why")
        evidence.watch(self)
    def evidence_files(self, since):
        if self.fails:
            raise RuntimeError("planted")
        return [("stderr-1", self.directory / "stderr-1")]
    def secrets(self):
        return set()
    def close(self):
        evidence.remove_later(self.directory)

def test_in_the_test(tmp_path):
    relay = Relay(tmp_path / "state")
    relay.close()
    assert relay.directory.exists()
    Path("closed").write_text(str(relay.directory))
    assert False, "planted failure"

def test_it_is_gone_afterwards():
    assert not Path(Path("closed").read_text()).exists()
    evidence.note("something to know")

@pytest.fixture
def ends_badly(tmp_path):
    relay = Relay(tmp_path / "state")
    yield
    relay.close()
    raise AssertionError("planted in the teardown")

def test_in_the_teardown(ends_badly):
    pass

def test_evidence_that_fails(tmp_path):
    Relay(tmp_path / "state", fails=True)
    assert False, "planted failure"
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_planted.py").write_text(PROGRAM)

    def run(*arguments, **env):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, tmp_path], cwd=tmp_path,
                              env={**clean, "RAYDBG_TEST_ARTIFACTS": str(tmp_path / "artifacts"), **env},
                              stdout=subprocess.PIPE, text=True).stdout
    return run


@pytest.mark.parametrize("arguments", [(), ("-n", "1")])
def test_failed_tests_of_a_run_leave_evidence(run, tmp_path, arguments):
    out = run(*arguments)
    assert "2 failed, 2 passed, 1 error" in out, out
    assert "test_it_is_gone_afterwards: something to know" in out and "evidence of 3 tests: " in out
    assert "planted failure" in out and "planted in the teardown" in out
    assert "relay-1: RuntimeError: planted" in out
    kept = {str(path.relative_to(tmp_path / "artifacts/evidence")) for path in (tmp_path / "artifacts").rglob("*") if path.is_file()}
    assert kept == {"test_planted.py-test_in_the_test/machine.txt", "test_planted.py-test_in_the_test/relay-1/stderr-1",
                    "test_planted.py-test_in_the_teardown/machine.txt", "test_planted.py-test_in_the_teardown/relay-1/stderr-1",
                    "test_planted.py-test_evidence_that_fails/machine.txt"}


def test_where_nothing_can_be_written_the_failure_is_as_it_was(run):
    out = run(RAYDBG_TEST_ARTIFACTS="/proc/nowhere")
    assert "2 failed, 2 passed, 1 error" in out and "there is none: FileNotFoundError" in out, out
