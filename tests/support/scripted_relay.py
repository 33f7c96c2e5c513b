"""The relay's side of an agent's connections, whose words a test says; with TLS, if it has a certificate."""

import hashlib
import hmac
import json
import os
import socket
import ssl
from pathlib import Path

from agent_process import TOKEN, agent_key
from agent_program import load_agent
from certificates import fingerprint
from dap_client import DapClient, SocketTransport
from waits import limit

RELAY_ID = "ab" * 16


class Connection:
    """One connection to the scripted relay; `line` is its first line."""

    def __init__(self, sock, fingerprint=None):
        self.sock = sock
        self.fingerprint = fingerprint
        self.rest = b""
        self.line = self._line().split()

    def _line(self):
        while b"\n" not in self.rest:
            try:
                more = self.sock.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                raise EOFError(self.rest)
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def hear(self):
        return json.loads(self._line())

    def say(self, **message):
        self.sock.sendall(json.dumps(message).encode() + b"\n")

    def prove(self, key=None):
        """Says the challenge; `key` is another than the agent's, if given."""
        host, port = self.sock.getsockname()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        endpoint = f"here {boot} {os.readlink('/proc/self/ns/net')} {host}:{port}"
        if self.fingerprint:
            endpoint = f"tls {host}:{port} {self.fingerprint}"
        self.exchange = f"{RELAY_ID}\n{endpoint}\n{self.line[4]}\n{'cd' * 32}\n"
        proof = hmac.new((key or agent_key(TOKEN, self.line[3])).encode(), f"raydbg relay\n{self.exchange} \n".encode(), hashlib.sha256)
        self.say(relay=RELAY_ID, nonce="cd" * 32, proof=proof.hexdigest())

    def hello(self):
        """The agent's answer, whose proof must be right."""
        self.prove()
        answer = self.hear()
        text = f"raydbg client\n{self.exchange}AGENT {self.line[3]}\n"
        assert answer["proof"] == hmac.new(agent_key(TOKEN, self.line[3]).encode(), text.encode(), hashlib.sha256).hexdigest()
        return answer["hello"]

    def dap(self):
        client = DapClient(SocketTransport(self.sock), name="pydevd")
        client.initialize()
        return client

    def close(self):
        self.sock.close()


class Relay:
    """A port on which a test answers itself. `certificate` and `key`: it speaks TLS; `protocols`: of ALPN."""

    def __init__(self, certificate=None, key=None, protocols=("raydbg",)):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
        self.fingerprint = certificate and "SHA256:" + fingerprint(certificate).replace(":", "").lower()
        if certificate:
            self.tls.load_cert_chain(certificate, key)
            self.tls.set_alpn_protocols(list(protocols))
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(limit())
        self.address = self.listening.getsockname()
        self.open = []

    def accept_plain(self):
        sock, _ = self.listening.accept()
        sock.settimeout(limit())
        return sock

    def accept_secure(self):
        """The agent's own class, since DapClient reads and writes on two threads."""
        sock = self.tls.wrap_socket(self.accept_plain(), server_side=True)
        assert sock.selected_alpn_protocol() == "raydbg"
        secure = load_agent().SecureSocket(sock)
        secure.settimeout(limit())
        return secure

    def accept(self):
        self.open.append(Connection(self.accept_secure() if self.tls else self.accept_plain(), self.fingerprint))
        return self.open[-1]

    def close(self):
        for one in self.open:
            one.close()
        self.listening.close()
