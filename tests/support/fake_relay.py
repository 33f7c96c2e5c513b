"""A scripted raydbg relay: its HTTP and its WebSocket /dap, in front of a FakeAdapter.

    with FakeRelay(adapter, token="…") as relay:          # http://127.0.0.1:PORT
        relay.pauses = [pause("square")]                  # what GET /v1/pauses says
        relay.refuse = (503, "full", "10,000 sessions", "later")
        relay.drop()                                      # every connection is cut, as when it is killed

It proves that it knows its token as a relay does (GET /v1/challenge), and takes a client's proof, or over TLS its token.

What clients ask: `relay.calls` has (method, path, headers) of each HTTP request, `relay.sessions` counts WebSockets.
"""

import asyncio
import hmac
import json
import os
import secrets
import socket
import ssl
import struct
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import unquote

from aiohttp import WSMsgType, web
from dap_client import frame
from waits import limit

HELD = "raydbg: square stays held by relay; release it with: raydbg release c2668a\n"


def proof(token, who, id, endpoint, client_nonce, relay_nonce, request=" "):
    text = "\n".join([f"raydbg {who}", id, endpoint, client_nonce, relay_nonce, request, ""])
    return hmac.new(token.encode(), text.encode(), "sha256").hexdigest()


def machine(pid="self"):
    """Which loopback network a process has."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + " " + os.readlink(f"/proc/{pid}/ns/net")


def make_certificate(directory, *names):
    """A self-signed pair and its fingerprint, as `raydbg relay --make-cert` would."""
    cert, key = directory / "cert.pem", directory / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", f"/CN={names[0]}", "-addext",
                    "subjectAltName=" + ",".join(names)], check=True, capture_output=True)
    shown = subprocess.run(["openssl", "x509", "-in", cert, "-noout", "-fingerprint", "-sha256"], check=True,
                           capture_output=True, text=True).stdout
    return cert, key, "SHA256:" + shown.strip().partition("=")[2]


def pause(name="square", task_id="c2668a65bda616c1ffffffffffffffffffffffff01000000", **changes):
    """A pause as the relay's HTTP tells it."""
    return {"id": task_id[:12], "task_id": task_id, "task_name": name, "actor_id": None, "actor_class": None,
            "actor_name": None, "job_id": "01000000", "node_id": "ab" * 28, "node_ip": "10.0.0.7", "pid": 5935,
            "worker_id": task_id[:8] * 7, "debugger": "debugpy", "endpoint": "10.0.0.7:40001", "state": "waiting",
            "paused_threads": 1, "ambiguous": False, "candidates": [], "location": None,
            "since": time.time() - 12, "since_source": "task_start", "reason": None, "clients": None, "driver": None,
            "held_since": None, "stopped_at": None, "client_left": None, "run": None, "held": False, **changes}


def register(home, fake, name="relay.json", **changes):
    """The entry in the state directory, as a relay writes it, for the process that runs this."""
    directory = home / "state/raydbg"
    directory.mkdir(parents=True, exist_ok=True)
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    entry = {"addresses": [fake.address], "tls": False, "pid": os.getpid(), "cluster": "10.0.0.5:6379",
             "id": fake.id, "machine": fake.machine, "proofs": ["0" * 64],  # only the store's entries are checked by them
             "fingerprint": "", "host": socket.gethostname(), "version": "0.1.0", "start_ticks": ticks,
             "started": int(time.time() * 1000), "refreshed": int(time.time() * 1000), **changes}
    path = directory / name
    path.write_text(json.dumps(entry))
    path.chmod(0o600)
    return path


class FakeRelay:
    def __init__(self, adapter=None, token=None, host="127.0.0.1", port=0, unix=None, cert=None, sock=None,
                 machine=machine()):
        self.adapter = adapter
        self.token = token
        self.id, self.machine = secrets.token_hex(16), machine
        self._issued = {}
        self.refuse = None  # (status, what, why, hint) for /dap
        self.slow = 0  # seconds until it proves itself, and says that it is well
        self.pauses = []
        self.calls = []
        self.sessions = 0
        self.answers = {}  # path -> (status, body) of a POST
        self.together = 1  # POSTs are answered once so many have come
        self._posts = asyncio.Semaphore(0)
        self.announce = True  # the event raydbg/role after each attach
        self._transports = []
        self._loop = asyncio.new_event_loop()
        self._tls = None
        if cert:
            self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._tls.load_cert_chain(*cert)
        self.unix = unix
        if sock:
            self._socket = sock
        elif unix:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(str(unix))
        else:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family)
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._listening.wait(limit())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def port(self):
        return self._socket.getsockname()[1]

    @property
    def address(self):
        return f"unix:{self.unix}" if self.unix else f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def close(self):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(limit())

    def drop(self):
        """Cuts every WebSocket without a word."""
        done = threading.Event()

        def cut():
            for transport in self._transports:
                transport.abort()
            self._transports.clear()
            done.set()

        self._loop.call_soon_threadsafe(cut)
        assert done.wait(limit())

    def asked(self, path):
        return [call for call in self.calls if call[1] == path]

    # --- the inside ---

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self):
        self._stop = asyncio.Event()
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, shutdown_timeout=0.2)
        await runner.setup()
        await web.SockSite(runner, self._socket, ssl_context=self._tls).start()
        self._listening.set()
        await self._stop.wait()
        for transport in self._transports:
            transport.abort()
        await runner.cleanup()

    async def _handle(self, request):
        path = request.raw_path.partition("?")[0]
        self.calls.append((request.method, path, dict(request.headers)))
        if path in ("/healthz", "/v1/challenge"):
            await asyncio.sleep(self.slow)
        if path == "/healthz":
            return web.Response(text="ok")
        if path == "/v1/challenge":
            return self._prove(request)
        if self.token and not self._knows_token(request, path):
            return self._error(401, "the relay wants a token", "yours is another one", "RAYDBG_TOKEN")
        if path == "/dap":
            return self._error(*self.refuse) if self.refuse else await self._dap(request)
        if path == "/v1/pauses":
            cluster = {"address": "10.0.0.5:6379", "ray_version": "2.60.0", "nodes_alive": 3, "workers_alive": 6}
            return web.json_response({"cluster": cluster, "pauses": self.pauses})
        if path.startswith("/v1/pauses/") and request.method == "POST":
            if sum(method == "POST" for method, _, _ in self.calls) >= self.together:
                self._posts.release()
            async with self._posts:
                return self._act(path)
        return self._error(404, f"there is nothing at {path}", "", "")

    def _prove(self, request):
        client_nonce, asked, relay_nonce = request.query["nonce"], request.query["place"], secrets.token_hex(56)
        endpoint = asked if asked == "anywhere" else f"here {self.machine} {self.address}"
        self._issued[relay_nonce] = (client_nonce, asked, endpoint)
        proofs = [proof(self.token, "relay", self.id, endpoint, client_nonce, relay_nonce)] if self.token else []
        return web.json_response({"id": self.id, "nonce": relay_nonce, "open": not self.token, "proofs": proofs})

    def _knows_token(self, request, path):
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Bearer":
            return self._tls and value == self.token
        asked, client_nonce, relay_nonce, given = (value.split(" ") + [""] * 4)[:4]
        issued = self._issued.pop(relay_nonce, None)
        return issued and issued[:2] == (client_nonce, asked) and given == proof(
            self.token, "client", self.id, issued[2], client_nonce, relay_nonce, f"{request.method} {unquote(path)}")

    def _act(self, path):
        if path in self.answers:
            status, body = self.answers[path]
            return web.json_response(body, status=status)
        name = unquote(path.split("/")[3])
        for it in self.pauses:
            if name in (it["id"], it["task_id"], it["task_name"]):
                return web.json_response(it)
        return self._error(404, f"no paused task is named '{name}'", "", "raydbg list shows what is paused")

    @staticmethod
    def _error(status, what, why, hint):
        return web.json_response({"error": {"what": what, "why": why, "hint": hint}}, status=status)

    async def _dap(self, request):
        client = web.WebSocketResponse(protocols=("dap",), max_msg_size=0, compress=False)
        if not client.can_prepare(request).ok:
            return self._error(426, "this is a WebSocket", "", "")
        await client.prepare(request)
        self.sessions += 1
        self._transports.append(request.transport)
        reader, writer = await asyncio.open_connection(self.adapter.host, self.adapter.port)
        pumps = [asyncio.ensure_future(self._to_adapter(client, writer)),
                 asyncio.ensure_future(self._to_client(client, reader, request.transport))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        writer.close()
        if not client.closed:
            await client.close()
        for pump in pumps:
            pump.cancel()
        return client

    async def _to_adapter(self, client, writer):
        async for message in client:
            assert message.type == WSMsgType.TEXT, message
            body = message.data.encode("utf-8", "surrogatepass")
            if json.loads(body).get("command") == "disconnect":
                await self._event(client, "output", {"category": "console", "output": HELD})
            writer.write(frame(body))
            await writer.drain()

    async def _to_client(self, client, reader, transport):
        while header := await reader.readline():
            await reader.readline()
            body = await reader.readexactly(int(header.split(b":")[1]))
            if len(body) > 1 << 20:  # aiohttp sends no fragments
                self._send_in_fragments(transport, body, 1 << 18)
            else:
                await client.send_str(body.decode("utf-8", "surrogateescape"))
            message = json.loads(body)
            if self.announce and message.get("command") == "attach" and message.get("success"):
                await self._event(client, "raydbg/role", {"role": "driver", "driver": "test"})

    @staticmethod
    def _send_in_fragments(transport, body, size):
        for at in range(0, len(body), size):
            part, first, last = body[at:at + size], at == 0, at + size >= len(body)
            transport.write(bytes([0x80 * last | 0x01 * first, 127]) + struct.pack(">Q", len(part)) + part)

    @staticmethod
    async def _event(client, name, body):
        await client.send_str(json.dumps({"seq": 0, "type": "event", "event": name, "body": body}))
