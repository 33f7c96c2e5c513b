"""Processes of `raydbg run` in sessions over many tasks, in steps into remote tasks, and beside a breakpoint() of their own."""

import json
import re
from types import SimpleNamespace

import pytest
from cluster import line_of, wait_for
from test_run import NAMES, UNEDITED, Run, result
from test_run_stops import STOPS, RunStops, location

RANKS, STEPS = 4, 3
ADDS = line_of(STOPS, "step")


def line(client, text):
    """The answer to a verb of the debug console."""
    return client.ok("evaluate", {"expression": text, "context": "repl"})["result"]


def names(client):
    return {thread["name"]: thread["id"] for thread in client.ok("threads")["threads"]}


@pytest.fixture
def ranks(core_cluster, run_relay):
    """A client that is attached to all ranks, each stopped before its first step."""
    relay = run_relay(core_cluster)
    run = RunStops(core_cluster, relay, "--break", location("step"), words=("ranks", str(RANKS), str(STEPS)))
    wait_for(lambda: len([p for p in relay.pauses() if p["location"]]) == RANKS,
             lambda: f"{RANKS} stops: {relay.pauses()} {run.driver.output()}", every=0.2)
    with relay.client("tcp") as client:
        client.initialize(clientID="vscode", clientName="editor")
        client.attach(relay.attach_arguments("tcp", tasks="Rank.*"))
        wait_for(lambda: line(client, "/threads").count("stopped") == RANKS, lambda: line(client, "/threads"), every=0.2)
        yield SimpleNamespace(client=client, relay=relay, run=run)
        client.disconnect()


def test_groups_and_a_barrier(ranks):
    client = ranks.client
    wait_for(lambda: [re.sub(r"[12] pid \d+$", "", name) for name in sorted(names(client))] ==
             [f"rank {rank} Rank.step 127.0.0." for rank in range(RANKS)], lambda: names(client), every=0.2)
    [totals] = client.ok("raydbg/compare", {"expression": "self.total"})["groups"]
    assert totals["value"] == "0", totals
    assert f"{RANKS} tasks, 1 different stack\n" in line(client, "/stacks")
    line(client, "/group few 0-1")
    assert line(client, "/few next") == "next: 2 tasks"
    wait_for(lambda: line(client, "/threads few").count(f" stops.py:{ADDS + 1} ") == 2, lambda: line(client, "/threads"), every=0.2)
    assert line(client, "/threads").count(f" stops.py:{ADDS} ") == RANKS - 2
    assert {row["value"] for row in client.ok("raydbg/compare", {"expression": "self.total"})["groups"]} == {"0", "1"}
    line(client, f"/barrier stops.py:{ADDS + 1}")
    client.wait_event("output", lambda body: re.search(rf"barrier stops\.py:{ADDS + 1}: {RANKS} of {RANKS}; all here", body["output"]))
    [totals] = client.ok("raydbg/compare", {"expression": "self.total"})["groups"]
    assert totals["value"] == "1", totals
    ranks.run.raydbg("break", "--clear", "--all")
    assert line(client, "/all continue") == f"continue: {RANKS} tasks"
    assert ranks.run.end() == [("ranks", str(RANKS * STEPS))]


def test_until_a_line_and_the_list_of_what_runs(ranks):
    client = ranks.client
    line(client, f"/until stops.py:{ADDS + 1}")
    wait_for(lambda: line(client, "/threads").count(f" stops.py:{ADDS + 1} ") == RANKS, lambda: line(client, "/threads"), every=0.2)
    # Ray is told of it once a second.
    wait_for(lambda: ranks.run.raydbg("list", "--running").count("Rank.step") == RANKS,
             lambda: ranks.run.raydbg("list", "--running"), every=0.5)
    ranks.run.raydbg("break", "--clear", "--all")
    line(client, "/all continue")
    assert ranks.run.end() == [("ranks", str(RANKS * STEPS))]


def test_the_size_of_a_reference(core_cluster, run_relay):
    relay = run_relay(core_cluster)
    run = RunStops(core_cluster, relay, "--break", location("holds"), words=("fails", "holds"))
    pause = run.stop()
    with relay.client("tcp") as client:
        client.initialize(clientID="vscode", clientName="editor")
        client.attach(relay.attach_arguments("tcp", task=str(pause["pid"])), filters=())
        thread = client.stopped()["threadId"]

        def shown():
            return client.locals(client.stack(thread)[0]["id"])["kept"]["value"]
        wait_for(lambda: re.match(r"8\.0 MB · .*ObjectRef\([0-9a-f]{56}\)$", shown()), shown, every=0.5)
        client.resume(thread)
        assert run.end() == [("holds", "3")]
        client.disconnect()


def test_an_observer_sees_the_same(ranks):
    observer = ranks.relay.client("tcp", "observer")
    observer.initialize(clientID="vscode", clientName="observer")
    observer.attach(ranks.relay.attach_arguments("tcp", tasks="Rank.*", role="observer"))
    wait_for(lambda: sorted(names(observer)) == sorted(names(ranks.client)), lambda: (names(observer), names(ranks.client)), every=0.2)
    thread = next(iter(names(ranks.client).values()))
    ranks.client.step("next", thread)
    wait_for(lambda: line(observer, "/threads").count(f" stops.py:{ADDS + 1} ") == 1, lambda: line(observer, "/threads"), every=0.2)
    observer.disconnect()
    observer.close()
    ranks.run.raydbg("break", "--clear", "--all")
    line(ranks.client, "/all continue")
    assert ranks.run.end() == [("ranks", str(RANKS * STEPS))]


def test_into_a_remote_task_and_back(core_cluster, run_relay):
    """The driver stops at a breakpoint of the run; its task has none, and stops all the same."""
    relay = run_relay(core_cluster)
    run = RunStops(core_cluster, relay, "--break", location("call"), words=("fails", "calm"))
    pause = run.stop()
    assert pause["task_name"] == "driver stops.py"
    with relay.client("tcp") as client:
        client.initialize(clientID="vscode", clientName="editor")
        client.attach(relay.attach_arguments("tcp", task=str(pause["pid"])), filters=())  # it ends by sys.exit(7)
        caller = client.stopped()["threadId"]
        client.ok("raydbg/stepIntoRemote", {"threadId": caller})
        inside = client.stopped()["threadId"]
        top = client.stack(inside)[0]
        assert inside != caller and (top["name"].rpartition(".")[2], top["source"]["path"]) == ("calm", str(STOPS)), top
        assert client.evaluate("n", top["id"]) == "2"
        client.ok("raydbg/stepOutToGet", {"threadId": inside})
        assert client.stopped()["threadId"] == caller
        client.resume(caller)
        assert run.end() == [("calm", "2")]
        client.disconnect()


def test_a_breakpoint_of_its_own(core_cluster, run_relay, tmp_path):
    """A task stops at the run's breakpoint and at its own, in one debugger."""
    edited = tmp_path / "edited.py"
    at = line_of(UNEDITED, "task")
    lines = UNEDITED.read_text().splitlines(keepends=True)
    edited.write_text("".join([*lines[:at], "    breakpoint()\n", *lines[at:]]))
    relay = run_relay(core_cluster)
    run = Run(core_cluster, relay, "--break", f"{edited}:{at}", kinds=("task",), program=edited)
    stops = []
    for pause in run.stops():
        stops.append((pause["task_name"], pause["location"]["line"]))
        rows = [row for row in json.loads(run.raydbg("list", "--format", "json")) if row["pid"] == pause["pid"]]
        assert [(row["task_name"], row["state"]) for row in rows] == [("task", "held")], rows
    assert run.end() == [("task", result("task", n)) for n in (1, 2)]
    assert [name for name, _ in stops] == [NAMES["task"]] * 4, stops
    assert [number for _, number in stops] in ([at, at + 1] * 2, [at, at + 2] * 2), stops


def edited_actor(directory):
    """UNEDITED with a breakpoint() behind the actor's line: the file, that line, and the one at which the driver prints."""
    edited, at = directory / "edited.py", line_of(UNEDITED, "actor")
    lines = UNEDITED.read_text().splitlines(keepends=True)
    lines.insert(at, "        breakpoint()\n")
    edited.write_text("".join(lines))
    return edited, at, next(number for number, text in enumerate(lines, 1) if 'print("RESULT", name' in text)


def test_a_breakpoint_of_its_own_in_a_second_debugger(core_cluster, run_relay, tmp_path):
    """The actor's process has had a pydevd for the first call, and none between the two."""
    edited, at, prints = edited_actor(tmp_path)
    relay = run_relay(core_cluster)
    run = Run(core_cluster, relay, "--break", f"{edited}:{at}", "--break", f"{edited}:{prints}", kinds=("actor",), program=edited)

    def stops():
        """The actor's, at the run's breakpoint and at its own, and what comes then; the pid of the process."""
        pauses = []
        for _ in (1, 2):
            pauses.append(run.stop())
            assert pauses[-1]["task_name"] == NAMES["actor"], pauses
            relay.go_on(pauses[-1])
        assert pauses[0]["location"]["line"] == at < pauses[1]["location"]["line"], pauses
        return pauses[0]["pid"]

    def processes(found, what):
        wait_for(lambda: found(relay.http("GET", "/v1/breakpoints").json["processes"]), what, every=0.2)

    driver = run.stop()
    assert driver["location"]["line"] == prints
    relay.go_on(driver)
    actor = stops()
    driver = run.stop()
    assert driver["location"]["line"] == prints
    run.raydbg("break", "--clear", "--all")
    processes(lambda now: now["debugged"] == 1, "only the driver, which is stopped, has a debugger")
    run.raydbg("break", f"{edited}:{at}")
    processes(lambda now: now["debugged"] == now["connected"], "all have one")
    relay.go_on(driver)
    assert stops() == actor
    assert run.end() == [("actor", result("actor", n)) for n in (1, 2)]
