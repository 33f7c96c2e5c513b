"""The entry of `raydbg env` in the cluster's key-value store: the setup hook of a submitted job (hook_entry.c).

It runs in the process that starts the job's driver, Ray's JobSupervisor: there it gives the driver what `raydbg run` gives it
(run_hook.py). It also runs in each worker of a driver that does not get that, and starts the agent there.
"""

import json
import os
import sys
import types

SUPERVISORS_NAMESPACE = "_ray_internal_"  # the beginning; that of all that the dashboard runs
WORKER_NICENESS = "RAY_worker_niceness"  # Ray's
GCS_TIMEOUT = 2  # seconds


def setup(payload):
    """Nothing of raydbg's raises here; the job's own hook raises what it would."""
    try:
        if is_supervisor():
            prepare_driver(payload)
        else:
            start_agent(payload)
    except Exception as error:
        sys.stderr.write("raydbg: this process cannot be debugged: %s\n" % error)
    if payload.get("own"):
        run_own(payload["own"])


def is_supervisor():
    """Ray's JobManager sets WORKER_NICENESS for each JobSupervisor. Workers have it too if their job was submitted with
    --entrypoint-num-cpus and the like, or if their raylet has it. Then the GCS tells."""
    if WORKER_NICENESS not in os.environ:
        return False
    namespace = find_namespace()
    return namespace is None or namespace.startswith(SUPERVISORS_NAMESPACE)


def find_namespace():
    """The namespace of this process' job; None if the GCS does not say. Not from the runtime context: before the first task
    that has '', and Ray would give the user's code this first answer for ever. Ray before 2.38 has no such request: its
    GCS asks all drivers before it answers."""
    try:
        jobs = sys.modules["ray"]._private.worker.global_worker.gcs_client.get_all_job_info(
            job_or_submission_id=os.environ["RAY_JOB_ID"], skip_submission_job_info_field=True,
            skip_is_running_tasks_field=True, timeout=GCS_TIMEOUT)
        return str(next(iter(jobs.values())).config.ray_namespace)
    except Exception:
        return None


def load_run_hook(payload):
    module = types.ModuleType("raydbg_run")
    exec(compile(payload["run_hook"], "<raydbg hook>", "exec"), module.__dict__)
    return module


def make_archive(hook, payload):
    """run_hook.FILES, for the Python processes that this one starts."""
    return hook.make_archive({"raydbg_agent.py": payload["agent"], "raydbg_run.py": payload["run_hook"],
                              "sitecustomize.py": payload["site_hook"],
                              "run.json": json.dumps(dict(payload["config"], own=payload.get("own")))})


def start_agent(payload):
    hook = load_run_hook(payload)
    hook.start_agent(hook.pack_agent(payload["agent"]), dict(payload["config"], role="worker"))
    hook.lead_children(make_archive(hook, payload))


def prepare_driver(payload):
    hook = load_run_hook(payload)
    hook.lead_children(make_archive(hook, payload))


def run_own(name):
    import importlib

    module, _, function = name.rpartition(".")
    getattr(importlib.import_module(module), function)()
