"""Runs one function of debuggees.py with Ray's own rpdb.py, but without Ray: its few imports are stand-ins.

    PYTHON debuggee.py RPDB_PY FUNCTION

Ends itself after $DEBUGGEE_S seconds; nothing of the agent may be left after $LEFT_S. Prints one line each: PORT n where pdb waits, RESULT value or ERROR type: message, LEFT what is left of the agent.
"""

import faulthandler
import importlib.util
import json
import os
import signal
import sys
import threading
import types

HERE = os.path.dirname(os.path.abspath(__file__))


class Any:
    """Has every attribute and can be called."""

    def __getattr__(self, name):
        return Any()

    def __call__(self, *_, **__):
        return "00"


def module(name, **members):
    made = types.ModuleType(name)
    made.__path__ = []
    made.__dict__.update(members)
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)
    return made


def tell(*words):
    """A line of its own, whatever else is printed."""
    os.write(1, ("\n%s\n" % " ".join(words)).encode("utf-8", "backslashreplace"))


def put(key, value, **_):
    """Registers pdb, which listens once this returns: at once, or when there is the file $LISTENS_WITH."""
    if not key.startswith("RAY_PDB_CONTINUE"):
        tell("PORT", json.loads(value)["pdb_address"].rpartition(":")[2])
        while not os.path.exists(os.environ.get("LISTENS_WITH", "/")):
            threading.Event().wait(0.01)


def stand_in():
    """The modules that rpdb.py imports, in Ray 2.9.3 as well as in 2.60."""
    class Context:
        def get_actor_id(self):
            return None

        def __getattr__(self, name):
            return Any()

    ray = module("ray", get_runtime_context=Context, _raylet=Any())
    worker = types.SimpleNamespace(debugger_breakpoint=b"", ray_debugger_external=False)
    module("ray._common")
    module("ray._common.network_utils", is_ipv6=lambda _: False,
           build_address=lambda host, port: "%s:%d" % (host, port),
           get_all_interfaces_ip=lambda: "0.0.0.0", get_localhost_ip=lambda: "127.0.0.1")
    module("ray._private")
    module("ray._private.worker", global_worker=worker)
    module("ray._private.ray_constants", KV_NAMESPACE_PDB=b"ray_pdb")
    module("ray.experimental")
    module("ray.experimental.internal_kv", _internal_kv_del=lambda *_, **__: None, _internal_kv_put=put)
    module("ray.util")
    module("ray.util.annotations", DeveloperAPI=lambda function: function)
    return ray


def load_rpdb(path):
    stand_in()
    spec = importlib.util.spec_from_file_location("ray.util.rpdb", path)
    rpdb = importlib.util.module_from_spec(spec)
    sys.modules["ray.util.rpdb"] = sys.modules["ray"].util.rpdb = rpdb
    spec.loader.exec_module(rpdb)
    os.environ.update(RAY_DEBUG="legacy", PYTHONBREAKPOINT="ray.util.rpdb.set_trace", REMOTE_PDB_QUIET="1")
    return rpdb


def main_loop(function, rpdb):
    """As in a worker: what a task does ends here."""
    try:
        if os.environ.get("DEBUGGEE_CALLED"):  # as for a task that is stepped into
            rpdb.set_trace(b"00")
        tell("RESULT", repr(function()))
    except Exception as error:
        if os.environ.get("RAY_DEBUG_POST_MORTEM"):
            rpdb._post_mortem()
        tell("ERROR", "%s: %s" % (type(error).__name__, error))


def left_over(rpdb):
    """Names of what the agent has not taken away."""
    left = [name for name in vars(rpdb) if "raydbg" in name]
    left += [name for name in ("set_trace", "_post_mortem", "_connect_ray_pdb")
             if getattr(rpdb, name).__module__ != "ray.util.rpdb"]
    left += ["trace"] * bool(sys.gettrace()) + ["thread"] * any(t.name == "raydbg" for t in threading.enumerate())
    frame = sys._getframe()
    while frame:
        left += ["frame"] * bool(frame.f_trace)
        frame = frame.f_back
    return left


if __name__ == "__main__":
    faulthandler.dump_traceback_later(float(os.environ["DEBUGGEE_S"]), exit=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in what a script runs in the background
    rpdb = load_rpdb(sys.argv[1])
    main_loop.__globals__["__name__"] = "ray._private.worker"
    sys.path.insert(0, HERE)
    import debuggees
    main_loop(getattr(debuggees, sys.argv[2]), rpdb)
    for _ in range(int(100 * float(os.environ.get("LEFT_S", 60)))):
        if not left_over(rpdb):
            break
        threading.Event().wait(0.01)
    tell("LEFT", *left_over(rpdb))
