"""agent_program.py as a subprocess, and agent keys as the relay derives them."""

import contextlib
import hashlib
import hmac
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from waits import limit

PROGRAM = Path(__file__).resolve().parent / "agent_program.py"
KEY_ID = "0123456789abcdef" * 2
TOKEN = "a-token-for-tests-only"


def agent_key(token, key_id=KEY_ID):
    """As agent_key_make() in relay/access/agent_key.c."""
    return hmac.new(token.encode(), f"raydbg agent key\n{key_id}\n".encode(), hashlib.sha256).hexdigest()


def line_of(marker):
    lines = PROGRAM.read_text().splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.endswith(f"# line: {marker}"))


class AgentProcess:
    """The program, which has started its agent: `started` is how long that took in seconds.

    `word`: how long it waits for the relay's first word, and is held, where a busy machine must not matter. `cwd`: its
    directory. `config`: more of what the agent is told.
    """

    def __init__(self, address, token, python=sys.executable, path="", key=None, word=None, env=(), cwd=None, **config):
        host, port = address
        self.directory = tempfile.TemporaryDirectory(prefix="ra-")
        path_of_config = Path(self.directory.name) / "config.json"
        path_of_config.write_text(json.dumps({"host": host, "port": port, "key_id": KEY_ID, "key": key or agent_key(token),
                                              "role": "driver", **config}))
        env = {**os.environ, "PYTHONPATH": str(path), "PYTHONUNBUFFERED": "1", **dict(env)}
        env.update({"WORD_S": str(word)} if word else {})
        self.process = subprocess.Popen([python, PROGRAM, path_of_config], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=env, cwd=cwd)
        self.lines = []
        self._coming = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.started = float(self.wait_for("STARTED"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def pid(self):
        return self.process.pid

    def _read(self):
        for line in self.process.stdout:
            self._coming.put(line)
        self._coming.put(None)

    def wait_for(self, word):
        """The rest of the next line that begins with `word`."""
        with contextlib.suppress(queue.Empty):
            while (line := self._coming.get(timeout=limit())) is not None:
                self.lines.append(line)
                if line.startswith(word + " "):
                    return line[len(word):].strip()
        raise AssertionError(f"no {word}:\n" + "".join(self.lines[-40:]))

    def has(self, word):
        """True once a line that begins with `word` has come."""
        while not self._coming.empty() and (line := self._coming.get()) is not None:
            self.lines.append(line)
        return any(line.startswith(word + " ") for line in self.lines)

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def ask(self, text, word):
        self.send(text)
        return self.wait_for(word)

    def do(self, code):
        """What these lines, executed in the program, have as `answer`."""
        return self.ask("do " + json.dumps(code), "DONE")

    def work(self, n):
        assert self.ask(f"work {n}", "RESULT") == str(2 * n + 1)

    def kill(self):
        self.process.kill()
        self.process.wait(limit())
        self.directory.cleanup()
