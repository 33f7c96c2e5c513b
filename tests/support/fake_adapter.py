"""A scripted debugpy adapter on a free port of 127.0.0.1: what it receives is kept, what it says is up to the test.

    with FakeAdapter() as adapter:                       # debugpy 1.8.22 on Python 3.11, paused at a breakpoint()
        adapter.on["evaluate"] = lambda c, request: c.respond(request, {"result": "7", "variablesReference": 0})
        adapter.on["threads"] = lambda c, request: c.die("rst")
        ...
        adapter.wait_request("setBreakpoints")

A handler gets the Connection and the request. It runs in the connection's thread, in the order of the requests, as
the real adapter does: one that does not return holds up all later ones.
"""

import json
import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

from dap_client import frame, parse
from waits import limit, settle

CAPABILITIES = {
    **dict.fromkeys(
        ("supportsCompletionsRequest supportsConditionalBreakpoints supportsConfigurationDoneRequest "
         "supportsDebuggerProperties supportsDelayedStackTraceLoading supportsEvaluateForHovers "
         "supportsExceptionInfoRequest supportsExceptionOptions supportsFunctionBreakpoints "
         "supportsHitConditionalBreakpoints supportsLogPoints supportsModulesRequest supportsSetExpression "
         "supportsSetVariable supportsValueFormattingOptions supportsTerminateDebuggee supportsTerminateRequest "
         "supportsGotoTargetsRequest supportsClipboardContext supportsStepInTargetsRequest").split(), True),
    "exceptionBreakpointFilters": [
        {"filter": "raised", "label": "Raised Exceptions", "default": False,
         "description": "Break whenever any exception is raised."},
        {"filter": "uncaught", "label": "Uncaught Exceptions", "default": True,
         "description": "Break when the process is exiting due to unhandled exception."},
        {"filter": "userUnhandled", "label": "User Uncaught Exceptions", "default": False,
         "description": "Break when exception escapes into library code."}]}

# The real adapter waits for ever for an answer to these, and reads nothing more.
WEDGE = set("breakpointLocations cancel dataBreakpointInfo disassemble loadedSources readMemory restart restartFrame "
            "reverseContinue runInTerminal setDataBreakpoints setInstructionBreakpoints startDebugging stepBack "
            "terminateThreads writeMemory".split())

PROGRAM = "/app/app.py"
WORKER = "/venv/lib/python3.11/site-packages/ray/_private/worker.py"


@dataclass
class Received:
    """A message from the debugger's client."""

    at: float
    raw: bytes
    message: dict
    connection: "Connection" = field(repr=False)


class Connection:
    """One client's connection, with what a script does to it."""

    def __init__(self, adapter, sock):
        self.adapter = adapter
        self.sock = sock
        self.seq = 0
        self.attached = None
        self.stopped = False
        self.ended = threading.Event()
        self._lock = threading.RLock()

    @property
    def together(self):
        """`with connection.together:` nothing that other threads send comes in between."""
        return self._lock

    def send_raw(self, data):
        """Sends bytes as they are."""
        with self._lock:
            self.sock.sendall(data)

    def send_split(self, data, *cuts, pause=0.02):
        """Sends bytes in several writes, cut at these offsets, far enough apart to be read separately."""
        for start, end in zip((0, *cuts), (*cuts, len(data))):
            self.send_raw(data[start:end])
            settle(pause)

    def send_body(self, body):
        """Sends one message whose body is these bytes."""
        self.send_raw(frame(body))

    def send(self, **message):
        """Sends a message, with the next seq unless it says its own."""
        with self._lock:
            self.seq += 1
            self.send_body(json.dumps({"seq": self.seq, **message}).encode())

    def event(self, name, body=None):
        self.send(type="event", event=name, **({} if body is None else {"body": body}))

    def respond(self, request, body=None, success=True, message=None):
        extra = {key: value for key, value in (("body", body), ("message", message)) if value is not None}
        self.send(type="response", request_seq=request["seq"], success=success, command=request["command"], **extra)

    def request(self, command, arguments=None):
        """A reverse request; the answer shows up in the adapter's `received`."""
        self.send(type="request", command=command, **({} if arguments is None else {"arguments": arguments}))

    def stop(self, reason="breakpoint", thread=1, **body):
        self.stopped = True
        self.event("stopped", {"reason": reason, "threadId": thread, "preserveFocusHint": False,
                               "allThreadsStopped": True, **body})

    def die(self, how="fin"):
        """Ends the connection: `fin` is a process that exits, `rst` one that is killed with data unread."""
        if how == "rst":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RD)
            self.sock.close()
        else:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)

    def serve(self):
        try:
            self.adapter.greet(self)
            for raw in self._bodies():
                self._dispatch(raw)
        except (OSError, ValueError):
            pass  # die() was called, or the peer went away: `ended` says so.
        finally:
            self.ended.set()
            self.sock.close()

    def _bodies(self):
        with self.sock.makefile("rb") as stream:
            while True:
                header = stream.readline()
                if not header:
                    return
                self.adapter.raw += header
                name, _, length = header.strip().partition(b": ")
                blank = stream.readline()
                if name != b"Content-Length" or blank != b"\r\n":
                    self.adapter.problems.append(f"not a DAP header: {header!r} {blank!r}")
                    return
                raw = stream.read(int(length))
                self.adapter.raw += blank + raw
                yield raw

    def _dispatch(self, raw):
        message = parse(raw)
        self.adapter.record(Received(time.monotonic(), raw, message, self))
        if message.get("type") == "request":
            handler = self.adapter.on.get(message["command"], self.adapter.unknown)
            handler(self, message)


class FakeAdapter:
    """Listens, serves any number of connections, and mimics debugpy's attach sequence unless `on` says otherwise."""

    def __init__(self, stop_on_attach=True):
        self.received = []
        self.raw = bytearray()
        self.problems = []
        self.connections = []
        self.stop_on_attach = stop_on_attach
        self.line = 8
        self._changed = threading.Condition()
        self._threads = []
        self.on = {name.removeprefix("on_"): getattr(self, name) for name in dir(self) if name.startswith("on_")}
        self.on |= dict.fromkeys(WEDGE, self.wedge)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()
        self._start(self._accept)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def close(self):
        self._stop_listening()
        for connection in self.connections:
            connection.ended.set()
            connection.die()
        for thread in self._threads:
            thread.join(limit())

    def refuse_connections(self):
        """From now on a connect is refused, as when the worker is gone."""
        self._stop_listening()

    # --- what came ---

    def record(self, received):
        with self._changed:
            self.received.append(received)
            self._changed.notify_all()

    def requests(self, command=None):
        """The requests received so far, in order."""
        with self._changed:
            messages = [r.message for r in self.received if r.message.get("type") == "request"]
        return [m for m in messages if command in (None, m["command"])]

    def commands(self):
        return [message["command"] for message in self.requests()]

    def wait_request(self, command, count=1):
        """The `count`-th request of this name."""
        self._wait(lambda: len(self.requests(command)) >= count, f"{command} ({self.commands()})")
        return self.requests(command)[count - 1]

    def wait_received(self, predicate):
        """The first message, of whatever type, that fits; as Received, raw bytes included."""
        def find():
            return next((r for r in self.received if predicate(r.message)), None)
        self._wait(lambda: find() is not None, "a message that fits")
        return find()

    def connection(self, index=0):
        """The connection of this number, once it is there."""
        self._wait(lambda: len(self.connections) > index, f"connection {index}")
        return self.connections[index]

    def _wait(self, ready, what):
        with self._changed:
            if not self._changed.wait_for(ready, limit()):
                raise AssertionError(f"the fake adapter did not get {what}")

    # --- the script: debugpy 1.8.22 in a Ray worker, Python 3.11 ---

    def greet(self, connection):
        for name in "ptvsd", "debugpy":
            connection.event("output", {"category": "telemetry", "output": name, "data": {"packageVersion": "1.8.22"}})
        connection.event("debugpySockets", {"sockets": [{"host": self.host, "port": self.port, "internal": False}]})

    def unknown(self, connection, request):
        connection.respond(request, success=False, message=f"Unable to create message from dict: {request}. "
                           f"{request['command']} not in ['attach', 'breakpointLocations', …]")

    def wedge(self, connection, request):
        """Answers nothing, and nothing that comes later, until the adapter is closed."""
        connection.ended.wait()

    def on_initialize(self, connection, request):
        connection.respond(request, CAPABILITIES)

    def on_attach(self, connection, request):
        if not request.get("arguments"):
            connection.respond(request, success=False, message="AttachRequest.__init__() missing 1 required positional "
                               "argument: 'arguments'")
            return
        if any(other.attached and not other.ended.is_set() for other in self.connections):
            connection.respond(request, success=False, message="'Server[pid=258] is already being debugged.'")
            return
        connection.attached = request
        connection.event("debugpyWaitingForServer", {"host": self.host, "port": self.port})
        settle(0.02)
        connection.event("initialized")

    def on_configurationDone(self, connection, request):
        connection.respond(request)
        connection.respond(connection.attached)
        connection.event("process", {"name": "/venv/default_worker.py", "systemProcessId": 258,
                                     "isLocalProcess": True, "startMethod": "attach"})
        for thread in 1, 2:
            connection.event("thread", {"reason": "started", "threadId": thread})
        if self.stop_on_attach:
            connection.stop()

    def on_setBreakpoints(self, connection, request):
        source = request["arguments"]["source"]
        connection.respond(request, {"breakpoints": [
            {"verified": True, "id": number, "source": source, "line": wanted["line"]}
            for number, wanted in enumerate(request["arguments"].get("breakpoints", []))]})

    def on_setFunctionBreakpoints(self, connection, request):
        connection.respond(request, {"breakpoints": []})

    def on_setExceptionBreakpoints(self, connection, request):
        connection.respond(request)

    def on_setDebuggerProperty(self, connection, request):
        connection.respond(request)

    def on_threads(self, connection, request):
        connection.respond(request, {"threads": [{"id": 1, "name": "MainThread"}, {"id": 2, "name": "PythonGCThread"}]})

    def on_stackTrace(self, connection, request):
        connection.respond(request, {"stackFrames": [
            {"id": 3, "name": "square", "line": self.line, "column": 1,
             "source": {"path": PROGRAM, "sourceReference": 0}},
            {"id": 4, "name": "main_loop", "line": 1069, "column": 1,
             "source": {"path": WORKER, "sourceReference": 0}, "presentationHint": "subtle"}], "totalFrames": 2})

    def on_scopes(self, connection, request):
        connection.respond(request, {"scopes": [
            {"name": "Locals", "variablesReference": 6, "expensive": False, "presentationHint": "locals", "source": {}},
            {"name": "Globals", "variablesReference": 7, "expensive": False, "source": {}}]})

    def on_variables(self, connection, request):
        connection.respond(request, {"variables": [
            {"name": "x", "value": "3", "type": "int", "evaluateName": "x", "variablesReference": 0}]})

    def on_evaluate(self, connection, request):
        connection.respond(request, {"result": "2", "variablesReference": 0, "type": "int", "presentationHint": {}})

    def on_setVariable(self, connection, request):
        connection.respond(request, {"value": request["arguments"]["value"], "type": "int", "variablesReference": 0})

    def on_exceptionInfo(self, connection, request):
        connection.respond(request, {"exceptionId": "ValueError", "description": "boom", "breakMode": "unhandled",
                                     "details": {"message": "boom", "typeName": "ValueError", "stackTrace": ""}})

    def on_source(self, connection, request):
        connection.respond(request, success=False, message="Source unavailable")

    def on_completions(self, connection, request):
        connection.respond(request, {"targets": []})

    def on_modules(self, connection, request):
        connection.respond(request, {"modules": []})

    def on_pause(self, connection, request):
        connection.respond(request)
        connection.stop("pause", preserveFocusHint=True)

    def on_continue(self, connection, request):
        if not connection.stopped:
            self.wedge(connection, request)
            return
        connection.stopped = False
        with connection.together:
            connection.respond(request, {"allThreadsContinued": True})
            connection.event("continued", {"threadId": 1, "allThreadsContinued": True})

    def _step(self, connection, request):
        connection.respond(request)
        connection.event("continued", {"threadId": 1, "allThreadsContinued": True})
        self.line += 1
        connection.stop("step")

    on_next = on_stepIn = on_stepOut = _step

    def on_disconnect(self, connection, request):
        connection.event("terminated")
        connection.respond(request)
        connection.die()

    # --- sockets ---

    def _start(self, target):
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.serve(sock)

    def serve(self, sock):
        """Serves a connected socket: one that was accepted, or one on which a pydevd has dialled a relay."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self, sock)
        with self._changed:
            self.connections.append(connection)
            self._changed.notify_all()
        self._start(connection.serve)

    def _stop_listening(self):
        # shutdown() wakes the accept() that close() alone would leave waiting.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
