"""An agent and a pydevd whose every line a test writes itself."""

import hashlib
import hmac
import json
import os
import select
import socket
import ssl
from pathlib import Path

from agent_process import KEY_ID, agent_key
from waits import limit


def secure_context(protocols=("raydbg",)):
    """Of a client that takes any certificate, and names these protocols."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class ByHand:
    """A connection to the relay's port that speaks the agent's lines; `tls`: with TLS, as agents of other nodes do;
    `source`: the address to come from; `run`: the id of its key."""

    def __init__(self, relay, line=None, nonce="ab" * 32, tls=False, source="", run=KEY_ID):
        self.relay, self.nonce, self.run = relay, nonce, run
        self.sock = socket.create_connection(relay.address, timeout=limit(), source_address=(source, 0) if source else None)
        self.fingerprint = None
        if tls:
            self.sock = secure_context().wrap_socket(self.sock)
            self.fingerprint = "SHA256:" + hashlib.sha256(self.sock.getpeercert(True)).hexdigest()
        self.file = self.sock.makefile("rwb")
        self.write((line or f"raydbg agent 1 {run} {nonce}").encode())

    def write(self, line):
        self.file.write(line + b"\n")
        self.file.flush()

    def hear(self):
        return json.loads(self.file.readline() or "null")

    def proof(self, token=None):
        """This side's proof, for the challenge that comes; the relay's must be right."""
        challenge = self.hear()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        endpoint = "here %s %s %s:%d" % (boot, os.readlink("/proc/self/ns/net"), *self.relay.address)
        if self.fingerprint:
            endpoint = "tls %s:%d %s" % (*self.relay.address, self.fingerprint)
        exchange = f"{challenge['relay']}\n{endpoint}\n{self.nonce}\n{challenge['nonce']}\n"
        key = agent_key(token or self.relay.token, self.run)
        own = hmac.new(agent_key(self.relay.token, self.run).encode(), f"raydbg relay\n{exchange} \n".encode(), hashlib.sha256)
        assert challenge["proof"] == own.hexdigest()
        return hmac.new(key.encode(), f"raydbg client\n{exchange}AGENT {self.run}\n".encode(), hashlib.sha256).hexdigest()

    def prove(self, token=None, pid=1, proof=None, **hello):
        self.write(json.dumps({"proof": proof or self.proof(token), "hello": {"role": "driver", "pid": pid, **hello}}).encode())

    def has_ended(self):
        """Whether the relay has closed, or said something, by now."""
        return bool(select.select([self.sock], [], [], 0)[0])

    def is_closed(self):
        try:
            return self.file.readline() == b""
        except ConnectionResetError:
            return True


def asleep(relay, **hello):
    """An agent whose process has no pydevd, and which the relay has told to sleep."""
    agent = ByHand(relay)
    agent.prove(**hello)
    assert agent.hear() == {"verb": "sleep"}
    agent.write(b'{"event":"asleep"}')
    return agent


def debugged(relay, adapter, source="", run=KEY_ID, **hello):
    """An agent that the relay wakes, and whose pydevd is the FakeAdapter."""
    adapter.greet = lambda connection: None
    agent = ByHand(relay, source=source, run=run)
    agent.prove(**hello)
    adapter.serve(ByHand(relay, f"raydbg pydevd 1 {agent.hear()['token']}", source=source).sock)
    adapter.wait_request("configurationDone")
    agent.write(b'{"event":"debugging"}')  # said when the relay has greeted pydevd
    return agent


def hears_nothing(agent, debugged=False):
    """Whether the relay has said nothing to it. What is due is said before the second answer at the latest; `debugged`:
    the answer is that pydevd is there."""
    heard = []
    for question in 1, 2:
        agent.write(json.dumps({"event": "wanted", "wanted": debugged, "question": question}).encode())
        heard.append(agent.hear())
    return heard == [{"verb": "answer", "question": question, "yes": debugged} for question in (1, 2)]
