"""The fake adapter and the DAP client, with each other: what the conversations rest on."""

import json
import socket

import pytest
from dap_client import DapClient, DapClosed, DapError, DapTimeout, frame
from waits import SHORT, limit


@pytest.fixture
def connect(adapter):
    clients = []

    def connect(**options):
        sock = socket.create_connection((adapter.host, adapter.port), timeout=limit())
        clients.append(DapClient.over_socket(sock, **options))
        return clients[-1]

    yield connect
    for client in clients:
        client.close(check=False)


def attach(client):
    client.initialize()
    client.attach({"justMyCode": False}, breakpoints={"/app/app.py": [9]})
    return client.stopped()


def test_the_whole_attach_sequence_in_debugpys_order(adapter, connect):
    client = connect()
    assert attach(client)["reason"] == "breakpoint"
    received = [e.message for e in client.transcript if e.way == "<"]
    order = [m.get("event") or m["command"] for m in received]
    assert order[:3] == ["output", "output", "debugpySockets"]
    assert order.index("initialized") < order.index("configurationDone") < order.index("attach") < order.index("stopped")
    assert adapter.commands() == ["initialize", "attach", "setBreakpoints", "setExceptionBreakpoints", "configurationDone"]
    client.step("next", 1)
    assert client.stack(1)[0]["line"] == 9
    client.disconnect()
    client.wait_end()
    client.verify()


def test_bytes_arrive_as_they_were_sent(adapter, connect):
    odd = b'{"seq":9007199254740993,"type":"event","event":"odd","body":{"a":1,"a":"\\ud800","n":NaN,"z":"\xff"}}'
    adapter.on["threads"] = lambda c, request: (c.send_split(frame(odd), 5, 20, 30, 60), c.respond(request, {}))
    client = connect()
    client.request("threads")
    assert odd in [e.raw for e in client.transcript]
    client.send_body(b'{"seq":77,"type":"request","command":"x","arguments":{"v":1e400}}')
    assert client.response(77)["success"] is False
    assert adapter.received[-1].raw.endswith(b'{"v":1e400}}')


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_death_is_noticed_and_unanswered_requests_fail_the_check(adapter, connect, how):
    adapter.on["threads"] = lambda c, request: c.die(how)
    client = connect()
    with pytest.raises(DapClosed):
        client.request("threads")
    with pytest.raises(DapError, match="was not answered"):
        client.verify()


def test_a_second_response_fails_the_check(adapter, connect):
    adapter.on["threads"] = lambda c, request: (c.respond(request, {}), c.respond(request, {}), c.event("after"))
    client = connect()
    client.request("threads")
    client.wait_event("after")
    with pytest.raises(DapError, match="was answered 2 times"):
        client.close()


def test_death_inside_a_message_is_told_apart(adapter, connect):
    adapter.on["threads"] = lambda c, request: (c.send_raw(b"Content-Length: 100\r\n\r\n{"), c.die())
    client = connect()
    client.send("threads")
    client.wait_end()
    with pytest.raises(DapError, match="inside a message"):
        client.verify()


def test_wedging_commands_wedge(adapter, connect):
    client = connect(strict=False)
    attach(client)
    client.send("cancel")
    with pytest.raises(DapTimeout):
        client.request("threads", timeout=SHORT)


def test_continue_while_nothing_is_stopped_wedges(adapter, connect):
    client = connect(strict=False)
    attach(client)
    client.resume(1)
    with pytest.raises(DapTimeout):
        client.request("continue", {"threadId": 1}, timeout=SHORT)


def test_a_second_client_is_refused(connect):
    first, second = connect(), connect()
    attach(first)
    second.initialize()
    with pytest.raises(DapError, match="already being debugged"):
        second.attach({"justMyCode": False})
    first.disconnect()


def test_reverse_requests_are_recorded_and_answered(adapter, connect):
    client = connect()
    adapter.connection().request("runInTerminal", {"args": ["x"]})
    answer = adapter.wait_received(lambda m: m["type"] == "response")
    assert json.loads(answer.raw)["success"] is False
    assert client.reverse_requests[0]["command"] == "runInTerminal"


def test_events_are_consumed_once(adapter, connect):
    client = connect()
    for n in range(2):
        adapter.connection().event("tick", {"n": n})
    assert client.wait_event("tick", lambda body: body["n"] == 1)["body"]["n"] == 1
    assert client.wait_event("tick")["body"]["n"] == 0
    client.assert_no_event("tick", 0.1)
    assert len(client.events("tick")) == 2


def test_refused_connections(adapter):
    adapter.refuse_connections()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((adapter.host, adapter.port), timeout=limit())
