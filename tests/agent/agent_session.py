"""Starts a debuggee on some Python, installs the agent in its pdb as the relay does, and gives a DAP client."""

import base64
import os
import re
import secrets
import socket
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

from dap_client import DapClient  # noqa: E402
from waits import limit, wait_until  # noqa: E402

AGENT = ROOT / "relay/debuggee/pdb_agent"
DEBUGGEES = HERE / "debuggees.py"


def agent_parts():
    """In the order in which the build has them."""
    text = (ROOT / "cmake/pdb-agent.cmake").read_text()
    names = re.search(r"set\(PDB_AGENT_PARTS ([\w\s]+)\)", text).group(1).split()
    assert {f"{name}.py" for name in names} == {path.name for path in AGENT.glob("*.py")}
    return [AGENT / f"{name}.py" for name in names]


def agent_source():
    return "".join(part.read_text() for part in agent_parts())


def statement(token, source=None):
    """relay/debuggee/pdb_install.c makes the same."""
    packed = base64.b64encode(zlib.compress((source or agent_source()).encode())).decode()
    return ('!exec(compile(__import__("zlib").decompress(__import__("base64").b64decode("%s")),"<raydbg agent>","exec"),'
            '{"__name__":"ray.raydbg_agent","TOKEN":"%s"})\n' % (packed, token)).encode()


def line_of(marker):
    numbers = [n for n, text in enumerate(DEBUGGEES.read_text().splitlines(), 1)
               if re.search(rf"# line: {re.escape(marker)}$", text)]
    assert len(numbers) == 1, marker
    return numbers[0]


def rpdb_source():
    """Ray's own file, of whichever environment of the tree has one."""
    found = sorted(ROOT.glob(".venv/lib/python3*/site-packages/ray/util/rpdb.py"))
    assert found, "tools/setup makes the environment"
    return found[-1]


class Debuggee:
    def __init__(self, python, function, env=None):
        argv = [python, "-u", HERE / "debuggee.py", rpdb_source(), function]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace", env={**os.environ, **(env or {}), "PYTHONPATH": "",
                                                                "DEBUGGEE_S": str(limit(300))})
        self.lines = []

    def wait_for(self, word):
        """The rest of the next line that begins with this word."""
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith(word + " ") or line.rstrip() == word:
                return line[len(word):].strip()
        raise AssertionError(f"no {word}:\n" + "".join(self.lines[-50:]))

    def finish(self, clean=True):
        """What the function returned, or how it failed; and nothing of the agent, nor of pdb, may be left."""
        for line in self.process.stdout:
            self.lines.append(line)
        assert self.process.wait(limit()) == 0, "".join(self.lines[-50:])
        assert not clean or self.lines[-1].strip() == "LEFT", self.lines[-1]
        return next(line for line in self.lines if re.match("RESULT |ERROR ", line)).strip()

    def connect(self):
        """Ray tells the port before it listens there."""
        port = int(self.wait_for("PORT"))

        def connected():
            with suppress(ConnectionRefusedError):
                return socket.create_connection(("127.0.0.1", port), limit())

        return wait_until(connected, f"{port} listens", every=0.005)

    def kill(self):
        self.process.kill()
        self.process.wait(limit())
        self.process.stdout.close()


def install(sock, source=None):
    """The bytes behind the marker, which are none, and what pdb said in front of it."""
    token = secrets.token_hex(16)
    sock.sendall(statement(token, source))
    said, mark = b"", b"\x02" + token.encode()
    sock.settimeout(limit())
    while mark not in said or b"\x03" not in said.partition(mark)[2]:
        more = sock.recv(1)
        assert more, said
        said += more
    before, _, answer = said.partition(mark)
    assert answer == b"\x03", answer
    return before


class Session(DapClient):
    """A client that is attached; `top` is the frame on top at the stop."""

    thread = 1

    @classmethod
    def start(cls, debuggee, **options):
        sock = debuggee.connect()
        install(sock)
        client = cls.over_socket(sock)
        client.initialize()
        client.attach({}, **{"filters": (), **options})
        client.stop = client.stopped()
        return client

    def top(self):
        return self.stack(self.thread)[0]

    def at(self, function, marker):
        top = self.top()
        assert (top["name"], top["line"]) == (function, line_of(marker))
        return top

    def go(self, command="next"):
        self.stop = self.step(command, self.thread)
        return self.stop

    def end(self):
        """What the function returned, or how it failed, once it has ended by itself."""
        self.wait_event("terminated")
        self.disconnect()
        return self.debuggee.finish()
