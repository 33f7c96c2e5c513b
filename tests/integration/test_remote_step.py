"""Stepping into a remote task, and back to ray.get(): one session over two workers, on two nodes."""

import json

import pytest
from cluster import PROGRAMS, Spec, line_of, wait_for

CALLS = PROGRAMS / "calls.py"
LEGACY = (("RAY_DEBUG", "legacy"),)
DEBUGGERS = {"debugpy": Spec(), "pdb": Spec(env=LEGACY)}
ENDS = {"debugpy-py3.13": Spec(python="3.13"), "pdb-py3.13": Spec(python="3.13", env=LEGACY),
        "pdb-ray2.9.3": Spec(python="3.11", ray="2.9.3", debugpy="1.8.0", env=(("RAY_PDB", "1"),)),
        "debugpy-ray2.9.3": Spec(python="3.11", ray="2.9.3", debugpy="1.8.0", env=(("RAY_DEBUG", "1"),)),
        "debugpy-py3.9": Spec(python="3.9"), "pdb-py3.9": Spec(python="3.9", env=LEGACY)}


def pytest_generate_tests(metafunc):
    if "calling" in metafunc.fixturenames:
        ends = metafunc.config.getoption("ends") or metafunc.config.getoption("matrix")
        specs = {**DEBUGGERS, **(ENDS if ends else {})}
        metafunc.parametrize("calling", specs.values(), ids=specs.keys(), indirect=True, scope="function")


@pytest.fixture
def calling(request, cluster_factory):
    return cluster_factory(request.param)


def listing(cluster):
    return json.loads(cluster.raydbg("list", "--format", "json", check=True).stdout)


def start(cluster, name):
    """The driver, once this task of it waits in the debugger."""
    driver = cluster.driver("calls.py", name)
    wait_for(lambda: [row for row in listing(cluster) if row["task_name"] == name and row["state"] == "waiting"],
             60, f"{name} waits", every=0.2)
    return driver


def attach(client, task, **options):
    client.initialize()
    client.attach({"task": task}, **options)
    return client.stopped(timeout=30)["threadId"]


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
    inside = client.stopped(timeout=60)["threadId"]
    assert inside != thread
    return inside


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
        assert client.stopped(timeout=30)["threadId"] == caller
        client.wait_event("thread", lambda body: body == {"reason": "exited", "threadId": inside})
        top = assert_at(client, caller, "outer", "outer-get", "outer-after")
        assert client.evaluate("y", top["id"]) == "4"
        client.resume(caller)
        assert driver.result("outer") == "(10, '127.0.0.2')"
        client.disconnect()


def test_the_console(calling):
    driver = start(calling, "outer")
    commands = "remote\nnext\np doubled\np where\nthreads\nget\np y\nc\n"
    done = calling.raydbg("attach", "outer", input=commands, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "calls.py:%d in leaf" % line_of(CALLS, "leaf-first") in said, said + done.stderr
    assert "now in leaf" in said + done.stderr and "outer (waits)" in said
    assert "\n6\n" in said and "\n4\n" in said
    assert driver.result("outer") == "(10, '127.0.0.2')"
