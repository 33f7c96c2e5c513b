"""`raydbg slow` on a scripted cluster: what it prints, what it asks, and what it does where a part does not answer."""

import json

import pytest
from comma_locale import make_comma_locale
from fake_failures import FakeFailures
from test_why import run

from ray.core.generated import autoscaler_pb2, gcs_pb2, gcs_service_pb2

USAGE, NOT_FOUND, FAILED = 2, 3, 1
SECOND = 10**9  # ns
BEGIN = 1_795_000_000 * SECOND
NODE, PARENT, DRIVER = b"n" * 28, b"p" * 24, b"d" * 24
PENDING_ARGS, PENDING_NODE, SENT, RUNNING, FINISHED = 1, 2, 5, 8, 11


def task(reply, name, number, start, seconds, job=b"\x03\0\0\0", parent=DRIVER, submitted=None):
    """A task that ran from `start` on, s since BEGIN, in the process of the number's last digit."""
    task_id = PARENT if name == "loop" else number.to_bytes(24, "big")
    start = BEGIN + int(start * SECOND)
    end = start + int(seconds * SECOND)
    submitted = start - SECOND // 1000 if submitted is None else BEGIN + int(submitted * SECOND)
    event = reply.events_by_task.add(task_id=task_id, job_id=job)
    event.task_info.name, event.task_info.parent_task_id = name, parent
    event.task_info.required_resources["CPU"] = 1
    event.state_updates.node_id, event.state_updates.worker_id = NODE, bytes([number % 10]) * 28
    for state, at in ((PENDING_ARGS, submitted), (PENDING_NODE, submitted), (SENT, start - 1000), (RUNNING, start),
                      (FINISHED, end + 1000)):
        event.state_updates.state_ts_ns[state] = at
    for what in ("task:execute", f"task::{name}"):
        event.profile_events.events.add(event_name=what, start_time=start, end_time=end)


@pytest.fixture
def cluster():
    """A node with four CPUs, on which job 03 has run ten tasks in a loop, and eleven at once, and job 02 one task."""
    reply = gcs_service_pb2.GetTaskEventsReply()
    task(reply, "early", 77, 0, 1, job=b"\x02\0\0\0")
    task(reply, "loop", 3, 10, 6)
    for number in range(10):
        task(reply, "evil\x1b[31m", 100 + 10 * number, 10.01 + number * 0.51, 0.5, parent=PARENT)
    for number in range(11):
        task(reply, "even", 204 + 10 * number + number % 3, 20 + number // 3 * 0.5, 0.49, submitted=20)
    nodes = gcs_service_pb2.GetAllNodeInfoReply()
    nodes.node_info_list.add(node_id=NODE, state=gcs_pb2.GcsNodeInfo.ALIVE, start_time_ms=1)
    resources = autoscaler_pb2.GetClusterResourceStateReply()
    resources.cluster_resource_state.node_states.add(node_id=NODE).total_resources["CPU"] = 4
    jobs = gcs_service_pb2.GetAllJobInfoReply()
    jobs.job_info_list.add(job_id=b"\x02\0\0\0", is_dead=True)
    jobs.job_info_list.add(job_id=b"\x03\0\0\0")
    with FakeFailures() as fake:
        fake.tables = {**dict.fromkeys(fake.tables, b""), "GetTaskEvents": reply.SerializeToString(),
                       "GetAllNodeInfo": nodes.SerializeToString(), "GetAllJobInfo": jobs.SerializeToString(),
                       "GetClusterResourceState": resources.SerializeToString()}
        yield fake


def test_a_finding(cluster):
    header, finding = run(cluster, "slow").splitlines()
    assert header == "job 03 · 22 tasks in 8.0 s on 1 node · 4 CPUs promised, on average 2.1 tasks ran at a time"
    assert finding == ("  loop      1 ×            ray.get in a loop: its 10 calls of evil?[31m never overlap; "
                       "submit all first, if no call needs the result of the one before")
    assert set(cluster.calls) == {"InternalKVGet", *cluster.tables} and set(cluster.calls.values()) == {1}


def test_json(cluster):
    report = json.loads(run(cluster, "slow", "--format", "json"))
    [finding] = report.pop("findings")
    assert (finding["code"], finding["name"], finding["count"], finding["median_execute_ms"]) == ("get_loop", "loop", 1, None)
    assert finding["figures"]["calls"] == 10 and 4500 < finding["cost_ms"] < 4600
    assert len(report.pop("looked_for")) == 7 and 2 < report.pop("running") < 2.2 and report.pop("busy_ms") == 7991
    assert report == {"job_id": "03000000", "tasks": 22, "names": 3, "nodes": 1, "cpus": 4, "attempts_kept": 23,
                      "changes_dropped": 0, "unknown": []}


def test_a_locale_with_decimal_commas(cluster, tmp_path, monkeypatch):
    """JSON has points, and so has all else that a program or a verb reads."""
    before = run(cluster, "slow")
    for name, value in make_comma_locale(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert json.loads(run(cluster, "slow", "--format", "json"))["findings"][0]["figures"]["calls"] == 10
    assert run(cluster, "slow").partition(" · 4 CPUs")[0] == before.partition(" · 4 CPUs")[0]


def test_nothing_stands_out(cluster):
    header, nothing = run(cluster, "slow", "--job", "02").splitlines()
    assert header.startswith("job 02 · 1 task in 1.0 s on 1 node")
    assert nothing.startswith("  nothing stands out among 1 name of tasks; looked for ray.get in a loop, tasks too small")
    assert "nothing stands out" in run(cluster, "slow", "even")
    assert "its 10 calls" in run(cluster, "slow", "lo*")
    assert "Ray has none of job 03 in this time" in run(cluster, "slow", "--since", "1m")


def test_what_ray_has_dropped(cluster):
    reply = gcs_service_pb2.GetTaskEventsReply.FromString(cluster.tables["GetTaskEvents"])
    reply.num_status_task_events_dropped = 12_000
    cluster.tables["GetTaskEvents"] = reply.SerializeToString()
    assert "of what Ray kept: 23 attempts; 12000 state changes were dropped" in run(cluster, "slow")
    assert json.loads(run(cluster, "slow", "--format", "json"))["changes_dropped"] == 12_000


def test_what_is_not_there(cluster):
    error = run(cluster, "slow", "--job", "9", code=NOT_FOUND)
    assert "no job's id begins with '9'" in error and "jobs that have tasks: 02, 03" in error
    error = run(cluster, "slow", "evan", code=NOT_FOUND)
    assert "no task of job 03 has a name like 'evan'" in error and "looks at all of them" in error
    cluster.tables["GetTaskEvents"] = b""
    assert run(cluster, "slow") == "no task to look at: no job has submitted one\n"


def test_a_table_that_is_missing(cluster):
    """Without the resources it is not known whether the calls could have run side by side."""
    cluster.fail["GetClusterResourceState"] = "broken"
    out = run(cluster, "slow")
    assert "an unknown number of CPUs" in out and "not known: ray.get in a loop: " in out and "never overlap" not in out
    assert "ray.get" not in out.partition("looked for")[2].partition("\n")[0]
    cluster.fail = {method: "broken" for method in cluster.tables}
    run(cluster, "slow", code=FAILED)


def test_the_tasks_are_missing(cluster):
    """A cluster whose tasks could not be asked for is not one without tasks."""
    cluster.fail["GetTaskEvents"] = "broken today"
    assert "broken today" in run(cluster, "slow", code=FAILED)


def test_usage(cluster):
    for arguments in (["a", "b"], ["--since", "soon"], ["--format", "csv"]):
        run(cluster, "slow", *arguments, code=USAGE)
