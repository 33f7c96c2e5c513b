"""On a real Ray: a driver, which has no task, and a thread that outlives the call which started it. The cluster calls both
workers idle; the console stays with them to their end."""

import json
import re

import pytest
from cluster import PROGRAMS, line_of, wait_for

PROGRAM = PROGRAMS / "no_task.py"


def start(cluster, what):
    """The driver, and the row of what has paused."""
    driver = cluster.driver("no_task.py", what)

    def paused():
        done = cluster.raydbg("list", "--format", "json")
        assert done.returncode == 0, done.stderr
        return next((row for row in json.loads(done.stdout) if row["state"] == "waiting"), None)
    return driver, wait_for(paused, f"{what} is paused")


@pytest.fixture(params=[True, False], ids=["relay", "alone"])
def console(request, cluster, tmp_path):
    """console(row, command, …): what `raydbg attach` prints."""
    env = {"RAYDBG_START_RELAY": None, "XDG_STATE_HOME": str(tmp_path)} if request.param else {}

    def run(row, *commands):
        words = [word for command in commands for word in ("-e", command)]
        done = cluster.raydbg("attach", f"{row['pid']}@{row['node_ip']}", *words, env=env)
        assert done.returncode == 0, done
        return done.stdout + done.stderr
    yield run
    cluster.raydbg("release", "--all", env=env)


def test_a_driver_steps_over_a_get(cluster, console):
    driver, row = start(cluster, "driver")
    assert row["task_name"] == "driver no_task.py", row
    out = console(row, "next", "next", "p value", "c")
    assert re.search(r"^driver no_task\.py · job \w+ · ", out, re.M), out
    assert f"no_task.py:{line_of(PROGRAM, 'driver-breakpoint')} in drive" in out, out
    assert re.search(r"^7$", out, re.M) and not re.search(r"has ended.*^7$", out, re.M | re.S), out
    assert driver.result("driver") == "8"


def test_a_driver_steps_into_a_remote_task(cluster, console):
    _, row = start(cluster, "driver")
    out = console(row, "next", "remote", "where")
    assert re.search(r"in slow$", out, re.M) and "has ended" not in out, out


@pytest.mark.parametrize("what, more", [("thread", ["c"]), ("late", [])])
def test_a_thread_that_outlives_its_call(cluster, console, what, more):
    driver, row = start(cluster, what)
    if what == "late":
        assert driver.result("begin") == "True"
    out = console(row, "next", "next", "next", "p label", "next", "p label", *more)
    assert f"no_task.py:{line_of(PROGRAM, 'thread-breakpoint')} in train" in out, out
    assert re.findall(r"^'(\w+)'$", out, re.M) == ["before", "after"], out
    assert not re.search(r"has ended.*^'after'$", out, re.M | re.S), out
    assert not more or "has ended" in out, out
