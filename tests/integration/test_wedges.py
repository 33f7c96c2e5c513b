"""What a client says wrong, or leaves behind, costs no task of a real Ray its debugger. Long forms (--soak): 20 times each."""

import json
from contextlib import contextmanager

import pytest
from cluster import PROGRAMS, line_of, wait_for
from waits import hard, limit

PAUSES = PROGRAMS / "pauses.py"

# Every member of attach that debugpy reads, with a value of a wrong type; tests/agent/test_arguments.py has all the types.
WRONG = {"pathMappings": {"/app": "/home/me"}, "rules": "x", "variablePresentation": [], "autoReload": True,
         "breakOnSystemExit": 7, "clientOS": "beos", "debugOptions": [7], "maxExceptionStackFrames": "7",
         **dict.fromkeys(("breakOnSystemExitZero", "debugStdLib", "django", "flask", "jinja", "redirectOutput",
                          "resolveSymlinks", "showReturnValue", "steppingResumesAllThreads", "stopAllThreadsOnSuspend",
                          "stopOnEntry", "terminateChildProcesses"), "yes")}

# What debugpy never answers, or not before the end of time.
NEVER = ["exit()", "raise SystemExit(4)", "exec('while True: pass')", "__import__('time').sleep(1e6)"]


def at_breakpoint(client, marker, function):
    """The thread and the frame of the client's stop, which is at this line."""
    thread = client.stopped(timeout=limit())["threadId"]
    top = client.stack(thread)[0]
    assert (top["name"], top["line"]) == (function, line_of(PAUSES, marker)), client.text()
    return thread, top["id"]


@pytest.mark.parametrize("via", ["dap", "relay"])
def test_a_wrong_argument_costs_no_task(cluster, run_relay, soak, via):
    """Each is refused by its name, before the worker sees anything of it: the next attach is as good as a first one."""
    driver = cluster.driver("pauses.py", "square")
    cluster.wait_paused()
    relay = run_relay(cluster) if via == "relay" else None
    env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"]} if relay else None
    tried = list(WRONG.items())[:20 if soak else 5]
    for name, value in tried:
        with cluster.raydbg_dap(env=env) as client:
            client.initialize()
            answer = client.request("attach", {"task": "square", name: value})
            assert not answer["success"] and f'"{name}" must be' in answer["message"], answer
            client.disconnect()
        with hard():
            assert not driver.results(), driver.output()
    with cluster.raydbg_dap(env=env) as client:
        client.initialize()
        client.attach({"task": "square"})
        thread, frame = at_breakpoint(client, "square-breakpoint", "square")
        assert client.evaluate("x + 1", frame) == "4"
        client.resume(thread)
        assert driver.result("square") == "9"
        client.disconnect()
    print(f"{len(tried)} wrong arguments: 0 lost, 0 wedged")


def leave_by_request(relay, client):
    client.disconnect()


def leave_by_release(relay, client):
    """The relay's answer comes when the task goes on."""
    pause, = [pause for pause in relay.pauses() if pause["task_name"] == "again"]
    answer = relay.http("POST", f"/v1/pauses/{pause['id']}/release")
    assert answer.status == 200, answer
    client.wait_event("terminated")
    client.disconnect()


@pytest.mark.parametrize("via, leave", [("dap", leave_by_request), ("relay", leave_by_request), ("relay", leave_by_release)],
                         ids=["dap", "relay", "release"])
def test_what_is_never_answered_holds_neither_the_task_nor_the_next_client(cluster, run_relay, soak, via, leave):
    rounds = 20 if soak else len(NEVER)
    driver = cluster.driver("pauses.py", "again", env={"AGAIN": str(rounds + 1)})
    cluster.wait_paused()
    relay = run_relay(cluster) if via == "relay" else None
    for number in range(rounds):
        with joined(cluster, relay) as client:
            _, frame = at_breakpoint(client, "again-breakpoint", "again")
            with hard():
                assert client.evaluate("number", frame) == str(number), "the task is where the client before has left it"
            client.strict = False  # what was given up may be answered or not
            client.send("evaluate", {"expression": NEVER[number % len(NEVER)], "context": "repl", "frameId": frame})
            leave(relay, client)
            said = "".join(event["body"]["output"] for event in client.events("output"))
            assert "goes on" in said and "does not answer" not in said, said
    with joined(cluster, relay) as client:
        thread, frame = at_breakpoint(client, "again-breakpoint", "again")
        assert client.evaluate("number", frame) == str(rounds)
        client.resume(thread)
        assert driver.result("again") == str(rounds + 1)
        client.disconnect()
    print(f"{rounds} x {leave.__name__}, {via}: 0 lost, 0 wedged")


@contextmanager
def joined(cluster, relay):
    """A client of the task, as soon as that waits."""
    def waits():
        done = cluster.raydbg("list", "--format", "json")
        rows = json.loads(done.stdout) if done.returncode == 0 else []
        return any((row["task_name"], row["state"]) == ("again", "waiting") for row in rows)
    wait_for(waits, "the task waits")
    if relay:
        client = relay.join(task="again", onDisconnect="continue")
        yield client
        client.close()
        return
    with cluster.raydbg_dap() as client:
        client.initialize()
        client.attach({"task": "again"})
        yield client
