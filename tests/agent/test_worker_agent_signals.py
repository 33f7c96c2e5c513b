"""The signals of a process with an agent, which reach the program as without one: a scripted relay."""

from test_worker_agent import debugged, unbuffered, wake  # noqa: F401
from waits import limit
from worker_agent import relay, start  # noqa: F401

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


def test_a_signal_that_the_program_blocks_waits_for_it(debugged, relay):
    """No thread of the agent's or of pydevd's receives it, and the program's own has not blocked any."""
    agent, future = debugged
    agent.say(verb="sleep")
    assert agent.hear() == {"event": "asleep"}
    program = future.result(limit())
    assert program.do(SIGWAIT) == "('SIGTERM',)"
    wake(relay, agent)
    assert agent.hear() == {"event": "debugging"}
    assert program.do(SIGWAIT) == "('SIGTERM',)"
    assert program.do(SIGWAIT_IN_CHILD) == "1"
