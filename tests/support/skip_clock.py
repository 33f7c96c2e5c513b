"""Time that passes at once, for a raydbg with sanitizers: see relay/io/loop_clock.h.

    with SkipClock(binary) as clock:
        relay = RelayProcess(env=clock.env, …)
        clock.pass_time(5)

What raydbg does after a time happens then, in the right order; a raydbg without sanitizers has no such clock, and `pass_time`
waits. Keepers and closers have it, too. Deadlines of grpc, and what libwebsockets limits itself, have clocks of their own.
"""

import contextlib
import socket
import tempfile
import time
from pathlib import Path

from waits import is_sanitized, limit, settle


class SkipClock:
    """The clock of each event loop, keeper and closer of the processes that are started with `env`."""

    def __init__(self, binary):
        self.skips = is_sanitized(binary)
        self.skipped = 0.0
        self.loops = []
        self.directory = tempfile.TemporaryDirectory(prefix="rc-", dir="/tmp")
        path = str(Path(self.directory.name) / "clock")
        self.env = {"RAYDBG_TEST_CLOCK": path}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1000)
        self.listener.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for loop in [*self.loops, self.listener]:
            loop.close()
        self.directory.cleanup()

    def now(self):
        """time.monotonic(), and what was skipped."""
        return time.monotonic() + self.skipped

    def accept(self):
        """The connections of all event loops that there are."""
        with contextlib.suppress(BlockingIOError):
            while True:
                loop, _ = self.listener.accept()
                loop.settimeout(limit())
                self.loops.append(loop)
        return self.loops

    def pass_time(self, seconds):
        if not self.skips:
            settle(seconds)
            return
        asked = [loop for loop in self.accept() if self._ask(loop, seconds)]
        assert asked, "no running raydbg has this clock"
        self.loops = [loop for loop in asked if self._is_done(loop)]
        self.skipped += seconds

    @staticmethod
    def _ask(loop, seconds):
        """False if the loop is gone."""
        try:
            loop.sendall(b"skip %d\n" % round(seconds * 1000))
            return True
        except (BrokenPipeError, ConnectionResetError):
            loop.close()
            return False

    @staticmethod
    def _is_done(loop):
        """False if the loop has ended meanwhile: that may be what it does after that time."""
        try:
            answer = loop.recv(64)
        except ConnectionResetError:
            answer = b""
        assert answer in (b"skipped\n", b""), answer
        if not answer:
            loop.close()
        return bool(answer)
