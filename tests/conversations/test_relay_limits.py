"""The relay's one port against garbage and against too much of anything: it goes on serving."""

import os
import random
import re
import socket
import time
from contextlib import suppress

import pytest
from dap_client import frame
from stranger import assert_untouched, drain, hostile, send_quietly
from waits import settle, wait_until
from websocket import TEXT, WebSocketRefused, encode_frame

# --- nonsense ---

@pytest.mark.parametrize("name", hostile())
def test_garbage(adapter, hub, name):
    with hub.connect() as sock:
        send_quietly(sock, hostile()[name])
        with suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
        said = drain(sock)
    assert b"token" not in said or hub.token.encode() not in said
    assert_untouched(hub, adapter)


def test_garbage_byte_by_byte(adapter, hub):
    for data in (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                 frame({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}})):
        with hub.connect() as sock:
            for byte in data:
                sock.sendall(bytes([byte]))
                settle(0.002)
            assert re.search(rb"200|supports", sock.recv(65536))
    assert_untouched(hub, adapter)


@pytest.mark.parametrize("data", [
    encode_frame(TEXT, b"{}", masked=False), encode_frame(TEXT, b"\xff\xfe"), encode_frame(3, b"x"), encode_frame(0, b"x"),
    encode_frame(TEXT, b"nonsense"), encode_frame(2, bytes(100)), b"\x81\xff" + b"\xff" * 8, encode_frame(9, bytes(126)),
    encode_frame(TEXT, b"{" * 60_000), encode_frame(TEXT, b"x", fin=False) * 1000, os.urandom(3000)],
    ids=["unmasked", "no UTF-8", "no such kind", "goes on from nothing", "no JSON", "binary", "endless", "long ping",
         "open", "never the last", "random"])
def test_broken_frames_on_a_websocket(adapter, hub, data):
    websocket = hub.upgraded("/dap", "dap")
    send_quietly(websocket.sock, data)
    with suppress(OSError):
        websocket.sock.shutdown(socket.SHUT_WR)
    drain(websocket.sock)
    websocket.sock.close()
    assert_untouched(hub, adapter)


@pytest.mark.parametrize("protocol", ["chat", "raydbg.events"])
def test_the_subprotocol_must_be_right(hub, protocol):
    with pytest.raises(WebSocketRefused):
        hub.upgraded("/dap", protocol)


# --- limits ---

def test_64_kib_before_the_token(adapter, hub):
    """Many small messages, or one large: the relay takes no more, says why, and closes."""
    request = frame({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x" * 900}})
    for data in (frame({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x" * 70_000}}),
                 request * 200):
        with hub.connect() as sock:
            send_quietly(sock, data)
            said = drain(sock)
        assert b"64 KiB" in said or b"65536" in said, said[-1000:]
    assert_untouched(hub, adapter)


def test_64_kib_are_all_messages_together(adapter, hub):
    """None of them is over the limit by itself."""
    with hub.connect() as sock:
        for number in 1, 2:
            send_quietly(sock, frame({"seq": number, "type": "request", "command": "initialize",
                                      "arguments": {"adapterID": "x" * 40_000}}))
        said = drain(sock)
    assert b"64 KiB" in said or b"65536" in said, said[-1000:]
    assert_untouched(hub, adapter)


def test_64_kib_are_enough_for_a_client(adapter, hub):
    client = hub.dap_tcp()
    client.ok("initialize", {"adapterID": "x", "clientName": "n" * 40_000})
    client.attach(hub.attach_arguments())
    assert client.stopped()


def test_ten_seconds_before_the_token(adapter, run_relay, clock):
    """Slowloris on each protocol, and one that says nothing: all closed after 10 s, nobody else waits."""
    beginnings = [b"", b"C", b"Content-Length: 100\r\n\r\n{", b"GET /v1/pauses HT", b"GET /dap HTTP/1.1\r\nHost: 127.0.0.1\r\n",
                  b"POST /v1/pauses/x/hold HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n",
                  frame({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}})]
    hub = run_relay(env=clock.env)
    started = clock.now()
    sockets = [hub.connect() for _ in beginnings]
    for sock, data in zip(sockets, beginnings):
        sock.sendall(data)
    for _ in range(4):
        clock.pass_time(2)
        for sock in sockets[3:5]:
            send_quietly(sock, b"X")
        assert hub.http("GET", "/healthz", token="").status == 200
    said = []
    for sock in sockets:
        said.append(drain(sock))
        sock.close()
    assert clock.now() - started > 9
    assert re.search(b"too long|10 s", said[2]) and re.search(b"too long|10 s", said[-1]), said
    assert_untouched(hub, adapter)


def test_a_message_over_the_limit(adapter, run_relay):
    hub = run_relay("--max-body", "1M")
    for kind in "tcp", "websocket":
        client = hub.join(kind)
        client.stopped()
        client.strict = False
        client.ok("evaluate", {"expression": "x" * 900_000, "frameId": 3})
        with suppress(OSError):
            client.send("evaluate", {"expression": "x" * 1_100_000, "frameId": 3})
        client.wait_end()
        assert "max-body" in client.text()
    assert not adapter.requests("disconnect") and len(adapter.requests("evaluate")) == 3  # one is the relay's own


def test_a_length_over_the_limit_is_not_waited_for(hub):
    client = hub.join()
    client.stopped()
    client.strict = False
    client.send_raw(b"Content-Length: 3000000000\r\n\r\n")
    client.wait_end()
    assert hub.http("GET", "/healthz", token="").status == 200


def test_a_header_over_the_limit(run_relay):
    hub = run_relay("--max-header", "4K")
    answer = hub.http("GET", "/v1/pauses", headers={"X-Long": "a" * 2000})
    assert answer.status == 200
    with suppress(ConnectionError, OSError):
        answer = hub.http("GET", "/v1/pauses", headers={"X-Long": "a" * 6000})
        assert answer.status in (400, 413, 431)
    assert hub.http("GET", "/healthz", token="").status == 200


@pytest.mark.parametrize("option, value", [("--max-header", "256"), ("--max-header", "8192"), ("--max-header", "8K")])
def test_a_limit_may_be_at_its_own_limits(run_relay, option, value):
    hub = run_relay(option, value)
    assert hub.http("GET", "/healthz", token="").status == 200


def test_sessions_over_the_limit(adapter, run_relay):
    hub = run_relay("--max-sessions", "3")
    clients = [hub.join(name=f"client {n}") for n in range(3)]
    with hub.connect() as sock:
        send_quietly(sock, frame({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}}))
        assert b"max-sessions" in drain(sock)
    clients[0].stopped()
    clients[0].disconnect()
    clients[0].close()
    wait_until(lambda: hub.http("GET", "/v1/sessions").status == 200, "the first one's slot is free")
    hub.join(name="another").stopped()


def is_served(hub, source):
    """Whether a client that comes from this address is answered, not refused."""
    with suppress(OSError), hub.connect(source=source) as sock:
        sock.sendall(frame({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}}))
        return b"supports" in sock.recv(65536)
    return False


def test_strangers_of_one_address_over_the_limit(adapter, run_relay):
    """As many as may be are served, the others told why and closed; other addresses do not notice."""
    hub = run_relay("--max-per-address", "20")
    inside = hub.join()
    inside.stopped()
    strangers = [hub.connect(source="127.0.0.7") for _ in range(30)]
    request = frame({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}})
    for sock in strangers:
        send_quietly(sock, request)
    said = []
    for sock in strangers:
        with suppress(ConnectionError):
            said.append(sock.recv(65536))
    refusals = [text for text in said if b"capabilit" not in text and b"supports" not in text]
    assert len(said) - len(refusals) == 20 and all(b"max-per-address" in text for text in refusals if text), refusals
    assert inside.ok("threads")
    assert hub.join(name="from another address").stopped()
    for sock in strangers:
        sock.close()
    wait_until(lambda: is_served(hub, "127.0.0.7"), "their slots are free again")


def test_a_stranger_that_comes_hundreds_of_times_at_once(run_relay):
    """Beyond some hundreds, refused connections are closed without a word; they leave nothing behind."""
    hub = run_relay("--max-per-address", "20")
    strangers = []
    for _ in range(400):
        with suppress(OSError):
            strangers.append(hub.connect(source="127.0.0.7"))
    wait_until(lambda: hub.http("GET", "/healthz", token="").status == 200, "the others are served")
    for sock in strangers:
        sock.close()
    wait_until(lambda: is_served(hub, "127.0.0.7"), "their slots are free again")


def test_thousands_of_hostile_connections(adapter, hub, soak):
    """In waves from several addresses, while a session goes on; after them all is as before."""
    total, wave = (10_000 if soak else 2_000), 200
    client = hub.join()
    client.stopped()
    payloads, rng, slowest = list(hostile().values()), random.Random(1), 0.0
    for start in range(0, total, wave):
        sockets = []
        for number in range(start, start + wave):
            with suppress(ConnectionError):
                sockets.append(hub.connect(source=f"127.0.0.{2 + number // 500 % 200}"))
                sockets[-1].settimeout(0.05)  # timed: a send that blocks is given up
                with suppress(TimeoutError):
                    send_quietly(sockets[-1], payloads[number % len(payloads)])
        before = time.monotonic()
        assert client.ok("threads")["threads"]
        slowest = max(slowest, time.monotonic() - before)
        for sock in sockets:
            if rng.random() < 0.5:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
    print(f"{total} hostile connections; the session's slowest answer took {1000 * slowest:.1f} ms")
    assert len(adapter.connections) == 1 and not adapter.connection().ended.is_set()
    assert client.step("next", 1)["reason"] == "step"
    client.disconnect()
    assert hub.join("websocket").stopped()
    wait_until(lambda: len(os.listdir(f"/proc/{hub.pid}/fd")) < 60, "the descriptors are given back")
