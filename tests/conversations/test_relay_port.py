"""The relay's one port against strangers: nothing unauthenticated reaches the cluster, and it goes on serving."""

import json
import os
import random
import re
import socket
import ssl
import subprocess
import threading
import time
from contextlib import suppress

import pytest
from certificates import Authority, fingerprint
from dap_client import DapClient, DapClosed, DapError, frame
from fake_adapter import PROGRAM
from relay_process import RelayProcess, wait_until
from relay_under_test import raydbg_path
from websocket import TEXT, WebSocketRefused, encode_frame

OBSERVER_TOKEN = "observer-" + "0" * 32

# For each: what is wrong with the token. "" is none at all.
WRONG = {"none": "", "wrong": "f" * 64, "short": "x", "long": "f" * 4000, "almost": None}


def wrong_token(relay, name):
    return relay.token[:-1] + ("0" if relay.token[-1] != "0" else "1") if name == "almost" else WRONG[name]


@pytest.fixture
def hub(adapter, run_relay, tmp_path):
    """A relay that has an observer's token, too."""
    path = tmp_path / "observer"
    path.write_text(OBSERVER_TOKEN + "\n")
    path.chmod(0o600)
    yield run_relay("--observer-token-file", path)


def assert_untouched(hub, adapter):
    """The relay serves, and the adapter has not heard of anybody."""
    assert hub.http("GET", "/healthz", token="").status == 200
    assert not adapter.connections


def drain(sock, seconds=15):
    """All that the relay still says until it closes; fails if it does not close."""
    sock.settimeout(seconds)
    said = b""
    try:
        while data := sock.recv(65536):
            said += data
    except ConnectionError:
        pass
    except TimeoutError:
        raise AssertionError(f"the relay did not close the connection; it said {said[:500]!r}") from None
    return said


def send_quietly(sock, data):
    """Sends what the relay takes; it may close in the middle."""
    with suppress(ConnectionError):
        sock.sendall(data)


# --- tokens ---

@pytest.mark.parametrize("name", WRONG)
def test_dap_with_a_wrong_token(adapter, hub, name):
    client = hub.dap_tcp()
    assert client.initialize()
    token = wrong_token(hub, name)
    arguments = {"connect": adapter.address, **({"token": token} if token else {})}
    with pytest.raises(DapError, match="token"):
        client.attach(arguments, timeout=20)
    client.strict = False  # it may be closed at once, or wait for another try
    assert_untouched(hub, adapter)


@pytest.mark.parametrize("token", [7, None, [], {"a": 1}, True, ""])
def test_dap_with_a_token_of_another_type(adapter, hub, token):
    client = hub.dap_tcp(strict=False)
    client.initialize()
    answer = client.request("attach", {"connect": adapter.address, "token": token})
    assert not answer["success"] and "token" in answer["message"]
    assert_untouched(hub, adapter)


@pytest.mark.parametrize("path", ["/dap", "/events"])
@pytest.mark.parametrize("name", WRONG)
def test_websocket_with_a_wrong_token(adapter, hub, name, path):
    with pytest.raises(WebSocketRefused) as refused:
        hub.upgraded(path, "dap" if path == "/dap" else "raydbg.events", wrong_token(hub, name))
    assert refused.value.status == 401
    assert "token" in json.loads(refused.value.body)["error"]["what"] + refused.value.body.decode()
    assert_untouched(hub, adapter)


@pytest.mark.parametrize("path", ["/v1/pauses", "/v1/sessions", "/metrics", "/", "/dap", "/v1/pauses/x/release"])
@pytest.mark.parametrize("name", WRONG)
def test_http_with_a_wrong_token(adapter, hub, name, path):
    answer = hub.http("POST" if path.endswith("release") else "GET", path, token=wrong_token(hub, name))
    assert answer.status == 401 and "token" in json.dumps(answer.error), answer
    assert_untouched(hub, adapter)


@pytest.mark.parametrize("header", ["Basic {}", "Bearer", "Bearer  ", "{}", "Bearer {} x", "bearer{}"])
def test_authorization_that_is_none(hub, header):
    assert hub.http("GET", "/v1/pauses", token="", headers={"Authorization": header.format(hub.token)}).status == 401


def test_an_observer_may_look_and_not_touch(adapter, hub):
    hub.join().stopped()
    for path in "/v1/pauses", "/v1/sessions", "/metrics":
        assert hub.http("GET", path, token=OBSERVER_TOKEN).status == 200
    for verb in "hold", "continue", "release":
        answer = hub.post(verb, token=OBSERVER_TOKEN)
        assert answer.status == 403 and "observer" in json.dumps(answer.error), answer
    hub.events(token=OBSERVER_TOKEN).wait(lambda m: m["event"] == "pauses")
    client = hub.websocket(token=OBSERVER_TOKEN)
    client.initialize()
    client.attach(hub.attach_arguments("websocket"), timeout=20)
    assert client.wait_event("raydbg/role")["body"]["role"] == "observer"
    assert not client.request("next", {"threadId": 1})["success"]
    assert not adapter.requests("next") and not adapter.requests("continue") and not adapter.requests("disconnect")


def test_a_token_in_a_url_opens_nothing(adapter, hub):
    for name in "token", "access_token", "Authorization":
        assert hub.http("GET", f"/v1/pauses?{name}={hub.token}", token="").status in (400, 401)
        with pytest.raises(WebSocketRefused):
            hub.upgraded(f"/dap?{name}={hub.token}", "dap", token="")
    with pytest.raises(WebSocketRefused):
        hub.upgraded("/dap", f"dap, {hub.token}", token="")
    assert_untouched(hub, adapter)
    assert hub.token not in hub.stderr() and hub.token not in (hub.state / "s/raydbg/audit.log").read_text()


def test_the_token_is_nobody_elses(adapter, hub):
    path = hub.state / "s/raydbg/token"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert re.fullmatch("[0-9a-f]{64}", hub.token)
    commands = open(f"/proc/{hub.pid}/cmdline").read()
    assert hub.token not in commands
    before = hub.token
    hub.terminate()
    hub.restart()
    assert hub.token == before


@pytest.mark.parametrize("kind", ["tcp", "websocket", "http"])
def test_token_none_on_loopback(adapter, run_relay, kind):
    hub = run_relay("--token", "none")
    if kind == "http":
        assert hub.http("GET", "/v1/pauses", token="").status == 200
        return
    client = hub.dap_tcp() if kind == "tcp" else hub.websocket(token="")
    client.initialize()
    client.attach({"connect": adapter.address}, timeout=20)
    assert client.stopped()


@pytest.mark.parametrize("arguments, listen, words", [
    (["--token", "none"], "0.0.0.0:0", "TLS|token|loopback"),
    ([], "0.0.0.0:0", "TLS|tls-cert"),
    ([], "[::]:0", "TLS|tls-cert"),
    ([], "nonsense", "HOST:PORT"),
    (["--tls-cert", "/nowhere/x.crt", "--tls-key", "/nowhere/x.key"], "127.0.0.1:0", "/nowhere/x"),
    (["--token-file", "/nowhere/token"], "127.0.0.1:0", "/nowhere/token"),
    (["--hold", "sometimes"], "127.0.0.1:0", "sometimes"),
    (["--max-hold", "yesterday"], "127.0.0.1:0", "yesterday")])
def test_what_the_relay_refuses_to_be(run_relay, arguments, listen, words):
    relay = run_relay(*arguments, listen=[listen], ready=False)
    assert relay.wait() in (1, 2)
    assert re.search(words, relay.stderr()), relay.stderr()


def test_a_token_file_that_others_can_read(run_relay, tmp_path):
    path = tmp_path / "token"
    path.write_text("a" * 64)
    path.chmod(0o644)
    relay = run_relay("--token-file", path, ready=False)
    assert relay.wait() != 0 and str(path) in relay.stderr()


# --- Origin and Host ---

@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1.evil.example", "http://localhost"])
@pytest.mark.parametrize("path", ["/dap", "/events", "/v1/pauses"])
def test_another_origin_is_refused(adapter, hub, origin, path):
    if path == "/v1/pauses":
        assert hub.http("GET", path, headers={"Origin": origin}).status == 403
    else:
        with pytest.raises(WebSocketRefused) as refused:
            hub.upgraded(path, "dap" if path == "/dap" else "raydbg.events", headers={"Origin": origin})
        assert refused.value.status == 403
    assert_untouched(hub, adapter)


def test_an_allowed_origin(run_relay):
    hub = run_relay("--allow-origin", "vscode-file://vscode-app")
    assert hub.websocket(headers={"Origin": "vscode-file://vscode-app"}).initialize()
    with pytest.raises(WebSocketRefused):
        hub.websocket(headers={"Origin": "vscode-file://vscode-app.evil"})


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", ""])
@pytest.mark.parametrize("path", ["/dap", "/v1/pauses", "/healthz"])
def test_another_host_is_refused(adapter, hub, host, path):
    if path == "/dap":
        with pytest.raises(WebSocketRefused) as refused:
            hub.upgraded(path, "dap", headers={}, host=host or " ")
        assert refused.value.status in (400, 403)
    else:
        assert hub.http("GET", path, host=host or " ").status in (400, 403)
    assert not adapter.connections


def test_hosts_that_are_the_relays_own(run_relay):
    hub = run_relay("--allow-host", "debug.example.org")
    port = hub.address[1]
    for host in f"127.0.0.1:{port}", f"localhost:{port}", "debug.example.org", f"debug.example.org:{port}":
        assert hub.http("GET", "/v1/pauses", host=host).status == 200, host


# --- nonsense ---

def hostile():
    """First bytes that no client means, by name."""
    rng = random.Random(4713)
    request = b"GET /v1/pauses HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    upgrade = (b"GET /dap HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Protocol: dap\r\n\r\n")
    attach = frame({"seq": 1, "type": "request", "command": "attach", "arguments": {"connect": "127.0.0.1:1"}})
    cases = {
        "nothing": b"", "a newline": b"\r\n", "zeros": bytes(5000), "random": rng.randbytes(3000),
        "tls": bytes.fromhex("16030100c8010000c40303") + rng.randbytes(192), "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
        "smb": b"\0\0\0\x85\xffSMBr", "redis": b"*1\r\n$4\r\nPING\r\n", "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "http/0.9": b"GET /\r\n", "no uri": b"GET\r\n\r\n", "connect": b"CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n",
        "absolute": b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "dots": b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "header without end": request + b"X: " + b"a" * 100_000, "many headers": request + b"X-A: b\r\n" * 20_000,
        "nul in header": request + b"X: \0\0\r\n\r\n", "bad upgrade": upgrade,
        "two lengths": request + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n",
        "length and chunks": request + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "body of a giant": request.replace(b"GET", b"POST") + b"Content-Length: 99999999999\r\n\r\n" + b"x" * 70_000,
        "dap: no number": b"Content-Length: x\r\n\r\n", "dap: negative": b"Content-Length: -5\r\n\r\n",
        "dap: giant": b"Content-Length: 99999999999999999999\r\n\r\n", "dap: 1 GB": b"Content-Length: 1000000000\r\n\r\n",
        "dap: header without end": b"Content-Length: " + b"1" * 100_000,
        "dap: other headers": b"Content-Type: x\r\n" * 10_000, "dap: no json": frame(b"{" * 100),
        "dap: deep": frame(b"[" * 60_000), "dap: no request": frame(b'{"seq":1,"type":"event","event":"x"}'),
        "dap: attach without a token": attach, "dap: requests": frame(b'{"seq":1,"type":"request","command":"threads"}'),
        "dap: many attaches": attach * 300,
        "dap: half a message": attach[:-7], "dap, then http": attach + request + b"\r\n"}
    return cases


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
                time.sleep(0.002)
            assert re.search(rb"200|supports", sock.recv(65536))
    assert_untouched(hub, adapter)


@pytest.mark.parametrize("data", [
    encode_frame(TEXT, b"{}", masked=False), encode_frame(TEXT, b"\xff\xfe"), encode_frame(3, b"x"), encode_frame(0, b"x"),
    encode_frame(TEXT, b"nonsense"), encode_frame(2, bytes(100)), b"\x81\xff" + b"\xff" * 8, encode_frame(9, bytes(126)),
    encode_frame(TEXT, b"{" * 60_000), encode_frame(TEXT, b"x", fin=False) * 1000, os.urandom(3000)])
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
            said = drain(sock, 5)
        assert b"64 KiB" in said or b"65536" in said, said[-1000:]
    assert_untouched(hub, adapter)


def test_64_kib_are_enough_for_a_client(adapter, hub):
    client = hub.dap_tcp()
    client.ok("initialize", {"adapterID": "x", "clientName": "n" * 40_000})
    client.attach(hub.attach_arguments(), timeout=20)
    assert client.stopped()


def test_ten_seconds_before_the_token(adapter, hub):
    """Slowloris on each protocol, and one that says nothing: all closed after 10 s, nobody else waits."""
    beginnings = [b"", b"C", b"Content-Length: 100\r\n\r\n{", b"GET /v1/pauses HT", b"GET /dap HTTP/1.1\r\nHost: 127.0.0.1\r\n",
                  b"POST /v1/pauses/x/hold HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n",
                  frame({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}})]
    started = time.monotonic()
    sockets = [hub.connect() for _ in beginnings]
    for sock, data in zip(sockets, beginnings):
        sock.sendall(data)
    for _ in range(4):
        time.sleep(2)
        for sock in sockets[3:5]:
            send_quietly(sock, b"X")
        before = time.monotonic()
        assert hub.http("GET", "/healthz", token="").status == 200
        assert time.monotonic() - before < 1
    said = []
    for sock in sockets:
        said.append(drain(sock, 10))
        sock.close()
    assert 9 < time.monotonic() - started < 16
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
    client.wait_end(5)
    assert hub.http("GET", "/healthz", token="").status == 200


def test_a_header_over_the_limit(run_relay):
    hub = run_relay("--max-header", "4K")
    answer = hub.http("GET", "/v1/pauses", headers={"X-Long": "a" * 2000})
    assert answer.status == 200
    with suppress(ConnectionError, OSError):
        answer = hub.http("GET", "/v1/pauses", headers={"X-Long": "a" * 6000})
        assert answer.status in (400, 413, 431)
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
    wait_until(lambda: hub.http("GET", "/v1/sessions").status == 200, 5, "the first one's place is free")
    hub.join(name="another").stopped()


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
    time.sleep(0.5)
    with hub.connect(source="127.0.0.7") as sock:
        sock.sendall(request)
        assert b"supports" in sock.recv(65536), "their places are free again"


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
                sockets[-1].settimeout(0.05)
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
    assert slowest < 2
    assert len(adapter.connections) == 1 and not adapter.connection().ended.is_set()
    assert client.step("next", 1)["reason"] == "step"
    client.disconnect()
    assert hub.join("websocket").stopped()
    wait_until(lambda: len(os.listdir(f"/proc/{hub.pid}/fd")) < 60, 20, "the descriptors are given back")


# --- TLS ---

@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def tls_relay(run_relay, authority, *arguments, **issue):
    certificate, key = authority.issue("relay", **issue)
    context = ssl.create_default_context(cafile=authority.ca)
    return run_relay("--tls-cert", certificate, "--tls-key", key, *arguments, tls=context)


def bridge(hub, *arguments, token=None, address=None):
    """`raydbg dap --relay`, as a DapClient; its stderr is in client.stderr."""
    env = {**os.environ, **hub.env, "RAYDBG_TOKEN": hub.token if token is None else token}
    stderr = hub.state / f"bridge-{len(hub.clients)}"
    with stderr.open("wb") as errors:
        process = subprocess.Popen([raydbg_path(), "dap", "--relay", "https://%s:%d" % (address or hub.address), *arguments],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env)
    client = DapClient.over_process(process, name="raydbg dap --relay")
    client.stderr = stderr
    hub.clients.append(client)
    return client


def assert_bridge_refuses(client, words):
    client.strict = False
    said = ""
    with suppress(DapClosed, OSError):
        client.request("initialize", {"adapterID": "raydbg"})
        said = str(client.request("attach", {}))
    client.close(check=False)
    said += client.stderr.read_text() + client.text()
    assert re.search(words, said, re.IGNORECASE), said


def test_tls_carries_websocket_and_http(adapter, run_relay, authority):
    hub = tls_relay(run_relay, authority)
    assert hub.http("GET", "/healthz", token="").status == 200
    assert hub.http("GET", "/v1/pauses", token="").status == 401
    assert hub.http("GET", "/v1/pauses").status == 200
    client = hub.join("websocket")
    client.stopped()
    assert client.step("next", 1)
    hub.events().wait(lambda m: m["event"] == "pauses")


def test_tls_refuses_plain_bytes(adapter, run_relay, authority):
    hub = tls_relay(run_relay, authority)
    for data in hostile()["dap: attach without a token"], b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", os.urandom(500):
        with hub.connect(tls=False) as sock:
            send_quietly(sock, data)
            assert b"200" not in drain(sock)
    assert_untouched(hub, adapter)


def test_tls_bridge_with_the_right_authority(adapter, run_relay, authority):
    hub = tls_relay(run_relay, authority)
    client = bridge(hub, "--relay-ca", authority.ca)
    client.initialize()
    client.attach({"connect": adapter.address}, timeout=20)
    assert client.stopped()
    client.disconnect()


def test_tls_bridge_with_a_pin(adapter, run_relay, authority):
    hub = tls_relay(run_relay, authority, hosts=["another.example"])
    pin = "SHA256:" + fingerprint(authority.directory / "relay.crt")
    client = bridge(hub, "--relay-fingerprint", pin)
    client.initialize()
    client.attach({"connect": adapter.address}, timeout=20)
    assert client.stopped()
    client.disconnect()
    wrong = pin[:-1] + ("0" if pin[-1] != "0" else "1")
    assert_bridge_refuses(bridge(hub, "--relay-fingerprint", wrong), "fingerprint")


FAULTS = {"another authority": ({}, "certificate"), "expired": ({"days": (-10, -1)}, "expired"),
          "not yet valid": ({"days": (1, 2)}, "not yet valid|valid"),
          "another host": ({"hosts": ["another.example"]}, "127.0.0.1|host|name")}


class PretendRelay(threading.Thread):
    """Somebody who answers TLS with this certificate and keeps what it is told."""

    def __init__(self, certificate, key):
        super().__init__(daemon=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.told = b""
        self.start()

    def run(self):
        with suppress(OSError):
            while True:
                sock, _ = self.listener.accept()
                with suppress(OSError), self.context.wrap_socket(sock, server_side=True) as tls:
                    self.told += tls.recv(65536)


@pytest.mark.parametrize("fault", FAULTS)
def test_tls_bridge_refuses_a_certificate(adapter, run_relay, authority, tmp_path, fault):
    """Before it says anything, its token above all."""
    hub = run_relay()
    options, words = FAULTS[fault]
    trusted = Authority(tmp_path, "other").ca if fault == "another authority" else authority.ca
    pretender = PretendRelay(*authority.issue("relay", **options))
    client = bridge(hub, "--relay-ca", trusted, address=pretender.address)
    assert_bridge_refuses(client, words)
    pretender.listener.close()
    assert not pretender.told
    assert hub.token not in client.stderr.read_text() + client.text()


@pytest.mark.parametrize("fault", ["expired", "not yet valid"])
def test_tls_relay_refuses_a_certificate_out_of_date(run_relay, authority, fault):
    options, words = FAULTS[fault]
    certificate, key = authority.issue("relay", **options)
    relay = run_relay("--tls-cert", certificate, "--tls-key", key, ready=False)
    assert relay.wait() in (1, 2)
    assert re.search(words, relay.stderr()), relay.stderr()


def test_tls_bridge_with_a_wrong_token(adapter, run_relay, authority):
    hub = tls_relay(run_relay, authority)
    assert_bridge_refuses(bridge(hub, "--relay-ca", authority.ca, token="f" * 64), "token")
    assert not adapter.connections


def test_mutual_tls(adapter, run_relay, authority, tmp_path):
    hub = tls_relay(run_relay, authority, "--tls-client-ca", authority.ca)
    for who in None, Authority(tmp_path, "other").issue("stranger"), authority.issue("late", days=(-10, -1)):
        hub.tls = ssl.create_default_context(cafile=authority.ca)
        if who:
            hub.tls.load_cert_chain(*who)
        with pytest.raises((OSError, ssl.SSLError, WebSocketRefused)):
            hub.join("websocket")
    assert not adapter.connections
    hub.tls.load_cert_chain(*authority.issue("friend"))
    assert hub.join("websocket").stopped()
    assert hub.http("GET", "/v1/pauses").status == 200
    assert hub.http("GET", "/v1/pauses", token="").status == 401


@pytest.mark.parametrize("pair", ["unmatched", "not a key"])
def test_a_pair_that_is_none(run_relay, authority, pair):
    certificate, key = authority.issue("one")
    if pair == "unmatched":
        key = authority.issue("two")[1]
    else:
        key.write_text("nonsense")
    relay = run_relay("--tls-cert", certificate, "--tls-key", key, ready=False)
    assert relay.wait() in (1, 2)
    assert str(key) in relay.stderr() or str(certificate) in relay.stderr(), relay.stderr()


# --- the rest of the port ---

def test_make_cert(adapter, run_relay, tmp_path):
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    made = subprocess.run([raydbg_path(), "relay", "--make-cert", "127.0.0.1", "head.example"], env=env, text=True,
                          capture_output=True, timeout=20)
    assert made.returncode == 0, made.stderr
    certificate = next((tmp_path / "raydbg").glob("*.crt"), None) or next((tmp_path / "raydbg").glob("*cert*.pem"))
    key = next(p for p in (tmp_path / "raydbg").iterdir() if "key" in p.name)
    pin = re.search(r"SHA256:[0-9A-Fa-f:]+", made.stdout + made.stderr).group()
    assert pin.replace(":", "").upper() == ("SHA256" + fingerprint(certificate)).replace(":", "")
    assert key.stat().st_mode & 0o777 == 0o600
    hub = run_relay("--tls-cert", certificate, "--tls-key", key)
    client = bridge(hub, "--relay-fingerprint", pin)
    client.initialize()
    client.attach({"connect": adapter.address}, timeout=20)
    client.stopped()
    client.disconnect()


def test_make_observer_token(run_relay, adapter, tmp_path):
    hub = run_relay()
    hub.terminate()
    made = subprocess.run([raydbg_path(), "relay", "--make-observer-token"], env={**os.environ, **hub.env}, text=True,
                          capture_output=True, timeout=20)
    assert made.returncode == 0, made.stderr
    path = hub.state / "s/raydbg/observer-token"
    assert path.stat().st_mode & 0o777 == 0o600
    hub.restart()
    token = path.read_text().strip()
    assert token != hub.token
    assert hub.http("GET", "/v1/pauses", token=token).status == 200
    assert hub.post("hold", token=token).status == 403


def test_an_old_client(adapter, hub):
    """A client that knows of nothing new: an editor's plain DAP with a launch.json."""
    client = hub.dap_tcp()
    client.ok("initialize", {"adapterID": "python"})
    client.attach({"connect": {"host": adapter.host, "port": adapter.port}, "token": hub.token, "justMyCode": True},
                  breakpoints={PROGRAM: [9]})
    thread = client.stopped()["threadId"]
    assert client.step("next", thread) and client.stack(thread)[0]["line"] == 9
    assert client.locals(3)["x"]["value"] == "3"
    client.resume(thread)
    client.ok("terminate")
    client.disconnect()
    client.wait_end()
    assert b"token" not in bytes(adapter.raw) and hub.token.encode() not in bytes(adapter.raw)


def test_the_token_stays_here(adapter, hub):
    for kind in "tcp", "websocket":
        client = hub.join(kind, token=hub.token)
        client.stopped()
        client.disconnect()
    assert hub.token.encode() not in bytes(adapter.raw)
    assert hub.token not in hub.stderr()


def test_unix_sockets(adapter, tmp_path, run_relay):
    path = tmp_path / "relay.sock"
    hub = run_relay(listen=[f"unix:{path}", "127.0.0.1:0"])
    assert path.stat().st_mode & 0o077 == 0
    for kind in "tcp", "http":
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(path))
            if kind == "http":
                sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert b" 200 " in drain(sock)
                continue
            with DapClient.over_socket(sock) as client:
                client.initialize()
                client.attach(hub.attach_arguments(), timeout=20)
                assert client.stopped()
                client.disconnect()
    hub.terminate()
    assert not path.exists()


def test_two_addresses(run_relay):
    hub = run_relay(listen=["127.0.0.1:0", "[::1]:0"])
    assert len(hub.addresses) == 2
    hub.addresses.reverse()
    assert hub.http("GET", "/healthz", token="", host="[::1]:%d" % hub.address[1]).status == 200


def test_an_address_in_use(run_relay):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        relay = run_relay(listen=[f"127.0.0.1:{port}"], ready=False)
        assert relay.wait() == 1
        assert str(port) in relay.stderr() and "in use" in relay.stderr()


def test_healthz(hub):
    answer = hub.http("GET", "/healthz", token="")
    assert (answer.status, answer.body) in ((200, b"ok"), (200, b"ok\n"))
    assert not re.search("raydbg|lws|libwebsockets", json.dumps(answer.headers))


SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*"(?:,[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*")*\})?'
                    r" (-?[0-9.e+-]+|NaN|[+-]Inf)$")


def metrics(hub):
    """The samples of /metrics by name and labels; fails if it is not Prometheus text."""
    answer = hub.http("GET", "/metrics")
    assert answer.status == 200
    kind = {name.lower(): value for name, value in answer.headers.items()}["content-type"]
    assert kind.startswith("text/plain; version=0.0.4"), kind
    samples, typed = {}, set()
    for line in answer.body.decode().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, what = line.split(" ")
            assert what in ("counter", "gauge", "histogram", "summary") and name not in typed
            typed.add(name)
        elif line and not line.startswith("# HELP "):
            name, labels, value = SAMPLE.match(line).groups()
            base = re.sub("_(bucket|sum|count)$", "", name)
            assert base in typed or name in typed, line
            assert name + (labels or "") not in samples, line
            samples[name + (labels or "")] = float(value)
    assert answer.body.endswith(b"\n") and samples
    assert all(name.startswith(("raydbg_", "process_")) for name in samples)
    return samples


def test_metrics(adapter, hub):
    before = metrics(hub)
    first = hub.join()
    first.stopped()
    hub.http("GET", "/v1/pauses", token="f" * 64)
    after = metrics(hub)
    assert before.keys() <= after.keys()
    assert {name for name in after if after[name] != before.get(name, 0)}, "nothing was counted"
    assert any("session" in name and after[name] == before[name] + 1 for name in before), after
    assert any("refused" in name and after[name] > before.get(name, 0) for name in after), after


def test_a_target_without_ray(adapter):
    """--target passes everything, before `initialize` and without a token; it ends when the adapter does."""
    with RelayProcess("--token", "none", "--target", f"debugpy://{adapter.address}", adapter=None) as relay:
        for _ in range(2):
            with relay.dap_tcp() as client:
                client.wait_event("debugpySockets")
                client.initialize()
                client.attach({"any": "thing"}, timeout=20)
                client.stopped()
                answer = client.request("customThing", {"a": 1})
                assert "customThing" in answer["message"]
                client.disconnect()
        assert adapter.requests("attach")[0]["arguments"] == {"any": "thing"}
        adapter.close()
        with suppress(DapError, OSError):
            relay.dap_tcp(strict=False).wait_end(5)
        assert relay.wait() == 0
