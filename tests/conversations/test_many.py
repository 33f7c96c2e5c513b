"""One session over many tasks: their threads are its threads, and each request finds its task."""

import signal
import time

import pytest
from dap_client import DapError
from fake_adapter import CAPABILITIES
from many_adapter import ManyAdapter
from many_gang import gang  # noqa: F401
from many_session import ALL, port_of, shown, threads
from waits import hard, settle, wait_until

PATH = "/app/app.py"


@pytest.fixture(params=["relay", "alone"])
def attach(request, gang, run_relay, start_relay, clock):
    """attach(**arguments): a client that is attached to all of the gang, through a relay or without one; `attach.process` is
    where its session is. `all_stop=False`: some of the tasks do not."""
    relays = []

    def start(breakpoints=None, all_stop=True, **arguments):
        if request.param == "relay":
            relays[:] = relays or [run_relay(adapter=None, address=gang.address, env=clock.env)]
            client = relays[0].client("tcp")
            arguments = relays[0].attach_arguments("tcp", **{**ALL, **arguments})
        else:
            client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
            arguments = {**ALL, **arguments}
        start.process = relays[0].process if relays else client.process
        client.initialize(clientID="vscode", clientName="editor")
        if all_stop:
            gang.seem_slow(clock)
        client.attach(arguments, breakpoints)
        return client

    return start


def test_all_pauses_are_threads_of_one_session(attach, gang):
    client = attach()
    body = shown(client)
    assert body["preserveFocusHint"] is False
    names = threads(client)
    assert sorted(names) == ["pid 5001 Trainer.step 127.0.0.1", "pid 5002 Trainer.step 127.0.0.1",
                             "pid 5003 load 127.0.0.1"]
    assert len(set(names.values())) == 3 and body["threadId"] in names.values()
    for worker in gang.workers:
        thread = next(id for name, id in names.items() if f"pid {worker.pid} " in name)
        assert port_of(client, thread) == worker.adapter.port
    assert len([e for e in client.events("stopped")]) == 1


def test_a_wrong_argument_reaches_no_task(attach, gang):
    with pytest.raises(DapError, match='"pathMappings" must be'):
        attach(pathMappings={"/app": "/home/me"})
    assert not any(worker.adapter.connections for worker in gang.workers)


def test_an_unknown_argument_is_said_once(attach, gang):
    client = attach(unheardOf=1)
    shown(client)
    threads(client)
    assert len([e for e in client.events("output") if "unheardOf" in e["body"]["output"]]) == 1
    assert all("unheardOf" not in worker.adapter.wait_request("attach")["arguments"] for worker in gang.workers)


def of(gang, name):
    """The worker that a thread's name is of."""
    return next(worker for worker in gang.workers if f"pid {worker.pid} " in name)


def test_a_step_moves_one_task(attach, gang):
    client = attach()
    shown(client)
    name, thread = next((name, id) for name, id in threads(client).items() if "5002" in name)
    seen = len(client.events())
    client.ok("next", {"threadId": thread})
    body = client.wait_event("stopped", lambda body: body["reason"] == "step")["body"]
    assert body["threadId"] == thread and not body["allThreadsStopped"] and not body["preserveFocusHint"]
    assert client.stack(thread)[0]["line"] == 9
    assert [w.pid for w in gang.workers if "next" in w.adapter.commands()] == [5002]
    others = [id for other, id in threads(client).items() if other != name]
    assert [client.stack(id)[0]["line"] for id in others] == [8, 8]
    assert not [e for e in client.events()[seen:] if e["event"] == "continued"]


def test_continue_is_one_task_s(attach, gang):
    client = attach()
    shown(client)
    name, thread = next((name, id) for name, id in threads(client).items() if "5003" in name)
    assert client.ok("continue", {"threadId": thread}) == {"allThreadsContinued": False}
    assert [w.pid for w in gang.workers if "continue" in w.adapter.commands()] == [5003]
    with pytest.raises(DapError, match="not stopped"):
        client.stack(thread)
    # It runs: a second one, and one for no thread at all, change nothing.
    assert client.ok("continue", {"threadId": thread}) == {"allThreadsContinued": False}
    assert client.ok("continue", {"threadId": 0}) == {"allThreadsContinued": False}
    assert sum(w.adapter.commands().count("continue") for w in gang.workers) == 1


def test_a_stop_that_is_over_is_nobody_s(attach, gang):
    client = attach()
    shown(client)
    ids = threads(client)
    thread = next(id for name, id in ids.items() if "5002" in name)
    frame = client.stack(thread)[0]["id"]
    scope = client.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    client.ok("next", {"threadId": thread})
    client.wait_event("stopped", lambda body: body["reason"] == "step")
    with pytest.raises(DapError, match="that stop is over"):
        client.ok("scopes", {"frameId": frame})
    with pytest.raises(DapError, match="that stop is over"):
        client.ok("variables", {"variablesReference": scope})
    assert port_of(client, thread) == of(gang, next(name for name in ids if "5002" in name)).adapter.port


def test_threads_of_one_worker_go_on_one_at_a_time(attach, gang):
    worker = gang.add("Pool.work", adapter=ManyAdapter(threads=3))
    client = attach()
    shown(client)
    ids = {name: id for name, id in threads(client).items() if str(worker.pid) in name}
    wait_until(lambda: sorted(n for n in threads(client) if str(worker.pid) in n) == [
        f"pid {worker.pid} thread-{n} Pool.work 127.0.0.1" for n in (1, 2, 3)], lambda: threads(client))
    ids = {name: id for name, id in threads(client).items() if str(worker.pid) in name}
    left = {1, 2, 3}
    for number, more in (2, {}), (3, {"singleThread": None}), (1, {}):
        client.ok("continue", {"threadId": ids[f"pid {worker.pid} thread-{number} Pool.work 127.0.0.1"], **more})
        left.discard(number)
        assert worker.adapter.standing == left
        for other in left:
            assert client.stack(ids[f"pid {worker.pid} thread-{other} Pool.work 127.0.0.1"])


def test_the_whole_task_goes_on_if_asked_to(attach, gang):
    worker = gang.add("Pool.work", adapter=ManyAdapter(threads=3))
    client = attach()
    shown(client)
    ids = [id for name, id in threads(client).items() if str(worker.pid) in name]
    client.ok("continue", {"threadId": ids[1], "singleThread": False})
    assert worker.adapter.standing == set()
    for other in ids[0], ids[2]:
        client.wait_event("continued", lambda body, other=other: body["threadId"] == other)
    assert len(threads(client)) == 6


def test_ranks_come_first(attach, gang):
    for number in range(3):
        gang.add("Trainer.step", adapter=ManyAdapter(rank=number))
    client = attach()
    shown(client)
    names = sorted(threads(client))
    assert [name[:7] for name in names] == ["pid 500"] * 3 + ["rank 0 ", "rank 1 ", "rank 2 "]
    assert names[3] == "rank 0 Trainer.step 127.0.0.1 pid 5004"


def test_the_user_s_own_names(attach, gang):
    client = attach(threadName="{pid}@{node} {task}{rank}")
    shown(client)
    assert "5001@127.0.0.1 Trainer.step" in threads(client)


def test_a_later_pause_joins_without_taking_the_focus(attach, gang):
    client = attach(breakpoints={PATH: [{"line": 57}]})
    first = shown(client)["threadId"]
    client.stack(first)
    late = gang.add("Late.work", adapter=ManyAdapter())
    body = client.wait_event("stopped", lambda body: not body["allThreadsStopped"])["body"]
    assert body["preserveFocusHint"] is True
    assert threads(client)[f"pid {late.pid} Late.work 127.0.0.1"] == body["threadId"]
    started = client.wait_event("thread", lambda event: event["threadId"] == body["threadId"])["body"]
    assert started["reason"] == "started"
    # What was set before it came was set in it before it ran.
    commands = late.adapter.commands()
    assert commands.index("setBreakpoints") < commands.index("configurationDone")
    asked = late.adapter.requests("setBreakpoints")[-1]["arguments"]
    assert [entry["line"] for entry in asked["breakpoints"]] == [57]


def test_with_nothing_in_focus_a_pause_takes_it(attach, gang):
    client = attach(tasks=["load"])
    thread = shown(client)["threadId"]
    client.ok("continue", {"threadId": thread})
    gang.workers[2].adapter.stop(1)
    body = client.wait_event("stopped", lambda body: not body["allThreadsStopped"])["body"]
    assert body["threadId"] == thread and body["preserveFocusHint"] is False


@pytest.mark.parametrize("wish,pids", [
    ({"tasks": "Trainer.*"}, {5001, 5002}),
    ({"tasks": ["load", "5001"]}, {5001, 5003}),
    ({"tasks": None, "task": "Train*"}, {5001, 5002}),
    ({"tasks": None, "node": "127.0.0.1", "job": "01"}, {5001, 5002, 5003}),
])
def test_what_is_chosen(attach, gang, wish, pids):
    wish = {**ALL, **wish}
    client = attach(**({key: value for key, value in wish.items() if value is not None} | (
        {} if wish["tasks"] else {"tasks": "Train*"} if "task" in wish else {"tasks": "*"})))
    shown(client)
    assert {of(gang, name).pid for name in threads(client)} == pids
    assert {w.pid for w in gang.workers if w.adapter.connections} == pids


def test_nothing_there_yet(attach, gang):
    for worker in list(gang.workers):
        gang.remove(worker)
    client = attach(tasks="Late.*")
    client.wait_event("output", lambda body: "waiting for one" in body["output"])
    assert threads(client) == {}
    gang.add("Late.work", adapter=ManyAdapter())
    body = client.wait_event("stopped")["body"]
    assert port_of(client, body["threadId"]) == gang.workers[-1].adapter.port


def test_a_name_that_nobody_has(attach):
    with pytest.raises(AssertionError, match="no paused task is called 'nobody'"):
        attach(tasks=["nobody"])


def test_a_worker_that_dies_in_mid_request(attach, gang):
    client = attach()
    shown(client)
    name, thread = next((name, id) for name, id in threads(client).items() if "5002" in name)
    worker = of(gang, name)
    worker.adapter.on["scopes"] = lambda connection, request: connection.die("rst")
    frame = client.stack(thread)[0]["id"]
    gang.workers.remove(worker)
    with pytest.raises(DapError):
        client.ok("scopes", {"frameId": frame})
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    client.wait_event("output", lambda body: "went away" in body["output"] or "died" in body["output"])
    others = threads(client)
    assert len(others) == 2
    for id in others.values():
        client.stack(id)
    assert not client.events("terminated")
    worker.adapter.close()


def test_a_dead_one_does_not_delay_the_others(attach, gang):
    gang.workers[0].adapter.on["initialize"] = lambda connection, request: None
    began = time.monotonic()
    client = attach(all_stop=False)
    shown(client)
    assert time.monotonic() - began < 12  # timed: after 15 s the dead one is given up
    assert {of(gang, name).pid for name in threads(client)} == {5002, 5003}


def test_leaving_leaves_all(attach, gang):
    client = attach()
    shown(client)
    client.disconnect()
    said = [e["body"]["output"] for e in client.events("output") if "raydbg: 3 tasks" in e["body"].get("output", "")]
    assert len(said) == 1


def test_an_attach_to_one_task_after_terminate_is_refused(attach, gang):
    client = attach()
    shown(client)
    client.ok("terminate")
    client.wait_event("terminated")
    answer = client.request("attach", {"task": "load"})
    assert not answer["success"] and "the session has ended" in answer["message"], answer
    client.disconnect()
    client.wait_end()


def test_many_new_stops_are_one_event(attach, gang):
    for number in range(30):
        gang.add("burst", adapter=ManyAdapter())
    client = attach()
    shown(client)
    wait_until(lambda: len(threads(client)) == 33, lambda: f"33 threads, not {len(threads(client))}")
    client.ok("raydbg/step", {"how": "continue"})
    wait_until(lambda: client.evaluate("/threads").count("  running  ") == 33, lambda: client.evaluate("/threads"))
    before = len(client.events("stopped"))
    attach.process.send_signal(signal.SIGSTOP)  # so that all are there when it reads the first
    try:
        for worker in gang.workers:
            worker.adapter.stop(1)
    finally:
        attach.process.send_signal(signal.SIGCONT)
    wait_until(lambda: client.evaluate("/threads").count("  stopped  ") == 33, lambda: client.evaluate("/threads"))
    for thread in threads(client).values():
        client.stack(thread)
    settle()  # what is told together is told by then
    assert 0 < len(client.events("stopped")) - before < 20


def test_requests_without_an_id_are_the_focused_task_s(attach, gang):
    client = attach()
    shown(client)
    for thread in threads(client).values():
        frame = client.stack(thread)[0]["id"]
        client.ok("scopes", {"frameId": frame})
        port = port_of(client, thread)
        assert client.evaluate("1") == str(port)


def test_modules_of_all(attach, gang):
    for number, worker in enumerate(gang.workers):
        worker.adapter.on["modules"] = lambda c, r, n=number: c.respond(r, {"modules": [{"id": 1, "name": f"m{n}"}]})
    client = attach()
    shown(client)
    modules = client.ok("modules")["modules"]
    assert sorted(module["name"] for module in modules) == ["m0", "m1", "m2"]
    assert len({module["id"] for module in modules}) == 3


def end_task(gang, worker):
    """Its task is over; the worker waits for the next one."""
    worker.waits, worker.busy = False, False


def test_a_task_that_ends_leaves_and_comes_back_when_it_pauses(attach, gang):
    client = attach()
    shown(client)
    name, thread = next((name, id) for name, id in threads(client).items() if "5002" in name)
    client.ok("continue", {"threadId": thread})
    end_task(gang, of(gang, name))
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    assert name not in threads(client)
    of(gang, name).busy = True
    of(gang, name).adapter.stop(1)
    assert client.wait_event("stopped", lambda body: body["threadId"] == thread)
    client.wait_event("thread", lambda body: body == {"reason": "started", "threadId": thread})
    assert threads(client)[name] == thread
    assert port_of(client, thread) == of(gang, name).adapter.port


def test_it_ends_when_the_job_does(attach, gang):
    client = attach()
    shown(client)
    for worker in list(gang.workers):
        gang.remove(worker)
    client.wait_event("output", lambda body: "waiting for one" in body["output"])
    assert not client.events("terminated")
    gang.job_is_dead = True
    client.wait_event("terminated")
    client.disconnect()


def test_named_tasks_that_are_gone_end_it(attach, gang):
    client = attach(tasks=["5001", "load"])
    shown(client)
    gang.remove(gang.workers[0])
    client.wait_event("thread", lambda body: body["reason"] == "exited")
    client.assert_no_event("terminated", 0.5)
    gang.remove(gang.workers[-1])
    client.wait_event("terminated")
    client.disconnect()


def test_hits_and_breakpoints_have_one_id(attach, gang):
    client = attach()
    shown(client)
    body = client.ok("setBreakpoints", {"source": {"path": PATH}, "breakpoints": [{"line": 3}, {"line": 5}]})
    ids = [entry["id"] for entry in body["breakpoints"]]
    assert len(set(ids)) == 2 and all(entry["verified"] for entry in body["breakpoints"])
    for worker in gang.workers:
        connection = worker.adapter.connections[-1]
        connection.stop("breakpoint", 1, hitBreakpointIds=[1], allThreadsStopped=False)
    for _ in gang.workers:
        hit = client.wait_event("stopped", lambda body: body.get("hitBreakpointIds"))["body"]
        assert hit["hitBreakpointIds"] == [ids[1]]


def test_breakpoints_before_any_task(attach, gang):
    for worker in list(gang.workers):
        gang.remove(worker)
    client = attach(tasks="*")
    body = client.ok("setBreakpoints", {"source": {"path": PATH}, "breakpoints": [{"line": 3}]})
    assert [entry["verified"] for entry in body["breakpoints"]] == [False]
    gang.add("late", adapter=ManyAdapter())
    event = client.wait_event("breakpoint")["body"]
    assert event["breakpoint"]["id"] == body["breakpoints"][0]["id"] and event["breakpoint"]["verified"]


@pytest.mark.parametrize("answers", [True, False])
def test_a_slow_one_is_waited_for_with_breakpoints(gang, start_relay, clock, gate, answers):
    """Its breakpoint must be there before its task is let go; but two seconds are enough."""
    client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
    client.initialize(clientID="vscode", clientName="editor")
    client.attach(dict(ALL))
    shown(client)
    slow = gang.workers[1].adapter
    slow.on["setBreakpoints"] = late = gate(slow.on_setBreakpoints)
    asked = client.send("setBreakpoints", {"source": {"path": PATH}, "breakpoints": [{"line": 3}]})
    late.wait_reached()
    for worker in gang.workers[0], gang.workers[2]:
        worker.adapter.wait_request("setBreakpoints")
    for _ in range(3):  # the others have answered
        client.ok("threads")
    assert asked not in client._responses
    late.open() if answers else clock.pass_time(2)
    assert client.check(client.response(asked))["breakpoints"][0]["verified"]
    thread = next(id for name, id in threads(client).items() if "5003" in name)
    assert port_of(client, thread) == gang.workers[2].adapter.port


def test_two_debugpy_versions(attach, gang):
    old = {key: value for key, value in CAPABILITIES.items() if key != "supportsClipboardContext"}
    gang.workers[1].adapter.on["initialize"] = lambda connection, request: connection.respond(request, old)
    client = attach()
    shown(client)
    told = [event["body"]["capabilities"] for event in client.events("capabilities")]
    assert told[0]["supportsSingleThreadExecutionRequests"] is True
    assert told[-1]["supportsClipboardContext"] is False and "supportsSetVariable" not in told[-1]


def test_a_thread_id_that_is_used_again(attach, gang):
    client = attach()
    shown(client)
    name, thread = next((name, id) for name, id in threads(client).items() if "5002" in name)
    adapter = of(gang, name).adapter
    frame = client.stack(thread)[0]["id"]
    client.ok("continue", {"threadId": thread})
    adapter.connections[-1].event("thread", {"reason": "exited", "threadId": 1})
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    adapter.connections[-1].event("thread", {"reason": "started", "threadId": 1})
    adapter.stop(1)
    body = client.wait_event("stopped", lambda body: not body["allThreadsStopped"])["body"]
    fresh = client.stack(body["threadId"])[0]["id"]
    assert fresh != frame
    with pytest.raises(DapError, match="that stop is over"):
        client.ok("scopes", {"frameId": frame})


def test_500_pauses_in_one_second(attach, gang):
    worker = gang.add("Pool.work", adapter=ManyAdapter(threads=500, stops=[]))
    client = attach(all_stop=False)
    shown(client)
    wait_until(lambda: len(worker.adapter.connections) == 1, "it is attached")
    worker.adapter.wait_request("configurationDone")
    for thread in worker.adapter.threads:
        worker.adapter.stop(thread)
    wait_until(lambda: len(threads(client)) == 503, lambda: f"503 threads, not {len(threads(client))}", every=0.2)
    assert worker.adapter.commands().count("threads") < 50
    wait_until(lambda: len(client.events("stopped")) >= 2, "they are told")
    ids = [id for name, id in threads(client).items() if "Pool.work" in name]
    assert {client.stack(id)[0]["line"] for id in ids[::50]} == {8}
    assert len(client.events("stopped")) < 40


def test_a_stack_in_parts(attach, gang):
    client = attach()
    thread = shown(client)["threadId"]
    whole = client.ok("stackTrace", {"threadId": thread})
    assert whole["totalFrames"] == len(whole["stackFrames"]) == 3
    for start in range(4):
        part = client.ok("stackTrace", {"threadId": thread, "startFrame": start, "levels": 1})
        assert part == {"stackFrames": whole["stackFrames"][start:start + 1], "totalFrames": 3}
    assert sum(w.adapter.commands().count("stackTrace") for w in gang.workers if w.adapter.connections) <= 6


def test_sessions_are_listed(gang, run_relay):
    relay = run_relay(adapter=None, address=gang.address)
    client = relay.client("tcp")
    client.initialize(clientID="vscode", clientName="editor")
    client.attach(relay.attach_arguments("tcp", **ALL))
    shown(client)
    row = relay.http("GET", "/v1/sessions").json["sessions"][0]
    assert row["tasks"] == 3 and row["role"] == "driver" and row["task_name"] == "Trainer.step"
    held = {pause["pid"]: pause for pause in relay.pauses()}
    assert [held[worker.pid]["held"] for worker in gang.workers] == [True] * 3
    client.disconnect()
    with hard():
        assert [pause["held"] for pause in relay.pauses()] == [True] * 3


def test_an_attach_may_follow_one_that_failed(gang, run_relay):
    relay = run_relay(adapter=None, address=gang.address)
    client = relay.client("tcp")
    client.initialize()
    answer = client.request("attach", relay.attach_arguments("tcp", tasks=["nobody"]))
    assert not answer["success"] and "nobody" in answer["message"]
    client.attach(relay.attach_arguments("tcp", **ALL))
    shown(client)
