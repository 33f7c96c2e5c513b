"""`raydbg dap --connect HOST:PORT` as a subprocess, driven over its stdio: the relay alone, without a cluster."""

import os
import subprocess
import tempfile
from pathlib import Path

import sanitizers
from dap_client import DapClient, ProcessTransport
from waits import Hard

ROOT = Path(__file__).resolve().parent.parent.parent


def raydbg_path():
    path = Path(os.environ.get("RAYDBG", ROOT / "build-asan/raydbg")).resolve()
    if not path.exists():
        raise AssertionError(f"{path} is not built: run tools/build asan")
    return path


class RelayUnderTest(DapClient):
    """A DapClient on a relay that is connected to `adapter`; closing it checks the exit and the sanitizers' reports.

    `adapter=None` starts `raydbg dap` without --connect, for tests of its own side and of the attach argument
    `connect`. What it wrote to stderr: `relay.stderr()`.
    """

    def __init__(self, adapter=None, *arguments, env=None, strict=True):
        connect = ["--connect", adapter.address] if adapter else []
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self._stderr = tempfile.TemporaryFile()
        self.adapter = adapter
        self.process = subprocess.Popen([raydbg_path(), "dap", *connect, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self._stderr,
                                        env={**clean, **sanitizers.ENV, **(env or {})})
        super().__init__(ProcessTransport(self.process), name="raydbg dap", strict=strict)

    def start(self, arguments=None, **options):
        """initialize and attach; returns the first stop's body."""
        self.initialize()
        self.attach(arguments or {"request": "attach"}, **options)
        return self.stopped()

    def stderr(self):
        """Read where the file's offset stays: the process writes at that."""
        fd = self._stderr.fileno()
        return os.pread(fd, os.fstat(fd).st_size, 0).decode(errors="replace")

    def close(self, check=True):
        try:
            super().close(check)
        finally:
            self.check_process()
            self._stderr.close()

    def check_process(self):
        """Fails if a sanitizer reported or a signal ended the relay, or it sent the adapter what is no DAP."""
        sanitizers.check(self.process.returncode, self.stderr())
        if self.adapter and self.adapter.problems:
            raise Hard(f"the relay sent the adapter: {self.adapter.problems}")
