"""Which responses wait for what Ray says of their objects, how long, and what is said when it comes late."""

import time
from collections import Counter
from itertools import count

import pytest
from fake_ray import PID, TASK
from object_session import (
    LOCALS, NINE, announced, announcements, asked_together, gave_up, in_time, known, ref_row, row, settled, store)
from waits import Gate, limit, settle, wait_until

# --- waiting ---

BARE = "GetCoreWorkerStats"


def test_nothing_is_late_when_the_worker_is_quick(worker, attach, adapter):
    client = attach()
    settled(client)
    looks = sum(e.way == ">" and e.message.get("command") == "variables" for e in client.transcript)
    corrected = announcements(client)
    assert looks > 2 or not corrected  # more: a look was too early, as on a busy machine
    for _ in range(5):
        assert not asked_together(client, adapter, LOCALS)[0][1]
    settle(0.3)
    assert announcements(client) == corrected
    client.disconnect()


def test_a_response_waits_for_a_moment_and_is_corrected_once(worker, attach, adapter, ray):
    def script(client):
        for rows, waited in asked_together(client, adapter, LOCALS, LOCALS):
            assert waited and rows[1]["value"] == f"ObjectRef({worker.big})"
        ray.speak(BARE)
        assert client.wait_event("invalidated")["body"] == {"areas": ["variables"]}
        assert known(client)["big"]["value"].startswith("8.0 MB")
        client.assert_no_event("invalidated", 0.3)
        ray.silent.add(BARE)

    ray.silent.add(BARE)
    in_time(attach, script)


def test_what_ray_says_meanwhile_is_in_the_response(worker, attach, adapter, ray):
    """Not each time on a busy machine: 50 ms are not long."""
    def variables(connection, request):
        worker.variables(connection, request)
        settle(0.02)  # what does not wait is with the client by now
        ray.speak(BARE)

    adapter.on["variables"] = variables
    for _ in range(20):
        ray.silent.add(BARE)
        client = attach(wait=False)
        value = client.children(LOCALS)["big"]["value"]
        client.disconnect()
        client.close()
        if "·" in value:
            return
    raise AssertionError("no response waited for what Ray says")


def test_without_support_there_is_no_invalidated(worker, attach, ray):
    ray.silent.add(BARE)
    client = attach({"supportsInvalidatedEvent": False}, wait=False)
    assert "·" not in client.children(LOCALS)["big"]["value"]
    ray.speak(BARE)
    assert "·" in known(client)["big"]["value"]
    client.assert_no_event("invalidated", 0.3)
    client.disconnect()


def test_what_would_look_the_same_is_not_announced(worker, attach, adapter, ray):
    ray.silent.add(BARE)
    worker.rows[LOCALS] = [row("x", "3", "int")]
    client = attach(wait=False)
    assert not asked_together(client, adapter, LOCALS)[0][1]
    ray.speak(BARE)
    client.assert_no_event("invalidated", 0.3)
    # Asked after that: raydbg/objects shows of the store what may come later, which is announced.
    wait_until(lambda: client.ok("raydbg/objects").get("total") == 2, "the worker's answer is there")
    client.disconnect()


def test_a_worker_that_never_answers(worker, attach, adapter, ray):
    """No response waits for as long as the worker is waited for."""
    def script(client):
        for _ in range(5):
            [(rows, _)] = asked_together(client, adapter, LOCALS)
            assert rows == [
                {**r, **({"presentationHint": {"attributes": ["readOnly"]}} if r["name"] == "big" else {})}
                for r in worker.rows[LOCALS]]
        assert client.ok("raydbg/objects")["state"] == "asking"

    ray.silent.add(BARE)
    in_time(attach, script)


def test_what_was_waited_for_in_vain_is_not_waited_for_again(worker, attach, adapter, ray):
    def script(client):
        assert asked_together(client, adapter, LOCALS)[0][1]
        assert not asked_together(client, adapter, LOCALS)[0][1]

    ray.silent.update((BARE, "GetNodeStats"))  # which would be news, and worth a wait
    in_time(attach, script)


def test_after_a_step_what_was_told_is_confirmed_when_the_client_is_quiet(worker, attach, ray):
    """A machine on which this takes 80 ms puts the order to no test; tests/unit/relay/objects/test_relay_worker_objects.c always does."""
    client = attach()
    before = known(client)["big"]["value"]
    methods = "GetCoreWorkerStats", "GetNodeStats", "GetObjectLocationsOwner"
    for _ in range(10):
        settle(1)  # older counters of the store than that would be asked for
        asked, start = Counter(ray.asked), time.monotonic()
        client.step("next", 1)
        assert client.ok("scopes", {"frameId": 3})["scopes"][-1]["indexedVariables"] == 2
        for _ in range(3):
            assert client.children(LOCALS)["big"]["value"] == before
        settle(0.03)
        asked_meanwhile = {method: ray.asked[method] - asked[method] for method in methods}
        took = time.monotonic() - start
        for method in methods:
            ray.wait_asked(method, asked[method] + 1)
        if took < 0.08:
            assert not any(asked_meanwhile.values()), asked_meanwhile
            break
    client.disconnect()


def test_what_a_step_has_changed_is_announced(worker, attach, ray):
    client = attach()
    settled(client)
    ray.refs[0].object_size = 9_000_000
    ray.silent.add(BARE)
    client.step("next", 1)
    assert client.children(LOCALS)["big"]["value"].startswith("8.0 MB")
    ray.speak(BARE)
    announced(client, lambda: client.children(LOCALS)["big"]["value"].startswith("9.0 MB"))
    client.disconnect()


def test_how_many_there_are_now_is_announced(worker, attach, ray):
    def count():
        return client.ok("scopes", {"frameId": 3})["scopes"][-1]["indexedVariables"]

    client = attach()
    known(client)
    ray.add_ref()
    ray.silent.add(BARE)
    client.step("next", 1)
    assert count() == 2, "as many as before"
    ray.speak(BARE)
    announced(client, lambda: count() == 3)
    client.disconnect()


def test_below_a_reference_all_is_asked_at_once(worker, attach, adapter, ray):
    """What is said there is of this stop, and worth waiting for."""
    client = attach()
    settled(client)
    ray.silent.add(BARE)
    client.step("next", 1)
    client.children(LOCALS)
    assert asked_together(client, adapter, 11)[0][1]
    ray.speak(BARE)
    wait_until(lambda: client.children(11)["copies"]["value"] == "1", "it has been asked for")
    client.disconnect()


def test_once_it_has_failed_nothing_waits(worker, attach, adapter, ray):
    ray.silent.add(BARE)
    client = attach(wait=False)
    rows = wait_until(lambda: (found := store(client)) and "no answer from" in found[0]["value"] and found, "it has failed")
    assert [r["name"] for r in rows] == ["references"] and gave_up(client)
    assert not asked_together(client, adapter, LOCALS)[0][1]
    assert client.children(11)["size"]["value"].startswith("unknown: ")
    client.disconnect()


@pytest.mark.parametrize("command, event", [("continue", "continued"), ("next", "continued")])
def test_going_on_sends_what_waits_first(worker, attach, adapter, ray, command, event):
    ray.silent.add("GetCoreWorkerStats")
    client = attach(wait=False)
    waiting = client.send("variables", {"variablesReference": LOCALS})
    adapter.wait_request("variables")
    client.ok(command, {"threadId": 1})
    client.wait_event(event)
    client.check(client.response(waiting))
    order = [m.message.get("command") or m.message["event"] for m in client.transcript if m.way == "<"]
    assert order.index("variables") < order.index(command) and order.index("variables") < order.index(event)
    client.disconnect()


@pytest.mark.parametrize("end", ["disconnect", "terminate", "fin", "rst"])
def test_at_the_end_each_request_has_one_response(worker, attach, adapter, ray, end):
    ray.silent.add("GetCoreWorkerStats")
    client = attach(wait=False)
    scope = client.ok("scopes", {"frameId": 3})["scopes"][-1]["variablesReference"]
    waiting = [client.send("variables", {"variablesReference": n}) for n in (LOCALS, scope, LOCALS)]
    waiting.append(client.send("raydbg/objects"))
    client.ok("threads")
    if end in ("fin", "rst"):
        adapter.connections[0].die(end)
    else:
        client.ok(end)
    for seq in waiting:
        client.response(seq)
    client.wait_event("terminated")
    if end != "disconnect":
        client.disconnect()
    client.close()  # asserts one response to each


def test_a_client_that_goes_while_responses_wait(worker, attach, ray):
    ray.silent.add("GetCoreWorkerStats")
    client = attach(wait=False)
    client.strict = False
    client.send("variables", {"variablesReference": LOCALS})
    client.ok("threads")
    client.transport.close_write()
    client.process.wait(limit())
    client.close(check=False)


# --- tasks that are reported late ---

MAKER = bytes.fromhex("5f" * 8) + TASK[8:]


def made_late(client):
    """The rows below the reference that MAKER has made, once all is known of it."""
    return wait_until(lambda: "being asked" not in str(rows := client.children(12)) and rows, "all is known")


@pytest.fixture
def late(worker, ray, gate):
    """A reference of which only the event of MAKER, which Ray does not have yet, would tell the owner: a Gate in front of what
    Ray says of MAKER when it is asked again."""
    times, answer = count(), ray.GetTaskEvents
    again = gate(answer)
    ray.GetTaskEvents = lambda data: (again if MAKER in data and next(times) else answer)(data)
    worker.rows[LOCALS].append(ref_row("late", ray.add_ref(700, owned=False, task=MAKER), 12))
    worker.rows[12] = [row("special variables", "", "", 15, evaluate=False)]
    return again


def test_a_task_that_is_reported_late_is_asked_for_again(late, attach, ray):
    client = attach()
    known(client)
    rows = made_late(client)
    assert rows["created by"]["value"] == "unknown: Ray has no event of the task that made it"
    assert rows["owner"]["value"].startswith("unknown: ")
    ray.tasks[MAKER] = "maker"
    late.open()
    rows = announced(client, lambda: (r := made_late(client))["created by"]["value"].startswith("maker ") and r)
    assert f"pid {PID}" in rows["owner"]["value"] and rows["copies"]["value"] == "1"
    client.assert_no_event("invalidated", 0.3)
    client.disconnect()


def test_a_task_that_is_never_reported_is_asked_for_twice_in_a_stop(late, attach, ray):
    client = attach()
    known(client)
    made_late(client)
    corrected = announcements(client)
    late.wait_reached()
    late.open()
    asked = ray.asked["GetTaskEvents"]
    settle(1.5)
    assert announcements(client) == corrected
    made_late(client)
    assert ray.asked["GetTaskEvents"] == asked and sum(MAKER in data for data in ray.task_requests) == 2
    client.disconnect()


# --- views ---

@pytest.fixture
def views(worker, adapter):
    """An array that shows the memory of `small`; what was evaluated for it."""
    worker.rows[LOCALS].append(row("arr", "array([0., 0.])", "ndarray", 31))
    worker.rows[31] = [row("dtype", "float64", "str", evaluate=False)]
    worker.answer, worker.asked, worker.gate = worker.small, [], Gate(lambda: None)
    worker.gate.open()

    def evaluate(connection, request):
        if "frameId" in request["arguments"] and "WORLD_RANK" not in request["arguments"]["expression"]:
            worker.asked.append(request["arguments"])
            worker.gate()
        connection.respond(request, {"result": f"'{worker.answer}'", "type": "str", "variablesReference": 0})

    adapter.on["evaluate"] = evaluate
    return worker


@pytest.fixture
def look(attach):
    """look(): a client that has seen the rows of the frame."""
    def start():
        client = attach()
        client.ok("scopes", {"frameId": 3})
        known(client)
        return client
    return start


def test_an_array_says_whose_memory_it_shows(views, attach):
    client = attach()
    client.ok("scopes", {"frameId": 3})
    assert known(client)["arr"]["value"] == "array([0., 0.])"
    rows = client.ok("variables", {"variablesReference": 31})["variables"]
    assert [r["name"] for r in rows] == ["view of", "dtype"]
    assert rows[0]["value"] == f"500 B · pid {PID}@node-1 · ObjectRef({views.small})"
    assert list(client.children(rows[0]["variablesReference"])) == NINE
    assert client.children(LOCALS)["arr"]["value"] == f"view of ObjectRef({views.small}) · array([0., 0.])"
    assert len(views.asked) == 1 and views.asked[0]["frameId"] == 3 and "(arr," in views.asked[0]["expression"]
    compile(views.asked[0]["expression"], "view", "eval")
    client.disconnect()


def test_right_after_a_step_an_array_says_it_too(views, look):
    client = look()
    for _ in range(2):
        assert list(client.children(31)) == ["view of", "dtype"]
        client.step("next", 1)
        client.ok("scopes", {"frameId": 3})
        client.children(LOCALS)
    client.disconnect()


@pytest.mark.parametrize("name", ["f(x)", "a + b", "a[f()]", "", "x if y else z"])
def test_only_plain_paths_are_evaluated(views, look, name):
    views.rows[LOCALS][-1]["evaluateName"] = name
    client = look()
    assert list(client.children(31)) == ["dtype"]
    assert not views.asked
    client.disconnect()


def test_an_array_of_no_object(views, look):
    views.answer = ""
    client = look()
    for _ in range(2):
        assert list(client.children(31)) == ["dtype"]
    assert len(views.asked) == 1
    client.disconnect()


def test_a_worker_with_many_references_is_not_searched(views, look, ray):
    for _ in range(1000):
        ray.add_ref()
    client = look()
    assert list(client.children(31)) == ["dtype"]
    assert not views.asked
    client.disconnect()


def test_a_late_view_is_announced(views, look, gate):
    views.gate = gate(lambda: None)
    client = look()
    assert list(client.children(31)) == ["dtype"]
    views.gate.open()
    announced(client, lambda: list(client.children(31)) == ["view of", "dtype"])
    client.disconnect()


def test_a_session_that_ends_while_a_view_is_asked(views, look, gate):
    views.gate = gate(lambda: None)
    client = look()
    waiting = client.send("variables", {"variablesReference": 31})
    views.gate.wait_reached()
    disconnect = client.send("disconnect")
    client.response(waiting)
    views.gate.open()
    client.check(client.response(disconnect))
    client.close()
