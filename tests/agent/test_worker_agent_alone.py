"""The agent that a worker runs under `raydbg run`, and a relay that is absent, silent, false or gone: the program goes on."""

import json
import os
import re
import socket
import subprocess
import sys
import time

import pytest
from agent_process import KEY_ID, PROGRAM, TOKEN, agent_key, line_of
from debugpy_session import debugpy_directory
from waits import limit
from worker_agent import LONG, fall_asleep, relay, start  # noqa: F401

WITHOUT = "raydbg: this process begins without its breakpoints"


def test_nothing_listens(start, relay):
    relay.listening.close()
    program = start(word=LONG).result(limit())
    assert len(program.lines) == 1, program.lines
    program.work(3)


def test_the_relay_says_nothing(start, relay):
    program = start().result(limit())  # its connection is in the backlog
    assert program.started >= 0.9 and any(WITHOUT in line for line in program.lines), program.lines
    program.work(3)


def test_the_agent_gives_up_before_the_hold_does(start, relay):
    """Of two clocks either may be the first."""
    program = start(only_forks=True).result(limit())
    program.do("agent.agent.begin(); agent.agent.settled.wait(); agent.agent.hold()")
    assert any(WITHOUT in line for line in program.lines), program.lines
    program.work(3)


@pytest.mark.parametrize("words", [b"", b"{}\n", b"[1]\n", b"nonsense\n", b'{"relay":1,"nonce":2,"proof":3}\n', b"x" * 100000])
def test_a_relay_that_talks_nonsense_is_left(start, relay, words):
    future = start(word=LONG)
    agent = relay.accept()
    agent.sock.sendall(words)
    agent.sock.shutdown(socket.SHUT_WR)
    program = future.result(limit())
    program.work(3)
    with pytest.raises(EOFError) as left:
        agent.hear()
    assert left.value.args[0] == b""


def test_a_relay_without_the_key_gets_nothing(start, relay):
    future = start(word=LONG)
    agent = relay.accept()
    assert agent.line[:4] == ["raydbg", "agent", "1", KEY_ID] and re.fullmatch("[0-9a-f]{64}", agent.line[4])
    agent.prove(key=agent_key("another token"))
    agent.say(verb="debug", token="ef" * 32, hold=10)
    future.result(limit())
    with pytest.raises(EOFError) as left:
        agent.hear()
    assert left.value.args[0] == b""
    assert future.result().ask("active", "ACTIVE") == "False None"


def test_a_proof_for_another_address_is_no_proof(start, relay):
    """A forwarder passes on what the relay has proven, for the relay's own address."""
    future = start(word=LONG)
    agent = relay.accept()
    other = socket.create_server(("127.0.0.1", 0))
    near, real = agent.sock, socket.create_connection(other.getsockname())
    agent.sock = other.accept()[0]  # whose getsockname() the proof is made for
    try:
        def forward(**message):
            near.sendall(json.dumps(message).encode() + b"\n")
        agent.say = forward
        agent.prove()
        with pytest.raises(EOFError):
            agent.sock.close()
            agent.sock = near
            agent.hear()
    finally:
        real.close()
        other.close()
    future.result(limit())


def test_a_silent_hold_ends(start, relay):
    future = start(path=debugpy_directory("3.11", "1.8.22"))
    agent = relay.accept()
    agent.hello()
    agent.say(verb="debug", token="ef" * 32, hold=2)
    relay.accept()  # pydevd, which nobody configures
    program = future.result(limit())
    assert program.started >= 1.9 and any(WITHOUT in line for line in program.lines), program.lines
    program.work(3)


@pytest.fixture
def starve():
    """starve(pid): leaves that process some percent of one CPU."""
    burners = []

    def run(pid):
        burners.extend(subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6))
        for burner in burners:
            os.sched_setaffinity(burner.pid, {0})
        for thread in map(int, os.listdir(f"/proc/{pid}/task")):
            os.sched_setaffinity(thread, {0})

    yield run
    for burner in burners:
        burner.kill()
        burner.wait()


def test_time_without_a_cpu_is_not_counted(start, relay, starve):
    """Ray's workers are nice: what is to be hit is set before the first task also where others use the machine."""
    future = start(word=LONG, path=debugpy_directory("3.11", "1.8.22"))
    agent = relay.accept()
    starve(agent.hello()["pid"])
    agent.say(verb="debug", token="ef" * 32, hold=0.5)
    said = time.monotonic()
    client = relay.accept().dap()
    assert time.monotonic() - said > 0.7, "the fixture does not starve it"
    assert not future.done()
    client.attach({"justMyCode": False}, {str(PROGRAM): [line_of("work")]}, filters=())
    program = future.result(limit())
    program.send("work 4")
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "9"


def test_without_debugpy_it_says_so(start, relay):
    future = start(path="/nowhere", word=LONG)
    agent = relay.accept()
    agent.hello()
    agent.say(verb="debug", token="ef" * 32, hold=LONG)
    failed = agent.hear()
    assert failed["event"] == "failed" and "debugpy" in failed["why"], failed
    program = future.result(limit())
    program.work(3)


def test_it_dials_again_but_not_at_once(start, relay):
    future = start(word=LONG)
    first = relay.accept()
    left = time.monotonic()
    first.close()
    agent = relay.accept()
    assert time.monotonic() - left > 4.5
    agent.hello()
    fall_asleep(agent)
    future.result(limit()).work(3)


def test_another_run_in_the_process_is_dialled_at_once(start, relay):
    """As by a second raydbg_bridge.init() in a notebook: the driver's breakpoints are those of the second."""
    future = start(word=LONG)
    first = relay.accept()
    first.hello()
    first.say(verb="sleep")
    program, other = future.result(limit()), "fedcba9876543210" * 2
    config = {"key_id": other, "key": agent_key(TOKEN, other)}
    program.send("do " + json.dumps(f"agent.AGAIN_S = 1000, 1000; agent.start(dict(agent.agent.config, **{config!r})); answer = 'held'"))
    second = relay.accept()
    assert second.line[3] == other
    second.hello()
    second.say(verb="sleep")
    assert program.wait_for("DONE") == "held"
    with pytest.raises(EOFError):
        first.hear()
        first.hear()
    program.work(3)
