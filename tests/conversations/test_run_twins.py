"""Processes of different nodes with one pid, whose agents and pydevds are by hand."""

import pytest
from agent_by_hand import ByHand, debugged, hears_nothing
from agent_process import KEY_ID
from agent_relay import start  # noqa: F401
from fake_adapter import FakeAdapter
from waits import wait_until

PID = 77
HERE, THERE = "127.0.0.1", "127.0.0.2"
WORKER = {"role": "worker", "worker_id": "ab" * 28}


@pytest.fixture
def relay(start):
    relay = start()
    relay.set()
    return relay


@pytest.fixture
def other():
    with FakeAdapter() as fake:
        yield fake


@pytest.mark.parametrize("source", [HERE, THERE])
@pytest.mark.parametrize("hello", [WORKER, {}], ids=["worker", "driver"])
def test_one_ends_and_the_other_stays_stopped(relay, adapter, other, source, hello):
    driver = debugged(relay, adapter, HERE, pid=PID)
    second = debugged(relay, other, source, pid=PID, **hello)
    relay.stop(2)
    second.file.close()
    second.sock.close()
    relay.processes(connected=1)
    other.connection().die()
    wait_until(lambda: len(relay.pauses()) == 1, "the other's pause is over")
    assert hears_nothing(driver, debugged=True)
    relay.stop(1)
    assert not {"continue", "disconnect"} & set(adapter.commands())


@pytest.mark.parametrize("order", [1, -1])
def test_both_dial_the_next_relay(relay, adapter, other, order):
    twins = [(debugged(relay, adapter, HERE, pid=PID), HERE), (debugged(relay, other, THERE, pid=PID), THERE)]
    relay.stop(2)
    relay.kill9()
    relay.restart()
    again = {}
    for agent, source in twins[::order]:
        agent.sock.close()
        again[source] = ByHand(relay, source=source)
        again[source].prove(pid=PID, debugging=True)
        assert again[source].hear() == {"verb": "stay"}
    other.connection().die()
    assert again[THERE].hear() == {"verb": "sleep"}
    assert hears_nothing(again[HERE], debugged=True)


def test_an_agent_dials_again_before_its_end_is_known(relay, adapter):
    first = debugged(relay, adapter, HERE, pid=PID)
    relay.stop()
    second = ByHand(relay, source=HERE)
    second.prove(pid=PID, debugging=True)
    assert second.hear() == {"verb": "stay"}
    assert hears_nothing(second, debugged=True)
    first.sock.close()
    adapter.connection().die()
    assert second.hear() == {"verb": "sleep"}


def test_a_session_over_a_run_has_the_process_of_that_run(relay, adapter, other):
    one = debugged(relay, adapter, HERE, pid=PID)
    twin = debugged(relay, other, THERE, "fedcba9876543210" * 2, pid=PID)
    relay.stop(2)
    client = relay.join(filters=(), tasks="*", run=KEY_ID)
    client.stopped()
    client.ok("threads")
    assert len(client.events("stopped")) == 1 and len(client.ok("threads")["threads"]) == 1
    assert not [p for p in relay.pauses() if p["node_ip"] == THERE and p["clients"]], relay.pauses()
    assert hears_nothing(one, debugged=True) and hears_nothing(twin, debugged=True)
