"""Which relay gets to know a client's token: none over a plain connection, and none that cannot prove that it has it."""

import contextlib
import json
import os
import socket
import socketserver
import subprocess
import threading

import pytest
import sanitizers
from fake_relay import make_certificate, proof
from relay_under_test import raydbg_path
from waits import limit, wait_until

COMMANDS = [("list",), ("attach", "square", "-e", "where"), ("release", "--all"), ("memory",), ("doctor",)]


class Listener:
    """Whatever listens where a client takes a relay to be: answers with `answer`, or passes all on to `target`."""

    def __init__(self, target=None, answer=b"", port=0):
        heard = self.heard = []

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                if target is None:
                    heard.append(self.request.recv(65536))
                    self.request.sendall(answer)
                    return
                with socket.create_connection(target) as other:
                    def back():
                        while data := other.recv(65536):
                            self.request.sendall(data)
                        self.request.close()
                    thread = threading.Thread(target=back, daemon=True)
                    thread.start()
                    while data := self.request.recv(65536):
                        heard.append(data)
                        other.sendall(data)
                    other.shutdown(socket.SHUT_WR)
                    thread.join(limit())

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True

            def handle_error(self, request, address):
                """The client may go at any time."""

        self.server = Server(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def address(self):
        return "127.0.0.1:%d" % self.server.server_address[1]

    def said(self):
        return b"".join(self.heard)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def listen():
    started = []

    def start(*arguments, **options):
        started.append(Listener(*arguments, **options))
        return started[-1]

    yield start
    for listener in started:
        listener.close()


def run(state, *arguments, env=None):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_")) and
             not name.lower().endswith("_proxy")}
    result = subprocess.run([raydbg_path(), *arguments], capture_output=True, text=True, timeout=limit(), input="",
                            env={**clean, **sanitizers.ENV, "XDG_STATE_HOME": str(state), "HOME": str(state), **(env or {})})
    sanitizers.check(result.returncode, result.stderr)
    return result


def copied(hub, state, token=None, **changes):
    """A client's state directory with the relay's own entry, changed."""
    entry = {**json.loads((hub.state / "s/raydbg/relay.json").read_text()), **changes}
    directory = state / "raydbg"
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in (("relay.json", json.dumps(entry)), ("token", token or hub.token)):
        (directory / name).write_text(text)
        (directory / name).chmod(0o600)
    return entry


def assert_secret(token, *listeners):
    for listener in listeners:
        assert token.encode() not in listener.said() and b"Bearer" not in listener.said(), "the token was shown"


# --- what listens there is no relay ---

ANSWERS = [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
           b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n",
           b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 35\r\n\r\n{"id":"","nonce":"00","proofs":[""]}']


def all_is_well(body):
    """Answers 200 to whatever is asked."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize("answer", ANSWERS, ids=["nothing", "ok", "an older relay", "401", "no proof"])
def test_a_listener_gets_no_token(hub, listen, tmp_path, answer):
    other = listen(answer=answer)
    copied(hub, tmp_path, addresses=[other.address], cluster="127.0.0.1:1")
    for command in COMMANDS:
        run(tmp_path, *command, "--address", "127.0.0.1:1")
        run(tmp_path, *command, "--relay", other.address)
    assert len(other.heard) >= 2 * len(COMMANDS)
    assert_secret(hub.token, other)


def test_what_is_registered_is_not_open_because_it_says_so(hub, listen, tmp_path):
    other = listen(answer=all_is_well(b'{"open":true,"id":"","nonce":"00","proofs":[],"pauses":[]}'))
    copied(hub, tmp_path, addresses=[other.address], cluster="127.0.0.1:1")
    result = run(tmp_path, "list", "--address", "127.0.0.1:1")
    assert other.heard and all(b"GET /v1/challenge" in said for said in other.heard), other.heard
    assert "is not trusted" in result.stderr, result.stderr


def test_a_client_without_a_token_is_told_where_to_put_it(hub, tmp_path):
    result = run(tmp_path, "list", "--relay", "%s:%d" % hub.address)
    assert result.returncode == 4 and "a token is needed" in result.stderr
    assert "RAYDBG_TOKEN" in result.stderr and "--relay-token-file" in result.stderr


def test_a_certificate_that_is_not_trusted_is_no_missing_relay(run_relay, tmp_path):
    cert, key, _ = make_certificate(tmp_path, "IP:127.0.0.1")
    hub = run_relay("--tls-cert", str(cert), "--tls-key", str(key))
    copied(hub, tmp_path)
    result = run(tmp_path, "list", "--relay", "https://%s:%d" % hub.address)
    assert result.returncode == 4 and "is not trusted" in result.stderr and "running" not in result.stderr
    assert "--relay-fingerprint" in result.stderr


def test_a_relay_that_speaks_tls_says_so(run_relay, tmp_path):
    cert, key, _ = make_certificate(tmp_path, "IP:127.0.0.1")
    hub = run_relay("--listen", "0.0.0.0:0", "--tls-cert", str(cert), "--tls-key", str(key))
    copied(hub, tmp_path)
    result = run(tmp_path, "list", "--relay", "http://127.0.0.1:%d" % hub.address[1])
    assert result.returncode == 1 and "this port speaks TLS" in result.stderr and "https://" in result.stderr


def test_a_relay_that_was_named_and_has_another_token(hub, tmp_path):
    copied(hub, tmp_path, token="another-token-0123456789")
    result = run(tmp_path, "list", "--relay", "%s:%d" % hub.address)
    assert result.returncode == 4 and "does not prove that it knows this client's token" in result.stderr
    assert "RAYDBG_TOKEN" in result.stderr


# --- what listens there passes everything on to the relay ---


@pytest.mark.parametrize("command", COMMANDS, ids=[c[0] for c in COMMANDS])
def test_what_a_relay_says_of_itself_is_not_true_elsewhere(hub, listen, tmp_path, command):
    between = listen(target=hub.address)
    copied(hub, tmp_path, addresses=[between.address], cluster="127.0.0.1:1")
    words = "does not accept this machine's token" if command[0] == "doctor" else "is not trusted"

    said = []

    def told():
        result = run(tmp_path, *command, "--address", "127.0.0.1:1")
        said.append(result.stderr + result.stdout)
        return words in said[-1]

    if command[0] == "doctor":  # which does not wait for long
        wait_until(told, lambda: f"{words}: {said}")
    else:
        assert told(), said
    assert b"place=here" in between.said(), "the client did not get so far"
    assert b"Authorization" not in between.said()
    assert_secret(hub.token, between)


def test_a_tunnel_that_the_user_names(hub, listen, tmp_path):
    between = listen(target=hub.address)
    copied(hub, tmp_path)
    result = run(tmp_path, "list", "--relay", between.address)
    assert f"relay {between.address} holds 0" in result.stderr
    assert_secret(hub.token, between)


def authorization(listener):
    return [line.partition(b": ")[2].decode() for line in listener.said().replace(b"authorization:", b"Authorization:").split(b"\r\n")
            if line.startswith(b"Authorization")]


def test_a_proof_is_good_for_one_request(hub, listen, tmp_path):
    between = listen(target=hub.address)
    copied(hub, tmp_path)
    run(tmp_path, "list", "--relay", between.address)
    seen, = authorization(between)
    for method, path in ("GET", "/v1/pauses"), ("GET", "/v1/sessions"), ("POST", "/v1/pauses/x/release"), ("GET", "/metrics"):
        assert hub.http(method, path, token="", headers={"Authorization": seen}).status == 401


def challenge(hub, endpoint="anywhere", nonce="ab" * 32):
    answer = hub.http("GET", f"/v1/challenge?nonce={nonce}&place={endpoint}", token="")
    return answer.json if answer.status == 200 else answer


def header(hub, said, endpoint="anywhere", nonce="ab" * 32, request="GET /v1/pauses", token=None, text=None):
    mac = proof(token or hub.token, "client", said["id"], text or endpoint, nonce, said["nonce"], request)
    return {"Authorization": f"Raydbg {endpoint} {nonce} {said['nonce']} {mac}"}


def asked(hub, headers, method="GET", path="/v1/pauses"):
    return hub.http(method, path, token="", headers=headers).status


def test_each_part_of_a_proof_counts(hub):
    said = challenge(hub)
    assert said["proofs"] == [proof(hub.token, "relay", said["id"], "anywhere", "ab" * 32, said["nonce"])]
    good = header(hub, said)
    wrong = [header(hub, said, request="GET /v1/sessions"), header(hub, said, request="POST /v1/pauses"),
             header(hub, said, token="another-token-0123456789"), header(hub, said, nonce="cd" * 32),
             header(hub, {**said, "id": "0" * 32}), header(hub, {**said, "nonce": "0" * 112}),
             header(hub, said, endpoint="here", text=f"here {json.loads((hub.state / 's/raydbg/relay.json').read_text())['machine']} "
                    "%s:%d" % hub.address),
             {"Authorization": good["Authorization"][:-1]}, {"Authorization": good["Authorization"] + " x"},
             {"Authorization": good["Authorization"].replace("anywhere", "nowhere")},
             {"Authorization": "Raydbg"}, {"Authorization": "Raydbg a b c d"},
             {"Authorization": f"Raydbg anywhere {'ab' * 32} {said['nonce']} {said['proofs'][0]}"}]
    for headers in wrong:
        assert asked(hub, headers) == 401, headers
    assert asked(hub, good) == 200
    assert asked(hub, good) == 401, "a proof was taken twice"


def test_a_challenge_is_one_relays(hub, run_relay):
    other = run_relay()
    said, others = challenge(hub), challenge(other)
    assert said["id"] != others["id"] and asked(hub, header(hub, {**others, "id": said["id"]})) == 401


@pytest.mark.parametrize("query", ["", "nonce=1&place=here", f"nonce={'ab' * 32}", f"nonce={'ab' * 32}&place=there",
                                   f"nonce={'AB' * 32}&place=here", f"nonce={'ab' * 33}&place=here",
                                   f"place=here&nonce={'g' * 64}"])
def test_a_challenge_that_makes_no_sense(hub, query):
    answer = hub.http("GET", f"/v1/challenge?{query}", token="")
    assert answer.status == 400 and "nonce" in answer.error["why"]


def test_an_observers_token_proves_an_observer(run_relay, tmp_path):
    path = tmp_path / "observer"
    path.write_text("an-observers-token-0123456789\n")
    path.chmod(0o600)
    hub = run_relay("--observer-token-file", str(path))
    said = challenge(hub)
    assert len(said["proofs"]) == 2
    release = header(hub, said, request="POST /v1/pauses/x/release", token=path.read_text().strip())
    assert asked(hub, release, "POST", "/v1/pauses/x/release") == 403
    look = header(hub, challenge(hub), token=path.read_text().strip())
    assert asked(hub, look) == 200
    assert asked(hub, look) == 401, "a proof was taken twice"


def test_an_open_relay_is_shown_no_token(run_relay, listen, tmp_path):
    hub = run_relay("--token", "none")
    between = listen(target=hub.address)
    copied(hub, tmp_path, token="a-token-of-another-relay")
    for arguments in ("--relay", between.address), ():
        result = run(tmp_path, "list", *arguments)
        assert "holds 0" in result.stderr
    assert_secret("a-token-of-another-relay", between)
    assert b"Authorization" not in between.said()


def test_no_proxy_gets_between(hub, listen, tmp_path):
    proxy = listen(answer=b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    copied(hub, tmp_path)
    for arguments in ("--relay", "%s:%d" % hub.address), ():
        result = run(tmp_path, "list", *arguments, env={"http_proxy": f"http://{proxy.address}"})
        assert "holds 0" in result.stderr
    assert not proxy.heard


def test_a_port_that_another_process_has_taken(hub, listen, tmp_path):
    copied(hub, tmp_path)
    host, port = hub.address
    hub.kill9()

    def take():
        with contextlib.suppress(OSError):
            return listen(answer=ANSWERS[1], port=port)

    other = wait_until(take, "the port is free")
    run(tmp_path, "list")
    result = run(tmp_path, "list", "--relay", f"{host}:{port}")
    assert result.returncode == 4, result.stderr
    assert_secret(hub.token, other)
