"""`raydbg why` and `raydbg logs` where a part of the cluster does not answer: nothing is guessed, and nothing hangs."""

import json
import os
import signal
import subprocess

import pytest
import sanitizers
from fake_failures import FakeFailures
from ray.core.generated.gcs_service_pb2 import GetTaskEventsReply
from relay_under_test import raydbg_path
from waits import limit, settle

NOT_FOUND, UNREACHABLE, FAILED = 3, 5, 1


@pytest.fixture
def cluster():
    with FakeFailures() as fake:
        yield fake


def popen(cluster, *arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return subprocess.Popen([raydbg_path(), *arguments, "--address", cluster.address], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**clean, **sanitizers.ENV})


def run(cluster, *arguments, code=0):
    process = popen(cluster, *arguments)
    out, err = (text.decode(errors="surrogateescape") for text in process.communicate(timeout=limit()))
    sanitizers.check(process.returncode, err)
    assert process.returncode == code, err
    return out if code == 0 else err


def why(cluster, name, **options):
    return json.loads(run(cluster, "why", name, "--format", "json", **options))


def test_a_look_is_ten_calls(cluster):
    assert why(cluster, "segv")["code"] == "native_crash"
    assert dict(cluster.calls) == {"InternalKVGet": 1, "InternalKVKeys": 1, "GetTaskEvents": 1, "GetAllWorkerInfo": 1,
                                   "GetAllActorInfo": 1, "GetAllNodeInfo": 1, "GetAllJobInfo": 1, "GetAllPlacementGroup": 1,
                                   "GetClusterResourceState": 1, "ListLogs": 1, "StreamLog": 1}


def test_an_exception_needs_no_log(cluster):
    assert why(cluster, "failed_parent")["code"] == "exception"
    assert not cluster.calls["ListLogs"]


@pytest.mark.parametrize("key", ["DASHBOARD_AGENT_ADDR_NODE_ID_PREFIX:", "DASHBOARD_AGENT_PORT_PREFIX:"])
def test_agents_of_older_rays_are_found_in_the_store(cluster, key):
    cluster.agent_in_store = key
    assert why(cluster, "segv")["code"] == "native_crash"


def test_an_agent_that_is_nowhere(cluster):
    cluster.agent_in_store = "NO SUCH KEY"
    report = why(cluster, "segv")
    assert report["code"] == "process_lost" and "agent of node 127.0.0.1" in report["unknown"][0]


def test_an_agent_that_fails(cluster):
    cluster.fail["ListLogs"] = "no list today"
    report = why(cluster, "segv")
    assert report["code"] == "process_lost" and "127.0.0.1" in report["unknown"][0], report


def test_a_log_that_is_gone(cluster):
    [name] = cluster.logs
    cluster.fail["StreamLog"] = "it was rotated away"
    report = why(cluster, "segv")
    assert report["code"] == "process_lost" and report["unknown"], report
    del cluster.fail["StreamLog"]
    cluster.logs = {}
    assert "no log file of it" in why(cluster, "segv")["unknown"][0]


def test_a_log_that_ray_has_moved(cluster):
    """Ray's log monitor puts the output of processes that have ended into old/, where a node has many files."""
    [name] = cluster.logs
    cluster.logs = {f"old/{name}": cluster.logs[name], name.replace(".err", ".out"): b""}  # an empty file is not moved
    report = why(cluster, "segv")
    assert report["code"] == "native_crash" and f"old/{name}" in report["details"][0], report


def test_a_process_without_last_words(cluster):
    [name] = cluster.logs
    cluster.logs = {name: b":task_name:segv\nhello\n"}
    report = why(cluster, "segv")
    assert report["code"] == "killed_or_exited" and "neither signal nor exit code" in report["unknown"][0]


def test_a_long_log_is_read_from_its_end(cluster):
    [name] = cluster.logs
    cluster.logs[name] = b"x" * 99 + b"\n" + b"a line of the program\n" * 200_000 + cluster.logs[name]
    assert why(cluster, "segv")["code"] == "native_crash"


@pytest.mark.parametrize("method, name, code", [
    ("GetAllWorkerInfo", "segv", "process_lost"), ("GetClusterResourceState", "infeasible", "waits_for_node"),
    ("GetAllNodeInfo", "segv", "process_lost"), ("GetAllActorInfo", "segv", "native_crash")])
def test_a_table_that_is_missing(cluster, method, name, code):
    cluster.fail[method] = "the table is broken"
    report = why(cluster, name)
    assert report["code"] == code and any("the table is broken" in line or "answered with an error" in line
                                          for line in report["unknown"]), report


def test_events_that_ray_has_dropped(cluster):
    """What the other tables tell is told all the same; of the task itself, that Ray has forgotten it."""
    worker, task = cluster.worker_of("segv"), cluster.attempt_of("segv").task_id.hex()
    cluster.tables["GetTaskEvents"] = GetTaskEventsReply(num_status_task_events_dropped=7).SerializeToString()
    assert "Ray has forgotten 7 changes of tasks" in run(cluster, "why", "segv", code=NOT_FOUND)
    assert why(cluster, worker)["code"] == "native_crash"
    report = why(cluster, "killed_actor")
    assert report["code"] == "process_lost" and "no log file of it" in report["unknown"][0], report
    report = why(cluster, task + "01000000")
    assert (report["kind"], report["code"]) == ("object", "unknown"), report
    assert "its owner did not answer" in report["unknown"][0], report


def test_no_table_at_all(cluster):
    for method in cluster.tables:
        cluster.fail[method] = "everything is broken"
    run(cluster, "why", "segv", code=FAILED)
    run(cluster, "why", code=FAILED)


def test_without_the_tasks_nothing_is_counted(cluster):
    """That no task waits or failed is not known then; what the other tables tell is told all the same."""
    cluster.fail["GetTaskEvents"] = "the tasks are broken"
    for which in ("--failed", "--running"):
        for form in ("table", "json"):
            assert "the tasks are broken" in run(cluster, "list", which, "--format", form, code=FAILED)
    said = run(cluster, "why", "--since", "9999d")
    assert "not known: the tasks: " in said and "killed_actor" in said and "running," not in said, said
    overview = json.loads(run(cluster, "why", "--since", "9999d", "--format", "json"))
    assert overview["tasks"] is None and overview["rows"], overview
    assert len(overview["unknown"]) == 1 and overview["unknown"][0].startswith("the tasks: "), overview
    job = why(cluster, "01")
    assert job["kind"] == "job" and not [line for line in job["details"] if line.startswith("its tasks: ")], job


def test_nothing_failed_is_said_of_a_whole_cluster_only(cluster):
    for method in ("GetAllActorInfo", "GetAllPlacementGroup"):
        cluster.tables[method] = b""
    cluster.tables["GetTaskEvents"] = GetTaskEventsReply(num_status_task_events_dropped=7).SerializeToString()
    said = run(cluster, "why", "--since", "1s")
    assert "Nothing waits, and nothing failed" in said and "Ray has forgotten 7 changes of tasks" in said, said
    assert json.loads(run(cluster, "why", "--format", "json"))["dropped"] == 7
    assert "Ray has forgotten 7 changes of tasks" in run(cluster, "list", "--failed")
    cluster.fail["GetAllActorInfo"] = "no actors today"
    said = run(cluster, "why", "--since", "1s")
    assert "Nothing waits" not in said and "not known: the actors: " in said and "0 running" in said, said
    assert "not known: the actors: " in run(cluster, "list", "--running")


def test_an_agent_that_is_silent(cluster):
    cluster.silent.add("StreamLog")
    report = why(cluster, "segv")
    assert report["code"] == "process_lost" and "no answer from 127.0.0.1" in report["unknown"][0], report


def test_logs_have_the_bytes(cluster):
    event = cluster.attempt_of("kill9_later")
    out, err = event.state_updates.task_log_info.stdout_file, event.state_updates.task_log_info.stderr_file
    start = event.state_updates.task_log_info.stdout_start
    data = bytes(range(256)) * 5000 + b"no end"
    cluster.logs = {out.rpartition("/")[2]: b"?" * start + data, err.rpartition("/")[2]: b""}
    process = popen(cluster, "logs", "kill9_later", "--out")
    shown, talk = process.communicate(timeout=limit())
    sanitizers.check(process.returncode, talk.decode(errors="replace"))
    lines = [line for line in data.split(b"\n") if not line.startswith((b":job_id:", b":task_name:", b":actor_name:"))]
    assert process.returncode == 0 and shown == b"\n".join(lines)


def drop_offsets(cluster, name):
    """Ray has none of a task that died within a second of its start."""
    reply = GetTaskEventsReply.FromString(cluster.tables["GetTaskEvents"])
    [event] = [event for event in reply.events_by_task if event.task_info.name == name]
    event.state_updates.ClearField("task_log_info")
    cluster.tables["GetTaskEvents"] = reply.SerializeToString()


def test_the_last_lines_of_a_task_without_offsets(cluster):
    """Its marker is before them, and other tasks' lines are behind them."""
    drop_offsets(cluster, "segv")
    [name] = cluster.logs
    lines = b"".join(b"line %d\n" % number for number in range(100))
    cluster.logs = {name: b":task_name:segv\n" + lines + b":task_name:other\n" + b"of another\n" * 30}
    assert run(cluster, "logs", "segv", "--tail", "2") == "line 98\nline 99\n"


def test_the_last_lines_behind_many_markers(cluster):
    """A worker writes a marker for each task, into both files; the agent counts markers as lines."""
    [name] = cluster.logs
    cluster.logs = {name: b"the first\nthe warning\n" + b":task_name:f\n" * 3000}
    worker = cluster.worker_of("segv")
    assert run(cluster, "logs", worker, "--err", "--tail", "1") == "the warning\n"
    asked = cluster.calls["StreamLog"]
    assert run(cluster, "logs", worker, "--err", "--tail", "2999") == "the first\nthe warning\n"
    assert cluster.calls["StreamLog"] == asked + 1  # with them the agent has given the whole file


def test_the_last_lines_take_one_look(cluster):
    """No more than these lines are asked for where they are enough."""
    [name] = cluster.logs
    cluster.logs = {name: b"".join(b":task_name:f\nline %d\n" % number for number in range(10_000))}
    assert run(cluster, "logs", cluster.worker_of("segv"), "--tail", "2") == "line 9998\nline 9999\n"
    assert cluster.calls["StreamLog"] == 1


def test_a_long_log_does_not_hide_the_end_from_a_relay(cluster, run_relay):
    """A task without offsets crashed at once in a process that has written more than a relay reads."""
    relay = run_relay(adapter=None, address=cluster.address)
    drop_offsets(cluster, "segv")
    [name] = cluster.logs
    other = b":task_name:other\n" + (b"x" * 999 + b"\n") * (17 << 10)
    cluster.logs = {name.replace(".err", ".out"): b":task_name:segv\nold\n" + other + b":task_name:segv\nnew\n",
                    name: b":task_name:segv\ntraceback\n"}
    answer = relay.http("GET", "/v1/logs/segv")
    assert answer.status == 200
    assert answer.body.decode().splitlines() == ["[lines from before these may be missing: 8 MiB have been read]",
                                                 "out  new", "err  traceback"]


def test_long_lines_do_not_hide_the_end_from_a_relay(cluster, run_relay):
    """The agent begins with the first of the lines that it is asked for, and these are more than a relay reads."""
    relay = run_relay(adapter=None, address=cluster.address)
    [name] = cluster.logs
    cluster.logs = {name: b"".join(b"%d %s\n" % (number, b"x" * 20_000) for number in range(1000)) + b"traceback\n"}
    lines = relay.http("GET", f"/v1/logs/{cluster.worker_of('segv')}").body.decode().splitlines()
    assert lines[0] == "[lines from before these may be missing: 8 MiB have been read]"
    assert lines[-1] == "traceback" and lines[-2].startswith("999 "), lines[-1][:100]


def test_an_agent_that_gives_no_more_hides_nothing(cluster, run_relay):
    """It answers the first question, and not the one for more lines: what it gave is shown, and that some is missing."""
    relay = run_relay(adapter=None, address=cluster.address)
    [name] = cluster.logs
    cluster.logs = {name: b":task_name:f\n" * 30_000 + b"traceback\n"}
    cluster.fail_after = 1
    lines = relay.http("GET", f"/v1/logs/{cluster.worker_of('segv')}").body.decode().splitlines()
    assert lines == ["[lines from before these may be missing: the node gives no more]", "traceback"]


def test_a_relay_reads_no_more_than_it_answers(cluster, run_relay):
    """An agent that goes on for ever: 8 MiB of each file are read, three times, and answered once."""
    relay = run_relay(adapter=None, address=cluster.address)
    [name] = cluster.logs
    cluster.endless = True
    url = f"/v1/logs/{cluster.worker_of('segv')}"
    cluster.logs = {file: b"a line of the program\n" * 1000 for file in (name, name.replace(".err", ".out"))}
    answer = relay.http("GET", url)
    notice = b"\n[the rest is not shown: the first 8 MiB have been read]\n"
    out, err, rest = answer.body.split(notice)
    assert answer.status == 200 and rest == b"", answer.body[-300:]
    assert out.count(b"out  ") == 1000 and err.count(b"err  ") == 1000, answer.body[-300:]
    cluster.logs = {name: b"a line without an end" * 1000}
    answer = relay.http("GET", url)
    assert answer.status == 200 and 0.9 * (8 << 20) <= len(answer.body) <= (8 << 20) + len(notice)


def test_a_pager_may_take_its_time(cluster):
    """A reader that does not read for longer than an agent may be silent gets all the same the whole log."""
    event = cluster.attempt_of("kill9_later")
    out = event.state_updates.task_log_info.stdout_file.rpartition("/")[2]
    data = b"a line of the program\n" * 400_000
    cluster.logs = {out: b"?" * event.state_updates.task_log_info.stdout_start + data}
    process = popen(cluster, "logs", "kill9_later", "--out")
    shown = os.read(process.stdout.fileno(), 22)
    settle(11)  # timed: more than SILENCE_MS of node_log.c
    rest, talk = process.communicate(timeout=limit())
    sanitizers.check(process.returncode, talk.decode(errors="replace"))
    assert process.returncode == 0, talk
    assert shown + rest == data


def test_an_agent_that_goes_silent(cluster, clock, monkeypatch):
    for name, value in clock.env.items():
        monkeypatch.setenv(name, value)
    [name] = cluster.logs
    cluster.stalled = True
    process = popen(cluster, "logs", cluster.worker_of("segv"))
    assert process.stdout.readline()
    clock.pass_time(21)
    _, talk = process.communicate(timeout=limit())
    sanitizers.check(process.returncode, talk.decode(errors="replace"))
    assert process.returncode == UNREACHABLE and b"no answer from 127.0.0.1" in talk, talk


def test_a_log_that_cannot_be_read(cluster):
    assert "cannot be read" in run(cluster, "logs", "kill9_later", code=NOT_FOUND)
    cluster.fail["StreamLog"] = "broken"
    assert "raydbg: " in run(cluster, "logs", "kill9_later", code=FAILED)


def test_an_error_of_a_later_look_is_none_of_the_end(cluster):
    """Who follows a log through `head` gets no error of a cluster that did not answer meanwhile."""
    [name] = cluster.logs
    cluster.endless = True
    process = popen(cluster, "logs", cluster.worker_of("segv"), "--follow")
    assert process.stdout.read(1000)
    cluster.fail = dict.fromkeys(cluster.tables, "broken today")
    looks = cluster.calls["GetTaskEvents"]
    while cluster.calls["GetTaskEvents"] < looks + 2:
        assert process.stdout.read(1000)
    process.stdout.close()
    talk = process.stderr.read().decode()
    sanitizers.check(process.wait(limit()), talk)
    assert process.returncode == 0 and "broken today" not in talk, talk


def test_following_ends_with_the_signal(cluster):
    [name] = cluster.logs
    process = popen(cluster, "logs", cluster.worker_of("segv"), "--follow")
    assert b":job_id:" not in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=limit())
    assert process.returncode in (-signal.SIGINT, 130)
