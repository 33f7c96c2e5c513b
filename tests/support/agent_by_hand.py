"""An agent and a pydevd whose every line a test writes itself."""

import hashlib
import hmac
import json
import os
import select
import socket
from pathlib import Path

from agent_process import KEY_ID, agent_key
from waits import limit


class ByHand:
    """A connection to the relay's port that speaks the agent's lines."""

    def __init__(self, relay, line=None, nonce="ab" * 32):
        self.relay, self.nonce = relay, nonce
        self.sock = socket.create_connection(relay.address, timeout=limit())
        self.file = self.sock.makefile("rwb")
        self.write((line or f"raydbg agent 1 {KEY_ID} {nonce}").encode())

    def write(self, line):
        self.file.write(line + b"\n")
        self.file.flush()

    def hear(self):
        return json.loads(self.file.readline() or "null")

    def prove(self, token=None, pid=1, **hello):
        challenge = self.hear()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        place = "here %s %s %s:%d" % (boot, os.readlink("/proc/self/ns/net"), *self.relay.address)
        exchange = f"{challenge['relay']}\n{place}\n{self.nonce}\n{challenge['nonce']}\n"
        key = agent_key(token or self.relay.token)
        own = hmac.new(agent_key(self.relay.token).encode(), f"raydbg relay\n{exchange} \n".encode(), hashlib.sha256)
        assert challenge["proof"] == own.hexdigest()
        proof = hmac.new(key.encode(), f"raydbg client\n{exchange}AGENT {KEY_ID}\n".encode(), hashlib.sha256).hexdigest()
        self.write(json.dumps({"proof": proof, "hello": {"role": "driver", "pid": pid, **hello}}).encode())

    def has_ended(self):
        """Whether the relay has closed, or said something, by now."""
        return bool(select.select([self.sock], [], [], 0)[0])

    def is_closed(self):
        try:
            return self.file.readline() == b""
        except ConnectionResetError:
            return True
