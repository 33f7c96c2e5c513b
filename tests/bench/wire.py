"""A DAP client that costs as little as Python can: no thread, no transcript. For benchmarks only."""

import json
import os
import socket


class Wire:
    """Blocking requests over a socket, or over the two pipes of a process."""

    def __init__(self, read_fd, write_fd, sock=None, quickack=False):
        self.read_fd, self.write_fd, self.sock, self.quickack = read_fd, write_fd, sock, quickack
        self.buffer = b""
        self.seq = 0
        self.events = []

    @classmethod
    def over_socket(cls, sock, tuned):
        sock.settimeout(None)
        if tuned:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(sock.fileno(), sock.fileno(), sock, quickack=tuned)

    @classmethod
    def over_process(cls, process):
        return cls(process.stdout.fileno(), process.stdin.fileno())

    def send(self, command, arguments=None):
        self.seq += 1
        body = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments or {}})
        os.write(self.write_fd, f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        return self.seq

    def receive(self):
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            length = int(head.rpartition(b" ")[2]) if found else 0
            if found and len(rest) >= length:
                self.buffer = rest[length:]
                return json.loads(rest[:length])
            data = os.read(self.read_fd, 1 << 16)
            if not data:
                raise EOFError("the peer closed the connection")
            if self.quickack:
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            self.buffer += data

    def request(self, command, arguments=None):
        return self.response(self.send(command, arguments))

    def response(self, seq):
        while True:
            message = self.receive()
            if message["type"] == "event":
                self.events.append(message)
            elif message["type"] == "response" and message["request_seq"] == seq:
                if not message["success"]:
                    raise RuntimeError(f"{message['command']}: {message.get('message')}")
                return message.get("body")

    def event(self, name):
        while True:
            for index, event in enumerate(self.events):
                if event["event"] == name:
                    return self.events.pop(index).get("body")
            message = self.receive()
            if message["type"] == "event":
                self.events.append(message)

    def attach(self, arguments):
        """initialize to the first stop; returns the stopped thread."""
        self.request("initialize", {"adapterID": "raydbg", "clientID": "bench"})
        attach = self.send("attach", arguments)
        self.event("initialized")
        self.request("setExceptionBreakpoints", {"filters": ["uncaught"]})
        self.request("configurationDone")
        self.response(attach)
        return self.event("stopped")["threadId"]

    def step(self, thread):
        """What an editor does for one step."""
        self.events.clear()
        self.request("next", {"threadId": thread})
        self.event("stopped")
        frames = self.request("stackTrace", {"threadId": thread, "startFrame": 0, "levels": 20})["stackFrames"]
        scopes = self.request("scopes", {"frameId": frames[0]["id"]})["scopes"]
        return self.request("variables", {"variablesReference": scopes[0]["variablesReference"]})["variables"]
