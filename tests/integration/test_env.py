"""`raydbg env` on a real two-node Ray: jobs that are submitted with its runtime_env stop at breakpoints by file."""

import json
import re
import shutil
import time

import pytest
import yaml
from cluster import PROGRAMS, Driver, line_of, wait_for
from test_run import NAMES, UNEDITED, breaks, next_stop, stops_of
from waits import limit

SUBMITTED = PROGRAMS / "submitted.py"
KINDS = ("task", "own_env", "actor", "process", "driver")
DASHBOARD = "http://127.0.0.1:8265"


class Jobs:
    """Submits jobs, with a relay of their own home."""

    def __init__(self, cluster, relay):
        self.cluster, self.relay = cluster, relay
        self.env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"],
                    "RAYDBG_RELAY": "%s:%d" % relay.address}

    def runtime_env(self, *arguments):
        done = self.cluster.raydbg("env", *arguments, env=self.env)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done.stdout.strip()

    def submit(self, runtime_env, *command, options=(), before=()):
        """`before` is what the entrypoint has before the interpreter."""
        log = self.cluster.directory / f"job-{time.monotonic_ns()}.log"
        with log.open("wb") as output:
            process = self.cluster.popen(
                [self.cluster.venv / "bin/ray", "job", "submit", "--address", DASHBOARD, "--runtime-env-json", runtime_env,
                 *options, "--", *before, self.cluster.venv / "bin/python", "-u", *command],
                env={"RAY_ADDRESS": None}, stdout=output, stderr=output)
        driver = Driver(process, log)
        self.cluster.drivers.append(driver)
        return driver

    def stop(self, driver):
        return next_stop(self.relay, driver, limit(240))

    def stops(self, driver, of=lambda pause: (pause["task_name"], pause["location"]["line"])):
        return map(of, stops_of(self.relay, driver, limit(240)))


def results(driver):
    """As the program has printed them: when a job has failed, Ray repeats its last lines."""
    return re.findall(r"^RESULT (\S+) (.*)$", driver.output().partition("Status message:")[0], re.MULTILINE)


def test_a_submitted_jobs_driver_tasks_and_actors_stop(core_cluster, run_relay):
    """The driver's own setup hook and runtime_env go on working."""
    jobs = Jobs(core_cluster, run_relay(core_cluster))
    driver = jobs.submit(jobs.runtime_env(*breaks(*KINDS)), UNEDITED, *KINDS)
    assert list(jobs.stops(driver)) == [(NAMES[name], line_of(UNEDITED, name)) for name in KINDS for _ in (1, 2)]
    assert results(driver) == [(name, f"{2 * n} {variable} {ran}") for name, variable, ran in (
        ("task", "own", "ran"), ("own_env", "another", "ran"), ("actor", "own", "ran"),
        ("process", "own", "ran"), ("driver", "-", "-")) for n in (1, 2)]
    assert len(jobs.relay.http("GET", "/v1/breakpoints").json["breakpoints"]) == len(KINDS)


def test_a_copied_working_dir_is_named_as_the_original(cluster, run_relay, tmp_path):
    """The job's own setup hook comes from the copy, too."""
    program = tmp_path / "copied.py"
    shutil.copy(UNEDITED, program)
    program.write_text(program.read_text().replace(', "worker_process_setup_hook": own_hook', ""))
    jobs = Jobs(cluster, run_relay(cluster))
    merged = json.dumps({"working_dir": str(tmp_path), "worker_process_setup_hook": "copied.own_hook"})
    locations = [word for name in ("task", "driver") for word in ("--break", f"{program}:{line_of(program, name)}")]
    printed = jobs.runtime_env("--merge", merged, *locations)
    runtime_env = json.loads(printed)
    assert yaml.safe_load(printed) == runtime_env  # KubeRay's runtimeEnvYAML
    assert list(runtime_env) == ["working_dir", "env_vars"]
    driver = jobs.submit(json.dumps(runtime_env), "copied.py", "task", "driver")
    stops = jobs.stops(driver, lambda pause: (pause["location"]["file"], pause["location"]["line"]))
    assert list(stops) == [(str(program), line_of(program, name)) for name in ("task", "task", "driver", "driver")]
    assert results(driver) == [("task", "2 own ran"), ("task", "4 own ran"), ("driver", "2 - -"), ("driver", "4 - -")]


def test_jobs_at_once_have_their_namespace_and_the_drivers_hook(core_cluster, run_relay):
    """The setup hook can run before the worker has its first task, with which it gets the namespace."""
    jobs = Jobs(core_cluster, run_relay(core_cluster))
    runtime_env = jobs.runtime_env()
    for driver in [jobs.submit(runtime_env, SUBMITTED, "4") for _ in range(3)]:
        assert driver.process.wait(limit(240)) == 0, driver.output()
        assert results(driver) == [
            ("hook", "raydbg_run.runtime_env"), ("namespaces", "own own own own"), ("end", "4")], driver.output()


def test_a_job_whose_relay_has_gone_runs_without_it(cluster, run_relay):
    """Its runtime_env was made while there was one."""
    relay = run_relay(cluster)
    jobs = Jobs(cluster, relay)
    runtime_env = jobs.runtime_env(*breaks("task", "driver"))
    relay.kill9()
    relay.end_keeper()
    driver = jobs.submit(runtime_env, UNEDITED, "task", "driver")
    assert driver.wait(limit(240)) is not None
    assert results(driver) == [("task", "2 own ran"), ("task", "4 own ran"), ("driver", "2 - -"), ("driver", "4 - -")], driver.output()
    relay.restart()


CLIENT = """
import json, sys, ray

@ray.remote
def task(n):
    doubled = n * 2  # line: task
    return doubled

ray.init("ray://127.0.0.1:10001", runtime_env=json.loads(sys.argv[1]))
for n in (1, 2):
    print("RESULT", n, ray.get(task.remote(n)), flush=True)
"""


def test_a_driver_of_ray_client(cluster, run_relay, tmp_path):
    """Ray Client calls no hook, and `raydbg run` says so."""
    program = tmp_path / "client.py"
    program.write_text(CLIENT)
    jobs = Jobs(cluster, run_relay(cluster))
    runtime_env = jobs.runtime_env(*breaks("task", program=program))
    driver = cluster.driver(program, runtime_env)
    assert list(jobs.stops(driver)) == 2 * [("task", line_of(program, "task"))]
    assert results(driver) == [("1", "2"), ("2", "4")], driver.output()
    done = cluster.raydbg("run", "--", cluster.venv / "bin/python", program, "{}", env=jobs.env, timeout=limit(120))
    assert "the tasks of this program do not stop: Ray Client" in done.stderr, done.stderr
    assert "RESULT 2 4" in done.stdout


@pytest.fixture
def serve(cluster):
    """serve("deploy", FILE): Serve's own command."""
    def run(*words):
        cluster.run([cluster.venv / "bin/serve", *words, "--address", DASHBOARD], check=True, timeout=limit(120))
    yield run
    run("shutdown", "--yes")


def test_an_application_of_a_serve_config(cluster, run_relay, serve, tmp_path):
    program = PROGRAMS / "tripler.py"
    jobs = Jobs(cluster, run_relay(cluster))
    merged = json.dumps({"env_vars": {"PYTHONPATH": str(PROGRAMS)}})
    runtime_env = json.loads(jobs.runtime_env("--merge", merged, *breaks("application", program=program)))
    config = tmp_path / "serve.yaml"
    config.write_text(json.dumps({"proxy_location": "Disabled", "applications": [
        {"name": "tripler", "route_prefix": None, "import_path": "tripler:app", "runtime_env": runtime_env}]}))
    serve("deploy", config)
    driver = cluster.driver("ask_tripler.py")
    stops = list(jobs.stops(driver))
    assert [line for _, line in stops] == 2 * [line_of(program, "application")], stops
    assert all("Tripler" in name or "ServeReplica" in name for name, _ in stops), stops
    assert results(driver) == [("1", "3"), ("2", "6")], driver.output()


def hook_entries(cluster):
    """The keys of raydbg's entries in the cluster's store."""
    program = ("import ray; from ray.experimental.internal_kv import _internal_kv_list; ray.init(address='auto', log_to_driver=False); "
               "print('KEYS', *(key.decode() for key in _internal_kv_list(b'RaydbgSetupHook:', namespace=b'fun')))")
    said = cluster.python("-c", program, check=True).stdout
    return re.search("^KEYS(.*)$", said, re.MULTILINE)[1].split()


def test_the_entry_is_removed_when_its_jobs_have_ended(cluster, run_relay, tmp_path):
    jobs = Jobs(cluster, run_relay(cluster))
    merged = json.dumps({"working_dir": str(tmp_path)})  # no other test's entry
    before = hook_entries(cluster)
    runtime_env = json.loads(jobs.runtime_env("--merge", merged, *breaks("driver")))
    [entry] = set(hook_entries(cluster)) - set(before)
    del runtime_env["working_dir"]
    driver = jobs.submit(json.dumps(runtime_env), UNEDITED, "driver")
    assert jobs.stop(driver)
    refused = cluster.raydbg("env", "--clear", "--merge", merged, env=jobs.env)
    assert refused.returncode == 1 and "once the jobs have ended" in refused.stderr, refused
    assert entry in hook_entries(cluster)
    jobs.relay.go_on(jobs.stop(driver))
    assert [name for name, _ in jobs.stops(driver)] == [NAMES["driver"]]
    wait_for(lambda: not jobs.relay.http("GET", "/v1/breakpoints").json["processes"]["connected"], "its processes have ended")
    cleared = cluster.raydbg("env", "--clear", "--merge", merged, env=jobs.env)
    assert (cleared.returncode, cleared.stdout) == (0, "") and "removed" in cleared.stderr, cleared
    assert hook_entries(cluster) == before


def run_with_resources(cluster, relay, names, before=()):
    """On the head node: a driver on the other one gets 127.0.0.2 from Ray before 2.60 as the address of the GCS. The job's
    workers inherit the variables of the JobSupervisor."""
    jobs = Jobs(cluster, relay)
    driver = jobs.submit(jobs.runtime_env(*breaks("worker", "driver", program=SUBMITTED)), SUBMITTED, "1", before=before,
                         options=("--entrypoint-resources", json.dumps({"node:127.0.0.1": 0.01})))
    assert [line for _, line in jobs.stops(driver)] == [line_of(SUBMITTED, name) for name in names]
    assert ("namespaces", "own") in results(driver), driver.output()


def test_the_workers_of_a_job_with_resources_are_no_supervisors(core_cluster, run_relay):
    run_with_resources(core_cluster, run_relay(core_cluster), ("worker", "driver"))


def test_workers_are_no_supervisors_if_the_driver_has_no_hook(cluster, run_relay):
    """As if it has a PYTHONPATH of its own."""
    run_with_resources(cluster, run_relay(cluster), ("worker",), before=("env", "-u", "PYTHONPATH"))


@pytest.mark.parametrize("merged, why", [
    ({"worker_process_setup_hook": "setup"}, "module.function"),
    ({"conda": {"dependencies": ["pytorch"]}}, "debugpy"),
])
def test_a_conflict_is_said_before_anything_is_submitted(cluster, run_relay, merged, why):
    jobs = Jobs(cluster, run_relay(cluster))
    done = cluster.raydbg("env", "--merge", json.dumps(merged), env=jobs.env)
    assert (done.returncode, done.stdout) == (1, "") and why in done.stderr
