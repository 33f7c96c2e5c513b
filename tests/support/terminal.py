"""A program inside a pseudo-terminal: what it has written there, and keys for it."""

import codecs
import contextlib
import os
import pty
import re

from waits import limit, wait_until


class Terminal:
    failure = AssertionError  # when what is expected does not come

    def __init__(self, start):
        """`start(stdin=…, stdout=…, stderr=…)` starts the program."""
        self.master, slave = pty.openpty()
        self.process = start(stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        os.set_blocking(self.master, False)
        self.text, self.seen = "", 0
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode  # a character may lie across two reads

    def plain(self):
        """All that was written, without colours and other sequences."""
        with contextlib.suppress(BlockingIOError, OSError):
            while data := os.read(self.master, 65536):
                self.text += self.decode(data)
        return re.sub(r"\033\[[0-9;?]*[@-~]", "", self.text)

    def expect(self, pattern):
        """The next match of the pattern, after the last one's."""
        found = wait_until(lambda: re.compile(pattern).search(self.plain(), self.seen),
                           lambda: f"{pattern!r} on the terminal:\n{self.plain()[self.seen:]}", failure=self.failure)
        self.seen = found.end()
        return found

    def type(self, keys):
        os.write(self.master, keys.encode())

    def ended(self):
        self.plain()
        return self.process.poll() is not None

    def end(self):
        """The exit code, once the program has ended."""
        wait_until(self.ended, lambda: f"the end of the program:\n{self.plain()[self.seen:]}", failure=self.failure)
        return self.process.returncode

    def hang_up(self):
        """Closes the terminal; the exit code of its program, which a SIGHUP ends."""
        if self.master is not None:
            os.close(self.master)
        self.master = None
        return self.process.wait(limit())

    def close(self):
        self.process.kill()
        self.hang_up()
