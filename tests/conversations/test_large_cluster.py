"""A large cluster, simulated: what is listed is right, and what is asked for it grows no faster than what is paused.

Counts of requests and bytes, never times: those are tests/bench/cluster's.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_cluster import FakeCluster, task_id
from kernel_queues import unread, wait_still
from relay_process import RelayProcess, release_path
from relay_under_test import raydbg_path
from waits import limit, settle, wait_until

SMALL = {"nodes": 100, "workers": 10_000, "pauses": 600, "events": 20_000}
LARGE = {"nodes": 200, "workers": 20_000, "pauses": 1_200, "events": 40_000}
BENCHMARK = Path(__file__).resolve().parent.parent / "bench/cluster"
# Of the GCS: what goes through all that it has of a kind.
LISTS = ("GetAllWorkerInfo", "GetAllActorInfo", "GetAllNodeInfo", "GetAllJobInfo")


@pytest.fixture(scope="module")
def small():
    with FakeCluster(**SMALL) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def large():
    with FakeCluster(**LARGE) as cluster:
        yield cluster


def environment(cluster, home):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
    return {**clean, "HOME": str(home), "XDG_STATE_HOME": str(home), "RAY_ADDRESS": cluster.address}


def run_list(cluster, home, *arguments, descriptors=None):
    cluster.forget()
    limited = ["prlimit", f"--nofile={descriptors}:{descriptors}"] if descriptors else []
    done = subprocess.run(
        [*limited, raydbg_path(), "list", *arguments], env=environment(cluster, home), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=limit())
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def methods(cluster):
    counts = cluster.counts()
    assert counts["strangers"] == 0, counts
    return {name: own for name, own in counts["methods"].items() if own["requests"]}


def of_gcs(counts, figure):
    return sum(own[figure] for name, own in counts.items() if name != "GetCoreWorkerStats")


@pytest.fixture
def run_relay():
    """run_relay(cluster, *arguments): a relay that looks at it."""
    started = []

    def run(cluster, *arguments):
        started.append(RelayProcess("--address", cluster.address, *arguments, address=cluster.address,
                                    binary=release_path()))
        return started[-1]

    yield run
    for relay in started:
        relay.close()


def follow(relay, cluster):
    """The followed /events, once every pause is told with its name."""
    events = relay.events()
    events.wait(lambda message: message["event"] == "pauses")
    wait_until(lambda: sum(bool(pause["task_name"]) for pause in told(events).values()) >= len(cluster.paused),
               lambda: f"all are told: {len(told(events))}")
    return events


def told(events):
    """What a follower knows by now."""
    known = {}
    for message in list(events.messages):
        if message["event"] == "pauses":
            known = {pause["id"]: pause for pause in message["pauses"]}
        elif message["event"] in ("added", "changed"):
            known[message["pause"]["id"]] = message["pause"]
        elif message["event"] == "removed":
            known.pop(message["id"])
    return known


def looks(cluster):
    """How many looks there were since the last forget(): each asks once for the pdb entries."""
    return cluster.counts()["methods"]["InternalKVKeys"]["requests"]


# --- raydbg list ---

def test_list_has_every_pause_in_order(large, tmp_path):
    rows = json.loads(run_list(large, tmp_path, "--format", "json"))
    assert len(rows) == len(large.paused)
    workers = sorted(large.paused, key=lambda worker: (worker.ip, worker.pid))
    assert [row["worker_id"] for row in rows] == [worker.id.hex() for worker in workers]
    for row, worker in zip(rows, workers):
        assert row["task_id"] == worker.tasks[0].hex()
        assert row["task_name"] == ("Trainer.step" if worker.actor else "square")
        assert row["actor_class"] == ("Trainer" if worker.actor else None)
        assert row["endpoint"] == f"{worker.ip}:{worker.debugger_port}"
        assert (row["state"], row["pid"], row["node_ip"]) == ("waiting", worker.pid, worker.ip)


def test_list_as_a_table(large, tmp_path):
    lines = run_list(large, tmp_path).splitlines()
    ids = [line.split()[0] for line in lines[1:-2]]  # without the head and the two lines at the end
    tasks = {worker.tasks[0].hex() for worker in large.paused}
    assert len(ids) == len(set(ids)) == len(tasks)
    for short in ids:
        assert sum(task.startswith(short) for task in tasks) == 1


def test_what_list_asks_grows_with_the_pauses(small, large, tmp_path):
    counted = []
    for cluster in (small, large):
        run_list(cluster, tmp_path)
        counts = methods(cluster)
        pauses = len(cluster.paused)
        # A worker that a busy machine lets answer too late is asked once more.
        assert pauses <= counts["GetCoreWorkerStats"]["requests"] <= 2 * pauses, counts
        assert counts["GetTaskEvents"] == {**counts["GetTaskEvents"], "requests": pauses, "scans": 0}
        assert all(counts[name]["requests"] == 1 for name in LISTS)
        # A relay is looked for, too.
        assert of_gcs(counts, "requests") <= pauses + 10
        counted.append(counts)
    for figure in ("requests", "bytes_out", "bytes_in"):
        assert of_gcs(counted[1], figure) <= 2.1 * of_gcs(counted[0], figure), (figure, counted)


def test_list_needs_few_descriptors(large, tmp_path):
    rows = json.loads(run_list(large, tmp_path, "--format", "json", descriptors=512))
    assert all(row["task_name"] for row in rows)
    assert len(rows) == len(large.paused)


# --- a relay that is followed ---

def test_a_steady_cluster_is_asked_little(small, large, run_relay):
    """Between two looks nothing changes: what a look fetches is the list of those that wait."""
    for cluster in (small, large):
        relay = run_relay(cluster)
        events = follow(relay, cluster)
        told_before = len(events.messages)
        cluster.forget()
        started = time.monotonic()
        wait_until(lambda: looks(cluster) >= 10, "10 looks")
        counts = methods(cluster)
        seconds = time.monotonic() - started
        number = counts["InternalKVKeys"]["requests"]
        rows = len(cluster.paused)
        record = len(cluster.workers[0].record)
        assert "GetTaskEvents" not in counts and "GetAllActorInfo" not in counts, counts
        # 50 a second say again what they run.
        assert counts["GetCoreWorkerStats"]["requests"] <= 65 * seconds + 64, (seconds, counts)
        assert counts["GetAllWorkerInfo"]["bytes_out"] >= 0.8 * record * number * rows
        # All rows at 10,000 a second, and those that wait in each look; a record is some bytes longer or shorter.
        most = 10_000 * seconds + len(cluster.workers) + number * rows
        assert counts["GetAllWorkerInfo"]["bytes_out"] <= 1.2 * record * most, (seconds, counts)
        assert of_gcs(counts, "requests") <= 4 * number  # the nodes and the version once a second
        assert [m for m in events.messages[told_before:] if m["event"] != "sessions"] == []
        relay.terminate()


def test_what_changes_is_told_and_only_that(large, run_relay):
    relay = run_relay(large)
    events = follow(relay, large)
    new, gone, attached = large.workers[-1], large.paused[10], large.paused[20]
    before = len(events.messages)
    large.forget()
    new.debugger_port = large.paused[0].debugger_port
    large.set_paused(new, True, task=task_id(1_000_000))
    large.kill(gone)
    large.set_paused(attached, False)
    large.publish()
    try:
        wait_until(lambda: told(events).get(new.id.hex(), {}).get("task_name"), "the new one is told by its name")
        wait_until(lambda: gone.id.hex() not in told(events), "the dead one is told to be gone")
        wait_until(lambda: told(events)[attached.id.hex()]["state"] == "attached", "the attached one is told")
        changes = [message for message in events.messages[before:] if message["event"] != "sessions"]
        assert {(message.get("id") or message["pause"]["id"]) for message in changes} == \
            {new.id.hex(), gone.id.hex(), attached.id.hex()}
        counts = methods(large)
        assert counts.get("GetWorkerInfo", {"requests": 0})["requests"] <= 8, counts
        assert counts["GetTaskEvents"]["requests"] <= 3, counts
        assert "GetAllActorInfo" not in counts, counts
    finally:
        new.debugger_port = 0
        large.set_paused(new, False)
        gone.alive, gone.record = True, b""
        large.set_paused(attached, True)
        large.publish()


def test_all_leave_at_once(small, run_relay):
    """Then the list of all is asked for, not each of them."""
    relay = run_relay(small)
    events = follow(relay, small)
    small.forget()
    for worker in small.paused:
        small.kill(worker)
    small.publish()
    try:
        wait_until(lambda: not told(events), "all are told to be gone")
        counts = methods(small)
        assert counts.get("GetWorkerInfo", {"requests": 0})["requests"] <= 32, counts
    finally:
        for worker in small.paused:
            worker.alive, worker.record = True, b""
        small.publish()


def test_a_late_follower_is_told_all(run_relay):
    """That is more than a follower may lag behind by, and still it is not dropped: it has not read anything yet."""
    with FakeCluster(nodes=20, workers=500, pauses=400, events=400, actors=0, name="x" * 30_000) as cluster:
        relay = run_relay(cluster)
        follow(relay, cluster)
        late = relay.upgraded("/events", "raydbg.events")
        wait_still(relay, lambda: unread(late.sock))
        greeting = json.loads(late.receive())
        assert greeting["event"] == "pauses" and len(greeting["pauses"]) == len(cluster.paused)
        assert json.loads(late.receive())["event"] == "sessions"
        late.sock.close()


def test_a_task_without_an_event_is_asked_more_and_more_seldom(small, run_relay):
    """The GCS keeps 100,000 events: those of a task that waits for long may be gone."""
    lost = small.workers[-1]
    lost.debugger_port = small.paused[0].debugger_port
    small.set_paused(lost, True, task=task_id(2_000_000), event=False)
    small.publish()
    try:
        relay = run_relay(small)
        events = follow(relay, small)
        wait_until(lambda: lost.id.hex() in told(events), "the one without a name is told")
        settle(4)
        small.forget()
        wait_until(lambda: looks(small) >= 10, "10 looks")
        assert methods(small).get("GetTaskEvents", {"requests": 0})["requests"] <= 3
    finally:
        lost.debugger_port = 0
        small.set_paused(lost, False)
        small.publish()


# --- raydbg why ---

def test_why_of_one_name_asks_little(small, tmp_path):
    """The tables once, and few processes, however many there are; tests/bench/cluster has the time."""
    small.tell_all_tasks(SMALL["events"])
    small.forget()
    done = subprocess.run([raydbg_path(), "why", small.name, "--format", "json"], env=environment(small, tmp_path),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit())
    assert done.returncode == 0 and json.loads(done.stdout)["code"] == "paused", done.stderr + done.stdout
    counts = methods(small)
    print("why of one of", SMALL, "costs", counts)
    assert of_gcs(counts, "requests") == 9, counts
    assert all(own["requests"] == 1 for name, own in counts.items() if name.startswith("GetAll")), counts
    assert counts.get("GetCoreWorkerStats", {"requests": 0})["requests"] <= 32, counts


def test_why_of_all_asks_the_same(small, tmp_path):
    small.tell_all_tasks(SMALL["events"])
    small.forget()
    done = subprocess.run([raydbg_path(), "why"], env=environment(small, tmp_path), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=limit())
    assert done.returncode == 0, done.stderr
    counts = methods(small)
    assert f"{SMALL['pauses']} running" in done.stdout, done.stdout
    assert of_gcs(counts, "requests") == 9 and "GetCoreWorkerStats" not in counts, counts


def test_the_benchmark_comes_to_its_end(tmp_path):
    """All of its parts, on a cluster of a hundredth of its size."""
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, BENCHMARK, "--scale", "0.01", "--steps", "1", "--rounds", "1", "--seconds", "0.5", "--json", figures],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit())
    assert done.returncode == 0, done.stderr[-4000:]
    [size] = json.loads(figures.read_text())
    assert size["workers"] == 1000 and {"list_s", "why_s", "relay_rss", "relay_news"} <= size.keys()
