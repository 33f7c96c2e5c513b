"""A DAP client that reads only when it is told to, and keeps nothing: for floods and for bodies that fit no memory."""

import json
import zlib

from dap_client import frame
from waits import limit
from websocket import TEXT


class SlowClient:
    """Attached to the relay's adapter, its first stop seen. Nothing is read between calls."""

    def __init__(self, relay, kind="tcp", adapter=None, **arguments):
        self.kind = kind
        self.seq = 0
        self.buffer = bytearray()
        self.events = []
        if kind == "tcp":
            self.sock = relay.connect()
        else:
            self.websocket = relay.upgraded("/dap", "dap")
            self.sock = self.websocket.sock
        self.sock.settimeout(limit())
        relay.clients.append(self)
        self.attach(relay.attach_arguments(kind, adapter, **arguments))

    def attach(self, arguments):
        self.request("initialize", {"adapterID": "raydbg", "clientID": "slow"})
        attach = self.send("attach", arguments)
        self.event("initialized")
        self.request("configurationDone")
        self.response(attach)
        self.event("stopped")

    def send(self, command, arguments=None):
        self.seq += 1
        body = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments or {}}).encode()
        if self.kind == "tcp":
            self.sock.sendall(frame(body))
        else:
            self.websocket.send_frame(TEXT, body)
        return self.seq

    def receive(self):
        """The next message; None at the end."""
        raw = self._receive_tcp() if self.kind == "tcp" else self.websocket.receive()
        return None if raw is None else json.loads(raw)

    def _receive_tcp(self):
        length = self._header()
        if length is None or not self._fill(length):
            return None
        raw = bytes(self.buffer[:length])
        del self.buffer[:length]
        return raw

    def _header(self):
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            if not self._fill(len(self.buffer) + 1):
                return None
        length = int(bytes(self.buffer[:end]).removeprefix(b"Content-Length: "))
        del self.buffer[:end + 4]
        return length

    def _fill(self, count):
        while len(self.buffer) < count:
            try:
                data = self.sock.recv(1 << 18)
            except ConnectionResetError:
                data = b""
            if not data:
                return False
            self.buffer += data
        return True

    def request(self, command, arguments=None):
        return self.response(self.send(command, arguments))

    def response(self, seq):
        while (message := self.receive()) is not None:
            if message["type"] == "response" and message["request_seq"] == seq:
                assert message["success"], message
                return message.get("body")
            self.events.append(message)
        raise AssertionError("the relay closed the connection")

    def event(self, name):
        while True:
            for index, event in enumerate(self.events):
                if event.get("event") == name:
                    return self.events.pop(index).get("body")
            message = self.receive()
            assert message is not None, "the relay closed the connection"
            self.events.append(message)

    def big_body(self, mark):
        """Reads one message without keeping it: the bytes before `mark`, and length and checksum of those behind it."""
        head, total, crc, found = b"", 0, 0, False
        for piece in self._pieces():
            if not found:
                head += piece
                at = head.find(mark)
                if at < 0:
                    continue
                found, piece, head = True, head[at + len(mark):], head[:at]
            total, crc = total + len(piece), zlib.crc32(piece, crc)
        return head, total, crc

    def _pieces(self):
        """The next message, piece by piece."""
        if self.kind == "websocket":
            fin = False
            while not fin:
                fin, opcode, payload = self.websocket._frame()
                assert opcode is not None, "the relay closed the connection"
                yield payload
            return
        length = self._header()
        assert length is not None, "the relay closed the connection"
        while length:
            assert self._fill(1), "the relay closed the connection"
            piece = bytes(self.buffer[:length])
            del self.buffer[:length]
            length -= len(piece)
            yield piece

    def close(self, check=False):
        self.sock.close()
