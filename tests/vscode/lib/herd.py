"""A scripted cluster of many paused tasks: as many real workers need too much memory.

    herd.py COUNT PROGRAM      every task stands in PROGRAM

Says `READY ADDRESS`, the address being the GCS's, and stays until it is ended. A task whose client has gone waits for
the next one. The scripted workers have the machine's processors together with VS Code, which each of a real cluster's
would not: what they say is put together before it is asked for.
"""

import json
import selectors
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

from fake_adapter import CAPABILITIES  # noqa: E402
from fake_cluster import FakeCluster  # noqa: E402

NODE = "127.0.1.0"  # of a FakeCluster of one node
PUBLISH = 0.05  # seconds after which the GCS knows that a task has a client, or none
VARIABLES = [{"name": name, "value": value, "type": kind, "evaluateName": name, "variablesReference": 0}
             for name, value, kind in (("loss", "0.5", "float"), ("step", "41", "int"), ("rate", "0.1", "float"))]
STOPPED = {"reason": "breakpoint", "threadId": 1, "preserveFocusHint": False, "allThreadsStopped": False}


def bodies(program):
    frames = [{"id": 10 + n, "name": "step", "line": 8, "column": 1, "source": {"path": program, "sourceReference": 0}}
              for n in range(12)]
    return {name: json.dumps(body) for name, body in {
        "initialize": CAPABILITIES,
        "threads": {"threads": [{"id": 1, "name": "MainThread"}]},
        "stackTrace": {"stackFrames": frames, "totalFrames": len(frames)},
        "scopes": {"scopes": [{"name": "Locals", "variablesReference": 30, "expensive": False}]},
        "variables": {"variables": VARIABLES},
        "evaluate": {"result": "''", "variablesReference": 0},
    }.items()}


class Worker:
    """A debugpy adapter with one stopped thread."""

    def __init__(self, herd):
        self.herd, self.client, self.buffer, self.out, self.seq, self.attach = herd, None, b"", [], 0, 0
        self.listener = socket.create_server((NODE, 0), backlog=8)
        self.port = self.listener.getsockname()[1]
        herd.selector.register(self.listener, selectors.EVENT_READ, self.accept)

    def accept(self):
        self.client, _ = self.listener.accept()
        self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.herd.selector.unregister(self.listener)  # one at a time
        self.herd.selector.register(self.client, selectors.EVENT_READ, self.read)

    def leave(self):
        self.herd.selector.unregister(self.client)
        self.client.close()
        self.client = None
        self.herd.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.herd.tell(self, True)

    def read(self):
        try:
            data = self.client.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self.leave()
            return
        self.buffer += data
        command = ""
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            length = int(head.rpartition(b" ")[2]) if found else 0
            if not found or len(rest) < length:
                break
            self.buffer = rest[length:]
            command = self.answer(json.loads(rest[:length]))
        if self.out:
            with suppress(ConnectionError):  # its end is read
                self.client.sendall("".join(self.out).encode())
            self.out.clear()
        if command == "disconnect":
            self.leave()

    def say(self, kind, rest):
        self.seq += 1
        body = f'{{"seq": {self.seq}, "type": "{kind}", {rest}}}'
        self.out.append(f"Content-Length: {len(body.encode())}\r\n\r\n{body}")

    def respond(self, seq, command, body="{}"):
        self.say("response", f'"request_seq": {seq}, "success": true, "command": "{command}", "body": {body}')

    def answer(self, request):
        command = request["command"]
        if command == "attach":
            self.attach = request["seq"]
            self.say("event", '"event": "initialized"')
            self.herd.tell(self, False)
            return command
        self.respond(request["seq"], command, self.herd.bodies.get(command, "{}"))
        if command == "configurationDone":
            self.respond(self.attach, "attach")
            self.say("event", f'"event": "stopped", "body": {self.herd.stopped}')
        return command


class Herd:
    """The workers, in one thread, and the cluster that they are of."""

    def __init__(self, count, program):
        self.selector = selectors.DefaultSelector()
        self.bodies, self.stopped = bodies(program), json.dumps(STOPPED)
        self.workers = [Worker(self) for _ in range(count)]
        self.changed = {}
        self.cluster = FakeCluster(nodes=1, workers=count, pauses=count, events=count, actors=0, name="Trainer.step",
                                   debugger_ports=[worker.port for worker in self.workers])
        self.records = dict(zip(self.workers, self.cluster.workers))

    def tell(self, worker, waits):
        """The GCS is told soon, of all together."""
        self.changed[worker] = waits

    def serve(self):
        due = None
        while True:
            for key, _ in self.selector.select(PUBLISH if self.changed else None):
                key.data()
            if self.changed and not due:
                due = time.monotonic() + PUBLISH
            if due and time.monotonic() >= due:
                for worker, waits in self.changed.items():
                    self.cluster.set_paused(self.records[worker], waits)
                self.changed.clear()
                self.cluster.publish()
                due = None


def main(count, program):
    herd = Herd(count, program)
    print(f"READY {herd.cluster.address}", flush=True)
    herd.serve()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
