"""One session over many tasks, at its edges: what several have in common, who only looks, who is slow, who is gone."""

import contextlib
import threading

import pytest
from dap_client import DapError
from fake_adapter import CAPABILITIES
from fake_gang import FakeGang
from kernel_queues import unread_by_peer, wait_stuck
from many_adapter import ManyAdapter
from many_session import ALL, port_of, shown, threads
from slow_client import SlowClient
from waits import SHORT, Gate, limit, settle, wait_until

PATH = "/app/app.py"


@pytest.fixture
def gang():
    with FakeGang() as fake:
        for name in ("Trainer.step", "Trainer.step", "load"):
            fake.add(name, adapter=ManyAdapter())
        yield fake


@pytest.fixture
def attach(gang, start_relay, clock):
    """attach(**arguments): a client that is attached to all of the gang, without a relay."""
    def start(expected=3, **arguments):
        client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
        client.initialize(clientID="vscode", clientName="editor")
        client.attach({**ALL, **arguments})
        shown(client)
        wait_until(lambda: len(threads(client)) == expected, lambda: threads(client))
        return client

    return start


@pytest.fixture
def join(gang, run_relay):
    """join(**arguments): the same through one relay, `join.relay`."""
    def start(**arguments):
        client = start.relay.client("tcp")
        client.initialize(clientID="vscode", clientName="editor")
        client.attach(start.relay.attach_arguments("tcp", **{**ALL, **arguments}))
        return client

    start.relay = run_relay(adapter=None, address=gang.address)
    return start


def thread_of(client, worker):
    return next(id for name, id in threads(client).items() if f"pid {worker.pid} " in name)


# --- what several have ---

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


# --- who only looks ---

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
    other = join.relay.client("tcp")
    other.initialize(clientName="other")
    other.attach(join.relay.attach_arguments("tcp", task="load"))
    other.stopped()
    client = join()
    shown(client)
    body = client.ok("evaluate", {"expression": "/next", "context": "repl"})
    assert body["result"] == "next: 2 tasks, 1 driven by another client" and body["raydbg"]["observed"] == 1
    assert thread_of(client, gang.workers[2]) not in body["raydbg"]["threadIds"]
    assert "next" not in gang.workers[2].adapter.commands()


def test_who_drives_any_is_a_driver(join, gang):
    """One of the tasks is somebody else's: the session drives the others, and is told whose that one is."""
    other = join.relay.client("tcp")
    other.initialize(clientName="other")
    other.attach(join.relay.attach_arguments("tcp", task="load"))
    other.stopped()
    client = join()
    shown(client)
    client.wait_event("output", lambda body: "other" in body["output"] and "this session observes" in body["output"])
    assert "observes" in client.request("next", {"threadId": thread_of(client, gang.workers[2])})["message"]
    client.ok("next", {"threadId": thread_of(client, gang.workers[0])})
    assert client.events("raydbg/role")[-1]["body"]["role"] == "driver"
    assert [row["role"] for row in join.relay.sessions() if row.get("tasks") == 3] == ["driver"]


# --- who is slow ---

def test_a_worker_that_is_slow_keeps_nobody(attach, gang, gate):
    slow, *others = gang.workers
    client = attach()
    frame = client.stack(thread_of(client, slow))[0]["id"]
    slow.adapter.on["scopes"] = scopes = gate(slow.adapter.on["scopes"])
    waiting = client.send("scopes", {"frameId": frame})
    scopes.wait_reached()
    for worker in others:
        thread = thread_of(client, worker)
        assert port_of(client, thread) == worker.adapter.port
        client.step("next", thread)
        assert client.evaluate("1", client.stack(thread)[0]["id"]) == str(worker.adapter.port)
        client.ok("continue", {"threadId": thread})
        worker.adapter.stop(1)
        client.stopped(threadId=thread)
    scopes.open()
    assert client.response(waiting)["success"]


def test_a_stack_that_was_not_answered_is_asked_for_again(attach, gang, clock):
    """The relay gives up its own question after 20 s; the client's next one is not refused for that."""
    silent = gang.workers[0]
    client = attach()
    thread = thread_of(client, silent)
    on_stack, unheard = silent.adapter.on["stackTrace"], []
    silent.adapter.on["stackTrace"] = lambda connection, request: unheard.append(request)
    client.ok("continue", {"threadId": thread})
    silent.adapter.stop(1)
    client.stopped(threadId=thread)
    asking = client.send("stackTrace", {"threadId": thread})
    client.ok("threads")
    clock.pass_time(20)
    response = client.response(asking)
    assert not response["success"] and "does not answer" in response["message"]
    assert len(unheard) == 1  # by the relay, for all that ask
    silent.adapter.on["stackTrace"] = on_stack
    assert [frame["name"] for frame in client.stack(thread)] == ["step", "loop", "main"]


@pytest.fixture
def flood():
    """flood(worker): it prints as fast as it is read."""
    stop, writers = threading.Event(), []

    def write(connection):
        with contextlib.suppress(OSError):
            while not stop.is_set():
                connection.event("output", {"category": "stdout", "output": "x" * 60000})

    def start(worker):
        writers.append(threading.Thread(target=write, args=(worker.adapter.connections[-1],), daemon=True))
        writers[-1].start()

    start.end = stop.set
    yield start
    stop.set()
    for writer in writers:
        writer.join(limit())
        assert not writer.is_alive()


def test_a_client_that_does_not_read(join, gang, flood):
    """The task that floods it waits for it. The quiet ones do not: another client looks at them."""
    loud = gang.add("flood", adapter=ManyAdapter())
    slow = SlowClient(join.relay, **ALL)
    flood(loud)
    wait_stuck(join.relay, loud.adapter.connections[-1].sock)
    client = join()
    shown(client)
    for worker in gang.workers[:3]:
        assert port_of(client, thread_of(client, worker)) == worker.adapter.port
    wait_stuck(join.relay, loud.adapter.connections[-1].sock)
    before = len(client.events("output"))
    client.assert_no_event("stopped", SHORT)
    assert len(client.events("output")) - before < 20, "the one that floods is held up"
    flood.end()
    slow.close()
    client.disconnect()  # a connection that the client closes may end inside what is still printed


def test_what_only_others_drive_is_left_by_a_client_that_does_not_read(join, gang, flood):
    """Nothing can hold that task up, and what it prints is not kept without end."""
    loud = gang.add("flood", adapter=ManyAdapter())
    driver = join.relay.client("tcp")
    driver.initialize(clientName="other")
    driver.attach(join.relay.attach_arguments("tcp", task="flood"))
    driver.stopped()
    slow = SlowClient(join.relay, **ALL)
    wait_until(lambda: 4 in [row.get("tasks") for row in join.relay.sessions()], lambda: join.relay.sessions())
    flood(loud)
    wait_until(lambda: 3 in [row.get("tasks") for row in join.relay.sessions()], lambda: join.relay.sessions())
    before = len(driver.events("output"))
    wait_until(lambda: len(driver.events("output")) > before + 20, "its driver gets more")
    flood.end()
    said = []
    while not any("flood is left" in text or "lags behind" in text for text in said):
        said.append(slow.event("output")["output"])
    assert slow.request("threads")["threads"]
    slow.close()


def test_a_first_stop_that_comes_late_is_shown_as_the_population(gang, start_relay):
    """debugpy on a busy machine reports it a second after configurationDone: until then there is nothing to show."""
    def late(connection, request):
        connection.respond(request)
        connection.respond(connection.attached)
        timer = threading.Timer(0.9, lambda: [worker.adapter.stop(n) for n in worker.adapter.threads])
        timer.daemon = True
        timer.start()

    while len(gang.workers) > 1:
        gang.remove(gang.workers[-1])
    worker = gang.workers[0]
    worker.adapter.on["configurationDone"] = late
    client = start_relay(None, "--address", gang.address, "--no-relay")
    client.initialize(clientID="vscode", clientName="editor")
    client.attach(ALL)
    first = client.wait_event("stopped")["body"]
    assert first["allThreadsStopped"] is True and first["preserveFocusHint"] is False
    assert len(threads(client)) == 1


@pytest.fixture
def pool(gang):
    """A worker with three paused threads, as it says itself; the stops of two come when a test says so."""
    worker = gang.add("Pool.work", adapter=ManyAdapter(threads=3, stops=[1]))
    worker.adapter.waiting = 3
    return worker


def attach_slowly(gang, start_relay, clock):
    """A client that has sent configurationDone; the tasks took long to attach, so their stops are waited for as long."""
    attaching = [Gate(worker.adapter.on_attach) for worker in gang.workers]
    for worker, gate in zip(gang.workers, attaching):
        worker.adapter.on["attach"] = gate
    client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
    client.initialize(clientID="vscode", clientName="editor")
    client.send("attach", ALL)
    for gate in attaching:
        gate.wait_reached()
    clock.pass_time(4)
    for gate in attaching:
        gate.open()
    client.wait_event("initialized")
    client.ok("configurationDone")
    return client


def test_threads_that_ray_does_not_count_are_waited_for(gang, pool, start_relay, clock):
    """Ray loses one of two updates that come at once, so that three paused threads count as one."""
    answered = []

    def evaluate(connection, request):
        connection.adapter.on_evaluate(connection, request)
        if "WORLD_RANK" in request["arguments"]["expression"]:
            answered.append(connection)

    for worker in gang.workers:
        worker.adapter.on["evaluate"] = evaluate
    client = attach_slowly(gang, start_relay, clock)
    wait_until(lambda: len(answered) == 4, "all that is needed to show the first stop of each task")
    wait_until(lambda: not any(unread_by_peer(connection.sock) for connection in answered), "it is read")
    client.ok("threads")
    assert not client.events("stopped")
    for thread in 2, 3:
        pool.adapter.stop(thread)
    shown(client)
    assert len(client.ok("threads")["threads"]) == 6
    assert len(client.events("stopped")) == 1
    assert not [e for e in client.events("output") if "so far" in e["body"]["output"]]


def test_threads_that_only_ray_counts_are_not_waited_for(gang, start_relay, clock):
    """It may have lost that some went on."""
    gang.workers[0].counted = 3
    for worker in gang.workers:
        worker.adapter.waiting = 1
    client = attach_slowly(gang, start_relay, clock)
    shown(client)
    assert len(threads(client)) == 3
    assert not [e for e in client.events("output") if "so far" in e["body"]["output"]]


def test_slow_debuggers_are_waited_for(gang, start_relay, clock):
    """On a busy machine they take seconds to attach, and to stop after that: one of three is not shown as if it were all."""
    attaching = [Gate(worker.adapter.on_attach) for worker in gang.workers]
    stopping = [Gate(worker.adapter.on_configurationDone) for worker in gang.workers]
    for worker, attaches, stops in zip(gang.workers, attaching, stopping):
        worker.adapter.on |= {"attach": attaches, "configurationDone": stops}
    client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
    client.initialize(clientID="vscode", clientName="editor")
    client.send("attach", ALL)
    for gate in attaching:
        gate.wait_reached()
    clock.pass_time(3)  # more than HURRY_MS
    assert not client.events("initialized")
    for gate in attaching:
        gate.open()
    client.wait_event("initialized")
    client.ok("configurationDone")
    for gate in stopping:
        gate.wait_reached()
    stopping[0].open()
    wait_until(lambda: len(threads(client)) == 1, lambda: threads(client))
    clock.pass_time(1)  # more than INTRO_MS
    client.ok("threads")
    assert not client.events("stopped")
    for gate in stopping:
        gate.open()
    shown(client)
    assert len(threads(client)) == 3
    assert not [e for e in client.events("output") if "so far" in e["body"]["output"]]


def test_a_population_that_is_not_complete_is_said(gang, start_relay):
    """One thread more is paused than debugpy ever reports: the rest is shown, and that it is not all is said."""
    silent = gang.workers[1].adapter
    silent.stops = []
    client = start_relay(None, "--address", gang.address, "--no-relay")
    client.initialize(clientID="vscode", clientName="editor")
    client.attach(ALL)
    shown(client)
    client.wait_event("output", lambda body: "3 threads are paused, 2 of them have stopped so far" in body["output"])
    silent.stop(1)
    assert client.wait_event("stopped", lambda body: not body["allThreadsStopped"])["body"]["preserveFocusHint"] is True


def test_what_a_client_missed_counts_while_it_does_not_read(join, gang, flood):
    """Each time anew: what it has read since is not counted."""
    loud, other = gang.add("flood", adapter=ManyAdapter()), gang.add("other", adapter=ManyAdapter())
    driver = join.relay.client("tcp")
    driver.initialize(clientName="other")
    driver.attach(join.relay.attach_arguments("tcp", task="other"))
    driver.stopped()
    slow = SlowClient(join.relay, **ALL)
    wait_until(lambda: 5 in [row.get("tasks") for row in join.relay.sessions()], lambda: join.relay.sessions())
    flood(loud)
    for end in "first", "second":
        wait_stuck(join.relay, loud.adapter.connections[-1].sock)  # the relay holds up what this client drives
        for _ in range(11):
            other.adapter.connections[-1].event("output", {"category": "stdout", "output": "y" * 60000})
        other.adapter.connections[-1].event("output", {"category": "stdout", "output": f"the {end} end"})
        driver.wait_event("output", lambda body: body["output"] == f"the {end} end")
        assert 5 in [row.get("tasks") for row in join.relay.sessions()], join.relay.sessions()
        while slow.event("output")["output"] != f"the {end} end":
            pass
    flood.end()
    slow.close()


# --- who is gone ---

def test_ids_of_one_that_is_gone(attach, gang):
    client = attach()
    worker = gang.workers[1]
    thread = thread_of(client, worker)
    frame = client.stack(thread)[0]["id"]
    scope = client.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    client.ok("continue", {"threadId": thread_of(client, gang.workers[0])})
    gang.remove(worker)
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    asked = {w.pid: len(w.adapter.requests()) for w in gang.workers}
    for command, arguments in (("stackTrace", {"threadId": thread}), ("scopes", {"frameId": frame}),
                               ("variables", {"variablesReference": scope}), ("next", {"threadId": thread}),
                               ("evaluate", {"expression": "1", "frameId": frame, "context": "repl"}),
                               ("pause", {"threadId": thread}), ("exceptionInfo", {"threadId": thread}),
                               ("raydbg/objects", {"threadId": thread}),
                               ("raydbg/stepIntoRemote", {"threadId": thread}),
                               ("goto", {"threadId": thread, "targetId": 3})):
        assert not client.request(command, arguments)["success"], command
    # One task still stands: it is not the one that was meant.
    client.request("continue", {"threadId": thread})
    assert {w.pid: len(w.adapter.requests()) for w in gang.workers} == asked


def ends(how, after=0.0):
    """A handler: the worker is killed, or its debugger says goodbye."""
    def handle(connection, request):
        settle(after)
        if how == "goodbye":
            connection.event("terminated")
            connection.ended.wait(limit())
        connection.die("rst")

    return handle


@pytest.mark.parametrize("how", ["killed", "goodbye"])
def test_one_that_dies_while_breakpoints_are_set(attach, gang, how):
    client = attach()
    thread = thread_of(client, gang.workers[1])
    gang.workers[1].adapter.on["setBreakpoints"] = ends(how, 0.3)
    worker = gang.workers.pop(1)
    body = client.ok("setBreakpoints", {"source": {"path": PATH}, "breakpoints": [{"line": 3}]})
    assert body["breakpoints"][0]["verified"]
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    worker.adapter.close()


@pytest.mark.parametrize("how", ["killed", "goodbye"])
def test_one_that_dies_before_it_answers_a_continue(attach, gang, how):
    client = attach()
    worker = gang.workers[1]
    thread = thread_of(client, worker)
    worker.adapter.on["continue"] = ends(how)
    gang.workers.remove(worker)
    assert not client.request("continue", {"threadId": thread})["success"]
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    assert len(threads(client)) == 2
    worker.adapter.close()


@pytest.mark.parametrize("how", ["killed", "goodbye"])
def test_a_worker_of_several_threads_dies_while_all_are_compared(attach, gang, how):
    """Each of its threads was asked: nobody hears of the second answer that will not come."""
    pool = gang.add("Pool.work", adapter=ManyAdapter(threads=8))
    client = attach(11)
    pool.adapter.on["evaluate"] = ends(how)
    gang.workers.remove(pool)
    body = client.ok("raydbg/compare", {"expression": "x"})
    assert body["asked"] == 11 and len(body["values"]) + len(body["notAsked"]) == 11
    assert sum(1 for value in body["values"] if value.get("error")) + len(body["notAsked"]) == 8
    assert len(threads(client)) == 3
    pool.adapter.close()


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
    gang.remove(gang.workers[0])
    client.wait_event("thread", lambda body: body["reason"] == "exited")
    client.assert_no_event("progressEnd", SHORT)


def test_a_debuggee_asks_for_something(attach, gang):
    client = attach()
    for worker in gang.workers:
        worker.adapter.connections[-1].request("runInTerminal", {"args": ["rm"], "cwd": "/"})
        answer = worker.adapter.wait_received(lambda m: m.get("type") == "response").message
        assert answer["success"] is False and answer["command"] == "runInTerminal"
    assert port_of(client, thread_of(client, gang.workers[2])) == gang.workers[2].adapter.port


def test_two_stop_at_once_and_one_is_gone_at_once(attach, gang):
    """The stop of one that died right behind it is told before its thread exits, or not at all."""
    client = attach()
    first, second, third = gang.workers
    for worker in first, second:
        client.ok("continue", {"threadId": thread_of(client, worker)})
    thread, dead = thread_of(client, first), thread_of(client, second)
    gang.workers.remove(second)
    barrier = threading.Barrier(2)

    def stop(worker, dies):
        barrier.wait()
        worker.adapter.stop(1)
        if dies:
            worker.adapter.connections[-1].die("rst")

    both = [threading.Thread(target=stop, args=arguments) for arguments in ((first, False), (second, True))]
    for one in both:
        one.start()
    client.stopped(threadId=thread, allThreadsStopped=False)
    exited = client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": dead})
    assert not [e for e in client.events("stopped") if e["body"]["threadId"] == dead and e["seq"] > exited["seq"]]
    wait_until(lambda: len(threads(client)) == 2, lambda: threads(client))
    for worker in first, third:
        assert port_of(client, thread_of(client, worker)) == worker.adapter.port
    for one in both:
        one.join()
    second.adapter.close()


# --- sessions that the client cannot start ---

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
