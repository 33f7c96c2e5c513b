"""More than any queue holds: events of an adapter or requests of a client, in the background."""

import threading
from contextlib import suppress

from kernel_queues import wait_stuck

MIB = 1 << 20
TOTAL = 300 * MIB
PIECE = 10_000
COUNT = TOTAL // PIECE


class Flood:
    """Numbered `output` events of PIECE bytes each, from the adapter, in the background; `sent` is the number so far."""

    def __init__(self, connection, count=COUNT):
        self.connection, self.count, self.sent, self.over = connection, count, 0, False
        self.thread = threading.Thread(target=self._send, daemon=True)
        self.thread.start()

    def _send(self):
        with suppress(OSError):
            for number in range(self.count):
                if self.over:
                    return
                self._send_one(number)
                self.sent = number + 1

    def _send_one(self, number):
        body = (b'{"seq":%d,"type":"event","event":"output","body":{"category":"stdout","output":"%08d %s"}}'
                % (number + 1000, number, b"x" * PIECE))
        self.connection.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def wait_stuck(self, relay):
        """Until no more is taken; returns how many bytes are."""
        taken = wait_stuck(relay, self.connection.sock)
        assert self.sent < self.count, f"all {self.count} events were taken"
        return taken


class Evaluations(Flood):
    """Large requests of a client."""

    def _send_one(self, number):
        self.connection.send("evaluate", {"expression": "x" * 30_000, "frameId": 3})


def numbers(client, count):
    """The numbers of the flood's next `count` events, in the order of arrival."""
    got = []
    while len(got) < count:
        message = client.receive()
        assert message is not None, f"the relay closed the connection after {len(got)} events"
        output = (message.get("body") or {}).get("output", "") if message.get("event") == "output" else ""
        if output[:8].isdigit():
            got.append(int(output[:8]))
    return got
