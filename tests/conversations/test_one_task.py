"""A session over one task: what its client is told of it, and what its debug console takes beside Python."""

import pytest
from dap_client import DapError
from waits import settle, wait_until


def answer_rank(adapter, rank):
    def evaluate(connection, request):
        if "WORLD_RANK" not in request["arguments"]["expression"]:
            return adapter.on_evaluate(connection, request)
        return connection.respond(request, {"result": f"'{rank}'", "variablesReference": 0, "type": "str"})
    adapter.on["evaluate"] = evaluate


def asked_for_rank(adapter):
    return [r["arguments"]["frameId"] for r in adapter.requests("evaluate") if "WORLD_RANK" in str(r)]


def test_restart_shows_the_stop_again_and_lets_nothing_go(adapter, relay):
    assert relay.initialize()["supportsRestartRequest"] is True
    relay.attach({"request": "attach"})
    first = relay.stopped()
    relay.ok("restart", {"arguments": {}})
    assert relay.stopped() == first
    assert relay.locals(3)["x"]["value"] == "3"
    assert not {"restart", "disconnect", "continue"} & set(adapter.commands())
    relay.disconnect()


def test_restart_of_a_task_that_runs_says_nothing_of_a_stop(adapter, relay):
    relay.start()
    relay.resume(1)
    relay.ok("restart")
    relay.assert_no_event("stopped", 0.2)
    assert "restart" not in adapter.commands()
    relay.disconnect()


def test_threads_are_called_after_the_task_and_its_process(adapter, attach):
    answer_rank(adapter, "")
    client = attach()
    assert client.ok("threads")["threads"] == [{"id": 1, "name": "pid 5842 work 127.0.0.1"}]
    client.disconnect()
    client = attach(threadName="{task} {job}", allThreads=True)
    assert client.ok("threads")["threads"] == [{"id": 1, "name": "work 01"}, {"id": 2, "name": "PythonGCThread"}]
    client.disconnect()


def test_a_rank_comes_with_the_first_stack(adapter, attach):
    answer_rank(adapter, "3")
    client = attach()
    client.stack(1)
    wait_until(lambda: client.ok("threads")["threads"][0]["name"] == "rank 3 work 127.0.0.1 pid 5842", "the rank")
    client.stack(1)
    client.disconnect()
    assert len(asked_for_rank(adapter)) == 1


@pytest.mark.parametrize("answer, arguments, asked", [("", {}, 1), ("x", {}, 1), ("3", {"threadName": "{task}"}, 0)])
def test_no_rank_is_no_news(adapter, attach, answer, arguments, asked):
    answer_rank(adapter, answer)
    client = attach(**arguments)
    client.stack(1)
    wait_until(lambda: len(asked_for_rank(adapter)) >= asked, "the rank is asked for")
    settle()
    assert client.ok("threads")["threads"][0]["name"] == ("work" if arguments else "pid 5842 work 127.0.0.1")
    assert len(asked_for_rank(adapter)) == asked
    client.disconnect()


def test_a_thread_of_rays_that_has_stopped_is_listed(adapter, attach):
    client = attach()
    adapter.connections[-1].stop("breakpoint", threadId=2)
    client.stopped(threadId=2)
    assert [thread["id"] for thread in client.ok("threads")["threads"]] == [1, 2]
    client.disconnect()


def test_help_lists_the_verbs(adapter, relay):
    relay.start()
    evaluated = len(adapter.requests("evaluate"))
    text = relay.evaluate(" /help ", 3)
    assert all(f"/{verb}" in text for verb in ("next", "step", "out", "continue", "release"))
    labels = [target["label"] for target in relay.ok("completions", {"frameId": 3, "text": "/n", "column": 3})["targets"]]
    assert labels == ["/next"]
    with pytest.raises(DapError, match="no verb '/nonsense'.*/help"):
        relay.evaluate("/nonsense", 3)
    with pytest.raises(DapError, match="'/compare' is for a session over many tasks.*\"tasks\""):
        relay.evaluate("/compare x", 3)
    assert len(adapter.requests("evaluate")) == evaluated
    relay.evaluate("/tmp", 3, context="watch")  # an expression of the user's is debugpy's to judge
    assert len(adapter.requests("evaluate")) == evaluated + 1
    relay.disconnect()


def test_verbs_step_and_continue(adapter, relay):
    relay.start()
    relay.evaluate("/next", 3)
    assert relay.wait_event("continued")["body"]["threadId"] == 1
    assert relay.stopped()["reason"] == "step"
    relay.evaluate("/c", 3)
    adapter.wait_request("continue")
    with pytest.raises(DapError, match="the task is running"):
        relay.evaluate("/next")
    relay.disconnect()


def test_a_step_by_a_verb_that_fails_leaves_the_thread_stopped(adapter, relay):
    adapter.on["next"] = lambda c, request: c.respond(request, success=False, message="no line")
    relay.start()
    relay.evaluate("/next", 3)
    assert "next failed: no line" in relay.wait_event("output", lambda e: "failed" in e["output"])["body"]["output"]
    assert relay.stopped()["threadId"] == 1
    relay.disconnect()


def test_a_session_ends_with_its_task(adapter, ray, attach):
    client = attach(endWithTask=True)
    ray.running = False
    client.resume(1)
    client.wait_event("output", lambda e: "work has ended" in e["output"])
    client.wait_event("terminated")
    client.disconnect()
    assert not [e for e in client.events("output") if "goes on" in e["body"]["output"]]


def test_a_task_that_goes_on_keeps_its_session(adapter, ray, attach):
    client = attach(endWithTask=True)
    asked = ray.asked["GetAllWorkerInfo"]
    client.resume(1)
    ray.wait_asked("GetAllWorkerInfo", asked + 3)
    assert not client.events("terminated")
    adapter.connections[-1].stop("breakpoint")
    client.stopped()
    client.disconnect()
