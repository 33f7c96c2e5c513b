"""`raydbg stack` and `raydbg profile` on real clusters: what py-spy says when it is run by hand, and the operator's switch."""

import json
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
from cluster import PROGRAMS, Cluster, Spec, line_of, wait_for
from conftest import raydbg_path
from waits import limit, settle

FAILED, USAGE, NOT_FOUND, DENIED = 1, 2, 3, 4
ON = ("RAY_DASHBOARD_ENABLE_PROFILING", "1")
NEW = Spec(env=(ON,))
OLD = Spec(python="3.11", ray="2.9.3", debugpy="1.8.0", nodes=1)
STACKS = PROGRAMS / "stacks.py"
MARKERS = ("gets", "waits", "naps", "blocks", "driver")
STEADY = ("sleeps", "gets", "waits", "pauses", "Threads.naps")


def pytest_generate_tests(metafunc):
    if "before_spec" in metafunc.fixturenames:
        matrix = metafunc.config.getoption("matrix")
        specs = {"ray2.44.1": Spec(python="3.11", ray="2.44.1"), **({"ray2.9.3": OLD} if matrix else {})}
        metafunc.parametrize("before_spec", specs.values(), ids=specs.keys())


def stack(cluster, *arguments, code=0, **options):
    done = cluster.raydbg("stack", *arguments, timeout=limit(120), **options)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def profile(cluster, *arguments, code=0, **options):
    done = cluster.raydbg("profile", "--duration", "2s", *arguments, timeout=limit(120), **options)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def functions(cluster, *arguments):
    """The functions by name, and the processes, of `profile --format json`."""
    answer = json.loads(profile(cluster, "--format", "json", *arguments).stdout)
    return {function["name"]: function for function in answer["functions"]}, answer["processes"]


def stacks(cluster, *arguments):
    return json.loads(stack(cluster, "--format", "json", *arguments).stdout)


def line(marker):
    return line_of(STACKS, marker)


@pytest.fixture(scope="module")
def live():
    """A cluster of its own, with the switch on; programs/stacks.py stays where it is."""
    with Cluster(NEW, raydbg_path()) as cluster:
        cluster.driver("stacks.py", "pauses").wait_for("^READY", limit(180))

        def settled():
            said[0] = cluster.raydbg("stack", timeout=limit(120)).stdout
            paused = re.search(r"the debugger +1  pauses pid \d+@\S+ \(paused\)", said[0])
            awaits = "not shown: 1 process, calls of an async actor" in said[0]
            return paused and awaits and f"stacks.py:{line('pauses')} " in said[0] and stays(said[0]) and said[0]
        said = [""]
        text = wait_for(settled, lambda: f"all tasks are where they stay: {said[0]}", every=1, most=limit(300))
        yield SimpleNamespace(cluster=cluster, text=text, json=stacks(cluster))


def stays(text):
    """True if, in this text of `raydbg stack`, each task of stacks.py that stays at a line is there."""
    three = re.search(rf"in_the_middle  stacks.py:{line('sleeps')} +3 ", text)
    return bool(three) and all(f"stacks.py:{line(marker)} " in text for marker in MARKERS)


def by_hand(cluster, pid):
    """The frames of each thread, by its id, of `py-spy dump`."""
    done = cluster.run([cluster.venv / "bin/py-spy", "dump", "--pid", str(pid)])
    assert done.returncode == 0, done.stderr
    threads, current = {}, None
    for text in done.stdout.splitlines():
        if found := re.match(r"Thread (\d+) ", text):
            current = threads.setdefault(int(found[1]), [])
        elif text.startswith("    "):
            current.append(text.strip())
    return threads


def in_both(cluster, process):
    """The frames of each thread, by its id: as raydbg and as py-spy show them."""
    [process] = stacks(cluster, f"{process['pid']}@{process['node_ip']}")["processes"]
    ours = {thread["os_id"]: [f"{f['name']} ({f['file']}:{f['line']})" for f in thread["frames"]]
            for thread in process["threads"]}
    return ours, by_hand(cluster, process["pid"])


def check_steady(cluster, processes, least):
    """Every frame of every thread of each process that stays where it is is as py-spy tells it. A thread that waits with a
    timeout of Ray's or pydevd's own may be awake in one of the two: then both look again."""
    compared = 0
    for process in processes:
        names = {task["task_name"] for task in process["tasks"]}
        if not process["is_driver"] and not names & set(STEADY):
            continue
        for _ in range(5):
            ours, expected = in_both(cluster, process)
            if ours == expected:
                break
        assert ours == expected
        compared += len(ours)
    assert compared > least


def test_it_agrees_with_py_spy(live):
    check_steady(live.cluster, live.json["processes"], 15)


def test_the_tree(live):
    """Equal stacks are one, with the number of tasks and where each is; Ray's frames are folded."""
    lines = [re.sub(r" +", " ", text.strip()) for text in live.text.splitlines()]
    assert f"in_the_middle stacks.py:{line('sleeps')} 3" in " ".join(lines)
    for marker, wait in (("gets", "ray.get"), ("waits", "ray.wait"), ("blocks", "ray.get"), ("pauses", "the debugger"),
                         ("driver", "ray.get")):
        [at] = [i for i, text in enumerate(lines) if f"stacks.py:{line(marker)} 1" in text]
        assert lines[at + 1].startswith(f"{wait} 1 "), (marker, lines)
    assert f"stacks.py:{line('naps')} 1 Threads.naps pid" in " ".join(lines)
    assert re.search(r"the debugger 1 pauses pid \d+@127\.0\.0\.\d \(paused\)", " ".join(lines))
    assert "ray/_private" not in live.text and "main_loop" not in live.text and "threading.py" not in live.text
    assert "not shown: 1 process, calls of an async actor" in live.text


def test_json(live):
    processes = {process["pid"]: process for process in live.json["processes"]}
    [paused] = [p for p in processes.values() if p["paused"]]
    assert paused["tasks"][0]["task_name"] == "pauses" and paused["threads"][0]["waits_in"] == "the debugger"
    threads = {thread["threadId"]: (p, thread) for p in processes.values() for thread in p["threads"]}
    leaves = []

    def walk(branch):
        leaves.extend([branch] if not branch["children"] else [])
        [walk(child) for child in branch["children"]]
    [walk(branch) for branch in live.json["tree"]["tree"]]
    [middle] = [leaf for leaf in leaves if leaf["frames"][-1]["name"] == "in_the_middle"]
    assert middle["count"] == 3
    assert {threads[i][0]["tasks"][0]["task_name"] for i in middle["threadIds"]} == {"sleeps"}


def test_selection(live):
    cluster = live.cluster
    assert {t["task_name"] for p in stacks(cluster, "sleeps")["processes"] for t in p["tasks"]} == {"sleeps"}
    assert len(stacks(cluster, "sleeps")["processes"]) == 3
    [actor] = stacks(cluster, "threads")["processes"]
    assert len(actor["tasks"]) == 2
    [process] = stacks(cluster, f"{actor['pid']}@{actor['node_ip']}")["processes"]
    assert process["worker_id"] == actor["worker_id"]
    everywhere = stacks(cluster, "--all")["processes"]
    on_one = stacks(cluster, "--all", "--node", "127.0.0.1")["processes"]
    assert {p["node_ip"] for p in on_one} == {"127.0.0.1"}
    assert {p["pid"] for p in on_one} == {p["pid"] for p in everywhere if p["node_ip"] == "127.0.0.1"}
    assert len(stacks(cluster, "01")["processes"]) >= 8  # the job
    task = actor["tasks"][0]["task_id"]
    assert [p["pid"] for p in stacks(cluster, task)["processes"]] == [actor["pid"]]
    full = stack(cluster, "gets", "--full").stdout
    assert "main_loop" in full and "get_objects" in full
    assert "_raylet.so" in stack(cluster, "gets", "--native", "--full").stdout and "_raylet.so" not in full


def test_names_that_do_not_run(live):
    assert "knows no task" in stack(live.cluster, "no_such_task", code=NOT_FOUND).stderr
    assert "knows no node" in stack(live.cluster, "--node", "10.9.9.9", code=NOT_FOUND).stderr
    [gets] = stacks(live.cluster, "gets")["processes"]
    other = {"127.0.0.1": "127.0.0.2", "127.0.0.2": "127.0.0.1"}[gets["node_ip"]]
    assert "runs in no live process" in stack(live.cluster, "gets", "--node", other, code=NOT_FOUND).stderr
    stack(live.cluster, "one", "two", code=USAGE)


def test_a_frozen_process(live):
    [process] = stacks(live.cluster, "spins")["processes"]
    live.cluster.kill(process["pid"], 19)
    try:
        assert "frozen" in stack(live.cluster, "spins", code=FAILED).stderr
    finally:
        live.cluster.kill(process["pid"], 18)
    assert "spins  stacks.py:" in stack(live.cluster, "spins").stdout


@pytest.fixture
def burning(live):
    """The two processes of `burns`."""
    driver = live.cluster.driver("stacks.py", "burns")

    def both():
        done = live.cluster.raydbg("stack", "burns", "--format", "json")
        found = json.loads(done.stdout)["processes"] if done.returncode == 0 else []
        return len(found) == 2 and found
    yield wait_for(both, "two workers burn", every=1, most=limit(180))
    driver.process.terminate()
    driver.process.wait(limit())


def test_a_profile_of_two_workers_is_one(live, burning):
    locations = [f"stacks.py:{line('burns') - 1}", f"stacks.py:{line('burns')}"]
    text = profile(live.cluster, "burns").stdout
    first, titles, hottest = (line.split() for line in text.splitlines()[:3])
    assert first[:3] == ["2", "processes", "on"] and titles == ["SELF", "TOTAL", "FUNCTION", "LOCATION", "PROCESSES"]
    assert hottest[-3] == "burns_inside" and hottest[-2] in locations and hottest[-1] == "2" and "ray/_private" not in text
    found, processes = functions(live.cluster, "burns")
    assert {p["pid"] for p in processes} == {p["pid"] for p in burning} and all(20 < p["samples"] <= 210 for p in processes)
    inside, whole = found["burns_inside"], found["burns"]
    assert inside["processes"] == 2 and inside["self"] > 0.8 * whole["total"]
    assert whole["total"] == sum(process["samples"] for process in processes)
    full, _ = functions(live.cluster, "burns", "--full", "--native")
    assert full["Worker.main_loop"]["total"] >= full["burns"]["total"] > 20
    assert any("_raylet.so" in (function["file"] or "") for function in full.values()), full


def test_a_worker_that_ends_while_it_is_profiled(live, burning):
    """What py-spy has seen until then counts."""
    process = live.cluster.raydbg_popen("profile", "burns", "--duration", "15s", "--format", "json")
    wait_for(lambda: live.cluster.run(["pgrep", "-fc", "py-spy record"]).stdout.strip() not in ("", "0", "1"), "py-spy looks at both")
    settle(2)
    live.cluster.kill(burning[0]["pid"])
    answer = json.loads(process.communicate(timeout=limit(100))[0])
    samples = {process["pid"]: process["samples"] for process in answer["processes"]}
    assert samples[burning[1]["pid"]] > samples[burning[0]["pid"]] > 20


def test_memory_of_one_worker(live, burning, tmp_path):
    """memray leaves the process, which goes on."""
    name = "{pid}@{node_ip}".format(**burning[0])
    for _ in range(2):
        file = tmp_path / "memory.html"
        done = live.cluster.raydbg("profile", "--memory", name, "--yes", "--duration", "2s", "-o", str(file), timeout=limit(300))
        assert done.returncode == 0 and "memray may still" not in done.stderr, done.stderr
        assert '"burns_inside"' in file.read_text()
        file.unlink()
    assert "burns_inside" in functions(live.cluster, name)[0]


def test_threads_that_wait_count_with_idle(live):
    found, _ = functions(live.cluster, "gets", "--idle")
    assert found["ray.get"]["self"] == found["gets"]["total"] > 20


def test_by_way_of_a_relay(live, run_relay):
    relay = run_relay(live.cluster)
    told = relay.http("GET", "/v1/stack").json
    assert {p["pid"] for p in told["processes"]} == {p["pid"] for p in live.json["processes"]}
    [gets] = relay.http("GET", "/v1/stack/gets").json["processes"]
    assert gets["tasks"][0]["task_name"] == "gets" and gets["threads"][0]["waits_in"] == "ray.get"
    said = relay.http("GET", f"/v1/stack.txt/{gets['pid']}%40{gets['node_ip']}").body.decode()
    assert said.startswith("1 process on 1 node") and f"gets  stacks.py:{line('gets')} " in said
    assert relay.http("GET", "/v1/stack.txt").body.decode().startswith(f"{len(told['processes'])} processes on ")
    assert relay.http("GET", "/v1/stack/nobody").status == 404
    assert relay.http("POST", "/v1/stack").status == 405


def test_in_the_console(live, run_relay):
    """From the cluster itself, and by way of a relay. The last one here: its task goes on."""
    verbs = ("-e", "stack gets", "-e", "stack", "-e", "stack nobody")
    relay = run_relay(live.cluster)
    for options in (("--no-relay",), ("--relay", "%s:%d" % relay.address)):
        done = live.cluster.raydbg("attach", "pauses", *verbs, *options, timeout=limit(180),
                                   env={"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"]})
        said = done.stdout + done.stderr
        assert f"gets  stacks.py:{line('gets')} " in done.stdout, said
        assert "in_the_middle  stacks.py" in done.stdout and "the debugger" in done.stdout, said
        assert "knows no task" in said, said


def test_the_switch(cluster, run_relay):
    """Off, as it is by default in 2.60: no agent is asked, and what needs no switch works."""
    refused = stack(cluster, code=DENIED).stderr
    assert "switched off" in refused and "RAY_DASHBOARD_ENABLE_PROFILING=1" in refused
    assert profile(cluster, code=DENIED).stderr == refused
    answer = run_relay(cluster).http("GET", "/v1/stack")
    assert answer.status == 403 and "switched off" in answer.json["error"]["what"] + answer.json["error"]["why"]
    assert cluster.raydbg("timeline").returncode == 0


def test_without_a_dashboard(cluster_factory):
    """Whether the operator allows it cannot be asked: it counts as off. Ray names a port of a dashboard all the same."""
    refused = stack(cluster_factory(Spec(dashboard=False, nodes=1, env=(ON,))), code=DENIED).stderr
    assert "cannot be found out" in refused and re.search("no dashboard|cannot connect", refused)


def test_with_a_token(cluster_factory):
    cluster = cluster_factory(Spec(token=True, nodes=1, env=(ON,)))
    cluster.driver("stacks.py").wait_for("^READY", limit(180))
    assert f"stacks.py:{line('driver')}" in stack(cluster).stdout
    wait_for(lambda: stays(cluster.raydbg("stack").stdout), "all tasks are where they stay", every=1)
    check_steady(cluster, stacks(cluster)["processes"], 3)
    stack(cluster, code=DENIED, env={"RAY_AUTH_TOKEN": "0" * 64})


def test_without_py_spy(cluster_factory, tmp_path):
    """The nodes' PATH does not lead to it."""
    (tmp_path / "ray").symlink_to(Spec().venv() / "bin/ray")
    cluster = cluster_factory(Spec(nodes=1, env=(ON, ("PATH", f"{tmp_path}:/usr/bin:/bin"))))
    cluster.driver("stacks.py").wait_for("^READY", limit(180))
    for said in (stack(cluster, code=FAILED).stderr, profile(cluster, code=FAILED).stderr):
        assert "py-spy is not installed on the node" in said and "pip install py-spy" in said


def check_without_sudo(cluster):
    cluster.driver("stacks.py").wait_for("^READY", limit(180))
    assert "sudo" in stack(cluster, code=FAILED).stderr
    assert "sudo" in profile(cluster, code=FAILED).stderr


def test_before_the_switch(before_spec, cluster_factory, tmp_path):
    """Versions of Ray that have none. The oldest starts py-spy by sudo, which asks root for no password."""
    if before_spec == OLD and not shutil.which("sudo"):
        check_without_sudo(cluster_factory(before_spec))
    (tmp_path / "sudo").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    (tmp_path / "sudo").chmod(0o755)
    path = f"{tmp_path}:{before_spec.venv() / 'bin'}:/usr/bin:/bin"
    cluster = cluster_factory(replace(before_spec, env=(("PATH", path),)))
    cluster.driver("stacks.py").wait_for("^READY", limit(180))
    wait_for(lambda: stays(cluster.raydbg("stack").stdout), "all tasks are where they stay", every=1)
    check_steady(cluster, stacks(cluster)["processes"], 3)
    wait_for(lambda: cluster.raydbg("stack", "spins").returncode == 0, "spins runs", every=1)
    assert functions(cluster, "spins")[0]["spins"]["total"] > 20
