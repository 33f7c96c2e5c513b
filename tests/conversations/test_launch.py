"""`raydbg dap` with `launch`: the editor's terminal runs the program, whose processes stop at the editor's breakpoints.

The relay, the agent and pydevd are real; there is no Ray: the program calls the hook as ray.init() does.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import sanitizers
from agent_process import AgentProcess, line_of
from agent_process import PROGRAM as OTHER
from launch_editor import LaunchEditor
from relay_process import RelayProcess
from relay_under_test import raydbg_path
from waits import limit, settle, wait_until

PROGRAM = """\
import os
import sys, time
import raydbg_run
env = raydbg_run.runtime_env({"env_vars": {}})
sys.modules["raydbg_agent"].AGAIN_S = 0.1, 0.3  # it dials a relay that was away soon
deadline = time.monotonic() + 300
while os.environ.get("HELD") and sys.gettrace() is None and time.monotonic() < deadline:
    time.sleep(0.05)  # on a busy machine the relay's word may come too late

def work(n):
    doubled = n * 2
    return doubled + 1

for n in sys.argv[1:]:
    print("result", os.environ.get("WORD", "-"), os.path.basename(os.getcwd()), work(int(n)), flush=True)
while os.environ.get("WAITS"):
    time.sleep(0.05)
sys.exit(7)
"""
LINE = 11  # of work()'s first line


class Editor(LaunchEditor):
    """An editor beside that relay."""

    def __init__(self, relay, program, *arguments, env=None, **options):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
        env = {**clean, **relay.env, "RAY_ADDRESS": "127.0.0.1:1", "RAYDBG_RELAY": "%s:%d" % relay.address, **(env or {})}
        self.program = program
        super().__init__([raydbg_path(), "dap", *arguments], {k: v for k, v in env.items() if v is not None}, relay.state,
                         **options)

    def start(self, lines=(LINE,), **more):
        """launch with breakpoints in the program; returns the answer to setBreakpoints."""
        arguments = {"program": str(self.program), "python": sys.executable, "env": {"HELD": "1"}, **more}
        return self.launch({self.program: lines}, **arguments)[self.program]


@pytest.fixture
def relay():
    with RelayProcess("--allow-connect", "--no-register") as process:
        yield process


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def edit(relay, program):
    """edit(…): an Editor, whose programs are ended at the test's end."""
    started = []

    def run(*arguments, relay=relay, **options):
        started.append(Editor(relay, program, *arguments, **options))
        return started[-1]

    yield run
    for editor in started:
        editor.kill()


def breakpoints(relay):
    answer = relay.http("GET", "/v1/breakpoints").json
    return answer["breakpoints"], answer["processes"]


def leftovers(relay):
    return [path.name for path in (relay.state / "s/raydbg").iterdir() if path.name.startswith(("run-", "dap-"))]


def test_an_unchanged_program_stops_at_the_editors_breakpoint(edit, relay, tmp_path):
    editor = edit()
    answer, = editor.start(args=["3", "4"], cwd=str(tmp_path), env={"HELD": "1", "WORD": "two words", "HOME": None})
    assert answer["verified"] is False and answer["message"] == "in no process yet" and answer["line"] == LINE
    stop = editor.stopped(reason="breakpoint")
    changed = editor.wait_event("breakpoint")["body"]["breakpoint"]
    assert (changed["id"], changed["verified"]) == (answer["id"], True)
    thread, = editor.ok("threads")["threads"]
    assert "driver train.py" in thread["name"], thread
    frame = editor.stack(stop["threadId"])[0]
    assert (frame["name"], frame["line"], editor.evaluate("n", frame["id"])) == ("work", LINE, "3")
    assert editor.step("next", stop["threadId"])["reason"] == "step"
    editor.resume(stop["threadId"])
    stop = editor.stopped(reason="breakpoint")
    assert editor.evaluate("n", editor.stack(stop["threadId"])[0]["id"]) == "4"
    assert breakpoints(relay)[0] == []  # they are not among the relay's own
    editor.resume(stop["threadId"])
    assert editor.exit_code() == 7
    directory = tmp_path.name
    assert [line for line in editor.output().splitlines() if line.startswith("result")] == [
        f"result two words {directory} 7", f"result two words {directory} 9"]
    given, _, process = editor.terminals[0]
    assert (given["kind"], given["title"]) == ("integrated", "train.py") and process.wait(limit()) == 7
    secret = [relay.token]
    assert not [word for word in secret if word in json.dumps(given)]
    editor.end()
    assert leftovers(relay) == []
    wait_until(lambda: breakpoints(relay)[1]["connected"] == 0, "the process is gone")


def test_another_run_does_not_stop_and_is_not_shown(edit, relay):
    editor = edit()
    with AgentProcess(relay.address, relay.token, word=60) as other:
        editor.start(args=["1"], env={"HELD": "1", "WAITS": "1"},
                     begin=lambda: editor.set_breakpoints(OTHER, [line_of("work")]))
        stop = editor.stopped()
        other.work(5)
        assert breakpoints(relay)[1]["debugged"] == 1
        relay.http("POST", "/v1/breakpoints", body=json.dumps({"file": str(OTHER), "line": line_of("work")}))
        wait_until(lambda: breakpoints(relay)[1]["debugged"] == 2, "the other has pydevd")
        other.send("work 6")  # stops, at the relay's own
        wait_until(lambda: len(relay.pauses()) == 2, lambda: str(relay.pauses()))
        settle(1)
        assert len(editor.ok("threads")["threads"]) == 1
        relay.http("POST", "/v1/breakpoints/clear")
        relay.http("POST", f"/v1/pauses/{other.pid}@127.0.0.1/continue")
        assert other.wait_for("RESULT") == "13"
        editor.resume(stop["threadId"])
        editor.ok("terminate")
        editor.exit_code()
        editor.end()


def test_breakpoints_change_while_it_runs_and_go_with_the_session(edit, relay, program):
    editor = edit()
    editor.start(lines=[], args=["1"] * 400, env={"HELD": "", "WAITS": "1"})
    wait_until(lambda: breakpoints(relay)[1]["connected"] == 1, "it has dialled")
    assert breakpoints(relay)[1]["debugged"] == 0
    line = PROGRAM.splitlines().index("    time.sleep(0.05)") + 1
    answer, = editor.set_breakpoints(program, [{"line": line, "condition": "n == '1'"}])["breakpoints"]
    assert not answer["verified"]
    stop = editor.stopped()
    assert editor.stack(stop["threadId"])[0]["line"] == line
    assert editor.set_breakpoints(program, [])["breakpoints"] == []
    editor.resume(stop["threadId"])
    editor.assert_no_event("stopped", 1)
    editor.set_breakpoints(program, [line])
    editor.stopped()
    editor.disconnect(terminateDebuggee=False)  # the program goes on, held where it is
    editor.close()
    process = editor.terminals[0][2]
    assert process.poll() is None
    for pause in relay.pauses():
        relay.http("POST", f"/v1/pauses/{pause['pid']}@127.0.0.1/continue")
    wait_until(lambda: breakpoints(relay)[1]["debugged"] == 0, "the breakpoints are gone, and pydevd with them")
    assert process.poll() is None


def test_a_log_point_prints_in_the_terminal(edit):
    editor = edit()
    editor.start(lines=[{"line": LINE, "logMessage": "n is {n}", "condition": "n > 1"}], args=["1", "2"])
    assert editor.exit_code() == 7
    assert "n is 2" in editor.output() and "n is 1" not in editor.output()
    editor.end()


@pytest.mark.parametrize("how", ["terminate", "disconnect"])
def test_the_editor_ends_a_stopped_program(edit, relay, how):
    editor = edit()
    editor.start(args=["1"])
    editor.stopped()
    if how == "terminate":
        editor.ok("terminate")
        assert editor.exit_code() in (143, 137, 7, 15)
        editor.end()
    else:
        editor.disconnect(terminateDebuggee=True)
        editor.close()
    process = editor.terminals[0][2]
    assert process.wait(limit()) != 0
    assert leftovers(relay) == []
    wait_until(lambda: relay.pauses() == [], lambda: str(relay.pauses()))


def test_restart_runs_the_program_again(edit):
    editor = edit()
    editor.start(args=["1"], env={"HELD": "1", "WAITS": "1"})
    editor.stopped()
    editor.ok("restart")
    wait_until(lambda: len(editor.terminals) == 2, "it is started again")
    stop = editor.stopped()
    editor.resume(stop["threadId"])
    assert not editor.events("exited") and not editor.events("terminated")
    editor.ok("terminate")
    editor.exit_code()
    editor.end()


def test_a_client_without_a_terminal_gets_the_output(edit):
    editor = edit(terminal=False)
    editor.start(args=["1"])
    stop = editor.stopped()
    editor.resume(stop["threadId"])
    assert editor.exit_code() == 7
    text = "".join(e["body"]["output"] for e in editor.events("output") if e["body"]["category"] == "stdout")
    assert "result -" in text and text.endswith(" 3\n"), text
    assert editor.reverse_requests == []
    editor.end()


# Prints more than a pipe takes, once it may, and more than a reader with a pause between its reads takes in time.
TALKS = """\
import os, sys, time
print("begins", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
for n in range(3000):
    print("x" * 100, flush=True)
    print("y" * 100, file=sys.stderr, flush=True)
print("z" * 30_000_000, flush=True)
open(sys.argv[2], "w").close()
"""


@pytest.mark.parametrize("console", ["integratedTerminal", "internalConsole"])
@pytest.mark.parametrize("how", ["disconnect", "dies"])
def test_the_program_outlives_the_session(edit, relay, program, tmp_path, console, how):
    program.write_text(TALKS)
    go, done = tmp_path / "go", tmp_path / "done"
    editor = edit()
    editor.launch({}, program=str(program), python=sys.executable, args=[str(go), str(done)], console=console)
    if console == "internalConsole":
        editor.wait_event("output", lambda body: "begins" in body["output"])
    else:
        wait_until(lambda: editor.terminals and "begins" in editor.output(), "it begins")
    if how == "disconnect":
        editor.disconnect(terminateDebuggee=False)
    else:
        editor.process.kill()
    editor.close()
    editor.process.wait(limit())
    go.touch()
    wait_until(done.exists, "it has printed all")
    if editor.terminals:
        assert editor.terminals[0][2].wait(limit()) == 0
    wait_until(lambda: not [name for name in leftovers(relay) if name.startswith("run-")], "raydbg run ends")


def test_the_relay_is_killed_and_comes_back(edit, relay):
    editor = edit()
    editor.start(args=["1", "2"])
    stop = editor.stopped()
    relay.kill9()
    settle(0.5)
    relay.restart()
    stop = editor.stopped()
    editor.resume(stop["threadId"])
    stop = editor.stopped()
    assert editor.evaluate("n", editor.stack(stop["threadId"])[0]["id"]) == "2"
    editor.resume(stop["threadId"])
    assert editor.exit_code() == 7
    editor.end()


PATIENT = """\
import multiprocessing, os, raydbg_run, subprocess, sys, time
raydbg_run.runtime_env({})  # as Ray does by RAY_RUNTIME_ENV_HOOK
agent = sys.modules["raydbg_agent"]
agent.WORD_S, agent.AGAIN_S = 60, (0.1, 0.3)  # on a busy machine the relay's word may come too late
"""

FAILS = PATIENT + """\
while agent.agent.sock is None:
    time.sleep(0.05)
def work(n):
    half = n // 2
    return n // half
work(1)
"""


def line_in(program, text):
    return program.splitlines().index(text) + 1


@pytest.mark.parametrize("post_mortem", [True, False])
def test_what_fails_stops_with_post_mortem(edit, relay, program, post_mortem):
    program.write_text(FAILS)
    editor = edit()
    editor.start(lines=(), postMortem=post_mortem)
    if post_mortem:
        thread = editor.stopped(reason="exception")["threadId"]
        frame = editor.stack(thread)[0]
        line = line_in(FAILS, "    return n // half")
        assert (frame["name"], frame["line"], editor.evaluate("half", frame["id"])) == ("work", line, "0")
        editor.resume(thread)
    assert editor.exit_code() == 1
    assert "ZeroDivisionError" in editor.output()
    editor.end()


FORKS = PATIENT + """\
while sys.gettrace() is None:
    time.sleep(0.05)
def work(n):
    doubled = n * 2
    return doubled + 1
print("result", work(2), flush=True)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print("result", sorted(pool.map(work, [3, 4], chunksize=1)), flush=True)
"""


def test_forked_processes_stop_too(edit, program):
    """Those of multiprocessing are held until their breakpoints are set; they have nothing of their parent's debugger."""
    program.write_text(FORKS)
    editor = edit()
    editor.start(lines=(line_in(FORKS, "    doubled = n * 2"),), env={})
    seen = []
    for _ in range(3):
        thread = editor.stopped(reason="breakpoint")["threadId"]
        seen.append(editor.evaluate("n", editor.stack(thread)[0]["id"]))
        editor.resume(thread)
    assert seen[0] == "2" and sorted(seen) == ["2", "3", "4"]
    assert editor.exit_code() == 0
    assert [line for line in editor.output().splitlines() if line.startswith("result")] == ["result 5", "result [7, 9]"]
    editor.end()


FAILS_TWICE = PATIENT + """\
while not agent.agent.failures:
    time.sleep(0.05)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "inner"])  # a process of the run, too
half = 1 // 2
1 // half
"""


def test_uncaught_in_tasks_is_a_filter_that_is_switched_while_the_program_runs(edit, relay, program):
    """Nothing fails at first without the filter that is set while the first of two processes stops."""
    program.write_text(FAILS_TWICE)
    editor = edit("--launch")
    editor.start(lines=(), filters=["uncaughtInTasks"], env={})
    offered = next(e for e in editor.transcript if e.way == "<" and e.message.get("command") == "initialize").message["body"]
    names = [each["filter"] for each in offered["exceptionBreakpointFilters"]]
    assert names[-1] == "uncaughtInTasks" and names.count("uncaughtInTasks") == 1
    thread = editor.stopped(reason="exception")["threadId"]
    assert editor.stack(thread)[0]["line"] == line_in(FAILS_TWICE, "1 // half")
    editor.ok("setExceptionBreakpoints", {"filters": ["uncaught"]})
    editor.resume(thread)
    assert editor.exit_code() == 1 and editor.output().count("ZeroDivisionError") == 2
    editor.end()


def test_only_who_launches_is_offered_that_filter(edit):
    offered = edit().initialize()
    assert "uncaughtInTasks" not in json.dumps(offered)


@pytest.fixture
def home():
    """A user without a relay or a cluster; what is started for it ends by itself, or here."""
    home = Path(tempfile.mkdtemp(prefix="rl-", dir="/tmp"))  # a socket's path is short
    yield {"HOME": str(home), "XDG_STATE_HOME": str(home), "RAYDBG_RELAY": None, "RAY_ADDRESS": "ray://none:1",
           "RAYDBG_START_RELAY": None}
    for path in home.glob("raydbg/relay*.json"):
        pid = json.loads(path.read_text())["pid"]
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), "the relay ends")
    for log in home.glob("raydbg/*.log"):
        sanitizers.check_text(log.read_text(errors="replace"))
    shutil.rmtree(home)


def test_a_relay_is_started_for_a_program_that_makes_its_own_cluster(home, edit):
    """The editor knows no cluster, so there is nothing to find a relay by."""
    editor = edit(env=home)
    editor.start(args=["1"])
    assert list(Path(home["HOME"]).glob("raydbg/relay*.json"))
    stop = editor.stopped()
    editor.resume(stop["threadId"])
    assert editor.exit_code() == 7
    seqs = [entry.message["seq"] for entry in editor.transcript if entry.way == "<"]
    assert seqs == sorted(set(seqs))
    editor.end()


PRINTS_CONNECTION = """\
import colorsys, raydbg_agent, time
raydbg_agent.AGAIN_S = 0.1, 0.3
while raydbg_agent.agent.sock is None:  # on a busy machine the relay's word may come too late
    time.sleep(0.05)
print(raydbg_agent.agent.sock)
"""


def test_a_relay_is_started_for_raydbg_run(home, relay):
    env = {**{name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}, **relay.env, **home}
    done = subprocess.run([raydbg_path(), "run", sys.executable, "-c", PRINTS_CONNECTION],
                          env={name: value for name, value in env.items() if value is not None}, capture_output=True, text=True,
                          timeout=limit())
    sanitizers.check(done.returncode, done.stderr)
    assert done.returncode == 0 and "raddr=" in done.stdout, (done.stdout, done.stderr)
    state, = Path(home["HOME"]).glob("raydbg/relay*.json")
    port = json.loads(state.read_text())["addresses"][0].rpartition(":")[2]
    assert f"raddr=('127.0.0.1', {port})" in done.stdout


@pytest.mark.parametrize("given, words", [
    ({"program": ""}, "either \"program\" or \"module\""), ({"args": 3}, "\"args\" must be"), ({"env": {"a": 1}}, "\"env\""),
    ({"console": "x"}, "\"console\""), ({"cwd": 7}, "\"cwd\""), ({"python": [None]}, "\"python\""),
    ({"module": "train"}, "either"), ({"postMortem": 1}, "\"postMortem\""), ({"noDebug": True}, "launch: \"noDebug\" is true"),
])
def test_what_is_wrong_with_a_launch_is_said(edit, given, words):
    editor = edit()
    editor.initialize()
    answer = editor.request("launch", {"program": "train.py", **given})
    assert not answer["success"] and words in answer["message"], answer
    editor.end()


def test_without_a_relay_there_is_no_launch(home, edit):
    editor = edit(env={**home, "RAYDBG_START_RELAY": "0"})
    editor.initialize()
    answer = editor.request("launch", {"program": "train.py"})
    assert not answer["success"] and "no relay" in answer["message"], answer
    editor.disconnect()
    editor.close()


@pytest.mark.parametrize("launches", [True, False])
def test_without_a_relay_that_filter_is_offered_too(home, edit, launches):
    editor = edit(*(["--launch"] if launches else []), env={**home, "RAYDBG_START_RELAY": "0"})
    assert ("uncaughtInTasks" in json.dumps(editor.initialize())) is launches
    editor.disconnect()
    editor.close()


def test_a_terminal_that_the_editor_refuses_ends_the_session(edit):
    editor = edit()
    editor.has_terminal = False  # it says otherwise in initialize
    editor.initialize(supportsRunInTerminalRequest=True)
    launch = editor.send("launch", {"program": "train.py"})
    editor.wait_event("initialized")
    editor.ok("configurationDone")
    editor.check(editor.response(launch))
    editor.wait_event("output", lambda body: "not supported by this client" in body["output"])
    editor.wait_event("terminated")
    editor.end()


def test_a_program_that_does_not_exist(edit):
    editor = edit()
    editor.start(python="/no/python")
    assert editor.exit_code() == 1
    wait_until(lambda: "/no/python" in editor.output(), "the terminal shows why")
    editor.end()


@pytest.mark.parametrize("more, code, words", [((), 5, "/nowhere.sock"), (("--break", "/t.py:1"), 2, "--session")])
def test_session_is_for_raydbg_dap(relay, more, code, words):
    done = subprocess.run([raydbg_path(), "run", "--session", "/nowhere.sock", *more, "--", "true"], capture_output=True,
                          text=True, timeout=limit(), env={**os.environ, **relay.env})
    sanitizers.check(done.returncode, done.stderr)
    assert done.returncode == code and words in done.stderr


def test_a_launch_with_the_seq_0(edit, program):
    editor = edit()
    editor.initialize(supportsRunInTerminalRequest=True)
    launch = {"program": str(program), "python": sys.executable, "args": ["3"], "env": {"HELD": "1"}}
    editor.send_body(json.dumps({"seq": 0, "type": "request", "command": "launch", "arguments": launch}).encode())
    editor.wait_event("initialized")
    editor.set_breakpoints(program, [LINE])
    editor.ok("configurationDone")
    assert editor.response(0)["success"] and editor.response(0)["command"] == "launch"
    editor.resume(editor.stopped(reason="breakpoint")["threadId"])
    assert editor.exit_code() == 7
    editor.end()


def test_what_comes_right_behind_a_launch(edit, program):
    editor = edit()
    editor.initialize(supportsRunInTerminalRequest=True)
    seqs = editor.send_together(
        ("launch", {"program": str(program), "python": sys.executable, "args": ["3"], "env": {"HELD": "1"}}),
        ("setBreakpoints", {"source": {"path": str(program)}, "breakpoints": [{"line": LINE}]}), ("configurationDone", {}))
    for seq in seqs:
        editor.check(editor.response(seq))
    editor.resume(editor.stopped(reason="breakpoint")["threadId"])
    assert editor.exit_code() == 7
    editor.end()
