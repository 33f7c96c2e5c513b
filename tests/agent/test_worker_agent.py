"""The agent in a process of the user's (relay/worker_agent), against a relay whose words the test says.

The process is a plain Python, the debugger a real debugpy. tests/conversations/test_run.py has the real relay.
"""

import json
import re
import shutil
import sys
import time
import types

import pytest
from agent_process import PROGRAM, line_of
from agent_program import load_agent
from conftest import find_python
from debugpy_session import debugpy_directory
from waits import SHORT, limit, settle
from worker_agent import LONG, fall_asleep, put_to_sleep, relay, start  # noqa: F401

PAIRS = [("3.9", "1.8.0"), ("3.10", "1.8.22"), ("3.11", "1.8.22"), ("3.12", "1.8.22"), ("3.13", "1.8.22")]


@pytest.fixture
def unbuffered():
    """$PYTHONUNBUFFERED of the process that is debugged."""
    return "1"


@pytest.fixture(params=PAIRS, ids=lambda pair: f"py{pair[0]}-debugpy{pair[1]}")
def debugged(request, start, relay, unbuffered):
    """An agent on each Python, with its debugpy, that has said hello."""
    python, version = request.param
    future = start(find_python(python), debugpy_directory(python, version), word=60, env={"PYTHONUNBUFFERED": unbuffered})
    agent = relay.accept()
    agent.facts = agent.hello()
    agent.python = tuple(map(int, python.split(".")))
    return agent, future


def wake(relay, agent, breakpoints=None, hold=10):
    """Has the agent start pydevd; the configured DAP client."""
    agent.say(verb="debug", token="ef" * 32, hold=hold)
    pydevd = relay.accept()
    assert pydevd.line == ["raydbg", "pydevd", "1", "ef" * 32]
    client = pydevd.dap()
    client.attach({"justMyCode": False, "stopAllThreadsOnSuspend": False}, breakpoints, filters=())
    return client


# --- asleep ---

def test_asleep_it_is_one_thread_and_no_new_module(debugged):
    agent, future = debugged
    assert agent.facts["role"] == "driver" and agent.facts["program"] == PROGRAM.name
    assert agent.facts["debugging"] is False
    agent.say(verb="sleep")
    program = future.result(limit())
    assert program.started < limit(2)  # timed: it is no longer held once the relay says so
    assert agent.facts["pid"] == program.pid
    assert program.ask("threads", "THREADS") == "MainThread raydbg-agent"
    assert program.ask("imported", "IMPORTED") == "[]"
    assert program.ask("active", "ACTIVE") == "False None"


# --- debugged ---

def test_a_breakpoint_stops_and_sleep_gives_the_speed_back(debugged, relay):
    agent, future = debugged
    fall_asleep(agent)
    program = future.result(limit())
    assert program.ask("traced", "TRACED") == "[]"
    for number in (1, 2):  # it can be woken again
        client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
        assert agent.hear() == {"event": "debugging"}
        assert program.ask("traced", "TRACED") != "[]"
        program.send(f"work {number}")
        thread = client.stopped(reason="breakpoint")["threadId"]
        frame = client.stack(thread)[0]
        assert (frame["name"], frame["line"]) == ("work", line_of("work"))
        told = client.evaluate("__import__('sys').modules['raydbg_agent'].describe()", frame["id"])
        assert json.loads(bytes.fromhex(told.strip("'")))["pid"] == program.pid
        assert client.step("next", thread)["reason"] == "step"
        assert client.stack(thread)[0]["line"] == line_of("work") + 1
        client.resume(thread)
        assert program.wait_for("RESULT") == str(2 * number + 1)
        put_to_sleep(agent, client)
        program.work(5)  # at its first call a thread takes its trace function away
        assert program.ask("traced", "TRACED") == "[]"
    assert "PYDEV" not in "".join(program.lines)


def test_a_thread_that_wakes_later_leaves_the_speed_as_it_is(debugged, relay):
    """It has its trace function until its next call, which others do not wait for."""
    agent, future = debugged
    fall_asleep(agent)
    program = future.result(limit())
    assert program.do("import threading; agent.wakes = wakes = threading.Event(); "
                      "agent.waits = threading.Thread(target=wakes.wait); answer = agent.waits.start()") == "None"
    client = wake(relay, agent, {str(PROGRAM): [line_of("lose")]})
    assert agent.hear() == {"event": "debugging"}
    put_to_sleep(agent, client)
    program.work(1)
    assert program.ask("traced", "TRACED") == "[]"
    program.do("agent.wakes.set(); agent.waits.join()")
    assert program.ask("traced", "TRACED") == "[]"


def test_a_frame_that_was_stepped_in_does_not_bring_the_tracing_back(debugged, relay):
    agent, future = debugged
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
    assert agent.hear() == {"event": "debugging"}
    program = future.result(limit())
    program.send("block 4 on")
    thread = client.stopped(reason="breakpoint")["threadId"]
    client.step("next", thread)
    client.resume(thread)
    put_to_sleep(agent, client)
    program.send("on")
    assert program.wait_for("RESULT") == "9"
    assert program.ask("active", "ACTIVE") == "False None"


def test_the_hold_ends_when_it_is_configured(debugged, relay):
    agent, future = debugged
    agent.say(verb="debug", token="ef" * 32, hold=60)
    client = relay.accept().dap()
    settle(1.5)
    assert not future.done()  # the program waits
    client.attach({"justMyCode": False}, {str(PROGRAM): [line_of("work")]}, filters=())
    program = future.result(limit())
    assert program.started > 1.5
    program.send("work 4")
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "9"


def test_a_relay_that_dies_frees_the_program(debugged, relay):
    agent, future = debugged
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
    program = future.result(limit())
    assert agent.hear() == {"event": "debugging"}
    program.send("work 4")
    client.stopped()
    client.transport.close()
    assert program.wait_for("RESULT") == "9"


# --- what a breakpoint checks ---

@pytest.fixture(params=PAIRS, ids=lambda pair: f"py{pair[0]}-debugpy{pair[1]}")
def copied(request, start, relay, tmp_path):
    """The same in Ray's copy of the directory that the program's own file is from, for which it has the original's name: so
    the functions of a driver's file come to a worker, by value."""
    python, version = request.param
    copy = tmp_path / "runtime_resources/working_dir_files/_ray_pkg_0"
    shutil.copytree(PROGRAM.parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    future = start(find_python(python), debugpy_directory(python, version), word=60, cwd=copy, root=str(PROGRAM.parent))
    agent = relay.accept()
    agent.hello()
    return agent, future


def test_a_function_that_came_by_value_stops_in_a_copied_directory(copied, relay):
    agent, future = copied
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
    program = future.result(limit())
    program.send("work 20")
    thread = client.stopped(reason="breakpoint")["threadId"]
    frame = client.stack(thread)[0]
    assert (frame["source"]["path"], frame["line"]) == (str(PROGRAM), line_of("work"))
    client.resume(thread)
    assert program.wait_for("RESULT") == "41"


@pytest.mark.parametrize("arguments, expected", [
    ([1, "", -1, "", "", False], "True"),
    ([1, "", -1, "x == 3", "", False], "True"),
    ([1, "", -1, "x == 4", "", False], "False"),
    ([1, "", -1, "nothing == 4", "", False], "False"),
    ([1, "", -1, "1 +", "", False], "False"),
    ([1, "", -1, "", "x is {x}", False], "False"),
    ([1, "some.task", -1, "", "", False], "False"),
    ([1, "", 7, "", "", False], "True"),
    ([1, "", 0, "nothing == 4", "", False], "False"),
])
def test_check(start, relay, arguments, expected):
    future = start(env={"RANK": "7"}, word=60)
    agent = relay.accept()
    agent.hello()
    agent.say(verb="sleep")
    agent.hear()
    program = future.result(limit())
    assert program.ask("check " + json.dumps(arguments), "CHECKED") == expected
    if arguments[2] == -1 and ("nothing" in arguments[3] or "1 +" in arguments[3]):
        told = agent.hear()
        assert told["event"] == "problem" and told["breakpoint"] == 1
        assert re.match("NameError|SyntaxError", told["error"]), told
        assert program.ask("check " + json.dumps(arguments), "CHECKED") == expected
        agent.sock.settimeout(SHORT)
        with pytest.raises(TimeoutError):  # once is enough
            agent.hear()
    if arguments[4]:
        assert any("x is 3" in line for line in program.lines)


LOGS = [
    ("plain {x}", "plain 3"),
    ("{d['k']} said \"hi\"", 'v said "hi"'),
    ('{d["k"]} said \'hi\'', "v said 'hi'"),
    ("\"{d['k']}\" or '{d[\"k\"]}'", "\"v\" or 'v'"),
    ("{d['k']} \"\"\" '", "v \"\"\" '"),
    ("'''{x}\"\"\"", "'''3\"\"\""),
    ("'''\"\"\"{x}", "'''\"\"\"3"),
    ("{d['k']}\n\"{x!r:>3}\"", 'v\n"  3"'),
    ("{{{d['k']}}} \"\"", '{v} ""'),
    ("C:\\new\\{d['k']} \"\\N\"\\", 'C:\\new\\v "\\N"\\'),
    ("\\", "\\"),
    ("a\0{x}", "a\0003"),
    ("a\r{x}", "a\n3"),  # as Popen reads it
]


@pytest.mark.parametrize("version", [python for python, _ in PAIRS])
def test_a_log_text_may_have_any_quotes_and_backslashes(start, relay, version):
    future = start(find_python(version), word=60)
    agent = relay.accept()
    agent.hello()
    agent.say(verb="sleep")
    agent.hear()
    program = future.result(limit())
    for log, expected in LOGS:
        before = len(program.lines)
        assert program.ask("check " + json.dumps([1, "", -1, "", log, False]), "CHECKED") == "False"
        assert "".join(program.lines[before:-1]) == expected + "\n"
    program.ask("check " + json.dumps([1, "", -1, "", "{d['} \"", False]), "CHECKED")
    told = agent.hear()
    assert told["event"] == "problem" and told["error"].startswith("SyntaxError"), told


@pytest.fixture
def asleep(request, start, relay):
    """A program whose agent sleeps, and the agent; the parameter: variables of its environment."""
    future = start(env=getattr(request, "param", ()), word=LONG)
    agent = relay.accept()
    agent.hello()
    agent.say(verb="sleep")
    agent.hear()
    return future.result(limit()), agent


def counted(program, condition="", log=""):
    program.send("check " + json.dumps([2, "", -1, condition, log, True]))


def test_the_relay_is_asked_about_each_hit_that_counts(asleep):
    program, agent = asleep
    for yes in (False, True):
        counted(program, "x == 4")
        assert program.wait_for("CHECKED") == "False"  # and nothing was asked
        counted(program, "x == 3")
        asked = agent.hear()
        assert asked == {"question": asked["question"], "event": "hit", "breakpoint": 2, "logs": False}
        agent.say(verb="answer", question=asked["question"] + 1, yes=not yes)  # no question of its own
        agent.say(verb="answer", question=asked["question"], yes=yes)
        assert program.wait_for("CHECKED") == str(yes)
    counted(program, log="x is {x}")
    asked = agent.hear()
    assert asked["logs"] is True
    agent.say(verb="answer", question=asked["question"], yes=True)
    assert program.wait_for("CHECKED") == "False" and "x is 3\n" in program.lines


def test_a_relay_that_does_not_answer_is_asked_once(asleep):
    program, agent = asleep
    begun = time.monotonic()
    counted(program)
    assert program.wait_for("CHECKED") == "False"
    assert time.monotonic() - begun > 4.9
    counted(program)
    assert program.wait_for("CHECKED") == "False"
    assert sum("the relay has not answered for " in line for line in program.lines) == 1
    agent.hear()
    agent.say(verb="sleep")  # it talks again
    assert agent.hear() == {"event": "asleep"}, "it was asked once more"
    counted(program)
    agent.say(verb="answer", question=agent.hear()["question"], yes=True)
    assert program.wait_for("CHECKED") == "True"


@pytest.mark.parametrize("asleep", [{"ANSWER_S": str(LONG)}], indirect=True)
@pytest.mark.parametrize("is_asked", [True, False])
def test_a_relay_that_dies_answers_nothing(asleep, is_asked):
    """And what does not stop because of that is said, once."""
    program, agent = asleep
    if is_asked:
        counted(program)
        agent.hear()
    agent.close()
    for _ in range(2 if is_asked else 3):
        counted(program)
    for _ in range(3):
        assert program.wait_for("CHECKED") == "False"
    said = "raydbg: the relay has gone: what should stop here goes on, until there is a relay again\n"
    assert program.lines.count(said) == 1, program.lines


@pytest.mark.parametrize("asleep", [{"AGAIN_S": "0 0.1", "ANSWER_S": "5"}], indirect=True)
def test_a_hit_passes_while_the_agent_and_the_relay_prove_themselves(asleep, relay):
    """A question in place of the proof would have the relay refuse the agent."""
    program, agent = asleep
    agent.close()
    agent = relay.accept()
    counted(program)
    assert program.wait_for("CHECKED") == "False"
    assert agent.hello()["debugging"] is False
    counted(program)
    asked = agent.hear()
    assert asked["event"] == "hit"
    agent.say(verb="answer", question=asked["question"], yes=True)
    assert program.wait_for("CHECKED") == "True"


# --- first lines and failures ---

def test_a_first_line_without_its_breakpoint_is_said(asleep):
    program, agent = asleep
    program.do("agent.agent.wanted, agent.START_MOST_S = 1, 0.5")  # and no pydevd comes
    for _ in (1, 2):  # the relay is asked again, and it is said once
        program.send("enter 2")
        asked = agent.hear()
        assert asked["event"] == "first_line"
        agent.say(verb="answer", question=asked["question"], yes=False)
        assert program.wait_for("RESULT") == "5"
    said = "raydbg: work does not stop at its first line: the relay has not set the breakpoint in this process yet\n"
    assert program.lines.count(said) == 1


FIRST_LINE = [{"line": line_of("work"), "condition": "__import__('sys').modules['raydbg_agent'].is_first_line()"}]


def test_a_task_waits_for_the_pydevd_that_stops_it(debugged, relay):
    """A process is held for a while only when it begins."""
    agent, future = debugged
    fall_asleep(agent)
    program = future.result(limit())
    program.do("agent.agent.wanted = 1")  # as with --pause-all
    for number in (2, 3):
        agent.say(verb="debug", token="ef" * 32, hold=0)
        pydevd = relay.accept()
        program.send(f"enter {number}")
        client = pydevd.dap()
        agent.sock.settimeout(SHORT)
        with pytest.raises(TimeoutError):
            agent.hear()
        agent.sock.settimeout(limit())
        client.attach({"justMyCode": False, "stopAllThreadsOnSuspend": False}, {str(PROGRAM): FIRST_LINE}, filters=())
        assert agent.hear() == {"event": "debugging"}
        if number == 2:  # the relay sets it for the next pydevd, too
            asked = agent.hear()
            assert asked["event"] == "first_line"
            agent.say(verb="answer", question=asked["question"], yes=True)
        client.resume(client.stopped(reason="breakpoint")["threadId"])
        assert program.wait_for("RESULT") == str(2 * number + 1)
        put_to_sleep(agent, client)


def test_a_task_stops_at_its_first_line_and_not_when_it_is_called_else(debugged, relay):
    agent, future = debugged
    client = wake(relay, agent)
    assert agent.hear() == {"event": "debugging"}
    program = future.result(limit())
    program.send("enter 2")
    asked = agent.hear()
    assert asked == {"question": asked["question"], "event": "first_line", "file": str(PROGRAM), "line": line_of("work")}
    client.ok("setBreakpoints", {"source": {"path": str(PROGRAM)}, "breakpoints": FIRST_LINE})
    agent.say(verb="answer", question=asked["question"], yes=True)
    for number in (2, 3):
        thread = client.stopped(reason="breakpoint")["threadId"]
        frame = client.stack(thread)[0]
        assert (frame["name"], frame["line"]) == ("work", line_of("work"))
        client.resume(thread)
        assert program.wait_for("RESULT") == str(2 * number + 1)
        program.work(5)
        if number == 2:
            program.send("enter 3")  # it is not asked again


@pytest.mark.parametrize("config, expected", [
    ({}, True), ({"rank": 7}, True), ({"rank": 0}, False), ({"task": "some.*"}, False), ({"node": "127.0.0.1"}, False),
])
def test_which_failures_count(start, relay, config, expected):
    future = start(post_mortem=True, env={"RANK": "7"}, word=60, **config)
    agent = relay.accept()
    assert agent.hello()["wanted"] is False
    agent.say(verb="sleep")
    agent.hear()
    program = future.result(limit())
    program.send("fail 2")
    if expected:
        asked = agent.hear()
        assert asked == {"question": asked["question"], "event": "wanted", "wanted": True}
        agent.close()
    assert program.wait_for("FAILED") == "6"
    if not expected:
        agent.sock.settimeout(SHORT)
        with pytest.raises(TimeoutError):
            agent.hear()


def test_a_failure_stops_where_it_was_raised(debugged, relay):
    agent, future = debugged
    fall_asleep(agent)
    program = future.result(limit())
    for _ in (1, 2):
        program.send("fail 2")
        asked = agent.hear()
        assert asked == {"question": asked["question"], "event": "wanted", "wanted": True}
        agent.say(verb="answer", question=asked["question"], yes=False)
        client = wake(relay, agent, hold=0)
        assert agent.hear() == {"event": "debugging"}
        thread = client.stopped(reason="exception")["threadId"]
        frames = client.stack(thread)
        assert (frames[0]["name"], frames[0]["line"]) == ("lose", line_of("lose")), frames
        assert client.evaluate("lost", frames[0]["id"]) == "6"
        assert "ValueError" in client.ok("exceptionInfo", {"threadId": thread})["exceptionId"]
        client.resume(thread)
        assert program.wait_for("FAILED") == "6"
        assert agent.hear() == {"event": "wanted", "wanted": False}
        put_to_sleep(agent, client)


def test_pydevd_that_does_not_come_is_not_waited_for(start, relay):
    future = start(path="/nowhere", post_mortem=True, word=60)
    agent = relay.accept()
    agent.hello()
    agent.say(verb="sleep")
    agent.hear()
    program = future.result(limit())
    program.send("fail 2")
    asked = agent.hear()
    agent.say(verb="answer", question=asked["question"], yes=False)
    agent.say(verb="debug", token="ef" * 32, hold=0)
    assert agent.hear()["event"] == "failed"
    assert program.wait_for("FAILED") == "6"


# --- forked children ---

def test_a_forked_child_dials_the_relay_itself_and_is_not_stopped_by_its_parents_debugger(debugged, relay):
    """The parent has a breakpoint in what the child runs, and stays debugged."""
    agent, future = debugged
    client = wake(relay, agent, {PROGRAM: [line_of("work")]})
    assert agent.hear() == {"event": "debugging"}
    program = future.result(limit())
    program.send("fork 4")
    child = relay.accept()
    assert child.hello()["pid"] != program.process.pid
    child.close()
    assert program.wait_for("FORKED") == "9"
    program.send("work 5")
    thread = client.stopped(reason="breakpoint")["threadId"]
    client.resume(thread)
    assert program.wait_for("RESULT") == "11"


FORKS = (PROGRAM.parents[2] / "relay/inject/injections/forks.py").read_text() + """
pydev_monkey._get_apply_arg_patching = lambda: False  # as inject_no_sub_process
"""
BREAKPOINT_IN_CHILD = """
import os
child = os.fork()
if not child:
    breakpoint()
    os._exit(7)
answer = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def test_a_forked_child_passes_its_breakpoint_whether_or_not_its_parent_is_debugged(debugged, relay):
    """The hook of relay/inject, which the relay has put there, runs after the agent's."""
    agent, future = debugged
    client = wake(relay, agent)
    assert agent.hear() == {"event": "debugging"}
    program = future.result(limit())
    program.do(FORKS)
    assert program.do(BREAKPOINT_IN_CHILD) == "7"
    put_to_sleep(agent, client)
    assert program.do(BREAKPOINT_IN_CHILD) == "7"
    assert sum("a breakpoint() in a forked child" in line for line in program.lines) == 2, program.lines
    assert not any("Exception ignored" in line for line in program.lines), program.lines


WORKER = """
import sys, types
core_worker = types.SimpleNamespace(get_current_task_name=lambda: %r)
worker = types.SimpleNamespace(global_worker=types.SimpleNamespace(core_worker=core_worker))
sys.modules["ray"] = types.SimpleNamespace(_private=types.SimpleNamespace(worker=worker), is_initialized=lambda: True)
agent.agent.hello["role"] = "worker"
"""


@pytest.mark.parametrize("task_name", ["Trainer.step", ""])
def test_a_child_that_a_task_forks_has_the_tasks_name(asleep, relay, task_name):
    """A stop without a name would not be told."""
    program, _ = asleep
    program.do(WORKER % task_name)
    program.send("fork 4")
    child = relay.accept()
    assert child.hello()["task_name"] == (task_name or f"child of pid {program.pid}")
    child.close()
    assert program.wait_for("FORKED") == "9"


@pytest.mark.parametrize("unbuffered", [""])
def test_what_the_parent_has_not_written_yet_is_the_parents(debugged, relay):
    """A child that writes its copy of the buffer writes it once more."""
    agent, future = debugged
    wake(relay, agent, {PROGRAM: [line_of("work")]})
    assert agent.hear() == {"event": "debugging"}
    program = future.result(limit())
    program.send("buffer once")
    program.send("fork 4")
    child = relay.accept()
    child.hello()
    child.close()
    assert program.wait_for("FORKED") == "9"
    assert program.lines.count("once\n") == 1, program.lines


# --- Ray's own code ---

@pytest.mark.parametrize("path, is_rays", [
    ("/here/ray/actor.py", True),
    ("/home/me/venv/lib/python3.11/site-packages/ray/train/loop.py", True),  # by value, from a driver elsewhere
    ("/usr/lib/python3/dist-packages/ray/actor.py", True),
    ("/src/ray/python/ray/util/rpdb.py", True),
    ("python/ray/_raylet.pyx", True),
    ("/home/ray/app.py", False),
    ("/v/site-packages/raydp/x.py", False),
])
def test_rays_own_code_is_what_the_relay_takes_for_it(monkeypatch, path, is_rays):
    """The same paths as in tests/unit/base/test_base_ray_path.c: the list is one."""
    monkeypatch.setitem(sys.modules, "raydbg_agent", None)
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(__file__="/here/ray/__init__.py"))
    assert load_agent().is_rays(compile("", path, "exec")) is is_rays
