"""WebSocket for tests, on plain sockets: a transport for DapClient, and the followed /events. Frames as the test wants."""

import base64
import json
import os
import socket
import struct
import threading
import time

from dap_client import SocketTransport, frame
from waits import limit

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebSocketRefused(ConnectionError):
    """The server answered the upgrade with something else than 101; status 0 if it just closed."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body[:500]!r}")
        self.status, self.body = status, body


def upgrade(sock, path, subprotocol, host, headers):
    """Asks for the upgrade; returns what came behind the answer's header."""
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
             f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    lines += [f"Sec-WebSocket-Protocol: {subprotocol}"] * bool(subprotocol)
    lines += [f"{name}: {value}" for name, value in headers.items()]
    sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        data = _receive(sock)
        if not data:
            raise WebSocketRefused(_status(answer), answer)
        answer += data
    header, _, rest = answer.partition(b"\r\n\r\n")
    if _status(header) != 101:
        while data := _receive(sock):
            rest += data
        raise WebSocketRefused(_status(header), rest)
    return rest


def _receive(sock):
    try:
        return sock.recv(65536)
    except ConnectionResetError:
        return b""


def _status(header):
    words = header.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def encode_frame(opcode, payload, fin=True, masked=True):
    head = bytes([opcode | (0x80 if fin else 0)])
    bit = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([bit | len(payload)])
    elif len(payload) < 1 << 16:
        head += struct.pack(">BH", bit | 126, len(payload))
    else:
        head += struct.pack(">BQ", bit | 127, len(payload))
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + xor(payload, mask)


def xor(payload, mask):
    count = len(payload)
    stretched = int.from_bytes((mask * (count // 4 + 1))[:count], "big")
    return (int.from_bytes(payload, "big") ^ stretched).to_bytes(count, "big")


class WebSocket:
    """An upgraded connection: whole messages in and out."""

    def __init__(self, sock, path, subprotocol, host="127.0.0.1", headers=None):
        self.sock = sock
        self.closed_with = None  # (code, reason) of the peer's close frame
        self._buffer = bytearray()
        self._writing = threading.Lock()
        sock.settimeout(limit())
        self._buffer += upgrade(sock, path, subprotocol, host, headers or {})
        sock.settimeout(None)

    def send_frame(self, opcode, payload=b"", fin=True, masked=True):
        self.send_bytes(encode_frame(opcode, payload, fin, masked))

    def send_bytes(self, data):
        with self._writing:
            self.sock.sendall(data)

    def receive(self):
        """The next text or binary message's bytes; None when the connection is over."""
        message = bytearray()
        while True:
            fin, opcode, payload = self._frame()
            if opcode is None:
                return None
            if opcode == CLOSE:
                code = struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005
                self.closed_with = (code, payload[2:].decode("utf-8", "replace"))
                return None
            if opcode == PING:
                self.send_frame(PONG, payload)
            elif opcode != PONG:
                message += payload
                if fin:
                    return bytes(message)

    def _frame(self):
        if not self._fill(2):
            return False, None, b""
        first, second = self._buffer[:2]
        size, at = second & 0x7f, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            if not self._fill(2 + width):
                return False, None, b""
            size, at = int.from_bytes(self._buffer[2:2 + width], "big"), 2 + width
        if second & 0x80:
            raise ValueError("a masked frame from a server")
        if not self._fill(at + size):
            return False, None, b""
        payload = bytes(self._buffer[at:at + size])
        del self._buffer[:at + size]
        return bool(first & 0x80), first & 0x0f, payload

    def _fill(self, count):
        while len(self._buffer) < count:
            data = _receive(self.sock)
            if not data:
                return False
            self._buffer += data
        return True


class WebSocketTransport:
    """DAP over a WebSocket for DapClient, which thinks in Content-Length."""

    def __init__(self, websocket):
        self.websocket = websocket
        self.sock = websocket.sock
        self.was_reset = False

    def read(self, size):
        try:
            message = self.websocket.receive()
        except OSError:
            if not self.was_reset:
                raise
            return b""
        return b"" if message is None else frame(message)

    def write(self, data):
        header, _, body = data.partition(b"\r\n\r\n")
        if not header.startswith(b"Content-Length: ") or int(header[16:]) != len(body):
            raise ValueError("one message a call")
        self.websocket.send_frame(TEXT, body)

    def close_write(self):
        try:
            self.websocket.send_frame(CLOSE, struct.pack(">H", 1000))
        except OSError:
            pass

    def close(self):
        self.close_write()
        try:
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)  # TLS's own has a thread in recv() get what is encrypted
        except OSError:
            pass

    def close_read(self):
        self.sock.close()

    def reset(self):
        """Ends the connection with RST."""
        SocketTransport.reset(self)


class EventStream:
    """/events: everything that it says, in order."""

    def __init__(self, websocket):
        self.websocket = websocket
        self.messages = []
        self.ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait(self, predicate):
        """The first message, from the start, for which this is true."""
        deadline = time.monotonic() + limit()
        with self._changed:
            while True:
                for message in self.messages:
                    if predicate(message):
                        return message
                if self.ended or time.monotonic() > deadline:
                    raise AssertionError(f"/events {'ended' if self.ended else 'did not say it in time'}: {self.messages}")
                self._changed.wait(max(0, deadline - time.monotonic()))

    def _read(self):
        try:
            while (message := self.websocket.receive()) is not None:
                with self._changed:
                    self.messages.append(json.loads(message))
                    self._changed.notify_all()
        except OSError:
            pass
        finally:
            with self._changed:
                self.ended = True
                self._changed.notify_all()

    def close(self):
        WebSocketTransport(self.websocket).close()
        self._reader.join(limit())
        self.websocket.sock.close()
