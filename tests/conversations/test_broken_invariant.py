"""A fault of the relay's own ends it where it is noticed, and the next relay gets every pause back from the keeper.

A sanitized raydbg has a plant for it, $RAYDBG_TEST_BREAK (base/invariant.c): the struct is found in a state that it cannot be in.
"""

import re
from contextlib import ExitStack, suppress

import pytest
from dap_client import DapError
from fake_adapter import FakeAdapter
from fake_gang import FakeGang
from held_task import assert_held
from many_session import ALL, shown, threads
from relay_under_test import raydbg_path
from waits import hard, is_sanitized, limit

HELD = 3


def end_by_a_fault(relay):
    """Waits until the relay has ended; what it wrote."""
    code = relay.process.wait(limit())
    relay.end_was_seen = True
    with hard():
        assert code == -6, f"the relay ended with {code}:\n{relay.stderr()}"
    return relay.stderr()


def leave(relay, client, adapter):
    client.strict = False
    client.send("disconnect", {"terminateDebuggee": False})


def close_adapter(relay, client, adapter):
    adapter.close()


def open_websocket(relay, client, adapter):
    with suppress(OSError, EOFError, AssertionError, DapError):
        relay.client("websocket")


FAULTS = {
    "session to leaving": ("relay/session/session_leave.c", leave),
    "hub to lost": ("relay/hub/hub_debuggee.c", close_adapter),
    "connection to WebSocket": ("relay/port/conn_websocket.c", open_websocket),
    "keeper's slot to dropping": ("relay/keeper/keeper.c", close_adapter),
}


def attach_to_all(relay):
    client = relay.client("tcp")
    client.strict = False
    client.initialize(clientID="vscode", clientName="editor")
    client.attach(relay.attach_arguments("tcp", **ALL))
    shown(client)
    return client


def assert_says(stderr, plant, file):
    machine, state = plant.split(" to ")
    assert re.search(rf"a fault of raydbg's own at \S*{re.escape(file)}:\d+, in \w+\(\): the {machine} cannot go from {state} to "
                     rf"{state}\n", stderr), stderr


@pytest.mark.parametrize("plant", FAULTS)
def test_every_pause_comes_back(run_relay, plant):
    file, provoke = FAULTS[plant]
    with ExitStack() as stack:
        adapters = [stack.enter_context(FakeAdapter()) for _ in range(HELD + 1)]
        relay = run_relay("--allow-connect", env={"RAYDBG_TEST_BREAK": plant})
        for number, adapter in enumerate(adapters):
            adapter.line = 100 + number
            client = relay.join(adapter=adapter)
            client.strict = False
            client.stopped()
        provoke(relay, client, adapters[-1])
        if not is_sanitized(raydbg_path()):
            assert relay.process.poll() is None
            return
        assert_says(end_by_a_fault(relay), plant, file)
        relay.env.pop("RAYDBG_TEST_BREAK")
        relay.restart()
        with hard():
            assert sum(pause["held"] for pause in relay.pauses()) >= HELD
        for number, adapter in enumerate(adapters[:HELD]):
            client = relay.join(adapter=adapter)
            assert client.stopped()["threadId"] == 1
            assert client.stack(1)[0]["line"] == 100 + number
            assert_held(adapter)


def test_every_task_of_a_session_over_many_comes_back(run_relay):
    plant = "task of a session over many to leaving"
    with FakeGang(names=["Trainer.step"] * HELD) as gang:
        relay = run_relay(adapter=None, address=gang.address, env={"RAYDBG_TEST_BREAK": plant})
        client = attach_to_all(relay)
        leave(relay, client, None)
        if not is_sanitized(raydbg_path()):
            assert relay.process.poll() is None
            return
        assert_says(end_by_a_fault(relay), plant, "relay/many/many_task.c")
        relay.env.pop("RAYDBG_TEST_BREAK")
        relay.restart()
        with hard():
            assert [pause["held"] for pause in relay.pauses()] == [True] * HELD
        client = attach_to_all(relay)
        for thread in threads(client).values():
            assert client.stack(thread)[0]["line"] == 8
        for worker in gang.workers:
            assert_held(worker.adapter)
