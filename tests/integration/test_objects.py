"""Ray's objects in what a debugger shows: each value of a program with known references, on a real two-node Ray."""

import re
import statistics
import time
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import pytest
from cluster import PROGRAMS, line_of, wait_for
from conftest import OBJECTS, relay_in
from ray_memory import MB, mute, start, wait_dead, worker_stats

OBJECTS_PY = PROGRAMS / "objects.py"
PROPERTIES = "size|nodes|owner|call site|reference|kinds|copies|spilled|created by".split("|")
FIRST, SECOND = "127.0.0.1", "127.0.0.2"


def attach(client, task, **arguments):
    """Attaches; the stopped thread's top frame."""
    client.initialize()
    client.attach({"task": task, **arguments})
    return client.stack(client.stopped()["threadId"])[0]["id"]


def annotated(client, frame, name="big", says=" · "):
    """The frame's variables, once what Ray says of them is known: that one of this name says this."""
    def known():
        variables = client.locals(frame)
        return variables if says in variables[name]["value"] else None
    return wait_for(known, lambda: f"{name} says {says}: {client.text()}")


def rows_of(client, reference):
    return client.ok("variables", {"variablesReference": reference})["variables"]


def described(client, variable):
    """The nine properties of a reference, once nothing of them is still being asked."""
    rows = {}

    def settled():
        children = rows_of(client, variable["variablesReference"])[:len(PROPERTIES)]
        assert [child["name"] for child in children] == PROPERTIES
        rows.update({child["name"]: child["value"] for child in children})
        return not re.search("has not answered yet|being asked|not asked", " ".join(rows.values()))
    wait_for(settled, lambda: f"{variable['name']}: {rows}")
    return rows


def size_text(size):
    """As a row shows a size: at least one digit after the point below 10."""
    return rf"{size / MB:.1f} MB"


def ref_text(object_id):
    return f"ObjectRef({object_id})"


def shown(size, owner, object_id):
    """A pattern for the annotated value of a reference."""
    return rf"^{re.escape(size)} · pid {owner} · {re.escape(ref_text(object_id))}$"


# --- one paused task that holds every kind of reference, debugged in both ways ---

@pytest.fixture(scope="class", params=["dap", "relay"])
def held(request, pool):
    """The paused task of `objects.py hold`, and a client at it."""
    cluster = pool.get(OBJECTS)
    with ExitStack() as stack:
        stack.callback(cluster.stop_drivers)
        known = start(cluster, "hold")
        wait_for_events(cluster, known.small, known.returned, known.pending, known.nowhere)
        stats = worker_stats(cluster, known.pid)
        if request.param == "dap":
            client = stack.enter_context(cluster.raydbg_dap())
            relay = None
        else:
            relay = relay_in(cluster)
            stack.callback(relay.close)
            client = relay.client("websocket")
        frame = attach(client, "hold")
        annotated(client, frame)
        yield SimpleNamespace(cluster=cluster, known=known, stats=stats, client=client, relay=relay, frame=frame)
        client.disconnect()


def wait_for_events(cluster, *references):
    """Workers tell of their tasks once a second, and what is not told at a stop is looked up at the next one."""
    tasks = {reference[:48] for reference in references}  # that return these

    def told():
        return tasks <= {task["task_id"] for task in cluster.api("/api/v0/tasks")}
    wait_for(told, f"events of {', '.join(tasks)}", every=0.2)


def store_rows(held):
    """The rows of the scope Object store."""
    scope = held.client.ok("scopes", {"frameId": held.frame})["scopes"][-1]
    assert scope["name"] == "Object store"
    return rows_of(held.client, scope["variablesReference"])


@pytest.fixture
def values(held):
    return annotated(held.client, held.frame, "borrowed", " · pid ")  # its owner is asked for last


class TestHeld:
    def owners(self, known):
        return {"mine": f"{known.pid}@{SECOND}", "keeper": f"{known.keeper_pid}@{FIRST}"}

    def test_references_say_size_and_owner(self, held, values):
        known, sizes = held.known, {ref["id"]: ref["size"] for ref in held.stats["refs"]}
        mine, keeper = self.owners(known)["mine"], self.owners(known)["keeper"]
        for name, size, owner in (("big", "8.0 MB", mine), ("returned", "8.0 MB", mine), ("borrowed", "2.0 MB", keeper),
                                  ("shared", "1.0 MB", mine), ("small", f"{sizes[known.small]} B", mine),
                                  ("nested", f"{sizes[known.nested]} B", mine)):
            assert re.fullmatch(shown(size, owner, getattr(known, name)), values[name]["value"]), (name, values[name])

    def test_what_is_pending_says_how_far_it_is(self, held, values):
        for name, status in (("pending", "SUBMITTED_TO_WORKER"), ("reading", "SUBMITTED_TO_WORKER"),
                             ("nowhere", "PENDING_NODE_ASSIGNMENT")):
            value = values[name]["value"]
            assert value.startswith(f"pending {status} · "), value
            assert value.endswith(" · " + ref_text(getattr(held.known, name))), value

    def test_containers_say_how_many_and_how_much(self, held, values):
        for name, begin, ids in (("refs", "12 refs, 12 MB · [", held.known.list("refs")),
                                 ("by_name", "2 refs, 2.0 MB · {", held.known.list("refs")[:2]),
                                 ("borrowed_in", "1 ref, 2.0 MB · [", [held.known.borrowed])):
            assert values[name]["value"].startswith(begin), values[name]
            assert re.findall(r"ObjectRef\((\w+)\)", values[name]["value"]) == ids

    def test_an_actors_handle_says_where_it_is(self, held, values):
        value = values["actor"]["value"]
        before, _, handle = value.rpartition(" · ")
        assert handle == f"Actor(Keeper, {held.known.actor})"
        for word in ("keeper", FIRST, held.known.keeper_pid, "ALIVE"):
            assert word in before, value

    def test_what_only_looks_like_a_reference_stays_as_it_is(self, held, values):
        text = ref_text(held.known.big)
        assert values["looks_like"]["value"] == f"'{text}'"
        assert values["fake"]["value"] == text and values["fake"]["type"] == "Fake"
        assert values["strings"]["value"] == f"['{text}', 'ObjectRef(zz)']"
        for name in ("looks_like", "fake", "strings", "own", "path"):
            assert "readOnly" not in values[name].get("presentationHint", {}).get("attributes", []), values[name]

    def test_the_rest_of_a_row_is_debugpys(self, held, values):
        assert {values[n]["type"] for n in ("big", "borrowed", "pending")} == {"ObjectRef"}
        for name in ("big", "refs", "actor", "own"):
            assert values[name]["evaluateName"] == name
        for name in ("big", "borrowed", "pending", "small"):
            assert "readOnly" in values[name]["presentationHint"]["attributes"], values[name]

    def test_the_children_of_an_owned_reference(self, held, values):
        known = held.known
        big = described(held.client, values["big"])
        assert "8.0 MB" in big["size"] and SECOND in big["nodes"] and FIRST not in big["nodes"]
        assert f"pid {known.pid}@{SECOND}" in big["owner"]
        assert f"objects.py:hold:{line_of(OBJECTS_PY, 'big-put')}" in big["call site"]
        assert big["reference"] == ref_text(known.big) and re.fullmatch(r"local \(1\)", big["kinds"])
        assert re.match(r"1\b", big["copies"]) and big["spilled"].startswith("no")
        assert "hold" in big["created by"]
        names = [row["name"] for row in rows_of(held.client, values["big"]["variablesReference"])]
        assert "special variables" in names[len(PROPERTIES):], "debugpy's own children come after"

    def test_the_children_of_a_reference_owned_on_the_other_node(self, held, values):
        borrowed = described(held.client, values["borrowed"])
        assert "2.0 MB" in borrowed["size"] and FIRST in borrowed["nodes"] and SECOND not in borrowed["nodes"]
        assert f"pid {held.known.keeper_pid}@{FIRST}" in borrowed["owner"]
        assert borrowed["call site"] == "objects.hold (deserialize task arg)"
        assert borrowed["reference"] == ref_text(held.known.borrowed) and "local" in borrowed["kinds"]
        assert re.match(r"1\b", borrowed["copies"]) and borrowed["spilled"].startswith("no")
        assert "Keeper" in borrowed["created by"]

    def test_the_children_of_the_others(self, held, values):
        rows = {name: described(held.client, values[name])
                for name in ("returned", "small", "pending", "nowhere", "shared", "nested")}
        assert re.match(r"2\b", rows["returned"]["copies"]), rows["returned"]
        assert FIRST in rows["returned"]["nodes"] and SECOND in rows["returned"]["nodes"]
        assert "produce" in rows["returned"]["created by"]
        assert f"objects.py:hold:{line_of(OBJECTS_PY, 'small-call')}" in rows["small"]["call site"]
        assert "lost" not in str(rows["small"]), "it is in its owner's memory"
        for name in ("pending", "nowhere"):
            assert "unknown" in rows[name]["size"] or "not" in rows[name]["size"], rows[name]
        assert "sleeper" in rows["pending"]["created by"] and "unplaced" in rows["nowhere"]["created by"]
        assert "used by pending task" in rows["shared"]["kinds"] and "local" in rows["shared"]["kinds"]
        captured = described(held.client, next(row for row in store_rows(held) if held.known.captured in row["value"]))
        assert "captured in object" in captured["kinds"] and "local" not in captured["kinds"]
        viewed = next(row for row in store_rows(held) if held.known.viewed in row["value"])
        assert "pinned in memory" in described(held.client, viewed)["kinds"]

    def test_members_of_containers_and_objects(self, held, values):
        refs = rows_of(held.client, values["refs"]["variablesReference"])
        mine = self.owners(held.known)["mine"]
        for index, object_id in enumerate(held.known.list("refs")):
            row = next(row for row in refs if re.fullmatch(f"0*{index}", row["name"]))
            assert re.fullmatch(shown("1.0 MB", mine, object_id), row["value"]), row
        inside = held.client.children(values["holder"]["variablesReference"])
        assert re.fullmatch(shown("1.0 MB", mine, held.known.held), inside["reference"]["value"])

    def test_arrays_that_are_views_say_so(self, held, values):
        rows = rows_of(held.client, values["array"]["variablesReference"])
        viewed = f"view of {ref_text(held.known.viewed)}"
        again = annotated(held.client, held.frame)
        assert viewed in str(rows) or viewed in again["array"]["value"], rows[:4]
        rows = rows_of(held.client, values["own"]["variablesReference"])
        assert "view of" not in str(rows) + annotated(held.client, held.frame)["own"]["value"]

    @pytest.mark.parametrize("context", ["hover", "watch", "repl"])
    def test_evaluate(self, held, values, context):
        answer = held.client.ok("evaluate", {"expression": "big", "frameId": held.frame, "context": context})
        assert answer["result"] == values["big"]["value"]
        assert held.client.evaluate("1 + 1", held.frame, context) == "2"
        assert held.client.evaluate("looks_like", held.frame, context) == values["looks_like"]["value"]
        [ref] = [held.client.ok("evaluate", {"expression": "refs[:1]", "frameId": held.frame, "context": context})]
        assert ref["result"].startswith("1 ref, 1.0 MB · ["), ref

    def test_what_is_copied_is_pythons(self, held):
        answer = held.client.ok("evaluate", {"expression": "big", "frameId": held.frame, "context": "clipboard"})
        assert answer["result"] == ref_text(held.known.big)

    def test_an_edit_box_starts_from_the_annotated_text(self, held, values):
        scope = held.client.ok("scopes", {"frameId": held.frame})["scopes"][0]["variablesReference"]
        arguments = {"variablesReference": scope, "name": "borrowed_in", "value": "7"}
        original = values["borrowed_in"]["value"]
        held.client.ok("evaluate", {"expression": "saved = borrowed_in", "frameId": held.frame, "context": "repl"})
        assert held.client.ok("setVariable", arguments)["value"] == "7"
        text = values["by_name"]["value"]
        edited = text[:text.index("{")] + "{'edited': 1}"
        assert held.client.ok("setVariable", {**arguments, "value": edited})["value"] == "{'edited': 1}"
        back = held.client.ok("setVariable", {**arguments, "value": "saved"})
        assert back["value"] == original, "an answer to setVariable is annotated, too"
        held.client.ok("evaluate", {"expression": "del saved", "frameId": held.frame, "context": "repl"})

    def test_the_scope_lists_all_references_of_the_worker(self, held, values):
        wanted = {ref["id"]: ref for ref in held.stats["refs"]}
        scopes = held.client.ok("scopes", {"frameId": held.frame})["scopes"]
        assert [scope["name"] for scope in scopes].count("Object store") == 1
        assert scopes[0]["name"] != "Object store", "locals stay first"
        rows = store_rows(held)
        found = {match.group(1): row for row in rows if (match := re.search(r"ObjectRef\((\w{56})\)", row["value"]))}
        assert found.keys() == wanted.keys(), rows
        sizes = [max(wanted[i]["size"], 0) for i in found]
        assert sizes == sorted(sizes, reverse=True), "largest first"
        for object_id, row in found.items():
            if wanted[object_id]["size"] >= MB:
                assert size_text(wanted[object_id]["size"]) in row["value"], row
        for name in ("big", "borrowed", "refs"):
            object_id = held.known.list("refs")[-1] if name == "refs" else getattr(held.known, name)
            assert name in found[object_id]["name"] + found[object_id]["value"], found[object_id]
        store = " ".join(row["name"] + " " + row["value"] for row in rows if row not in found.values())
        for word in ("used", "capacity", "spilled"):
            assert word in store, store

    def test_the_sum_agrees_with_what_the_worker_says(self, held, values):
        assert values, "what was looked at has names in the list"
        def key(size):
            return size if size and size > 0 else None
        body = held.client.ok("raydbg/objects", {"count": 1000})
        refs = held.stats["refs"]
        assert {ref["objectRef"]: key(ref["size"]) for ref in body["references"]} == \
            {ref["id"]: key(ref["size"]) for ref in refs}
        assert body["state"] == "known" and body["total"] == len(refs)
        assert body["bytes"] == sum(ref["size"] for ref in refs if ref["size"] > 0)
        assert body["unknownSizes"] == sum(ref["size"] < 0 for ref in refs)
        store = worker_stats(held.cluster, held.known.pid)["store"]
        assert (body["store"]["used"], body["store"]["capacity"]) == (store["used"], store["available"])
        assert str(body["worker"]["pid"]) == held.known.pid
        by_id = {ref["objectRef"]: ref for ref in body["references"]}
        named = by_id[held.known.big]["variables"], by_id[held.known.closed]["variables"]
        assert named == ("big", None), f"stop {body['stop']}: {held.client.text()}"
        page = held.client.ok("raydbg/objects", {"start": 2, "count": 3})
        assert page["references"] and [r["objectRef"] for r in page["references"]] == \
            [r["objectRef"] for r in body["references"]][2:5]

    def test_all_workers(self, held):
        def ask(**arguments):
            return held.client.ok("raydbg/clusterObjects", arguments)
        body = ask(count=1000)
        rows = {(row["objectRef"], row["process"]["pid"]): row for row in body["rows"]}
        assert len(rows) == body["total"] == body["references"]
        assert rows[held.known.kept, int(held.known.keeper_pid)]["referenceType"] == "LOCAL_REFERENCE"
        assert rows[held.known.borrowed, int(held.known.driver_pid)]["referenceType"] == "USED_BY_PENDING_TASK"
        mine = {ref["id"]: ref for ref in held.stats["refs"]}
        assert {ref for ref, pid in rows if pid == int(held.known.pid)} == mine.keys()
        assert {node["ip"] for node in body["nodes"]} == {FIRST, SECOND}
        groups = ask(groupBy="node", sortBy="size")
        assert groups["total"] == 2 and groups["rows"] == [] and {g["key"] for g in groups["groups"]} == {FIRST, SECOND}
        of_first = ask(groupBy="node", group=FIRST, count=1000)["rows"]
        assert {row["process"]["ip"] for row in of_first} == {FIRST}
        page = ask(start=3, count=2)["rows"]
        assert [row["objectRef"] for row in page] == [row["objectRef"] for row in body["rows"]][3:5]
        assert not held.client.request("raydbg/clusterObjects", {"groupBy": "colour"})["success"]

    def test_other_scopes_and_values_are_whole(self, held, values):
        assert int(held.client.evaluate("own.size + array.size", held.frame)) == 2 * MB
        assert held.client.evaluate("big.hex()", held.frame) == repr(held.known.big)


# --- the bytes of debugpy ---

CONNECTION = re.compile(rb'"(seq|request_seq|variablesReference|memoryReference|frameId)": ?"?[\w-]+"?')


def raw(client, command, arguments):
    """The answer's bytes, without the numbers that differ from one connection to the other."""
    seq = client.send(command, arguments)
    assert client.response(seq)["success"]
    [entry] = [e for e in client.transcript if e.way == "<" and e.message.get("request_seq") == seq]
    return CONNECTION.sub(rb'"\1":0', entry.raw)


def raw_answers(client, frame):
    """What a client is told of `hold`: its variables, what is below some of them, and evaluations."""
    scope = client.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    answers = {"scopes": raw(client, "scopes", {"frameId": frame}),
               "locals": raw(client, "variables", {"variablesReference": scope})}
    for name, variable in client.children(scope).items():
        if name in ("refs", "by_name", "big", "array"):
            answers[name] = raw(client, "variables", {"variablesReference": variable["variablesReference"]})
    for context in ("hover", "watch", "repl", "clipboard"):
        answers[context] = raw(client, "evaluate", {"expression": "big", "frameId": frame, "context": context})
    return answers


def test_off_is_debugpys_bytes(objects_cluster):
    start(objects_cluster, "hold")
    with objects_cluster.raydbg_dap() as client:
        frame = attach(client, "hold", objectStore={"annotate": "off", "scope": False})
        ours = raw_answers(client, frame)
        client.disconnect()
    [worker] = objects_cluster.wait_paused()  # at the second breakpoint, of the same locals
    with objects_cluster.direct(worker) as client:
        client.initialize()
        client.attach({"justMyCode": False})
        frame = next(f["id"] for f in client.stack(client.stopped()["threadId"]) if f["name"] == "hold")
        debugpys = raw_answers(client, frame)
        client.disconnect()
    for name, answer in debugpys.items():
        assert ours[name] == answer, name


# --- what is lost, spilled, or very much ---

def test_what_is_spilled_says_so(objects_cluster):
    known = start(objects_cluster, "spill")

    def only_on_disk():
        where = worker_stats(objects_cluster, known.pid)["locations"][known.gone]
        return where["spilled_url"] and not where["nodes"]
    wait_for(only_on_disk, "the first has left the store")
    with objects_cluster.raydbg_dap() as client:
        frame = attach(client, "spill")
        values = annotated(client, frame, "gone")
        gone = described(client, values["gone"])
        assert not gone["spilled"].startswith("no") and FIRST in gone["spilled"] + gone["nodes"], gone

        def told():
            values.update(client.locals(frame))
            return "spilled" in values["gone"]["value"]
        wait_for(told, lambda: values["gone"]["value"])
        value = values["gone"]["value"]
        assert "8.0 MB" in value and value.endswith(ref_text(known.gone)), value
        client.disconnect()


def test_what_is_lost_says_so(objects_cluster):
    objects_cluster.start_node(3)
    known = start(objects_cluster, "witness", "third")
    objects_cluster.kill(objects_cluster.raylet_pid(3), 15)
    objects_cluster.kill(known.owner_pid)
    wait_dead(objects_cluster, known.owner_pid)
    with objects_cluster.raydbg_dap() as client:
        frame = attach(client, "witness")
        values = annotated(client, frame, "lost")
        # Its owner has put an error in its place, on its own node: nothing that Ray says tells that from the value.
        lost = described(client, values["lost"])
        assert "127.0.0.3" not in lost["nodes"], lost
        assert values["lost"]["value"].endswith(ref_text(known.lost))
        described(client, values["orphan"])

        def told():
            values.update(client.locals(frame))
            return values["orphan"]["value"].startswith("lost")
        wait_for(told, lambda: values["orphan"]["value"])
        assert values["orphan"]["value"] == f"lost (owner died) \u00b7 {ref_text(known.orphan)}"
        assert "died" in described(client, values["orphan"])["owner"]
        body = client.ok("raydbg/clusterObjects", {})
        assert {node["ip"] for node in body["nodes"]} == {FIRST, SECOND}, "a node that is dead is none"
        client.disconnect()


def test_ten_thousand_references_in_one_worker(objects_cluster):
    known = start(objects_cluster, "many", "10000")
    with objects_cluster.raydbg_dap() as client:
        frame = attach(client, "many")
        started = time.monotonic()
        client.locals(frame)
        first_answer = time.monotonic() - started
        values = annotated(client, frame, "first")
        assert values["first"]["value"].endswith(ref_text(known.first))
        times = []
        for _ in range(20):
            started = time.monotonic()
            client.locals(frame)
            times.append(time.monotonic() - started)
        print(f"variables with 10,000 references: first {1000 * first_answer:.1f} ms, "
              f"p50 {1000 * statistics.median(times):.1f} ms")
        scope = client.ok("scopes", {"frameId": frame})["scopes"][-1]
        seen, page = set(), 0
        for begin in range(0, 10_100, 1000):
            rows = client.ok("variables", {"variablesReference": scope["variablesReference"], "start": begin,
                                           "count": 1000})["variables"]
            page = max(page, len(rows))
            seen |= {m.group(1) for row in rows if (m := re.search(r"ObjectRef\((\w{56})\)", row["value"]))}
        assert page <= 1000 and known.first in seen and known.last in seen and len(seen) == 10_000
        client.disconnect()


# --- never in the way ---

@contextmanager
def blocked_from_the_start(cluster, **arguments):
    """At the first stop of `hold` the worker can say nothing, until unblock(): client, frame, known, unblock."""
    known = start(cluster, "hold")
    stats = worker_stats(cluster, known.pid)
    with cluster.raydbg_dap() as client, ExitStack() as blocked:
        blocked.enter_context(mute(cluster, stats["port"]))
        frame = attach(client, stats["worker_id"][:12], **arguments)  # its task's name is the worker's to say
        yield SimpleNamespace(client=client, frame=frame, known=known, unblock=blocked.close)
        client.disconnect()


def test_a_worker_that_does_not_answer_delays_nobody(objects_cluster):
    with blocked_from_the_start(objects_cluster) as it:
        scope = it.client.ok("scopes", {"frameId": it.frame})["scopes"][0]["variablesReference"]
        times = []
        for _ in range(20):
            started = time.monotonic()
            rows = {row["name"]: row for row in rows_of(it.client, scope)}
            times.append(time.monotonic() - started)
            assert rows["big"]["value"] == ref_text(it.known.big), "the plain value"
    print(f"variables while the worker's port is blocked: first {1000 * times[0]:.1f} ms, "
          f"p50 {1000 * statistics.median(times):.1f} ms, worst {1000 * max(times):.1f} ms")


def test_late_facts_invalidate_what_was_shown(objects_cluster):
    with blocked_from_the_start(objects_cluster, objectStore={"unit": "KB", "fields": ["size"]}) as it:
        assert it.client.locals(it.frame)["big"]["value"] == ref_text(it.known.big)
        before = len(it.client.events("invalidated"))
        it.unblock()
        late = wait_for(lambda: it.client.events("invalidated")[before:], "the client is told that more is known")
        assert "variables" in late[0]["body"]["areas"], late
        value = annotated(it.client, it.frame)["big"]["value"]
        wanted = rf"8,?000 [kK]B · {re.escape(ref_text(it.known.big))}"
        assert re.fullmatch(wanted, value), "the unit and fields asked for"


def test_wrong_options_are_named(objects_cluster):
    with objects_cluster.raydbg_dap() as client:
        client.initialize()
        answer = client.request("attach", {"task": "hold", "objectStore": {"annotate": "perhaps"}})
        assert not answer["success"] and "objectStore" in answer["message"], answer
        client.disconnect()


# --- every version ---

def test_the_core_on_every_version(core_cluster):
    known = start(core_cluster, "hold")
    with core_cluster.raydbg_dap() as client:
        frame = attach(client, "hold")
        values = annotated(client, frame, "borrowed", " · pid ")
        assert re.fullmatch(shown("8.0 MB", f"{known.pid}@{SECOND}", known.big), values["big"]["value"])
        assert re.fullmatch(shown("2.0 MB", f"{known.keeper_pid}@{FIRST}", known.borrowed), values["borrowed"]["value"])
        assert values["pending"]["value"].startswith("pending SUBMITTED_TO_WORKER · ")
        if core_cluster.spec.debugpy != "1.8.0":  # which shortens the ids within a list
            assert values["refs"]["value"].startswith("12 refs, 12 MB · [")
        assert "Keeper" in values["actor"]["value"] and "ALIVE" in values["actor"]["value"]
        rows = described(client, values["borrowed"])
        assert FIRST in rows["nodes"] and re.match(r"1\b", rows["copies"])
        assert rows["call site"] == "objects.hold (deserialize task arg)", "known without being recorded"
        site = described(client, values["big"])["call site"]
        assert "unknown" in site and "RAY_record_ref_creation_sites" in site
        assert client.ok("scopes", {"frameId": frame})["scopes"][-1]["name"] == "Object store"
        client.disconnect()
