"""`raydbg relay` as a subprocess with a home of its own, and the ways in: DAP, WebSocket, HTTP.

    with RelayProcess(adapter=adapter) as relay:
        client = relay.join()                    # DAP over TCP, attached to the adapter
        observer = relay.join("websocket", role="observer")
        relay.kill9()
        relay.restart()                          # the same state directory and address

As a program, `relay_process.py` is one attached client that can be stopped and killed: see ClientProcess.
"""

import contextlib
import http.client
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

import evidence
import sanitizers
from dap_client import DapClient, SocketTransport
from relay_under_test import ROOT, raydbg_path
from waits import Hard, limit, wait_until
from websocket import EventStream, WebSocket, WebSocketTransport

LISTENS = re.compile(r"^raydbg relay listens on (\S+) ", re.MULTILINE)


def release_path():
    """The raydbg without sanitizers, for measurements."""
    path = Path(os.environ.get("RAYDBG_RELEASE", ROOT / "build/raydbg")).resolve()
    if not path.exists():
        raise AssertionError(f"{path} is not built: run tools/build")
    return path


def rss_parts(pid):
    """Resident bytes of a process: anonymous, and shared memory. Files, such as its program, are not its own."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return [int(fields[name].split()[0]) * 1024 for name in ("RssAnon", "RssShmem")]


def rss_of(pid):
    return sum(rss_parts(pid))


def cpu_of(pid):
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class PeakRss:
    """How far a process's RSS has risen above what it was when this was made."""

    def __init__(self, pid):
        self.status = Path(f"/proc/{pid}/status")
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak starts anew
        self.before = self._peak()

    def _peak(self):
        return int(re.search(r"^VmHWM:\s+(\d+) kB$", self.status.read_text(), re.MULTILINE).group(1)) * 1024

    def risen(self):
        return self._peak() - self.before


@dataclass
class HttpAnswer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The error object that every refusal carries."""
        error = self.json["error"]
        assert error["what"] and isinstance(error["what"], str), self.body
        return error


class RelayProcess:
    """A running relay. `adapter`: a FakeAdapter, or what has an `address`, to which `join` attaches (--allow-connect).

    `popen(argv, env, stderr)` and `connect(host, port)` are for a relay in a namespace; `tls` is the ssl.SSLContext
    of the clients. `ready=False` is for one that is expected to refuse to start: `wait()` then gives its exit code.
    """

    def __init__(self, *arguments, adapter=None, env=None, binary=None, listen=("127.0.0.1:0",), state=None, tls=None,
                 popen=None, connect=None, ready=True, address=None):
        self.adapter = adapter
        self.arguments = [*arguments, *(["--allow-connect"] if adapter else [])]
        self.binary = binary or raydbg_path()
        self.listen = list(listen)
        self.tls = tls
        self.popen = popen or self._popen
        self.connect_to = connect or (lambda host, port: socket.create_connection((host, port), timeout=limit()))
        self.own_state = state is None
        self.state = Path(state or tempfile.mkdtemp(prefix="rr-", dir="/tmp"))
        # Without an address, and with one that cannot be used, the relay has no cluster; it would look for one itself.
        address = address or ("ray://none:1" if "--allow-connect" in self.arguments else "127.0.0.1:1")
        self.env = {"HOME": str(self.state), "XDG_STATE_HOME": str(self.state / "s"),
                    "RAY_ADDRESS": address, **sanitizers.ENV, **(env or {})}
        self.process = None
        self.addresses = []
        self.clients = []
        self.errors = []
        self.end_was_seen = False
        evidence.watch(self)
        self._start(ready)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(check=kind is None)

    # --- the process ---

    def _popen(self, argv, env, stderr):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
        env = {name: value for name, value in {**clean, **env}.items() if value is not None}
        return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)

    def _start(self, ready=True, *more):
        self.state.mkdir(exist_ok=True)
        self.end_was_seen = False
        listen = [word for address in self.listen for word in ("--listen", address)]
        # Several may share a state directory.
        number = next(n for n in itertools.count(len(self.errors) + 1) if not (self.state / f"stderr-{n}").exists())
        errors = self.state / f"stderr-{number}"
        self.errors.append(errors)
        with errors.open("wb") as stderr:
            self.process = self.popen([self.binary, "relay", *listen, *self.arguments, *more], self.env, stderr)
        if ready:
            wait_until(lambda: re.search(r"^ready$", self.stderr(), re.MULTILINE) or self.process.poll() is not None,
                       lambda: f"the relay is ready; its stderr:\n{self.stderr()}")
            if self.process.poll() is not None:
                raise sanitizers.failure(self.process.returncode, self.stderr())(
                    f"the relay ended with {self.process.returncode}:\n{self.stderr()}")
            self.addresses = LISTENS.findall(self.stderr())

    def stderr(self, number=-1):
        """What the running relay, or an earlier one, has written."""
        return self.errors[number].read_text(errors="replace")

    @property
    def pid(self):
        """The relay's own pid, as seen from here."""
        return self.process.inner_pid() if hasattr(self.process, "inner_pid") else self.process.pid

    def rss(self):
        return rss_of(self.pid)

    def kept_pids(self):
        """The relay's keeper, which says in its command line whose it is; a relay has at most one."""
        pids = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and Path(f"/proc/{entry}/cmdline").read_bytes().startswith(
                        f"raydbg-keeper {self.state}/".encode()):
                    pids.append(int(entry))
        return pids

    def kill9(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(limit())
        self.end_was_seen = True

    def restart(self, *more):
        """Starts it again on the same state directory and addresses."""
        self.listen = self.addresses
        self._start(True, *more)

    def terminate(self, timeout=None):
        """SIGTERM; returns the exit code, and checks the sanitizers' reports."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait(timeout)

    def wait(self, timeout=None):
        """The exit code of a relay that ends by itself."""
        code = self.process.wait(timeout or limit())
        self.end_was_seen = True
        sanitizers.check(code, self.stderr())
        return code

    def close(self, check=True):
        """Ends clients, relay and keeper; fails if a sanitizer reported or the adapter was sent what is no DAP."""
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(self._close_process, check)
                for client in self.clients:
                    stack.callback(self._close_client, client, check)
        finally:
            self.end_keeper()
            if self.own_state:
                evidence.remove_later(self.state)

    @staticmethod
    def _close_client(client, check):
        with contextlib.suppress(OSError):
            client.close(check)

    def _close_process(self, check):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(limit(binary=self.binary))
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGABRT)
                self.process.wait(limit(binary=self.binary))
                raise Hard(f"the relay did not end on SIGTERM:\n{self.stderr()}") from None
            if check:
                sanitizers.check(self.process.returncode, self.stderr())
        elif not self.end_was_seen:
            raise sanitizers.failure(self.process.returncode, self.stderr())(
                f"the relay has ended with {self.process.returncode}:\n{self.stderr()[-8000:]}")
        if check:
            self.check_reports()

    def check_reports(self):
        for path in [*self.errors, *self.state.rglob("*.log")]:
            text = path.read_text(errors="replace")
            if sanitizers.reported(text):
                raise Hard(f"{path.name} of the relay:\n{text[-8000:]}")
        if self.adapter is not None and getattr(self.adapter, "problems", None):
            raise Hard(f"the relay sent the adapter: {self.adapter.problems}")

    def evidence_files(self, since):
        """For evidence.py: what relay and keeper wrote, and the audit log. Nothing else in here is: there are tokens."""
        named = [(path.name, path) for path in self.errors]
        state = self.state / "s/raydbg"
        named += [(str(path.relative_to(state if path.is_relative_to(state) else self.state)), path)
                  for path in sorted(self.state.rglob("*.log"))]
        return named

    def secrets(self):
        return evidence.secrets_in(self.state)

    def end_keeper(self):
        for pid in self.kept_pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # --- the ways in ---

    @property
    def token(self):
        return (self.state / "s/raydbg/token").read_text().strip()

    @property
    def address(self):
        """HOST and PORT of the first TCP address."""
        for text in self.addresses:
            if not text.startswith("unix:"):
                host, _, port = text.removeprefix("https://").removeprefix("http://").rpartition(":")
                return host.strip("[]"), int(port)
        raise AssertionError(f"no TCP address among {self.addresses}")

    @property
    def host_header(self):
        return "%s:%d" % self.address

    def connect(self, tls=True, source=None):
        """A socket to the relay, TLS if it has it; `source` is the address to come from."""
        host, port = self.address
        if source:
            sock = socket.create_connection((host, port), timeout=limit(), source_address=(source, 0))
        else:
            sock = self.connect_to(host, port)
        sock.settimeout(limit())
        return self.tls.wrap_socket(sock, server_hostname=host) if self.tls and tls else sock

    def bearer(self, token):
        token = self.token if token is None else token
        return {"Authorization": f"Bearer {token}"} if token else {}

    def dap_tcp(self, name="tcp client", **options):
        """A DapClient over plain TCP; nothing is sent yet."""
        return self._client(SocketTransport(self.connect()), name, options)

    def websocket(self, name="websocket client", token=None, headers=None, host=None, path="/dap", **options):
        """A DapClient over /dap; `token=""` sends none. Raises WebSocketRefused."""
        return self._client(WebSocketTransport(self.upgraded(path, "dap", token, headers, host)), name, options)

    def events(self, token=None, **options):
        """The followed /events."""
        stream = EventStream(self.upgraded("/events", "raydbg.events", token, **options))
        self.clients.append(_Closing(stream))
        return stream

    def upgraded(self, path, subprotocol, token=None, headers=None, host=None):
        sock = self.connect()
        try:
            return WebSocket(sock, path, subprotocol, host or self.host_header, {**self.bearer(token), **(headers or {})})
        except BaseException:
            sock.close()
            raise

    def _client(self, transport, name, options):
        client = DapClient(transport, name=name, **options)
        self.clients.append(client)
        return client

    def client(self, kind="tcp", name=None):
        return {"tcp": self.dap_tcp, "websocket": self.websocket}[kind](**({"name": name} if name else {}))

    def attach_arguments(self, kind="tcp", adapter=None, **more):
        """The arguments of an attach to the adapter, the token among them where it is needed."""
        adapter = adapter or self.adapter
        token = {"token": self.token} if kind == "tcp" else {}
        return {"request": "attach", **token, **({"connect": adapter.address} if adapter else {}), **more}

    def join(self, kind="tcp", name=None, breakpoints=None, filters=("uncaught",), adapter=None, **arguments):
        """A client that is attached; `arguments` go into the attach."""
        client = self.client(kind, name)
        client.initialize(clientID=name or kind, clientName=name or kind)
        client.attach(self.attach_arguments(kind, adapter, **arguments), breakpoints=breakpoints, filters=filters)
        return client

    def http(self, method, path, token=None, headers=None, body=None, timeout=None, host=None):
        """One request; `token=""` sends none."""
        connection = http.client.HTTPConnection(*self.address, timeout=timeout or limit())
        connection.sock = self.connect()
        with contextlib.closing(connection):
            connection.request(method, path, body=body,
                               headers={"Host": host or self.host_header, **self.bearer(token), **(headers or {})})
            answer = connection.getresponse()
            return HttpAnswer(answer.status, dict(answer.getheaders()), answer.read())

    # --- what it says of its pauses ---

    def pauses(self):
        answer = self.http("GET", "/v1/pauses")
        assert answer.status == 200, answer
        return answer.json["pauses"]

    def pause(self, adapter=None):
        """What the relay says of the adapter's pause; None if it knows of none."""
        port = (adapter or self.adapter).port
        return next((p for p in self.pauses() if str(port) in json.dumps(p)), None)

    def sessions(self):
        answer = self.http("GET", "/v1/sessions")
        assert answer.status == 200, answer
        return answer.json["sessions"]

    def post(self, verb, adapter=None, **options):
        """POST /v1/pauses/{id}/{verb}, for the adapter's pause (its address if the relay does not list it yet)."""
        pause = self.pause(adapter)
        name = pause["id"] if pause else (adapter or self.adapter).address
        return self.http("POST", f"/v1/pauses/{urllib.parse.quote(name, safe='')}/{verb}", **options)

    def go_on(self, pause):
        """Continues a pause that has a location. The answer has none any more, so that a location in a later list is another
        stop's: two stops of one process at one line may differ in `stopped_at` only, and follow each other at once."""
        answer = self.http("POST", f"/v1/pauses/{pause['pid']}@{pause['node_ip']}/continue")
        assert answer.status == 200 and pause["location"] and answer.json["location"] is None, (pause, answer)

    def audit(self):
        """The audit log's lines."""
        text = (self.state / "s/raydbg/audit.log").read_text()
        return [json.loads(line) for line in text.splitlines()]


class _Closing:
    """An EventStream as `close` closes clients."""

    def __init__(self, stream):
        self.stream = stream

    def close(self, check=False):
        self.stream.close()


class ClientProcess:
    """An attached client in a process of its own, to be stopped and killed. It has seen its first stop."""

    def __init__(self, relay, kind="tcp", adapter=None, popen=subprocess.Popen, **arguments):
        what = {"address": relay.address, "kind": kind, "token": relay.token,
                "arguments": relay.attach_arguments(kind, adapter, **arguments)}
        self.process = popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        self.stop = json.loads(self.process.stdout.readline() or "null")
        if self.stop is None:
            self.kill9()
            raise AssertionError("the client process did not attach")

    def kill9(self):
        self.process.kill()
        self.process.wait(limit())
        self.process.stdin.close()
        self.process.stdout.close()


def main():
    """Attaches as a line on stdin says, prints the stop, and waits for the end of stdin."""
    what = json.loads(sys.stdin.readline())
    sock = socket.create_connection(what["address"], timeout=limit())
    if what["kind"] == "tcp":
        transport = SocketTransport(sock)
    else:
        transport = WebSocketTransport(WebSocket(sock, "/dap", "dap", "%s:%d" % tuple(what["address"]),
                                                 {"Authorization": f"Bearer {what['token']}"}))
    client = DapClient(transport, name="killed")
    client.initialize(clientID="killed")
    client.attach(what["arguments"])
    print(json.dumps(client.stopped()), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
