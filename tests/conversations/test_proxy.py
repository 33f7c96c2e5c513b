"""Proxies that the environment names: what goes to one, and that no token is ever shown to one."""

import contextlib
import http.server
import json
import os
import re
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading

import pytest
import sanitizers
from certificates import Authority
from dap_client import DapClient
from relay_under_test import raydbg_path
from waits import limit

VARIABLES = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
SECRET = "a-secret-that-no-proxy-may-see"
ELSEWHERE = "0.0.0.0"  # this machine, by an address that is not a loopback one
NAMED = "relay.test"  # only a proxy knows where that is


class Proxy:
    """A proxy that takes CONNECT, and shows all that passes through it. `names` says where hosts are; `answer`: a refusal."""

    def __init__(self, names=None, answer=None):
        self.names, self.answer, self.heads, self.seen = names or {}, answer, [], []
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                proxy.serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True

            def handle_error(self, request, address):
                """The client may go at any time."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head and (data := client.recv(65536)):
            head += data
        self.heads.append(head)
        self.seen.append(head)
        method, _, rest = head.decode("latin-1").partition(" ")
        host, _, port = rest.split(" ")[0].rpartition(":")
        if self.answer or method != "CONNECT":
            client.sendall(self.answer or b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection((self.names.get(host, host), int(port))) as other:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self.pump, args=(other, client), daemon=True)
            back.start()
            self.pump(client, other)
            back.join(limit())

    def pump(self, source, to):
        with contextlib.suppress(OSError):  # an end that has gone
            while data := source.recv(65536):
                self.seen.append(data)
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)

    def env(self, *variables):
        return {name: f"http://{self.address}" for name in variables or VARIABLES}

    def assert_saw_no(self, *secrets):
        seen = b"".join(self.seen)
        for secret in (*secrets, "Bearer"):
            assert secret.encode() not in seen, (secret, seen)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def start_proxy():
    started = []

    def start(*arguments, **options):
        started.append(Proxy(*arguments, **options))
        return started[-1]

    yield start
    for proxy in started:
        proxy.close()


@pytest.fixture
def proxy(start_proxy):
    return start_proxy({NAMED: "127.0.0.1"})


def environment(tmp_path, more):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("RAY_", "RAYDBG_")) and not name.lower().endswith("_proxy")}
    return {**clean, **sanitizers.ENV, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path), **more}


def run(tmp_path, *arguments, **env):
    result = subprocess.run([raydbg_path(), *map(str, arguments)], capture_output=True, text=True, timeout=limit(), input="",
                            env=environment(tmp_path, env))
    sanitizers.check(result.returncode, result.stderr)
    return result


# --- Ray's dashboard ---

class Dashboard:
    """Refuses everything, and remembers who asked."""

    def __init__(self, host="127.0.0.1", context=None):
        self.heads = heads = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                heads.append(str(self.headers))
                self.send_response(403)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((host, 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def dashboard():
    one = Dashboard()
    yield one
    one.close()


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def server_context(authority, *hosts):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("server", hosts=hosts))
    return context


@pytest.fixture
def tls_dashboard(authority):
    one = Dashboard(context=server_context(authority, "127.0.0.1", ELSEWHERE, NAMED))
    yield one
    one.close()


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "127.1", ELSEWHERE])
def test_a_plain_connection_goes_to_no_proxy(tmp_path, proxy, dashboard, host, variable):
    """What is granted a CONNECT would read the token."""
    result = run(tmp_path, "list", "--address", f"http://{host}:{dashboard.port}", RAY_AUTH_TOKEN=SECRET, **proxy.env(variable))
    assert result.returncode == 4, result.stderr
    assert dashboard.heads and all(f"Bearer {SECRET}" in head for head in dashboard.heads)
    assert not proxy.heads


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "[::ffff:127.0.0.1]"])
def test_loopback_goes_to_no_proxy(tmp_path, proxy, authority, host):
    one = Dashboard(context=server_context(authority, "127.0.0.1", "localhost"))
    run(tmp_path, "list", "--address", f"https://{host}:{one.port}", SSL_CERT_FILE=str(authority.ca), RAY_AUTH_TOKEN=SECRET,
        **proxy.env())
    one.close()
    assert not proxy.heads


def test_a_dashboard_with_tls_is_reached_through_the_proxy(tmp_path, proxy, tls_dashboard, authority):
    result = run(tmp_path, "list", "--address", f"https://{NAMED}:{tls_dashboard.port}", RAY_AUTH_TOKEN=SECRET,
                 SSL_CERT_FILE=str(authority.ca), **proxy.env("https_proxy"))
    assert result.returncode == 4 and "refuses access" in result.stderr, result.stderr
    assert f"Bearer {SECRET}" in tls_dashboard.heads[0]
    assert proxy.heads[0].startswith(f"CONNECT {NAMED}:{tls_dashboard.port} ".encode())
    proxy.assert_saw_no(SECRET)


@pytest.mark.parametrize("answered_by", ["another certificate", "a name that is not in it"])
def test_a_proxy_that_answers_itself_is_shown_nothing(tmp_path, start_proxy, authority, answered_by):
    own = Authority(tmp_path, "proxy") if answered_by == "another certificate" else authority
    between = Dashboard(context=server_context(own, NAMED if own is not authority else "other.test"))
    proxy = start_proxy({NAMED: "127.0.0.1"})
    result = run(tmp_path, "list", "--address", f"https://{NAMED}:{between.port}", RAY_AUTH_TOKEN=SECRET,
                 SSL_CERT_FILE=str(authority.ca), **proxy.env("https_proxy"))
    between.close()
    assert result.returncode == 4 and "not trusted" in result.stderr, result.stderr
    assert proxy.heads and not between.heads


NO_PROXY = [ELSEWHERE, "*", f"a.test, {ELSEWHERE}", f"a.test {ELSEWHERE}", f"a.test,,{ELSEWHERE}:443", "0.0.0.0/8", "0.0.0.0/0"]


@pytest.mark.parametrize("variable", ["no_proxy", "NO_PROXY"])
@pytest.mark.parametrize("listed", NO_PROXY)
def test_what_no_proxy_names_goes_to_no_proxy(tmp_path, proxy, tls_dashboard, authority, variable, listed):
    result = run(tmp_path, "list", "--address", f"https://{ELSEWHERE}:{tls_dashboard.port}", RAY_AUTH_TOKEN=SECRET,
                 SSL_CERT_FILE=str(authority.ca), **proxy.env(), **{variable: listed})
    assert "refuses access" in result.stderr, result.stderr
    assert tls_dashboard.heads and not proxy.heads


@pytest.mark.parametrize("listed, direct", [
    ("relay.test", True), ("RELAY.TEST", True), (".relay.test", True), ("test", True), (".test", True), ("relay.test.", True),
    ("", False), ("elay.test", False), ("relay.tes", False), ("other.test", False), ("10.0.0.0/8", False), (",", False)])
def test_names_in_no_proxy(tmp_path, proxy, tls_dashboard, authority, listed, direct):
    """Nobody but the proxy knows the name: directly it is not found."""
    run(tmp_path, "list", "--address", f"https://{NAMED}:{tls_dashboard.port}", SSL_CERT_FILE=str(authority.ca),
        no_proxy=listed, **proxy.env())
    assert bool(proxy.heads) == (not direct)


REFUSALS = {"refused": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "silent": b"", "no HTTP": b"220 hello\r\n",
            "a login": b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"}


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_proxy_that_does_not_connect_is_named(tmp_path, start_proxy, answer):
    proxy = start_proxy(answer=REFUSALS[answer] or b"\r\n")
    result = run(tmp_path, "list", "--address", f"https://{NAMED}:1", RAY_AUTH_TOKEN=SECRET,
                 https_proxy=f"http://me:my-password@{proxy.address}")
    assert result.returncode == 5, result.stderr
    assert proxy.address in result.stderr and "https_proxy" in result.stderr, result.stderr
    assert "my-password" not in result.stderr
    proxy.assert_saw_no(SECRET)


def test_the_proxys_own_password(tmp_path, proxy, tls_dashboard, authority):
    run(tmp_path, "list", "--address", f"https://{NAMED}:{tls_dashboard.port}", SSL_CERT_FILE=str(authority.ca),
        https_proxy=f"http://me:p%40ss@{proxy.address}/")
    assert re.search(rb"(?i)proxy-authorization: *basic bWU6cEBzcw==\r\n", proxy.heads[0]), proxy.heads


@pytest.mark.parametrize("value", ["https://127.0.0.1:1", "socks5://127.0.0.1:1", "http://127.0.0.1", "http://:1", "127.0.0.1:0",
                                   "http://127.0.0.1:70000", "http://" + "x" * 300 + ":1"])
def test_a_proxy_that_cannot_be_used_is_said(tmp_path, tls_dashboard, authority, value):
    result = run(tmp_path, "list", "--address", f"https://{ELSEWHERE}:{tls_dashboard.port}", SSL_CERT_FILE=str(authority.ca),
                 https_proxy=value)
    assert result.returncode != 0 and "https_proxy" in result.stderr and "no_proxy" in result.stderr, result.stderr
    assert not tls_dashboard.heads


# --- a relay ---

COMMANDS = [("list",), ("attach", "square", "-e", "where"), ("release", "--all"), ("doctor",), ("memory",), ("sessions",),
            ("break", "--list"), ("why",)]


@pytest.fixture
def short_directory():
    """A unix socket's path has 107 bytes at the most."""
    with tempfile.TemporaryDirectory(prefix="rp-", dir="/tmp") as directory:
        yield directory


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("where", ["loopback", "unix", "found"])
def test_a_relay_here_is_asked_directly(run_relay, start_proxy, tmp_path, short_directory, where, command):
    proxy = start_proxy(answer=REFUSALS["refused"])
    hub = run_relay(listen=("127.0.0.1:0", f"unix:{short_directory}/s"))
    state = hub.env["XDG_STATE_HOME"] if where == "found" else str(tmp_path)
    named = {"loopback": ["--relay", "%s:%d" % hub.address], "unix": ["--relay", f"unix:{short_directory}/s"], "found": []}[where]
    result = subprocess.run([raydbg_path(), *command, *named], capture_output=True, text=True, timeout=limit(), input="",
                            env=environment(tmp_path, {"RAYDBG_TOKEN": hub.token, "XDG_STATE_HOME": state, **proxy.env()}))
    sanitizers.check(result.returncode, result.stderr)
    assert not proxy.heads
    assert "prox" not in result.stderr


def test_an_editor_at_a_relay_here(hub, start_proxy, tmp_path):
    proxy = start_proxy(answer=REFUSALS["refused"])
    client = dap(tmp_path, "--relay", "%s:%d" % hub.address, RAYDBG_TOKEN=hub.token, **proxy.env())
    attached(client, hub)
    assert not proxy.heads


def test_a_relay_s_own_questions_go_to_no_proxy(start_proxy, dashboard, run_relay):
    """The relay asks the cluster, whatever the client's environment is."""
    proxy = start_proxy(answer=REFUSALS["refused"])
    hub = run_relay(adapter=None, address=f"http://127.0.0.1:{dashboard.port}", env={"RAY_AUTH_TOKEN": SECRET, **proxy.env()})
    hub.http("GET", "/v1/pauses")
    assert dashboard.heads and not proxy.heads


def dap(tmp_path, *arguments, **env):
    process = subprocess.Popen([raydbg_path(), "dap", *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=(tmp_path / "stderr").open("wb"), env=environment(tmp_path, env))
    return DapClient.over_process(process, name="raydbg dap --relay")


def attached(client, hub):
    client.initialize()
    client.attach({"connect": hub.adapter.address})
    client.stopped()
    assert client.step("next", 1)
    client.disconnect()
    client.close()


@pytest.fixture
def tls_hub(run_relay, authority):
    certificate, key = authority.issue("relay", hosts=("127.0.0.1", ELSEWHERE, NAMED))
    return run_relay("--tls-cert", certificate, "--tls-key", key, "--allow-host", NAMED, "--allow-host", ELSEWHERE,
                     tls=ssl.create_default_context(cafile=authority.ca))


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY"])
def test_a_relay_elsewhere_is_reached_through_the_proxy(tls_hub, proxy, authority, tmp_path, variable):
    relay = ["--relay", f"https://{NAMED}:{tls_hub.address[1]}", "--relay-ca", authority.ca]
    env = {"RAYDBG_TOKEN": tls_hub.token, **proxy.env(variable)}
    result = run(tmp_path, "list", *relay, **env)
    assert "holds 0" in result.stderr, result.stderr
    attached(dap(tmp_path, *relay, **env), tls_hub)
    assert all(head.startswith(f"CONNECT {NAMED}:{tls_hub.address[1]} ".encode()) for head in proxy.heads) and proxy.heads
    proxy.assert_saw_no(tls_hub.token)


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_other_variables_are_not_for_a_relay(tls_hub, proxy, authority, tmp_path, variable):
    relay = ["--relay", f"https://{ELSEWHERE}:{tls_hub.address[1]}", "--relay-ca", authority.ca]
    result = run(tmp_path, "list", *relay, RAYDBG_TOKEN=tls_hub.token, **proxy.env(variable))
    assert "holds 0" in result.stderr, result.stderr
    assert not proxy.heads


def test_a_relay_that_no_proxy_names(tls_hub, proxy, authority, tmp_path):
    relay = ["--relay", f"https://{ELSEWHERE}:{tls_hub.address[1]}", "--relay-ca", authority.ca]
    env = {"RAYDBG_TOKEN": tls_hub.token, "no_proxy": ELSEWHERE, **proxy.env()}
    assert "holds 0" in run(tmp_path, "list", *relay, **env).stderr
    attached(dap(tmp_path, *relay, **env), tls_hub)
    assert not proxy.heads


def test_a_proxy_that_refuses_a_relay_is_named(tls_hub, start_proxy, authority, tmp_path):
    proxy = start_proxy(answer=REFUSALS["refused"])
    result = run(tmp_path, "list", "--relay", f"https://{NAMED}:{tls_hub.address[1]}", "--relay-ca", authority.ca,
                 RAYDBG_TOKEN=tls_hub.token, **proxy.env())
    assert result.returncode == 5 and proxy.address in result.stderr and "https_proxy" in result.stderr, result.stderr
