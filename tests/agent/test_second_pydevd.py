"""A process of `raydbg run` whose pydevd ends, and which gets another: the relay and debugpy are real.

tests/integration/test_run_many.py has a breakpoint() in a second pydevd."""

import pytest
from agent_relay import relay, run_agent, start  # noqa: F401
from conftest import find_python
from debugpy_session import debugpy_directory

WATCHES = "sum(hasattr(thread, 'ended') for thread in __import__('threading')._active.values())"
WRAPPED = "hasattr(__import__('pydevd').get_global_debugger().stop_on_unhandled_exception, 'raydbg')"


@pytest.mark.parametrize("number, monitored", [("3.11", "False"), ("3.13", "True")])
def test_what_is_injected_is_not_tied_to_the_first(relay, run_agent, number, monitored):
    program = run_agent(relay, python=find_python(number), path=debugpy_directory(number, "1.8.22"))
    for n in (1, 2):
        relay.set()
        relay.processes(connected=1, debugged=1)
        program.send(f"work {n}")
        relay.stop()
        client = relay.attach(program)
        thread = client.stopped()["threadId"]
        frame = client.stack(thread)[0]["id"]
        assert client.evaluate(WATCHES, frame) == "1"
        assert client.evaluate(WRAPPED, frame) == monitored
        assert relay.http("POST", "/v1/breakpoints/clear").status == 200
        client.resume(thread)
        assert program.wait_for("RESULT") == str(2 * n + 1)
        client.disconnect(terminateDebuggee=False)
        relay.processes(connected=1, debugged=0)
