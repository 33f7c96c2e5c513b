"""Starts the driver's agent before the program's first line: in the directory of `raydbg run`, which is in PYTHONPATH, this is
sitecustomize.py, which Python imports at its start. A sitecustomize of the user's is executed after it.

The agent starts when Python looks for the program's file, or, with -m, for the first module, or, for a program of -c or of stdin,
at its first line: not in `site` itself, whose import pydevd would wait for. Processes that the program starts with its environment get
an agent in the same way, but not those of Ray: its workers have one from their setup hook. Nothing here raises into the program.
"""

import _imp
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RAY_PATHS = ("/_private/", "/dashboard/", "/autoscaler/", "/core/", "/util/client/")
OTHERS_MODULES = ("ray", "pip", "venv", "virtualenv", "ensurepip")
TRACKER, FORK_SERVER = "from multiprocessing.resource_tracker", "from multiprocessing.forkserver"  # with -c


def find_operand():
    """What is behind -m or -c in the command line, which may also be -um; "" if it is not found."""
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().decode("utf-8", "replace").split("\0")
    options = [at for at, word in enumerate(words) if word[:1] == "-" and word[1:2] != "-" and word[-1] == sys.argv[0][-1]]
    return words[options[0] + 1] if options else ""


def is_rays(path):
    """True for a program of Ray's own; /home/ray is also the home of Ray's container images."""
    roots = [path[:path.rindex("/ray" + one)] + "/ray" for one in RAY_PATHS if "/ray" + one in path]
    return any(os.path.exists(root + "/_private/ray_constants.py") for root in roots)


def agents_role():
    """Of the agent here: "driver" in a process of the user's, "fork server" where only its children are; else None."""
    program = sys.argv[0]
    if program == "-m":
        return None if find_operand().split(".")[0] in OTHERS_MODULES else "driver"
    if program == "-c":
        operand = find_operand()
        return None if operand.startswith(TRACKER) else "fork server" if operand.startswith(FORK_SERVER) else "driver"
    path = os.path.realpath(program)
    return None if os.path.basename(path) in ("ray", "pip") or is_rays(path) else "driver"


def start_agent():
    try:
        role = agents_role()
        if role:
            import json

            import raydbg_run

            config = dict(json.loads(raydbg_run.read_text("run.json")), role="driver")
            config["only_forks"] = role == "fork server"
            raydbg_run.start_agent(raydbg_run.pack_agent(raydbg_run.read_text("raydbg_agent.py")), config)
    except Exception as error:  # the run may be over, and its directory gone
        if os.environ.get("RAYDBG_LOG"):
            sys.stderr.write("raydbg: no agent here: %s\n" % error)


def may_start():
    """True once, when `site` has been imported."""
    global waiting
    in_site = getattr(getattr(sys.modules.get("site"), "__spec__", None), "_initializing", False)
    if not waiting or in_site:
        return False
    waiting = False
    sys.meta_path = [finder for finder in sys.meta_path if finder is not FirstImport]  # which may be iterated over just now
    return True


def on_new_path(path):
    """A path hook: Python asks it about the program's file. It stays, as Python counts the hooks before it asks them."""
    if not _imp.lock_held() and may_start():  # an import has the lock, which debugpy's import would wait for
        start_agent()
    raise ImportError(path)


def on_first_frame(frame, event, arg):
    """A profile function: Python calls it where a program of -c or of stdin begins. Its first import, or one of Python's own before
    it, has the lock of a module, which debugpy may import, too."""
    if event == "call" and frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__":
        sys.setprofile(None)
        if may_start():
            start_agent()


class FirstImport:
    """A finder: Python asks it about the first module that is not there yet. A finder has the import lock, a loader does not."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not may_start():
            return None
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = FirstLoader(spec.loader)
        return spec


class FirstLoader:
    """Loads a module as `loader` does, behind the agent's start."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        start_agent()
        self.loader.exec_module(module)


class Ray:
    """A finder that learns of Ray's import. In a driver it has Ray call the hook of raydbg_run. With Ray Client (ray://) Ray calls
    none, so the tasks have no agent."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "ray._private.ray_constants":
            try:
                if agents_role():
                    import raydbg_run

                    return raydbg_run.RayConstants.find_spec(name, path, target)
            except Exception:  # the run may be over
                return None
        if name == "ray.util.client.worker":  # imported when a connection is made
            sys.meta_path = [finder for finder in sys.meta_path if finder is not Ray]
            if "raydbg_run" in sys.modules:
                sys.modules["raydbg_run"].give_back()
            if "raydbg_agent" in sys.modules:
                sys.stderr.write("raydbg: the tasks of this program do not stop: Ray Client (ray://) passes nothing of raydbg run "
                                 "on to them; docs/run.md, Ray Client, has what does\n")
        return None


def execute_next():
    """The sitecustomize that this one hides."""
    import importlib.machinery
    import importlib.util

    directories = [directory for directory in sys.path if os.path.abspath(directory) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", directories)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


waiting = sys.version_info >= (3, 9)
sys.meta_path.insert(0, Ray)
if waiting:
    sys.path_hooks.insert(0, on_new_path)
    sys.meta_path.insert(0, FirstImport)
execute_next()
if waiting and sys.argv[:1] in (["-c"], ["-"], [""]) and sys.getprofile() is None:
    sys.meta_path = [finder for finder in sys.meta_path if finder is not FirstImport]
    sys.setprofile(on_first_frame)
