"""A DAP client for tests: over a process's stdio or a socket, strict about the protocol, keeping every byte."""

import json
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from waits import Hard, limit

MAX_BODY = 256 << 20

# The clients of the running test; conftest shows their transcripts when it fails.
recent_clients = []


class DapError(AssertionError):
    """The peer did something that DAP does not allow, or answered success: false where success was expected."""


class DapViolation(DapError, Hard):
    """The peer did what DAP never allows: answered twice, or something that was not asked, or sent what is no message."""


class DapTimeout(DapError):
    """Nothing came that matched, in time."""


class DapClosed(DapError):
    """The connection ended before what was waited for came."""


@dataclass
class Entry:
    """One message of the transcript: `way` is '>' for sent and '<' for received; `raw` is the body's bytes."""

    at: float
    way: str
    raw: bytes
    message: dict = field(repr=False)

    def __str__(self):
        text = self.raw.decode("utf-8", "backslashreplace")
        return f"{self.at:8.3f} {self.way} {text if len(text) <= 400 else text[:400] + f'… ({len(text)} characters)'}"


def frame(body):
    """The bytes of a DAP message with this body (bytes, or something to make JSON of)."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def parse(raw):
    """The body as Python sees it; bytes that are no UTF-8 become surrogates, so nothing is lost."""
    return json.loads(raw.decode("utf-8", "surrogateescape"))


class ProcessTransport:
    """stdin and stdout of a subprocess.Popen that was made with pipes."""

    def __init__(self, process):
        self.process = process

    def read(self, size):
        return self.process.stdout.read1(size)

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close_write(self):
        with suppress(OSError):
            self.process.stdin.close()

    def close(self):
        """Closes stdin and waits for the process to end; says so if it does not."""
        self.close_write()
        try:
            self.process.wait(limit())
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(limit())
            return f"the process did not end within {limit():.0f} s of its stdin's end"

    def close_read(self):
        with suppress(OSError):
            self.process.stdout.close()


class SocketTransport:
    """A connected socket. Sets TCP_NODELAY unless told not to."""

    def __init__(self, sock, nodelay=True):
        self.sock = sock
        self.was_reset = False
        sock.settimeout(None)
        if nodelay and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self, size):
        try:
            return self.sock.recv(size)
        except ConnectionResetError:
            return b""
        except OSError:
            if self.was_reset:
                return b""
            raise

    def write(self, data):
        self.sock.sendall(data)

    def close_write(self):
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        # close() alone would send no FIN while the reader's recv() is under way.
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def close_read(self):
        self.sock.close()

    def reset(self):
        """Ends the connection with RST."""
        self.was_reset = True
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RD)
        self.sock.close()


class DapClient:
    """Sends requests, matches responses, hands out events; `close` asserts one response per request.

    An event is consumed by the wait_event that returns it: two waits for `stopped` give two stops. `strict=False`
    turns off the check at close, for peers that are known to leave requests unanswered. What is waited for may take
    limit(); a `timeout` is for what takes longer, or must not come.
    """

    def __init__(self, transport, name="client", strict=True):
        self.transport = transport
        self.name = name
        self.strict = strict
        self.started = time.monotonic()
        self.transcript = []
        self.problems = []  # what is no DAP
        self.troubles = []  # of the connection
        self.reverse_requests = []
        self.ended = False
        self._seq = 0
        self._requests = {}
        self._responses = {}
        self._answers = Counter()
        self._events = []
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read_all, name=f"{name}-reader", daemon=True)
        self._reader.start()
        recent_clients.append(self)

    @classmethod
    def over_process(cls, process, **options):
        return cls(ProcessTransport(process), **options)

    @classmethod
    def over_socket(cls, sock, nodelay=True, **options):
        return cls(SocketTransport(sock, nodelay), **options)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close(check=kind is None)

    # --- bytes and messages ---

    def send_raw(self, data):
        """Sends bytes as they are, header included if there is to be one."""
        with self._writing:
            self.transport.write(data)

    def send_body(self, raw):
        """Sends one message with this body (bytes); a request in it is expected to be answered."""
        message = parse(raw)
        with self._changed:
            if message.get("type") == "request":
                self._requests[message["seq"]] = message["command"]
                self._seq = max(self._seq, message["seq"])
            self.transcript.append(Entry(self._now(), ">", raw, message))
        self.send_raw(frame(raw))

    def send_together(self, *requests):
        """Sends requests, (command, arguments) each, in one write; returns their seqs."""
        made = [{"seq": self.next_seq(), "type": "request", "command": command, "arguments": arguments}
                for command, arguments in requests]
        with self._changed:
            for message in made:
                self._requests[message["seq"]] = message["command"]
                self.transcript.append(Entry(self._now(), ">", json.dumps(message).encode(), message))
        self.send_raw(b"".join(frame(message) for message in made))
        return [message["seq"] for message in made]

    def next_seq(self):
        with self._changed:
            self._seq += 1
            return self._seq

    def send(self, command, arguments=None):
        """Sends a request and returns its seq, for `response`."""
        message = {"seq": self.next_seq(), "type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = arguments
        self.send_body(json.dumps(message).encode())
        return message["seq"]

    def response(self, seq, timeout=None):
        """The response to the request with this seq, whether it succeeded or not."""
        return self._wait(lambda: self._responses.get(seq), timeout, f"the response to {self._requests.get(seq)} ({seq})")

    def request(self, command, arguments=None, timeout=None):
        """Sends a request and returns its response, whether it succeeded or not."""
        return self.response(self.send(command, arguments), timeout)

    def ok(self, command, arguments=None, timeout=None):
        """Sends a request that has to succeed and returns the response's body ({} if there is none)."""
        return self.check(self.request(command, arguments, timeout))

    @staticmethod
    def check(response):
        if not response.get("success"):
            raise DapError(f"{response.get('command')} failed: {response.get('message')} {response.get('body', '')}")
        return response.get("body") or {}

    # --- events ---

    def wait_event(self, name, predicate=None, timeout=None):
        """The first event of this name not yet handed out whose body fits; it is consumed, others are left."""
        return self._wait(lambda: self._take_event(name, predicate), timeout, f"the event {name}")

    def wait_first(self, names, timeout=None):
        """The first event of any of these names not yet handed out; it is consumed."""
        def find():
            return next((event for name in names if (event := self._take_event(name, None))), None)
        return self._wait(find, timeout, f"one of the events {', '.join(names)}")

    def events(self, name=None):
        """All events received so far, consumed or not."""
        with self._changed:
            messages = [e.message for e in self.transcript if e.way == "<" and e.message.get("type") == "event"]
        return [m for m in messages if name in (None, m["event"])]

    def assert_no_event(self, name, seconds, predicate=None):
        """Fails if such an event is there or comes within that time."""
        with suppress(DapTimeout, DapClosed):
            event = self.wait_event(name, predicate, seconds)
            raise AssertionError(f"unexpected event: {event}")

    def wait_end(self, timeout=None):
        """Waits for the peer to end the connection."""
        timeout = timeout or limit()
        with self._changed:
            if not self._changed.wait_for(lambda: self.ended, timeout):
                raise DapTimeout(f"{self.name}: the connection did not end in {timeout} s")

    def reply(self, request, body=None, success=True, message=None):
        """Answers a reverse request; the default answer to each is a refusal, unless `on_reverse_request` is replaced."""
        answer = {"seq": self.next_seq(), "type": "response", "request_seq": request["seq"],
                  "command": request["command"], "success": success}
        answer.update({k: v for k, v in (("body", body), ("message", message)) if v is not None})
        self.send_body(json.dumps(answer).encode())

    def on_reverse_request(self, request):
        self.reply(request, success=False, message="not supported by this client")

    # --- what editors do ---

    def initialize(self, **arguments):
        """initialize as VS Code would say it; returns the capabilities."""
        return self.ok("initialize", {
            "clientID": "test", "adapterID": "raydbg", "pathFormat": "path", "locale": "en",
            "linesStartAt1": True, "columnsStartAt1": True, "supportsVariableType": True,
            "supportsInvalidatedEvent": True, "supportsRaydbgRole": True, **arguments})

    def attach(self, arguments, breakpoints=None, filters=("uncaught",), timeout=None):
        """attach up to configurationDone; `breakpoints` is {path: [line or SourceBreakpoint]}.

        Returns the bodies of the setBreakpoints responses by path. Needs `initialize` before it.
        """
        attach = self.send("attach", arguments)
        self._initialized_or_refused(attach, timeout)
        answers = {path: self.set_breakpoints(path, lines) for path, lines in (breakpoints or {}).items()}
        self.ok("setExceptionBreakpoints", {"filters": list(filters)}, timeout)
        self.ok("configurationDone", timeout=timeout)
        self.check(self.response(attach, timeout))
        return answers

    def set_breakpoints(self, path, breakpoints):
        wanted = [{"line": b} if isinstance(b, int) else b for b in breakpoints]
        return self.ok("setBreakpoints", {"source": {"path": str(path)}, "breakpoints": wanted})

    def stopped(self, timeout=None, **expected):
        """The body of the next `stopped` event whose body has these values, such as reason="breakpoint"."""
        return self.wait_event("stopped", lambda body: expected.items() <= body.items(), timeout)["body"]

    def stack(self, thread_id, **arguments):
        return self.ok("stackTrace", {"threadId": thread_id, **arguments})["stackFrames"]

    def locals(self, frame_id):
        """The variables of the frame's first scope, by name."""
        return self.children(self.ok("scopes", {"frameId": frame_id})["scopes"][0]["variablesReference"])

    def children(self, reference):
        return {v["name"]: v for v in self.ok("variables", {"variablesReference": reference})["variables"]}

    def evaluate(self, expression, frame_id=None, context="repl"):
        arguments = {"expression": expression, "context": context}
        if frame_id is not None:
            arguments["frameId"] = frame_id
        return self.ok("evaluate", arguments)["result"]

    def step(self, command, thread_id, timeout=None):
        """next, stepIn or stepOut; returns the body of the stop that follows."""
        self.ok(command, {"threadId": thread_id})
        return self.stopped(timeout, threadId=thread_id)

    def resume(self, thread_id):
        return self.ok("continue", {"threadId": thread_id})

    def resume_all(self, thread_id):
        """continue, for an adapter that resumes all threads: stops reported before its answer are over, too."""
        return self.move("continue", thread_id)

    def move(self, command, thread_id):
        """next, continue and the like: stops reported before its answer are over."""
        answer = self.request(command, {"threadId": thread_id})
        with self._changed:
            self._events = [e for e in self._events if e["event"] != "stopped" or e["seq"] > answer["seq"]]
        return self.check(answer)

    def disconnect(self, **arguments):
        return self.ok("disconnect", arguments or None)

    # --- the end ---

    def close(self, check=True):
        """Closes the connection; asserts that each request got one response and the peer spoke the protocol."""
        if check and self.strict:
            with self._changed:
                self._changed.wait_for(lambda: self.ended or not self._unanswered(), limit())
        problem = self.transport.close()
        if problem:
            self.troubles.append(problem)
        self._reader.join(limit())
        self.transport.close_read()
        if check and self.strict:
            self.verify()

    def verify(self):
        """Asserts what `close` does, now."""
        with self._changed:
            violations = self._violations()
            problems = violations + self.troubles
            problems += [f"{self._requests[s]} ({s}) was not answered" for s in self._unanswered()]
        if problems:
            raise (DapViolation if violations else DapError)(f"{self.name}: " + "; ".join(problems))

    def text(self, last=60):
        """The transcript's last messages, to read."""
        with self._changed:
            return "\n".join(str(entry) for entry in self.transcript[-last:])

    # --- the inside ---

    def _now(self):
        return time.monotonic() - self.started

    def _violations(self):
        found = list(self.problems)
        found += [f"{self._requests.get(s)} ({s}) was answered {n} times" for s, n in self._answers.items() if n > 1]
        found += [f"response to a request that was not sent: {s}" for s in self._answers if s not in self._requests]
        return found

    def _unanswered(self):
        return [seq for seq in self._requests if not self._answers[seq]]

    def _take_event(self, name, predicate):
        for index, event in enumerate(self._events):
            if event["event"] == name and (predicate is None or predicate(event.get("body") or {})):
                return self._events.pop(index)
        return None

    def _initialized_or_refused(self, attach, timeout):
        """Waits for `initialized`, or for the attach request to fail without one."""
        answer = self._wait(lambda: self._take_event("initialized", None) or self._responses.get(attach), timeout,
                            "initialized")
        if answer.get("type") == "response" and not answer["success"]:
            self.check(answer)
        if answer.get("type") == "response":
            self.wait_event("initialized", timeout=timeout)

    def _wait(self, find, timeout, what):
        timeout = limit() if timeout is None else timeout
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                found = find()
                if found is not None:
                    return found
                if self.ended:
                    raise DapClosed(f"{self.name}: the connection ended before {what} came; transcript:\n{self._tail()}")
                if not self._changed.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                    raise DapTimeout(f"{self.name}: {what} did not come in {timeout} s; transcript:\n{self._tail()}")

    def _tail(self):
        return "\n".join(str(entry) for entry in self.transcript[-15:])

    def _read_all(self):
        try:
            for raw in self._bodies():
                self._receive(raw)
        except (OSError, ValueError) as error:
            (self.troubles if isinstance(error, OSError) else self.problems).append(f"cannot read: {error}")
        finally:
            with self._changed:
                self.ended = True
                self._changed.notify_all()

    def _bodies(self):
        """The bodies of the messages that come, until the end."""
        buffer = bytearray()
        while True:
            end = buffer.find(b"\r\n\r\n")
            length = self._content_length(bytes(buffer[:end])) if end >= 0 else None
            if length is not None and len(buffer) >= end + 4 + length:
                yield bytes(buffer[end + 4:end + 4 + length])
                del buffer[:end + 4 + length]
                continue
            data = self.transport.read(1 << 16)
            if not data:
                if buffer:
                    self.problems.append(f"the connection ended inside a message: {bytes(buffer[:200])!r}")
                return
            buffer += data

    @staticmethod
    def _content_length(header):
        name, _, value = header.partition(b": ")
        if name != b"Content-Length" or not value.isdigit() or int(value) > MAX_BODY:
            raise ValueError(f"not a DAP header: {header[:200]!r}")
        return int(value)

    def _receive(self, raw):
        message = parse(raw)
        kind = message.get("type")
        with self._changed:
            self.transcript.append(Entry(self._now(), "<", raw, message))
            if kind == "response":
                self._answers[message["request_seq"]] += 1
                self._responses[message["request_seq"]] = message
            elif kind == "event":
                self._events.append(message)
            elif kind == "request":
                self.reverse_requests.append(message)
            else:
                self.problems.append(f"a message of no known type: {raw[:200]!r}")
            self._changed.notify_all()
        if kind == "request":
            self.on_reverse_request(message)
