"""raydbg_bridge.init() and raydbg_bridge.prepare(): what `raydbg run` does for a driver, for one that runs already, as in a notebook.

`raydbg run` itself finds or starts the relay, sets the breakpoints and makes the private directory with the agent. It runs
here with a program that only tells where that directory is; it ends, and removes both, when this process ends.
"""

import atexit
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import threading

from raydbg_bridge import find_raydbg_bin

TELL_DIRECTORY = "import os, sys; print(os.environ['PYTHONPATH'].split(':')[0], flush=True); sys.stdin.readline()"


class Run:
    """A `raydbg run` beside this process. `directory` has what it gives to a driver."""

    def __init__(self, breakpoints, address, relay):
        options = [word for place in breakpoints for word in ("--break", place)]
        options += ["--address", address] if address else []
        options += ["--relay", relay] if relay else []
        self.owner = os.getpid()
        # A session of its own, because ^C and a notebook's "interrupt" are for the driver only.
        self.process = subprocess.Popen([find_raydbg_bin(), "run", *options, "--", sys.executable, "-Ic", TELL_DIRECTORY],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True)
        self.directory = self.process.stdout.readline().strip()
        if not self.directory:
            raise RuntimeError("raydbg cannot debug this driver: %s" % self.process.communicate()[1].strip())
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the program's, and its threads'
        try:
            threading.Thread(target=self.pass_on, name="raydbg-run", daemon=True).start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def pass_on(self):
        """What it says: where a task has stopped, for one."""
        for line in self.process.stderr:
            sys.stderr.write(line)

    def import_hook(self):
        """The module with Ray's runtime_env hook, from the directory."""
        spec = importlib.util.spec_from_file_location("raydbg_run", os.path.join(self.directory, "raydbg_run.py"))
        module = sys.modules["raydbg_run"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def end(self):
        """In a process that was forked since, does nothing: the run is its parent's. Such a process has a copy of the pipe,
        so that the pipe's end would not be seen while it lives: a line is."""
        if os.getpid() != self.owner:
            return
        with contextlib.suppress(BrokenPipeError):
            os.write(self.process.stdin.fileno(), b"\n")
        self.process.stdin.close()
        self.process.wait()


current = None
at_exit = False


def end():
    global current
    run, current = current, None
    if run is not None:
        if "raydbg_run" in sys.modules:
            sys.modules["raydbg_run"].give_back()
        run.end()


def start(breakpoints, address, relay):
    global current, at_exit
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        raise RuntimeError("raydbg comes before ray.init(), or instead of it, and Ray runs already: ray.shutdown() first")
    if isinstance(breakpoints, str):
        breakpoints = [breakpoints]
    used = address or os.environ.get("RAY_ADDRESS", "")
    if used.startswith("ray://"):
        raise RuntimeError("the tasks of a driver of Ray Client (%s) get no debugger from here: give ray.init() the runtime_env "
                           "that `raydbg env` prints (docs/run.md, Ray Client)" % used)
    end()
    current = Run(breakpoints, None if address in ("auto", "local") else address, relay)
    if not at_exit:
        atexit.register(end)
        at_exit = True
    return current


def init(address=None, *, breakpoints=(), relay=None, **options):
    run = start(breakpoints, address, relay)
    try:
        import ray

        given = options.get("runtime_env") or getattr(options.get("job_config"), "runtime_env", None)
        options["runtime_env"] = run.import_hook().runtime_env(given)
        return ray.init(address, **options)
    except BaseException:
        end()
        raise


def prepare(breakpoints=(), relay=None):
    start(breakpoints, None, relay).import_hook().take_over()
