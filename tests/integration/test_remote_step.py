"""Stepping into a remote task, and back to ray.get(): one session over two workers, on two nodes."""

import json

import pytest
from cluster import PROGRAMS, Spec, line_of, wait_for
from waits import limit

CALLS = PROGRAMS / "calls.py"
LEGACY = (("RAY_DEBUG", "legacy"),)
DEBUGGERS = {"debugpy": Spec(), "pdb": Spec(env=LEGACY)}
ENDS = {"debugpy-py3.13": Spec(python="3.13"),
        "pdb-ray2.9.3": Spec(python="3.11", ray="2.9.3", debugpy="1.8.0", env=(("RAY_PDB", "1"),))}
MATRIX = {"pdb-py3.13": Spec(python="3.13", env=LEGACY), "debugpy-py3.9": Spec(python="3.9"),
          "pdb-py3.9": Spec(python="3.9", env=LEGACY),
          "debugpy-ray2.9.3": Spec(python="3.11", ray="2.9.3", debugpy="1.8.0", env=(("RAY_DEBUG", "1"),))}


def pytest_generate_tests(metafunc):
    if "calling" in metafunc.fixturenames:
        matrix = metafunc.config.getoption("matrix")
        ends = matrix or metafunc.config.getoption("ends")
        specs = {**DEBUGGERS, **(ENDS if ends else {}), **(MATRIX if matrix else {})}
        metafunc.parametrize("calling", specs.values(), ids=specs.keys(), indirect=True, scope="function")


@pytest.fixture
def calling(request, cluster_factory):
    return cluster_factory(request.param)


def listing(cluster):
    return json.loads(cluster.raydbg("list", "--format", "json", check=True).stdout)


def start(cluster, name):
    """The driver, once this task of it waits in the debugger."""
    driver = cluster.driver("calls.py", name)
    wait_for(lambda: [row for row in listing(cluster) if row["task_name"] == name and row["state"] == "waiting"], f"{name} waits", every=0.2)
    return driver


def attach(client, task, **options):
    client.initialize()
    client.attach({"task": task}, **options)
    return client.stopped()["threadId"]


def assert_at(client, thread, function, *markers):
    top = client.stack(thread)[0]
    assert top["name"].rpartition(".")[2] == function, client.text()
    assert top["line"] in [line_of(CALLS, marker) for marker in markers], client.text()
    assert top["source"]["path"] == str(CALLS)
    return top


def go_to(client, thread, function, marker):
    """From the first stop, which is one line earlier in some versions."""
    while client.stack(thread)[0]["line"] < line_of(CALLS, marker):
        client.step("next", thread)
    return assert_at(client, thread, function, marker)


def step_into(client, thread):
    """The thread of the remote task, which has stopped."""
    client.ok("raydbg/stepIntoRemote", {"threadId": thread})
    inside = client.stopped()["threadId"]
    assert inside != thread
    return inside


def return_to(client, inside, caller):
    """The remote task ends, and the caller stops."""
    client.resume(inside)
    assert client.stopped()["threadId"] == caller


def test_into_the_remote_task_and_back(calling):
    driver = start(calling, "outer")
    with calling.raydbg_dap() as client:
        caller = attach(client, "outer")
        inside = step_into(client, caller)
        top = assert_at(client, inside, "leaf", "leaf-first")
        assert client.evaluate("x", top["id"]) == "3"
        threads = {t["id"]: t["name"] for t in client.ok("threads")["threads"]}
        assert threads[caller] == "outer (waits)" and inside in threads
        client.step("next", inside)
        client.step("next", inside)
        top = assert_at(client, inside, "leaf", "leaf-return")
        assert client.evaluate("where", top["id"]) == "'127.0.0.2'"
        client.ok("raydbg/stepOutToGet", {"threadId": inside})
        assert client.stopped()["threadId"] == caller
        client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": inside})
        top = assert_at(client, caller, "outer", "outer-get", "outer-after")
        assert client.evaluate("y", top["id"]) == "4"
        client.resume(caller)
        assert driver.result("outer") == "(10, '127.0.0.2')"
        client.disconnect()


def test_the_console(calling):
    driver = start(calling, "outer")
    commands = "remote\nnext\np doubled\np where\nthreads\nget\np y\nc\n"
    done = calling.raydbg("attach", "outer", input=commands, timeout=limit(120))
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "calls.py:%d in leaf" % line_of(CALLS, "leaf-first") in said, said + done.stderr
    assert "now in leaf" in said + done.stderr and "outer (waits)" in said
    assert "\n6\n" in said and "\n4\n" in said
    assert driver.result("outer") == "(10, '127.0.0.2')"


def test_targets_of_a_step(calling):
    """What an editor offers at a line: debugpy's own targets, the remote task, the way out."""
    driver = start(calling, "outer")
    with calling.raydbg_dap() as client:
        caller = attach(client, "outer")
        top = go_to(client, caller, "outer", "outer-submit")
        targets = {t["label"]: t["id"] for t in client.ok("stepInTargets", {"frameId": top["id"]})["targets"]}
        assert "into remote task leaf" in targets and "out to ray.get of the result" in targets
        client.ok("stepIn", {"threadId": caller, "targetId": targets["into remote task leaf"]})
        inside = client.stopped()["threadId"]
        top = assert_at(client, inside, "leaf", "leaf-first")
        targets = {t["label"]: t["id"] for t in client.ok("stepInTargets", {"frameId": top["id"]})["targets"]}
        assert "into remote task leaf" not in targets
        client.ok("stepIn", {"threadId": inside, "targetId": targets["out to ray.get of the result"]})
        assert client.stopped()["threadId"] == caller
        client.disconnect()
        assert driver.result("outer") == "(10, '127.0.0.2')"


def test_two_calls_deep(calling):
    driver = start(calling, "chain")
    with calling.raydbg_dap() as client:
        threads = [attach(client, "chain")]
        threads.append(step_into(client, threads[-1]))
        go_to(client, threads[-1], "middle", "middle-get")
        threads.append(step_into(client, threads[-1]))
        assert len(set(threads)) == 3
        assert_at(client, threads[-1], "leaf", "leaf-first")
        names = {t["id"]: t["name"] for t in client.ok("threads")["threads"]}
        assert (names[threads[0]], names[threads[1]]) == ("chain (waits)", "middle (waits)")
        for caller, function in (threads[1], "middle"), (threads[0], "chain"):
            inside = threads.pop()
            client.ok("raydbg/stepOutToGet", {"threadId": inside})
            assert client.stopped()["threadId"] == caller
            assert_at(client, caller, function, f"{function}-get", f"{function}-after")
        client.resume(caller)
        assert driver.result("chain") == "(8, '127.0.0.2')"
        client.disconnect()


def test_breakpoints_hold_in_both(calling):
    driver = start(calling, "outer")
    lines = [line_of(CALLS, "leaf-return"), line_of(CALLS, "outer-after")]
    with calling.raydbg_dap() as client:
        caller = attach(client, "outer", breakpoints={CALLS: lines})
        inside = step_into(client, caller)
        client.resume(inside)
        assert client.stopped(reason="breakpoint")["threadId"] == inside
        assert_at(client, inside, "leaf", "leaf-return")
        client.set_breakpoints(CALLS, [line_of(CALLS, "outer-after")])
        return_to(client, inside, caller)
        assert_at(client, caller, "outer", "outer-after")
        client.resume(caller)
        assert driver.result("outer") == "(10, '127.0.0.2')"
        client.disconnect()


def test_a_caller_that_stops_meanwhile_is_shown_after(calling):
    driver = start(calling, "stops")
    with calling.raydbg_dap() as client:
        caller = attach(client, "stops")
        inside = step_into(client, caller)
        assert_at(client, inside, "leaf", "leaf-first")
        client.assert_no_event("stopped", 1)
        return_to(client, inside, caller)
        assert_at(client, caller, "stops", "stops-second", "stops-return")
        client.resume(caller)
        assert driver.result("stops") == "(6, '127.0.0.2')"
        client.disconnect()


def test_a_task_that_calls_nothing(calling):
    """The next breakpoint() before any call ends the search; without one the task ends as it would."""
    driver = start(calling, "lonely")
    with calling.raydbg_dap() as client:
        caller = attach(client, "lonely", breakpoints={CALLS: [line_of(CALLS, "lonely-return")]})
        if client.stack(caller)[0]["line"] < line_of(CALLS, "lonely-return"):
            client.ok("raydbg/stepIntoRemote", {"threadId": caller})
            assert client.stopped()["threadId"] == caller
        client.ok("raydbg/stepIntoRemote", {"threadId": caller})
        assert driver.result("lonely") == "4"
        client.disconnect()


def test_a_client_that_leaves_inside(calling):
    driver = start(calling, "outer")
    with calling.raydbg_dap() as client:
        step_into(client, attach(client, "outer"))
        client.disconnect()
    assert driver.result("outer") == "(10, '127.0.0.2')"


def test_a_callee_that_dies(calling):
    """Ray runs it again, and that run stops, too."""
    driver = start(calling, "outer")
    with calling.raydbg_dap() as client:
        caller = attach(client, "outer")
        inside = step_into(client, caller)
        pid = int(client.evaluate("__import__('os').getpid()", client.stack(inside)[0]["id"]))
        calling.kill(pid)
        client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": inside})
        again = client.stopped()["threadId"]
        assert again not in (caller, inside)
        top = assert_at(client, again, "leaf", "leaf-first")
        assert client.evaluate("__import__('os').getpid()", top["id"]) != str(pid)
        client.resume(again)
        client.disconnect()
    assert driver.result("outer") == "(10, '127.0.0.2')"


def test_through_a_relay(calling, run_relay):
    """The callee is held there as the caller is; a client that comes back finds both."""
    driver = start(calling, "outer")
    relay = run_relay(calling)
    client = relay.join(task="outer")
    caller = client.stopped()["threadId"]
    inside = step_into(client, caller)
    assert_at(client, inside, "leaf", "leaf-first")
    client.disconnect()
    held = {p["task_name"] for p in relay.pauses() if p["held"]}
    assert held == {"outer", "leaf"}
    again = relay.join(name="again", task="leaf")
    thread = again.stopped()["threadId"]
    assert_at(again, thread, "leaf", "leaf-first")
    again.disconnect(onDisconnect="continue")
    assert driver.result("outer") == "(10, '127.0.0.2')"


def test_a_result_that_the_driver_takes(calling):
    """Nobody is attached there: the session goes on in the pdb that Ray opens in the driver."""
    driver = start(calling, "lonely")
    with calling.raydbg_dap() as client:
        task = attach(client, "lonely")
        client.ok("raydbg/stepOutToGet", {"threadId": task})
        inside = client.stopped()["threadId"]
        assert inside != task
        assert client.stack(inside)[0]["name"] == "main", client.text()
        client.resume(inside)
        assert driver.result("lonely") == "4"
        client.disconnect()


def test_a_note_that_is_made_late_is_taken_back(cluster_factory, tmp_path):
    """Its thread evaluates something else: what pydevd evaluates without a frame does not wait for that."""
    calling, gate = cluster_factory(DEBUGGERS["debugpy"]), tmp_path / "open"
    start(calling, "outer")
    with calling.raydbg_dap() as client:
        caller = attach(client, "outer")
        frame = client.stack(caller)[0]["id"]
        wait = f"any(iter(lambda: __import__('os').path.exists({str(gate)!r}) or __import__('threading').Event().wait(0.05), True))"
        busy = client.send("evaluate", {"expression": wait, "frameId": frame, "context": "watch"})
        refused = client.request("raydbg/stepIntoRemote", {"threadId": caller})
        assert not refused["success"] and "the worker has not answered" in refused["message"]
        gate.touch()
        client.response(busy)
        assert client.evaluate("__import__('ray')._private.worker.global_worker.debugger_breakpoint", frame) == "b''"
        inside = step_into(client, caller)
        assert_at(client, inside, "leaf", "leaf-first")
        client.disconnect()
