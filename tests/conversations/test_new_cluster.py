"""A relay that outlives its cluster: another one starts at the same address, with an older Ray."""

import pytest
from fake_ray import TASK, FakeRay
from waits import wait_until

OTHER_TASK = bytes([TASK[0] ^ 1]) + TASK[1:]
# GetTaskEventsRequest.filters, with the id: Ray from 2.41 on, and before. The former ends a GCS of the latter.
V2, V1 = b"\x22\x1c\x12\x1a\x12\x18", b"\x22\x1a\x12\x18"


def has_task(relay, task):
    return lambda: any(pause["task_name"] == "work" for pause in relay.pauses() if pause["task_id"] == task.hex())


def is_silent(relay):
    """Whether the relay has said that its cluster does not answer."""
    return "problem" in relay.http("GET", "/v1/pauses").json


@pytest.mark.parametrize("seen", [True, False], ids=["that ends while it is asked", "that ends unseen"])
def test_the_next_cluster_is_asked_in_its_own_words(adapter, ray, run_relay, clock, seen):
    relay = run_relay(adapter=None, address=ray.address, env=clock.env)
    wait_until(has_task(relay, TASK), "the first cluster's task has its name")
    assert ray.task_requests and all(asked == V2 + TASK for asked in ray.task_requests), ray.task_requests
    ray.stop()
    if seen:
        wait_until(lambda: is_silent(relay), "the relay sees that the cluster is gone")
    else:
        clock.pass_time(2)
    with FakeRay(adapter.port, version="2.40.0", port=ray.port) as other:
        other.old_numbers = True
        other.tasks, other.task = {OTHER_TASK: "work"}, OTHER_TASK
        wait_until(lambda: not is_silent(relay), "the relay reaches the next cluster")
        wait_until(has_task(relay, OTHER_TASK), "the next cluster's task has its name")
        assert all(asked.startswith(V1) for asked in other.task_requests), other.task_requests
