"""What a client hears when a debugger goes away with more than its worker: the node, the cluster, or neither."""

import itertools
import json
import socket
import subprocess

import pytest
from fake_gang import FakeGang
from ray.core.generated import common_pb2
from relay_under_test import raydbg_path
from waits import limit, wait_until

DEAD = {"state": 1, "end_time_ms": 1763697603000, "death_info": {"reason_message": "it missed its health checks"}}


@pytest.fixture
def gang():
    with FakeGang(names=["square"]) as fake:
        yield fake


@pytest.fixture
def closed_port():
    """A port that refuses connections, and is nobody else's."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


@pytest.fixture
def client(gang, start_relay):
    """Attached to the gang's one task."""
    client = start_relay(None, "--address", gang.address, "--no-relay")
    client.initialize()
    client.attach({"task": "square"})
    client.stopped()
    return client


def last_words(client, gang):
    """The sentence for the client, after its debugger has gone."""
    gang.workers[0].adapter.connection().die()
    said = client.wait_event("output", lambda body: body["category"] == "important")["body"]["output"]
    client.wait_event("terminated")
    client.disconnect()
    return said


def rows(gang):
    done = subprocess.run([raydbg_path(), "list", "--no-relay", "--format", "json", "--address", gang.address],
                          capture_output=True, timeout=limit(), check=True)
    return json.loads(done.stdout)


def test_the_node_is_dead(client, gang):
    gang.node = DEAD
    assert last_words(client, gang) == ("raydbg: worker pid 5001 on 127.0.0.1 went with its node, which Ray declared "
                                        "dead at 04:00:03 UTC: it missed its health checks\n")


def test_the_node_does_not_answer(client, gang, closed_port):
    """Its raylet was killed, and Ray has not noticed yet."""
    gang.node = {"node_manager_port": closed_port}
    said = last_words(client, gang)
    assert "its node does not answer either, though Ray has not declared it dead yet" in said


def test_the_cluster_does_not_answer(client, gang):
    gang.stop()
    said = last_words(client, gang)
    assert f"the cluster {gang.address} does not answer" in said
    assert "Ray ends its workers 60 s after it has lost its GCS" in said


@pytest.mark.parametrize("how, detail, category", [
    ("INTENDED_USER_EXIT", "Worker exits because the job has finished.", "console"),
    ("INTENDED_SYSTEM_EXIT", "Worker exits because it was idle for a long time.", "console"),
    ("INTENDED_SYSTEM_EXIT", "The actor is dead because its owner has died.", "important"),
    ("INTENDED_USER_EXIT", "The actor is dead because it was killed by `ray.kill`.", "important"),
    ("SYSTEM_ERROR", "connection error code 2. End of file.", "important")])
def test_an_ordinary_end_is_no_notice(client, gang, how, detail, category):
    """Editors show an `important` output as a notice: none when the program just came to its end."""
    gang.workers[0].end = common_pb2.WorkerExitType.Value(how), detail
    gang.workers[0].adapter.connection().die()
    said = client.wait_event("output", lambda body: detail in body["output"])["body"]
    assert said["category"] == category
    client.wait_event("terminated")
    client.disconnect()


def test_a_driver_ends_after_its_debugger(client, gang):
    """Ray's own part of a driver's end takes longer than a worker's."""
    row, asked = gang._row, itertools.count(1)
    detail = "Worker exits because the job has finished."

    def driver(worker):
        if next(asked) > 12:  # a worker is asked about 8 times
            worker.end = common_pb2.WorkerExitType.Value("INTENDED_USER_EXIT"), detail
        found = row(worker)
        found.worker_type = common_pb2.WorkerType.Value("DRIVER")
        return found

    gang._row = driver
    gang.workers[0].adapter.connection().die()
    said = client.wait_event("output", lambda body: "raydbg" in body["output"])["body"]
    assert detail in said["output"] and said["category"] == "console", said
    client.wait_event("terminated")
    client.disconnect()


def test_the_worker_lives(client, gang):
    said = last_words(client, gang)
    assert said == ("raydbg: the worker's debugger went away; the cluster says that worker pid 5001 on 127.0.0.1 "
                    "lives\n")


def test_a_dead_node_s_tasks_are_not_listed(gang):
    assert [row["task_name"] for row in rows(gang)] == ["square"]
    gang.node = DEAD
    assert rows(gang) == []


def test_a_relay_hears_of_a_dead_node(gang, run_relay):
    """It knows the nodes already."""
    relay = run_relay(adapter=None, address=gang.address)
    assert len(relay.http("GET", "/v1/pauses").json["pauses"]) == 1
    gang.node = DEAD
    wait_until(lambda: not relay.http("GET", "/v1/pauses").json["pauses"], "the task is not listed any more")


def test_a_relay_says_that_its_cluster_is_silent(gang, run_relay):
    """While there is time: Ray ends its workers a minute after its GCS."""
    relay = run_relay("--hold", "on-pause", adapter=None, address=gang.address)
    client = relay.client("tcp")
    client.initialize()
    client.attach(relay.attach_arguments("tcp", task="square"))
    gang.stop()
    said = client.wait_event("output", lambda body: "does not answer" in body["output"])["body"]
    assert said["category"] == "important" and "60 s" in said["output"] and gang.address in said["output"]
    client.disconnect()


def test_a_relay_without_its_cluster_does_not_contradict_itself(run_relay, closed_port):
    relay = run_relay(adapter=None, address=f"127.0.0.1:{closed_port}")
    wait_until(lambda: "for now" in relay.stderr(), "the relay says that the cluster does not know it")
    said = relay.stderr()
    assert "find this relay by themselves: on this machine now, on others once the cluster knows it" in said
    assert "clients on other machines do not find the relay for now" in said
