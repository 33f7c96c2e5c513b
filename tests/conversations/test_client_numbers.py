"""Numbers as a client's JSON library writes them: 12, 12.0 and 1.2e1 are one number, and a seq may be 0.

Lua and Godot have doubles only, and write them so.
"""

import json
import re

import pytest
from fake_gang import FakeGang
from many_adapter import ManyAdapter
from relay_under_test import ROOT

SPELLINGS = {"as a fraction": "%d.0", "with an exponent": "%de0", "with both": "%d.00E+0", "with a negative one": "%d.0E-0"}
SOURCE = {"path": "/app/app.py"}
# Each request that has a number in it.
NUMBERS = {
    "setBreakpoints": {"source": SOURCE, "breakpoints": [{"line": 12, "column": 3}]},
    "stackTrace": {"threadId": 1, "startFrame": 0, "levels": 20},
    "scopes": {"frameId": 3},
    "variables": {"variablesReference": 6, "start": 0, "count": 10},
    "evaluate": {"expression": "1.0", "frameId": 3},
    "setVariable": {"variablesReference": 6, "name": "x", "value": "1e0"},
    "setExpression": {"expression": "x", "value": "1.0", "frameId": 3},
    "completions": {"frameId": 3, "text": "1.0", "column": 2, "line": 1},
    "exceptionInfo": {"threadId": 1},
    "source": {"sourceReference": 7},
    "gotoTargets": {"source": SOURCE, "line": 12},
    "goto": {"threadId": 1, "targetId": 5},
    "stepInTargets": {"frameId": 3},
    "modules": {"startModule": 0, "moduleCount": 10},
    "pause": {"threadId": 1},
    "next": {"threadId": 1},
    "stepIn": {"threadId": 1, "targetId": 2},
    "stepOut": {"threadId": 1},
    "continue": {"threadId": 1},
}

# What stops the thread again, and the reason that the stop gives: the thread has to be stopped for the next request.
STOPS = {"pause": "pause", "next": "step", "stepIn": "step", "stepOut": "step"}


def spell(value, spelling):
    """JSON in which each whole number is written in this way."""
    if isinstance(value, dict):
        return "{%s}" % ",".join(f"{json.dumps(name)}:{spell(member, spelling)}" for name, member in value.items())
    if isinstance(value, list):
        return "[%s]" % ",".join(spell(element, spelling) for element in value)
    return spelling % value if isinstance(value, int) and not isinstance(value, bool) else json.dumps(value)


def numbers_in(value):
    if isinstance(value, dict):
        return [number for member in value.values() for number in numbers_in(member)]
    if isinstance(value, list):
        return [number for element in value for number in numbers_in(element)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def send(client, seq, command, arguments, spelling="%d"):
    message = {"seq": seq, "type": "request", "command": command, "arguments": arguments}
    client.send_body(spell(message, spelling).encode())
    return client.response(seq)


def answer_all(adapter):
    for command in "setExpression", "gotoTargets", "goto", "stepInTargets":
        adapter.on[command] = lambda c, request: c.respond(request, {"targets": [], "value": "1"})
    adapter.on["source"] = lambda c, request: c.respond(request, {"content": "x = 1\n"})


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_whole_number_is_one(adapter, relay, spelling):
    answer_all(adapter)
    relay.start()
    for seq, (command, arguments) in enumerate(NUMBERS.items(), 1000):
        answer = send(relay, seq, command, arguments, SPELLINGS[spelling])
        assert answer["success"] and type(answer["request_seq"]) is int, answer
        if command in STOPS:
            relay.stopped(reason=STOPS[command])
        got = next(r["arguments"] for r in reversed(adapter.requests(command)))
        assert {name: got[name] for name in arguments} == arguments, command
        assert all(type(number) is int for number in numbers_in(got)), (command, got)
    relay.disconnect()


@pytest.mark.parametrize("way", ["relay", "alone", "bridge"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_whole_conversation_of_them(adapter, run_relay, start_relay, way, spelling):
    if way == "alone":
        client, arguments = start_relay(None), {"connect": adapter.address}
    elif way == "relay":
        relay = run_relay()
        client, arguments = relay.client("tcp"), relay.attach_arguments("tcp")
    else:
        relay = run_relay()
        client = start_relay(None, "--relay", "%s:%d" % relay.address, env=relay.env)
        arguments = {"connect": adapter.address}
    how = SPELLINGS[spelling]
    assert send(client, 1, "initialize", {"adapterID": "x"}, how)["success"]
    client.send_body(spell({"seq": 2, "type": "request", "command": "attach", "arguments": arguments}, how).encode())
    client.wait_event("initialized")
    assert send(client, 3, "configurationDone", {}, how)["success"]
    assert client.response(2)["success"]
    thread = client.stopped()["threadId"]
    for seq, command in enumerate(["stackTrace", "next", "continue"], 4):
        assert send(client, seq, command, {"threadId": thread}, how)["success"]
        if command in STOPS:
            client.stopped(reason=STOPS[command])
    assert send(client, 20, "disconnect", {}, how)["success"]


@pytest.mark.parametrize("text", ["1.5", "1e-1", "1e400", "-1e19"])
def test_a_number_that_is_not_whole_stays_as_it_is(adapter, relay, text):
    relay.start()
    body = '{"seq":900,"type":"request","command":"evaluate","arguments":{"expression":"1.0","x":%s}}' % text
    relay.send_body(body.encode())
    relay.check(relay.response(900))
    raw = adapter.wait_received(lambda m: m.get("arguments", {}).get("expression") == "1.0").raw
    assert b'"x":%s}' % text.encode() in raw
    relay.disconnect()


def commands():
    """Each request that a client may send, from the table of rules, and one that nobody knows."""
    text = (ROOT / "dap/rules.c").read_text()
    found = re.findall(r'\b(?:WEDGES|PASSES|REQUEST)\(\s*"([^"]+)"', text)
    assert len(found) > 50, found
    return [*found, "nonsense"]


def again(client):
    """Forgets the request 0: the next one may have that seq."""
    assert client._answers[0] == 1
    client._responses.pop(0), client._answers.pop(0)


def test_each_request_may_have_the_seq_0(adapter, relay):
    answer_all(adapter)
    relay.start()
    for command in commands():
        if command not in ("disconnect", "terminate"):
            answer = send(relay, 0, command, NUMBERS.get(command, {"expression": "1", "names": []}))
            assert answer["command"] == command
            again(relay)
    assert send(relay, 0, "disconnect", {})["success"]


def test_terminate_with_the_seq_0(relay):
    relay.start()
    assert send(relay, 0, "terminate", {})["success"]
    relay.disconnect()


def test_a_client_that_numbers_nothing(adapter, relay):
    """Each request has the seq 0, and waits for its answer."""
    for command, arguments in (("initialize", {"adapterID": "x"}), ("threads", {})):
        send(relay, 0, command, arguments)
        again(relay)
    relay.send_body(b'{"seq":0,"type":"request","command":"attach","arguments":{}}')
    relay.wait_event("initialized")
    relay.send_body(b'{"seq":-1,"type":"request","command":"configurationDone"}')
    assert relay.response(-1)["success"] and relay.response(0)["command"] == "attach"
    relay.stopped()
    again(relay)
    assert send(relay, 0, "disconnect", {})["success"]


@pytest.fixture
def gang():
    with FakeGang() as fake:
        for name in "step", "load":
            fake.add(name, adapter=ManyAdapter())
        yield fake


MANY = ["continue", "next", "pause", "setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints", "threads",
        "stackTrace", "modules", "evaluate", "setDebuggerProperty", "restart", "disconnect", "terminate", "raydbg/release",
        "raydbg/takeOver", "raydbg/stepIntoRemote", "stepInTargets"]


@pytest.mark.parametrize("command", MANY)
def test_seq_0_in_a_session_over_many_tasks(gang, start_relay, command):
    client = start_relay(None, "--address", gang.address, "--no-relay")
    client.initialize()
    client.attach({"tasks": "*"})
    thread = client.stopped()["threadId"]
    arguments = {**NUMBERS.get(command, {"expression": "1", "breakpoints": [], "filters": []}), "threadId": thread}
    assert send(client, 0, command, arguments)["command"] == command
    if command != "disconnect":
        client.disconnect()


@pytest.mark.parametrize("command", ["raydbg/stepIntoRemote", "stepInTargets"])
def test_seq_0_of_a_step_into_a_remote_task(start_relay, command):
    with FakeGang(names=["outer"]) as gang:
        caller = gang.workers[0]
        caller.adapter.on["evaluate"] = lambda c, request: c.respond(
            request, {"result": f"'{caller.task_id}'", "variablesReference": 0, "type": "str"})
        answer_all(caller.adapter)
        client = start_relay(None, "--address", gang.address, "--no-relay")
        client.initialize()
        client.attach({"task": "outer"})
        thread = client.stopped()["threadId"]
        answer = send(client, 0, command, {"threadId": thread, "frameId": 3})
        assert answer["success"], answer
        client.disconnect()
