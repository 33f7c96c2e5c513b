"""Starts a worker without Ray (debugpy_worker.py) on some Python and debugpy; `raydbg dap` attaches to it."""

import os
import queue
import re
import subprocess
import tempfile
import threading
from pathlib import Path

from agent_session import ROOT, rpdb_source
from dap_client import DapClient
from waits import limit

HERE = Path(__file__).resolve().parent
TASKS = HERE / "debugpy_tasks.py"


def raydbg_path():
    path = Path(os.environ.get("RAYDBG", ROOT / "build/raydbg")).resolve()
    assert path.exists(), f"{path} is not built: run tools/build"
    return path


def debugpy_directory(python, version):
    """For PYTHONPATH; made by tools/setup if it is not there."""
    argv = [ROOT / "tools/setup", "--python", python, "--ray", "none", "--debugpy", version]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=limit(300), check=True)
    return done.stdout.splitlines()[-1]


def pages_directory():
    """For PYTHONPATH, too: Django and Flask."""
    done = subprocess.run([ROOT / "tools/setup", "--pages"], stdout=subprocess.PIPE, text=True, timeout=limit(300), check=True)
    return done.stdout.splitlines()[-1]


def task_line(marker):
    lines = TASKS.read_text().splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.endswith(f"# line: {marker}"))


class Worker:
    """The process; `port` is where its debugpy listens."""

    def __init__(self, python, directory, function, env):
        argv = [python, "-u", HERE / "debugpy_worker.py", rpdb_source().parent, function]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace", env={**os.environ, "PYTHONPATH": directory, **env})
        self.lines = []
        self._coming = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.port = int(self.wait_for(r"PORT (\d+)")[1])

    def _read(self):
        """All that the worker prints, so that it never waits for a reader."""
        for line in self.process.stdout:
            self._coming.put(line[:1000])
        self._coming.put(None)

    def wait_for(self, pattern):
        while (line := self._coming.get(timeout=limit())) is not None:
            self.lines.append(line)
            found = re.match(pattern, line)
            if found:
                return found
        raise AssertionError(f"no {pattern}:\n" + "".join(self.lines[-50:]))

    def outcome(self):
        """`RESULT value` or `ERROR type: message`, once the task has ended by itself."""
        return self.wait_for("RESULT .*|ERROR .*")[0]

    def kill(self):
        self.process.kill()
        self.process.wait(limit())


class Session(DapClient):
    """A client of `raydbg dap` that has seen its stop; `thread` is the one that stopped."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.worker = self.log = self.stop = self.thread = None

    @classmethod
    def begin(cls, worker, *arguments):
        """Before `initialize`."""
        argv = [raydbg_path(), "dap", "--connect", f"127.0.0.1:{worker.port}", *arguments]
        log = tempfile.TemporaryFile("w+")
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                   env={**os.environ, "RAYDBG_LOG": "info"})
        session = cls.over_process(process, name="raydbg dap")
        session.worker, session.log = worker, log
        return session

    @classmethod
    def start(cls, worker, *arguments, filters=(), **options):
        session = cls.begin(worker, *arguments)
        session.initialize()
        session.attach({}, filters=filters, **options)
        session.stop = session.stopped()
        session.thread = session.stop["threadId"]
        return session

    def injected(self):
        """What the worker said of the injection, as in the log."""
        self.log.seek(0)
        return re.search(r"injected: (.*)", self.log.read())[1]

    def top(self):
        return self.stack(self.thread)[0]

    def at(self, function, marker):
        top = self.top()
        assert (top["name"], top["line"]) == (function, task_line(marker)), self.text()
        return top

    def finish(self):
        self.resume(self.thread)
        return self.worker.outcome()
