"""What outlives the relay: after kill -9, an upgrade or SIGTERM the adapter's connection is the same one, still stopped."""

import os
import re
import signal
import socket
import time

import pytest
from fake_adapter import PROGRAM, FakeAdapter
from relay_process import ClientProcess, RelayProcess, wait_until

ROUNDS = 20


def assert_unharmed(*adapters):
    """Nobody has connected again, let go, resumed, or said anything that changes the task."""
    for adapter in adapters:
        assert len(adapter.connections) == 1 and not adapter.connection().ended.is_set()
        assert not set(adapter.commands()) & {"continue", "disconnect", "pause", "terminate"}, adapter.commands()
        assert adapter.commands().count("attach") == 1 and adapter.commands().count("initialize") == 1


def assert_stopped_at(client, line, thread=1):
    assert client.stopped()["threadId"] == thread
    assert client.stack(thread)[0]["line"] == line


def test_the_relay_is_killed_again_and_again(adapter, hub):
    first = hub.join()
    first.stopped()
    first.step("next", 1)
    keepers = hub.kept_pids()
    assert len(keepers) == 1
    for number in range(ROUNDS):
        hub.kill9()
        first.wait_end()
        hub.restart()
        pause = hub.pause()
        assert pause and pause["held"] is True and pause["clients"] == 0, f"round {number}: {pause}"
        first = hub.join("tcp" if number % 2 else "websocket", f"client {number}")
        assert_stopped_at(first, 9)
        assert_unharmed(adapter)
    assert hub.kept_pids() == keepers
    assert first.step("next", 1) and first.stack(1)[0]["line"] == 10


def test_the_client_is_killed_again_and_again(adapter, hub):
    for number in range(ROUNDS):
        client = ClientProcess(hub, "tcp" if number % 2 else "websocket")
        assert client.stop["threadId"] == 1
        client.kill9()
        wait_until(lambda: hub.pause()["clients"] == 0, 10, "the relay notices")
        assert_unharmed(adapter)
    assert_stopped_at(hub.join(), 8)


def test_relay_and_client_are_killed_together(adapter, hub):
    for _ in range(5):
        client = ClientProcess(hub)
        hub.kill9()
        client.kill9()
        hub.restart()
    assert_stopped_at(hub.join(), 8)
    assert_unharmed(adapter)


def test_many_pauses_are_taken_over(run_relay):
    adapters = [FakeAdapter() for _ in range(20)]
    try:
        hub = run_relay("--allow-connect")
        for number, adapter in enumerate(adapters):
            adapter.line = 100 + number
            hub.join(adapter=adapter).stopped()
        hub.kill9()
        hub.restart()
        assert sum(p["held"] for p in hub.pauses()) == len(adapters)
        for number, adapter in enumerate(adapters):
            assert_stopped_at(hub.join("websocket", adapter=adapter), 100 + number)
        assert_unharmed(*adapters)
    finally:
        for adapter in adapters:
            adapter.close()


def test_killed_with_a_request_pending(adapter, hub):
    """The answer that comes after the takeover is nobody's; later ones find who asked."""
    asked = []
    first = hub.join()
    first.stopped()
    adapter.on["scopes"] = lambda c, request: asked.append((c, request))
    first.strict = False
    first.send("scopes", {"frameId": 3})
    adapter.wait_request("scopes")
    hub.kill9()
    hub.restart()
    adapter.on["scopes"] = adapter.on_scopes
    second = hub.join()
    second.stopped()
    adapter.on_scopes(*asked[0])
    assert second.locals(3)["x"]["value"] == "3"
    assert second.stack(1)[0]["line"] == 8
    second.verify()
    assert_unharmed(adapter)


def test_killed_in_the_middle_of_a_message(adapter, hub):
    """Half of an answer was read by the relay that died: what follows is still understood, or the loss is said."""
    first = hub.join()
    first.stopped()
    first.strict = False
    sent = []

    def half(connection, request):
        body = (b'{"seq":900,"type":"response","request_seq":%d,"success":true,"command":"scopes","body":{"scopes":[]}}'
                % request["seq"])
        data = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        connection.send_raw(data[:60])
        sent.append((connection, data[60:]))
    adapter.on["scopes"] = half
    first.send("scopes", {"frameId": 3})
    wait_until(lambda: sent, 5, "half an answer")
    time.sleep(0.2)
    hub.kill9()
    sent[0][0].send_raw(sent[0][1])  # before the next relay asks anything: an adapter has one writer
    hub.restart()
    adapter.on["scopes"] = adapter.on_scopes
    second = hub.join()
    assert_stopped_at(second, 8)
    assert second.locals(3)["x"]["value"] == "3"
    assert_unharmed(adapter)


def test_what_happens_while_no_relay_runs_is_seen(adapter, hub):
    first = hub.join()
    first.stopped()
    first.resume(1)
    hub.kill9()
    adapter.connection().event("output", {"category": "stdout", "output": "meanwhile\n"})
    adapter.connection().stop("breakpoint", thread=2)
    hub.restart()
    second = hub.join()
    assert second.stopped()["threadId"] == 2
    second.assert_no_event("stopped", 0.2)


def test_what_the_adapter_said_before_is_known_after(adapter, hub):
    """Capabilities, threads, the stop's reason and text, breakpoints and filters survive."""
    adapter.stop_on_attach = False
    first = hub.client()
    before = first.initialize()
    first.attach(hub.attach_arguments(), breakpoints={PROGRAM: [9]}, filters=["raised"], timeout=20)
    wait_until(lambda: len(first.events("thread")) == 2, 5, "both threads are told")
    adapter.connection().stop("exception", text="ValueError", description="boom")
    first.stopped(reason="exception")
    hub.kill9()
    hub.restart()
    second = hub.client()
    after = second.initialize()
    second.attach(hub.attach_arguments(), timeout=20)
    stop = second.stopped()
    assert (stop["reason"], stop["text"]) == ("exception", "ValueError")
    assert {e["body"]["threadId"] for e in second.events("thread")} == {1, 2}
    for event in second.events("capabilities"):
        after |= event["body"]["capabilities"]
    assert after == before
    # The first client is gone with its relay, and so are its breakpoints, once the second one has said its own.
    second.set_breakpoints(PROGRAM, [12])
    last = adapter.requests("setBreakpoints")[-1]["arguments"]
    assert [b["line"] for b in last["breakpoints"]] == [12]


def test_the_adapter_ends_while_no_relay_runs(adapter, hub):
    hub.join().stopped()
    hub.kill9()
    adapter.connection().die()
    hub.restart()
    wait_until(lambda: not (hub.pause() or {}).get("held"), 10, "it is not held any more")
    assert hub.http("GET", "/healthz", token="").status == 200


def test_a_release_is_not_undone(adapter, hub):
    hub.join().stopped()
    assert hub.post("release").status == 200
    adapter.wait_request("disconnect")
    hub.kill9()
    hub.restart()
    assert not (hub.pause() or {}).get("held")
    assert len(adapter.connections) == 1


def test_upgrade(adapter, hub, run_relay):
    first = hub.join()
    first.stopped()
    for _ in range(3):
        old = hub
        hub = run_relay("--upgrade", state=old.state, listen=old.addresses)
        assert old.wait() == 0
        first.wait_end()
        assert hub.pause()["held"] is True
        first = hub.join("websocket")
        assert_stopped_at(first, 8)
        assert_unharmed(adapter)


def test_a_second_relay_is_refused(adapter, hub, run_relay):
    first = hub.join()
    first.stopped()
    second = run_relay(state=hub.state, ready=False)
    assert second.wait() == 1
    assert re.search(rf"pid {hub.pid}\b", second.stderr()) and "--upgrade" in second.stderr(), second.stderr()
    assert first.step("next", 1)
    assert len(hub.kept_pids()) == 1


def test_upgrade_without_a_relay_just_starts(run_relay):
    hub = run_relay("--upgrade")
    assert hub.http("GET", "/healthz", token="").status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_relay_that_is_told_to_end_lets_nobody_go(adapter, hub, number):
    first, second = hub.join(), hub.join("websocket")
    first.stopped(), second.stopped()
    started = time.monotonic()
    hub.process.send_signal(number)
    assert hub.wait() == 0
    assert time.monotonic() - started < 5
    for client in first, second:
        client.wait_end()
        assert re.search("relay", "\n".join(e["body"]["output"] for e in client.events("output"))), client.text()
    time.sleep(0.3)
    assert_unharmed(adapter)
    assert len(hub.kept_pids()) == 1
    hub.restart()
    assert_stopped_at(hub.join(), 8)


def test_nothing_is_left_of_a_relay_that_held_nothing(adapter, hub):
    client = hub.join()
    client.stopped()
    client.disconnect(onDisconnect="continue")
    adapter.wait_request("disconnect")
    assert hub.terminate() == 0
    wait_until(lambda: not hub.kept_pids(), 5, lambda: f"the keeper ends ({hub.kept_pids()})")
    assert not list((hub.state / "s/raydbg").glob("*.sock"))


def test_the_keeper_is_killed(adapter, hub):
    """The pause is lost only if the relay dies, too; nothing else changes, and the relay says it."""
    client = hub.join()
    client.stopped()
    for pid in hub.kept_pids():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.3)
    assert client.step("next", 1)
    client.disconnect()
    assert_stopped_at(hub.join(), 9)
    assert_unharmed(adapter)
    wait_until(lambda: "keeper" in hub.stderr(), 5, "the relay says that its keeper died")


def test_a_keeper_that_no_relay_comes_for_lets_go(adapter, run_relay):
    hub = run_relay("--max-hold", "2s")
    client = hub.join()
    client.stopped()
    hub.kill9()
    time.sleep(1)
    assert_unharmed(adapter)
    assert adapter.connection().ended.wait(10)
    wait_until(lambda: not hub.kept_pids(), 5, "the keeper ends")
    log = "".join(p.read_text() for p in (hub.state / "s/raydbg").glob("*.log"))
    assert "relay" in log


def test_the_keeper_is_nobody_elses(adapter, hub):
    hub.join().stopped()
    pid, = hub.kept_pids()
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.getsid(pid) not in (os.getsid(hub.pid), os.getsid(0)), "a terminal's end would end it"
    for path in (hub.state / "s/raydbg").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    for number in 0, 1, 2:
        assert "stderr" not in os.readlink(f"/proc/{pid}/fd/{number}"), "it would keep the shell's pipe open"


def test_no_descriptor_leaks_into_the_keeper(run_relay):
    """Sessions and pauses come and go; the keeper holds only what is held."""
    hub = run_relay()
    hub.join().stopped()
    pid, = hub.kept_pids()
    count = len(os.listdir(f"/proc/{pid}/fd"))
    for _ in range(10):
        with FakeAdapter() as other:
            client = hub.join(adapter=other)
            client.stopped()
            client.disconnect(onDisconnect="continue")
            other.wait_request("disconnect")
    wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= count, 5,
               lambda: f"{count} descriptors, not {len(os.listdir(f'/proc/{pid}/fd'))}")


def test_a_stranger_on_the_keepers_socket(adapter, hub):
    """Garbage on its socket is not taken for a relay."""
    hub.join().stopped()
    sockets = [p for p in (hub.state / "s/raydbg").iterdir() if p.is_socket()]
    assert sockets
    for path in sockets:
        for data in b"", b"\0" * 4096, b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096):
            with socket.socket(socket.AF_UNIX) as sock:
                try:
                    sock.connect(str(path))
                    sock.sendall(data)
                except OSError:
                    pass
    assert_unharmed(adapter)
    hub.kill9()
    hub.restart()
    assert_stopped_at(hub.join(), 8)
    assert_unharmed(adapter)


def test_a_lost_pause_would_be_noticed(adapter):
    """The check that the tests above rest on: without its keeper a killed relay loses the pause."""
    with RelayProcess(adapter=adapter) as hub:
        hub.join().stopped()
        for pid in hub.kept_pids():
            os.kill(pid, signal.SIGKILL)
        hub.kill9()
        assert adapter.connection().ended.wait(10)
        with pytest.raises(AssertionError):
            assert_unharmed(adapter)
        hub.restart()
        assert not (hub.pause() or {}).get("held")
