"""Stepping into a remote task: one session over two workers, whose connections know no common order."""

import json
import re
import socket
import struct
import threading

import pytest
from agent_by_hand import ByHand
from fake_adapter import PROGRAM, FakeAdapter
from fake_gang import FakeGang
from parent_editor import Editor
from waits import limit, wait_until


@pytest.fixture
def gang():
    with FakeGang(names=["outer"]) as fake:
        yield fake


def take_notes(worker, adapter=None):
    (adapter or worker.adapter).on["evaluate"] = lambda c, request: c.respond(
        request, {"result": f"'{worker.task_id}'", "variablesReference": 0, "type": "str"})


@pytest.fixture
def caller(gang):
    """The worker that is attached to; it takes Ray's notes."""
    take_notes(gang.workers[0])
    return gang.workers[0]


@pytest.fixture
def attached(gang, caller, start_relay, clock):
    """attached(): a client that has seen the caller's stop, and its thread."""
    def start():
        client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
        client.initialize()
        client.attach({"task": "outer"})
        return client, client.stopped()["threadId"]
    return start


@pytest.fixture
def step_into(gang, caller, attached):
    """step_into(…): a client that has stepped from the caller into a remote task, and the thread it is in."""
    def start(prepare=lambda callee: None, meanwhile=lambda client: None):
        client, thread = attached()
        client.ok("raydbg/stepIntoRemote", {"threadId": thread})
        caller.adapter.wait_request("continue")
        client.ok("threads")  # the caller has answered that and goes on
        callee = FakeAdapter()
        prepare(callee)
        callee = gang.add("leaf", adapter=callee, parent=caller.task)
        meanwhile(client)
        return client, callee, client.stopped()["threadId"]
    return start


@pytest.fixture
def slow(caller):
    """The caller answers its setBreakpoints when this event is set."""
    may_answer = threading.Event()
    answer = caller.adapter.on["setBreakpoints"]

    def late(connection, request):
        may_answer.wait(limit())
        answer(connection, request)

    yield lambda: caller.adapter.on.update(setBreakpoints=late) or may_answer
    may_answer.set()


def set_line(client, line):
    return client.send("setBreakpoints", {"source": {"path": PROGRAM}, "breakpoints": [{"line": line}]})


def leave(client, clock):
    """disconnect, from a worker that does not answer: it is waited for."""
    leaving = client.send("disconnect")
    clock.pass_time(0)  # the request is read
    clock.pass_time(10)
    client.check(client.response(leaving))


def test_a_breakpoint_is_answered_when_the_caller_has_it_too(step_into, caller, slow):
    """The remote task may return at once, and the caller run past the line."""
    client, callee, _ = step_into()
    may_answer = slow()
    seq = set_line(client, 33)
    callee.adapter.wait_request("setBreakpoints")
    caller.adapter.wait_request("setBreakpoints")
    assert client.ok("threads")["threads"]  # whatever the callee said before has come
    assert seq not in client._responses
    may_answer.set()
    assert [b["line"] for b in client.check(client.response(seq))["breakpoints"]] == [33]
    client.disconnect()


def test_an_observers_breakpoints_do_not_reach_the_caller(gang, caller, run_relay):
    """Another client took over meanwhile: what the one in the remote task sets waits until it drives again."""
    hub = run_relay(adapter=None, address=gang.address)

    def join(name, **arguments):
        client = hub.client("tcp")
        client.initialize(clientName=name)
        client.attach(hub.attach_arguments("tcp", task="outer", **arguments))
        return client

    client = join("first")
    thread = client.stopped()["threadId"]
    client.ok("raydbg/stepIntoRemote", {"threadId": thread})
    caller.adapter.wait_request("continue")
    callee = gang.add("leaf", adapter=FakeAdapter(), parent=caller.task)
    client.stopped()
    second = join("second", takeOver=True)
    before = len(caller.adapter.requests("setBreakpoints"))
    client.response(set_line(client, 33))
    assert second.ok("threads")["threads"] and client.ok("threads")["threads"]
    assert len(caller.adapter.requests("setBreakpoints")) == before, caller.adapter.requests("setBreakpoints")
    assert callee.adapter.requests("setBreakpoints")
    second.disconnect()
    client.disconnect()


def test_a_caller_that_does_not_answer_is_waited_for_so_long_only(step_into, caller, slow, clock):
    client, _, _ = step_into()
    slow()
    seq = set_line(client, 33)
    caller.adapter.wait_request("setBreakpoints")
    clock.pass_time(3)
    assert client.check(client.response(seq))["breakpoints"]
    note = client.wait_event("output", lambda body: "outer" in body["output"] and "breakpoint" in body["output"])
    assert "has not confirmed" in note["body"]["output"]
    leave(client, clock)


def test_a_caller_that_dies_is_not_waited_for(step_into, caller, slow):
    client, _, _ = step_into()
    slow()
    seq = set_line(client, 33)
    caller.adapter.wait_request("setBreakpoints")
    caller.adapter.connection().die()
    assert client.check(client.response(seq))["breakpoints"]
    assert not [e for e in client.events("output") if "has not confirmed" in e["body"]["output"]]
    client.disconnect()


def test_each_request_is_answered_when_the_caller_stops_first(step_into, caller):
    """The session is the caller's again; what the remote task was asked before is refused."""
    client, callee, thread = step_into()
    callee.adapter.on["evaluate"] = lambda c, request: None
    client.ok("continue", {"threadId": thread})
    seq = client.send("evaluate", {"expression": "x", "context": "watch"})
    callee.adapter.wait_received(lambda m: m.get("arguments", {}).get("expression") == "x")
    caller.adapter.connection().stop("breakpoint")
    assert client.stopped()["threadId"] == 1
    assert not client.response(seq)["success"]
    client.disconnect()


@pytest.mark.parametrize("command", ["continue", "next", "stepIn", "stepOut"])
def test_what_lets_the_remote_task_end_has_succeeded(step_into, caller, command):
    """Its caller's stop may come before the answer of the remote task's worker."""
    client, callee, thread = step_into()
    callee.adapter.on[command] = lambda c, request: None
    before = len(callee.adapter.requests(command))
    seq = client.send(command, {"threadId": thread})
    callee.adapter.wait_received(lambda m: m.get("command") == command and len(callee.adapter.requests(command)) > before)
    caller.adapter.connection().stop("breakpoint")
    assert client.stopped()["threadId"] == 1
    assert client.response(seq)["success"]
    client.disconnect()


def test_a_step_off_the_remote_tasks_end_leads_back_to_its_caller(step_into, caller):
    """It has stopped meanwhile, and waits to be shown; no other stop comes from the remote task."""
    client, callee, thread = step_into()
    caller.adapter.connection().stop("breakpoint")
    client.wait_event("output", lambda body: "outer has stopped, too" in body["output"])

    def step_off(connection, request):
        connection.respond(request)
        connection.event("continued", {"threadId": 1, "allThreadsContinued": False, "raydbgSteppedOff": True})

    callee.adapter.on["next"] = step_off
    client.ok("next", {"threadId": thread})
    assert client.stopped()["threadId"] == 1
    client.disconnect()


def test_a_caller_that_goes_on_is_not_shown_when_the_remote_task_does(step_into, caller):
    """Another client has let it, past the stop that waited to be shown."""
    client, callee, thread = step_into()
    caller.adapter.connection().stop("breakpoint")
    client.wait_event("output", lambda body: "outer has stopped, too" in body["output"])
    before = len(client.events("continued"))
    caller.adapter.connection().event("continued", {"threadId": 1, "allThreadsContinued": True})
    wait_until(lambda: len(client.events("continued")) > before, "the caller goes on")
    client.ok("continue", {"threadId": thread})
    client.ok("threads")
    callee.adapter.connection().stop("breakpoint")
    assert client.stopped()["threadId"] == thread
    client.disconnect()


def test_what_is_set_while_the_remote_task_is_entered_holds_in_it(step_into, caller):
    """Its first steps lead out of Ray's own frames: the client does not see it yet."""
    asked, go_on = threading.Event(), threading.Event()
    seqs = []

    def prepare(callee):
        answer = callee.on["stackTrace"]

        def late(connection, request):
            asked.set()
            go_on.wait(limit())
            answer(connection, request)

        callee.on["stackTrace"] = late

    def set_meanwhile(client):
        assert asked.wait(limit())
        seqs.append(set_line(client, 33))
        caller.adapter.wait_request("setBreakpoints")
        go_on.set()

    client, callee, _ = step_into(prepare, set_meanwhile)
    assert client.check(client.response(seqs[0]))["breakpoints"]
    assert callee.adapter.wait_request("setBreakpoints")["arguments"]["breakpoints"] == [{"line": 33}]
    client.disconnect()


# --- a session that was attached to by a ticket ---

@pytest.mark.parametrize("command", ["raydbg/stepIntoRemote", "stepIn"])
def test_a_child_session_steps_into_a_remote_task(gang, caller, run_relay, command):
    """Its ticket was good once, and the remote task is entered with the same arguments."""
    editor = Editor(run_relay(adapter=None, address=gang.address)).attach(tasks="outer")
    client = editor.wait_children(1)[0].client
    arguments = {"threadId": 1}
    if command == "stepIn":
        targets = client.ok("stepInTargets", {"frameId": 3})["targets"]
        arguments["targetId"] = next(target["id"] for target in targets if "into remote task" in target["label"])
    client.ok(command, arguments)
    caller.adapter.wait_request("continue")
    callee = gang.add("leaf", adapter=FakeAdapter(), parent=caller.task)
    assert client.stopped()["threadId"] != 1
    assert len(callee.adapter.connections) == 1
    client.disconnect()


# --- requests that wait for an answer to one of the session's own ---

WORDS = {("stepInTargets", "stackTrace"): '"levels": 1}', ("stepInTargets", "evaluate"): "RemoteFunction",
         ("raydbg/stepIntoRemote", "stackTrace"): '"levels": 1}', ("raydbg/stepIntoRemote", "evaluate"): "debugger_breakpoint"}


def hold(adapter, command):
    """The caller's requests of this command from here on, which are not answered."""
    held = []
    adapter.on[command] = lambda connection, request: held.append((connection, request))
    return held


def send_held(client, adapter, command, on_the_way, thread=1):
    """Sends a request for which the session then asks the worker, in vain; its seq, and what the worker is asked."""
    held = hold(adapter, on_the_way)
    seq = client.send(command, {"threadId": thread, "frameId": 3})
    words = WORDS.get((command, on_the_way), "")
    wait_until(lambda: any(words in json.dumps(request["arguments"]) for _, request in held), f"{on_the_way} is asked")
    return seq, held


@pytest.mark.parametrize("on_the_way", ["stackTrace", "evaluate", "stepInTargets"])
def test_targets_are_refused_once_when_the_worker_dies(attached, caller, on_the_way):
    client, _ = attached()
    seq, _ = send_held(client, caller.adapter, "stepInTargets", on_the_way)
    caller.adapter.connection().die()
    client.wait_event("terminated")
    assert not client.response(seq)["success"]
    client.disconnect()  # and its answer is the only one: the client checks that


@pytest.mark.parametrize("on_the_way", ["stackTrace", "evaluate"])
@pytest.mark.parametrize("command", ["stepInTargets", "raydbg/stepIntoRemote"])
def test_a_client_that_leaves_gets_an_answer(gang, caller, run_relay, command, on_the_way):
    """The task stays held, and what the session has asked is not waited for."""
    client = run_relay(adapter=None, address=gang.address).join("tcp", task="outer")
    client.stopped()
    seq, _ = send_held(client, caller.adapter, command, on_the_way)
    client.disconnect()
    assert not client.response(seq)["success"]


def test_a_client_that_goes_back_to_the_caller_gets_an_answer(step_into, caller):
    client, callee, thread = step_into()
    seq, _ = send_held(client, callee.adapter, "stepInTargets", "stackTrace", thread)
    callee.adapter.connection().event("continued", {"threadId": 1, "allThreadsContinued": True})
    client.wait_event("continued", lambda body: body["threadId"] == thread)
    caller.adapter.connection().stop("breakpoint")
    assert client.stopped()["threadId"] == 1
    assert not client.response(seq)["success"]
    client.disconnect()


@pytest.fixture
def cut_off(run_relay, gang, adapter, clock):
    """A client of a process that has dialled the relay, and cut(): nothing comes back from the process's machine then."""
    adapter.greet = lambda connection: None
    relay = run_relay(adapter=None, address=gang.address, env=clock.env)
    assert relay.http("POST", "/v1/breakpoints", body=json.dumps({"file": PROGRAM, "line": 8})).status == 200
    agent = ByHand(relay)
    agent.prove(pid=77, role="worker", worker_id="cc" * 28)
    adapter.serve(ByHand(relay, f"raydbg pydevd 1 {agent.hear()['token']}").sock)
    adapter.wait_request("setBreakpoints")
    agent.write(b'{"event":"debugging"}')
    wait_until(lambda: any(p["pid"] == 77 and p["location"] for p in relay.pauses()), lambda: str(relay.pauses()))
    client = relay.join("tcp", filters=(), task="77@127.0.0.1")
    client.locals(client.stack(client.stopped()["threadId"])[0]["id"])

    def cut():
        agent.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        agent.file.close(), agent.sock.close()
        wait_until(lambda: relay.http("GET", "/v1/breakpoints").json["processes"]["connected"] == 0, "the agent is missed")
        clock.pass_time(2)
        client.wait_event("output", lambda body: "nothing comes back" in body["output"])

    return client, cut


@pytest.mark.parametrize("command, on_the_way", [("stepInTargets", "stackTrace"), ("raydbg/stepIntoRemote", "evaluate")])
def test_a_request_of_a_session_that_is_cut_off_is_refused(cut_off, adapter, clock, command, on_the_way):
    client, cut = cut_off
    seq, _ = send_held(client, adapter, command, on_the_way)
    cut()
    clock.pass_time(3)
    assert not client.response(seq)["success"]


def test_a_breakpoint_does_not_wait_for_a_caller_that_is_cut_off(cut_off, gang, adapter, clock):
    client, cut = cut_off
    take_notes(gang.workers[0], adapter)
    client.ok("raydbg/stepIntoRemote", {"threadId": 1})
    adapter.wait_request("continue")
    gang.add("leaf", adapter=FakeAdapter(), parent=gang.workers[0].task)
    client.stopped()
    held = hold(adapter, "setBreakpoints")
    seq = set_line(client, 33)
    wait_until(lambda: held, "the caller is asked")
    cut()
    clock.pass_time(3)
    assert client.check(client.response(seq))["breakpoints"]


def test_a_caller_of_the_users_own_gets_the_filters_as_they_are(cut_off, gang, adapter):
    """It is not in a post mortem: with "uncaught" it would stop where it ends with an error."""
    client, _ = cut_off
    take_notes(gang.workers[0], adapter)
    client.ok("raydbg/stepIntoRemote", {"threadId": 1})
    adapter.wait_request("continue")
    callee = gang.add("leaf", adapter=FakeAdapter(), parent=gang.workers[0].task)
    client.stopped()
    client.ok("setExceptionBreakpoints", {"filters": ["raised"]})
    assert callee.adapter.requests("setExceptionBreakpoints")[-1]["arguments"]["filters"] == ["uncaught", "raised"]
    assert adapter.requests("setExceptionBreakpoints")[-1]["arguments"]["filters"] == ["raised"]


# --- the note in the worker ---

def uuid_of(request):
    return re.search("'([0-9a-f]{32})'", request["arguments"]["expression"])[1]


def takes_back(request, note):
    """Whether this takes the note back. Without a frame pydevd would do so at once, and then make the note."""
    return (uuid_of(request) == uuid_of(note) and "b''" in request["arguments"]["expression"]
            and request["arguments"]["frameId"] == note["arguments"]["frameId"])


def test_a_note_that_may_be_made_late_is_taken_back(attached, caller, clock):
    client, thread = attached()
    seq, held = send_held(client, caller.adapter, "raydbg/stepIntoRemote", "evaluate")
    clock.pass_time(3)
    refused = client.response(seq)
    assert not refused["success"] and "the worker has not answered" in refused["message"]
    wait_until(lambda: len(held) == 2, lambda: f"the note is taken back: {held}")
    assert takes_back(held[1][1], held[0][1])
    take_notes(caller)
    for connection, request in held:
        caller.adapter.on["evaluate"](connection, request)
    client.ok("raydbg/stepIntoRemote", {"threadId": thread})
    client.disconnect()


def test_a_client_that_leaves_takes_its_note_back(attached, caller):
    client, _ = attached()
    seq, held = send_held(client, caller.adapter, "raydbg/stepIntoRemote", "evaluate")
    leaving = client.send("disconnect")
    wait_until(lambda: len(held) > 1, lambda: f"the note is taken back: {held}")
    assert takes_back(held[1][1], held[0][1])
    take_notes(caller)
    for connection, request in held:
        caller.adapter.on["evaluate"](connection, request)
    client.check(client.response(leaving))
    assert not client.response(seq)["success"]


def test_the_note_of_a_remote_task_is_taken_back_when_its_caller_stops_first(step_into, caller):
    client, callee, inside = step_into()
    take_notes(callee)
    client.ok("raydbg/stepIntoRemote", {"threadId": inside})
    callee.adapter.wait_request("continue")
    caller.adapter.connection().stop("breakpoint")
    assert client.stopped()["threadId"] == 1
    notes = wait_until(lambda: [request for request in callee.adapter.requests("evaluate") if "debugger_breakpoint" in str(request)][1:],
                       "it is taken back")
    assert "b''" in notes[0]["arguments"]["expression"]
    client.disconnect()


# --- a caller that stops while the remote task has not started ---

def wait_output(client, text):
    client.wait_event("output", lambda body: text in body["output"])


@pytest.fixture
def caller_stopped(attached, caller):
    """The client's step into a remote task that does not start, and whose caller has stopped."""
    client, thread = attached()
    client.ok("raydbg/stepIntoRemote", {"threadId": thread})
    caller.adapter.wait_request("continue")
    client.ok("threads")  # the caller has answered that and goes on
    caller.adapter.connection().stop("breakpoint")
    wait_until(lambda: len([one for one in caller.adapter.requests("evaluate") if "debugger_breakpoint" in str(one)]) == 2,
               "the relay asks whether the note was used")  # it also evaluates for itself at a stop
    client.ok("threads")  # the answer to that has been read
    return client, thread


LATER = "if the remote task starts later, it stops at its first line and waits for a debugger: 'raydbg list' shows it"


def test_the_stop_is_shown_when_the_remote_task_has_not_started_for_long(caller_stopped, clock):
    client, thread = caller_stopped
    clock.pass_time(3)
    wait_output(client, "outer has stopped meanwhile: 'pause' shows that stop")
    assert len(client.events("stopped")) == 1
    clock.pass_time(61)
    wait_output(client, "the other task does not stop: it has not started")
    wait_output(client, LATER)
    assert client.stopped()["threadId"] == thread
    client.disconnect()


def test_pause_shows_the_stop_at_once(caller_stopped, caller):
    client, thread = caller_stopped
    client.ok("pause", {"threadId": thread})
    wait_output(client, LATER)
    stop = client.stopped()
    assert (stop["threadId"], stop["reason"]) == (thread, "breakpoint")
    assert not caller.adapter.requests("pause")
    client.disconnect()


@pytest.mark.parametrize("used", [True, False])
def test_pause_says_later_whether_the_remote_task_will_stop(attached, caller, used):
    """The worker says only after the stop was shown that the remote task has been called before it, or was not."""
    client, thread = attached()
    client.ok("raydbg/stepIntoRemote", {"threadId": thread})
    caller.adapter.wait_request("continue")
    client.ok("threads")
    held = hold(caller.adapter, "evaluate")
    caller.adapter.connection().stop("breakpoint")
    wait_until(lambda: held, "the relay asks whether the note was used")
    client.ok("pause", {"threadId": thread})
    assert client.stopped()["threadId"] == thread
    (connection, request), = held
    connection.respond(request, {"result": str(not used), "variablesReference": 0, "type": "bool"})
    if used:
        wait_output(client, LATER)
    client.ok("threads")
    assert len([event for event in client.events("output") if LATER in event["body"]["output"]]) == used
    client.disconnect()


def test_pause_shows_the_stops_of_all_threads(caller_stopped, caller):
    client, thread = caller_stopped
    caller.adapter.connection().stop("breakpoint", thread=2)
    client.ok("threads")
    client.ok("pause", {"threadId": thread})
    assert {client.stopped()["threadId"], client.stopped()["threadId"]} == {thread, 2}
    client.disconnect()


@pytest.fixture
def caller_goes_on(caller_stopped, caller):
    """The same, and the caller goes on: another client has let it."""
    client, thread = caller_stopped
    caller.adapter.connection().event("continued", {"threadId": thread, "allThreadsContinued": True})
    client.ok("threads")
    return client, thread


def breakpoint_stops(client):
    return [event for event in client.events("stopped") if event["body"]["reason"] == "breakpoint"]


def test_pause_pauses_a_caller_that_has_gone_on(caller_goes_on, caller):
    client, thread = caller_goes_on
    client.ok("pause", {"threadId": thread})
    assert caller.adapter.requests("pause")
    client.ok("threads")
    assert len(breakpoint_stops(client)) == 1
    client.disconnect()


def test_a_stop_that_is_over_is_not_shown(caller_goes_on, clock):
    client, _ = caller_goes_on
    clock.pass_time(3)
    wait_output(client, "waiting for the next remote task to start")
    clock.pass_time(61)
    wait_output(client, "the other task does not stop: it has not started")
    client.ok("threads")
    assert not [event for event in client.events("output") if "has stopped meanwhile" in event["body"]["output"]]
    assert len(breakpoint_stops(client)) == 1
    client.disconnect()


def test_a_pause_of_the_caller_is_shown_at_once(attached, caller):
    """The caller runs, and waits for a remote task that does not start: no second pause is needed."""
    client, thread = attached()
    client.ok("raydbg/stepIntoRemote", {"threadId": thread})
    caller.adapter.wait_request("continue")
    client.ok("pause", {"threadId": thread})
    assert client.stopped()["reason"] == "pause"
    assert not [event for event in client.events("output") if "it has not started" in event["body"]["output"]]
    assert [event for event in client.events("output") if LATER in event["body"]["output"]]
    client.disconnect()
