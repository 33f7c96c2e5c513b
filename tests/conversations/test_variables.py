"""What a DAP client sees of Ray's objects: annotated values, the rows below them, the object store."""

import json
import re
import threading

import pytest
from dap_client import frame
from fake_ray import ACTOR, PID, object_id
from object_session import (
    LOCALS, NINE, OWN, READ_ONLY, announced, full_store, in_time, known, ref_row, row, settled, store)
from relay_process import PeakRss, release_path
from waits import limit, settle, wait_until

# --- what is shown ---

def test_a_reference_says_its_size_and_owner(worker, attach):
    client = attach()
    big = known(client)["big"]
    assert big["value"] == f"8.0 MB · pid {PID}@node-1 · ObjectRef({worker.big})"
    assert (big["evaluateName"], big["type"], big["variablesReference"]) == ("big", "ObjectRef", 11)
    assert "readOnly" in big["presentationHint"]["attributes"]
    client.disconnect()


def test_other_rows_keep_their_bytes(worker, attach, adapter):
    raw = b'{"seq":%d,"type":"response","request_seq":%d,"success":true,"command":"variables","body":{"variables":' \
          b'[{"name":"n","value":"\\ud800 ObjectRef(zz)","type":"str","big":9007199254740993,"variablesReference":0}]}}'
    client = attach()
    known(client)
    adapter.on["variables"] = lambda c, request: c.send_body(raw % (900, request["seq"]))
    client.ok("variables", {"variablesReference": 12})
    body = client.transcript[-1].raw
    assert body.partition(b'"body"')[2] == raw.partition(b'"body"')[2]
    client.disconnect()


def test_below_a_reference_are_nine_rows_and_then_debugpys_own(worker, attach):
    client = attach()
    settled(client)
    for page in ({}, {"start": 1, "count": 2}, {"filter": "named"}):
        rows = client.ok("variables", {"variablesReference": 11, **page})["variables"]
        assert [r["name"] for r in rows] == [*NINE, "special variables"]
        assert all(r["variablesReference"] == 0 and r["presentationHint"] == READ_ONLY for r in rows[:9])
    values = {r["name"]: r["value"] for r in rows}
    assert values["call site"] == "app.py:main:12" and values["owner"].startswith(f"pid {PID}@node-1")
    assert values["size"].startswith("8.0 MB") and values["nodes"] == "node-1" and values["copies"] == "1"
    client.disconnect()


def test_a_reference_without_children_of_debugpys_has_nine(worker, attach):
    worker.rows[11] = []
    client = attach()
    known(client)
    assert list(client.children(11)) == NINE
    client.disconnect()


def test_references_found_by_evaluating_have_children_too(worker, attach, adapter):
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {
        "result": f"ObjectRef({worker.small})", "type": "ObjectRef", "variablesReference": 21})
    worker.rows[21] = []
    client = attach()
    known(client)
    for context in ("watch", "hover", "repl"):
        result = client.evaluate("make()", 3, context)
        assert result == f"500 B · pid {PID}@node-1 · ObjectRef({worker.small})"
    assert client.evaluate("make()", 3, "clipboard") == f"ObjectRef({worker.small})"
    assert list(client.children(21)) == NINE
    client.disconnect()


def test_handles_and_containers(worker, attach):
    worker.rows[LOCALS] += [row("h", f"Actor(Counter, {ACTOR.hex()})", "ActorHandle", 13),
                            row("refs", f"[ObjectRef({worker.big}), ObjectRef({worker.small})]", "list", 12)]
    client = attach()
    rows = known(client, "h", "big")
    assert rows["h"]["value"].startswith('Counter "keeper" · pid 77@node-1 · ')
    assert rows["refs"]["value"].startswith("2 refs, 8.0 MB · [")
    client.disconnect()


def test_off_gives_debugpys_bytes(worker, attach, adapter):
    client = attach(objectStore={"annotate": "off", "scope": False})
    settle(0.2)
    for reference in (LOCALS, 11):
        assert client.ok("variables", {"variablesReference": reference}) == {"variables": worker.rows[reference]}
    assert len(client.ok("scopes", {"frameId": 3})["scopes"]) == 2
    client.ok("setVariable", {"variablesReference": LOCALS, "name": "x", "value": "8.0 MB · 5"})
    assert adapter.requests("setVariable")[-1]["arguments"]["value"] == "8.0 MB · 5"
    assert "objectStore" not in adapter.requests("attach")[0]["arguments"]
    client.disconnect()


def test_units_and_fields(worker, attach):
    client = attach(objectStore={"unit": "KB", "fields": ["size"]})
    assert known(client)["big"]["value"] == f"8000 KB · ObjectRef({worker.big})"
    client.disconnect()


@pytest.mark.parametrize("wrong, member", [
    ([], "objectStore"), ({"annotate": True}, "objectStore.annotate"), ({"unit": "TB"}, "objectStore.unit"),
    ({"fields": ["size", "color"]}, "objectStore.fields"), ({"fields": "size"}, "objectStore.fields"),
    ({"scope": 1}, "objectStore.scope")])
def test_wrong_options_are_named(ray, start_relay, wrong, member):
    client = start_relay(None, "--address", ray.address)
    client.initialize()
    answer = client.request("attach", {"request": "attach", "objectStore": wrong})
    assert not answer["success"] and f'"{member}" must be' in answer["message"]


def test_an_annotation_is_taken_away_from_what_is_sent(worker, attach, adapter):
    adapter.on["setExpression"] = lambda c, request: c.respond(request, {"value": "1"})
    client = attach()
    value = known(client)["big"]["value"]
    client.ok("setVariable", {"variablesReference": LOCALS, "name": "x", "value": value})
    client.ok("setExpression", {"expression": "x", "value": value, "frameId": 3})
    client.ok("evaluate", {"expression": value, "frameId": 3})
    plain = f"ObjectRef({worker.big})"
    assert adapter.requests("setVariable")[-1]["arguments"]["value"] == plain
    assert adapter.requests("setExpression")[-1]["arguments"]["value"] == plain
    assert adapter.requests("evaluate")[-1]["arguments"]["expression"] == plain
    client.disconnect()


# --- the scope ---

def test_the_object_store_is_one_more_scope(worker, attach):
    client = attach()
    known(client)
    scopes = wait_until(lambda: (s := client.ok("scopes", {"frameId": 3})["scopes"]) and "namedVariables" in s[2] and s,
                        "the number of references is known")
    assert [s["name"] for s in scopes] == ["Locals", "Globals", "Object store"]
    own = scopes[2]["variablesReference"]
    assert scopes[2] == {"name": "Object store", "variablesReference": own, "expensive": True, "namedVariables": 4,
                         "indexedVariables": 2}
    assert OWN <= own < 1 << 31
    rows = full_store(client)
    assert [r["name"] for r in rows] == ["store used", "store capacity", "store spilled", "references", "big",
                                         f"{worker.small[:8]}…{worker.small[-8:]}"]
    assert [r["value"] for r in rows[:4]] == ["96 MB in 7 objects", "2.0 GB", "5.0 MB in 3 objects so far",
                                              "2 refs, 8.0 MB"]
    assert rows[4]["value"] == f"8.0 MB · pid {PID}@node-1 · ObjectRef({worker.big})"
    assert list(client.children(rows[5]["variablesReference"])) == NINE
    assert client.children(rows[5]["variablesReference"])["size"]["value"].startswith("500 B")
    client.disconnect()


def test_the_names_that_hold_a_reference(worker, attach):
    worker.rows[LOCALS] += [ref_row("again", worker.big, 16),
                            row("refs", f"[ObjectRef({worker.small})]", "list", 12)]
    client = attach()
    known(client)
    assert [r["name"] for r in store(client, filter="indexed")] == ["big, again", f"in refs …{worker.small[-8:]}"]
    worker.rows[12] = [{**ref_row("0", worker.small, 17), "evaluateName": "refs[0]"}]
    client.children(12)
    assert [r["name"] for r in store(client, filter="indexed")] == ["big, again", "refs[0]"]
    client.disconnect()


def test_paging(worker, attach, ray):
    for n in range(100):
        ray.add_ref(1000 * (n + 1))
    client = attach()
    known(client)
    everything = full_store(client)
    assert len(everything) == 4 + 102
    sizes = [r["value"].split(" · ")[0] for r in everything[4:]]
    assert sizes[0] == "8.0 MB" and sizes[1] == "100 KB" and sizes[-1] == "500 B"
    for page, expected in [({"filter": "named"}, everything[:4]), ({"filter": "indexed"}, everything[4:]),
                           ({"filter": "indexed", "start": 10, "count": 5}, everything[14:19]),
                           ({"filter": "named", "start": 1, "count": 2}, everything[1:3]),
                           ({"start": 2, "count": 4}, everything[2:6]), ({"start": 105}, everything[105:]),
                           ({"filter": "indexed", "start": 1000, "count": 100}, []),
                           ({"start": 5, "count": 0}, everything[5:])]:
        assert store(client, **page) == expected, page
    client.disconnect()


def test_asking_is_one_row_and_announced(worker, attach, ray):
    def script(client):
        try:
            rows = store(client)
            assert len(rows) == 1 and rows[0]["value"].startswith("asking")
            ray.speak("GetCoreWorkerStats")
            announced(client, lambda: len(store(client)) == 6)
        finally:
            ray.silent.add("GetCoreWorkerStats")

    ray.silent.add("GetCoreWorkerStats")
    in_time(attach, script)


def test_rows_of_an_earlier_stop(worker, attach):
    client = attach()
    known(client)
    rows = store(client)
    client.step("next", 1)
    answer = client.request("variables", {"variablesReference": rows[4]["variablesReference"]})
    assert not answer["success"] and "earlier stop" in answer["message"]
    now = wait_until(lambda: len(found := store(client)) == 6 and found, "the worker has answered")
    assert now[4]["variablesReference"] != rows[4]["variablesReference"]
    assert not client.request("variables", {"variablesReference": rows[4]["variablesReference"]})["success"]
    client.disconnect()


def test_own_rows_cannot_be_set_and_never_reach_debugpy(worker, attach, adapter):
    client = attach()
    known(client)
    store(client)
    answer = client.request("setVariable", {"variablesReference": OWN, "name": "big", "value": "1"})
    assert not answer["success"]
    assert not adapter.requests("setVariable")
    assert all(r["arguments"]["variablesReference"] < OWN for r in adapter.requests("variables"))
    client.disconnect()


def test_without_a_cluster_there_is_nothing_more(adapter, relay):
    relay.start()
    assert len(relay.ok("scopes", {"frameId": 3})["scopes"]) == 2
    assert not relay.request("raydbg/objects")["success"]
    relay.disconnect()


# --- raydbg/objects ---

def test_the_references_as_data(worker, attach, ray):
    ray.refs[1].call_site = "a.py:f:1"
    ray.refs[1].pinned_in_memory = True
    client = attach()
    known(client)
    full_store(client)
    body = client.ok("raydbg/objects")
    assert (body["state"], body["total"], body["bytes"], body["start"]) == ("known", 2, 8_000_500, 0)
    assert body["store"]["used"] == 96_000_000 and body["worker"]["pid"] == PID
    big, small = body["references"]
    assert (big["objectRef"], big["size"], big["owner"], big["callSite"], big["variables"]) == (
        worker.big, 8_000_000, f"pid {PID}@node-1", "app.py:main:12", "big")
    assert list(big["properties"]) == NINE
    assert small["pinnedInMemory"] and small["localReferences"] == 1 and small["taskStatus"] == "FINISHED"
    by_site = client.ok("raydbg/objects", {"sort": "callSite"})["references"]
    assert [r["objectRef"] for r in by_site] == [worker.small, worker.big]
    page = client.ok("raydbg/objects", {"start": 1, "count": 1})
    assert [r["objectRef"] for r in page["references"]] == [worker.small] and page["total"] == 2
    client.disconnect()


def test_an_observer_may_ask(worker, run_relay, ray):
    relay = run_relay(adapter=None, address=ray.address)
    driver = relay.join(name="driver")
    driver.stopped()
    observer = relay.join(name="observer", role="observer")
    observer.stopped()
    assert known(observer)["big"]["value"].startswith("8.0 MB")
    assert observer.ok("raydbg/objects")["total"] == 2
    assert len(store(observer)) == 6
    driver.disconnect()


# --- many, and other numbers ---

def test_ten_thousand_references(worker, attach, ray):
    refs = [ray.add_ref(1000) for _ in range(10_000)]
    worker.rows[LOCALS] = [ref_row(f"r{n}", which, 100 + n) for n, which in enumerate(refs[:500])]
    client = attach()
    assert known(client)["r7"]["value"].startswith("1.0 KB")
    assert len(store(client, filter="indexed", start=9000, count=100)) == 100
    assert len(store(client)) == 4 + 10_002
    client.disconnect()


def test_the_numbers_of_older_rays(worker, attach, ray):
    ray.old_numbers = True
    client = attach()
    assert known(client)["big"]["value"].startswith("8.0 MB")
    client.disconnect()


def test_a_reference_that_the_worker_does_not_list(worker, attach):
    worker.rows[LOCALS].append(ref_row("other", object_id(77).hex(), 12))
    client = attach()
    rows = known(client)
    assert rows["big"]["value"].startswith("8.0 MB")
    assert rows["other"]["value"].endswith(f"ObjectRef({object_id(77).hex()})")
    client.disconnect()


# --- large messages ---

def test_a_large_response_is_annotated(worker, attach):
    client = attach()
    known(client)
    padding = row("pad", "x" * 400_000, "str")
    worker.rows[LOCALS].append(padding)
    rows = wait_until(lambda: "pad" in (found := client.children(LOCALS)) and found, "no answer that came ahead")
    assert rows["big"]["value"].startswith("8.0 MB") and rows["pad"] == padding
    client.disconnect()


def test_too_large_a_response_passes_as_it_is(worker, run_relay, ray):
    """An observer's limit is lower: it must not lag."""
    relay = run_relay(adapter=None, address=ray.address)
    driver, observer = relay.join(name="driver"), relay.join(name="observer", role="observer")
    for client in (driver, observer):
        client.stopped()
        known(client)
    worker.rows[LOCALS].append(row("pad", "x" * 1_200_000, "str"))
    assert driver.children(LOCALS)["big"]["value"].startswith("8.0 MB")
    assert observer.children(LOCALS)["big"] == worker.rows[LOCALS][1]
    driver.disconnect()


@pytest.mark.parametrize("build", ["sanitized", "released"])
def test_a_huge_response_passes_as_it_arrives(worker, run_relay, ray, build):
    """It is never in the relay as a whole; a sanitizer's memory says nothing, as it keeps what was freed."""
    relay = run_relay(adapter=None, address=ray.address, binary=release_path() if build == "released" else None)
    client = relay.join()
    client.stopped()
    known(client)
    peak = PeakRss(relay.pid)
    worker.rows[LOCALS].append(row("pad", "x" * 20_000_000, "str"))
    assert client.children(LOCALS)["big"] == worker.rows[LOCALS][1]
    assert build == "sanitized" or peak.risen() < 4 << 20
    client.disconnect()


@pytest.fixture
def go_on(adapter):
    """The adapter sends half of a source; the other half when this event is set."""
    go_on = threading.Event()

    def source(connection, request):
        body = frame(json.dumps({"seq": 900, "type": "response", "request_seq": request["seq"], "success": True,
                                 "command": "source", "body": {"content": "x" * 900_000}}).encode())
        connection.send_raw(body[:500_000])
        go_on.wait(limit())
        connection.send_raw(body[500_000:])

    adapter.on["source"] = source
    yield go_on
    go_on.set()


def test_what_is_said_while_a_message_passes_in_parts(worker, run_relay, go_on, ray):
    """The relay's own answers do not come into the middle of it."""
    relay = run_relay(adapter=None, address=ray.address)
    client = relay.join()
    client.stopped()
    known(client)
    large = client.send("source", {"sourceReference": 1})
    settle(0.3)
    own = client.send("raydbg/objects")
    refused = client.send("readMemory", {})
    settle(0.3)
    go_on.set()
    assert len(client.check(client.response(large))["content"]) == 900_000
    assert client.check(client.response(own))["total"] == 2
    assert not client.response(refused)["success"]
    client.disconnect()


def bytes_to_clients(relay):
    """A message in parts counts in full when it begins."""
    text = relay.http("GET", "/metrics").body.decode()
    return int(re.search(r'^raydbg_bytes_total{direction="to_client"} (\d+)$', text, re.M)[1])


def test_a_client_that_leaves_while_a_message_passes_in_parts(worker, run_relay, go_on, ray):
    """Its stream ends in the middle of it. The task stays with the other client, whose messages come as before."""
    relay = run_relay(adapter=None, address=ray.address)
    stays, leaves = relay.join(name="stays"), relay.join(name="leaves", role="observer")
    leaves.strict = False
    for client in (stays, leaves):
        client.stopped()
    leaves.send("source", {"sourceReference": 1})
    wait_until(lambda: bytes_to_clients(relay) > 900_000, "the beginning of the message")
    leaves.send("terminate")
    leaves.wait_end()
    go_on.set()
    assert known(stays)
    stays.disconnect()
