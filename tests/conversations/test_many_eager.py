"""An eager client of many tasks sees the first stop before the others have come, and those together."""

import contextlib
import threading

import pytest
from fake_adapter import PROGRAM
from fake_gang import FakeGang
from many_adapter import ManyAdapter
from many_session import ALL, port_of, shown, threads
from waits import wait_until

EAGER = {**ALL, "eager": True}


@pytest.fixture
def gangs():
    """gangs(): another cluster of three ranks."""
    with contextlib.ExitStack() as stack:
        def make():
            fake = stack.enter_context(FakeGang())
            for rank in range(3):
                fake.add("Trainer.step", adapter=ManyAdapter(rank=rank))
            return fake

        yield make


@pytest.fixture
def gang(gangs):
    return gangs()


@pytest.fixture(params=["relay", "alone"])
def attach(request, gang, run_relay, start_relay):
    """attach(**arguments): a client of an eager session over all of the gang, through a relay or without one."""

    def start(breakpoints=None, gang=gang, **arguments):
        arguments = {**EAGER, **arguments}
        if request.param == "relay":
            relay = run_relay(adapter=None, address=gang.address)
            client = relay.client("tcp")
            arguments = relay.attach_arguments("tcp", **arguments)
        else:
            client = start_relay(None, "--address", gang.address, "--no-relay")
        client.initialize(clientID="vscode", clientName="editor")
        client.attach(arguments, breakpoints)
        return client

    return start


def hold(worker, command="initialize"):
    """Its adapter answers that command once the event is set."""
    asked = []
    go = threading.Event()
    usual = getattr(worker.adapter, f"on_{command}")

    def late(connection, request):
        asked.append((connection, request))
        if go.is_set():
            usual(connection, request)

    def release():
        go.set()
        for connection, request in asked:
            usual(connection, request)

    worker.adapter.on[command] = late
    return release


def rest(client, first):
    """The event that shows those who came after it."""
    return client.wait_event("stopped", lambda body: body["allThreadsStopped"] and body is not first)["body"]


def test_the_first_is_shown_while_others_attach(attach, gang):
    release = hold(gang.workers[0])
    client = attach()
    first = shown(client)
    assert first["preserveFocusHint"] is False
    stopped = gang.workers[1:]
    wait_until(lambda: all("stackTrace" in worker.adapter.commands() for worker in stopped), lambda: "they stop")
    assert list(threads(client).values()) == [first["threadId"]]
    assert port_of(client, first["threadId"]) in [worker.adapter.port for worker in stopped]
    release()
    assert rest(client, first) == {**first, "preserveFocusHint": True}
    listed = threads(client)
    assert sorted(name[:6] for name in listed) == ["rank 0", "rank 1", "rank 2"]
    assert list(listed.values())[0] == first["threadId"]  # what an editor takes that looks for any that stands
    assert len(client.events("stopped")) == 2


def test_a_client_that_has_not_looked_is_shown_it_again(attach, gang):
    release = hold(gang.workers[0])
    client = attach()
    first = shown(client)
    release()
    assert rest(client, first) == first
    assert len(threads(client)) == 3


def test_the_first_can_leave_the_focus(attach, gang):
    release = hold(gang.workers[0])
    client = attach(preserveFocus=True)
    first = shown(client)
    assert first["preserveFocusHint"] is True
    port_of(client, first["threadId"])
    release()
    assert rest(client, first)["preserveFocusHint"] is True


def test_one_that_never_answers_keeps_nobody(attach, gang):
    hold(gang.workers[1])
    client = attach()
    first = shown(client)
    port_of(client, first["threadId"])
    wait_until(lambda: len(threads(client)) == 2, lambda: threads(client))
    client.ok("next", {"threadId": first["threadId"]})
    assert client.wait_event("stopped", lambda body: body["reason"] == "step")["body"]["threadId"] == first["threadId"]


def test_the_first_step_does_not_wait_for_the_others(attach, gang):
    release = hold(gang.workers[0])
    client = attach()
    first = shown(client)
    client.ok("next", {"threadId": first["threadId"]})
    body = client.wait_event("stopped", lambda body: body["reason"] == "step")["body"]
    assert body["threadId"] == first["threadId"] and body["preserveFocusHint"] is body["allThreadsStopped"] is False
    release()
    wait_until(lambda: len(threads(client)) == 3, lambda: threads(client))
    assert client.stack(first["threadId"])[0]["line"] == 9


def sent_at(client, command):
    """When the client has sent its first request of this name."""
    return client.started + next(e.at for e in client.transcript if e.way == ">" and e.message.get("command") == command)


def received_at(gang, command):
    """When each request of this name came to an adapter."""
    return sorted(r.at for worker in gang.workers for r in worker.adapter.received if r.message.get("command") == command)


def test_most_attach_after_the_first_look(attach, gangs):
    """Unless it comes too late: then they do not wait for it."""
    for _ in range(10):
        gang = gangs()
        for _ in range(9):
            gang.add("load", adapter=ManyAdapter())
        client = attach(gang=gang)
        first = shown(client)
        port_of(client, first["threadId"])
        rest(client, first)
        wait_until(lambda: len(threads(client)) == 12, lambda: threads(client))  # noqa: B023
        attaches, looked = received_at(gang, "attach"), received_at(gang, "variables")[0]
        assert len(attaches) == 12
        # timed: FIRST_MS begin after the attach was sent, LOOK_MS after the look was: within both no other may attach
        if looked < min(sent_at(client, "attach") + 0.5, sent_at(client, "variables") + 0.1):
            assert len([at for at in attaches if at < looked]) <= 4, (attaches, looked)
            return
        client.disconnect()
    raise AssertionError("the first look was too late each time")


def test_what_was_set_before_any_is_attached(attach, gang):
    release = [hold(worker) for worker in gang.workers]
    client = attach(breakpoints={PROGRAM: [{"line": 57}]})
    for one in release:
        one()
    body = client.wait_event("breakpoint", lambda body: body["breakpoint"]["verified"])["body"]
    assert body["breakpoint"]["line"] == 57
    port_of(client, shown(client)["threadId"])
    wait_until(lambda: len(threads(client)) == 3, lambda: threads(client))
    for worker in gang.workers:
        commands = worker.adapter.commands()
        assert commands.index("setBreakpoints") < commands.index("configurationDone")


def test_one_task_is_one_event(attach, gang):
    for worker in gang.workers[1:]:
        gang.remove(worker)
    client = attach()
    first = shown(client)
    assert port_of(client, first["threadId"]) == gang.workers[0].adapter.port
    wait_until(lambda: list(threads(client)) == [f"rank 0 Trainer.step 127.0.0.1 pid {gang.workers[0].pid}"],
               lambda: threads(client))
    client.assert_no_event("stopped", 1)


def test_nothing_there_yet(attach, gang):
    client = attach(tasks="Late.*")
    client.wait_event("output", lambda body: "waiting for one" in body["output"])
    worker = gang.add("Late.work", adapter=ManyAdapter())
    assert port_of(client, client.wait_event("stopped")["body"]["threadId"]) == worker.adapter.port
