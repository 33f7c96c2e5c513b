"""Runs one function of debugpy_tasks.py as a Ray worker does, with Ray's own debugger code and a real debugpy, but without Ray.

    PYTHON debugpy_worker.py RAY_UTIL FUNCTION

Prints one line each: PORT n where debugpy's adapter listens, RESULT value or ERROR type: message.
"""

import contextlib
import faulthandler
import importlib.util
import os
import sys
import types

import debuggee

HERE = os.path.dirname(os.path.abspath(__file__))


def load(directory, name, part):
    """A file of ray/util, as the module ray.util.NAME."""
    spec = importlib.util.spec_from_file_location("ray.util." + name, os.path.join(directory, part))
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["ray.util." + name] = loaded
    setattr(sys.modules["ray"].util, name, loaded)
    spec.loader.exec_module(loaded)
    return loaded


def stand_in():
    """What Ray's debugger code needs of its worker."""
    debuggee.stand_in()
    worker = types.SimpleNamespace(debugger_breakpoint=b"", ray_debugger_external=False, debugger_port=0,
                                   node_ip_address="127.0.0.1", worker_paused_by_debugger=contextlib.nullcontext)

    def set_debugger_port(port):
        worker.debugger_port = port
        debuggee.tell("PORT", str(port))

    worker.set_debugger_port = set_debugger_port
    sys.modules["ray._private.worker"].global_worker = worker


def main_loop(function, rpdb):
    """As in a worker: what a task does ends here."""
    try:
        debuggee.tell("RESULT", repr(function()))
    except Exception as error:
        if os.environ.get("RAY_DEBUG_POST_MORTEM"):
            rpdb._post_mortem()
        debuggee.tell("ERROR", "%s: %s" % (type(error).__name__, str(error)[:100]))


if __name__ == "__main__":
    faulthandler.dump_traceback_later(600, exit=True)
    stand_in()
    sys.modules["ray"].util.ray_debugpy = load(sys.argv[1], "debugpy", "debugpy.py")
    rpdb = load(sys.argv[1], "rpdb", "rpdb.py")
    os.environ.update(RAY_DEBUG="1", PYTHONBREAKPOINT="ray.util.rpdb.set_trace")
    for function in main_loop, debuggee.tell:  # what runs behind a task is Ray's
        function.__globals__["__name__"] = "ray._private.worker"
    import debugpy_tasks
    main_loop(getattr(debugpy_tasks, sys.argv[2]), rpdb)
