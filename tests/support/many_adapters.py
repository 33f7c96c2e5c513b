"""Thousands of debugpy adapters in one thread, for measurements."""

import json
import selectors
import socket
import threading

from fake_adapter import CAPABILITIES


class ManyAdapters:
    """One thread that is any number of debugpy adapters, each with a port of its own, and one stopped thread.

    `everywhere` ports more (`ports`) are open on all of 127.0.0.0/8, and each connection there is to another adapter.
    """

    def __init__(self, count=0, everywhere=0):
        self.selector = selectors.DefaultSelector()
        self.addresses = []
        self.buffers = {}
        for _ in range(count):
            listener = socket.create_server(("127.0.0.1", 0), backlog=1)
            self.addresses.append("127.0.0.1:%d" % listener.getsockname()[1])
            self.selector.register(listener, selectors.EVENT_READ, self._accept)
        self.ports = []
        for _ in range(everywhere):
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
            listener.bind(("", 0))
            listener.listen(4096)
            self.ports.append(listener.getsockname()[1])
            self.selector.register(listener, selectors.EVENT_READ, self._accept_more)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)

    def _accept(self, listener):
        self._accept_more(listener)
        self.selector.unregister(listener)
        listener.close()

    def _accept_more(self, listener):
        sock, _ = listener.accept()
        self.buffers[sock] = b""
        self.selector.register(sock, selectors.EVENT_READ, self._read)

    def _read(self, sock):
        try:
            data = sock.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.selector.unregister(sock)
            sock.close()
            return
        buffer = self.buffers[sock] + data
        while True:
            head, found, rest = buffer.partition(b"\r\n\r\n")
            length = int(head.rpartition(b" ")[2]) if found else 0
            if not found or len(rest) < length:
                break
            self._answer(sock, json.loads(rest[:length]))
            buffer = rest[length:]
        self.buffers[sock] = buffer

    def _answer(self, sock, request):
        if request["type"] != "request":
            return
        command = request["command"]
        answer = {"type": "response", "request_seq": request["seq"], "success": True, "command": command, "body": {}}
        if command == "attach":
            self.buffers[(sock, "attach")] = answer
            self._say(sock, {"type": "event", "event": "initialized"})
            return
        if command == "initialize":
            answer["body"] = CAPABILITIES
        if command == "threads":
            answer["body"] = {"threads": [{"id": 1, "name": "MainThread"}]}
        if command == "evaluate":
            answer["body"] = {"result": "", "variablesReference": 0}
        self._say(sock, answer)
        if command == "configurationDone":
            self._say(sock, self.buffers.pop((sock, "attach")))
            self._say(sock, {"type": "event", "event": "stopped",
                             "body": {"reason": "breakpoint", "threadId": 1, "allThreadsStopped": True}})

    @staticmethod
    def _say(sock, message):
        body = json.dumps({"seq": 1, **message}).encode()
        sock.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
