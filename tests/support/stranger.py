"""Somebody who talks to a relay's port without being let in."""

import random
from contextlib import suppress

from dap_client import frame
from waits import limit

# For each: what is wrong with the token. "" is none at all.
WRONG = {"none": "", "wrong": "f" * 64, "short": "x", "long": "f" * 4000, "almost": None}


def wrong_token(relay, name):
    return relay.token[:-1] + ("0" if relay.token[-1] != "0" else "1") if name == "almost" else WRONG[name]


def assert_untouched(hub, adapter):
    """The relay serves, and the adapter has not heard of anybody."""
    assert hub.http("GET", "/healthz", token="").status == 200
    assert not adapter.connections


def drain(sock):
    """All that the relay still says until it closes; fails if it does not close."""
    sock.settimeout(limit())
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
