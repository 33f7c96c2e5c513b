"""Bytes that the relay has no reason to change leave as they came, in both directions."""

import re

import pytest
from dap_client import frame

ODD_BODIES = {
    "big integers": b'{"a": 9007199254740993, "b": 123456789012345678901234567890, "c": 1.10, "d": 1e400}',
    "duplicate keys": b'{"a": 1, "a": 2, "body": 3, "seq": 4}',
    "lone surrogates": b'{"v": "x\\ud800y\\udfff\\u0000z"}',
    "not a number": b'{"v": [NaN, Infinity, -Infinity]}',
    "invalid utf-8": b'{"v": "\xff\xfe\x80"}',
    "nested seqs": b'{"seq": 1, "request_seq": 2, "body": {"seq": 3, "type": "event"}, "command": "x"}',
    "spaces": b'{ "a" :\t[ 1 , 2 ]\r\n}',
    "escaped keys": b'{"\\u0073eq": 5}',
    "deep": b'{"v": ' + b"[" * 200 + b"]" * 200 + b"}",
}


def unnumbered(raw):
    """The message without the values of its own seq and request_seq, which come before anything nested here."""
    return re.sub(rb'"(seq|request_seq)": ?-?\d+', b'"\\1":_', raw, count=2)


@pytest.mark.parametrize("name", ODD_BODIES)
def test_a_response_passes_unchanged(adapter, relay, name):
    def answer(connection, request):
        connection.send_body(b'{"seq": 99, "type": "response", "request_seq": %d, "success": true, '
                             b'"command": "variables", "body": %s}' % (request["seq"], ODD_BODIES[name]))
    adapter.on["variables"] = answer
    relay.start()
    seq = relay.send("variables", {"variablesReference": 6})
    relay.response(seq)
    raw = next(e.raw for e in relay.transcript if e.way == "<" and e.message.get("request_seq") == seq)
    assert unnumbered(raw) == (b'{"seq":_, "type": "response", "request_seq":_, "success": true, '
                               b'"command": "variables", "body": %s}' % ODD_BODIES[name])
    relay.disconnect()


@pytest.mark.parametrize("name", ODD_BODIES)
def test_an_event_passes_unchanged(adapter, relay, name):
    relay.start()
    adapter.connection().send_body(b'{"type": "event", "event": "odd", "seq": 99, "body": %s}' % ODD_BODIES[name])
    relay.wait_event("odd")
    raw = next(e.raw for e in relay.transcript if e.message.get("event") == "odd")
    assert re.sub(rb'"seq": ?\d+', b'"seq":_', raw, count=1) == (
        b'{"type": "event", "event": "odd", "seq":_, "body": %s}' % ODD_BODIES[name])
    relay.disconnect()


@pytest.mark.parametrize("name", sorted(ODD_BODIES.keys() - {"invalid utf-8"}))
def test_a_request_passes_unchanged(adapter, relay, name):
    relay.start()
    relay.send_body(b'{"seq": 500, "type": "request", "command": "evaluate", "arguments": %s}' % ODD_BODIES[name])
    relay._requests[500] = "evaluate"
    relay.response(500)
    received = [r.raw for r in adapter.received if r.message.get("command") == "evaluate"][-1]
    assert re.sub(rb'"seq": ?\d+', b'"seq":_', received, count=1) == (
        b'{"seq":_, "type": "request", "command": "evaluate", "arguments": %s}' % ODD_BODIES[name])
    relay.disconnect()


def test_a_body_of_20_mb(adapter, relay):
    value = "x" * 20_000_000
    relay.start()
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {"result": value, "variablesReference": 0})
    assert relay.evaluate("big", 3) == value
    relay.disconnect()


def test_messages_cut_at_every_byte(adapter, relay):
    relay.start()
    message = frame(b'{"seq":1,"type":"event","event":"cut","body":{"n":1}}')
    connection = adapter.connection()
    for cut in range(1, len(message)):
        connection.send_split(message, cut, pause=0.002)
    for _ in range(1, len(message)):
        relay.wait_event("cut")
    relay.disconnect()


def test_many_messages_in_one_write(adapter, relay):
    relay.start()
    adapter.connection().send_raw(b"".join(frame(b'{"seq":1,"type":"event","event":"many","body":{"n":%d}}' % n)
                                           for n in range(2000)))
    assert [relay.wait_event("many")["body"]["n"] for _ in range(2000)] == list(range(2000))
    relay.disconnect()


ODD_NUMBERS = (b"18446744073709551617", b'"5"', b"5.0", b"null", b"{}")


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_an_adapter_numbers_as_it_likes(adapter, relay, odd):
    """The relay gives each message a seq of its own, so that of an event or a response is not judged."""
    relay.start()
    connection = adapter.connection()
    connection.send_body(b'{"seq":%s,"type":"event","event":"odd","body":{"n":9007199254740993}}' % odd)
    assert relay.wait_event("odd")["body"]["n"] == 9007199254740993
    connection.send_body(b'{"seq":%s,"type":"event","event":"%s","body":{}}' % (odd, b"long" * 40))
    relay.wait_event("long" * 40)
    for command in (b'"command":"evaluate",', b"", b'"command":5,', b'"command":"%s",' % (b"long" * 40)):
        adapter.on["evaluate"] = lambda c, request, command=command: c.send_body(
            b'{"seq":%s,"type":"response","request_seq":%d,%s"success":true,"body":{"result":"7"}}'
            % (odd, request["seq"], command))
        assert relay.evaluate("six", 3) == "7"
    relay.disconnect()


def test_clients_number_as_they_like(adapter, relay):
    """Sparse, descending and negative numbers: each answer carries the client's own."""
    relay.start()
    for seq in (10_000, 7_000, 2**52, -5, 2**62):
        relay.send_body(b'{"seq":%d,"type":"request","command":"threads"}' % seq)
        relay._requests[seq] = "threads"
        assert relay.response(seq)["success"]
    ours = [r["seq"] for r in adapter.requests()]
    assert ours == sorted(set(ours))
    relay.disconnect()
