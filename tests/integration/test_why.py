"""`raydbg why` on real clusters: the cause of each failure and each wait of programs/failures.py, and what is not known."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
from cluster import Cluster, Spec, wait_for
from conftest import raydbg_path
from waits import limit

NEW = Spec()
OLD = Spec(python="3.11", ray="2.9.3", debugpy="1.8.0")
PROTECTED = Spec(token=True)
# The threshold is below what a node uses anyway: whatever runs is killed.
MEMORY_MONITOR = (("RAY_memory_usage_threshold", "0.001"), ("RAY_memory_monitor_refresh_ms", "250"))
USAGE, NOT_FOUND, UNREACHABLE = 2, 3, 5
MEMBERS = "kind id name state since_ms code cause details frames chain ray unknown next".split()

# name: the cause's code, a word of its sentence, the function in which the program was, if that is known
FAILURES = {
    "raise_value": ("exception", "ValueError: bad 3", "raise_value"),
    "child_of_failed": ("argument_failed", "failed_parent", None),
    "kill9_at_once": ("killed_or_exited", "SIGKILL", None),
    "kill9_later": ("killed_or_exited", "SIGKILL", None),
    "segv": ("native_crash", "SIGSEGV", "segv"),
    "abort": ("native_crash", "SIGABRT", "abort"),
    "corrupts_the_heap": ("native_crash", "SIGABRT", "corrupts_the_heap"),
    "raw_exit_1": ("killed_or_exited", "os._exit", None),
    "raw_exit_137": ("killed_or_exited", "os._exit", None),
    "sigterm": ("sigterm", "SIGTERM", "sigterm"),
    "exit_1": ("exit_code", "code 1", "exit_1"),
    "exit_0": ("exit_code", "code 0", "exit_0"),
    "keyboard_interrupt": ("interrupted", "KeyboardInterrupt", "keyboard_interrupt"),
    "cancelled": ("interrupted", "ray.cancel", "cancelled"),
    "cancelled_by_force": ("TASK_CANCELLED", "ray.cancel", None),
    "dies_thrice": ("killed_or_exited", "SIGKILL", None),
    "bad_working_dir": ("runtime_env", "runtime_env", None),
    "to_a_dead_node": ("TASK_UNSCHEDULABLE_ERROR", "no node", None),
    "killed_actor": ("killed_or_exited", "SIGKILL", None),
    "segv_actor": ("native_crash", "SIGSEGV", "segv"),
    "exiting_actor": ("exit_code", "code 1", None),
    "leaving_actor": ("exit_actor", "exit_actor()", None),
    "ray_killed_actor": ("ray_kill", "ray.kill", None),
    "dropped_actor": ("out_of_scope", "handle", None),
    "init_raises": ("init_raised", "no weights at /nonexistent", "__init__"),
    "init_dies": ("killed_or_exited", "SIGKILL", None),
    "restarted_actor": ("killed_or_exited", "SIGKILL", None),
    "orphan": ("owner_died", "ray.kill", None),
    "bad_env_actor": ("runtime_env", "runtime_env", None),
    "Actor.exit_1": ("exit_code", "code 1", "exit_1"),
    "Actor.segv": ("native_crash", "SIGSEGV", "segv"),
    "RaisesInInit.ping": ("init_raised", "no weights", None),
}
WAITS = {
    "waits_for_b": ("waits_for_resources", "{"),
    "infeasible": ("infeasible", "gpu_x"),
    "infeasible_actor": ("infeasible", "gpu_x"),
    "waits_for_argument": ("waits_for_argument", "argument"),
    "waits_in_get": ("may_wait", "ray.get"),
    "sleeps_on": ("running", "it runs"),
    "Serial.behind": ("queued_in_actor", "queue"),
    "call_one": ("deadlock", "DEADLOCK"),
    "call_two": ("deadlock", "DEADLOCK"),
    "outer": ("may_wait", "ray.get"),  # `holder` has of the resource, too, and ends some day
    "inner": ("waits_for_resources", "{"),
    "in_group": ("group_infeasible", "too_big"),
    "too_big": ("group_infeasible", "bundles"),
    "slow_init": ("initializing", "its __init__ runs, since "),
    "SlowInit.ping": ("initializing", "its __init__ runs, since "),
    "gets_in_init": ("may_wait", "ray.get"),
    "in_full_group": ("waits_for_resources", "its placement group full: {CPU: 0.01}"),
    "actor_in_full_group": ("waits_for_resources", "its placement group full: {CPU: 0.01}"),
}
STARTS = ("wait_holder", "wait_infeasible", "wait_argument", "wait_get", "wait_queue", "wait_group", "wait_actors", "wait_lock",
          "wait_retry", "wait_restart", "wait_full_group", "wait_init", "wait_cancelled")
STARTS_OF_NEW = ("wait_python", "wait_breakpoint", "wait_label", "wait_pip", "wait_breakpoint_in_init")


def pytest_generate_tests(metafunc):
    matrix = metafunc.config.getoption("matrix")
    specs = {"ray2.60.0": NEW, **({"ray2.9.3": OLD, "token": PROTECTED} if matrix else {})}
    if "failed" in metafunc.fixturenames:
        metafunc.parametrize("failed", specs.values(), ids=specs.keys(), scope="module", indirect=True)
    if "spec" in metafunc.fixturenames:
        metafunc.parametrize("spec", specs.values(), ids=specs.keys())


@pytest.fixture(scope="module")
def failed(request, pool):
    """A cluster of its own in which everything has failed or waits: its tests end a node of it."""
    pool.stop()
    with Cluster(request.param, raydbg_path()) as cluster:
        driver = cluster.driver("failures.py")
        driver.wait_for("^DONE", limit(600))
        cluster.driver("failures.py", *STARTS, *(STARTS_OF_NEW if request.param != OLD else ())).wait_for("^DONE", limit(300))
        wait_for(lambda: "waits_for_b" in {row["name"] for row in why(cluster)["rows"]}, "Ray knows what waits", every=0.5)
        yield SimpleNamespace(cluster=cluster, driver=driver, new=request.param != OLD)


def why(cluster, *arguments, **options):
    """The report on a name."""
    done = cluster.raydbg("why", "--format", "json", *arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def why_if(cluster, name, code, timeout=None):
    """The report, once it has this code; Ray may not have heard of it at first."""
    said = [""]

    def found():
        done = cluster.raydbg("why", "--format", "json", name)
        said[0] = done.stdout + done.stderr
        return done.returncode == 0 and (report := json.loads(done.stdout))["code"] == code and report
    return wait_for(found, lambda: f"{name} {code}: {said[0]}", every=0.5, most=timeout)


def users_function(report):
    return next((frame["function"] for frame in reversed(report["frames"]) if frame["in_program"]), None)


def ray_has_a_traceback(cluster, task_id):
    """In a profile event, which a process sends among its last words: without a CPU it may not come at all."""
    rows = cluster.api(f"/api/v0/tasks?filter_keys=task_id&filter_predicates=%3D&filter_values={task_id}")
    return any("traceback" in event["extra_data"] for row in rows for event in (row["profiling_data"] or {}).get("events", ()))


def check_failure(cluster, name):
    """An agent without a CPU may not tell the frames in time: then the report says so, and they come later. What Ray itself has
    lost is said, too."""
    code, word, function = FAILURES[name]
    report = {}

    def is_said_to_be_lost():
        return "its process has not reported it" in " ".join(report["unknown"]) and not ray_has_a_traceback(cluster, report["id"])

    def told():
        report.update(why(cluster, name))
        assert list(report) == MEMBERS
        assert report["code"] == code and word in report["cause"], report
        return function is None or users_function(report) == function or not report["unknown"] or is_said_to_be_lost()
    wait_for(told, lambda: f"the frames of {name}: {report}", every=0.5)
    assert function is None or users_function(report) == function or is_said_to_be_lost(), report


def test_an_exception_and_a_kill(cluster):
    """Of all that follows, what needs no cluster of its own."""
    names = "kill9_at_once", "raise_value"  # what a killed worker did before may never be reported
    cluster.driver("failures.py", *names).wait_for("^DONE")
    for name in names:
        why_if(cluster, name, FAILURES[name][0])
        check_failure(cluster, name)


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure(failed, name):
    check_failure(failed.cluster, name)


@pytest.mark.parametrize("name", WAITS)
def test_a_wait(failed, name):
    code, word = WAITS[name]
    report = why_if(failed.cluster, name, code)
    assert word in report["cause"], report


def test_a_circle(failed):
    """Each of it is named, and that it is proven."""
    report = why_if(failed.cluster, "call_one", "deadlock")
    details = "\n".join(report["details"])
    for line in (r"call_one \(\w+\) waits in ray\.get for Caller\.answer", r"Caller\.answer \(\w+\) is queued behind call_two",
                 r"call_two \(\w+\) waits in ray\.get for Caller\.answer", r"Caller\.answer \(\w+\) is queued behind call_one"):
        assert re.search(line, details), details
    assert "two looks" in details and report["unknown"] == []
    assert re.search(r"no deadlock: holder \(\w+\) is not in ray\.get", "\n".join(why(failed.cluster, "outer")["details"]))


def test_lists_of_tasks(failed):
    """What Ray's State API says."""
    rows = json.loads(failed.cluster.raydbg("list", "--failed", "--format", "json").stdout)
    filters = "filter_keys=state&filter_predicates=%3D&filter_values=FAILED"
    last = {}
    for task in failed.cluster.api(f"/api/v0/tasks?{filters}"):
        last[task["task_id"]] = task
    assert {row["task_id"] for row in rows} == set(last) and len(rows) > 20
    codes = {row["task_name"]: row["code"] for row in rows}
    assert codes["segv"] == "native_crash" and codes["exit_1"] == "exit_code"
    running = json.loads(failed.cluster.raydbg("list", "--running", "--format", "json").stdout)
    names = {row["task_name"] for row in running}
    assert {"holder", "Serial.slow", "waits_in_get", "slow_producer"} <= names and "waits_for_b" not in names
    on_b = json.loads(failed.cluster.raydbg("list", "--running", "--node", "127.0.0.2", "--format", "json").stdout)
    assert {row["node_ip"] for row in on_b} == {"127.0.0.2"}
    assert failed.cluster.raydbg("list", "--failed", "--running").returncode == USAGE
    table = failed.cluster.raydbg("list", "--failed")
    assert table.returncode == 0 and "CAUSE" in table.stdout and "failed in the last 60 m" in table.stdout


def test_who_holds_what_others_wait_for(failed):
    details = "\n".join(why(failed.cluster, "waits_for_b")["details"])
    assert re.search(r"127\.0\.0\.2 has 0\.09 of 4 b free: .*holder \(\w{8}\) has 3\.5", details), details
    assert "for slow_producer" in "\n".join(why(failed.cluster, "waits_in_get")["details"])
    assert "behind Serial.slow" in "\n".join(why(failed.cluster, "Serial.behind")["details"])


def test_a_worker_that_cannot_start_and_a_breakpoint(failed):
    if not failed.new:  # Ray 2.9 knows no py_executable, and waits in its own pdb
        assert why(failed.cluster, "segv")["code"] == "native_crash"
        return
    report = why_if(failed.cluster, "no_python", "worker_cannot_start", limit(90))
    assert "/nonexistent/python: No such file or directory" in " ".join(report["details"]), report
    why_if(failed.cluster, "waits_for_pip", "sets_up_runtime_env", limit(180))
    last = r"runtime_env_setup-02000000\.log of 127\.0\.0\.\d: Run cmd\[\d+\] .*(no-such-package|requirements)"
    wait_for(lambda: re.search(last, " ".join(why(failed.cluster, "waits_for_pip")["details"])), "pip runs", every=0.5)
    report = why_if(failed.cluster, "stops_in_init", "paused", limit(180))
    assert report["next"][0].startswith("raydbg attach "), report
    report = why_if(failed.cluster, "StopsInInit.ping", "paused")
    report = why_if(failed.cluster, "paused", "paused")
    assert report["next"][0].startswith("raydbg attach "), report


def test_what_lives_again(failed):
    """What runs after a failure is told with that failure, in the overview, too."""
    report = why(failed.cluster, "dies_once")
    ray = " ".join(report["ray"])
    assert report["state"] == "running" and re.search(r"this is attempt 2: attempt 1 failed .* ago: .*SIGKILL", ray), report
    report = why(failed.cluster, "lives_again")
    ray = " ".join(report["ray"])
    assert report["state"] == "ALIVE" and "restarted it 1 time, and does so without limit" in ray, report
    process = re.search(r"its earlier process, (\d+@[\d.]+), ended .* ago: .*SIGKILL", ray).group(1)
    assert why(failed.cluster, process)["code"] == "killed_or_exited"
    for name in ("dies_once", "lives_again"):
        logs = failed.cluster.raydbg("logs", name, "--around")
        assert logs.returncode == 0 and "raylet" in logs.stdout, logs.stderr
    rows = {row["name"]: (row["state"], row["code"]) for row in why(failed.cluster)["rows"]}
    assert rows["dies_once"] == ("retried", "killed_or_exited") and rows["lives_again"] == ("restarted", "killed_or_exited")


def test_groups_and_labels(failed):
    details = " ".join(why(failed.cluster, "in_full_group")["details"])
    assert re.search(r"has 0 of 0\.01 CPU free: has_the_bundle \(\w{8}\) has 0\.01", details), details
    details = " ".join(why(failed.cluster, "waits_for_b")["details"])
    assert "placement group full has 0.01" in details, details
    if failed.new:  # Ray 2.9 knows no label_selector
        for name, labels in (("wants_a_label", "{zone: eu}"), ("actor_wants_a_label", "{zone: in(eu,us)}")):
            report = why(failed.cluster, name)
            assert report["code"] == "infeasible" and labels in report["cause"], report
            assert "127.0.0.1 has no label zone" in report["details"], report


def test_the_owner_of_an_object(failed):
    object_id = failed.driver.wait_for(r"^OBJECT owner_died (\w{56})").group(1)
    report = why(failed.cluster, object_id)
    assert (report["kind"], report["code"]) == ("object", "owner_died"), report
    assert "ray.kill" in report["cause"]


def test_the_last_words_of_an_abort(failed):
    assert "the last words before: free(): double free detected in tcache 2" in why(failed.cluster, "corrupts_the_heap")["details"]


def test_what_ray_does_next(failed):
    assert "tried 3 times" in " ".join(why(failed.cluster, "dies_thrice")["ray"])
    assert "restarted it 1 time (max_restarts=1)" in " ".join(why(failed.cluster, "restarted_actor")["ray"])


def test_ids_and_processes(failed):
    report = why(failed.cluster, "segv")
    assert why(failed.cluster, report["id"][:10])["cause"] == report["cause"]
    [worker] = [link for link in report["chain"] if link["kind"] == "worker"]
    process = re.search(r"\d+@[\d.]+", worker["text"]).group()
    assert why(failed.cluster, process)["code"] == "native_crash"
    assert why(failed.cluster, worker["id"])["name"] == process
    assert why(failed.cluster, "127.0.0.1")["code"] == "alive"
    assert why(failed.cluster, "01")["kind"] == "job"


def test_text(failed):
    done = failed.cluster.raydbg("why", "segv")
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("segv · ") and lines[1] == "  its process crashed in native code: SIGSEGV"
    assert any(re.match(r"  → programs/failures\.py:\d+ in segv$", line) for line in lines)
    assert lines[-1].startswith("next: raydbg logs ")
    logs = failed.cluster.raydbg(*lines[-1].removeprefix("next: raydbg ").split())
    assert logs.returncode == 0 and "out  out from segv" in logs.stdout and "err  *** SIGSEGV" in logs.stdout


def test_the_whole_cluster(failed):
    overview = why(failed.cluster)
    rows = {row["name"]: row for row in overview["rows"]}
    assert rows["segv"]["code"] == "native_crash" and rows["waits_for_b"]["count"] == 3
    assert "dropped_actor" not in rows and "ray_killed_actor" not in rows
    assert overview["tasks"]["failed"] > 20
    states = [row["state"] for row in overview["rows"]]
    assert states.index("waiting") < states.index("failed")
    assert "failed" not in {row["state"] for row in why(failed.cluster, "--since", "0")["rows"]}


def test_names_that_mean_nothing(failed):
    done = failed.cluster.raydbg("why", "sevg")
    assert done.returncode == NOT_FOUND and "did you mean segv?" in done.stderr and done.stdout == ""
    done = failed.cluster.raydbg("why", "ffffffff")
    assert done.returncode == NOT_FOUND and "is the beginning of" in done.stderr
    assert failed.cluster.raydbg("why", "segv", "abort").returncode == USAGE
    assert failed.cluster.raydbg("why", "segv", "--address", "127.0.0.1:1").returncode == UNREACHABLE
    assert failed.cluster.raydbg("why", "segv", "--address", "http://127.0.0.1:8265").returncode == USAGE


def test_it_is_quick(failed):
    """At most a thirtieth of the time of Ray's own list."""
    began = time.monotonic()
    failed.cluster.run(["ray", "list", "tasks", "--detail"], env={"RAY_ADDRESS": failed.cluster.head()}, timeout=limit(120),
                       check=True)
    ray = time.monotonic() - began
    took = []
    for _ in range(5):
        began = time.monotonic()
        why(failed.cluster, "kill9_later")
        took.append(time.monotonic() - began)
    ours = min(took)
    print(f"why: {ours * 1000:.0f} ms; ray list tasks --detail: {ray:.2f} s, {ray / ours:.0f} times as long")
    assert ours * 30 <= ray, f"{ours:.3f} s, Ray {ray:.3f} s"


def submitted(cluster, name, program):
    """The report on a submitted job that has ended."""
    submission = f"{name}-{time.monotonic_ns()}"
    cluster.run(["ray", "job", "submit", "--submission-id", submission, "--", "python", "-c", program],
                env={"RAY_ADDRESS": "http://127.0.0.1:8265"}, timeout=limit(120))
    return submission, wait_for(lambda: (found := why(cluster, submission))["state"] == "ended" and found, "the job ends")


def test_a_submitted_job(failed):
    submission, report = submitted(failed.cluster, "leaves",
                                   "import ray, sys; ray.init(); print('bye', flush=True); sys.exit(3)")
    assert (report["kind"], report["code"]) == ("job", "exit_code" if failed.new else report["code"]), report
    assert "3" in report["cause"] + " ".join(report["details"]), report
    logs = failed.cluster.raydbg("logs", submission)
    assert logs.returncode == 0 and "bye" in logs.stdout.splitlines(), logs.stdout + logs.stderr


def test_a_submitted_job_that_raises(failed):
    _, report = submitted(failed.cluster, "raises", "import ray; ray.init(); raise ValueError('no data')")
    assert "it raised ValueError: no data" in report["details"] and users_function(report) == "<module>", report


def agents(cluster):
    return cluster.run(["pgrep", "-f", r"dashboard/agent\.py|DashboardAgent"], check=True).stdout.split()


def test_without_the_last_words(failed):
    """Agents that do not answer: no cause is made up."""
    pids = agents(failed.cluster)
    failed.cluster.run(["kill", "-STOP", *pids], check=True)
    try:
        with ThreadPoolExecutor(4) as pool:
            reports = dict(zip(FAILURES, pool.map(lambda name: why(failed.cluster, name), FAILURES)))
    finally:
        failed.cluster.run(["kill", "-CONT", *pids], check=True)
    assert reports["segv"]["code"] == "process_lost", reports["segv"]
    for name, report in reports.items():
        if report["code"] != FAILURES[name][0]:
            assert report["code"] == "process_lost", report
            assert re.search(r"no answer from 127\.0\.0\.[12]:\d+ within", " ".join(report["unknown"])), report


def test_a_node_that_dies(failed):
    """The last test on this cluster."""
    failed.cluster.kill(failed.cluster.raylet_pid(2))
    assert why_if(failed.cluster, "127.0.0.2", "node_died", limit(90))["state"] == "dead"
    report = why_if(failed.cluster, "holder", "node_died")
    assert "cannot be read" in " ".join(report["unknown"]), report
    why_if(failed.cluster, "on_b_actor", "node_died")
    once, again = (failed.driver.wait_for(rf"^OBJECT {name} (\w{{56}})").group(1) for name in ("once", "again"))
    report = why(failed.cluster, once)
    assert report["code"] in ("lost", "may_be_lost") and "127.0.0.2, which is dead" in " ".join(report["details"]), report
    failed.driver.wait_for("^ERROR consumes ", limit(90))
    row = wait_for(lambda: {row["name"]: row for row in why(failed.cluster)["rows"]}.get("consumes"), "Ray knows")
    # Ray 2.9 tells only that it is lost, not that max_retries=0 forbids to make it again.
    assert row["code"] == "object_lost" and ("max_retries=0" if failed.new else "is lost") in row["cause"], row
    report = why_if(failed.cluster, again, "pending")  # of that, Ray makes another attempt, which no node can run
    assert "it is being made again" in report["cause"], report
    done = failed.cluster.raydbg("logs", "raylet@127.0.0.2")
    assert done.returncode == UNREACHABLE and "is dead" in done.stderr


def test_the_memory_monitor(spec):
    with Cluster(replace(spec, nodes=1, env=MEMORY_MONITOR), raydbg_path()) as cluster:
        cluster.driver("failures.py", "out_of_memory").wait_for("^ERROR out_of_memory OutOfMemoryError", limit(120))
        report = why_if(cluster, "out_of_memory", "out_of_memory")
        assert "memory monitor" in report["cause"], report
        details = " ".join(report["details"])
        assert "Memory on the node" in details and "most of the memory had: " in details, report
        if spec == OLD:  # it does not tell these, and does not retry the only task of its caller
            assert "how much of the node's memory objects in the store had" in " ".join(report["unknown"]), report
            patterns = "Ray's memory monitor killed its process", "if it was the only task of its caller", "Ray did not retry it"
        else:
            assert re.search(r"objects in the store had \d+\.\d\d GB", details), report
            assert re.search(r"Ray chose out_of_memory \(pid \d+, \d+\.\d\d GB\)", details), report
            patterns = (r"this is attempt \d+: attempt \d+ failed .* ago: Ray's memory monitor killed its process",
                        r"Ray's memory monitor has killed it \d+ times?, and Ray retries that without limit")
        cluster.driver("failures.py", "out_of_memory_again").wait_for("^DONE", limit(120))
        said = [""]

        def is_told():
            said[0] = cluster.raydbg("why", "killed_again").stdout
            return all(re.search(pattern, said[0]) for pattern in patterns)
        wait_for(is_told, lambda: f"it is killed again, or for good: {said[0]}", every=0.5)


def test_the_memory_monitor_kills_an_actor(spec):
    with Cluster(replace(spec, nodes=1, env=MEMORY_MONITOR), raydbg_path()) as cluster:
        cluster.driver("failures.py", "out_of_memory_actor").wait_for("^ERROR out_of_memory_actor", limit(120))
        report = why_if(cluster, "hoarder", "out_of_memory")
        assert report["kind"] == "actor" and "memory monitor" in report["cause"], report


def test_events_that_ray_has_dropped(spec):
    """Its table of tasks has room for few: what the other tables tell is told all the same."""
    with Cluster(replace(spec, nodes=1, env=(("RAY_task_events_max_num_task_in_gcs", "10"),)), raydbg_path()) as cluster:
        cluster.driver("failures.py", "segv").wait_for("^DONE", limit(120))
        worker = re.search(r"\d+@127\.0\.0\.1", json.dumps(why_if(cluster, "segv", "native_crash"))).group()
        cluster.driver("failures.py", "many_others").wait_for("^RESULT many_others 60", limit(120))
        said = [""]

        def is_forgotten():
            done = cluster.raydbg("why", "segv")
            said[0] = done.stdout + done.stderr
            return done.returncode == NOT_FOUND and re.search(r"Ray has forgotten \d+ changes of tasks", said[0])
        wait_for(is_forgotten, lambda: f"Ray has forgotten it: {said[0]}", every=0.5)
        assert why(cluster, worker)["code"] == "native_crash"


def test_with_a_token(token_cluster):
    token_cluster.driver("failures.py", "segv").wait_for("^DONE", limit(300))
    why_if(token_cluster, "segv", "native_crash")  # the agent, too, wants the token
    done = token_cluster.raydbg("why", "segv", env={"RAY_AUTH_TOKEN": None, "RAY_AUTH_MODE": None})
    assert done.returncode == 4, done.stderr
