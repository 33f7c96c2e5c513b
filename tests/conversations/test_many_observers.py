"""One session over many tasks, of which others drive all or some."""

import re

import pytest
from many_gang import drive, gang, join, thread_of  # noqa: F401
from many_session import ALL, port_of, shown
from relay_under_test import ROOT
from waits import Gate, wait_until

PATH = "/app/app.py"
TOKEN = "an-observers-token-0123456789"
# The requests that change something: those of the table that neither only read nor are an observer's; and more.
TABLE = re.findall(r'^    \{"([^"]+)", ([A-Z| _]+)\},$', (ROOT / "dap/dap_command.c").read_text(), re.MULTILINE)
CHANGES = [name for name, kinds in TABLE if not {"READS", "OBSERVES", "LOOKS"} & set(kinds.split(" | "))]
CHANGES += ["setDebuggerProperty", "setPydevdSourceMap", "raydbg/takeOver", "raydbg/step"]


def test_an_observer_of_many(join, gang):
    driver = join()
    shown(driver)
    observer = join(role="observer")
    shown(observer)
    role = observer.wait_event("raydbg/role")["body"]
    assert role["role"] == "observer" and "editor" in role["driver"]
    thread = thread_of(observer, gang.workers[1])
    assert port_of(observer, thread) == gang.workers[1].adapter.port
    for command in "next", "continue", "pause":
        assert "observes" in observer.request(command, {"threadId": thread})["message"], command
    assert "observes" in observer.request("raydbg/release")["message"]
    assert [(line["action"], line["detail"]) for line in join.relay.audit() if line["action"] in ("continue", "refused")
            ] == [("refused", "next"), ("refused", "continue"), ("refused", "pause")]
    assert not [w for w in gang.workers if {"next", "continue", "pause"} & set(w.adapter.commands())]
    # What it sets takes effect when it drives.
    body = observer.ok("setBreakpoints", {"source": {"path": PATH}, "breakpoints": [{"line": 5}]})
    assert not body["breakpoints"][0]["verified"]
    observer.ok("raydbg/takeOver")
    observer.wait_event("raydbg/role", lambda body: body["role"] == "driver")
    driver.wait_event("raydbg/role", lambda body: body["role"] == "observer")
    for worker in gang.workers:
        wait_until(lambda w=worker: w.adapter.requests("setBreakpoints") and
                   [b["line"] for b in w.adapter.requests("setBreakpoints")[-1]["arguments"]["breakpoints"]] == [5], "the breakpoint is set")
    changed = observer.wait_event("breakpoint", lambda body: body["breakpoint"]["verified"])["body"]["breakpoint"]
    assert changed["id"] == body["breakpoints"][0]["id"]
    observer.ok("next", {"threadId": thread})
    assert "observes" in driver.request("next", {"threadId": thread_of(driver, gang.workers[0])})["message"]
    roles = [event["body"]["role"] for event in observer.events("raydbg/role")]
    assert roles == ["observer", "driver"]


@pytest.mark.parametrize("command", CHANGES)
def test_an_observers_token_changes_nothing(gang, run_relay, clock, command):
    relay = run_relay(adapter=None, address=gang.address, env={"RAYDBG_OBSERVER_TOKEN": TOKEN, **clock.env})
    gang.seem_slow(clock)

    def attach(**more):
        client = relay.client("tcp")
        client.initialize()
        client.attach(relay.attach_arguments("tcp", **ALL, **more))
        shown(client)
        return client

    observer = attach(token=TOKEN)
    thread = thread_of(observer, gang.workers[1])
    frame = observer.stack(thread)[0]["id"]
    scope = observer.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    before = [len(worker.adapter.requests()) for worker in gang.workers]
    own = {"raydbg/step": {"how": "next"}, "goto": {"threadId": thread, "targetId": 1}}
    answer = observer.request(command, own.get(command, {
        "threadId": thread, "frameId": frame, "variablesReference": scope, "name": "port", "value": "1",
        "expression": "port.pop()"}))
    if command == "terminate":
        observer.wait_event("terminated")
    elif command == "goto":  # no target of it is known
        assert not answer["success"], answer
    else:
        assert not answer["success"] and "observe" in answer["message"], answer
    changing = {*CHANGES, "disconnect"} - {"evaluate"}
    driver = attach()
    for worker, count in zip(gang.workers, before):
        port_of(driver, thread_of(driver, worker))  # what was sent before is there
        sent = worker.adapter.requests()[count:]
        assert not [r for r in sent if r["command"] in changing or "port.pop()" in str(r)], sent


def test_the_table_of_changes_was_read():
    assert {"evaluate", "setVariable", "next", "goto", "terminate", "raydbg/release"} <= set(CHANGES)
    assert not {"variables", "threads", "disconnect", "readMemory"} & set(CHANGES)


VERBS = ["/next", "/all next", "/step", "/out", "/continue", "/continue --skip 2", "/until app.py:8", "/barrier app.py:8",
         f"/continue --until {PATH}:8"]


@pytest.mark.parametrize("verb", VERBS)
def test_an_observers_verbs_move_nothing(join, gang, verb):
    shown(join())
    observer = join(role="observer")
    shown(observer)
    answer = observer.request("evaluate", {"expression": verb, "context": "repl"})
    assert not answer["success"] and "this session observes" in answer["message"], answer
    assert "take over" in answer["message"]
    assert "3 tasks" not in str(answer)
    moves = {"next", "stepIn", "stepOut", "continue", "setBreakpoints"}
    assert not [w for w in gang.workers if moves & set(w.adapter.commands())]


def test_an_observer_of_some_is_told_how_many_move(join, gang):
    drive(join.relay, "load")
    client = join()
    shown(client)
    body = client.ok("evaluate", {"expression": "/next", "context": "repl"})
    assert body["result"] == "next: 2 tasks, 1 driven by another client" and body["raydbg"]["observed"] == 1
    assert thread_of(client, gang.workers[2]) not in body["raydbg"]["threadIds"]
    assert "next" not in gang.workers[2].adapter.commands()


def test_who_drives_any_is_a_driver(join, gang):
    """One of the tasks is somebody else's: the session drives the others, and is told whose that one is."""
    drive(join.relay, "load")
    client = join()
    shown(client)
    client.wait_event("output", lambda body: "other" in body["output"] and "this session observes" in body["output"])
    assert "observes" in client.request("next", {"threadId": thread_of(client, gang.workers[2])})["message"]
    client.ok("next", {"threadId": thread_of(client, gang.workers[0])})
    assert client.events("raydbg/role")[-1]["body"]["role"] == "driver"
    assert [row["role"] for row in join.relay.sessions() if row.get("tasks") == 3] == ["driver"]


def watched(join):
    """A client of all tasks, which drives them, and another that observes the last."""
    client = join()
    shown(client)
    other = join.relay.client("tcp")
    other.initialize(clientName="other")
    other.attach(join.relay.attach_arguments("tcp", task="load"))
    other.stopped()
    return client, other


def continue_past_stops(join, gang, which="--skip 5"):
    """A client of all tasks that has let them go past such stops, with another that observes the last: both, and its thread."""
    client, other = watched(join)
    thread = thread_of(client, gang.workers[2])
    client.ok("evaluate", {"expression": f"/continue {which}", "context": "repl"})
    client.wait_event("continued", lambda body: body["threadId"] == thread)
    return client, other, thread


def test_a_verbs_breakpoint_leaves_a_task_that_was_taken_over(join, gang):
    """The verb is over when its other tasks have stopped: what it had set is nobody's then."""
    def lines(worker):
        sent = [r["arguments"] for r in worker.adapter.requests("setBreakpoints") if r["arguments"]["source"]["path"] == PATH]
        return [b["line"] for b in sent[-1]["breakpoints"]] if sent else None

    client, other = watched(join)
    client.ok("evaluate", {"expression": f"/continue --until {PATH}:57", "context": "repl"})
    for worker in gang.workers:
        wait_until(lambda w=worker: lines(w) == [57] and "continue" in w.adapter.commands(), "the breakpoint is set")
    other.ok("raydbg/takeOver")
    client.wait_event("output", lambda body: "this session observes" in body["output"])
    for worker in gang.workers[:2]:
        worker.adapter.stop()
    for worker in gang.workers:
        wait_until(lambda w=worker: lines(w) == [], lambda w=worker: f"it is taken away ({lines(w)})")


@pytest.mark.parametrize("told", [True, False], ids=["a client that is told its role", "one that is not"])
def test_a_stop_of_a_task_that_was_taken_over_is_shown(join, gang, told):
    """It is no stop of the verb's any more, which may not let the task go on."""
    join.words = {"supportsRaydbgRole": told}
    client, other, thread = continue_past_stops(join, gang)
    other.ok("raydbg/takeOver")
    before = gang.workers[2].adapter.commands().count("continue")
    gang.workers[2].adapter.stop()
    client.wait_event("stopped", lambda body: body["threadId"] == thread and not body.get("allThreadsStopped"))
    other.stopped()
    assert gang.workers[2].adapter.commands().count("continue") == before
    assert not [line for line in join.relay.audit() if line["action"] == "refused"]
    assert bool(client.events("raydbg/role")) == told


@pytest.mark.parametrize("told", [True, False], ids=["a client that is told its role", "one that is not"])
def test_a_verbs_condition_is_not_asked_in_a_task_that_was_taken_over(join, gang, told):
    """Its client would be told that an observer may not evaluate it."""
    join.words = {"supportsRaydbgRole": told}
    client, other, thread = continue_past_stops(join, gang, "--if port")
    other.ok("raydbg/takeOver")
    gang.workers[2].adapter.stop()
    client.wait_event("stopped", lambda body: body["threadId"] == thread and not body.get("allThreadsStopped"))
    assert not [event for event in client.events("output") if "--if" in event["body"]["output"]]
    assert bool(client.events("raydbg/role")) == told


def test_a_stop_that_cannot_pass_is_shown(join, gang):
    """The worker refuses to go on from a stop of which the client has not been told, because a verb lets it pass."""
    client, _, thread = continue_past_stops(join, gang)
    adapter = gang.workers[2].adapter
    adapter.on["continue"] = lambda connection, request: connection.respond(request, success=False, message="not now")
    adapter.stop()
    client.wait_event("stopped", lambda body: body["threadId"] == thread and not body.get("allThreadsStopped"))


LINE = 41
BARRIER = {"expression": f"/barrier {PATH}:{LINE}", "context": "repl"}


def observe(relay, task):
    client = relay.client("tcp")
    client.initialize(clientName="other")
    client.attach(relay.attach_arguments("tcp", task=task))
    client.stopped()
    return client


def hold_two(join, gang, late):
    """A client with a barrier that holds two tasks, while the worker `late` runs; and another, which observes the task `load`."""
    def goes_to_line(adapter):
        def go(connection, request):
            adapter.line = LINE
            adapter.stop()
            connection.respond(request, {"allThreadsContinued": True})

        return go

    client = join()
    shown(client)
    other = observe(join.relay, "load")
    for worker in gang.workers:
        if worker is not late:
            worker.adapter.on["continue"] = goes_to_line(worker.adapter)
    client.ok("evaluate", BARRIER)
    client.wait_event("output", lambda body: f"barrier app.py:{LINE}: 2 of 3, missing: " in body["output"])
    return client, other


def test_a_barrier_does_not_wait_for_a_task_that_was_taken_over(join, gang):
    client, other = hold_two(join, gang, gang.workers[2])
    before = len(client.events("stopped"))
    other.ok("raydbg/takeOver")
    done = client.wait_event("raydbg/barrier", lambda body: body["state"] == "complete")["body"]
    held = {thread_of(client, worker) for worker in gang.workers[:2]}
    assert set(done["arrived"]) == held and not done["missing"]
    assert [(who["threadId"], who["what"]) for who in done["gone"]] == [
        (thread_of(client, gang.workers[2]), "another client drives it")]
    wait_until(lambda: len(client.events("stopped")) > before, "the stop of those that were held")
    stop, = client.events("stopped")[before:]
    assert stop["body"]["allThreadsStopped"] and stop["body"]["threadId"] in held


def test_a_task_that_a_barrier_held_is_shown_when_it_is_taken_over(join, gang):
    late = gang.workers[1]
    client, other = hold_two(join, gang, late)
    thread = thread_of(client, gang.workers[2])
    other.ok("raydbg/takeOver")
    client.wait_event("stopped", lambda body: body["threadId"] == thread and not body.get("allThreadsStopped"))
    client.wait_event("output", lambda body: "1 of 2, missing: " in body["output"] and
                      "(another client drives it)" in body["output"])
    other.ok("continue", {"threadId": other.ok("threads")["threads"][0]["id"]})  # the barrier goes on without it
    late.adapter.line = LINE
    late.adapter.stop()
    done = client.wait_event("raydbg/barrier", lambda body: body["state"] == "complete")["body"]
    assert set(done["arrived"]) == {thread_of(client, worker) for worker in gang.workers[:2]}


def test_a_task_that_is_taken_over_while_a_barrier_begins(join, gang):
    """The verb still waits for the stack of a task, from which it learns the file's path there."""
    client = join()
    shown(client)
    other = observe(join.relay, "load")
    adapter = gang.workers[0].adapter
    client.ok("continue", {"threadId": thread_of(client, gang.workers[0])})
    adapter.on["stackTrace"] = gate = Gate(adapter.on["stackTrace"])
    adapter.stop()
    gate.wait_reached()
    asking = client.send("evaluate", BARRIER)
    client.ok("threads")
    other.ok("raydbg/takeOver")
    gate.open()
    answer = client.check(client.response(asking))
    assert re.search(r"no longer waited for: .*load .*\(another client drives it\)", answer["result"]), answer
    client.ok("threads")
    assert "refused" not in [line["action"] for line in join.relay.audit()], join.relay.audit()
