"""A scripted relay and processes with an agent that dial it: for test_worker_agent*.py."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from agent_process import TOKEN, AgentProcess
from conftest import find_python
from scripted_relay import Relay
from waits import limit

LONG = 1000  # seconds: what waits for so long fails


@pytest.fixture
def relay():
    scripted = Relay()
    yield scripted
    scripted.close()


@pytest.fixture
def start(relay):
    """start(): AgentProcess, in a thread: it comes back when its agent has had its first word."""
    started = []
    with ThreadPoolExecutor() as pool:
        def run(python=None, path="", **options):
            future = pool.submit(AgentProcess, relay.address, TOKEN, python or find_python("3.11"), path, **options)
            started.append(future)
            return future
        yield run
        for future in started:
            future.result(limit()).kill()


def fall_asleep(agent):
    """The relay has its agent take pydevd out, if it is there."""
    agent.say(verb="sleep")
    assert agent.hear() == {"event": "asleep"}


def put_to_sleep(agent, client):
    """The relay leaves pydevd, whose DAP client this is, and tells the agent to take it out."""
    client.ok("disconnect", {"terminateDebuggee": False})
    client.transport.close()
    fall_asleep(agent)
