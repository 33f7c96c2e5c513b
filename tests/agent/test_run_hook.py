"""The driver's part of `raydbg run` (relay/worker_agent/run_hook.py): the runtime_env hook, and the setup hook that it makes, run as
a worker does. tests/integration/test_run.py has Ray."""

import importlib.util
import json
import marshal
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from agent_process import KEY_ID
from conftest import find_python
from ray import cloudpickle
from ray._private import ray_constants
from ray.job_config import JobConfig
from ray.runtime_env import RuntimeEnv
from waits import limit

ROOM = Path(__file__).resolve().parents[2] / "relay/worker_agent"


def load_hook(directory):
    for name, source in (("raydbg_agent.py", "agent.py"), ("raydbg_run.py", "run_hook.py"), ("sitecustomize.py", "site_hook.py")):
        (directory / name).write_text((ROOM / source).read_text())
    (directory / "run.json").write_text(json.dumps({"host": "127.0.0.1", "port": 1, "key_id": KEY_ID, "key": "0" * 64}))
    spec = importlib.util.spec_from_file_location("raydbg_run", directory / "raydbg_run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def hook(tmp_path, monkeypatch):
    """The driver's hook, as a module that only this process can import; `started` has the driver's agent."""
    started = []
    monkeypatch.setitem(sys.modules, "raydbg_agent", types.SimpleNamespace(start=started.append))
    (tmp_path / "driver").mkdir()
    module = load_hook(tmp_path / "driver")
    monkeypatch.setitem(sys.modules, "raydbg_run", module)  # so that it could be pickled by reference
    module.started = started
    module.take_over()
    yield module
    module.give_back()


def run_in_worker(setup, path, then=""):
    """Runs a setup hook as a worker does, in a process that has nothing of raydbg, then this code; what it prints."""
    (path / "hook.pickle").write_bytes(cloudpickle.dumps(setup))
    code = "import pickle, sys; pickle.load(open('hook.pickle', 'rb'))(); print('agent', 'raydbg_agent' in sys.modules)\n" + then
    done = subprocess.run([sys.executable, "-c", code], cwd=path, env={**os.environ, "PYTHONPATH": str(path)}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit())
    return done.stdout.split("\n")


def by_callable():
    print("the user's own")


@pytest.mark.parametrize("own", ["none", "callable", "name"])
def test_the_setup_hook_runs_the_users_own_after_it(hook, tmp_path, own):
    (tmp_path / "users.py").write_text("def hook():\n    print('the user\\'s own')\n")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    given = {"env_vars": {"A": "1"}}
    given.update({"callable": {"worker_process_setup_hook": by_callable},
                  "name": {"worker_process_setup_hook": "users.hook"}}.get(own, {}))
    try:
        env = hook.runtime_env(given)
        told = run_in_worker(env["worker_process_setup_hook"], tmp_path)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert env["env_vars"] == {"A": "1"} and [config["role"] for config in hook.started] == ["driver"]
    assert told == [*(["the user's own"] if own != "none" else []), "agent True", ""]


def test_processes_that_a_worker_starts_have_an_agent(hook, tmp_path):
    """Also on a node that has nothing of the run's directory."""
    (tmp_path / "child.py").write_text("import sys\nprint('child', 'raydbg_agent' in sys.modules)\n")
    setup = hook.runtime_env(None)["worker_process_setup_hook"]
    shutil.rmtree(tmp_path / "driver")
    told = run_in_worker(setup, tmp_path, "import subprocess; sys.stdout.flush(); subprocess.run([sys.executable, 'child.py'])")
    assert told == ["agent True", "child True", ""]


def test_a_worker_with_another_python_says_so(hook, tmp_path):
    """marshal's format is its Python's own: another's may crash the process."""
    setup = hook.make_setup_hook(b"code of another Python", hook.make_archive({}), {}, None)
    python = sys.version.split()[0]
    assert run_in_worker(setup, tmp_path) == [
        f"raydbg: this process cannot be debugged: its Python, {python}, is of another version than the driver's", "agent False", ""]


def test_the_agents_code_has_the_lines_of_its_source(hook):
    source = (ROOM / "agent.py").read_text()
    codes = marshal.loads(hook.pack_agent(source)[len(hook.MAGIC_NUMBER):])
    lines = {code.co_name: code.co_firstlineno for part in codes for code in part.co_consts if isinstance(code, types.CodeType)}
    assert source.split("\n")[lines["Agent"] - 1] == "class Agent:"
    assert source.split("\n")[lines["start"] - 1] == "def start(config):"


def test_no_secret_is_in_the_runtime_env(hook):
    env = hook.runtime_env(None)
    assert list(env) == ["worker_process_setup_hook"] and "0" * 64 not in repr(env)


def test_the_users_hook_fails_as_it_would(hook, tmp_path):
    (tmp_path / "users.py").write_text("def hook():\n    raise ValueError('the user\\'s')\n")
    env = hook.runtime_env({"worker_process_setup_hook": "users.hook"})
    assert "ValueError: the user's" in run_in_worker(env["worker_process_setup_hook"], tmp_path)


def test_the_users_runtime_env_hook_runs_before(hook, monkeypatch):
    monkeypatch.setenv("RAY_RUNTIME_ENV_HOOK", f"{__name__}.next_hook")
    assert hook.runtime_env({"a": 1})["b"] == 2
    hook.give_back()  # as for raydbg_bridge.init(): Ray calls it
    assert "b" not in hook.runtime_env({"a": 1})


def test_what_the_user_gives_is_not_changed(hook):
    """ray.init() may get it again, where a hook of raydbg's that it has already would conflict with the new one."""
    given = RuntimeEnv(env_vars={"A": "1"})
    env = hook.runtime_env(given)
    env["env_vars"]["B"] = "2"  # as Ray does
    assert given == RuntimeEnv(env_vars={"A": "1"}) and type(env) is RuntimeEnv


@pytest.mark.parametrize("given, expected", [(None, {"A": "1"}), ({}, {"A": "1"}), ({"env_vars": {"B": "2"}}, {"B": "2"})])
def test_what_a_job_config_has_stays(hook, given, expected):
    """Ray leaves it as it is where ray.init() has no runtime_env, and its hook returns none."""
    def init(job_config):
        return hook.runtime_env(given)

    in_ray = types.FunctionType(init.__code__, {"__name__": "ray._private.worker"}, "init", None, init.__closure__)
    config = JobConfig(runtime_env={"env_vars": {"A": "1"}})
    env = in_ray(config)
    assert env["env_vars"] == expected and "worker_process_setup_hook" in env and config.runtime_env == {"env_vars": {"A": "1"}}


def test_only_this_process_calls_the_hook(hook):
    """Another that inherits the environment could not import it."""
    assert "RAY_RUNTIME_ENV_HOOK" not in os.environ
    assert os.environ[ray_constants.RAY_RUNTIME_ENV_HOOK] == "raydbg_run.runtime_env"
    hook.give_back()
    assert ray_constants.RAY_RUNTIME_ENV_HOOK == "RAY_RUNTIME_ENV_HOOK" and "RAYDBG_RUNTIME_ENV_HOOK" not in os.environ


def next_hook(given):
    return {**given, "b": 2}


@pytest.fixture
def uv(monkeypatch):
    """This driver is one of `uv run`, of which Ray's own hook sees only the command line."""
    from ray._private.runtime_env import uv_runtime_env_hook
    line = ["uv", "run", "--no-project", "--python", "3.11", "python", "train.py"]
    monkeypatch.setattr(uv_runtime_env_hook, "_get_uv_run_cmdline", lambda: list(line))
    monkeypatch.setenv("RAY_RUNTIME_ENV_HOOK", f"{__name__}.next_hook")


def test_a_driver_of_uv_run_gets_rays_hook_for_it_as_well(hook, uv, monkeypatch, tmp_path):
    monkeypatch.setattr(ray_constants, "RAYDBG_UV_RUN", True, raising=False)
    monkeypatch.chdir(tmp_path)
    env = hook.runtime_env({"env_vars": {"A": "1"}})
    assert callable(env.pop("worker_process_setup_hook"))
    assert env == {"env_vars": {"A": "1"}, "py_executable": "uv run --no-project --python 3.11 python",
                   "working_dir": str(tmp_path)}


def test_rays_support_for_uv_run_that_is_off_stays_off(hook, uv, monkeypatch):
    monkeypatch.delattr(ray_constants, "RAYDBG_UV_RUN", raising=False)
    env = hook.runtime_env({"env_vars": {"A": "1"}})
    assert env.pop("b") == 2 and "py_executable" not in env


def test_a_run_that_has_ended_leaves_the_job_alone(hook, tmp_path):
    (tmp_path / "driver/run.json").unlink()
    assert hook.runtime_env({"a": 1}) == {"a": 1}


# An agent whose other thread imports, as pydevd's do, while the process is held.
IMPORTS = """
import threading
def start(config):
    if not config.get("only_forks"):
        importing = threading.Thread(target=lambda: list(map(__import__, ("linecache", "json", "threading"))), daemon=True)
        importing.start()
        importing.join(5)
        print("held by an import" if importing.is_alive() else "free", flush=True)
"""
SPAWNS = "import multiprocessing\nchild = multiprocessing.get_context('spawn').Process(target=print, args=('spawned',))\nchild.start()\nchild.join()"


@pytest.fixture
def run_python(tmp_path):
    """run_python(version, argument…): what this Python prints where the run's directory is in PYTHONPATH."""
    directory = tmp_path / "driver"
    directory.mkdir()
    load_hook(directory)
    (directory / "raydbg_agent.py").write_text(IMPORTS)

    def run(version, *arguments, program=""):
        done = subprocess.run([find_python(version), *arguments], input=program, env={**os.environ, "PYTHONPATH": str(directory)}, text=True,
                              cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit())
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("version", ["3.9", "3.11", "3.13"])
def test_the_agent_starts_while_nothing_is_imported(run_python, tmp_path, version):
    """Else its threads would wait for the lock of a module, for as long as the process is held."""
    (tmp_path / "program.py").write_text("print(1)")
    assert run_python(version, "program.py") == ["free", "1"]
    assert run_python(version, "-m", "program") == ["free", "1"]
    assert run_python(version, "-c", "print(1)") == ["free", "1"]
    assert run_python(version, "-", program="import json\nprint(1)") == ["free", "1"]
    assert run_python(version, program="import threading\nprint(1)") == ["free", "1"]
    assert run_python(version, "-c", SPAWNS) == ["free", "free", "spawned"]


def test_only_rays_own_programs_have_no_agent(run_python, tmp_path):
    """/home/ray is the home of Ray's container images."""
    for name in ("home/ray/core/train.py", "home/ray/dashboard/train.py", "site-packages/ray/dashboard/agent.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("print(1)")
    (tmp_path / "site-packages/ray/_private").mkdir()
    (tmp_path / "site-packages/ray/_private/ray_constants.py").touch()
    assert run_python("3.11", "home/ray/core/train.py") == run_python("3.11", "home/ray/dashboard/train.py") == ["free", "1"]
    assert run_python("3.11", "site-packages/ray/dashboard/agent.py") == ["1"]
