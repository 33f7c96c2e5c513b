"""Requests that a client sends right behind `attach`, without waiting for `initialized`: each is handled, in order.

debugpy's adapter does so, and some clients write all of it at once.
"""

import pytest
from fake_gang import FakeGang
from many_adapter import ManyAdapter
from parent_editor import MANY
from waits import wait_until

PATH = "/app/app.py"
LINE = 12
BEHIND = ("setBreakpoints", {"source": {"path": PATH}, "breakpoints": [{"line": LINE}]}), \
    ("setExceptionBreakpoints", {"filters": ["uncaught"]}), ("threads", {}), ("configurationDone", {})
INITIALIZE = {"adapterID": "raydbg", "clientID": "eager", "supportsStartDebuggingRequest": True}


@pytest.fixture
def gang():
    with FakeGang() as fake:
        for name in "step", "step", "load":
            fake.add(name, adapter=ManyAdapter())
        yield fake


def alone(adapter, start_relay, run_relay, gang):
    return start_relay(None), {"connect": adapter.address}


def over_tcp(adapter, start_relay, run_relay, gang):
    relay = run_relay()
    return relay.client("tcp"), relay.attach_arguments("tcp")


def joined(adapter, start_relay, run_relay, gang):
    """Another client is attached already: this one joins its hub."""
    relay = run_relay()
    relay.join("tcp").stopped()
    return relay.client("tcp"), relay.attach_arguments("tcp", takeOver=True)


def over_many(adapter, start_relay, run_relay, gang):
    relay = run_relay(adapter=None, address=gang.address)
    return relay.client("tcp"), relay.attach_arguments("tcp", tasks="*")


def over_many_alone(adapter, start_relay, run_relay, gang):
    return start_relay(None, "--address", gang.address, "--no-relay"), {"tasks": "*"}


def over_many_eagerly(adapter, start_relay, run_relay, gang):
    relay = run_relay(adapter=None, address=gang.address)
    return relay.client("tcp"), relay.attach_arguments("tcp", tasks="*", eager=True)


def with_children(adapter, start_relay, run_relay, gang):
    relay = run_relay(adapter=None, address=gang.address)
    return relay.client("tcp"), relay.attach_arguments("tcp", **MANY)


WAYS = [alone, over_tcp, joined, over_many, over_many_alone, over_many_eagerly, with_children]


def behind(client, arguments, *more):
    return client.send_together(("initialize", INITIALIZE), ("attach", arguments), *(more or BEHIND))


@pytest.mark.parametrize("way", WAYS)
def test_all_in_one_write(adapter, start_relay, run_relay, gang, way):
    client, arguments = way(adapter, start_relay, run_relay, gang)
    seqs = behind(client, arguments)
    for seq in seqs:
        client.check(client.response(seq))
    messages = [e.message for e in client.transcript if e.way == "<"]
    order = [m["request_seq"] for m in messages if m["type"] == "response"]
    assert order.index(seqs[1]) > order.index(seqs[-1])  # `attach` ends with configurationDone
    names = [m.get("event") or m["command"] for m in messages]
    assert names.index("initialized") < names.index("setBreakpoints")
    if way is not with_children:
        client.wait_event("stopped")
    client.disconnect()


def test_the_debuggee_gets_them_in_order(adapter, start_relay):
    client, arguments = alone(adapter, start_relay, None, None)
    behind(client, arguments)
    client.stopped()
    commands = [command for command in adapter.commands() if command in dict(BEHIND)]
    assert commands == [command for command, _ in BEHIND]
    assert adapter.requests("setBreakpoints")[0]["arguments"]["breakpoints"] == [{"line": LINE}]
    client.disconnect()


def test_a_child_takes_them_too(run_relay, gang):
    relay = run_relay(adapter=None, address=gang.address)
    parent, arguments = relay.client("tcp"), relay.attach_arguments("tcp", **MANY)
    asked = []
    parent.on_reverse_request = asked.append
    behind(parent, arguments)
    wait_until(lambda: len(asked) == 3, "the parent asks for three sessions")
    for request in asked:
        child = relay.client("tcp")
        for seq in behind(child, request["arguments"]["configuration"]):
            child.check(child.response(seq))
        parent.reply(request)
        child.stopped()


def test_many_requests_stay_in_order(adapter, start_relay):
    """Those that come while the first are handed on are behind these."""
    client, arguments = alone(adapter, start_relay, None, None)
    evaluations = [("evaluate", {"expression": str(number)}) for number in range(200)]
    seqs = behind(client, arguments, *BEHIND, *evaluations[:100])
    client.wait_event("initialized")
    seqs += client.send_together(*evaluations[100:])
    for seq in seqs:
        client.check(client.response(seq))
    asked = [r["arguments"]["expression"] for r in adapter.requests("evaluate") if r["arguments"]["expression"].isdigit()]
    assert asked == [str(number) for number in range(200)]
    client.disconnect()


def test_behind_an_attach_that_fails(adapter, start_relay):
    client = start_relay(None)
    _, attach, *others = behind(client, {"connect": adapter.address, "pathMappings": "wrong"})
    assert "pathMappings" in client.response(attach)["message"]
    for seq in others:
        assert "attach" in client.response(seq)["message"]
    attach, *others = client.send_together(("attach", {"connect": adapter.address}), *BEHIND)
    for seq in attach, *others:
        client.check(client.response(seq))
    client.disconnect()


def test_behind_an_adapter_that_refuses(adapter, start_relay):
    adapter.on["attach"] = lambda c, request: c.respond(request, success=False, message="no")
    client = start_relay(None)
    _, attach, *others = behind(client, {"connect": adapter.address})
    assert not client.response(attach)["success"]
    for seq in others:
        assert not client.response(seq)["success"]
    client.disconnect()


def test_behind_an_adapter_that_dies(adapter, start_relay):
    adapter.on["attach"] = lambda c, request: c.die()
    client = start_relay(None)
    _, attach, *others = behind(client, {"connect": adapter.address})
    for seq in attach, *others:
        assert not client.response(seq)["success"]


def test_a_disconnect_does_not_wait(adapter, start_relay):
    adapter.on["attach"] = lambda c, request: None
    client = start_relay(None)
    _, attach, *others, disconnect = behind(client, {"connect": adapter.address}, *BEHIND, ("disconnect", {}))
    assert client.response(disconnect)["success"]
    for seq in attach, *others:
        assert not client.response(seq)["success"]


def test_a_client_that_goes_meanwhile(adapter, run_relay):
    adapter.on["attach"] = lambda c, request: None
    relay = run_relay()
    client = relay.client("tcp")
    client.strict = False
    behind(client, relay.attach_arguments("tcp"))
    adapter.wait_request("attach")
    client.transport.close()
    wait_until(lambda: not relay.http("GET", "/v1/sessions").json["sessions"], "the relay has no session")


def test_what_waits_has_a_limit(adapter, start_relay):
    attach = adapter.on["attach"]
    held = []
    adapter.on["attach"] = lambda c, request: held.append((c, request))
    client = start_relay(None)
    value = "x" * (3 << 20)
    seqs = behind(client, {"connect": adapter.address}, *BEHIND, *[("evaluate", {"expression": value})] * 6)
    assert "too much" in client.response(seqs[-1])["message"]
    wait_until(lambda: held, "the adapter has the attach")
    attach(*held[0])
    for seq in seqs[:-1]:
        client.check(client.response(seq))
    client.disconnect()
