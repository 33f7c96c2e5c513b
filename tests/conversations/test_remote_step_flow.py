"""Floods in a remote task that was stepped into: what holds for the task that was attached to holds for this one, too."""

import threading

import pytest
from fake_adapter import FakeAdapter
from fake_gang import FakeGang
from flood import COUNT, MIB, PIECE, Evaluations, Flood, numbers
from relay_process import release_path
from slow_client import SlowClient
from waits import limit, wait_until


@pytest.fixture
def gang():
    with FakeGang(names=["outer"]) as fake:
        yield fake


@pytest.fixture
def inside(gang, run_relay):
    """A client in a remote task, and that task's worker; neither has much room in its kernel's queues."""
    caller = gang.workers[0]
    caller.adapter.on["evaluate"] = lambda c, request: c.respond(
        request, {"result": f"'{caller.task_id}'", "variablesReference": 0, "type": "str"})
    relay = run_relay(adapter=None, address=gang.address, binary=release_path())
    client = SlowClient(relay, task="outer")
    client.request("raydbg/stepIntoRemote", {"threadId": 1})
    caller.adapter.wait_request("continue")
    callee = gang.add("leaf", adapter=FakeAdapter(), parent=caller.task)
    client.event("stopped")
    return relay, client, callee


def test_a_client_that_does_not_read_stalls_the_remote_task(inside):
    relay, client, callee = inside
    flood = Flood(callee.adapter.connection())
    flood.wait_stuck(relay)
    assert numbers(client, COUNT) == list(range(COUNT))
    flood.thread.join(limit())
    assert client.request("threads")


@pytest.mark.parametrize("task", ["outer", "leaf"])
def test_a_client_that_does_not_read_is_dropped_by_a_task_that_another_drives(gang, inside, task):
    """Caller and remote task both send to the client in the remote task: the one that it does not drive does not wait for it."""
    relay, client, callee = inside
    caller = gang.workers[0]
    caller.adapter.connection().stop()  # whoever takes it over sees that stop
    heir = SlowClient(relay, task=task, takeOver=True)
    flood = Flood({"outer": caller, "leaf": callee}[task].adapter.connection(), 40 * MIB // PIECE)
    assert numbers(heir, flood.count) == list(range(flood.count))
    wait_until(lambda: [line["detail"] for line in relay.audit() if line["action"] == "dropped"] == ["it lags behind"],
               "the client is dropped")
    last = None
    while (message := client.receive()) is not None:
        last = message
    assert "lags behind" in last["body"]["output"], last
    assert heir.request("threads")


def test_a_client_whose_caller_another_drives_still_stalls_the_remote_task(gang, inside):
    relay, client, callee = inside
    gang.workers[0].adapter.connection().stop()
    heir = SlowClient(relay, task="outer", takeOver=True)
    flood = Flood(callee.adapter.connection())
    flood.wait_stuck(relay)
    assert numbers(client, COUNT) == list(range(COUNT))
    flood.thread.join(limit())
    assert heir.request("threads")


def test_who_observes_a_remote_task_gets_a_large_answer(inside):
    """It is no lag to have asked for one."""
    relay, client, callee = inside
    heir = SlowClient(relay, task="leaf", takeOver=True)
    value = "x" * (6 * MIB)
    callee.adapter.on["variables"] = lambda connection, request: connection.respond(request, {"variables": [
        {"name": "x", "value": value, "type": "str", "variablesReference": 0}]})
    assert client.request("variables", {"variablesReference": 6})["variables"][0]["value"] == value
    assert heir.request("threads")


def test_a_client_is_read_again_when_a_remote_task_that_does_not_read_has_died(inside):
    relay, client, callee = inside
    release = threading.Event()
    callee.adapter.on["evaluate"] = lambda connection, request: release.wait(limit())
    flood = Evaluations(client, 16 * MIB // 30_000)
    flood.wait_stuck(relay)
    callee.adapter.connection().die("rst")
    release.set()
    answers = 0
    while answers < flood.count:
        message = client.receive()
        assert message is not None, f"the relay closed the connection after {answers} answers"
        answers += message.get("command") == "evaluate"
    flood.thread.join(limit())
    assert client.request("threads")
