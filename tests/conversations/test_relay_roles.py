"""Who drives a task that the relay holds and who watches, and whose breakpoints and filters count."""

import itertools
import re

import pytest
from dap_client import DapError
from fake_adapter import PROGRAM
from fake_gang import FakeGang
from held_task import CHANGES, KINDS, LOOKS, assert_held
from waits import wait_until


def role(client):
    return client.wait_event("raydbg/role")["body"]["role"]


def wait_role(client, wanted):
    """The event raydbg/role that says so, whatever it said before."""
    return client.wait_event("raydbg/role", lambda body: body["role"] == wanted)["body"]


def lines(adapter, path=PROGRAM):
    """The lines of the last setBreakpoints that the adapter got for this source."""
    sent = [r["arguments"] for r in adapter.requests("setBreakpoints") if r["arguments"]["source"]["path"] == path]
    return sorted(b["line"] for b in sent[-1]["breakpoints"]) if sent else None


def filters(adapter):
    return set(adapter.requests("setExceptionBreakpoints")[-1]["arguments"]["filters"])


# --- driver and observers ---

def test_roles_are_told(hub):
    first = hub.join(name="first")
    assert role(first) == "driver"
    second = hub.join("websocket", name="second")
    body = second.wait_event("raydbg/role")["body"]
    assert body["role"] == "observer" and "first" in body["driver"]
    listed = {s["role"] for s in hub.sessions()}
    assert listed == {"driver", "observer"}
    assert hub.pause()["clients"] == 2 and "first" in hub.pause()["driver"]


def test_a_role_is_told_once(hub):
    first = hub.join(name="first")
    for _ in range(3):
        hub.join(role="observer").disconnect()
    wait_until(lambda: hub.pause()["clients"] == 1, "the observers are gone")
    first.ok("threads")
    assert [event["body"]["role"] for event in first.events("raydbg/role")] == ["driver"]


def test_an_observer_alone_drives_nothing(adapter, hub):
    client = hub.join(role="observer")
    client.stopped()
    assert role(client) == "observer"
    assert not client.request("continue", {"threadId": 1})["success"]
    client.disconnect()
    assert_held(adapter)


@pytest.mark.parametrize("command", CHANGES)
def test_an_observer_is_refused_what_changes_state(adapter, hub, command):
    driver = hub.join(name="the driver")
    observer = hub.join("websocket", role="observer")
    driver.stopped(), observer.stopped()
    before = len(adapter.requests(command))
    answer = observer.request(command, CHANGES[command])
    assert not answer["success"]
    assert re.search("observ|drive", answer["message"]), answer
    assert len(adapter.requests(command)) == before
    assert driver.request("threads")["success"]


@pytest.mark.parametrize("command", LOOKS)
def test_an_observer_sees_everything(hub, command):
    driver, observer = hub.join(name="driver"), hub.join(role="observer")
    driver.stopped(), observer.stopped()
    assert observer.ok(command, LOOKS[command]) == driver.ok(command, LOOKS[command])


def test_take_over_by_request(hub):
    first, second = hub.join(name="first"), hub.join("websocket", name="second")
    wait_role(first, "driver"), wait_role(second, "observer")
    first.stopped(), second.stopped()
    second.ok("raydbg/takeOver")
    assert "second" in wait_role(second, "driver")["driver"]
    assert "second" in wait_role(first, "observer")["driver"]
    second.step("next", 1)
    refused = first.request("next", {"threadId": 1})
    assert not refused["success"] and "takeOver" in refused["message"] + str(refused.get("body", ""))\
        or "take" in refused["message"]
    first.ok("raydbg/takeOver")
    wait_role(first, "driver")
    first.step("next", 1)


def test_take_over_by_attach(hub):
    first = hub.join(name="first")
    wait_role(first, "driver")
    second = hub.join(name="second", takeOver=True)
    wait_role(second, "driver"), wait_role(first, "observer")
    second.stopped()
    second.step("next", 1)


def test_an_observers_token_never_drives(adapter, hub):
    observer_token = "o" * 32
    path = hub.state / "s/raydbg/observer-token"
    path.write_text(observer_token + "\n")
    path.chmod(0o600)
    hub.terminate()
    hub.restart()
    for kind in KINDS:
        client = hub.client(kind) if kind == "tcp" else hub.websocket(token=observer_token)
        client.initialize()
        more = {"token": observer_token} if kind == "tcp" else {}
        with pytest.raises(DapError, match="observe"):
            client.attach({**hub.attach_arguments("websocket", takeOver=True), **more})
        client.attach({**hub.attach_arguments("websocket", role="driver"), **more})
        assert role(client) == "observer"
        client.stopped()
        assert not client.request("raydbg/takeOver")["success"]
        assert not client.request("setVariable", CHANGES["setVariable"])["success"]
        client.disconnect(terminateDebuggee=True)
    assert_held(adapter)
    assert not adapter.requests("setVariable")


def test_the_oldest_drives_when_the_driver_leaves(hub):
    first = hub.join(name="first")
    watcher = hub.join(name="watcher", role="observer")
    second, third = hub.join(name="second"), hub.join(name="third")
    for client in (first, watcher, second, third):
        client.stopped()
    wait_role(first, "driver"), wait_role(second, "observer"), wait_role(third, "observer")
    first.disconnect()
    wait_role(second, "driver")
    second.step("next", 1)
    second.transport.reset()
    wait_role(third, "driver")
    third.disconnect()
    watcher.wait_event("raydbg/role", lambda body: not body.get("driver"))
    assert not watcher.request("next", {"threadId": 1})["success"]


# --- what clients set ---

def test_breakpoints_are_merged_and_leave_with_their_client(adapter, hub):
    first = hub.join(name="first", breakpoints={PROGRAM: [9]})
    first.stopped()
    assert lines(adapter) == [9]
    second = hub.join(name="second")
    wait_role(second, "observer")
    answer = second.set_breakpoints(PROGRAM, [12, 14])["breakpoints"]
    assert len(answer) == 2
    assert lines(adapter) == [9], "an observer's breakpoints take effect when it drives"
    second.ok("raydbg/takeOver")
    wait_until(lambda: lines(adapter) == [9, 12, 14], lambda: f"the union ({lines(adapter)})")
    answer = second.set_breakpoints(PROGRAM, [14, 9])["breakpoints"]
    assert [b["line"] for b in answer] == [14, 9] and all(b["verified"] for b in answer), answer
    wait_until(lambda: lines(adapter) == [9, 14], lambda: f"each line once ({lines(adapter)})")
    first.disconnect()
    wait_until(lambda: second.ok("threads") and lines(adapter) == [9, 14], lambda: f"both stay ({lines(adapter)})")
    second.set_breakpoints(PROGRAM, [14])
    wait_until(lambda: lines(adapter) == [14], lambda: f"one left ({lines(adapter)})")
    second.disconnect()
    wait_until(lambda: lines(adapter) == [], lambda: f"none left ({lines(adapter)})")


def test_who_observes_by_now_takes_its_own_breakpoints_away(adapter, hub):
    """What it set when it drove is in the worker: what it sets now is not, and its answer says so."""
    other = "/app/other.py"
    first = hub.join(name="first", breakpoints={PROGRAM: [9], other: [1]}, filters=["raised"])
    first.stopped()
    second = hub.join(name="second", takeOver=True, breakpoints={PROGRAM: [14]}, filters=[])
    second.stopped()
    wait_role(first, "observer")
    assert lines(adapter) == [9, 14] and lines(adapter, other) == [1], "each client's own stay when another one drives"
    assert not first.set_breakpoints(PROGRAM, [9, 12])["breakpoints"][0]["verified"]
    wait_until(lambda: lines(adapter) == [14], lambda: f"the driver's only ({lines(adapter)})")
    first.set_breakpoints(other, [])
    wait_until(lambda: lines(adapter, other) == [], lambda: f"none left ({lines(adapter, other)})")
    first.ok("setExceptionBreakpoints", {"filters": []})
    wait_until(lambda: filters(adapter) == {"uncaught"}, lambda: str(filters(adapter)))
    first.ok("raydbg/takeOver")
    wait_until(lambda: lines(adapter) == [9, 12, 14], lambda: f"the union ({lines(adapter)})")
    assert lines(adapter, other) == []


def test_a_client_that_vanishes_takes_its_breakpoints_along(adapter, hub):
    first = hub.join(name="first", breakpoints={PROGRAM: [9], "/app/other.py": [1]})
    first.stopped()
    second = hub.join(name="second", takeOver=True, breakpoints={PROGRAM: [12]})
    second.stopped()
    wait_until(lambda: lines(adapter) == [9, 12], lambda: f"the union ({lines(adapter)})")
    first.transport.reset()
    wait_until(lambda: lines(adapter) == [12] and lines(adapter, "/app/other.py") == [],
               lambda: f"only the second's ({lines(adapter)}, {lines(adapter, '/app/other.py')})")


def test_breakpoints_too_large_together_go_alone(adapter, hub):
    """What several clients have set in one source is merged, but never into more than debugpy's adapter reads."""
    size = 3_500_000
    conditions = [letter * size for letter in "abcdef"]
    for number, condition in enumerate(conditions):
        client = hub.join(name=f"client {number}", takeOver=True)
        client.stopped()
        client.ok("setBreakpoints", {"source": {"path": PROGRAM}, "breakpoints": [{"line": 10 + number, "condition": condition}]})
    sent = [[b["line"] for b in r["arguments"]["breakpoints"]] for r in adapter.requests("setBreakpoints")
            if r["arguments"]["source"]["path"] == PROGRAM]
    assert [11, 10] in sent and [15] in sent and max(map(len, sent)) * size < 16 << 20, sent


def test_breakpoint_ids_stay_a_clients_own(adapter, hub):
    """What the adapter changes about a breakpoint is told to whose it is, with the id that this client knows."""
    numbers = iter(range(100, 200))

    def set_breakpoints(connection, request):
        source = request["arguments"]["source"]
        connection.respond(request, {"breakpoints": [
            {"verified": True, "id": next(numbers), "source": source, "line": b["line"]}
            for b in request["arguments"].get("breakpoints", [])]})
    adapter.on["setBreakpoints"] = set_breakpoints
    first = hub.join(name="first", breakpoints={PROGRAM: [9]})
    first.stopped()
    second = hub.join(name="second", takeOver=True)
    second.stopped()
    wait_role(second, "driver")
    answer = second.set_breakpoints(PROGRAM, [12, 15])["breakpoints"]
    assert [b["line"] for b in answer] == [12, 15] and len({b["id"] for b in answer}) == 2


def test_exception_filters_are_united_with_uncaught(adapter, hub):
    first = hub.join(name="first", filters=["raised"])
    first.stopped()
    assert filters(adapter) == {"raised", "uncaught"}
    second = hub.join(name="second", takeOver=True, filters=["userUnhandled"])
    second.stopped()
    wait_until(lambda: filters(adapter) == {"raised", "userUnhandled", "uncaught"}, lambda: str(filters(adapter)))
    first.disconnect()
    wait_until(lambda: filters(adapter) == {"userUnhandled", "uncaught"}, lambda: str(filters(adapter)))
    second.ok("setExceptionBreakpoints", {"filters": []})
    wait_until(lambda: filters(adapter) == {"uncaught"}, lambda: str(filters(adapter)))


def test_exception_filters_stay_when_another_client_is_the_first_to_be_configured(adapter, hub):
    """The task runs from then on, with what its driver has set before."""
    first = hub.client("tcp")
    first.initialize(clientName="first")
    attach = first.send("attach", hub.attach_arguments("tcp"))
    first.wait_event("initialized")
    first.ok("setExceptionBreakpoints", {"filters": ["raised"]})
    second = hub.join(name="second", role="observer")
    second.stopped()
    first.ok("configurationDone")
    first.check(first.response(attach))
    first.stopped()
    assert filters(adapter) == {"raised", "uncaught"}


def test_an_observers_exception_filters_have_uncaught_when_it_drives(adapter, hub):
    """Without it a post-mortem pause does not stop at all."""
    first = hub.join(name="first")
    first.stopped()
    second = hub.join(name="second", filters=["userUnhandled"])
    wait_role(second, "observer")
    assert len(second.ok("setExceptionBreakpoints", {"filters": ["raised"]})["breakpoints"]) == 1
    assert filters(adapter) == {"uncaught"}
    first.disconnect()
    wait_role(second, "driver")
    second.ok("threads")
    assert filters(adapter) == {"raised", "uncaught"}


# --- who is told by an event ---

WISHES = [({}, False), ({"supportsRaydbgRole": True}, True), ({"clientID": "vscode"}, True),
          ({"clientID": "vscode", "supportsRaydbgRole": False}, False)]


@pytest.mark.parametrize("wish, told", WISHES)
@pytest.mark.parametrize("way", ["tcp", "websocket", "bridge", "many"])
def test_a_role_is_told_to_those_that_ask(adapter, run_relay, start_relay, way, wish, told):
    """Some clients end at an event that DAP does not have."""
    with FakeGang(["step", "load"]) as gang:
        relay = run_relay(adapter=None, address=gang.address) if way == "many" else run_relay()
        if way == "bridge":
            client = start_relay(None, "--relay", "%s:%d" % relay.address, env=relay.env)
        else:
            client = relay.client("websocket" if way == "websocket" else "tcp")
        client.ok("initialize", {"adapterID": "x", **wish})
        many = {"tasks": "*"} if way == "many" else {}
        client.attach(relay.attach_arguments("websocket" if way in ("bridge", "websocket") else "tcp", **many))
        client.stopped()
        client.ok("threads")
        assert [event["body"]["role"] for event in client.events("raydbg/role")] == ["driver"] * told
        client.disconnect()


# --- whose breakpoint was hit ---

def with_new_ids(adapter):
    """debugpy gives all breakpoints of a source new ids whenever they are set. Returns the last ones, by line or name."""
    ids, last = itertools.count(), {}

    def answer(connection, request):
        last.clear()
        made = [{"verified": True, "id": next(ids)} for _ in request["arguments"]["breakpoints"]]
        last.update((b.get("line") or b["name"], one["id"]) for b, one in zip(request["arguments"]["breakpoints"], made))
        connection.respond(request, {"breakpoints": made})
    adapter.on["setBreakpoints"] = adapter.on["setFunctionBreakpoints"] = answer
    return last


SETS = {"setBreakpoints": ({"source": {"path": PROGRAM}}, "line", 12, 15, 33),
        "setFunctionBreakpoints": ({}, "name", "f", "g", "h")}


@pytest.mark.parametrize("command", SETS)
def test_each_client_sees_its_own_ids_of_what_was_hit(adapter, hub, command):
    arguments, mark, one, two, three = SETS[command]
    last = with_new_ids(adapter)

    def set_(client, *marks):
        body = client.ok(command, {**arguments, "breakpoints": [{mark: name} for name in marks]})
        return dict(zip(marks, (b["id"] for b in body["breakpoints"])))

    def hit(*marks):
        """The ids that each client is told when these are hit."""
        adapter.connection().stop("breakpoint", hitBreakpointIds=[last[name] for name in marks])
        return [client.stopped(reason="breakpoint")["hitBreakpointIds"] for client in clients]

    first = hub.join(name="first")
    first.stopped()
    own = set_(first, one)
    second = hub.join("websocket", name="second", takeOver=True)
    second.stopped()
    other = set_(second, two, one)
    clients = [first, second]
    assert own[one] not in other.values()
    assert hit(one) == [[own[one]], [other[one]]]
    assert hit(two, one) == [[own[one]], [other[two], other[one]]]
    assert hit(two) == [[], [other[two]]]
    # One that only watches has none; what it would set has none, either.
    third = hub.join(name="third", role="observer")
    assert third.stopped()["hitBreakpointIds"] == []
    third.ok(command, {**arguments, "breakpoints": [{mark: three}]})
    clients.append(third)
    assert hit(one) == [[own[one]], [other[one]], []]
    third.disconnect()
    # When one leaves, those of the other are set anew by the relay.
    before = dict(last)
    second.disconnect()
    wait_until(lambda: set(last) == {one} and last != before, "the relay has set the rest anew")
    first.ok("threads")
    clients = [first]
    assert hit(one) == [[own[one]]]
    first.disconnect()
