"""One session over many tasks, of which some die."""

import threading

import pytest
from many_adapter import ManyAdapter
from many_gang import attach, gang, join, thread_of  # noqa: F401
from many_session import port_of, threads
from waits import limit, settle, wait_until

PATH = "/app/app.py"


def test_ids_of_one_that_is_gone(attach, gang):
    client = attach()
    worker = gang.workers[1]
    thread = thread_of(client, worker)
    frame = client.stack(thread)[0]["id"]
    scope = client.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    client.ok("continue", {"threadId": thread_of(client, gang.workers[0])})
    gang.remove(worker)
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    asked = {w.pid: len(w.adapter.requests()) for w in gang.workers}
    for command, arguments in (("stackTrace", {"threadId": thread}), ("scopes", {"frameId": frame}),
                               ("variables", {"variablesReference": scope}), ("next", {"threadId": thread}),
                               ("evaluate", {"expression": "1", "frameId": frame, "context": "repl"}),
                               ("pause", {"threadId": thread}), ("exceptionInfo", {"threadId": thread}),
                               ("raydbg/objects", {"threadId": thread}),
                               ("raydbg/stepIntoRemote", {"threadId": thread}),
                               ("goto", {"threadId": thread, "targetId": 3})):
        assert not client.request(command, arguments)["success"], command
    # One task still stands: it is not the one that was meant.
    client.request("continue", {"threadId": thread})
    assert {w.pid: len(w.adapter.requests()) for w in gang.workers} == asked


def ends(how, after=0.0):
    """A handler: the worker is killed, or its debugger says goodbye."""
    def handle(connection, request):
        settle(after)
        if how == "goodbye":
            connection.event("terminated")
            connection.ended.wait(limit())
        connection.die("rst")

    return handle


@pytest.mark.parametrize("how", ["killed", "goodbye"])
def test_one_that_dies_while_breakpoints_are_set(attach, gang, how):
    client = attach()
    thread = thread_of(client, gang.workers[1])
    gang.workers[1].adapter.on["setBreakpoints"] = ends(how, 0.3)
    worker = gang.workers.pop(1)
    body = client.ok("setBreakpoints", {"source": {"path": PATH}, "breakpoints": [{"line": 3}]})
    assert body["breakpoints"][0]["verified"]
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    worker.adapter.close()


@pytest.mark.parametrize("how", ["killed", "goodbye"])
def test_one_that_dies_before_it_answers_a_continue(attach, gang, how):
    client = attach()
    worker = gang.workers[1]
    thread = thread_of(client, worker)
    worker.adapter.on["continue"] = ends(how)
    gang.workers.remove(worker)
    assert not client.request("continue", {"threadId": thread})["success"]
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    assert len(threads(client)) == 2
    worker.adapter.close()


@pytest.mark.parametrize("how", ["killed", "goodbye"])
def test_a_worker_of_several_threads_dies_while_all_are_compared(attach, gang, how):
    """Each of its threads was asked: nobody hears of the second answer that will not come."""
    pool = gang.add("Pool.work", adapter=ManyAdapter(threads=8))
    client = attach(11)
    pool.adapter.on["evaluate"] = ends(how)
    gang.workers.remove(pool)
    body = client.ok("raydbg/compare", {"expression": "x"})
    assert body["asked"] == 11 and len(body["values"]) + len(body["notAsked"]) == 11
    assert sum(1 for value in body["values"] if value.get("error")) + len(body["notAsked"]) == 8
    assert len(threads(client)) == 3
    pool.adapter.close()


def test_two_stop_at_once_and_one_is_gone_at_once(attach, gang):
    """The stop of one that died right behind it is told before its thread exits, or not at all."""
    client = attach()
    first, second, third = gang.workers
    for worker in first, second:
        client.ok("continue", {"threadId": thread_of(client, worker)})
    thread, dead = thread_of(client, first), thread_of(client, second)
    gang.workers.remove(second)
    barrier = threading.Barrier(2)

    def stop(worker, dies):
        barrier.wait()
        worker.adapter.stop(1)
        if dies:
            worker.adapter.connections[-1].die("rst")

    both = [threading.Thread(target=stop, args=arguments) for arguments in ((first, False), (second, True))]
    for one in both:
        one.start()
    client.stopped(threadId=thread, allThreadsStopped=False)
    exited = client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": dead})
    assert not [e for e in client.events("stopped") if e["body"]["threadId"] == dead and e["seq"] > exited["seq"]]
    wait_until(lambda: len(threads(client)) == 2, lambda: threads(client))
    for worker in first, third:
        assert port_of(client, thread_of(client, worker)) == worker.adapter.port
    for one in both:
        one.join()
    second.adapter.close()
