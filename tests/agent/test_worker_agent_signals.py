"""The signals of a process with an agent, which reach the program as without one: a scripted relay."""

import json
import signal
import socket

import pytest
from conftest import find_python
from debugpy_session import debugpy_directory
from test_worker_agent import PAIRS, asleep, debugged, unbuffered, wake  # noqa: F401
from waits import limit
from worker_agent import fall_asleep, put_to_sleep, relay, start  # noqa: F401

# --- blocked signals ---

SIGWAIT = """
import os, signal
before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
answer = signal.sigwait({signal.SIGTERM}).name, *before
signal.pthread_sigmask(signal.SIG_SETMASK, before)
"""
SIGWAIT_IN_CHILD = """
import os
child = os.fork()
if not child:
    exec(%r)
    os._exit(answer == ("SIGTERM",))
answer = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
""" % SIGWAIT


MASKS = """
import signal, threading
answer = []
for name, thread in [(thread.name, thread.native_id) for thread in list(threading._active.values())]:
    if name.startswith(("pydevd.Reader", "pydevd.Writer", "pydevd.CommandThread", "raydbg-agent")):
        with open("/proc/self/task/%d/status" % thread) as file:
            blocked = next(int(line.split()[1], 16) for line in file if line.startswith("SigBlk:"))
        answer.append((blocked >> (signal.SIGTERM - 1)) & 1)
"""


def test_a_signal_that_the_program_blocks_waits_for_it(asleep):
    """The agent's thread does not receive it, and the program's own has not blocked any."""
    program, _ = asleep
    assert program.do(SIGWAIT) == "('SIGTERM',)"
    assert program.do(SIGWAIT_IN_CHILD) == "1"


def test_the_threads_of_pydevd_block_signals(debugged, relay):
    agent, future = debugged
    wake(relay, agent)
    assert agent.hear() == {"event": "debugging"}
    assert future.result(limit()).do(MASKS) == "[1, 1, 1, 1]"


# --- ^C ---

def start_driver(start, relay, python, version):
    future = start(find_python(python), debugpy_directory(python, version), word=60, interrupt_pauses=True)
    agent = relay.accept()
    agent.hello()
    fall_asleep(agent)
    return agent, future.result(limit())


@pytest.fixture(params=PAIRS, ids=lambda pair: f"py{pair[0]}-debugpy{pair[1]}")
def resting(request, start, relay):
    """A driver of a `raydbg run` with a console, which sleeps in doze()."""
    agent, program = start_driver(start, relay, *request.param)
    program.ask("doze", "DOZES")
    return agent, program


def interrupt(agent, program):
    """Sends SIGINT; the question that the program asks then."""
    program.process.send_signal(signal.SIGINT)
    asked = agent.hear()
    assert (asked["event"], asked["wanted"]) == ("wanted", True)
    return asked["question"]


def go_on(agent, client, thread):
    """The pause ends, and pydevd."""
    client.resume(thread)
    assert agent.hear() == {"event": "wanted", "wanted": False}
    put_to_sleep(agent, client)


def leave(relay, agent):
    """There is no relay any more, and the agent has noticed."""
    relay.listening.close()
    agent.sock.shutdown(socket.SHUT_WR)
    assert agent.sock.recv(100) == b""


def test_an_interrupt_pauses_the_main_thread_where_it_is(resting, relay):
    agent, program = resting
    agent.say(verb="answer", question=interrupt(agent, program), yes=False)
    client = wake(relay, agent)
    assert agent.hear() == {"event": "debugging"}
    thread = client.stopped(reason="pause")["threadId"]
    frames = client.stack(thread)
    assert [frame["name"] for frame in frames[:2]] == ["doze", "main"]
    assert client.evaluate("why", frames[0]["id"]) == "'a while'"
    go_on(agent, client, thread)
    assert not program.has("WOKEN")  # it goes on sleeping
    interrupt(agent, program)
    program.process.send_signal(signal.SIGINT)
    assert program.wait_for("WOKEN") == "interrupted"
    assert agent.hear() == {"event": "wanted", "wanted": False}
    program.work(2)


def test_an_interrupt_without_a_relay_is_the_programs(resting, relay):
    agent, program = resting
    leave(relay, agent)
    program.process.send_signal(signal.SIGINT)
    assert program.wait_for("WOKEN") == "interrupted"


# The coroutine does not await while it runs, so Python's own handler would raise in the middle of it.
RUNS_COROUTINE = """
import asyncio
async def main():
    task = asyncio.current_task()
    try:
        print("RUNS .", flush=True)
        while not task.cancelling():
            pass
        await asyncio.sleep(0)
    except BaseException as error:
        return type(error).__name__
answer = asyncio.run(main())
"""


@pytest.fixture(params=PAIRS[2:], ids=lambda pair: f"py{pair[0]}-debugpy{pair[1]}")
def running_coroutine(request, start, relay):
    """The same on the Pythons whose asyncio.run() has a handler of its own, with a coroutine that runs until it is cancelled."""
    agent, program = start_driver(start, relay, *request.param)
    program.ask("do " + json.dumps(RUNS_COROUTINE), "RUNS")
    return agent, program


def test_an_interrupt_pauses_a_coroutine_and_the_next_cancels_the_main_task(running_coroutine, relay):
    agent, program = running_coroutine
    agent.say(verb="answer", question=interrupt(agent, program), yes=False)
    client = wake(relay, agent)
    assert agent.hear() == {"event": "debugging"}
    stop = client.stopped(reason="pause")
    assert client.stack(stop["threadId"])[0]["name"] == "main"
    go_on(agent, client, stop["threadId"])
    interrupt(agent, program)
    program.process.send_signal(signal.SIGINT)
    assert program.wait_for("DONE") == "CancelledError"
    assert agent.hear() == {"event": "wanted", "wanted": False}
    program.work(2)


def test_an_interrupt_without_a_relay_cancels_the_main_task(running_coroutine, relay):
    agent, program = running_coroutine
    leave(relay, agent)
    program.process.send_signal(signal.SIGINT)
    assert program.wait_for("DONE") == "CancelledError"
