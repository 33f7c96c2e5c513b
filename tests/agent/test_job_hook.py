"""The setup hook of submitted jobs (relay/worker_agent/job_hook.py), in processes that have no Ray, only its environment
variables and an answer of the GCS. tests/integration/test_env.py has real jobs."""

import base64
import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import find_python
from waits import limit

ROOM = Path(__file__).resolve().parents[2] / "relay/worker_agent"
VARIABLE = "__RAY_WORKER_PROCESS_SETUP_HOOK_ENV_VAR"
ENTRY = "ray_runtime_env_func::" + base64.b64encode(b"RaydbgSetupHook:" + b"0" * 32).decode()
CONFIG = {"host": "127.0.0.1", "port": 1, "key_id": "0" * 32, "key": "1" * 64}
# What Ray has before a worker's first task: a job id, and no job config.
SETUP = """
import json, os, sys, types
namespace, source, payload = json.load(open("hook.json"))
asked = []

class RuntimeContext:
    @property
    def namespace(self):
        raise SystemExit("Ray keeps the namespace that it has now, which is none")

def get_all_job_info(*, job_or_submission_id, skip_submission_job_info_field, skip_is_running_tasks_field, timeout):
    asked.append(job_or_submission_id)
    if namespace is None:
        raise TypeError("get_all_job_info() got an unexpected keyword argument")
    config = types.SimpleNamespace(ray_namespace=namespace)
    return {job_or_submission_id: types.SimpleNamespace(config=config)}

client = types.SimpleNamespace(get_all_job_info=get_all_job_info)
worker = types.SimpleNamespace(global_worker=types.SimpleNamespace(gcs_client=client))
sys.modules["ray"] = types.SimpleNamespace(get_runtime_context=RuntimeContext, _private=types.SimpleNamespace(worker=worker))
hook = {"__name__": "raydbg_job_hook"}
exec(compile(source, "<raydbg hook>", "exec"), hook)
hook["setup"](payload)
"""
DASHBOARDS = "_ray_internal_dashboard"
WORKER = {"RAY_JOB_ID": "02000000"}
SUPERVISOR = {"RAY_JOB_ID": "01000000", "RAY_worker_niceness": "0"}
AGENT = "told = []\ndef start(config):\n    told or print('agent', config['role'], config['port'])\n    told.append(config)\n"
CONSTANTS = """
import os
RAY_RUNTIME_ENV_HOOK = "RAY_RUNTIME_ENV_HOOK"
RAY_ENABLE_UV_RUN_RUNTIME_ENV = os.environ.get("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0").lower() in ("1", "true")
"""
# What Ray does in ray.init(), with the runtime_env that it has merged.
DRIVER = """
import importlib, json, os, sys
import ray._private.ray_constants as ray_constants
env = json.loads(sys.argv[1])
if len(sys.argv) > 2:
    env["worker_process_setup_hook"] = sys.argv[2]
if ray_constants.RAY_RUNTIME_ENV_HOOK in os.environ:
    module, _, name = os.environ[ray_constants.RAY_RUNTIME_ENV_HOOK].rpartition(".")
    env = getattr(importlib.import_module(module), name)(env)
hook = env.get("worker_process_setup_hook")
print(json.dumps([env.get("env_vars"), hook if hook is None or isinstance(hook, str) else "callable"]), flush=True)
if "CALL" in os.environ:
    hook()
"""


@pytest.fixture(params=["3.9", "3.11", "3.13"])
def run(request, tmp_path):
    """run(env, code): the output of a process with these variables in which the hook runs, then this code. `namespace` is
    what the GCS knows of its job."""
    python = find_python(request.param)
    (tmp_path / "users.py").write_text("def hook():\n    print('own')\n\n\ndef fail():\n    raise ValueError('own')\n\n\n"
                                       "def environment(given):\n    print('environment')\n    return dict(given, pip=[])\n")

    def run_code(env, code="", own=None, agent=AGENT, namespace=DASHBOARDS):
        payload = {"agent": agent, "run_hook": (ROOM / "run_hook.py").read_text(),
                   "site_hook": (ROOM / "site_hook.py").read_text(), "config": CONFIG}
        payload.update({"own": own} if own else {})
        (tmp_path / "hook.json").write_text(json.dumps([namespace, (ROOM / "job_hook.py").read_text(), payload]))
        (tmp_path / "driver.py").write_text(DRIVER)
        (tmp_path / "ray/_private").mkdir(parents=True, exist_ok=True)
        for name, text in (("__init__.py", ""), ("_private/__init__.py", ""), ("_private/ray_constants.py", CONSTANTS)):
            (tmp_path / "ray" / name).write_text(text)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY", "PYTHON"))}
        done = subprocess.run([python, "-uc", SETUP + code], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit(), env={**clean, "PYTHONPATH": str(tmp_path), **env})
        return done.stdout.splitlines()
    return run_code


def driver(*arguments):
    """Code that starts the driver, as Ray's JobSupervisor does."""
    return f"\nimport subprocess\nsubprocess.run([sys.executable, 'driver.py', *{list(arguments)!r}], env=os.environ.copy())"


ENV = json.dumps({"env_vars": {"A": "1", VARIABLE: ENTRY}})


def test_a_worker_gets_an_agent_and_its_own_hook(run):
    assert run(WORKER, own="users.hook") == ["agent worker 1", "own"]


@pytest.mark.parametrize("env, namespace, said", [
    (WORKER, "the job's", ["agent worker 1", "False []"]),
    (SUPERVISOR, DASHBOARDS, ["True ['01000000']"]),
    # A worker of a job with --entrypoint-num-cpus, or of a node whose raylet has this variable.
    (dict(WORKER, RAY_worker_niceness="0"), "the job's", ["agent worker 1", "False ['02000000']"]),
    # Ray before 2.38, and a GCS that does not answer.
    (SUPERVISOR, None, ["True ['01000000']"]),
])
def test_a_supervisor_is_known_before_its_first_task(run, env, namespace, said):
    code = "print('raydbg_agent' not in sys.modules, asked)"
    assert run(env, code, namespace=namespace) == said


@pytest.mark.parametrize("before", ["", "import os\nvars(os).pop('memfd_create', None)\n"], ids=["", "for an older glibc"])
def test_processes_that_a_worker_starts_have_an_agent(run, before):
    code = "import subprocess\nopen('child.py', 'w').write('print(1)')\nsubprocess.run([sys.executable, 'child.py'])"
    assert run(WORKER, code, agent=before + AGENT) == ["agent worker 1", "agent driver 1", "1"]


def test_an_agent_that_fails_is_not_the_jobs_failure(run):
    said = run(WORKER, own="users.hook", agent="raise ValueError('the agent')")
    assert said == ["raydbg: this process cannot be debugged: the agent", "own"]


def test_the_jobs_own_hook_fails_as_it_would(run):
    assert run(WORKER, own="users.fail")[-1] == "ValueError: own"


def test_the_driver_has_an_agent_before_its_first_line(run):
    code = driver(ENV).replace("driver.py", "early.py").replace("import subprocess", "import subprocess\nopen('early.py', 'w').write('print(1)')")
    assert run(SUPERVISOR, code) == ["agent driver 1", "1"]


def test_the_drivers_workers_get_its_own_hook(run):
    """They need not compile the agent, as those do that get the entry."""
    assert run(SUPERVISOR, driver(ENV)) == ["agent driver 1", json.dumps([{"A": "1"}, "callable"])]


def test_the_jobs_own_hook_is_chained(run):
    said = run(dict(SUPERVISOR, CALL="1"), driver(ENV), own="users.hook")
    assert said == ["own", "agent driver 1", json.dumps([{"A": "1"}, "callable"]), "own"]


def test_the_drivers_own_hook_is_chained(run):
    assert run(SUPERVISOR, driver(ENV, "users.hook")) == ["agent driver 1", json.dumps([{"A": "1"}, "callable"])]


def test_two_hooks_of_the_users_conflict_as_in_ray(run):
    said = run(SUPERVISOR, driver(ENV, "users.hook"), own="users.hook")
    assert said == ["own", "agent driver 1", json.dumps([{"A": "1", VARIABLE: ENTRY}, "users.hook"])]


def test_a_hook_of_another_is_left_to_ray(run):
    """A driver that has an entry of its own in the variable."""
    foreign = json.dumps({"env_vars": {VARIABLE: "ray_runtime_env_func::RmluY3Rpb25z"}})
    assert json.loads(run(SUPERVISOR, driver(foreign))[1]) == [json.loads(foreign)["env_vars"], "callable"]


def test_the_clusters_runtime_env_hook_runs_before(run):
    foreign = json.dumps({"env_vars": {}})
    assert run(dict(SUPERVISOR, RAY_RUNTIME_ENV_HOOK="users.environment"), driver(foreign)) == [
        "agent driver 1", "environment", json.dumps([{}, "callable"])]


def test_a_process_that_does_not_get_the_hook_has_none(run):
    """A driver that is started with a PYTHONPATH of its own: a name that it cannot import would end its ray.init()."""
    code = driver(ENV).replace("os.environ.copy()", "{**os.environ, 'PYTHONPATH': ''}")
    assert run(SUPERVISOR, code) == [json.dumps([{"A": "1", VARIABLE: ENTRY}, None])]


@pytest.mark.parametrize("given, expected", [({"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "1"}, "False True"),
                                             ({"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}, "False None")])
def test_rays_own_support_for_uv_run_does_not_replace_the_hook(run, tmp_path, given, expected):
    code = "import ray._private.ray_constants as c; print(c.RAY_ENABLE_UV_RUN_RUNTIME_ENV, getattr(c, 'RAYDBG_UV_RUN', None))"
    (tmp_path / "uv.py").write_text(code)
    assert run({**SUPERVISOR, **given}, driver(ENV).replace("driver.py", "uv.py"))[-1] == expected


def test_the_key_is_in_no_environment_and_gone_with_the_process(run):
    said = run(SUPERVISOR, "\nprint(json.dumps(dict(os.environ)))")
    environment = json.loads(said[0])
    assert CONFIG["key"] not in said[0]
    path = environment["PYTHONPATH"].split(":")[0]
    assert path.startswith("/proc/") and not os.path.exists(path)
