"""raydbg's own commands through a real relay, on a real Ray: what one leaves, the next one finds."""

import json
import re
import signal
import subprocess

import pytest
import sanitizers
from cluster import ADDRESS, PROGRAMS, line_of, wait_for
from waits import limit

PAUSES = PROGRAMS / "pauses.py"


@pytest.fixture
def relay(cluster, tmp_path):
    """The environment of who finds the relay by its file."""
    env = {"XDG_STATE_HOME": str(tmp_path)}
    process = cluster.raydbg_popen("relay", "--listen", "127.0.0.1:0", "--address", ADDRESS, env=env,
                                   stderr=subprocess.PIPE, text=True)
    said = [process.stderr.readline()]
    while "ready" not in said[-1]:
        said.append(process.stderr.readline())
        assert said[-1], said
    yield env
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=limit())
    sanitizers.check(process.returncode, stderr)


def test_a_task_from_hand_to_hand(cluster, relay):
    def raydbg(*arguments, code=0):
        done = cluster.raydbg(*arguments, env=relay)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def row(name):
        rows = json.loads(cluster.raydbg("list", "--format", "json", env=relay).stdout)
        return next((it for it in rows if it["task_name"] == name), None)

    driver = cluster.driver("pauses.py", "square", "on_b")
    cluster.wait_paused(2)
    wait_for(lambda: row("square") and row("on_b"), "both tasks with their names")
    # One leaves it after a step; the next finds it there.
    left = raydbg("attach", "square", "-e", "n", "-e", "detach")
    assert re.search(r"stays held by .*; release it with: raydbg release \w{6}", left) and "goes on" not in left
    assert row("square")["state"] == "held" and row("square")["clients"] == 0
    where = raydbg("attach", "square", "-e", "where")
    assert f"pauses.py:{line_of(PAUSES, 'square-after')} in square" in where
    assert "observes" in raydbg("attach", "square", "--observe", "-e", "n")
    # The end of a task is seen through the relay.
    ended = raydbg("attach", "square", "-e", "c")
    assert "square has ended" in ended and "stays held" not in ended
    assert driver.result("square") == "9"
    # Held, shown where it is, released.
    assert "is held" in raydbg("hold", "on_b")
    location = f"pauses.py:{line_of(PAUSES, 'on-b-breakpoint')}"
    wait_for(lambda: location in raydbg("list"), "the line where it is held")  # the relay asks for it after the attach
    wait_for(lambda: "holds 1" in raydbg("list"), "only on_b is held")  # once square's worker says that it runs nothing
    assert "goes on" in raydbg("release", "--all")
    assert driver.result("on_b").endswith("@127.0.0.2")
    assert cluster.raydbg("release", "on_b", env=relay).returncode in (1, 3)  # as its worker is idle, or gone
    assert "no paused task" in raydbg("attach", "on_b", "-e", "where", code=3)


def test_let_go(cluster, relay):
    driver = cluster.driver("pauses.py", "square")
    cluster.wait_paused(1)
    done = cluster.raydbg("attach", "square", "--let-go", "-e", "where", env=relay)
    assert done.returncode == 0 and "goes on" in done.stdout + done.stderr
    assert driver.result("square") == "9"


def test_continue_stays_attached_and_sessions_say_who_is(cluster, relay):
    def raydbg(*arguments, code=0):
        done = cluster.raydbg(*arguments, env=relay)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done.stdout + done.stderr

    driver = cluster.driver("pauses.py", "twice")
    cluster.wait_paused(1)
    wait_for(lambda: "twice" in raydbg("list"), "the task with its name")
    assert "Nobody is attached" in raydbg("sessions")
    assert json.loads(raydbg("sessions", "--format", "json")) == []
    raydbg("hold", "twice")
    wait_for(lambda: f"pauses.py:{line_of(PAUSES, 'twice-first')}" in raydbg("list"), "the first line")
    with cluster.raydbg_dap(env=relay) as client:
        client.initialize(clientID="tests", clientName="tests")
        client.attach({"task": "twice"})
        session, = json.loads(raydbg("sessions", "--format", "json"))
        assert (session["role"], session["client"], session["task_name"]) == ("driver", "tests", "twice")
        assert re.search(r"^ +twice +driver +tests +127\.0\.0\.1:\d+ +\d+s$", raydbg("sessions"), re.M)
        client.disconnect()
    assert re.fullmatch(r"twice \(\w{6}\) on \S+ pid \d+ runs on\n", raydbg("continue", "twice"))
    # Still attached, it stops at the next breakpoint().
    wait_for(lambda: f"pauses.py:{line_of(PAUSES, 'twice-second')}" in raydbg("list"), "the second line")
    assert '"state": "held"' in raydbg("continue", "twice", "--format", "json")
    assert driver.result("twice") == "4"
    assert "TASK" in raydbg("continue", code=2) and "takes no names" in raydbg("sessions", "x", code=2)
