"""Every request gets exactly one response, whoever dies when."""

import pytest
from dap_client import DapError, frame
from kernel_queues import unread_by_peer
from waits import wait_until

# What the adapter is asked in an attach and a step; it dies instead of answering one of them.
ATTACHING = ["initialize", "attach", "evaluate"]
ATTACHED = ["setBreakpoints", "setExceptionBreakpoints", "configurationDone", "threads", "stackTrace", "scopes",
            "variables", "next", "continue", "disconnect"]


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("command", ATTACHING)
def test_the_adapter_dies_while_attaching(adapter, relay, command, how):
    adapter.on[command] = lambda c, request: c.die(how)
    relay.initialize()
    with pytest.raises(DapError, match=f"{adapter.host}:{adapter.port}"):
        relay.attach({})
    relay.disconnect()


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("command", ATTACHED)
def test_the_adapter_dies_instead_of_an_answer(adapter, relay, command, how):
    adapter.on[command] = lambda c, request: c.die(how)
    relay.initialize()
    sent = [relay.send("attach", {})]
    relay.wait_event("initialized")
    sent += [relay.send("setBreakpoints", {"source": {"path": "/app/app.py"}, "breakpoints": [{"line": 1}]}),
             relay.send("setExceptionBreakpoints", {"filters": []}), relay.send("configurationDone")]
    if command not in ATTACHED[:3]:
        relay.stopped()
    sent += [relay.send(name, {"threadId": 1, "frameId": 3, "variablesReference": 6})
             for name in ATTACHED[3:] if name != "disconnect"]
    for seq in sent:
        relay.response(seq)
    relay.disconnect()
    assert [e["event"] for e in relay.events()].count("terminated") == 1
    relay.wait_end()
    relay.verify()


# What debugpy's adapter answers for a worker that has died, a moment before it says `terminated`.
WORDS = ["No more messages", "[Errno 104] Connection reset by peer", "[Errno 32] Broken pipe",
         "Server[pid=258] disconnected unexpectedly"]


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("command, arguments", [("evaluate", {"expression": "os._exit(1)", "frameId": 3}),
                                                ("variables", {"variablesReference": 6}), ("next", {"threadId": 1})])
def test_a_worker_that_dies_in_a_request_is_the_reason(adapter, relay, words, command, arguments):
    """Not the adapter's words, which name no reason; and the reason comes once, before the failures."""
    def die(connection, request):
        connection.respond(request, success=False, message=words)
        connection.event("terminated")
    relay.start()
    adapter.on[command] = die
    pending, other = relay.send(command, arguments), relay.send("threads")
    answer = relay.response(pending)
    assert not answer["success"] and "the debuggee ended" in answer["message"], answer
    relay.response(other)
    relay.wait_event("terminated")
    received = [entry.message for entry in relay.transcript if entry.way == "<"]
    said = [n for n, message in enumerate(received) if "the debuggee ended" in str(message.get("body", {}).get("output"))]
    failed = next(n for n, message in enumerate(received) if message.get("request_seq") == pending)
    assert len(said) == 1 and said[0] < failed, received[-5:]
    relay.disconnect()
    assert [e["event"] for e in relay.events()].count("terminated") == 1


def test_an_expression_may_fail_with_such_words(adapter, relay):
    relay.start()
    adapter.on["evaluate"] = lambda c, request: c.respond(request, success=False, message="EOFError: No more messages")
    assert relay.request("evaluate", {"expression": "f()", "frameId": 3})["message"] == "EOFError: No more messages"
    assert relay.ok("threads")["threads"]
    relay.disconnect()


@pytest.mark.parametrize("cut", [1, 10, 20, 24, 30, 60])
def test_the_adapter_dies_inside_a_message(adapter, relay, cut):
    def answer(connection, request):
        body = b'{"seq":9,"type":"response","request_seq":%d,"success":true,"command":"threads","body":{}}'
        connection.send_raw(frame(body % request["seq"])[:cut])
        connection.die()
    relay.start()
    adapter.on["threads"] = answer
    pending = relay.send("threads")
    assert not relay.response(pending)["success"]
    relay.wait_event("terminated")
    relay.disconnect()


def test_requests_after_the_death_say_why(adapter, relay):
    relay.start()
    adapter.connection().die()
    relay.wait_event("terminated")
    answer = relay.request("threads")
    assert not answer["success"] and "debuggee ended" in answer["message"]
    relay.disconnect()


def test_an_adapter_that_is_busy_is_waited_for(adapter, start_relay, clock, gate):
    """It may still pass on what the task has printed for the client before."""
    adapter.on["initialize"] = busy = gate(adapter.on["initialize"])
    relay = start_relay(adapter, env=clock.env)
    relay.initialize()
    attach = relay.send("attach", {})
    busy.wait_reached()
    wait_until(lambda: not unread_by_peer(adapter.connection().sock), "it is greeted")
    clock.pass_time(16)  # longer than an adapter that never greets is waited for
    busy.open()
    relay.wait_event("initialized")
    relay.ok("configurationDone")
    assert relay.response(attach)["success"]
    relay.disconnect()


@pytest.mark.parametrize("garbage", [
    b"HTTP/1.1 400 Bad Request\r\n\r\n", b"Content-Length: -1\r\n\r\n", b"Content-Length: x\r\n\r\n",
    b"Content-Length: 99999999999999999999\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"X" * 10_000])
def test_an_adapter_that_is_none(adapter, relay, garbage):
    adapter.greet = lambda c: c.send_raw(garbage)
    adapter.on["initialize"] = lambda c, request: None
    relay.initialize()
    with pytest.raises(DapError, match=f"{adapter.host}:{adapter.port}"):
        relay.attach({})
    relay.disconnect()


def test_bad_json_from_the_adapter_is_dropped(adapter, relay):
    relay.start()
    for body in (b"", b"{", b"[]", b"null", b'{"type":"event"}', b'{"type":"response","command":"x"}',
                 b'{"type":"response","request_seq":12345,"command":"x","success":true}', b'{"type":7}'):
        adapter.connection().send_body(body)
    assert relay.ok("threads")["threads"]
    relay.disconnect()


def test_a_second_answer_is_dropped(adapter, relay):
    adapter.on["threads"] = lambda c, request: [c.respond(request, {"threads": []}) for _ in range(2)]
    relay.start()
    relay.ok("threads")
    relay.ok("scopes", {"frameId": 3})
    relay.disconnect()


def leave(relay, clock):
    """disconnect, from a debugger that does not answer: it is waited for."""
    leaving = relay.send("disconnect")
    clock.pass_time(0)  # the request is read
    assert leaving not in relay._responses
    clock.pass_time(8)
    relay.check(relay.response(leaving))


def test_a_dropped_answer_is_noticed_by_the_client(adapter, start_relay, clock):
    """The check that the tests above rest on: a relay that loses an answer fails `close`."""
    adapter.on["threads"] = lambda c, request: None
    relay = start_relay(adapter, env=clock.env)
    relay.start()
    relay.send("threads")
    with pytest.raises(DapError, match="was not answered"):
        relay.verify()
    leave(relay, clock)


def test_an_adapter_that_says_no_goodbye(adapter, start_relay, clock):
    adapter.on["disconnect"] = lambda c, request: None
    relay = start_relay(adapter, env=clock.env)
    relay.start()
    pending = relay.send("evaluate", {"expression": "1", "frameId": 3})
    relay.response(pending)
    leave(relay, clock)


def test_terminated_while_the_socket_stays_open(adapter, relay):
    """What debugpy does when its worker exits: an event, and then only failures."""
    relay.start()
    adapter.on["threads"] = lambda c, request: c.event("terminated")
    pending = relay.send("threads")
    assert not relay.response(pending)["success"]
    relay.wait_event("terminated")
    assert not relay.request("stackTrace", {"threadId": 1})["success"]
    relay.disconnect()
    assert [e["event"] for e in relay.events()].count("terminated") == 1
