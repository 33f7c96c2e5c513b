"""The part of `raydbg run` and `raydbg env` in the driver: Ray's hook for runtime_envs.

Ray calls runtime_env() in ray.init() with the driver's own runtime_env. It starts the driver's agent, and adds a
worker_process_setup_hook that starts the agent in each worker and then runs the user's own hook. Ray reads the name of its hook
in RAY_RUNTIME_ENV_HOOK, which processes inherit that cannot import this module: take_over() has it read another variable.

The hook travels by value, through Ray's own export of functions to the cluster's key-value store: the workers need
nothing of raydbg installed. The runtime_env, which dashboards and logs show, has only the key of that entry in it.
`raydbg env` has put such an entry into the store itself, and its name into the job's runtime_env.
"""

import base64
import copy
import importlib
import importlib.machinery
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
CONSTANTS = "ray._private.ray_constants"
RUNTIME_ENV_HOOK, OUR_RUNTIME_ENV_HOOK = "RAY_RUNTIME_ENV_HOOK", "RAYDBG_RUNTIME_ENV_HOOK"  # Ray's variable, and in its place
UV_SUPPORT, UV_MARK = "RAY_ENABLE_UV_RUN_RUNTIME_ENV", "RAYDBG_UV_RUN"  # among Ray's constants: see take_over()


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


class RayConstants:
    """A finder for the module of Ray's constants, in which Ray looks for the hook: see take_over()."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name == CONSTANTS else None
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            set_hook(module)

        spec.loader.exec_module = exec_module
        return spec


def set_hook(constants):
    """For a driver of `uv run` Ray (since 2.44) calls a hook of its own and no other, unless UV_SUPPORT is off: without_raydbg()
    calls that one where UV_MARK says that it was on."""
    os.environ[OUR_RUNTIME_ENV_HOOK] = "raydbg_run.runtime_env"
    constants.RAY_RUNTIME_ENV_HOOK = OUR_RUNTIME_ENV_HOOK
    if getattr(constants, UV_SUPPORT, False):
        setattr(constants, UV_SUPPORT, False)
        setattr(constants, UV_MARK, True)


def is_taken_over():
    return getattr(sys.modules.get(CONSTANTS), RUNTIME_ENV_HOOK, None) == OUR_RUNTIME_ENV_HOOK


def take_over():
    """Has Ray call runtime_env() in this process, in which it may not be imported yet."""
    if CONSTANTS in sys.modules:
        set_hook(sys.modules[CONSTANTS])
    else:
        sys.meta_path.insert(0, RayConstants)


def give_back():
    """Has Ray call the hook again that it would call without raydbg."""
    sys.meta_path = [finder for finder in sys.meta_path if finder is not RayConstants]
    os.environ.pop(OUR_RUNTIME_ENV_HOOK, None)
    constants = sys.modules.get(CONSTANTS)
    if constants is not None:
        constants.RAY_RUNTIME_ENV_HOOK = RUNTIME_ENV_HOOK
        if hasattr(constants, UV_MARK):
            setattr(constants, UV_SUPPORT, True)
            delattr(constants, UV_MARK)


def find_uv_hook():
    """Ray's hook for a driver of `uv run`, if this is one: it gives the driver's environment to the workers."""
    if not getattr(sys.modules.get(CONSTANTS), UV_MARK, False):
        return None
    of_ray = importlib.import_module("ray._private.runtime_env.uv_runtime_env_hook")
    return of_ray.hook if of_ray._get_uv_run_cmdline() else None


def without_raydbg(given):
    """The runtime_env that the job would have without raydbg."""
    uv, own = find_uv_hook(), os.environ.get(RUNTIME_ENV_HOOK)
    if not is_taken_over():
        own = None  # Ray calls it
    if uv is not None:
        given = uv(given)
    elif own:
        given = load(own)(given)
    return given or of_job_config()


def of_job_config():
    """The runtime_env that ray.init() has in its job_config, which Ray keeps as it is if it gets none from its hook."""
    frame = sys._getframe()
    while frame is not None and (frame.f_code.co_name, frame.f_globals.get("__name__")) != ("init", "ray._private.worker"):
        frame = frame.f_back
    return getattr(frame.f_locals.get("job_config"), "runtime_env", None) if frame is not None else None


def copy_of(given):
    """The user's own is not changed: a later ray.init() may get it, too."""
    env = {} if given is None else copy.copy(given)
    if env.get("env_vars"):
        env["env_vars"] = dict(env["env_vars"])
    return env


def runtime_env(given):
    """Ray's runtime_env hook: returns the runtime_env that the job gets."""
    given = without_raydbg(given)
    try:
        files = {name: read_text(name) for name in FILES}
    except OSError as error:
        sys.stderr.write("raydbg: this job's tasks cannot be debugged: %s\n" % error)
        return given
    env, config = copy_of(given), json.loads(files["run.json"])
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
