"""A connection to debugpy's adapter ends only when that does the adapter no harm, whoever dies.

The real adapter ends, or accepts nobody any more, if its client is gone while it greets or when it answers; the real
one is in tests/integration/test_closer.py.
"""

import socket
import threading

import pytest
from dap_client import DapError
from waits import limit, wait_until

QUIET = 0.6  # far longer than a connection that nobody keeps takes to be seen closed


@pytest.fixture
def let_pass(clock):
    """let_pass(): what would end the connection would have done so by now."""
    def run():
        clock.pass_time(0)  # the closer has seen who is dead
        clock.pass_time(30 if clock.skips else QUIET)
    return run


def unread(connection):
    """What the adapter has not read; b"" if the peer has closed, None if nothing is there."""
    try:
        return connection.sock.recv(100_000, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None


def closed(connection):
    """Whether the peer has closed, or wants to."""
    waiting = unread(connection)
    return waiting == b"" or b"disconnect" in (waiting or b"")


def kill(relay):
    relay.process.kill()
    relay.process.wait(limit())


def hang_up(relay):
    relay.process.stdin.close()
    relay.process.wait(limit())


def terminate(relay):
    relay.process.terminate()
    relay.process.wait(limit())


def check(relay):
    if relay.process.returncode != -9:
        relay.check_process()


ENDS = pytest.mark.parametrize("end", [kill, hang_up, terminate])


@ENDS
def test_an_attach_is_answered_before_the_connection_ends(adapter, start_relay, clock, let_pass, gate, end):
    adapter.on["attach"] = held = gate(adapter.on["attach"])
    relay = start_relay(adapter, env=clock.env)
    relay.initialize()
    relay.send("attach", {})
    held.wait_reached()
    end(relay)
    connection = adapter.connection()
    let_pass()
    assert not closed(connection) and "disconnect" not in adapter.commands()
    held.open()
    goodbye = adapter.wait_request("disconnect")
    assert goodbye["arguments"]["terminateDebuggee"] is False
    assert connection.ended.wait(limit())
    check(relay)


def test_a_greeting_is_heard_before_the_connection_ends(adapter, start_relay, clock, let_pass, gate):
    adapter.greet = held = gate(adapter.greet)
    relay = start_relay(adapter, env=clock.env)
    relay.initialize()
    relay.send("attach", {})
    held.wait_reached()
    connection = adapter.connection()
    wait_until(lambda: b"initialize" in (unread(connection) or b""), "it has sent what will be answered")
    kill(relay)
    let_pass()
    assert b"initialize" in (unread(connection) or b"") and not closed(connection)
    held.open()
    adapter.wait_request("disconnect")
    assert connection.ended.wait(limit())
    check(relay)


@ENDS
def test_an_evaluate_is_answered_before_the_goodbye(adapter, start_relay, clock, let_pass, gate, end):
    relay = start_relay(adapter, env=clock.env)
    relay.start()
    adapter.on["evaluate"] = held = gate(adapter.on["evaluate"])
    relay.send("evaluate", {"expression": "slow()"})
    held.wait_reached()
    ended = threading.Thread(target=end, args=(relay,))
    ended.start()
    connection = adapter.connection()
    let_pass()
    assert not closed(connection)
    held.open()
    adapter.wait_request("disconnect")
    assert connection.ended.wait(limit())
    ended.join(limit())
    assert adapter.commands().count("disconnect") == 1
    check(relay)


def test_a_disconnect_waits_for_an_evaluate(adapter, start_relay, clock):
    """The real adapter answers an evaluate out of order: a goodbye that overtakes it ends the adapter."""
    asked = []
    relay = start_relay(adapter, env=clock.env)
    relay.start()
    adapter.on["evaluate"] = lambda c, request: asked.append((c, request))
    evaluate = relay.send("evaluate", {"expression": "slow()"})
    adapter.wait_request("evaluate", 2)
    disconnect = relay.send("disconnect", {})
    clock.pass_time(0)  # it is read
    clock.pass_time(QUIET)
    assert "disconnect" not in adapter.commands()
    adapter.on["evaluate"] = adapter.on_evaluate  # a machine that stood still for a second may have had it given up, too
    for connection, request in asked:
        connection.respond(request, {"result": "1", "variablesReference": 0})
    adapter.wait_request("disconnect")
    assert relay.response(disconnect)["success"]
    relay.response(evaluate)
    relay.close()


GIVE_UP = "None and 'raydbg: give up'"


class Endless:
    """The adapter's `evaluate`: what is asked is answered by the test, or when the worker gives it up."""

    def __init__(self, adapter, result="interrupted 1", answers=True):
        self.adapter, self.result, self.answers = adapter, result, answers
        self.asked, self.asked_to_give_up = [], threading.Event()
        adapter.on["evaluate"] = self

    def __call__(self, connection, request):
        if request["arguments"]["expression"] != GIVE_UP:
            self.asked.append((connection, request))
            return
        self.asked_to_give_up.set()
        for one in self.asked if self.answers else ():
            connection.respond(one[1], success=False, message="raydbg: interrupted")
        connection.respond(request, {"result": self.result, "variablesReference": 0})

    def answer(self):
        connection, request = self.asked.pop()
        connection.respond(request, {"result": "1", "variablesReference": 0})


def test_an_evaluate_without_end_does_not_keep_the_client(adapter, start_relay, clock, let_pass):
    """Neither does a worker that cannot give it up: the goodbye waits for the answer, in the closer."""
    relay = start_relay(adapter, env=clock.env)
    relay.start()
    endless = Endless(adapter, answers=False)
    relay.send("evaluate", {"expression": "for_ever()"})
    adapter.wait_request("evaluate", 2)
    leaving = relay.send("disconnect", {})
    clock.pass_time(8.5)
    relay.response(leaving)
    relay.process.stdin.close()
    relay.process.wait(limit())
    let_pass()
    connection = adapter.connection()
    assert not closed(connection) and "disconnect" not in adapter.commands()
    endless.answer()
    adapter.wait_request("disconnect")
    assert connection.ended.wait(limit())
    check(relay)


@pytest.mark.parametrize("result, said", [("interrupted 1", "was interrupted"), ("busy MainThread, other", "(MainThread, other)"),
                                          ("interrupted 0", None), ("None", None), ("", None)])
def test_who_leaves_hears_what_became_of_an_evaluate(adapter, start_relay, result, said):
    relay = start_relay(adapter)
    relay.start()
    endless = Endless(adapter, result)
    evaluate = relay.send("evaluate", {"expression": "for_ever()"})
    adapter.wait_request("evaluate", 2)
    relay.disconnect()
    assert endless.asked_to_give_up.is_set() and adapter.commands()[-1] == "disconnect"
    assert relay.response(evaluate)["success"] is False
    relay.close()
    told = "".join(event["body"]["output"] for event in relay.events("output"))
    assert said in told if said else "evaluated" not in told, told


@ENDS
def test_an_evaluate_without_end_is_given_up(adapter, start_relay, end):
    """Whoever dies: nobody reads the answer, and the task goes on."""
    relay = start_relay(adapter)
    relay.start()
    endless = Endless(adapter)
    relay.send("evaluate", {"expression": "for_ever()"})
    adapter.wait_request("evaluate", 2)
    end(relay)
    adapter.wait_request("disconnect")
    assert endless.asked_to_give_up.is_set()
    assert adapter.connection().ended.wait(limit())
    check(relay)


def test_a_held_task_is_rid_of_an_evaluate_without_end(adapter, hub):
    """The relay holds the stop; the next client finds the thread free."""
    first = hub.join()
    first.stopped()
    endless = Endless(adapter)
    first.strict = False
    first.send("evaluate", {"expression": "for_ever()"})
    wait_until(lambda: endless.asked, "it is evaluated")
    first.transport.reset()
    assert endless.asked_to_give_up.wait(limit())
    assert "disconnect" not in adapter.commands()
    hub.join().stopped()


def test_who_comes_next_does_not_wait_for_an_evaluate_without_end(adapter, hub):
    """It is given up at the join, or, if the debugger works for the relay just then, a second later."""
    first = hub.join()
    first.stopped()
    endless = Endless(adapter)
    first.strict = False
    first.send("evaluate", {"expression": "for_ever()"})
    wait_until(lambda: endless.asked, "it is evaluated")
    first.transport.reset()
    wait_until(lambda: hub.pause()["clients"] == 0, "the relay notices")
    second = hub.join()
    second.stopped()
    second.ok("modules")
    assert endless.asked_to_give_up.wait(limit())


def test_nothing_is_given_up_while_it_works_for_another_client(adapter, run_relay, clock):
    hub = run_relay(env=clock.env)
    first, second = hub.join(name="first"), hub.join(name="second")
    first.stopped()
    second.stopped()
    endless = Endless(adapter)
    asked = []
    adapter.on["modules"] = lambda c, request: asked.append((c, request))
    first.strict = False
    first.send("evaluate", {"expression": "for_ever()"})
    wait_until(lambda: endless.asked, "it is evaluated")
    modules = second.send("modules")
    wait_until(lambda: asked, "it works")
    first.transport.reset()
    wait_until(lambda: hub.pause()["clients"] == 1, "the relay notices")
    clock.pass_time(3 * QUIET)
    assert not [one for one in adapter.requests("evaluate") if one["arguments"]["expression"] == GIVE_UP]
    adapter.on_modules(*asked[0])
    second.check(second.response(modules))
    assert endless.asked_to_give_up.wait(limit())
    second.ok("threads")


def test_a_client_that_is_leaving_is_waited_for(adapter, relay):
    refusals = []
    attach = adapter.on["attach"]

    def busy_once(connection, request):
        if refusals:
            attach(connection, request)
        else:
            refusals.append(connection)
            connection.respond(request, success=False, message="'Server[pid=258] is already being debugged.'")

    adapter.on["attach"] = busy_once
    assert relay.start()["reason"] == "breakpoint"
    assert adapter.connections == refusals  # a new one would be the end of a debugpy whose client is gone
    relay.disconnect()


@pytest.fixture
def refused_and_closed(adapter):
    """Runs a function when the adapter has refused the first attach, and then closes that connection."""
    attach = adapter.on["attach"]

    def prepare(then=lambda: None):
        def refuse_once(connection, request):
            if connection is not adapter.connections[0]:
                attach(connection, request)
                return
            connection.respond(request, success=False, message="'Server[pid=258] is already being debugged.'")
            then()
            connection.die()

        adapter.on["attach"] = refuse_once

    return prepare


def test_an_adapter_that_refuses_and_closes_is_connected_to_again(adapter, relay, refused_and_closed):
    refused_and_closed()
    assert relay.start()["reason"] == "breakpoint"
    assert len(adapter.connections) == 2
    relay.disconnect()


def test_an_adapter_that_refuses_and_ends_is_no_silent_one(adapter, relay, refused_and_closed):
    refused_and_closed(adapter.refuse_connections)
    relay.initialize()
    with pytest.raises(DapError, match="connection to the debugger at .* failed"):
        relay.attach({})
    relay.disconnect()


def test_another_client_that_stays_is_named(adapter, relay):
    def busy(connection, request):
        connection.respond(request, success=False, message="'Server[pid=258] is already being debugged.'")

    adapter.on["attach"] = busy
    relay.initialize()
    with pytest.raises(DapError, match="already being debugged by another client"):
        relay.attach({})
    relay.disconnect()


def test_a_deaf_adapter_is_told_from_a_stuck_one(adapter, start_relay, clock):
    adapter.greet = lambda c: c.ended.wait(limit())
    relay = start_relay(adapter, env=clock.env)
    relay.initialize()
    attaching = relay.send("attach", {})
    wait_until(lambda: adapter.connections, "the relay connects")
    clock.pass_time(15)
    with pytest.raises(DapError, match="attached does not read, or .* takes no client any more"):
        relay.check(relay.response(attaching))
    relay.disconnect()


def test_a_goodbye_is_answered_before_the_connection_ends(adapter, start_relay, clock, let_pass, gate):
    """On a busy machine that takes seconds; an adapter whose client is gone before it has answered ends."""
    relay = start_relay(adapter, env=clock.env)
    relay.start()
    adapter.on["disconnect"] = held = gate(adapter.on["disconnect"])
    kill(relay)
    clock.pass_time(1)
    held.wait_reached()
    connection = adapter.connection()
    let_pass()
    assert unread(connection) is None and not connection.ended.is_set()
    held.open()
    assert connection.ended.wait(limit())
    check(relay)


def test_an_adapter_that_passes_on_what_a_task_has_printed_keeps_its_client(adapter, start_relay, clock, gate):
    """It answers the goodbye behind that; one whose client is gone by then takes no other."""
    relay = start_relay(adapter, env=clock.env)
    relay.start()
    adapter.on["disconnect"] = held = gate(adapter.on["disconnect"])
    kill(relay)
    clock.pass_time(1)
    held.wait_reached()
    connection = adapter.connection()
    for _ in range(4):
        connection.event("output", {"category": "stdout", "output": "more"})
        clock.pass_time(45 if clock.skips else QUIET)
        assert unread(connection) is None and not connection.ended.is_set()
    clock.pass_time(61)
    wait_until(lambda: unread(connection) == b"", "the closer has given the adapter up")
    check(relay)


def test_an_adapter_that_never_falls_silent_is_left(adapter, start_relay, clock, gate):
    """A task that prints for ever would be debugged for ever."""
    relay = start_relay(adapter, env=clock.env)
    relay.start()
    adapter.on["disconnect"] = held = gate(adapter.on["disconnect"])  # while it prints, it does not end
    kill(relay)
    connection = adapter.connection()
    while not adapter.requests("disconnect"):
        connection.event("output", {"category": "stdout", "output": "more"})
        clock.pass_time(0.02)
    held.open()
    assert connection.ended.wait(limit())
    check(relay)
