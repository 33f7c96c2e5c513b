"""The agent and pydevd in a process that ends: where a thread begins while the interpreter ends, CPython 3.9 and 3.10 crash."""

import pytest
from conftest import find_python
from debugpy_session import debugpy_directory
from test_worker_agent import PAIRS, asleep, debugged, unbuffered, wake  # noqa: F401
from waits import limit
from worker_agent import LONG, fall_asleep, relay, start  # noqa: F401

BEGIN_THREADS_AT_THE_END = """
import atexit, gc, os, threading, time
import pydevd_tracing

gc.kept = [[] for _ in range(300_000)]  # the last collection takes its time
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
ends = threading.Event()

def begin():
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 5)  # also of what it begins, which comes late
    ends.wait()
    while True:
        pydevd_tracing.set_trace_to_threads(lambda *_: None, create_dummy_thread=False)

atexit.register(lambda: ends.set() or time.sleep(0.05))
for _ in range(2):
    threading.Thread(target=begin, daemon=True).start()
"""


@pytest.mark.parametrize("release, version", PAIRS[:2])
def test_threads_that_begin_at_the_end_crash_nothing(start, relay, release, version):
    """Without the guard, a third of the processes crash. Freed memory is filled, so that its use is one."""
    for _ in range(10):
        future = start(find_python(release), debugpy_directory(release, version), word=LONG, env={"PYTHONMALLOC": "debug"})
        agent = relay.accept()
        agent.hello()
        wake(relay, agent)
        program = future.result(limit())
        assert program.do(BEGIN_THREADS_AT_THE_END) == "None", program.lines
        program.send("exit 7")
        assert program.process.wait(limit()) == 7, program.lines


BEGIN_SLOWLY = """
import os, threading, time

begins = threading.Event()

def begin():
    begins.set()
    time.sleep(0.3)
    os.write(1, b"BEGUN 1\\n")

threading.Thread(target=agent.starts.guard(begin), daemon=True).start()
begins.wait()
"""


def test_a_thread_that_begins_is_waited_for(asleep):
    program, _ = asleep
    program.do(BEGIN_SLOWLY)
    program.send("exit 7")
    program.wait_for("BEGUN")
    assert program.process.wait(limit()) == 7


COUNT_THREADS = """
import threading
from _pydev_bundle import pydev_monkey
agent.begun = []

def count(owner, name):
    begin = getattr(owner, name)
    setattr(owner, name, lambda *arguments: agent.begun.append(name) or begin(*arguments))

count(threading.Thread, "start")
count(pydev_monkey, "get_original_start_new_thread")  # for pydevd_tracing's own
"""


def test_none_begins_when_the_interpreter_ends(debugged, relay):
    """Neither for a relay that wants pydevd, nor where pydevd is taken out."""
    agent, future = debugged
    wake(relay, agent)
    program = future.result(limit())
    assert agent.hear() == {"event": "debugging"}
    assert program.do(COUNT_THREADS + "agent.starts.end()") == "None"
    fall_asleep(agent)
    agent.say(verb="debug", token="ef" * 32, hold=0)
    fall_asleep(agent)
    assert program.do("answer = agent.begun") == "[]"
