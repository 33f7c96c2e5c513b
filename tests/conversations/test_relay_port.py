"""The relay's one port against strangers: nothing unauthenticated reaches the cluster, and it goes on serving."""

import json
import os
import re
import resource
import socket
import subprocess
import time
from contextlib import suppress

import pytest
from dap_client import DapClient, DapError, frame
from fake_adapter import PROGRAM
from relay_process import RelayProcess
from relay_under_test import raydbg_path
from stranger import WRONG, assert_untouched, drain, wrong_token
from waits import limit, settle
from websocket import WebSocketRefused

OBSERVER_TOKEN = "observer-" + "0" * 32


@pytest.fixture
def hub(adapter, run_relay, tmp_path):
    """A relay that has an observer's token, too."""
    path = tmp_path / "observer"
    path.write_text(OBSERVER_TOKEN + "\n")
    path.chmod(0o600)
    yield run_relay("--observer-token-file", path)


# --- tokens ---

@pytest.mark.parametrize("name", WRONG)
def test_dap_with_a_wrong_token(adapter, hub, name):
    client = hub.dap_tcp()
    assert client.initialize()
    token = wrong_token(hub, name)
    arguments = {"connect": adapter.address, **({"token": token} if token else {})}
    with pytest.raises(DapError, match="token"):
        client.attach(arguments)
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
    client.attach(hub.attach_arguments("websocket"))
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
    client.attach({"connect": adapter.address})
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

@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1.evil.example", "http://localhost",
                                    "http://" + "long." * 800 + "example"])
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


# --- the rest of the port ---

def test_make_observer_token(run_relay, adapter, tmp_path):
    hub = run_relay()
    hub.terminate()
    made = subprocess.run([raydbg_path(), "relay", "--make-observer-token"], env={**os.environ, **hub.env}, text=True,
                          capture_output=True, timeout=limit())
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
                client.attach(hub.attach_arguments())
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
    assert before["process_start_time_seconds"] == after["process_start_time_seconds"] <= time.time() + 1
    assert any("session" in name and after[name] == before[name] + 1 for name in before), after
    assert any("refused" in name and after[name] > before.get(name, 0) for name in after), after


def few_files(argv, env, stderr):
    """Starts a relay as a login shell would: the soft limit on open files is low."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
    return subprocess.Popen(["prlimit", "--nofile=256:", *argv], env={**clean, **env}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=stderr)


@pytest.mark.parametrize("what", ["--hold", "--target"])
def test_the_soft_limit_on_open_files_is_raised(adapter, what):
    arguments = {"--hold": ("--allow-connect", "--hold", "never"),
                 "--target": ("--token", "none", "--target", f"debugpy://{adapter.address}")}
    with RelayProcess(*arguments[what], popen=few_files) as relay:
        soft, hard = resource.prlimit(relay.pid, resource.RLIMIT_NOFILE)
        assert soft == hard > 256


def test_a_target_without_ray(adapter):
    """--target passes everything, before `initialize` and without a token; it ends when the adapter does."""
    with RelayProcess("--token", "none", "--target", f"debugpy://{adapter.address}", adapter=None) as relay:
        for number in range(2):
            with relay.dap_tcp() as client:
                client.wait_event("debugpySockets")
                client.initialize()
                client.attach({"any": "thing"})
                client.stopped()
                answer = client.request("customThing", {"a": 1})
                assert "customThing" in answer["message"]
                client.disconnect()
            # A debugpy is free when it knows that its client has gone.
            assert adapter.connection(number).ended.wait(limit())
        assert adapter.requests("attach")[0]["arguments"] == {"any": "thing"}
        adapter.close()
        with suppress(DapError, OSError):
            relay.dap_tcp(strict=False).wait_end()
        assert relay.wait() == 0


@pytest.mark.parametrize("first", ["X-Client: lua", "A: b", "content-type: application/json", "POST: /dap HTTP/1.1"])
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_any_header_may_be_the_first(hub, first, cut):
    """debugpy skips the headers of a message that it does not know."""
    client = hub.client("tcp")
    body = b'{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}'
    client._requests[client.next_seq()] = "initialize"
    message = first.encode() + b"\r\n" + frame(body)
    client.send_raw(message[:cut])
    settle(0.02)
    client.send_raw(message[cut:])
    client.check(client.response(1))
    client.disconnect()


@pytest.mark.parametrize("host", ["localhost.", "LOCALHOST", "LocalHost.:%d"])
def test_a_local_host_however_it_is_written(hub, host):
    assert hub.http("GET", "/v1/pauses", host=host % hub.address[1] if "%" in host else host).status == 200
