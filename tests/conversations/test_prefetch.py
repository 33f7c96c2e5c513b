"""What a relay prefetches: a scripted adapter, a real `raydbg relay`, and a real `raydbg dap` beside the editor."""

import json
import re
import signal
import threading

import pytest
from dap_client import frame
from fake_gang import FakeGang
from fake_relay import FakeRelay
from kernel_queues import unread_by_peer
from many_adapter import ManyAdapter
from many_session import ALL, port_of, shown, threads
from waits import limit, settle, wait_until

LEVELS = 7
LOOKS = ("threads", "stackTrace", "scopes", "variables")


class Steps:
    """The adapter's side: each `next` ends in a stop, whose line and value of x say how many there were."""

    def __init__(self, adapter):
        self.adapter = adapter
        self.count = 0
        self.value = None  # by setVariable
        adapter.on["next"] = self.on_next
        adapter.on["stackTrace"] = self.on_stack
        adapter.on["variables"] = self.on_variables
        adapter.on["setVariable"] = self.on_set

    def on_next(self, connection, request):
        connection.respond(request)
        connection.event("continued", {"threadId": 1, "allThreadsContinued": False})
        self.count += 1
        self.value = None
        connection.stop("step", allThreadsStopped=False)

    def on_stack(self, connection, request):
        first = request["arguments"].get("startFrame", 0)
        frames = [{"id": 3 + index, "name": "square", "line": self.count, "column": 1,
                   "source": {"path": "/app/app.py", "sourceReference": 0}} for index in range(2)]
        levels = request["arguments"].get("levels") or 20
        connection.respond(request, {"stackFrames": frames[first:first + levels], "totalFrames": 2})

    def on_variables(self, connection, request):
        value = self.value or str(self.count)
        connection.respond(request, {"variables": [
            {"name": "x", "value": value, "type": "int", "variablesReference": 0},
            {"name": "parent", "value": "…", "type": "dict", "variablesReference": 60 + self.count}]})

    def on_set(self, connection, request):
        self.value = request["arguments"]["value"]
        connection.respond(request, {"value": self.value, "type": "int", "variablesReference": 0})

    def looks(self):
        """How often the adapter was asked each for the editor; the relay itself looks at stacks, too, with other levels."""
        return {command: len([m for m in self.adapter.requests(command)
                              if command != "stackTrace" or m["arguments"].get("levels") == LEVELS])
                for command in LOOKS}


def look(client, thread=1):
    """What an editor asks after a stop; the line and x that it sees."""
    client.ok("threads")
    frame = client.stack(thread, startFrame=0, levels=LEVELS)[0]
    return frame["line"], client.locals(frame["id"])["x"]["value"]


def come(editor):
    """How many answers have come to the editor's side ahead of their requests."""
    return editor.stderr().count("has been prefetched")


def pass_by(editor):
    """Until all that was on its way to the adapter and to the editor is there: as often as one look leads to the next."""
    for _ in LOOKS:
        editor.ok("modules")


def go(client):
    client.ok("next", {"threadId": 1})
    client.stopped(reason="step")


def more(looks, count=1):
    return {command: before + count for command, before in looks.items()}


@pytest.fixture
def steps(adapter):
    return Steps(adapter)


@pytest.fixture
def join(hub, adapter, start_relay, clock):
    """join(*arguments, NAME=value): `raydbg dap` with that relay, attached; it has stopped at its breakpoint."""
    def start(*arguments, **env):
        client = start_relay(None, "--relay", hub.addresses[0], *arguments,
                             env={"RAYDBG_TOKEN": hub.token, "XDG_STATE_HOME": str(hub.state / "s"),
                                  "HOME": str(hub.state), "RAYDBG_LOG": "debug", **clock.env, **env})
        client.initialize()
        client.attach({"request": "attach", "connect": adapter.address})
        client.stopped()
        return client
    return start


@pytest.fixture
def editor(steps, join):
    """Such a client, whose ways the relay knows: it has looked at two stops."""
    client = join()
    for _ in range(2):
        look(client)
        go(client)
    look(client)
    return client


@pytest.fixture
def ready(editor, steps):
    """That client, stopped again, and this many of the stop's answers are beside it: ready() does it, and gives the counts."""
    def start(count=len(LOOKS)):
        pass_by(editor)
        before, had = steps.looks(), come(editor)
        go(editor)
        wait_until(lambda: steps.looks() == more(before), lambda: f"{before}: {steps.looks()}")
        wait_until(lambda: come(editor) == had + count, lambda: f"{count} answers, not {come(editor) - had}")
        return steps.looks()
    return start


def test_a_step_is_answered_without_the_relay_being_asked(editor, ready, steps, hub):
    before = ready()
    hub.process.send_signal(signal.SIGSTOP)  # whatever comes now does not come from the relay
    try:
        assert look(editor) == (3, "3")
    finally:
        hub.process.send_signal(signal.SIGCONT)
    go(editor)
    assert look(editor) == (4, "4")
    assert steps.looks() == more(before)
    seqs = [e.message["seq"] for e in editor.transcript if e.way == "<"]
    assert seqs == sorted(set(seqs))
    assert not editor.events("raydbg/prefetch")
    assert "variables has a prefetched answer" in editor.stderr()


def test_it_is_counted(editor, ready, hub):
    ready()
    look(editor)
    go(editor)
    text = hub.http("GET", "/metrics").body.decode()
    asked, used = (int(re.search(rf"^raydbg_prefetch_{name}_total (\d+)$", text, re.MULTILINE).group(1))
                   for name in ("requests", "used"))
    assert asked > used >= 4


def test_each_answer_is_given_once(editor, ready, steps):
    before = ready()
    look(editor)
    look(editor)
    assert steps.looks() == more(before)


def test_another_frame_is_asked_for(editor, ready, adapter, steps):
    before = ready()
    asked = len(adapter.requests("scopes"))
    editor.ok("scopes", {"frameId": 4})
    assert adapter.requests("scopes")[asked]["arguments"] == {"frameId": 4}
    assert steps.looks()["scopes"] == before["scopes"] + 1


def set_x(client, value):
    client.ok("setVariable", {"variablesReference": 6, "name": "x", "value": value})


def test_a_value_that_was_set_is_seen(editor, ready):
    ready()
    set_x(editor, "77")
    assert look(editor) == (3, "77")


def test_an_expression_may_change_anything(editor, ready, adapter, steps):
    def evaluate(connection, request):
        steps.value = "78"
        connection.respond(request, {"result": "", "variablesReference": 0})
    ready()
    adapter.on["evaluate"] = evaluate
    editor.evaluate("x = 78")
    assert look(editor) == (3, "78")


def test_a_value_that_another_client_sets_is_seen(editor, ready, hub):
    ready()
    other = hub.join("tcp", takeOver=True)
    other.stopped()
    set_x(other, "79")
    editor.ok("scopes", {"frameId": 4})  # until the relay's word is there, the editor may be shown what was before
    assert look(editor) == (3, "79")


def test_what_another_client_only_looks_at_stays(editor, ready, hub, steps):
    other = hub.join("tcp")
    other.stopped()
    before = ready()
    other.stopped(reason="step")
    other.ok("scopes", {"frameId": 3})
    look(editor)
    assert steps.looks() == {**before, "scopes": before["scopes"] + 1}


def test_a_request_waits_for_its_answer(editor, adapter, steps, gate):
    """The adapter is slow: what is asked ahead is not asked twice."""
    before = steps.looks()
    adapter.on["scopes"] = scopes = gate(adapter.on_scopes)
    go(editor)
    frame = editor.stack(1, startFrame=0, levels=LEVELS)[0]
    waits = editor.send("scopes", {"frameId": frame["id"]})
    scopes.wait_reached()
    settle()
    scopes.open()
    scope = editor.check(editor.response(waits))["scopes"][0]
    assert editor.children(scope["variablesReference"])["x"]["value"] == "3"
    pass_by(editor)
    assert steps.looks() == {**more(before), "threads": before["threads"] + 1}


def test_an_adapter_that_is_very_slow(editor, adapter, steps):
    """Longer than an answer is good for; a request that waits for it is not old."""
    def scopes(connection, request):
        settle(2.5)
        adapter.on_scopes(connection, request)
    adapter.on["scopes"] = scopes
    before = steps.looks()
    go(editor)
    assert look(editor) == (3, "3")
    assert steps.looks() == more(before)


def test_what_is_old_is_not_used(editor, ready, steps, clock):
    """Another thread changes it without a word."""
    ready()
    steps.value = "81"
    clock.pass_time(2.1)
    assert look(editor) == (3, "81")


def test_an_answer_that_is_too_large(editor, ready, adapter, steps):
    """It is not sent ahead, and comes when it is asked for."""
    def variables(connection, request):
        connection.respond(request, {"variables": [
            {"name": "x", "value": "v" * 600_000, "type": "str", "variablesReference": 0}]})
    adapter.on["variables"] = variables
    before = ready(3)
    assert look(editor) == (3, "v" * 600_000)
    assert steps.looks() == {**before, "variables": before["variables"] + 1}


def test_a_word_does_not_come_into_a_large_message(editor, ready, hub, adapter, steps, gate):
    text, half_way = "s" * 900_000, gate(lambda: None)

    def source(connection, request):
        body = json.dumps({"seq": 9999, "type": "response", "request_seq": request["seq"], "success": True,
                           "command": "source", "body": {"content": text}}).encode()
        connection.send_raw(frame(body)[:500_000])
        half_way()
        connection.send_raw(frame(body)[500_000:])
    adapter.on["source"] = source
    other = hub.join("tcp")
    other.stopped()
    before = ready()
    large = editor.send("source", {"sourceReference": 1})
    half_way.wait_reached()
    wait_until(lambda: unread_by_peer(adapter.connection().sock) == 0, "the relay has the first half")
    watch = other.send("evaluate", {"expression": "x", "context": "watch"})
    assert not other.request("restart")["success"], "the relay's own answer: it has the evaluate"
    half_way.open()
    assert editor.check(editor.response(large))["content"] == text
    assert other.response(watch)["success"]
    editor.ok("scopes", {"frameId": 4})  # the word is before its answer
    assert look(editor) == (3, "3")
    assert steps.looks() == {**more(before), "scopes": before["scopes"] + 2}  # the word came


def test_a_step_while_answers_are_under_way(editor, steps):
    """What was asked before `next` is about what was before it, what is asked after is not."""
    asked = {}
    for _ in range(20):
        go(editor)
        asked[editor.send("stackTrace", {"threadId": 1, "startFrame": 0, "levels": LEVELS})] = steps.count
    for seq, line in asked.items():
        assert editor.check(editor.response(seq))["stackFrames"][0]["line"] == line
    assert look(editor) == (steps.count, str(steps.count))


def test_who_asks_nothing_gets_nothing(editor, steps):
    for _ in range(4):
        go(editor)
    pass_by(editor)
    before = steps.looks()
    for _ in range(3):
        go(editor)
    pass_by(editor)
    assert steps.looks() == before
    for _ in range(4):  # it does ask again
        look(editor)
        had = come(editor)
        go(editor)
    wait_until(lambda: come(editor) >= had + len(LOOKS), "the answers are there")
    looks = steps.looks()
    assert look(editor)[0] == steps.count
    assert steps.looks() == looks


def test_the_ways_of_vs_code(join, steps, adapter):
    """The top frame first, then the others; two scopes; and a variable that is open."""
    def look_all():
        client.ok("threads", {})
        top = client.stack(1, startFrame=0, levels=1)[0]
        client.stack(1, startFrame=1, levels=19)
        scopes = client.ok("scopes", {"frameId": top["id"]})["scopes"]
        values = [client.children(scope["variablesReference"]) for scope in scopes[:2]]
        client.children(values[0]["parent"]["variablesReference"])
        return values[0]["x"]["value"]

    client = join()
    for _ in range(3):
        look_all()
        pass_by(client)
        had = come(client)
        go(client)
    wait_until(lambda: come(client) == had + 7, lambda: f"seven answers, not {come(client) - had}: {client.stderr()[-4000:]}")
    before = len(adapter.requests())
    opened = adapter.requests("variables")[-1]["arguments"]["variablesReference"]
    assert opened == 60 + steps.count  # where `parent` is now
    assert look_all() == str(steps.count)
    asked = [m["command"] for m in adapter.requests()[before:]
             if m["command"] != "stackTrace" or m["arguments"].get("levels") != 20]
    assert asked == []


@pytest.mark.parametrize("arguments, env", [(["--no-prefetch"], {}), ([], {"RAYDBG_PREFETCH": "0"})])
def test_it_can_be_turned_off(join, steps, adapter, arguments, env):
    client = join(*arguments, **env)
    for _ in range(3):
        look(client)
        go(client)
    pass_by(client)
    asked = [m["command"] for m in adapter.requests() if m["command"] in (*LOOKS, "next")
             and (m.get("arguments") or {}).get("levels") != 20]  # which is the relay's own look at where it has stopped
    assert asked[-1] == "next", asked
    assert "supportsRaydbgAhead" not in adapter.requests("initialize")[0]["arguments"]


def test_a_relay_that_dies_in_between(editor, ready, hub, adapter, steps):
    """The new one is asked; nothing from before is used."""
    ready()
    seen = len(editor.events("stopped"))
    hub.kill9()
    steps.value = "80"
    hub.restart()
    wait_until(lambda: len(editor.events("stopped")) > seen, "the stop is told again")
    assert look(editor) == (3, "80")
    before = ready()  # the new one knows the editor's ways by now
    assert look(editor) == (4, "4")
    assert steps.looks() == before
    seqs = [e.message["seq"] for e in editor.transcript if e.way == "<"]
    assert seqs == sorted(set(seqs))


def test_a_relay_that_dies_while_a_request_waits(editor, hub, adapter):
    waits = threading.Event()

    def scopes(connection, request):
        waits.set()
        connection.ended.wait(limit())
    adapter.on["scopes"] = scopes
    go(editor)
    frame = editor.stack(1, startFrame=0, levels=LEVELS)[0]
    seq = editor.send("scopes", {"frameId": frame["id"]})
    assert waits.wait(limit())
    hub.kill9()
    answer = editor.response(seq)
    assert not answer["success"] and "the relay is gone" in answer["message"]
    adapter.connection().ended.set()
    adapter.on["scopes"] = adapter.on_scopes
    hub.restart()
    wait_until(lambda: any("is back" in e["body"]["output"] for e in editor.events("output")), "it is back")
    editor.ok("threads")  # the request that waited is not said again: one answer is what it had


def test_a_relay_that_knows_nothing_of_it(adapter, steps, start_relay, tmp_path):
    with FakeRelay(adapter, token="t" * 64) as relay:
        client = start_relay(None, "--relay", relay.address,
                             env={"RAYDBG_TOKEN": "t" * 64, "XDG_STATE_HOME": str(tmp_path)})
        client.start({"request": "attach"})
        for count in range(3):
            assert look(client) == (count, str(count))
            go(client)
        client.disconnect()
        client.wait_end()


def test_many_tasks_in_one_session(run_relay, start_relay, clock):
    """The answers are in the client's ids."""
    with FakeGang() as gang:
        for name in "Trainer.step", "load":
            gang.add(name, adapter=ManyAdapter())
        relay = run_relay(adapter=None, address=gang.address, env=clock.env)
        client = start_relay(None, "--relay", relay.addresses[0],
                             env={"RAYDBG_TOKEN": relay.token, "XDG_STATE_HOME": str(relay.state / "s"),
                                  "RAYDBG_LOG": "debug"})
        client.initialize()
        gang.seem_slow(clock)
        client.attach({"request": "attach", **ALL})
        shown(client)
        by_port = {port_of(client, thread): thread for thread in threads(client).values()}
        assert set(by_port) == {worker.adapter.port for worker in gang.workers}
        for worker in gang.workers * 3:  # in turns
            thread = by_port[worker.adapter.port]
            client.ok("next", {"threadId": thread})
            client.stopped(reason="step", threadId=thread)
            assert port_of(client, thread) == worker.adapter.port
        worker, thread = gang.workers[-1], by_port[gang.workers[-1].adapter.port]
        pass_by(client)
        before, had = len(worker.adapter.requests("variables")), come(client)
        client.ok("next", {"threadId": thread})
        client.stopped(reason="step", threadId=thread)
        worker.adapter.wait_request("variables", before + 1)
        wait_until(lambda: come(client) >= had + 3, lambda: f"three answers, not {come(client) - had}")
        assert port_of(client, thread) == worker.adapter.port
        assert len(worker.adapter.requests("variables")) == before + 1
