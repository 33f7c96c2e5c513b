"""Floods: who does not read stalls nobody else, and the relay's memory stays what it was.

Measured on the released binary ($RAYDBG_RELEASE, by default build/raydbg): a sanitizer's memory says nothing.
"""

import signal
import socket
import threading
import zlib
from contextlib import suppress

import pytest
from fake_adapter import FakeAdapter
from flood import COUNT, MIB, PIECE, TOTAL, Evaluations, Flood, numbers
from kernel_queues import wait_stuck
from relay_process import ClientProcess, release_path
from slow_client import SlowClient
from waits import hard, limit, wait_until

KINDS = ["tcp", "websocket"]
GROWTH = 4 * MIB


@pytest.fixture
def hub(run_relay):
    return run_relay(binary=release_path())


@pytest.fixture
def other():
    """Another paused task, whose session must not notice anything."""
    with FakeAdapter() as fake:
        yield fake


class Peak:
    """The highest RSS of a relay while it runs."""

    def __init__(self, relay):
        self.relay, self.before, self.highest, self._end = relay, relay.rss(), 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _watch(self):
        while not self._end.wait(0.01):  # timed: how often it looks
            with suppress(OSError, KeyError):
                self.highest = max(self.highest, self.relay.rss())

    def check(self, what, most=GROWTH):
        growth = max(self.highest, self.relay.rss()) - self.before
        print(f"{what}: RSS {self.before / MIB:.1f} MiB, grew by {growth / MIB:.2f} MiB")
        assert growth <= most, f"{what}: RSS grew by {growth / MIB:.2f} MiB"


def assert_served(client, count=100):
    """Others do not notice: what they ask is answered while the flood is stuck. How fast is for tools/bench to say."""
    for _ in range(count):
        assert client.request("threads")


@pytest.mark.parametrize("kind", KINDS)
def test_a_driver_that_does_not_read(adapter, hub, other, kind):
    """It stalls its own task only, is never dropped, and gets everything in the end."""
    driver, neighbour = SlowClient(hub, kind), SlowClient(hub, "tcp", other)
    with Peak(hub) as peak:
        flood = Flood(adapter.connection())
        taken = flood.wait_stuck(hub)
        assert_served(neighbour)
        assert flood.wait_stuck(hub) <= taken + 2 * PIECE
        peak.check(f"{kind}: the driver does not read, {flood.sent * PIECE / MIB:.1f} MiB taken")
        assert numbers(driver, COUNT) == list(range(COUNT))
        flood.thread.join(limit())
        peak.check(f"{kind}: 300 MB were read")
    assert driver.request("threads")


class Stops(Flood):
    """A stop of another thread behind each event."""

    def _send_one(self, number):
        super()._send_one(number)
        self.connection.stop(thread=10 + number)


def test_no_stop_is_lost_with_the_relay_of_a_driver_that_does_not_read(adapter, hub):
    """What the relay had read, and not handled yet, is the next one's."""
    SlowClient(hub)
    flood = Stops(adapter.connection())
    flood.wait_stuck(hub)
    flood.over = True
    hub.kill9()
    hub.restart()
    flood.thread.join(limit())
    client = hub.join()
    adapter.connection().stop(thread=3)
    client.wait_event("stopped", lambda body: body["threadId"] == 3)
    stopped = {event["body"]["threadId"] for event in client.events("stopped")}
    with hard():
        assert stopped == {1, 3, *range(10, 10 + flood.sent)}


def test_only_who_drives_stalls_a_task_or_starts_it_again(adapter, hub):
    """An observer that comes and goes changes nothing; whoever takes over is not kept waiting by the one before."""
    driver = SlowClient(hub)
    flood = Flood(adapter.connection())
    taken = flood.wait_stuck(hub)
    with Peak(hub) as peak:
        observer = hub.join(role="observer")
        observer.stopped()
        observer.disconnect()
        assert flood.wait_stuck(hub) <= taken + 2 * PIECE, "more events were read while the driver does not read"
        peak.check("an observer came and went")
        heir = hub.join(takeOver=True)
        heir.stopped()
        flood.thread.join(limit())
        assert flood.sent == COUNT, "the new driver's task stands still"
        peak.check("somebody else drives")
    assert heir.request("threads")  # behind all that was sent
    heir.disconnect()
    driver.close()


def test_a_driver_that_is_stopped_and_killed(adapter, hub, other):
    """SIGSTOP under 300 MB of events; once it is killed the task's events flow again and the pause is there."""
    client, neighbour = ClientProcess(hub), SlowClient(hub, "tcp", other)
    client.process.send_signal(signal.SIGSTOP)
    with Peak(hub) as peak:
        flood = Flood(adapter.connection())
        flood.wait_stuck(hub)
        assert_served(neighbour)
        peak.check("the driver is stopped")
        client.kill9()
        flood.thread.join(limit())
        assert flood.sent == COUNT
        peak.check("the driver was killed")
    with hard():
        assert hub.pause()["held"] and not adapter.connection().ended.is_set()
    assert SlowClient(hub).request("threads")


def say_goodbye(driver):
    driver.send("disconnect")


def say_nonsense(driver):
    driver.sock.sendall(b"nonsense\r\n\r\n")


@pytest.mark.parametrize("leave", [say_goodbye, say_nonsense])
def test_a_driver_that_does_not_read_and_leaves(adapter, hub, leave):
    """Its connection stays, with all that it has not read; the task's events flow again, and the next client is answered."""
    driver = SlowClient(hub)
    with Peak(hub) as peak:
        flood = Flood(adapter.connection())
        flood.wait_stuck(hub)
        leave(driver)
        flood.thread.join(limit())
        assert flood.sent == COUNT, "nothing is read from the task any more"
        peak.check("the driver has left")
    with hard():
        assert hub.pause()["held"] and not adapter.connection().ended.is_set()
    assert SlowClient(hub).request("threads")
    driver.close()


def test_the_heir_of_a_driver_that_does_not_read(adapter, hub):
    """A client that was there before and drives now gets the events that are still to come."""
    driver = SlowClient(hub)
    flood = Flood(adapter.connection())
    flood.wait_stuck(hub)
    heir = SlowClient(hub)
    driver.send("disconnect")
    while numbers(heir, 1) != [COUNT - 1]:
        pass
    assert heir.request("threads")
    driver.close()


def test_a_release_while_the_driver_does_not_read(adapter, hub):
    """The debugger's answer is behind what the driver has not read."""
    driver = SlowClient(hub)
    flood = Flood(adapter.connection())

    def disconnect(connection, request):
        flood.over = True
        adapter.on_disconnect(connection, request)

    adapter.on["disconnect"] = disconnect
    flood.wait_stuck(hub)
    answer = hub.post("release")
    assert answer.status == 200, answer
    driver.close()


@pytest.mark.parametrize("kind", KINDS)
def test_an_observer_that_lags_is_dropped_with_a_reason(adapter, hub, kind):
    driver = SlowClient(hub)
    observer = SlowClient(hub, kind, role="observer")
    first = COUNT // 3
    with Peak(hub) as peak:
        flood = Flood(adapter.connection())
        assert numbers(driver, first) == list(range(first))
        wait_until(lambda: hub.pause()["clients"] == 1, "the observer is gone")
        last = None
        while (message := observer.receive()) is not None:  # now: the relay keeps the reason for 30 s
            last = message
        said = str(last) + str(getattr(getattr(observer, "websocket", None), "closed_with", ""))
        assert "lag" in said or "behind" in said or "not read" in said, said[-500:]
        assert numbers(driver, COUNT - first) == list(range(first, COUNT))
        flood.thread.join(limit())
        peak.check(f"{kind}: an observer does not read")
    assert driver.request("threads")


def test_an_observer_that_reads_gets_everything(adapter, hub):
    """Half a megabyte at once is no lag yet; in the long run it gets 50 MB as the driver does."""
    driver, observer = SlowClient(hub), SlowClient(hub, "websocket", role="observer")
    wave = 50
    for _ in range(100):
        flood = Flood(adapter.connection(), wave)
        for client in driver, observer:
            assert numbers(client, wave) == list(range(wave))
        flood.thread.join(limit())


MARK, BLOCK, TAIL = b'"value":"', bytes(range(97, 123)) * 2520, b'","variablesReference":0}]}}'


def answer_with(blocks, half=lambda: None):
    """A handler of `variables` whose body has so many blocks; `half()` is called when half of them are sent."""
    def variables(connection, request):
        head = (b'{"seq":77,"type":"response","request_seq":%d,"success":true,"command":"variables","body":'
                b'{"variables":[{"name":"x",' % request["seq"]) + MARK
        connection.send_raw(b"Content-Length: %d\r\n\r\n" % (len(head) + blocks * len(BLOCK) + len(TAIL)) + head)
        for block in range(blocks):
            if block == blocks // 2:
                half()
            connection.send_raw(BLOCK)
        connection.send_raw(TAIL)
    return variables


def narrow(client):
    """Lets the kernel hold little for the client, which then begins to lag soon."""
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    return client


@pytest.mark.parametrize("kind", KINDS)
def test_an_observer_that_lags_behind_a_large_answer_gets_all_of_it_and_the_reason(adapter, hub, kind):
    driver, observer = SlowClient(hub), narrow(SlowClient(hub, kind, role="observer"))
    blocks = 15 * MIB // len(BLOCK)
    adapter.on["variables"] = answer_with(blocks)
    asked = observer.send("variables", {"variablesReference": 6})
    assert driver.request("evaluate", {"expression": "x"})  # behind the answer
    flood = Flood(adapter.connection(), 40 * MIB // PIECE)
    numbers(driver, flood.count)
    wait_until(lambda: hub.pause()["clients"] == 1, "the observer is gone")
    messages = []
    while (message := observer.receive()) is not None:
        messages.append(message)
    answer = next(m for m in messages if m.get("request_seq") == asked)
    assert answer["body"]["variables"][0]["value"].encode() == BLOCK * blocks
    assert "lags behind" in messages[-1]["body"]["output"]
    assert [line["detail"] for line in hub.audit() if line["action"] == "dropped"] == ["it lags behind"]
    assert driver.request("threads")


@pytest.mark.parametrize("kind", KINDS)
def test_an_observer_may_read_a_large_answer_late(adapter, hub, kind):
    """It does not lag for having asked for one, and may lag by as much as before once it has read it."""
    driver, observer = SlowClient(hub), narrow(SlowClient(hub, kind, role="observer"))
    blocks = 12 * MIB // len(BLOCK)
    adapter.on["variables"] = answer_with(blocks)
    for _ in range(2):
        asked = observer.send("variables", {"variablesReference": 6})
        assert driver.request("evaluate", {"expression": "x"})  # behind the answer
        assert observer.response(asked)["variables"][0]["value"].encode() == BLOCK * blocks
    assert observer.request("threads")
    flood = Flood(adapter.connection(), 12 * MIB // PIECE)
    numbers(driver, flood.count)
    wait_until(lambda: hub.pause()["clients"] == 1, "the observer is gone")


@pytest.mark.parametrize("kind", KINDS)
def test_an_observer_that_does_not_read_300_mb(adapter, hub, kind):
    """No debugpy sends so much at once: it ends without a reason, and little of it is kept."""
    driver, observer = SlowClient(hub), narrow(SlowClient(hub, kind, role="observer"))
    adapter.on["variables"] = answer_with(TOTAL // len(BLOCK))
    with Peak(hub) as peak:
        observer.send("variables", {"variablesReference": 6})
        wait_until(lambda: hub.pause()["clients"] == 1, "the observer is gone")
        assert driver.request("threads")  # behind all of it
        peak.check(f"{kind}: an observer does not read 300 MB", 40 * MIB)


@pytest.mark.parametrize("hold", ["on-attach", "never"])
@pytest.mark.parametrize("how", ["its stream breaks", "the relay ends"])
def test_nothing_is_said_in_the_middle_of_a_large_answer(adapter, run_relay, gate, how, hold):
    hub = run_relay("--hold", hold, binary=release_path())
    client, half = SlowClient(hub), gate(lambda: None)
    adapter.on["variables"] = answer_with(40, half)
    client.send("variables", {"variablesReference": 6})
    half.wait_reached()
    client._header()
    assert client._fill(len(BLOCK) * 20), "what was sent before"
    if how == "the relay ends":
        assert hub.terminate() == 0
    else:
        client.sock.sendall(b"Content-Length: nonsense\r\n\r\n")
    while client._fill(len(client.buffer) + 1):
        continue
    assert client.buffer.count(b"{") == client.buffer.count(b"raydbg") + 3 == 3, client.buffer[-300:]


@pytest.mark.parametrize("full", [False, True], ids=["reading", "not reading at first"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_body_of_300_mb(adapter, hub, other, kind, full):
    """It passes unchanged in bounded memory, and others go on meanwhile."""
    blocks = TOTAL // len(BLOCK)
    client, neighbour = SlowClient(hub, kind), SlowClient(hub, "tcp", other)
    adapter.on["variables"] = answer_with(blocks)
    with Peak(hub) as peak:
        client.send("variables", {"variablesReference": 6})
        if full:
            wait_stuck(hub, adapter.connection().sock)
        assert_served(neighbour)
        head, total, crc = client.big_body(MARK)
        peak.check(f"{kind}: one body of 300 MB")
    expected = 0
    for _ in range(blocks):
        expected = zlib.crc32(BLOCK, expected)
    assert b'"request_seq":%d' % client.seq in head and total == blocks * len(BLOCK) + len(TAIL)
    assert crc == zlib.crc32(TAIL, expected)
    adapter.on["variables"] = adapter.on_variables
    assert client.request("variables", {"variablesReference": 6})["variables"][0]["value"] == "3"


def test_the_client_leaves_in_the_middle_of_a_body(adapter, hub):
    """The rest is thrown away; the next client finds the link in order. The kernel's own buffers must not have room for the body:
    each of the two connections may take 32 MiB (net.ipv4.tcp_rmem)."""
    def variables(connection, request):
        head = (b'{"seq":77,"type":"response","request_seq":%d,"success":true,"command":"variables","body":{"variables":[],"filling":"'
                % request["seq"])
        connection.send_raw(b"Content-Length: %d\r\n\r\n" % (len(head) + TOTAL + len(b'"}}')) + head)
        for _ in range(TOTAL // MIB):
            connection.send_raw(b"x" * MIB)
        connection.send_raw(b'"}}')

    adapter.on["variables"] = variables
    for kind in KINDS:
        client = SlowClient(hub, kind)
        client.send("variables", {"variablesReference": 6})
        wait_stuck(hub, adapter.connection().sock)
        client.close()
    adapter.on["variables"] = adapter.on_variables
    late = hub.join()
    late.stopped()
    assert late.locals(3)["x"]["value"] == "3"


def test_an_adapter_that_does_not_read(adapter, hub, other):
    """300 MB of requests: the relay stops reading their client."""
    client, neighbour = SlowClient(hub), SlowClient(hub, "tcp", other)
    release = threading.Event()
    adapter.on["evaluate"] = lambda connection, request: release.wait()
    with Peak(hub) as peak:
        flood = Evaluations(client, TOTAL // 30_000)
        flood.wait_stuck(hub)
        assert_served(neighbour)
        peak.check(f"the adapter does not read, {flood.sent * 30_000 / MIB:.1f} MiB taken")
    client.sock.shutdown(socket.SHUT_RDWR)
    release.set()


class Newcomer(SlowClient):
    """Drives, and has not sent configurationDone yet."""

    def attach(self, arguments):
        self.request("initialize", {"adapterID": "raydbg", "clientID": "newcomer"})
        self.send("attach", {**arguments, "takeOver": True})
        self.event("initialized")


def test_a_client_that_comes_while_the_adapter_does_not_read(adapter, hub):
    """It is not read, either, until the adapter reads again."""
    client = SlowClient(hub)
    release = threading.Event()
    adapter.on["evaluate"] = lambda connection, request: release.wait()
    flood = Evaluations(client, TOTAL // 30_000)
    flood.wait_stuck(hub)
    newcomer = Newcomer(hub)
    with Peak(hub) as peak:
        second = Evaluations(newcomer, TOTAL // 30_000)
        second.wait_stuck(hub)
        peak.check(f"the adapter does not read, {second.sent * 30_000 / MIB:.1f} MiB of a newcomer's taken")
    flood.over = second.over = True
    release.set()
    flood.thread.join(limit()), second.thread.join(limit())
    assert newcomer.request("threads")


def test_a_follower_of_events_that_does_not_read(adapter, hub):
    driver = hub.join()
    driver.stopped()
    stream = hub.upgraded("/events", "raydbg.events")
    connection = adapter.connection()
    with Peak(hub) as peak:
        for _ in range(20_000):
            connection.stop("breakpoint")
            connection.event("continued", {"threadId": 1, "allThreadsContinued": True})
        driver.ok("threads")
        peak.check("a follower of /events does not read")
    stream.sock.close()
    assert hub.http("GET", "/v1/pauses").status == 200
