"""A client that counts lines and columns from 0: debugpy counts from 1 whatever its client says."""

import pytest
from fake_adapter import PROGRAM
from waits import wait_until

FROM_0 = {"linesStartAt1": False, "columnsStartAt1": False}
BREAKPOINTS = {"source": {"path": PROGRAM}, "breakpoints": [{"line": 0, "column": 0}, {"line": 11}], "lines": [0, 11]}
ANSWERS = {
    "gotoTargets": {"targets": [{"id": 1, "label": "a", "line": 5, "column": 1, "endLine": 6, "endColumn": 2}]},
    "completions": {"targets": [{"label": "x", "start": 0, "length": 1}]},
    "stepInTargets": {"targets": [{"id": 1, "label": "f", "line": 8, "column": 3}]},
}


@pytest.fixture(params=["alone", "relay", "many", "many in a relay"])
def client(request, adapter, ray, start_relay, run_relay):
    """A client of each kind that counts from 0, at its stop."""
    relay = run_relay(adapter=None, address=ray.address) if "relay" in request.param else None
    made = relay.client() if relay else start_relay(None, "--address", ray.address)
    for command, body in ANSWERS.items():
        adapter.on[command] = lambda connection, request, body=body: connection.respond(request, body)
    made.initialize(**FROM_0)
    made.attach({"request": "attach", **({"token": relay.token} if relay else {}),
                 **({"tasks": "*"} if "many" in request.param else {"task": "work"})})
    made.thread = made.stopped()["threadId"]
    yield made


def last(adapter, command):
    return adapter.requests(command)[-1]["arguments"]


def test_breakpoints(adapter, client):
    answer = client.ok("setBreakpoints", BREAKPOINTS)["breakpoints"]
    assert [breakpoint["line"] for breakpoint in answer] == [0, 11]
    assert [breakpoint["line"] for breakpoint in last(adapter, "setBreakpoints")["breakpoints"]] == [1, 12]
    assert last(adapter, "setBreakpoints")["breakpoints"][0]["column"] == 1
    adapter.connections[-1].event("breakpoint", {"reason": "changed", "breakpoint": {
        "id": 1, "verified": True, "line": 3, "column": 1, "source": {"path": PROGRAM}}})
    told = client.wait_event("breakpoint")["body"]["breakpoint"]
    assert (told["line"], told["column"]) == (2, 0)


def test_a_stack(adapter, client):
    top, under = client.stack(client.thread)
    assert [(frame["line"], frame["column"]) for frame in (top, under)] == [(7, 0), (1068, 0)]
    client.step("next", client.thread)
    assert client.stack(client.thread)[0]["line"] == 8


def test_targets(adapter, client):
    frame = client.stack(client.thread)[0]["id"]
    targets = client.ok("gotoTargets", {"source": {"path": PROGRAM}, "line": 4, "column": 0})["targets"]
    assert [(t["line"], t["column"], t["endLine"], t["endColumn"]) for t in targets] == [(4, 0, 5, 1)]
    assert (last(adapter, "gotoTargets")["line"], last(adapter, "gotoTargets")["column"]) == (5, 1)
    assert client.ok("completions", {"frameId": frame, "text": "x", "line": 0, "column": 1})["targets"][0]["start"] == 0
    assert (last(adapter, "completions")["line"], last(adapter, "completions")["column"]) == (1, 2)
    target = next(t for t in client.ok("stepInTargets", {"frameId": frame})["targets"] if t["label"] == "f")
    assert (target["line"], target["column"]) == (7, 2)


def test_output(adapter, client):
    adapter.connections[-1].event("output", {"category": "stdout", "output": "hello\n", "line": 9, "column": 1,
                                             "source": {"path": PROGRAM}})
    body = client.wait_event("output", lambda e: e["output"] == "hello\n")["body"]
    assert (body["line"], body["column"]) == (8, 0)


@pytest.mark.parametrize("names", ["lines", "columns", "neither"])
def test_each_by_itself(adapter, relay, names):
    relay.initialize(linesStartAt1=names != "lines", columnsStartAt1=names != "columns")
    relay.attach({"request": "attach"})
    relay.stopped()
    top = relay.stack(1)[0]
    assert (top["line"], top["column"]) == {"lines": (7, 1), "columns": (8, 0), "neither": (8, 1)}[names]


def test_what_comes_right_behind_an_attach_is_counted_once(adapter, relay):
    relay.initialize(**FROM_0)
    attach, breakpoints, done = relay.send_together(("attach", {"request": "attach"}), ("setBreakpoints", BREAKPOINTS),
                                                    ("configurationDone", None))
    assert [b["line"] for b in relay.check(relay.response(breakpoints))["breakpoints"]] == [0, 11]
    assert [b["line"] for b in last(adapter, "setBreakpoints")["breakpoints"]] == [1, 12]
    relay.check(relay.response(done))
    relay.check(relay.response(attach))


def test_a_line_that_is_no_plain_number(adapter, relay):
    relay.initialize(**FROM_0)
    relay.attach({"request": "attach"})
    relay.stopped()
    relay.send_body(b'{"seq":1e3,"type":"request","command":"setBreakpoints","arguments":{"source":{"path":"/app/app.py"},'
                    b'"breakpoints":[{"line":11.0}]}}')
    (answer,) = relay.check(relay.response(1000))["breakpoints"]
    assert answer["line"] == 11 and last(adapter, "setBreakpoints")["breakpoints"] == [{"line": 12}]


def test_an_observer_s_breakpoints(adapter, hub):
    hub.join(name="one").stopped()
    client = hub.client(name="two")
    client.initialize(**FROM_0)
    client.attach(hub.attach_arguments(role="observer"))
    client.stopped()
    answer = client.ok("setBreakpoints", BREAKPOINTS)["breakpoints"]
    assert [(b["line"], b["verified"]) for b in answer] == [(0, False), (11, False)]
    client.ok("raydbg/takeOver")
    wait_until(lambda: adapter.requests("setBreakpoints"), "they take effect")
    assert [b["line"] for b in last(adapter, "setBreakpoints")["breakpoints"]] == [1, 12]


def test_two_clients_that_count_differently(adapter, hub):
    one = hub.join(name="one")
    one.stopped()
    two = hub.client(name="two")
    two.initialize(**FROM_0)
    two.attach(hub.attach_arguments(takeOver=True))
    two.stopped()
    assert (one.stack(1)[0]["line"], two.stack(1)[0]["line"]) == (8, 7)
