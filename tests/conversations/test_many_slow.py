"""One session over many tasks, of which some are slow, or whose client is."""

import contextlib
import threading

import pytest
from kernel_queues import unread_by_peer, wait_stuck
from many_adapter import ManyAdapter
from many_gang import attach, drive, gang, join, thread_of  # noqa: F401
from many_session import ALL, port_of, shown, threads
from slow_client import SlowClient
from waits import SHORT, Gate, limit, wait_until


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
    driver = drive(join.relay, "flood")
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


def test_a_first_stop_that_comes_late_is_shown_as_the_population(gang, start_relay, clock):
    """debugpy on a busy machine reports it a second after configurationDone: until then there is nothing to show."""
    configured = threading.Event()

    def late(connection, request):
        connection.respond(request)
        connection.respond(connection.attached)
        configured.set()

    while len(gang.workers) > 1:
        gang.remove(gang.workers[-1])
    worker = gang.workers[0]
    worker.adapter.on["configurationDone"] = late
    client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
    client.initialize(clientID="vscode", clientName="editor")
    client.attach(ALL)
    assert configured.wait(limit())
    clock.pass_time(0.6)  # more than INTRO_MS
    client.ok("threads")
    assert not client.events("stopped")
    for thread in worker.adapter.threads:
        worker.adapter.stop(thread)
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
    driver = drive(join.relay, "other")
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
