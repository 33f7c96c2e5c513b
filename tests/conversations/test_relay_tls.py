"""The relay's port under TLS: who believes whose certificate, and that nothing passes without."""

import os
import re
import socket
import ssl
import subprocess
import threading
from contextlib import suppress

import pytest
from certificates import Authority, fingerprint
from dap_client import DapClient, DapClosed
from kernel_queues import unread_by_peer
from relay_under_test import raydbg_path
from stranger import assert_untouched, drain, hostile, send_quietly
from waits import limit, wait_until
from websocket import WebSocketRefused


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def tls_relay(run_relay, authority, *arguments, env=None, **issue):
    certificate, key = authority.issue("relay", **issue)
    context = ssl.create_default_context(cafile=authority.ca)
    return run_relay("--tls-cert", certificate, "--tls-key", key, *arguments, tls=context, env=env)


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


ENDLESS = ["X-Folded: a\r\n b\r\n\r\n", "no colon\r\n\r\n", "X-Part: of a head"]


def test_a_header_that_never_ends_is_answered(run_relay, authority, clock):
    """libwebsockets takes each of them for one that is still coming."""
    hub = tls_relay(run_relay, authority, env=clock.env)
    sockets = [hub.connect() for _ in ENDLESS]
    for sock, header in zip(sockets, ENDLESS):
        sock.sendall(f"GET /healthz HTTP/1.1\r\nHost: {hub.host_header}\r\n{header}".encode())
    for sock in sockets:
        wait_until(lambda sock=sock: not unread_by_peer(sock), "it is read")
    clock.pass_time(10)
    for sock, header in zip(sockets, ENDLESS):
        with sock:
            said = drain(sock)
        assert said.startswith(b"HTTP/1.1 408 ") and b"NAME: VALUE" in said, (header, said)
    assert hub.http("GET", "/healthz", token="").status == 200


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
    client.attach({"connect": adapter.address})
    assert client.stopped()
    client.disconnect()


def test_tls_bridge_with_a_pin(adapter, run_relay, authority):
    hub = tls_relay(run_relay, authority, hosts=["another.example"])
    pin = "SHA256:" + fingerprint(authority.directory / "relay.crt")
    client = bridge(hub, "--relay-fingerprint", pin)
    client.initialize()
    client.attach({"connect": adapter.address})
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


def test_make_cert(adapter, run_relay, tmp_path):
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    made = subprocess.run([raydbg_path(), "relay", "--make-cert", "127.0.0.1", "head.example"], env=env, text=True,
                          capture_output=True, timeout=limit())
    assert made.returncode == 0, made.stderr
    certificate = next((tmp_path / "raydbg").glob("*.crt"), None) or next((tmp_path / "raydbg").glob("*cert*.pem"))
    key = next(p for p in (tmp_path / "raydbg").iterdir() if "key" in p.name)
    pin = re.search(r"SHA256:[0-9A-Fa-f:]+", made.stdout + made.stderr).group()
    assert pin.replace(":", "").upper() == ("SHA256" + fingerprint(certificate)).replace(":", "")
    assert key.stat().st_mode & 0o777 == 0o600
    hub = run_relay("--tls-cert", certificate, "--tls-key", key)
    client = bridge(hub, "--relay-fingerprint", pin)
    client.initialize()
    client.attach({"connect": adapter.address})
    client.stopped()
    client.disconnect()
