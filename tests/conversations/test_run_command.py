"""`raydbg break` and `raydbg run`. The agent and pydevd are real, without Ray."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sanitizers
from agent_by_hand import ByHand, debugged
from agent_process import KEY_ID
from agent_relay import relay, start  # noqa: F401
from fake_adapter import FakeAdapter
from fake_cluster import FakeCluster
from relay_under_test import raydbg_path
from waits import ROOT, limit, settle, wait_until


def test_raydbg_break(relay, tmp_path):
    (tmp_path / "train.py").write_text("x = 1\n")
    os.symlink(tmp_path / "train.py", tmp_path / "link.py")
    assert "There are no breakpoints" in relay.cli("break", "--list").stdout
    relay.cli("break", f"{tmp_path}/link.py:1", "--if", "x == '\u00e4'", "--hit", "2", "--task", "T*", "--log", "{x}")
    relay.cli("break", "/on/the/nodes.py:7")
    listed = json.loads(relay.cli("break", "--list", "--format", "json").stdout)["breakpoints"]
    assert listed == [{"id": 1, "line": 1, "file": f"{tmp_path}/train.py", "if": "x == '\u00e4'", "log": "{x}", "task": "T*",
                       "hit": 2}, {"id": 2, "line": 7, "file": "/on/the/nodes.py"}]
    shown = relay.cli("break", "--list").stdout
    assert f"1  {tmp_path}/train.py:1  if x == '\u00e4'  in T*  log {{x}}  at hit 2" in shown, shown
    relay.cli("break", "--clear", f"{tmp_path}/train.py:1")
    relay.cli("break", "--clear", "2")
    assert relay.breakpoints()["breakpoints"] == []
    relay.cli("break", "/a.py:1", "/b.py:2")
    relay.cli("break", "--clear", "--all")
    assert relay.breakpoints()["breakpoints"] == []


def test_raydbg_break_says_which_hits_stop(relay):
    relay.cli("break", "/a.py:1", "--rank", "0", "--node", "10.0.0.9", "--skip", "3", "--first", "--stop-all")
    listed = json.loads(relay.cli("break", "--list", "--format", "json").stdout)["breakpoints"]
    assert listed == [{"id": 1, "line": 1, "file": "/a.py", "node": "10.0.0.9", "rank": 0, "skip": 3, "first": True,
                       "stop_all": True}]
    assert "1  /a.py:1  rank 0  on 10.0.0.9  after 3  at the first hit  stops all tasks\n" in relay.cli("break", "--list").stdout


@pytest.mark.parametrize("arguments, code, words", [
    (("/t.py:1", "--rank", "-1"), 2, "--rank"), (("/t.py:1", "--skip", "0"), 2, "--skip"),
    (("/t.py:1", "--hit", "2", "--first"), 2, "as --first does"),
    (("/t.py:1", "--log", "x", "--stop-all"), 2, "--log makes none"), ((), 2, "which FILE:LINE"), (("t.py",), 2, "is not FILE:LINE"), (("t.py:0",), 2, "is not FILE:LINE"),
    (("nowhere.py:1",), 3, "there is no file 'nowhere.py'"), (("/t.py:1", "--hit", "x"), 2, "--hit"),
    (("--clear", "7"), 3, "there is no breakpoint '7'"), (("--all",), 2, "--clear"), (("--list", "x"), 2, "--list"),
])
def test_raydbg_break_says_what_is_wrong(relay, arguments, code, words):
    assert words in relay.cli("break", *arguments, code=code).stderr


@pytest.mark.parametrize("python, slowed", [("3.9.18", 1), ("3.11.7", 1), ("3.12.0", 0), ("3.13.1", 0), ("", 0)])
def test_the_price_of_a_breakpoint_is_said_when_it_is_paid(relay, python, slowed):
    agent = ByHand(relay)
    agent.prove(python=python)
    assert agent.hear()["verb"] == "sleep"
    said = "raydbg: calls take some 10 times longer in 1 process with a Python before 3.12, while there is a breakpoint for it\n"
    assert relay.cli("break", "--list").stderr == ""
    assert relay.cli("break", "/a.py:1").stderr == slowed * said
    assert relay.cli("break", "--list").stderr == slowed * said
    assert relay.breakpoints()["processes"]["slowed"] == slowed
    relay.cli("break", "--clear", "--all")
    assert relay.cli("break", "--list").stderr == ""


WAY = "they can if it is started by raydbg relay --listen 0.0.0.0:4713 --tls-cert F --tls-key F (docs/run.md, Other nodes)\n"


@pytest.mark.parametrize("away, said", [
    (0, ""), (1, f"raydbg: nothing stops on node 203.0.113.1: its workers cannot dial the relay; {WAY}"),
    (3, f"raydbg: nothing stops on 3 other nodes (203.0.113.1, ...): their workers cannot dial the relay; {WAY}"),
])
def test_nodes_that_cannot_dial_the_relay_are_named(start, away, said):
    with FakeCluster(nodes=4, workers=4, pauses=0, events=0, away=away) as cluster:
        relay = start(address=cluster.address)
        relay.pauses()  # it has looked
        assert relay.cli("break", "/a.py:1").stderr == said
        assert relay.cli("break", "--list").stderr == said
        run = Run(relay, sys.executable, "-c", "input()", stdin=subprocess.PIPE)
        if said:
            assert said in run.told("nothing stops")
        assert run.end()[0] == 1  # an EOFError


DRIVER = """\
import os
import sys, time
import raydbg_run
env = raydbg_run.runtime_env({"env_vars": {}})
assert callable(env["worker_process_setup_hook"])
while sys.gettrace() is None:  # on a busy machine the relay's word may come too late
    time.sleep(0.05)

def work(n):
    return n + 1

print("result", work(int(sys.argv[1])), flush=True)
sys.exit(7)
"""


# Runs a program as nohup does: with signals that are ignored.
IGNORING = """\
import os, signal, sys
for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGCHLD"):
    signal.signal(getattr(signal, name), signal.SIG_IGN if name in sys.argv[1].split() else signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""


class Run:
    """`raydbg run` as a process; `told` waits for a line of its stderr. `ignored`: the names of signals."""

    def __init__(self, relay, *arguments, stdin=None, ignored=None):
        env = {**os.environ, **relay.env, "RAYDBG_RELAY": "%s:%d" % relay.address}
        env = {name: value for name, value in env.items() if value is not None}
        self.errors = relay.state / f"run-{time.monotonic_ns()}"
        with self.errors.open("w") as errors:
            before = [] if ignored is None else [sys.executable, "-Ic", IGNORING, ignored]
            self.process = subprocess.Popen([*before, raydbg_path(), "run", *arguments], env=env, stdin=stdin,
                                            stdout=subprocess.PIPE, stderr=errors, text=True)

    def told(self, words):
        wait_until(lambda: words in self.errors.read_text() or self.process.poll() is not None,
                   lambda: f"{words}: {self.errors.read_text()}")
        return self.errors.read_text()

    def end(self):
        out, _ = self.process.communicate(timeout=limit())
        sanitizers.check(self.process.returncode, self.errors.read_text())
        return self.process.returncode, out


def directories(relay):
    return sorted((relay.state / "s/raydbg").glob("run-*"))


def test_raydbg_run(relay, tmp_path):
    (tmp_path / "train.py").write_text(DRIVER)
    run = Run(relay, "--break", f"{tmp_path}/train.py:10", "--", sys.executable, str(tmp_path / "train.py"), "3")
    try:
        told = run.told("stopped at train.py:10")
        found = re.search(r"raydbg: driver train.py on 127\.0\.0\.1 pid (\d+) stopped at train\.py:10 · raydbg attach (\S+)", told)
        assert found, told
        slow = sys.version_info < (3, 12)
        if slow:
            run.told("calls take some 10 times longer")
        directory, = directories(relay)
        assert directory.stat().st_mode & 0o777 == 0o700
        environ = Path(f"/proc/{found[1]}/environ").read_bytes()
        key = json.loads((directory / "run.json").read_text())["key"]
        assert key.encode() not in environ and relay.token.encode() not in environ
        shown = relay.cli("list").stdout
        assert "driver train.py" in shown and "train.py:10" in shown, shown
        console = relay.cli("attach", found[2], input="where\np n * 2\nc\n", code=1)  # the program has ended
        assert "\n6\n" in console.stdout and "train.py:10 in work" in console.stdout, console.stdout
        assert console.stderr == "the debuggee ended, or closed the connection\n"
    finally:
        code, out = run.end()
    assert (code, out) == (7, "result 4\n")
    assert run.errors.read_text().count("raydbg: calls take some 10 times longer in 1 process") == (1 if slow else 0)
    assert directories(relay) == [] and relay.breakpoints()["breakpoints"] == []


WORKS = """\
import sys, time
while sys.gettrace() is None:  # on a busy machine the relay's word may come too late
    time.sleep(0.05)
def work(n):
    return n + 1

for n in range(5):
    work(n)
print("done", flush=True)
input()
"""


def test_a_condition_that_fails_is_said_once(relay, tmp_path):
    """By the run; and by `break --list` as long as the breakpoint is there."""
    program = tmp_path / "works.py"
    program.write_text(WORKS)
    relay.cli("break", f"{program}:8", "--if", "unknown > 1")
    run = Run(relay, "--break", f"{program}:5", "--if", "nothing > 1", sys.executable, program, stdin=subprocess.PIPE)
    problems = [f"NameError: name '{name}' is not defined" for name in ("nothing", "unknown")]
    for problem in problems:
        run.told(f"raydbg: a breakpoint's condition fails, and it does not stop: {problem}")
    assert run.process.stdout.readline() == "done\n"
    listed = relay.cli("break", "--list").stdout
    assert all(f"its condition fails: {problem}" in listed for problem in problems), listed
    settle(2)  # some looks
    assert run.end()[0] == 1  # an EOFError
    assert [run.errors.read_text().count(problem) for problem in problems] == [1, 1]


def test_two_runs_at_one_line_keep_their_breakpoints(relay, tmp_path):
    """The second has its own while the first is stopped; what raydbg break has set before stays, too."""
    program = tmp_path / "train.py"
    program.write_text(DRIVER)
    place = f"{program}:10"
    relay.cli("break", place, "--if", "n == 77")
    first = Run(relay, "--break", place, sys.executable, program, "3")
    first.told("stopped at train.py:10")
    assert Run(relay, "--break", place, "--if", "n == 8", sys.executable, program, "4").end() == (7, "result 5\n")
    shown = relay.cli("break", "--list").stdout
    assert re.search(rf"1  {place}  if n == 77\n +2  {place}  until its run ends\n", shown), shown
    third = Run(relay, "--break", f"{program}:13", sys.executable, program, "77")  # the general one is there, too
    third.told("stopped at train.py:10")
    for pause in relay.stop(2):
        assert relay.http("POST", f"/v1/pauses/{pause['pid']}@127.0.0.1/continue").status == 200
    assert first.end() == (7, "result 4\n")
    third.told("stopped at train.py:13")
    pause, = relay.stop()
    assert relay.http("POST", f"/v1/pauses/{pause['pid']}@127.0.0.1/continue").status == 200
    assert third.end() == (7, "result 78\n")
    assert [(b["line"], b["if"]) for b in relay.breakpoints()["breakpoints"]] == [(10, "n == 77")]


def test_all_at_a_place_are_cleared(relay):
    for run in ({"run": "ab" * 16}, {"run": "cd" * 16}, {}):
        relay.http("POST", "/v1/breakpoints", body=json.dumps({"file": "/a.py", "line": 3, **run}))
    relay.cli("break", "/a.py:4")
    relay.cli("break", "--clear", "/a.py:3")
    assert [b["line"] for b in relay.breakpoints()["breakpoints"]] == [4]


def test_each_stop_at_one_line_is_said(relay, tmp_path):
    """Also of a task that has gone on and is there again before the next look."""
    program = tmp_path / "train.py"
    program.write_text(DRIVER.replace('print("result", work(int(sys.argv[1])), flush=True)', "for n in range(3): work(n)"))
    run = Run(relay, "--break", f"{program}:10", "--", sys.executable, program)
    for count in 1, 2, 3:
        wait_until(lambda: run.errors.read_text().count("stopped at train.py:10") == count,  # noqa: B023
                   lambda: run.errors.read_text())
        relay.go_on(relay.stop()[0])
    assert run.end() == (7, "")


def key_of_run(relay):
    """The id of the key of the `raydbg run` that is under way."""
    directory, = wait_until(lambda: directories(relay), "its files are there")
    return directory.name.removeprefix("run-")


def test_stops_of_another_run_are_not_said(relay, adapter):
    relay.set()
    run = Run(relay, "--", sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    own = key_of_run(relay)
    with FakeAdapter() as second:
        debugged(relay, second, pid=2, program="other.py")
        pause, = relay.stop()
        assert pause["run"] == KEY_ID != own
        debugged(relay, adapter, run=own, pid=3, program="own.py")
        run.told("driver own.py")
        assert "other.py" not in run.errors.read_text()
        assert {pause["run"] for pause in relay.stop(2)} == {KEY_ID, own}
    run.end()


@pytest.mark.parametrize("unanswered, said", [
    (None, r"worker \(ababab\) on 127\.0\.0\.1 pid 2 stopped at app\.py:8 · raydbg attach 2@127\.0\.0\.1\n"),
    ("stackTrace", r"worker \(ababab\) on 127\.0\.0\.1 pid 2 stopped · raydbg attach 2@127\.0\.0\.1\n"),
])
def test_a_stop_of_which_little_is_known_is_said(start, clock, adapter, unanswered, said):
    """A thread that runs no task has no name, and a process that gets no CPU does not answer."""
    adapter.on[unanswered] = lambda connection, request: None
    relay = start(env=clock.env)
    relay.set()
    run = Run(relay, "--", sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    debugged(relay, adapter, run=key_of_run(relay), pid=2, role="worker", worker_id="ab" * 28)
    wait_until(lambda: clock.pass_time(1) or "stopped" in run.errors.read_text(), lambda: run.errors.read_text(),
               every=0.5)  # the relay's answer is waited for, too
    assert re.search(said, run.errors.read_text()), run.errors.read_text()
    run.end()


# A sitecustomize of the user's. On a busy machine the relay's first word may take more than a second.
PATIENT = """\
import raydbg_run
pack = raydbg_run.pack_agent
raydbg_run.pack_agent = lambda source: pack(source.replace("WORD_S = 1.0 ", "WORD_S = 60.0 "))
print("the user's sitecustomize", flush=True)
"""
EARLY = """\
first = 1
def work(n):
    return n + first
if __name__ == "__main__":
    print("result", work(1))
"""
# Its end kills the process of the pool, which may not have said then that it was continued.
POOL = """\
import early, multiprocessing, os, time
if __name__ == "__main__":
    with multiprocessing.get_context(METHOD).Pool(1) as pool:
        print("result", pool.map(early.work, [1])[0])
        while not os.path.exists("continued"):
            time.sleep(0.01)
"""
CHILD = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, 'early.py']))"


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A directory with the programs, in which this process is, with a sitecustomize beside it."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(PATIENT)
    (tmp_path / "early.py").write_text(EARLY)
    for method in ("spawn", "forkserver"):
        (tmp_path / f"{method}.py").write_text(POOL.replace("METHOD", repr(method)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("argv, line, name, python_processes", [
    (["early.py"], 1, "driver early.py", 1),
    (["-um", "early"], 1, "driver early", 1),
    (["-c", CHILD], 1, "driver early.py", 2),
    (["spawn.py"], 3, "driver -c", 3),  # with the tracker of the pool's resources
    (["forkserver.py"], 3, "driver -c", 3),  # and with the server, which forks
], ids=["file", "module", "child", "pool", "forkserver"])
def test_a_program_stops_before_it_uses_ray(relay, programs, argv, line, name, python_processes):
    run = Run(relay, "--break", f"early.py:{line}", "--", sys.executable, *argv)
    try:
        told = run.told(f"stopped at early.py:{line}")
        assert re.search(rf"raydbg: {name} on \S+ pid \d+ stopped at early\.py:{line} ", told), told
        pause, = relay.stop()
        assert relay.http("POST", f"/v1/pauses/{pause['pid']}@127.0.0.1/continue").status == 200
    finally:
        (programs / "continued").touch()
        code, out = run.end()
    assert (code, out) == (0, python_processes * "the user's sitecustomize\n" + "result 2\n")
    assert "without its breakpoints" not in run.errors.read_text()
    assert directories(relay) == []


@pytest.mark.parametrize("argv", [["ray/_private/workers/default_worker.py"], ["bin/ray"], ["-m", "ray.util.client.server"]])
def test_rays_own_processes_have_no_agent_by_it(relay, tmp_path, monkeypatch, argv):
    program = tmp_path / (argv[-1].replace(".", "/") + ".py" if argv[0] == "-m" else argv[0])
    program.parent.mkdir(parents=True)
    for parent in program.relative_to(tmp_path).parents:
        (tmp_path / parent / "__init__.py").touch()
    (tmp_path / "ray/_private").mkdir(parents=True, exist_ok=True)
    (tmp_path / "ray/_private/ray_constants.py").touch()
    program.write_text("import sys; print('raydbg_agent' in sys.modules)")
    monkeypatch.chdir(tmp_path)
    assert Run(relay, "--", sys.executable, *argv).end() == (0, "False\n")


def test_a_program_of_ray_client_is_told_that_its_tasks_do_not_stop(relay, tmp_path):
    package = tmp_path / "ray/util/client"
    package.mkdir(parents=True)
    (package / "worker.py").touch()
    (tmp_path / "train.py").write_text("import json\nimport ray.util.client.worker\nimport ray.util.client.worker\nimport csv\nprint(1)\n")
    run = Run(relay, "--", sys.executable, str(tmp_path / "train.py"))
    assert run.end() == (0, "1\n")
    assert run.errors.read_text().count("the tasks of this program do not stop: Ray Client") == 1


def test_raydbg_run_post_mortem_of_the_driver(relay, tmp_path):
    (tmp_path / "train.py").write_text(DRIVER.replace("return n + 1", "return n + unknown").replace(
        "while sys.gettrace() is None:", "while sys.modules['raydbg_agent'].agent.sock is None:"))
    run = Run(relay, "--post-mortem", "--", sys.executable, str(tmp_path / "train.py"), "3")
    found = re.search(r"driver train.py on \S+ pid (\d+) stopped by an exception at train\.py:10 ",
                      run.told("stopped by an exception"))
    assert found, run.errors.read_text()
    assert "NameError" in relay.cli("attach", found[1] + "@127.0.0.1", input="where\np n * 2\nc\n", code=1).stdout
    assert run.end() == (1, "") and "NameError: name 'unknown'" in run.errors.read_text()


@pytest.mark.parametrize("program, code", [
    ("import os; os.kill(os.getpid(), 9)", 137), ("raise SystemExit(3)", 3), ("print(1)", 0), ("1/0", 1),
])
def test_raydbg_run_ends_as_the_program_does(relay, program, code):
    assert Run(relay, "--", sys.executable, "-c", program).end()[0] == code
    assert directories(relay) == []


CONSTANTS = "import os, ray._private.ray_constants as c; print(c.RAY_ENABLE_UV_RUN_RUNTIME_ENV, os.environ.get(c.RAY_RUNTIME_ENV_HOOK))"


@pytest.mark.parametrize("given", [None, "1", "false"])
def test_rays_own_support_for_uv_run_does_not_replace_the_hook(relay, monkeypatch, given):
    if given:
        monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", given)
    assert Run(relay, sys.executable, "-c", CONSTANTS).end() == (0, "False raydbg_run.runtime_env\n")


@pytest.mark.parametrize("words", [["env", "PYTHONPATH=", sys.executable, "-c"], [sys.executable, "-Ic"]], ids=["PYTHONPATH", "-I"])
def test_a_program_that_drops_pythonpath_runs_as_without_raydbg(relay, words):
    """It cannot import Ray's hook: in ray.init() that would end it."""
    assert Run(relay, *words, CONSTANTS).end() == (0, "True None\n")


def test_a_process_that_drops_pythonpath_runs_as_without_raydbg(relay):
    code = f"import os, subprocess, sys; subprocess.run([sys.executable, '-Ic', {CONSTANTS!r}], env=os.environ.copy())"
    assert Run(relay, sys.executable, "-c", f"import ray._private.ray_constants; {code}").end() == (0, "True None\n")


SHOW = "import os, sys; print(os.path.basename(sys.executable), sys.argv, sys.flags.optimize)"


@pytest.fixture
def path_with(tmp_path):
    """A directory for PATH with pythons of these names."""
    def make(*names):
        for name in names:
            (tmp_path / "bin").mkdir(exist_ok=True)
            (tmp_path / "bin" / name).write_text(f'#!/bin/sh\necho {name} >&2\nexec {sys.executable} "$@"\n')
            (tmp_path / "bin" / name).chmod(0o755)
        return str(tmp_path / "bin")
    return make


@pytest.mark.parametrize("names, ran", [(("python", "python3"), "python"), (("python3",), "python3")])
def test_raydbg_run_of_a_file_takes_the_python_of_path(relay, tmp_path, monkeypatch, path_with, names, ran):
    (tmp_path / "train.py").write_text(SHOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path_with(*names))
    run = Run(relay, "train.py", "--lr", "3", "-b", "--break", "x:1")
    assert run.end() == (0, f"{Path(sys.executable).name} ['train.py', '--lr', '3', '-b', '--break', 'x:1'] 0\n")
    assert run.errors.read_text().splitlines()[0] == ran


def test_raydbg_run_leaves_the_programs_options_to_it(relay):
    assert Run(relay, "--detach", sys.executable, "-O", "-c", SHOW, "-h", "--", "--help").end() == (
        0, f"{Path(sys.executable).name} ['-c', '-h', '--', '--help'] 1\n")


def test_raydbg_run_of_a_file_that_is_a_program_itself(relay, tmp_path):
    (tmp_path / "train.py").write_text(f"#!{sys.executable} -O\n" + SHOW)
    (tmp_path / "train.py").chmod(0o755)
    assert Run(relay, str(tmp_path / "train.py")).end() == (
        0, f"{Path(sys.executable).name} ['{tmp_path}/train.py'] 1\n")


def test_raydbg_run_of_a_file_without_a_python(relay, tmp_path, monkeypatch, path_with):
    (tmp_path / "train.py").write_text(SHOW)
    monkeypatch.setenv("PATH", path_with("other"))
    run = Run(relay, str(tmp_path / "train.py"))
    assert run.end()[0] == 1 and "there is no python in PATH" in run.errors.read_text()


def test_raydbg_run_passes_a_signal_on(relay):
    run = Run(relay, "--", sys.executable, "-c", "print('there', flush=True); import time; time.sleep(60)")
    assert run.process.stdout.readline() == "there\n"
    run.process.send_signal(signal.SIGTERM)
    assert run.end()[0] == 128 + signal.SIGTERM
    assert directories(relay) == []


IS_IGNORED = """\
import signal
print(*(name for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM") if signal.getsignal(getattr(signal, name)) == signal.SIG_IGN))
"""


@pytest.mark.parametrize("ignored", ["", "SIGHUP", "SIGINT SIGQUIT", "SIGHUP SIGINT SIGQUIT SIGTERM"])
def test_a_signal_that_is_ignored_stays_so_for_the_program(relay, ignored):
    """Under nohup, or as a job in the background of a script."""
    assert Run(relay, "--", sys.executable, "-c", IS_IGNORED, ignored=ignored).end() == (0, f"{ignored}\n")


def test_a_signal_that_is_ignored_is_not_passed_on(relay):
    run = Run(relay, "--", sys.executable, "-c", "print('there', flush=True); input()", stdin=subprocess.PIPE, ignored="SIGHUP")
    assert run.process.stdout.readline() == "there\n"
    run.process.send_signal(signal.SIGHUP)
    run.process.stdin.write("\n")
    assert run.end()[0] == 0


def test_the_programs_exit_code_where_children_are_ignored(relay):
    """As `trap '' CHLD` has it: the system keeps no exit codes then."""
    assert Run(relay, "--", sys.executable, "-c", "raise SystemExit(3)", ignored="SIGCHLD").end()[0] == 3


# Prepares a driver twice, while a process that was forked in between lives on, and ends while another does.
FORKS = """\
import os, sys, time
sys.path.insert(0, sys.argv[1])
from raydbg_bridge import driver
driver.find_raydbg_bin = lambda: sys.argv[2]
def fork(ends):
    pid = os.fork()
    if pid == 0:
        if ends:
            sys.exit()
        time.sleep(600)
    print("child", pid, flush=True)
    return pid
driver.prepare()
os.waitpid(fork(ends=True), 0)
first = driver.current.process
assert first.poll() is None, "the child has ended its parent's run"
fork(ends=False)
driver.prepare()
assert first.poll() == 0
fork(ends=False)
print("ends", flush=True)
"""


def test_a_forked_child_keeps_no_run_of_a_prepared_driver(relay, tmp_path):
    out = tmp_path / "out"
    with out.open("w") as file:
        driver = subprocess.Popen([sys.executable, "-c", FORKS, str(ROOT / "python"), raydbg_path()],
                                  env=relay.cli_env(), stdout=file, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: driver.poll() is not None, lambda: out.read_text())
    finally:
        driver.kill()
        for pid in re.findall(r"child (\d+)", out.read_text())[1:]:
            os.kill(int(pid), signal.SIGKILL)
    assert driver.wait() == 0 and "ends\n" in out.read_text(), out.read_text()
    wait_until(lambda: directories(relay) == [], lambda: str(directories(relay)))


@pytest.mark.parametrize("sig", [None, signal.SIGINT, signal.SIGTERM])
def test_a_relay_that_does_not_answer_keeps_no_run(relay, sig):
    """Once the program has ended. The breakpoints stay until it answers, and that is said; a signal ends it before."""
    run = Run(relay, "--break", "/a.py:1", "--break", "/b.py:2", "--", sys.executable, "-c", "print('there', flush=True); input()",
              stdin=subprocess.PIPE, ignored="")
    assert run.process.stdout.readline() == "there\n"
    relay.process.send_signal(signal.SIGSTOP)
    try:
        run.process.stdin.write("\n")
        run.process.stdin.flush()
        wait_until(lambda: directories(relay) == [], "the program has ended")
        if sig:
            run.process.send_signal(sig)
        assert run.process.wait(limit()) == (-sig if sig else 0)
    finally:
        relay.process.send_signal(signal.SIGCONT)
    said = "raydbg: breakpoints may stay: /a.py:1, /b.py:2\n"
    assert (said in run.errors.read_text()) is not bool(sig), run.errors.read_text()
    if sig:
        run.process.communicate()
    else:
        run.end()


@pytest.mark.parametrize("arguments, code, words", [
    ((), 2, "which program"), (("--no-relay", "--", "true"), 2, "--no-relay"), (("--", "/no/program"), 1, "/no/program"),
    (("--break", "nowhere.py:1", "--", "true"), 3, "nowhere.py"), (("--rank", "x", "--", "true"), 2, "--rank"),
    (("--relay", "127.0.0.1:1", "--", "true"), 5, "127.0.0.1:1"),
    (("--relay", "https://127.0.0.1:1", "--break", "/t.py:1", "--", "true"), 5, "127.0.0.1:1"),
])
def test_raydbg_run_says_what_is_wrong(relay, arguments, code, words):
    run = Run(relay, *arguments)
    assert run.end()[0] == code
    assert words in run.errors.read_text()
    assert directories(relay) == [] and relay.breakpoints()["breakpoints"] == []


def test_raydbg_run_refuses_a_relay_without_a_token(start):
    relay = start("--token", "none", env={"RAYDBG_TOKEN": None})
    run = Run(relay, "--", "true")
    assert run.end()[0] == 4
    assert "--token none" in run.errors.read_text()
