"""The agent's pydevd where another debugger is in the process, and where it ends before it has begun: a scripted relay."""

import json
import socket

import pytest
from agent_process import PROGRAM, line_of
from test_worker_agent import debugged, unbuffered, wake  # noqa: F401
from waits import limit, settle, wait_until
from worker_agent import fall_asleep, relay, start  # noqa: F401

WORD = "ef" * 32
LISTENS = "import debugpy\nanswer = debugpy.listen(('127.0.0.1', 0))[1] > 0"
IS_THERE = """
import sys
found = sys.modules["pydevd"].get_global_debugger()
answer = found is not None and not found.pydb_disposed
"""


def is_there(program):
    return program.do(IS_THERE) == "True"


def ends(program):
    """Until debugpy, too, has forgotten it: one that listens before that would use it, and not make another."""
    wait_until(lambda: program.do("import pydevd\nanswer = pydevd.get_global_debugger()") == "None", "pydevd ends")


@pytest.fixture
def asleep(debugged):
    """The agent, and its program, which runs without pydevd."""
    agent, future = debugged
    fall_asleep(agent)
    return agent, future.result(limit())


# --- another debugger ---

def test_another_debugger_is_left_alone(asleep):
    """As Ray's own is open where a task waits at its breakpoint()."""
    agent, program = asleep
    assert program.do(LISTENS) == "True"
    agent.say(verb="debug", token=WORD, hold=0)
    told = agent.hear()
    assert told["event"] == "failed" and "another debugger" in told["why"], told
    assert is_there(program) and program.do("answer = agent.debugger.active") == "False"
    fall_asleep(agent)
    assert is_there(program)
    program.work(3)


def test_a_debugger_that_comes_when_pydevd_has_ended_is_left_alone(asleep, relay):
    agent, program = asleep
    client = wake(relay, agent, hold=0)
    assert agent.hear() == {"event": "debugging"}
    client.transport.close()
    ends(program)
    assert program.do(LISTENS) == "True"
    fall_asleep(agent)
    assert is_there(program) and program.do("answer = agent.debugger.active") == "False"
    program.work(3)


# --- an end before it has begun ---

@pytest.mark.parametrize("end", ["closed", "silent"])
def test_a_pydevd_that_nobody_configures_is_in_no_later_ones_way(asleep, relay, end):
    agent, program = asleep
    for _ in (1, 2):
        agent.say(verb="debug", token=WORD, hold=0)
        pydevd = relay.accept()
        assert pydevd.line[1] == "pydevd"
        if end == "closed":
            pydevd.close()
            ends(program)
        fall_asleep(agent)
        assert not is_there(program)
    assert program.ask("active", "ACTIVE") == "False None"
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]}, hold=0)
    assert agent.hear() == {"event": "debugging"}  # of this one only
    program.send("work 4")
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "9"


def test_a_child_that_is_forked_while_pydevd_starts_can_be_debugged(asleep, relay):
    agent, program = asleep
    agent.say(verb="debug", token=WORD, hold=0)
    relay.accept()
    program.send("fork 4")
    child = relay.accept()
    child.hello()
    child.say(verb="debug", token="cd" * 32, hold=0)
    pydevd = relay.accept()
    assert pydevd.line == ["raydbg", "pydevd", "1", "cd" * 32]
    pydevd.close()
    assert program.wait_for("FORKED") == "9"  # its agent is settled


# Each import of debugpy waits at a gate of its own, and fails then.
SLOW_IMPORTS = """
import sys, threading, types
agent.gates = [threading.Event(), threading.Event()]
shut, agent.reached = iter(agent.gates), threading.Event()
def import_slowly(name):
    gate = next(shut)
    agent.reached.set()
    gate.wait()
    raise ImportError(name)
agent.importlib = types.SimpleNamespace(import_module=import_slowly)
answer = sys.getswitchinterval()
"""
INTERVAL = "import sys\nanswer = sys.getswitchinterval()"
INTERVAL_IN_CHILD = """
import os, sys
child = os.fork()
if not child:
    os._exit(round(1e4 * sys.getswitchinterval()))
answer = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@pytest.fixture
def importing(start, relay):
    """The agent and its program, which is at the import of a debugpy that is not there; and its switch interval before."""
    future = start(word=60)
    agent = relay.accept()
    agent.hello()
    fall_asleep(agent)
    program = future.result(limit())
    before = program.do(SLOW_IMPORTS)
    agent.say(verb="debug", token=WORD, hold=0)
    assert program.do("answer = agent.reached.wait()") == "True"
    assert program.do(INTERVAL) != before
    return agent, program, before


def test_two_imports_at_a_time_leave_the_switch_interval(importing):
    """A relay that is started again asks for pydevd while the first import goes on."""
    agent, program, before = importing
    agent.say(verb="debug", token=WORD, hold=0)
    settle(1)
    for gate in 0, 1:
        program.do(f"agent.gates[{gate}].set()")
        assert agent.hear()["event"] == "failed"
    assert program.do(INTERVAL) == before


def test_a_child_that_is_forked_meanwhile_has_its_own_switch_interval(importing):
    _, program, before = importing
    assert int(program.do(INTERVAL_IN_CHILD)) == round(1e4 * float(before))


def test_a_dial_that_fails_leaves_no_debugger_behind(asleep, relay):
    agent, program = asleep
    relay.listening.close()
    agent.say(verb="debug", token=WORD, hold=0)
    assert agent.hear()["event"] == "failed"
    assert not is_there(program) and program.ask("active", "ACTIVE") == "False None"
    relay.listening = socket.create_server(relay.address)
    relay.listening.settimeout(limit())
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]}, hold=0)
    assert agent.hear() == {"event": "debugging"}
    program.send("work 4")
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "9"


# A thread of the program's takes out what an ended pydevd has left, as where it waits at a breakpoint(). It does so slowly.
TAKES_OUT = """
import sys, threading
pydevd, agent.go_on = sys.modules["pydevd"], threading.Event()
stoptrace, reached = pydevd.stoptrace, threading.Event()
def stop_slowly():
    pydevd.stoptrace = stoptrace
    reached.set()
    agent.go_on.wait()
    stoptrace()
pydevd.stoptrace = stop_slowly
threading.Thread(target=agent.debugger.tidy, daemon=True).start()
answer = reached.wait(600)
"""


def test_what_is_taken_out_is_not_the_next_pydevd(asleep, relay):
    agent, program = asleep
    client = wake(relay, agent, hold=0)
    assert agent.hear() == {"event": "debugging"}
    client.transport.close()
    ends(program)
    assert program.do(TAKES_OUT) == "True"
    agent.say(verb="debug", token=WORD, hold=0)
    settle(1)
    program.do("agent.go_on.set()")
    client = relay.accept().dap()
    client.attach({"justMyCode": False}, {str(PROGRAM): [line_of("work")]}, filters=())
    assert agent.hear() == {"event": "debugging"}
    program.send("work 4")
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "9"


# --- a breakpoint() of the program's own ---

RAYS = """
import sys, types
rays = sys.modules["ray.util.debugpy"] = types.ModuleType("ray.util.debugpy")
rays.opened = 0
def open_port():
    rays.opened += 1
rays._ensure_debugger_port_open_thread_safe = open_port
"""
BREAKPOINT = """
import sys
rays = sys.modules["ray.util.debugpy"]
rays._ensure_debugger_port_open_thread_safe()
answer = rays.opened
"""


@pytest.fixture
def beside_rays(asleep):
    """The same with a stand-in of Ray's debugger, which counts how often it is opened."""
    agent, program = asleep
    program.do(RAYS)
    return agent, program


def begin_breakpoint(program):
    """It waits; its DONE is still to come."""
    before = len(program.lines)
    program.send("do " + json.dumps(BREAKPOINT))
    settle()
    program.has("DONE")
    assert not [line for line in program.lines[before:] if line.startswith("DONE ")], program.lines


def test_a_breakpoint_waits_for_the_pydevd_that_starts(beside_rays, relay):
    agent, program = beside_rays
    agent.say(verb="debug", token=WORD, hold=0)
    pydevd = relay.accept()
    begin_breakpoint(program)
    pydevd.dap().attach({"justMyCode": False}, None, filters=())
    assert program.wait_for("DONE") == "0"
    assert agent.hear() == {"event": "debugging"}
    assert program.do(BREAKPOINT) == "0"


def test_a_breakpoint_opens_rays_debugger_when_the_relay_has_gone(beside_rays, relay):
    """At once: the agent takes out what its pydevd has left when it dials again, seconds later."""
    agent, program = beside_rays
    client = wake(relay, agent, hold=0)
    assert agent.hear() == {"event": "debugging"}
    client.transport.close()
    agent.close()
    ends(program)
    assert program.do(BREAKPOINT) == "1"
    assert not is_there(program) and program.do("answer = agent.debugger.active") == "False"


def test_a_breakpoint_does_not_wait_in_a_pydevd_that_the_relay_leaves(beside_rays, relay):
    agent, program = beside_rays
    client = wake(relay, agent, hold=0)
    assert agent.hear() == {"event": "debugging"}
    client.ok("disconnect", {"terminateDebuggee": False})
    begin_breakpoint(program)
    fall_asleep(agent)
    assert program.wait_for("DONE") == "1"
