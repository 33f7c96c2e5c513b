"""Child sessions: a parent has its client start one for each pause, by DAP's startDebugging and a ticket."""

import re
import threading

import pytest
from dap_client import DapError
from fake_gang import FakeGang
from kernel_queues import wait_stuck
from parent_editor import MANY, Editor
from relay_under_test import RelayUnderTest
from waits import limit, wait_until

LOOK = "GetAllWorkerInfo"
NOTE = "no session was started"


@pytest.fixture
def gang():
    with FakeGang(["Trainer.step", "Trainer.step", "load"]) as fake:
        yield fake


@pytest.fixture
def relay(run_relay, gang):
    return run_relay(adapter=None, address=gang.address)


def of(gang, child):
    """The worker that a child's configuration names."""
    return next(w for w in gang.workers if w.task_id == child.configuration["task"])


def look_again(gang, editor):
    """Until the relay has looked at the cluster a few times more, and the parent has what it would have said then."""
    gang.wait_asked(LOOK, gang.asked[LOOK] + 3)
    editor.client.ok("threads")


def refusal(client, **arguments):
    answer = client.request("attach", arguments)
    assert not answer["success"], answer
    return answer["message"]


@pytest.mark.parametrize("kind", ["tcp", "websocket"])
def test_each_pause_is_a_session(relay, gang, kind):
    editor = Editor(relay, kind).attach()
    children = editor.wait_children(3)
    assert {of(gang, child).pid for child in children} == {5001, 5002, 5003}
    for child in children:
        worker = of(gang, child)
        child.client.ok("setBreakpoints", {"source": {"path": "/app/app.py"}, "breakpoints": [{"line": worker.pid}]})
        assert worker.adapter.requests("setBreakpoints")[-1]["arguments"]["breakpoints"][0]["line"] == worker.pid
        assert child.client.locals(child.client.stack(1)[0]["id"])["x"]["value"] == "3"
    assert len(editor.asked) == 3


def test_what_a_child_is_started_with(relay, gang):
    """What the parent was given, but for what is the parent's own; a name that tells tasks apart at once."""
    extra = {"pathMappings": [{"localRoot": "/é", "remoteRoot": "/r"}], "relay": "me:1", "cluster": "prod", "mine": 1e3,
             "onDisconnect": "hold", "redirectOutput": True}
    own = {"name": "All", "__sessionId": "x", "preLaunchTask": "build", "type": "ray-dbg", "node": "127.0.0.1",
           "maxSessions": 7}
    editor = Editor(relay, lazy=True).attach(**extra, **own)
    editor.wait_asked(3)
    for child in editor.asked:
        assert child.request["arguments"]["request"] == "attach"
        assert set(child.configuration) == {*extra, "type", "request", "name", "task", "ticket"}
        assert extra.items() <= child.configuration.items()
        assert child.configuration["type"] == "ray-dbg" and child.configuration["request"] == "attach"
        assert re.fullmatch("[0-9a-f]{64}", child.configuration["ticket"])
        worker = of(gang, child)
        assert child.name == f"pid {worker.pid} {worker.name} 127.0.0.1"
    assert len({child.name[:12] for child in editor.asked}) == 3
    assert len({child.configuration["ticket"] for child in editor.asked}) == 3
    assert relay.token not in str([entry.raw for entry in editor.client.transcript if entry.way == "<"])


def test_the_parent_has_no_threads_of_its_own(relay):
    editor = Editor(relay)
    attach = editor.client.send("attach", relay.attach_arguments(**MANY))
    editor.client.wait_event("initialized")
    body = editor.client.ok("setBreakpoints", {"source": {"path": "/app/app.py"}, "breakpoints": [{"line": 3}, {"line": 4}]})
    assert [b["verified"] for b in body["breakpoints"]] == [False, False]
    assert not editor.asked
    editor.client.ok("configurationDone")
    editor.client.check(editor.client.response(attach))
    assert editor.client.ok("threads") == {"threads": []}
    for command in "evaluate", "next", "continue", "stackTrace", "pause":
        assert "a session of its own" in editor.client.request(command, {"threadId": 1, "expression": "1"})["message"]
    assert not editor.client.request("configurationDone")["success"]
    assert "already attached" in editor.client.request("attach", relay.attach_arguments(**MANY))["message"]
    editor.wait_children(3)


def test_only_what_matches(relay, gang):
    editor = Editor(relay).attach(tasks="Trainer.*")
    assert {of(gang, child).pid for child in editor.wait_children(2)} == {5001, 5002}
    look_again(gang, editor)
    assert len(editor.asked) == 2


def test_a_ticket_is_good_once(relay, gang):
    editor = Editor(relay, lazy=True).attach()
    first = editor.wait_asked(1)[0].start()
    again = relay.dap_tcp("again")
    again.initialize()
    assert "used" in refusal(again, **first.configuration)
    again.wait_end()
    assert len(of(gang, first).adapter.connections) == 1


def test_a_wrong_argument_of_a_child_reaches_no_worker(relay, gang):
    """An editor may change what it was asked to start; the ticket is still good."""
    editor = Editor(relay, lazy=True).attach()
    child = editor.wait_asked(1)[0]
    client = relay.dap_tcp("a child")
    client.initialize()
    assert '"pathMappings" must be' in refusal(client, **child.configuration, pathMappings={"/app": "/home/me"})
    assert not of(gang, child).adapter.connections
    client.attach(child.configuration)
    client.stopped()


def test_unknown_tickets(relay, gang):
    """Nothing reaches a task, and who has shown nothing else is sent away."""
    stranger = relay.dap_tcp("stranger")
    stranger.initialize()
    assert "none of this relay's" in refusal(stranger, ticket="0" * 64, task="load")
    stranger.wait_end()
    known = relay.dap_tcp("known")
    known.initialize()
    assert "none of this relay's" in refusal(known, ticket="0" * 64, token=relay.token, task="load")
    known.wait_end()
    friend = relay.websocket("friend")
    friend.initialize()
    assert "none of this relay's" in refusal(friend, ticket="", task="load")
    friend.attach({"task": "load"})  # the connection is still good
    assert not gang.workers[0].adapter.connections


def test_the_parents_role_is_the_childs(run_relay, gang, tmp_path):
    token = tmp_path / "observer"
    token.write_text("an-observers-token-0123456789\n")
    token.chmod(0o600)
    relay = run_relay("--observer-token-file", str(token), adapter=None, address=gang.address)
    editor = Editor(relay, lazy=True)
    editor.client.attach(relay.attach_arguments(**MANY, token=token.read_text().strip()))
    for child in editor.wait_asked(3):
        child.start()
        assert "observe" in child.client.request("next", {"threadId": 1})["message"]
    driver = Editor(relay, lazy=True).attach()
    ticket = driver.wait_asked(1)[0].configuration
    client = relay.websocket("weak", token=token.read_text().strip())
    client.initialize()
    client.attach(dict(ticket))
    client.stopped()
    assert "observe" in client.request("next", {"threadId": 1})["message"], "a ticket gave more than the connection's token"


def test_no_more_than_max_sessions(relay, gang):
    for number in range(3):
        gang.add(f"more{number}")
    editor = Editor(relay).attach(maxSessions=2)
    said = editor.said("more paused task")
    assert "raydbg: 4 more paused tasks wait until one of 2 sessions ends (maxSessions): pid 5003 load" in said
    children = editor.wait_children(2)
    look_again(gang, editor)
    assert len(editor.asked) == 2 and {of(gang, child).pid for child in children} == {5001, 5002}
    children[0].client.disconnect()
    assert of(gang, editor.wait_children(3)[2]).pid == 5003
    gang.remove(of(gang, children[1]))  # its worker dies: `terminated`, and the client disconnects
    children[1].client.wait_event("terminated")
    children[1].client.disconnect()
    assert of(gang, editor.wait_children(4)[3]).pid == 5004
    look_again(gang, editor)
    assert len(editor.asked) == 4


def test_pauses_that_come_later(relay, gang):
    editor = Editor(relay).attach()
    editor.wait_children(3)
    late = gang.add("late")
    assert of(gang, editor.wait_children(4)[3]) is late
    quiet = gang.add("quiet")
    quiet.waits = False
    look_again(gang, editor)
    assert len(editor.asked) == 4
    quiet.waits = True
    assert of(gang, editor.wait_children(5)[4]) is quiet


def test_who_has_left_a_task_is_not_brought_back_to_it(relay, gang):
    editor = Editor(relay).attach(tasks=["load"])
    child = editor.wait_children(1)[0]
    child.client.disconnect()
    look_again(gang, editor)
    assert len(editor.asked) == 1 and relay.pauses()[-1]["state"] == "held"
    worker = of(gang, child)
    assert relay.post("release", worker.adapter).status == 200
    assert of(gang, editor.wait_children(2)[1]) is worker  # FakeGang: it waits again


def test_a_client_that_refuses(relay, gang):
    editor = Editor(relay, willing=False).attach(maxSessions=1)
    for name in "Trainer.step", "Trainer.step", "load":
        assert f"{name}" in (said := editor.said(NOTE)) and "the client would not: the user said no" in said
    look_again(gang, editor)
    assert len(editor.asked) == 3


def test_a_child_that_cannot_attach(relay, gang):
    """Its parent does not try again, and others get its slot."""
    gang.workers[0].adapter.on["attach"] = lambda c, request: c.respond(request, success=False, message="no way")
    editor = Editor(relay).attach(maxSessions=1)
    wait_until(lambda: editor.failures, "the first has failed")
    with pytest.raises(DapError):
        raise editor.failures.pop()
    failed = next(client for client in relay.clients if client.name.startswith("pid 5001"))
    failed.disconnect()
    assert of(gang, editor.wait_children(1)[0]).pid == 5002
    look_again(gang, editor)
    assert [of(gang, child).pid for child in editor.asked] == [5001, 5002]


def fail_with_ticket(relay, child):
    """A client whose ticket was good, and whose attach was refused nevertheless."""
    client = relay.dap_tcp("in vain")
    client.initialize()
    assert "takeOver" in refusal(client, **child.configuration, role="observer", takeOver=True)
    return client


def test_a_second_attach_on_a_childs_connection(relay, gang):
    """The ticket of the first one is over: its slot is another's, and the parent knows nothing of the session that is gone."""
    editor = Editor(relay, lazy=True).attach(maxSessions=1)
    client = fail_with_ticket(relay, editor.wait_asked(1)[0])
    assert "used" in refusal(client, **editor.asked[0].configuration)
    second = editor.wait_asked(2)[1]
    client.attach(dict(second.configuration))
    client.stopped()
    client.disconnect()
    client.wait_end()
    editor.client.disconnect()
    assert not gang.workers[0].adapter.connections and of(gang, second).pid == 5002


def test_a_child_that_failed_twice_and_its_parent_leave(relay):
    editor = Editor(relay, lazy=True).attach()
    first, second, _ = editor.wait_asked(3)
    for child in first, second:
        client = fail_with_ticket(relay, child)
        assert "used" in refusal(client, **child.configuration)
        client.disconnect()
        client.wait_end()
    wait_until(lambda: len(relay.sessions()) == 1, lambda: relay.sessions())
    editor.client.disconnect()
    wait_until(lambda: not relay.sessions(), lambda: relay.sessions())


def test_an_attach_without_the_ticket_that_has_failed(relay, gang):
    """It is to the task that it names."""
    editor = Editor(relay, lazy=True).attach()
    first, second, _ = editor.wait_asked(3)
    client = fail_with_ticket(relay, first)
    client.attach({"task": second.configuration["task"]})
    client.stopped()
    assert not of(gang, first).adapter.connections and len(of(gang, second).adapter.connections) == 1


@pytest.mark.parametrize("how", ["disconnect", "terminate", "kill", "close"])
def test_the_parents_end(relay, gang, how):
    """Each child gets `terminated`, its task stays held, and a ticket that is out is worth nothing."""
    editor = Editor(relay, lazy=True).attach()
    first, second, third = editor.wait_asked(3)
    first.start(), second.start()
    if how == "close":
        editor.client.close()
    elif how == "terminate":
        editor.client.ok("terminate")
        editor.client.wait_event("terminated")
    else:
        editor.client.disconnect(terminateDebuggee=how == "kill")
    for child in first, second:
        child.client.wait_event("output", lambda body: "started this one" in body["output"])
        child.client.wait_event("terminated")
        child.client.disconnect()
        child.client.wait_end()
    late = relay.dap_tcp("late")
    late.initialize()
    assert "no longer good" in refusal(late, **third.configuration)
    states = {pause["pid"]: pause["state"] for pause in relay.pauses()}
    assert states == {5001: "held", 5002: "held", 5003: "waiting"}
    for worker in gang.workers[:2]:
        assert not worker.adapter.connection().ended.is_set()
        assert not {"continue", "disconnect"} & set(worker.adapter.commands())


def test_the_parent_ends_while_a_child_attaches(relay, gang):
    hold = threading.Event()
    on_attach = gang.workers[2].adapter.on["attach"]
    gang.workers[2].adapter.on["attach"] = lambda c, request: hold.wait(limit()) and on_attach(c, request)
    editor = Editor(relay, lazy=True).attach(tasks=["load"])
    child = editor.wait_asked(1)[0]
    client = relay.dap_tcp("slow")
    client.initialize()
    attach = client.send("attach", child.configuration)
    gang.workers[2].adapter.wait_request("attach")
    editor.client.disconnect()
    assert not client.response(attach)["success"]
    client.wait_event("terminated")
    client.wait_end()
    hold.set()


def test_the_parent_ends_while_a_childs_task_reads_nothing(relay, gang, gate):
    """The child's client is read again: all that it has asked for is answered, and so is its goodbye."""
    editor = Editor(relay, lazy=True).attach(tasks=["load"])
    client = editor.wait_asked(1)[0].start().client
    adapter = gang.workers[2].adapter
    adapter.on["evaluate"] = shut = gate(adapter.on["evaluate"])
    full = threading.Event()

    def flood():
        while not full.is_set():
            client.send("evaluate", {"expression": "x" * 30_000, "frameId": 3})

    sender = threading.Thread(target=flood, daemon=True)
    sender.start()
    shut.wait_reached()
    wait_stuck(relay, client.transport.sock)
    full.set()
    editor.client.disconnect()
    client.wait_event("terminated")
    sender.join(limit())
    client.disconnect()
    client.wait_end()


def test_names_are_not_for_an_editor_to_act_on(relay, gang):
    gang.add("${command:workbench.action.quit}")
    editor = Editor(relay, lazy=True).attach()
    assert not [child for child in editor.wait_asked(4) if "${" in child.request["arguments"]["configuration"]["name"]]


def test_many_parents_come_and_go(relay, gang):
    """In any order, with children that are asked for, attached and leaving."""
    for round_ in range(6):
        editor = Editor(relay, "websocket" if round_ % 2 else "tcp", lazy=True).attach(maxSessions=3)
        children = editor.wait_asked(3)
        for child in children[:round_ % 4]:
            child.start()
        if round_ % 3 == 0:
            editor.client.close()
        elif round_ % 3 == 1:
            for child in children[:round_ % 4]:
                child.client.close()
            editor.client.disconnect()
    wait_until(lambda: len(relay.sessions()) <= 8, lambda: relay.sessions())


class Bridges:
    """What an editor whose adapter is `raydbg dap` starts for each session; `relay` is where it goes."""

    def __init__(self, relay):
        self.relay, self.token, self.started = relay, relay.token, []

    def client(self, kind, name):
        host, port = self.relay.address
        self.started.append(RelayUnderTest(None, "--relay", f"{host}:{port}",
                                           env={"XDG_STATE_HOME": str(self.relay.state / "s")}))
        return self.started[-1]

    def attach_arguments(self, kind, **arguments):
        return {"request": "attach", **arguments}


@pytest.fixture
def bridges(relay):
    them = Bridges(relay)
    yield them
    for client in them.started:
        if client.process.returncode is None:
            client.close()


def test_over_raydbg_dap(relay, gang, bridges):
    """Each session is a process of its own. A relay that is killed takes the parent with it, and no child."""
    editor = Editor(bridges).attach()
    children = editor.wait_children(3)
    relay.kill9()
    editor.client.wait_event("terminated")
    relay.restart()
    for child in children:
        child.client.wait_event("output", lambda body: "the relay is back" in body["output"])
        assert child.client.locals(child.client.stack(1)[0]["id"])["x"]["value"] == "3"
        assert len(of(gang, child).adapter.connections) == 1
        child.client.disconnect()
