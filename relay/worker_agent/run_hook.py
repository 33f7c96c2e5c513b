"""The part of `raydbg run` and `raydbg env` in the driver: RAY_RUNTIME_ENV_HOOK names runtime_env() here.

Ray calls it in ray.init() with the driver's own runtime_env. It starts the driver's agent, and adds a
worker_process_setup_hook that starts the agent in each worker and then runs the user's own hook.

The hook travels by value, through Ray's own export of functions to the cluster's key-value store: the workers need
nothing of raydbg installed. The runtime_env, which dashboards and logs show, has only the key of that entry in it.
`raydbg env` has put such an entry into the store itself, and its name into the job's runtime_env.
"""

import base64
import importlib
import json
import marshal
import os
import sys
import types
from importlib.util import MAGIC_NUMBER

HOOK_VARIABLE = "__RAY_WORKER_PROCESS_SETUP_HOOK_ENV_VAR"  # Ray's own; a worker reads the name of its hook there
ENTRY_NAME = "ray_runtime_env_func::"  # Ray's; the key of an entry in the store follows, in base64
ENTRY_KEY = b"RaydbgSetupHook:"  # hook_entry.h
FILES = ("raydbg_agent.py", "raydbg_run.py", "sitecustomize.py", "run.json")  # agent_files.c
UV_MARK = "RAYDBG_UV_RUN"  # Ray's own support for `uv run`, which allows no other hook, was on, and is off (agent_files.h)


def read_text(name):
    """A file beside this one: in a directory, or in the archive that a JobSupervisor has made."""
    return __loader__.get_data(os.path.join(os.path.dirname(__file__), name)).decode()


def pack_agent(source):
    """The agent's code, for Pythons of this version: the workers need not compile it. A definition at a time, as the compiler takes
    memory for the largest text that it gets, and keeps that."""
    codes, line = [], 0
    for definition in source.split("\n\n\n"):
        codes.append(compile("\n" * line + definition, "<raydbg agent>", "exec"))
        line += definition.count("\n") + 3
    return MAGIC_NUMBER + marshal.dumps(codes)


def start_agent(packed, config):
    """Runs in the driver and, by value, in each worker."""
    import marshal
    import sys
    import types
    from importlib.util import MAGIC_NUMBER

    try:
        if "raydbg_agent" not in sys.modules:
            if not packed.startswith(MAGIC_NUMBER):
                raise ImportError("its Python, %s, is of another version than the driver's" % sys.version.split()[0])
            module = types.ModuleType("raydbg_agent")
            for code in marshal.loads(packed[len(MAGIC_NUMBER):]):
                exec(code, module.__dict__)
            sys.modules["raydbg_agent"] = module
        sys.modules["raydbg_agent"].start(config)
    except Exception as error:
        sys.stderr.write("raydbg: this process cannot be debugged: %s\n" % error)


def make_archive(files):
    """A zip file, from which Python imports."""
    import io
    import zipfile  # here: a driver imports this module before its first line

    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def lead_children(archive):
    """Python processes that this one starts import FILES from this archive, and so have an agent; by value, too. It is in memory:
    no other user can open it, and it is gone with this process, however that ends."""
    import os
    import sys

    try:
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("raydbg")
        else:  # a Python that was built for glibc before 2.27, as conda's are
            import ctypes

            fd = ctypes.CDLL(None).memfd_create(b"raydbg", 1)  # MFD_CLOEXEC
        with open(fd, "wb", closefd=False) as file:
            file.write(archive)
        # Without the directory of `raydbg run`, which a cluster has that the driver started.
        others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)
                  if path and not os.path.exists(os.path.join(path, "raydbg_run.py"))]
        os.environ["PYTHONPATH"] = os.pathsep.join(["/proc/%d/fd/%d" % (os.getpid(), fd), *others])
    except Exception as error:
        sys.stderr.write("raydbg: the processes that this one starts cannot be debugged: %s\n" % error)


def by_value(function):
    """Pickled with its code: the workers cannot import this module."""
    return types.FunctionType(function.__code__, {"__builtins__": __builtins__, "__name__": "__main__"},
                              function.__name__, function.__defaults__, function.__closure__)


def make_setup_hook(packed, archive, config, own):
    """The setup hook of the workers; `own` is the user's: None, a callable, or "module.function"."""
    start, lead = by_value(start_agent), by_value(lead_children)

    def raydbg_setup_hook():
        start(packed, config)
        lead(archive)
        if isinstance(own, str):
            import importlib

            module, _, name = own.rpartition(".")
            getattr(importlib.import_module(module), name)()
        elif own is not None:
            own()

    return by_value(raydbg_setup_hook)


def load(name):
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


def names_entry(env):
    """True if `raydbg env` has given the job its setup hook."""
    name = (env.get("env_vars") or {}).get(HOOK_VARIABLE, "")
    try:
        return name.startswith(ENTRY_NAME) and base64.b64decode(name[len(ENTRY_NAME):]).startswith(ENTRY_KEY)
    except ValueError:
        return False


def find_uv_hook():
    """Ray's hook for a driver of `uv run`, if this is one: it gives the driver's environment to the workers."""
    constants = sys.modules.get("ray._private.ray_constants")
    if UV_MARK not in os.environ or not hasattr(constants, "RAY_ENABLE_UV_RUN_RUNTIME_ENV"):
        return None
    of_ray = importlib.import_module("ray._private.runtime_env.uv_runtime_env_hook")
    return of_ray.hook if of_ray._get_uv_run_cmdline() else None


def without_raydbg(given):
    """The runtime_env that the job would have without raydbg."""
    uv, own = find_uv_hook(), os.environ.get("RAYDBG_NEXT_RUNTIME_ENV_HOOK")
    if uv is not None:
        return uv(given)
    return load(own)(given) if own else given


def runtime_env(given):
    """Ray's runtime_env hook: returns the runtime_env that the job gets."""
    given = without_raydbg(given)
    try:
        files = {name: read_text(name) for name in FILES}
    except OSError as error:
        sys.stderr.write("raydbg: this job's tasks cannot be debugged: %s\n" % error)
        return given
    env, config = {} if given is None else given, json.loads(files["run.json"])
    packed = pack_agent(files["raydbg_agent.py"])
    start_agent(packed, dict(config, role="driver"))
    directory = str(env.get("working_dir") or "")
    root = os.path.realpath(directory) if directory and "://" not in directory else config.get("root")
    own = env.get("worker_process_setup_hook")
    if names_entry(env):
        if own is not None and config.get("own"):
            return env  # with a hook of the job's and another of the driver's, Ray says that they conflict
        own = own or config.get("own")
        del env["env_vars"][HOOK_VARIABLE]  # this driver's hook has the agent's code ready
    config.update(role="worker", root=root)
    files["run.json"] = json.dumps(config)
    env["worker_process_setup_hook"] = make_setup_hook(packed, make_archive(files), config, own)
    return env
