"""What a relay answers ahead: a scripted adapter, a real `raydbg relay`, and a real `raydbg dap` beside the editor."""

import json
import threading
import time

import pytest
from dap_client import DapClient
from relay_process import wait_until

LOOKS = ("threads", "stackTrace", "scopes", "variables")


class Steps:
    """The adapter's side: each `next` ends in a stop, whose line and value of x say how many there were."""

    def __init__(self, adapter):
        self.adapter = adapter
        self.count = 0
        self.value = None  # by setVariable
        adapter.on["next"] = self.on_next
        adapter.on["stackTrace"] = self.on_stack
        adapter.on["variables"] = self.on_variables
        adapter.on["setVariable"] = self.on_set

    def on_next(self, connection, request):
        connection.respond(request)
        connection.event("continued", {"threadId": 1, "allThreadsContinued": False})
        self.count += 1
        self.value = None
        connection.stop("step", allThreadsStopped=False)

    def on_stack(self, connection, request):
        first = request["arguments"].get("startFrame", 0)
        frames = [{"id": 3 + index, "name": "square", "line": self.count, "column": 1,
                   "source": {"path": "/app/app.py", "sourceReference": 0}} for index in range(2)]
        levels = request["arguments"].get("levels") or 20
        connection.respond(request, {"stackFrames": frames[first:first + levels], "totalFrames": 2})

    def on_variables(self, connection, request):
        value = self.value or str(self.count)
        connection.respond(request, {"variables": [
            {"name": "x", "value": value, "type": "int", "variablesReference": 0},
            {"name": "parent", "value": "…", "type": "dict", "variablesReference": 60 + self.count}]})

    def on_set(self, connection, request):
        self.value = request["arguments"]["value"]
        connection.respond(request, {"value": self.value, "type": "int", "variablesReference": 0})

    def looks(self):
        """How often the adapter was asked each."""
        return {command: len(self.adapter.requests(command)) for command in LOOKS}


def look(client, **stack):
    """What an editor asks after a stop; the line and x that it sees."""
    client.ok("threads")
    frame = client.stack(1, **(stack or {"startFrame": 0, "levels": 20}))[0]
    return frame["line"], client.locals(frame["id"])["x"]["value"]


def go(client):
    client.ok("next", {"threadId": 1})
    client.stopped(reason="step")


@pytest.fixture
def steps(adapter):
    return Steps(adapter)


@pytest.fixture
def join(hub, adapter, start_relay):
    """join(*arguments): `raydbg dap` with that relay, attached; it has stopped at its breakpoint."""
    def start(*arguments, relay=hub, **attach):
        client = start_relay(None, "--relay", relay.addresses[0], *arguments,
                             env={"RAYDBG_TOKEN": relay.token, "XDG_STATE_HOME": str(relay.state / "s"),
                                  "HOME": str(relay.state), "RAYDBG_LOG": "debug"})
        client.initialize()
        client.attach({"request": "attach", "connect": adapter.address, **attach}, timeout=20)
        client.stopped()
        return client
    return start


@pytest.fixture
def editor(steps, join):
    """Such a client, whose ways the relay knows: it has looked at two stops."""
    client = join()
    for _ in range(2):
        look(client)
        go(client)
    look(client)
    return client


def settle(steps, looks):
    """Waits until the adapter has been asked this often."""
    wait_until(lambda: steps.looks() == looks, 5, lambda: f"{looks}: {steps.looks()}")


def test_a_step_is_answered_without_the_relay_being_asked(editor, steps, hub):
    before = steps.looks()
    go(editor)
    settle(steps, {command: count + 1 for command, count in before.items()})
    time.sleep(0.1)  # on its way to the editor's end
    hub.process.send_signal(19)  # whatever comes now does not come from the relay
    try:
        assert look(editor) == (3, "3")
    finally:
        hub.process.send_signal(18)
    go(editor)
    assert look(editor) == (4, "4")
    assert steps.looks() == {command: count + 2 for command, count in before.items()}
    seqs = [e.message["seq"] for e in editor.transcript if e.way == "<"]
    assert seqs == sorted(set(seqs))
    assert not editor.events("raydbg/ahead")
