"""One session over many tasks: what several have in common, and requests and events of which each has its own."""

import pytest
from dap_client import DapError
from fake_adapter import CAPABILITIES
from many_adapter import ManyAdapter
from many_gang import attach, gang, thread_of  # noqa: F401
from many_session import ALL, port_of, shown, threads
from waits import wait_until


def modules(*names):
    rows = [{"id": n, "name": name, "path": f"/app/{name}.py"} for n, name in enumerate(names, 1)]
    return lambda connection, request: connection.respond(request, {"modules": rows, "totalModules": len(rows)})


def test_a_module_of_several_is_one(attach, gang):
    for worker, names in zip(gang.workers, (["app", "a"], ["b", "app"], ["app"])):
        worker.adapter.on["modules"] = modules(*names)
    client = attach()
    body = client.ok("modules")
    assert sorted(row["name"] for row in body["modules"]) == ["a", "app", "b"] and body["totalModules"] == 3
    assert len({row["id"] for row in body["modules"]}) == 3
    part = client.ok("modules", {"startModule": 1, "moduleCount": 1})
    assert part == {"modules": body["modules"][1:2], "totalModules": 3}
    # The frames of each name the one that all have.
    ids = {row["name"]: row["id"] for row in body["modules"]}
    for worker, own, name in zip(gang.workers, (1, 2, 1), ("app",) * 3):
        worker.adapter.on["stackTrace"] = lambda c, r, own=own: c.respond(r, {"stackFrames": [
            {"id": 77, "name": "f", "line": 1, "column": 1, "moduleId": own}], "totalFrames": 1})
        worker.adapter.stop(1)
        wait_until(lambda w=worker: client.stack(thread_of(client, w))[0].get("moduleId") == ids[name],
                   lambda w=worker: client.stack(thread_of(client, w)))


def test_modules_are_told_once(attach, gang):
    client = attach()
    for worker in gang.workers:
        connection = worker.adapter.connections[-1]
        connection.event("module", {"reason": "new", "module": {"id": 4, "name": "m", "path": "/m"}})
        if worker is gang.workers[2]:
            connection.event("module", {"reason": "new", "module": {"id": 5, "name": "n"}})
        connection.event("output", {"category": "stdout", "output": f"told by {worker.pid}\n"})
    for worker in gang.workers:
        client.wait_event("output", lambda body, worker=worker: f"told by {worker.pid}" in body["output"])
    told = [event["body"]["module"] for event in client.events("module")]
    assert sorted(row["name"] for row in told) == ["m", "n"] and told[0]["id"] != told[1]["id"]
    # It goes with the last task that has it.
    first, second, third = list(gang.workers)
    for worker in first, second:
        gang.remove(worker)
        client.wait_event("thread", lambda body: body["reason"] == "exited")
    assert not [event for event in client.events("module") if event["body"]["reason"] == "removed"]
    third.adapter.connections[-1].event("module", {"reason": "removed", "module": {"id": 4, "name": "m", "path": "/m"}})
    gone = client.wait_event("module", lambda body: body["reason"] == "removed")["body"]["module"]
    assert gone["id"] == next(row["id"] for row in told if row["name"] == "m")


def test_one_that_does_not_answer_does_not_keep_the_modules(attach, gang):
    gang.workers[0].adapter.on["modules"] = lambda connection, request: None
    gang.workers[1].adapter.on["modules"] = modules("app")
    client = attach()
    assert [row["name"] for row in client.ok("modules")["modules"]] == ["app"]


def test_loaded_sources_reach_nobody(attach, gang):
    """debugpy has no such request, and its adapter would hang on it."""
    client = attach()
    assert "loadedSources" in client.request("loadedSources")["message"]
    assert not [w for w in gang.workers if "loadedSources" in w.adapter.commands()]
    assert port_of(client, thread_of(client, gang.workers[1])) == gang.workers[1].adapter.port


def test_capabilities_are_what_all_can(attach, gang):
    """And what one lacked is back when it has left."""
    few = {key: value for key, value in CAPABILITIES.items() if key != "supportsSetVariable"}
    few["exceptionBreakpointFilters"] = CAPABILITIES["exceptionBreakpointFilters"][1:2]
    gang.workers[1].adapter.on["initialize"] = lambda connection, request: connection.respond(request, few)
    client = attach()
    told = client.events("capabilities")[-1]["body"]["capabilities"]
    assert told["supportsSetVariable"] is False and "supportsCompletionsRequest" not in told
    assert [row["filter"] for row in told["exceptionBreakpointFilters"]] == ["uncaught"]
    gang.remove(gang.workers[1])
    back = client.wait_event("capabilities", lambda body: body["capabilities"].get("supportsSetVariable"))["body"]
    assert back["capabilities"]["exceptionBreakpointFilters"] == CAPABILITIES["exceptionBreakpointFilters"]


def test_threads_that_run_are_told_to(attach, gang):
    """The population is one event, which says that all have stopped: those that have not are told right behind it."""
    worker = gang.add("Pool.work", adapter=ManyAdapter(threads=3, stops=[2]))
    client = attach(6, allThreads=True)
    ids = {id for name, id in threads(client).items() if f"pid {worker.pid} " in name}
    wait_until(lambda: len(client.events("continued")) >= 2, "two that run")
    running = [event["body"] for event in client.events("continued")]
    assert all(body["allThreadsContinued"] is False for body in running)
    assert {body["threadId"] for body in running} < ids and len(running) == 2
    order = [event["event"] for event in client.events() if event["event"] in ("stopped", "continued")]
    assert order[:3] == ["stopped", "continued", "continued"]
    for id in ids:
        if id in {body["threadId"] for body in running}:
            with pytest.raises(DapError, match="not stopped"):
                client.stack(id)
        else:
            assert client.stack(id)[0]["line"] == 8


def test_a_stop_that_overtakes_the_answer_to_its_step(attach, gang):
    client = attach()
    adapter = gang.workers[1].adapter

    def overtake(connection, request):
        adapter.line = 30
        adapter.stop(request["arguments"]["threadId"], "step")
        connection.respond(request)

    adapter.on["next"] = overtake
    thread = thread_of(client, gang.workers[1])
    client.ok("next", {"threadId": thread})
    client.stopped(reason="step", threadId=thread)
    assert client.stack(thread)[0]["line"] == 30


def test_steps_between_tasks_know_their_thread(attach, gang):
    """raydbg's own requests name a thread as DAP's do."""
    client = attach()
    thread = thread_of(client, gang.workers[2])
    client.stack(thread_of(client, gang.workers[0]))  # somebody else is looked at
    before = {w.pid: len(w.adapter.requests("stackTrace")) for w in gang.workers}
    client.request("raydbg/stepIntoRemote", {"threadId": thread})
    asked = [w.pid for w in gang.workers if len(w.adapter.requests("stackTrace")) > before[w.pid]]
    assert asked == [gang.workers[2].pid]


def test_cancel(attach, gang, gate):
    """debugpy cannot: it is told nothing, and the request is answered as it would be."""
    client = attach()
    thread = thread_of(client, gang.workers[1])
    gang.workers[1].adapter.on["scopes"] = scopes = gate(gang.workers[1].adapter.on["scopes"])
    waiting = client.send("scopes", {"frameId": client.stack(thread)[0]["id"]})
    client.ok("cancel", {"requestId": waiting})
    client.ok("cancel", {"progressId": "1/x"})
    client.ok("cancel", {"requestId": 1 << 40})
    scopes.open()
    assert client.response(waiting)["success"]
    assert not [w for w in gang.workers if "cancel" in w.adapter.commands()]


def test_progress_of_each(attach, gang):
    """Equal ids are told apart, and what a worker was at has ended when the worker has."""
    client = attach()
    for worker in gang.workers:
        worker.adapter.connections[-1].event("progressStart", {"progressId": "p\"1", "title": f"{worker.pid}"})
    ids = {}
    for _ in gang.workers:
        body = client.wait_event("progressStart")["body"]
        ids[int(body["title"])] = body["progressId"]
    assert len(set(ids.values())) == 3
    gang.workers[0].adapter.connections[-1].event("progressEnd", {"progressId": "p\"1"})
    assert client.wait_event("progressEnd")["body"]["progressId"] == ids[gang.workers[0].pid]
    gone = gang.workers[1]
    gang.remove(gone)
    assert client.wait_event("progressEnd")["body"]["progressId"] == ids[gone.pid]
    last = thread_of(client, gang.workers[0])
    gang.remove(gang.workers[0])
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": last})
    client.ok("threads")  # what its end has ended is told by then
    assert len(client.events("progressEnd")) == 2


def test_a_debuggee_asks_for_something(attach, gang):
    client = attach()
    for worker in gang.workers:
        worker.adapter.connections[-1].request("runInTerminal", {"args": ["rm"], "cwd": "/"})
        answer = worker.adapter.wait_received(lambda m: m.get("type") == "response").message
        assert answer["success"] is False and answer["command"] == "runInTerminal"
    assert port_of(client, thread_of(client, gang.workers[2])) == gang.workers[2].adapter.port


@pytest.mark.parametrize("can,relayed,why", [
    (False, True, "supportsStartDebuggingRequest"), (True, False, "need a relay")])
def test_threads_where_sessions_cannot_be(gang, run_relay, start_relay, can, relayed, why):
    if relayed:
        relay = run_relay(adapter=None, address=gang.address)
        client, arguments = relay.client("tcp"), relay.attach_arguments("tcp", **ALL, mode="sessions")
    else:
        client, arguments = start_relay(None, "--address", gang.address, "--no-relay"), {**ALL, "mode": "sessions"}
    client.initialize(clientID="vscode", **({"supportsStartDebuggingRequest": True} if can else {}))
    client.attach(arguments)
    shown(client)
    said = client.wait_event("output", lambda body: "as threads of one session" in body["output"])["body"]["output"]
    assert why in said
    wait_until(lambda: len(threads(client)) == 3, lambda: threads(client))
