"""Answers in parts, and asked for again in a stop: each is annotated by what is known and shown then."""

import json

import pytest
from fake_ray import PID
from object_session import LOCALS, known, ref_row, row
from waits import limit, settle, wait_until

LARGE = 300_000  # comes in parts
SMALL = 6_000


def fill(size):
    return [row(f"pad_{n}", "x" * 900, "str") for n in range(size // 1000)]


def values(client):
    return {name: each["value"] for name, each in client.children(LOCALS).items()}


@pytest.fixture(params=[SMALL, LARGE], ids=["whole", "in parts"])
def rows(worker, request):
    """Rows whose first and last are references."""
    worker.rows[LOCALS] = [ref_row("big", worker.big), *fill(request.param), ref_row("small", worker.small, 12)]
    return worker.rows[LOCALS]


def told(size):
    return f"{size} · pid {PID}@node-1 · "


def test_it_is_the_same_each_time(worker, rows, attach):
    client = attach()
    first = known(client)
    for _ in range(4):
        assert client.children(LOCALS) == first
    assert first["big"]["value"].startswith(told("8.0 MB")) and first["small"]["value"].startswith(told("500 B"))
    client.disconnect()


def test_a_fact_that_has_changed_is_said_at_once(worker, rows, attach, adapter, ray):
    client = attach()
    known(client)
    assert values(client)["big"].startswith(told("8.0 MB"))
    ray.refs[0].object_size = 9_000_000
    new = ray.add_ref(777)  # the worker is asked again for it
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {
        "result": f"ObjectRef({new})", "type": "ObjectRef", "variablesReference": 0})
    wait_until(lambda: "777 B" in client.evaluate("make()", 3, "watch"), "the new one is known")
    assert values(client)["big"].startswith(told("9.0 MB"))
    client.disconnect()


def test_another_stop_is_looked_at_anew(worker, rows, attach, ray):
    client = attach()
    known(client)
    values(client)
    ray.refs[0].object_size = 9_000_000
    client.ok("continue", {"threadId": 1})
    settle(1.2)  # so long after, nothing of the stop before is said again
    worker.adapter.connection().stop()
    client.stopped()
    assert known(client)["big"]["value"].startswith(told("9.0 MB"))
    client.disconnect()


@pytest.mark.parametrize("which", [0, 1, 150, -1])
def test_one_row_that_differs_is_seen(worker, attach, which):
    worker.rows[LOCALS] = [ref_row("big", worker.big), *fill(LARGE), row("end", "1", "int")]
    client = attach()
    known(client)
    values(client)
    before = dict(worker.rows[LOCALS][which])
    same_length = {**before, "value": before["value"][:-1] + ("y" if before["value"][-1] != "y" else "z")}
    for each in (same_length, before, {**before, "value": before["value"] + "more"}, before):
        worker.rows[LOCALS][which] = each
        assert values(client)[each["name"]].endswith(each["value"])
    client.disconnect()


def test_answers_of_any_size_in_turn(worker, attach):
    """With nothing to annotate, each a few times: the memory that one was gathered in serves the next."""
    client = attach()
    for number, size in enumerate((LARGE, 3 * LARGE, LARGE, 2 * LARGE, SMALL, 5 * LARGE, 2 * LARGE)):
        worker.rows[LOCALS] = [row("number", str(number), "int"), *fill(size), row("last", str(size), "int")]
        for _ in range(4):
            body = client.ok("variables", {"variablesReference": LOCALS})
            assert [(each["name"], each["value"]) for each in body["variables"]] == [
                (each["name"], each["value"]) for each in worker.rows[LOCALS]]
    client.disconnect()


def test_heads_of_any_length_keep_their_bytes(worker, attach, adapter):
    rows = json.dumps([row("n", "x" * 5000, "str"), ref_row("big", worker.big)]).encode()
    client = attach()
    known(client)
    bodies = []
    for number, front in ((9, b""), (123456789, b'"tag": "a", '), (7, b'"other": [{"variables": [1]}], '), (10, b"")):
        def respond(connection, request, number=number, front=front):
            connection.send_body(
                b'{ "seq": %d,"type":"response","request_seq": %d, "success":true,"command":"variables",'
                b'"body": {%s"variables": %s, "after": 1e400}}  ' % (number, request["seq"], front, rows))
        adapter.on["variables"] = respond
        for _ in range(2):
            body = client.ok("variables", {"variablesReference": LOCALS})
            assert body["variables"][1]["value"].startswith(told("8.0 MB"))
            bodies.append(client.transcript[-1].raw.partition(b'"body"')[2].replace(front, b"", 1))
            assert front in client.transcript[-1].raw
    assert len(set(bodies)) == 1
    client.disconnect()


HEAD = b'{"seq":9,"type":"response","request_seq":%d,"success":true,"command":"variables","body":{"variables":['


def answer_with(worker, adapter, rest):
    """Each answer comes in parts: a reference, rows of strings, and the given end of the message."""
    def respond(connection, request):
        rows = b",".join(json.dumps(each).encode() for each in [ref_row("big", worker.big), *fill(LARGE)])
        connection.send_body(HEAD % request["seq"] + rows + rest)
    adapter.on["variables"] = respond


@pytest.mark.parametrize("rest", [
    b"]}", b",]}}", b', {"a" 1}]}}', b', {"a": "\\x"}]}}', b', {"a": 01}]}}', b"]}} x", b', {"a": [}]}]}}', b"}}", b', "x'])
def test_a_malformed_answer_is_refused(worker, attach, adapter, rest):
    worker.rows[LOCALS] = [ref_row("big", worker.big)]
    client = attach()
    known(client)
    good = adapter.on["variables"]
    answer_with(worker, adapter, rest)
    refused = client.response(client.send("variables", {"variablesReference": LOCALS}))
    assert refused["success"] is False and refused["message"] and "ObjectRef" not in str(refused)
    adapter.on["variables"] = good
    assert values(client)["big"].startswith(told("8.0 MB"))
    client.disconnect()


def test_members_behind_the_body_count(worker, attach, adapter):
    worker.rows[LOCALS] = [ref_row("big", worker.big)]
    client = attach()
    known(client)
    answer_with(worker, adapter, b']}, "after": [1e4, "} ]"]}')
    assert values(client)["big"].startswith(told("8.0 MB"))
    assert client.transcript[-1].raw.endswith(b']}, "after": [1e4, "} ]"]}')
    answer_with(worker, adapter, b']}, "success": false, "message": "no"}')
    failed = client.response(client.send("variables", {"variablesReference": LOCALS}))
    assert failed["success"] is False and failed["message"] == "no"
    assert failed["body"]["variables"][0]["value"] == f"ObjectRef({worker.big})"
    answer_with(worker, adapter, b']}, "body": {"variables": []}}')
    assert values(client) == {}
    client.disconnect()


def test_two_clients_get_their_own(worker, run_relay, ray):
    worker.rows[LOCALS] = [ref_row("big", worker.big), *fill(SMALL)]
    relay = run_relay(address=ray.address)
    one = relay.join(request="attach")
    one.stopped()
    two = relay.join(request="attach", objectStore={"annotate": "off"})
    two.stopped()
    known(one)
    for _ in range(3):
        assert values(one)["big"].startswith(told("8.0 MB"))
        assert values(two)["big"] == f"ObjectRef({worker.big})"
    two.disconnect()
    one.disconnect()


def test_names_are_told_again_after_a_variable_was_set(worker, rows, attach, adapter):
    adapter.on["setVariable"] = lambda c, request: c.respond(request, {"value": "4", "type": "int"})
    client = attach()
    known(client)
    values(client)
    client.ok("setVariable", {"variablesReference": LOCALS, "name": "x", "value": "4"})
    values(client)
    scope = client.ok("scopes", {"frameId": 3})["scopes"][-1]["variablesReference"]
    names = {each["name"] for each in client.ok("variables", {"variablesReference": scope})["variables"]}
    assert {"big", "small"} <= names
    client.disconnect()


@pytest.mark.parametrize("again", [False, True], ids=["the first time", "the second"])
def test_an_adapter_that_dies_in_an_answer(worker, attach, adapter, again):
    worker.rows[LOCALS] = [ref_row("big", worker.big), *fill(LARGE)]
    client = attach()
    if again:
        known(client)
        values(client)

    def die(connection, request):
        body = json.dumps({"seq": 99, "type": "response", "request_seq": request["seq"], "success": True,
                           "command": "variables", "body": {"variables": worker.rows[LOCALS]}}).encode()
        connection.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body[:-50]))
        connection.die()

    adapter.on["completions"] = lambda connection, request: None
    adapter.on["variables"] = die
    other = client.send("completions", {"text": "x", "column": 1, "frameId": 3})
    response = client.response(client.send("variables", {"variablesReference": LOCALS}))
    assert response["success"] is False and response["message"] == client.response(other)["message"]
    client.close()


def test_a_client_that_leaves_in_an_answer(worker, attach, adapter):
    """And nothing of it stays: the sanitizer looks."""
    worker.rows[LOCALS] = [ref_row("big", worker.big), *fill(LARGE)]
    client = attach()
    known(client)
    values(client)
    adapter.on["variables"] = lambda connection, request: connection.send_raw(
        b'Content-Length: 300000\r\n\r\n{"seq":99,"type":"response","request_seq":%d,"success":true,'
        b'"command":"variables","body":{"variables":[%s' % (request["seq"], b" " * 100_000))
    client.strict = False
    client.send("variables", {"variablesReference": LOCALS})
    adapter.wait_request("variables", 3)
    settle(0.1)
    client.transport.close_write()
    client.process.wait(limit())
    client.close(check=False)
