"""One session over many tasks of a real two-node Ray."""

from contextlib import ExitStack, suppress

import pytest
from cluster import PROGRAMS, line_of, wait_for
from dap_client import DapError

MANY = PROGRAMS / "many.py"


@pytest.fixture(params=["relay", "alone"])
def attach(request, cluster, run_relay):
    """attach(**arguments): a client that is attached to many, through a relay or without one."""
    stack = ExitStack()

    def start(breakpoints=None, **arguments):
        if request.param == "relay":
            relay = run_relay(cluster)
            client = relay.client("tcp")
            arguments = relay.attach_arguments("tcp", **arguments)
        else:
            client = stack.enter_context(cluster.raydbg_dap())
        client.initialize(clientID="vscode", clientName="editor")
        client.attach({"tasks": "*", **arguments}, breakpoints)
        return client

    with stack:
        yield start


def shown(client):
    return client.wait_event("stopped", lambda body: body.get("allThreadsStopped"))["body"]


def threads(client):
    return {thread["name"]: thread["id"] for thread in client.ok("threads")["threads"]}


def thread_of(client, start):
    """The thread whose name starts so."""
    return next(id for name, id in threads(client).items() if name.startswith(start))


def wait_names(client, starts):
    def find():
        names = sorted(threads(client))
        right = len(names) == len(starts) and all(n.startswith(s) for n, s in zip(names, sorted(starts)))
        return names if right else None
    return wait_for(find, lambda: f"threads {starts}, not {sorted(threads(client))}")


def assert_at(client, thread, marker):
    top = client.stack(thread)[0]
    assert top["line"] == line_of(MANY, marker), client.text()
    return top


def test_a_step_moves_one_of_many_on_two_nodes(cluster, attach):
    driver = cluster.driver("many.py", "4")
    cluster.wait_paused(4)
    client = attach()
    assert shown(client)["preserveFocusHint"] is False
    wait_names(client, [f"rank {rank} Trainer.step" for rank in range(4)])
    nodes = {name.split()[3] for name in threads(client)}
    assert nodes == {"127.0.0.1", "127.0.0.2"}
    ranks = {rank: thread_of(client, f"rank {rank} ") for rank in range(4)}
    for rank, thread in ranks.items():
        top = assert_at(client, thread, "train-breakpoint")
        assert client.evaluate("self.rank", top["id"]) == str(rank)
    client.ok("next", {"threadId": ranks[2]})
    body = client.wait_event("stopped", lambda body: body["reason"] == "step")["body"]
    assert body["threadId"] == ranks[2]
    assert client.stack(ranks[2])[0]["line"] != line_of(MANY, "train-breakpoint")
    for rank in 0, 1, 3:
        assert_at(client, ranks[rank], "train-breakpoint")
    for rank, thread in ranks.items():
        client.ok("continue", {"threadId": thread})
        assert driver.result(f"train-{rank}") == "1"
        assert len(driver.results()) == rank + 1
    client.disconnect()
    assert driver.wait() == 0, driver.output()


def wait_stops(client, count):
    """Waits until that many threads have stopped: told at once, one by one, or some at once and the others after."""
    def stacks():
        shown = threads(client)
        with suppress(DapError):  # one that has not stopped yet has no stack
            return len([client.stack(thread) for thread in shown.values()]) == count
    client.wait_event("stopped")
    wait_for(stacks, lambda: f"{count} threads that have stopped: {threads(client)}")


def resume_one_by_one(client, driver):
    ids = {}
    for thread in threads(client).values():
        top = assert_at(client, thread, "pool-breakpoint")
        ids[int(client.evaluate("mine", top["id"]))] = thread
    left = set(ids)
    for number in 1, 2, 0:
        client.ok("continue", {"threadId": ids[number]})
        left.discard(number)
        assert driver.result(f"pool-{number}") == str(number + 100)
        for other in left:
            top = client.stack(ids[other])[0]
            assert client.evaluate("mine", top["id"]) == str(other)
        assert {name for name, _ in driver.results()} == {f"pool-{n}" for n in set(ids) - left}
        if number == 1:  # the others can be stepped as before
            client.ok("next", {"threadId": ids[0]})
            body = client.wait_event("stopped", lambda body: body["reason"] == "step")["body"]
            assert body["threadId"] == ids[0]
            assert_at(client, ids[0], "pool-after")
            assert_at(client, ids[2], "pool-breakpoint")


def test_three_threads_of_an_actor_go_on_one_at_a_time(core_cluster):
    driver = core_cluster.driver("many.py", "0", "pool")
    core_cluster.wait_paused(threads=3)
    with core_cluster.raydbg_dap() as client:
        client.initialize(clientID="vscode", clientName="editor")
        client.attach({"tasks": "*"})
        wait_stops(client, 3)
        resume_one_by_one(client, driver)
        client.disconnect()
    assert driver.wait() == 0, driver.output()


def test_others_see_which_thread_goes_on(cluster, run_relay):
    driver = cluster.driver("many.py", "0", "pool")
    cluster.wait_paused(threads=3)
    relay = run_relay(cluster)
    many = relay.client("tcp", "many")
    many.initialize(clientID="vscode", clientName="editor")
    many.attach(relay.attach_arguments("tcp", tasks="*"))
    wait_stops(many, 3)
    other = relay.join(name="other", task="Pool.work", filters=())
    stops = [other.stopped()["threadId"] for _ in range(3)]
    first = next(iter(threads(many).values()))
    number = many.evaluate("mine", many.stack(first)[0]["id"])
    gone = next(t for t in stops if other.evaluate("mine", other.stack(t)[0]["id"]) == number)
    many.ok("continue", {"threadId": first})
    assert driver.result(f"pool-{number}") == str(int(number) + 100)
    other.wait_event("continued", lambda body: body["threadId"] == gone)
    for thread in set(stops) - {gone}:
        assert other.stack(thread)[0]["line"] == line_of(MANY, "pool-breakpoint")
    late = relay.join(name="late", task="Pool.work", filters=())
    assert {late.stopped()["threadId"] for _ in range(2)} == set(stops) - {gone}
    late.assert_no_event("stopped", 0.5)
    assert all(not e["body"].get("allThreadsContinued", True) for e in other.events("continued"))
    many.disconnect(onDisconnect="continue")
    for client in other, late:
        client.disconnect()


def test_a_breakpoint_set_once_hits_in_an_actor_made_later(cluster, attach, tmp_path):
    go = tmp_path / "go"
    driver = cluster.driver("many.py", "1", "late", str(go))
    cluster.wait_paused(1)
    client = attach({str(MANY): [{"line": line_of(MANY, "train-return")}]})
    shown(client)
    first = thread_of(client, "rank 0 ")
    client.ok("continue", {"threadId": first})
    assert client.wait_event("stopped", lambda body: body["threadId"] == first)["body"]["reason"] == "breakpoint"
    assert_at(client, first, "train-return")
    go.touch()
    body = client.wait_event("stopped", lambda body: body["threadId"] != first)["body"]
    assert body["preserveFocusHint"] is True and body["allThreadsStopped"] is False
    late = body["threadId"]
    assert_at(client, late, "train-breakpoint")
    client.ok("continue", {"threadId": late})
    client.wait_event("stopped", lambda body: body["threadId"] == late)
    assert_at(client, late, "train-return")
    for thread in first, late:
        client.ok("continue", {"threadId": thread})
    assert driver.result("late") == "1"
    client.disconnect()
    assert driver.wait() == 0, driver.output()


def test_a_worker_killed_in_mid_request(cluster, attach):
    cluster.driver("many.py", "3")
    cluster.wait_paused(3)
    client = attach()
    shown(client)
    wait_names(client, [f"rank {rank} Trainer.step" for rank in range(3)])
    name = next(name for name in threads(client) if name.startswith("rank 1 "))
    thread, pid = threads(client)[name], int(name.split("pid ")[1])
    frame = client.stack(thread)[0]["id"]
    seq = client.send("evaluate", {"expression": "__import__('time').sleep(30)", "frameId": frame, "context": "repl"})
    cluster.kill(pid)
    assert client.response(seq)["success"] is False
    client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": thread})
    client.wait_event("output", lambda body: f"pid {pid}" in body["output"] and "died" in body["output"])
    for rank in 0, 2:
        assert_at(client, thread_of(client, f"rank {rank} "), "train-breakpoint")
    client.disconnect()
