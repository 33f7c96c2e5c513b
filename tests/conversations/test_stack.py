"""`raydbg stack` and `raydbg timeline` on a recorded cluster: the operator's switch in all its states, and no more calls than
needed."""

import http.server
import json
import threading
from contextlib import contextmanager

import pytest
import trace_checker
from fake_failures import FakeFailures
from test_why import run

FAILED, DENIED = 1, 4
SESSION = "session_2026-11-23_18-00-00_000001_1"
VERSION = {"ray_version": "2.60.0", "session_name": SESSION}


@contextmanager
def dashboard(answers):
    """Gives (address, paths asked for). `answers`: path to an object, or a status; other paths are 404."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            asked.append(self.path)
            answer = answers.get(self.path, 404)
            body = b"{}" if isinstance(answer, int) else json.dumps(answer).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.fixture
def cluster():
    with FakeFailures() as fake:
        fake.store[b"session_name"] = SESSION.encode()
        yield fake


def switched(enabled):
    return {"/api/version": VERSION, "/api/profiling_enabled": {"result": True, "data": {"profilingEnabled": enabled}}}


@pytest.fixture
def allowed(cluster):
    with dashboard(switched(True)) as (address, asked):
        cluster.store[b"dashboard"] = address.encode()
        yield cluster
        assert asked == ["/api/version", "/api/profiling_enabled"] * (len(asked) // 2)  # for each command


def test_every_process_is_asked_once_and_few_at_a_time(allowed):
    answer = json.loads(run(allowed, "stack", "--all", "--format", "json"))
    count = len(answer["processes"])
    assert count > 8 and allowed.calls["GetTraceback"] == count
    nodes = {process["node_id"] for process in answer["processes"]}
    assert 2 <= allowed.most_at_once <= 2 * len(nodes)
    assert answer["tree"]["tasks"] == count and answer["tree"]["stacks"] == 1
    text = run(allowed, "stack", "--all").splitlines()
    assert f"{count} tasks, 1 different stack" in text[1] and "sleeps  app.py:7" in text[2]


def test_what_py_spy_says(allowed):
    pids = [process["pid"] for process in json.loads(run(allowed, "stack", "--all", "--format", "json"))["processes"]]
    allowed.stacks = {pid: ValueError("Error: Permission Denied: Try running again with elevated permissions") for pid in pids}
    allowed.stacks[pids[0]] = "\x1b[31mnonsense"
    del allowed.stacks[pids[1]]
    said = run(allowed, "stack", "--all")
    assert "1 task, 1 different stack" in said and "SYS_PTRACE" in said and "its text is not one of py-spy's" in said
    assert f"not shown: {len(pids) - 2} processes, py-spy may not read" in said and "\x1b" not in said
    allowed.stacks = {pid: ValueError("Failed to execute: py-spy is not installed") for pid in pids}
    said = run(allowed, "stack", "--all", code=FAILED)
    assert "py-spy is not installed" in said and "pip install py-spy" in said


@pytest.fixture
def refused(cluster):
    """No agent is asked, whatever the dashboard says."""
    yield cluster
    assert not cluster.calls["GetTraceback"]


@pytest.mark.parametrize("answers, says", [
    (switched(False), "RAY_DASHBOARD_ENABLE_PROFILING=1"),
    ({**switched(True), "/api/version": {**VERSION, "session_name": "session_of_another"}}, "belongs to another cluster"),
    ({**switched(True), "/api/profiling_enabled": 500}, "cannot be found out"),
    ({**switched(True), "/api/profiling_enabled": 403}, "cannot be found out"),
    ({**switched(True), "/api/profiling_enabled": {"data": {"profilingEnabled": "true"}}}, "cannot be found out"),
    ({**switched(True), "/api/profiling_enabled": [1]}, "cannot be found out"),
    ({**switched(True), "/api/version": 404}, "cannot be found out")])
def test_the_switch(refused, answers, says):
    with dashboard(answers) as (address, _):
        refused.store[b"dashboard"] = address.encode()
        assert says in run(refused, "stack", code=DENIED)


@pytest.mark.parametrize("address, says", [(None, "no dashboard"), (b"127.0.0.1:1", "cannot connect"), (b"a b", "cannot be found")])
def test_no_dashboard_to_ask(refused, address, says):
    if address:
        refused.store[b"dashboard"] = address
    assert says in run(refused, "stack", code=DENIED)


def test_a_ray_that_has_no_switch(cluster):
    """The dashboard of 2.60 says 404 to it if it is not there; an older one is not asked."""
    with dashboard({"/api/version": VERSION}) as (address, asked):
        cluster.store[b"dashboard"] = address.encode()
        assert "sleeps  app.py:7" in run(cluster, "stack", "--all")
        assert asked == ["/api/version", "/api/profiling_enabled"]
    with FakeFailures(ray="2.9.3") as old:
        assert "sleeps  app.py:7" in run(old, "stack", "--all")


def test_an_agent_that_fails(allowed):
    allowed.fail["GetTraceback"] = "no stack today"
    assert "no stack of process" in run(allowed, "stack", "--all", code=FAILED)


def test_a_timeline_is_seven_tables(cluster):
    trace = json.loads(run(cluster, "timeline", "-o", "-"))
    assert trace_checker.faults(trace) == []
    states = {event["args"]["state"] for event in trace["traceEvents"] if "state" in event.get("args", {})}
    assert {"failed", "finished"} <= states
    assert set(cluster.calls) == {"InternalKVGet", "GetTaskEvents", "GetAllWorkerInfo", "GetAllActorInfo", "GetAllNodeInfo",
                                  "GetAllJobInfo", "GetAllPlacementGroup", "GetClusterResourceState"}
    assert set(cluster.calls.values()) == {1}


def test_a_timeline_without_the_tasks(cluster, tmp_path):
    """It does not replace the file that is there."""
    cluster.fail["GetTaskEvents"] = "broken today"
    (tmp_path / "trace.json").write_text("of before")
    assert "broken today" in run(cluster, "timeline", code=FAILED)
    assert "broken today" in run(cluster, "timeline", "-o", str(tmp_path / "trace.json"), code=FAILED)
    assert (tmp_path / "trace.json").read_text() == "of before"


@pytest.mark.parametrize("arguments", [(), ("--all",), ("sleeps",), ("127.0.0.1",), ("--node", "127.0.0.1")])
@pytest.mark.parametrize("table", ["GetAllWorkerInfo", "GetAllNodeInfo"])
def test_a_table_that_is_missing(refused, table, arguments):
    """Processes that are not known are not said to be none."""
    refused.fail[table] = "broken today"
    assert "broken today" in run(refused, "stack", *arguments, code=FAILED)


def test_stacks_without_the_tasks(allowed):
    """All processes, or a process, can be shown without them; those that run something cannot."""
    allowed.fail["GetTaskEvents"] = "broken today"
    processes = json.loads(run(allowed, "stack", "--all", "--format", "json"))["processes"]
    assert len(processes) > 8
    process = f"{processes[0]['pid']}@{processes[0]['node_id']}"
    assert len(json.loads(run(allowed, "stack", process, "--format", "json"))["processes"]) == 1
    assert "broken today" in run(allowed, "stack", code=FAILED)
    assert "broken today" in run(allowed, "stack", "127.0.0.1", code=FAILED)
