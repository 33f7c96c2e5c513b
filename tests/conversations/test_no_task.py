"""A driver has no task, and a thread may outlive the call that started it: that the worker runs nothing, as the cluster says,
is not the end of them."""

import json
import os
import subprocess

import pytest
from fake_ray import PID
from many_session import threads
from parent_editor import Editor
from relay_under_test import raydbg_path
from sanitizers import ENV, check
from waits import limit, settle, wait_until

MARK = "raydbg: a thread runs code of the user"
# Longer than the product takes to conclude from two answers that a task has ended: 300 ms and 375 ms.
LONG = 1.5


@pytest.fixture
def driver(adapter, ray):
    """A driver at its breakpoint(), and then running."""
    ray.entrypoint = 'python -u -X dev "/home/me/my dir/train.py" --lr 1'

    def on_configured(connection, request):
        ray.paused = False
        adapter.on_configurationDone(connection, request)
    adapter.on["configurationDone"] = on_configured
    return ray


def slow_next(adapter):
    """A `next` over a line that takes its time."""
    def on_next(connection, request):
        connection.respond(request)
        connection.event("continued", {"threadId": 1, "allThreadsContinued": True})
        settle(LONG)
        adapter.line += 1
        connection.stop("step")
    adapter.on["next"] = on_next


def outlives(adapter, ray, then=lambda connection: None):
    """The task has ended, and a thread that it started goes on, as the worker says; and then?"""
    ray.running = False

    def on_evaluate(connection, request):
        if MARK not in request["arguments"]["expression"]:
            adapter.on_evaluate(connection, request)
            return
        connection.respond(request, success=False, message=f"Traceback (most recent call last):\nLookupError: {MARK}\n")
        then(connection)
    adapter.on["evaluate"] = on_evaluate


def asked(adapter):
    return [r for r in adapter.requests("evaluate") if MARK in r["arguments"]["expression"]]


def raydbg(ray, *arguments, **more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run([raydbg_path(), *arguments], capture_output=True, text=True, timeout=limit(), stdin=subprocess.DEVNULL,
                          env={**clean, **ENV, "RAY_ADDRESS": ray.address, **more})
    check(done.returncode, done.stderr)
    return done


# --- drivers ---


def test_a_driver_is_called_so_with_its_script(driver, tmp_path):
    listed = raydbg(driver, "list", "--no-relay", "--format", "json")
    (row,) = json.loads(listed.stdout)
    assert (row["task_name"], row["state"], row["task_id"], row["job_id"]) == ("driver train.py", "waiting", None, "01000000")
    assert " driver train.py " in raydbg(driver, "list", "--no-relay", LANG="C.UTF-8").stdout
    nobody = raydbg(driver, "attach", "--no-relay", "nosuch", "-e", "where")
    assert "1 is paused: driver train.py (" in nobody.stderr, nobody.stderr


def test_a_running_driver_is_not_idle(driver):
    driver.paused = False
    (row,) = json.loads(raydbg(driver, "list", "--no-relay", "--format", "json").stdout)
    assert row["state"] == "attached"


def test_the_console_of_a_driver(adapter, driver):
    slow_next(adapter)
    done = raydbg(driver, "attach", "--no-relay", str(PID), "-e", "next", "-e", "next", "-e", "p 1", LANG="C.UTF-8")
    assert done.returncode == 0 and "has ended" not in done.stdout + done.stderr, done
    assert done.stdout.startswith("driver train.py · job 01 · "), done.stdout
    assert adapter.commands().count("next") == 2 and done.stdout.splitlines()[-2] == "2", done.stdout
    assert not asked(adapter)


def test_a_session_of_a_driver_goes_on(adapter, driver, attach):
    client = attach(endWithTask=True)
    assert "driver train.py" in client.ok("threads")["threads"][0]["name"]
    client.resume(1)
    client.assert_no_event("terminated", LONG)
    adapter.connections[-1].stop("breakpoint")
    client.stopped()
    assert not [e for e in client.events("output") if "has ended" in e["body"]["output"]]
    client.disconnect()


def test_a_driver_among_many_tasks_keeps_its_thread(adapter, driver, start_relay):
    client = start_relay(None, "--address", driver.address)
    client.initialize()
    client.attach({"request": "attach", "tasks": "*"})
    client.stopped()
    (name,) = threads(client)
    assert "driver train.py" in name, name
    client.resume(1)
    client.assert_no_event("thread", LONG, lambda e: e["reason"] == "exited")
    assert len(threads(client)) == 1
    client.disconnect()


def test_a_relay_holds_a_driver_that_runs(adapter, driver, run_relay):
    relay = run_relay("--hold", "on-pause", adapter=None, address=driver.address)
    client = relay.join(task=str(PID))
    client.stopped()
    client.resume(1)
    client.assert_no_event("terminated", LONG)
    (row,) = relay.pauses()
    assert (row["task_name"], row["state"], row["clients"]) == ("driver train.py", "held", 1), row
    client.disconnect()


def test_a_driver_in_a_session_of_its_own(adapter, driver, run_relay):
    editor = Editor(run_relay(adapter=None, address=driver.address)).attach()
    (child,) = editor.wait_children(1)
    assert "driver train.py" in child.name, child.name
    child.client.resume(1)
    child.client.assert_no_event("terminated", LONG)
    assert not editor.client.events("terminated")
    adapter.connections[-1].stop("breakpoint")
    child.client.stopped()
    assert len(editor.asked) == 1
    child.client.disconnect()
    editor.client.disconnect()


def test_a_watch_keeps_a_driver_that_runs(driver):
    """Its debugger stays in it, and may stop it once more."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    argv = [raydbg_path(), "list", "--watch", "--no-relay", "--format", "json"]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**clean, **ENV, "RAY_ADDRESS": driver.address})
    states = []
    for line in process.stdout:
        told = json.loads(line)
        if told["event"] in ("added", "changed"):
            states.append((told["event"], told["pause"]["task_name"], told["pause"]["state"]))
            driver.paused = False
        if len(states) == 2 or told["event"] == "removed":
            break
    process.terminate()
    _, stderr = process.communicate(timeout=limit())
    check(process.returncode, stderr)
    assert states == [("added", "driver train.py", "waiting"), ("changed", "driver train.py", "attached")], (states, told)


# --- threads that outlive their call ---


def test_a_session_goes_on_with_a_thread_that_outlives_its_call(adapter, ray, attach):
    client = attach(endWithTask=True)
    outlives(adapter, ray)
    client.resume(1)
    wait_until(lambda: len(asked(adapter)) == 2, "the worker is asked twice")
    assert not client.events("terminated")
    adapter.on["evaluate"] = adapter.on_evaluate
    client.wait_event("output", lambda e: "work has ended" in e["output"])
    client.wait_event("terminated")
    client.disconnect()


def test_a_session_of_its_own_goes_on_with_a_thread_that_outlives_its_call(adapter, ray, run_relay):
    editor = Editor(run_relay(adapter=None, address=ray.address)).attach(endWithTask=True)
    (child,) = editor.wait_children(1)
    outlives(adapter, ray)
    child.client.resume(1)
    wait_until(lambda: len(asked(adapter)) == 2, "the worker is asked twice")
    assert not child.client.events("terminated") and not editor.client.events("terminated")
    adapter.on["evaluate"] = adapter.on_evaluate
    child.client.wait_event("terminated")
    child.client.disconnect()
    editor.client.disconnect()


@pytest.mark.parametrize("stays", [False, True], ids=["left", "joined"])
def test_a_relay_lists_a_thread_that_outlives_its_call(adapter, ray, run_relay, stays):
    """Also to `list --watch`: the row goes when the thread has ended, and no sooner. Without a client, and with one that does not
    watch the task's end."""
    relay = run_relay("--hold", "on-pause", adapter=None, address=ray.address)
    client = relay.join(task=str(PID))
    client.stopped()
    outlives(adapter, ray)
    client.resume(1)
    if not stays:
        client.disconnect()
    seen = set()

    def states():
        found = [row["state"] for row in relay.pauses()]
        seen.update(found)
        return found
    wait_until(lambda: states() and len(asked(adapter)) >= 2, "the worker is asked again and again")
    assert seen == {"held"}, seen
    adapter.on["evaluate"] = adapter.on_evaluate
    wait_until(lambda: states() == ["idle"], "the thread has ended")
    if stays:
        client.disconnect()


def test_a_worker_that_does_not_answer_is_not_judged(adapter, ray, attach, gate):
    client = attach(endWithTask=True)
    ray.running = False
    late = gate(adapter.on_evaluate)
    adapter.on["evaluate"] = late
    client.resume(1)
    late.wait_reached()
    client.assert_no_event("terminated", LONG)
    late.open()
    client.wait_event("terminated")
    client.disconnect()


def test_the_console_goes_on_with_a_thread_that_outlives_its_call(adapter, ray):
    def on_next(connection, request):
        outlives(adapter, ray, lambda connection: connection.stop("step"))
        connection.respond(request)
        connection.event("continued", {"threadId": 1, "allThreadsContinued": True})
    adapter.on["next"] = on_next
    done = raydbg(ray, "attach", "--no-relay", "work", "-e", "next", "-e", "where", LANG="C.UTF-8")
    assert done.returncode == 0 and "has ended" not in done.stdout + done.stderr, done
    assert len(asked(adapter)) == 1 and "square" in done.stdout.splitlines()[-2], done.stdout


def test_many_tasks_keep_a_thread_that_outlives_its_call(adapter, ray, start_relay):
    client = start_relay(None, "--address", ray.address)
    client.initialize()
    client.attach({"request": "attach", "tasks": "*"})
    client.stopped()
    outlives(adapter, ray)
    client.resume(1)
    wait_until(lambda: len(asked(adapter)) == 2, "the worker is asked twice")
    assert not [e for e in client.events("thread") if e["body"]["reason"] == "exited"]
    assert len(threads(client)) == 1
    adapter.on["evaluate"] = adapter.on_evaluate
    client.wait_event("thread", lambda e: e["reason"] == "exited")
    client.disconnect()
