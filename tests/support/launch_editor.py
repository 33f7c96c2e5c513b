"""An editor that launches a program by `raydbg dap`: its terminal is a process for each runInTerminal."""

import subprocess
import tempfile
from pathlib import Path

import sanitizers
from dap_client import DapClient, ProcessTransport
from waits import limit


class LaunchEditor(DapClient):
    """`popen(argv, stdin=…, stdout=…, stderr=…, env=…, cwd=…)` starts raydbg dap and what is in the terminals; variables
    that are None in `env` are taken away. `directory` gets the output of each."""

    def __init__(self, argv, env, directory, popen=subprocess.Popen, terminal=True):
        self.env, self.directory, self.popen, self.has_terminal = env, Path(directory), popen, terminal
        self.terminals = []  # (arguments, output, process)
        self.errors = self._file("dap")
        with self.errors.open("wb") as errors:
            self.process = popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        super().__init__(ProcessTransport(self.process), name="editor")

    def _file(self, name):
        return Path(tempfile.mkstemp(prefix=f"{name}-", suffix=".out", dir=self.directory)[1])

    def on_reverse_request(self, request):
        if request["command"] != "runInTerminal" or not self.has_terminal:
            super().on_reverse_request(request)
            return
        given, out = request["arguments"], self._file("terminal")
        env = {**self.env, **given.get("env", {})}
        with out.open("wb") as output:
            process = self.popen(given["args"], cwd=given["cwd"], stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT,
                                 env={name: value for name, value in env.items() if value is not None})
        self.terminals.append((given, out, process))
        self.reply(request, {"shellProcessId": process.pid})

    def launch(self, breakpoints, begin=None, filters=(), **arguments):
        """launch up to its response; `breakpoints` is as for attach(), `filters` are those of exceptions. Returns the
        answers to setBreakpoints by path."""
        self.initialize(supportsRunInTerminalRequest=self.has_terminal)
        launch = self.send("launch", {"request": "launch", **arguments})
        self._initialized_or_refused(launch, 30)
        answers = {path: self.set_breakpoints(path, lines)["breakpoints"] for path, lines in breakpoints.items()}
        if begin:
            begin()
        assert not self.terminals  # nothing runs before configurationDone
        self.ok("setExceptionBreakpoints", {"filters": list(filters)})
        self.ok("configurationDone")
        self.check(self.response(launch))
        return answers

    def output(self):
        return self.terminals[-1][1].read_text(errors="replace")

    def exit_code(self):
        code = self.wait_event("exited")["body"]["exitCode"]
        self.wait_event("terminated")
        return code

    def end(self):
        """After the program's end: disconnects, and checks how all processes have ended."""
        for _, out, process in self.terminals:
            process.wait(limit())
            sanitizers.check(process.returncode, out.read_text(errors="replace"))
        self.disconnect()
        self.close()
        sanitizers.check(self.process.returncode, self.errors.read_text(errors="replace"))

    def kill(self):
        """Whatever is left, at a test's end."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(limit())
        for _, _, process in self.terminals:
            if process.poll() is None:
                process.terminate()
                process.wait(limit())
