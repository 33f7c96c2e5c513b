"""Ray's legacy pdb as a debuggee: `raydbg dap`, `attach` and `relay` on a real Ray with RAY_DEBUG=legacy."""

import json
import os
import shlex
import signal

import pytest
from cluster import ADDRESS, PROGRAMS, ROOT, Spec, line_of, wait_for
from dap_client import DapClient
from waits import hard, settle

PAUSES = PROGRAMS / "pauses.py"
LEGACY = (("RAY_DEBUG", "legacy"),)

# Rays before 2.39 use pdb unless told otherwise; RAY_PDB is their word for post mortem.
OLD = Spec(python="3.11", ray="2.9.3", debugpy="1.8.0", env=(("RAY_PDB", "1"),))
DEFAULT = {"py3.11-ray2.60.0": Spec(env=LEGACY), "py3.11-ray2.9.3": OLD}
ENDS = {"py3.9-ray2.51.2": Spec(python="3.9", env=LEGACY), "py3.13-ray2.60.0": Spec(python="3.13", env=LEGACY)}


def pytest_generate_tests(metafunc):
    if "legacy" in metafunc.fixturenames:
        ends = metafunc.config.getoption("ends") or metafunc.config.getoption("matrix")
        specs = {**DEFAULT, **(ENDS if ends else {})}
        metafunc.parametrize("legacy", specs.values(), ids=specs.keys(), indirect=True, scope="function")


@pytest.fixture
def legacy(request, cluster_factory):
    return without_pauses(cluster_factory(request.param))


@pytest.fixture
def newest(cluster_factory):
    return without_pauses(cluster_factory(DEFAULT["py3.11-ray2.60.0"]))


def without_pauses(cluster):
    """Waits until no task of an earlier test is listed: Ray may be late to end its process, or to know of its end."""
    wait_for(lambda: not listing(cluster), "no task of an earlier test is paused", every=0.2)
    return cluster


def listing(cluster):
    return json.loads(cluster.raydbg("list", "--format", "json", check=True).stdout)


def wait_waiting(cluster, count=1):
    """The rows of the tasks that wait in pdb, once there are so many."""
    def rows():
        found = [row for row in listing(cluster) if row["state"] == "waiting"]
        assert all(row["debugger"] == "pdb" for row in found)
        return found if len(found) >= count else None
    return wait_for(rows, f"{count} tasks wait in pdb", every=0.2)


def attach(client, task, **options):
    client.initialize()
    client.attach({"task": task}, **options)
    return client.stopped()


def assert_at(client, function, marker):
    top = client.stack(1)[0]
    assert (top["name"], top["line"]) == (function, line_of(PAUSES, marker)), client.text()
    assert top["source"]["path"] == str(PAUSES)
    return top


def go_to(client, function, marker, **options):
    """From the first stop, which is one line earlier on Python 3.13 than on others."""
    for _ in range(2):
        if client.stack(1)[0]["line"] != line_of(PAUSES, marker):
            client.step("next", 1)
    return assert_at(client, function, marker)


# --- dap ---

def test_steps_values_and_the_end(legacy):
    driver = legacy.driver("pauses.py", "walk")
    wait_waiting(legacy)
    with legacy.raydbg_dap() as client:
        stop = attach(client, "walk")
        assert (stop["reason"], stop["threadId"]) == ("breakpoint", 1)
        top = go_to(client, "walk", "walk-call")
        frames = client.stack(1)
        assert all(f.get("presentationHint") == "subtle" for f in frames[1:]) and len(frames) > 2
        values = client.locals(top["id"])
        assert values["number"]["value"] == "7" and values["text"]["value"] == "'h\u00e9llo \U0001f600'"
        assert client.evaluate("sum(i for i in items) + number", top["id"]) == "52"
        client.step("stepIn", 1)
        assert [f["name"] for f in client.stack(1)[:2]] == ["helper", "walk"]
        client.step("stepOut", 1)
        assert_at(client, "walk", "walk-call")
        refused = client.request("pause", {"threadId": 1})
        assert not refused["success"] and "cannot be paused" in refused["message"]
        client.resume(1)
        assert driver.result("walk") == "232"
        client.wait_event("terminated")
        client.disconnect()


def test_breakpoints_and_setting_a_variable(legacy):
    driver = legacy.driver("pauses.py", "walk")
    wait_waiting(legacy)
    conditional = {"line": line_of(PAUSES, "helper-add"), "condition": "i == 4"}
    with legacy.raydbg_dap() as client:
        attach(client, "walk", breakpoints={str(PAUSES): [conditional]})
        client.resume(1)
        client.stopped(reason="breakpoint")
        top = assert_at(client, "helper", "helper-add")
        assert client.evaluate("(i, scaled)", top["id"]) == "(4, 8)"
        scope = client.ok("scopes", {"frameId": top["id"]})["scopes"][0]
        client.ok("setVariable", {"variablesReference": scope["variablesReference"], "name": "scaled", "value": "1000"})
        client.set_breakpoints(PAUSES, [])
        client.resume(1)
        assert driver.result("walk") == str(232 + 992)
        client.disconnect()


def test_post_mortem(legacy):
    driver = legacy.driver("pauses.py", "boom")
    wait_waiting(legacy)
    with legacy.raydbg_dap() as client:
        stop = attach(client, "boom", filters=())
        assert (stop["reason"], stop["text"]) == ("exception", "ValueError")
        top = assert_at(client, "middle", "boom-raise")
        assert client.locals(top["id"])["value"]["value"] == "2"
        info = client.ok("exceptionInfo", {"threadId": 1})
        assert info["exceptionId"] == "ValueError" and info["details"]["innerException"][0]["typeName"] == "KeyError"
        client.resume(1)
        assert "ValueError: boom 2" in driver.error("boom")
        client.disconnect()


def test_the_second_breakpoint_is_the_same_session(legacy):
    driver = legacy.driver("pauses.py", "twice")
    wait_waiting(legacy)
    with legacy.raydbg_dap() as client:
        attach(client, "twice")
        client.resume(1)
        client.stopped(reason="breakpoint")
        assert_at(client, "twice", "twice-second")
        client.resume(1)
        assert driver.result("twice") == "4"
        client.disconnect()


def test_disconnect_lets_the_task_run(legacy):
    driver = legacy.driver("pauses.py", "square", "on_b")
    rows = wait_waiting(legacy, 2)
    for row in rows:
        with legacy.raydbg_dap() as client:
            attach(client, row["task_name"])
            client.disconnect()
    assert driver.result("square") == "9"
    assert driver.result("on_b") == "5@127.0.0.2"
    assert not [row for row in listing(legacy) if row["debugger"] == "pdb"]


def test_an_actor(legacy):
    driver = legacy.driver("pauses.py", "actor", "square")
    wait_waiting(legacy, 2)
    with legacy.raydbg_dap() as client:
        attach(client, "Trainer.step")
        assert client.evaluate("self.steps") == "0"
        client.resume(1)
        assert driver.result("actor") == "1.5"
        client.assert_no_event("terminated", 1)
        client.disconnect()


def test_threads_of_one_worker(newest):
    """Each has a session of its own; what one does leaves the others where they are."""
    driver = newest.driver("pauses.py", "threaded")
    rows = wait_waiting(newest, 3)
    assert len({row["endpoint"] for row in rows}) == 3
    for done, row in enumerate(rows):
        with newest.raydbg_dap() as client:
            attach(client, row["task_id"])
            client.resume(1)
            wait_for(lambda: len(driver.results()) == done + 1, "one more is done")
            client.disconnect()


def test_object_references_are_annotated(newest):
    newest.driver("pauses.py", "walk")
    wait_waiting(newest)
    with newest.raydbg_dap() as client:
        attach(client, "walk")
        top = go_to(client, "walk", "walk-call")

        def annotated():
            return "B" in client.locals(top["id"])["reference"]["value"].partition("ObjectRef(")[0]
        wait_for(annotated, lambda: f"an annotation\n{client.text()}")
        assert "ObjectRef(" in client.locals(top["id"])["reference"]["value"]
        client.disconnect()


# --- console ---

def test_the_console(legacy):
    driver = legacy.driver("pauses.py", "walk")
    wait_waiting(legacy)
    done = legacy.raydbg("attach", "walk", input="where\np number\np len(items)\nn\nn\nlocals\nc\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pauses.py" in done.stdout and "\n7\n" in done.stdout and "\n10\n" in done.stdout
    assert "walk" in done.stdout.splitlines()[-1] and "has ended" in done.stdout, done.stdout
    assert driver.result("walk") == "232"


def test_a_step_out_of_an_actors_call_ends_the_console(legacy):
    driver = legacy.driver("pauses.py", "actor")
    wait_waiting(legacy)
    script = [*["next"] * 4, "p 'not reached'"]  # Python 3.13 stops at breakpoint() itself: one step more
    done = legacy.raydbg("attach", "Trainer.step", "--echo", *(word for line in script for word in ("-e", line)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "step · returns\n" in done.stdout, done.stdout
    assert done.stdout.endswith("(raydbg) next\nTrainer.step has ended\n"), done.stdout
    assert driver.result("actor") == "1.5"


def demo_commands():
    """Those of tools/demo that attach: each the arguments of one raydbg."""
    lines = (ROOT / "tools/demo").read_text().replace("\\\n", " ").splitlines()
    commands = [shlex.split(line)[3:] for line in lines if line.startswith('show "raydbg attach')]
    assert len(commands) == 3
    return commands


def test_the_session_of_the_demo(legacy, tmp_path):
    """Its commands and its program, as they are for debugpy; only the second node's resource has another name here."""
    program = tmp_path / "program.py"
    program.write_text((ROOT / "tools/demo.d/program.py").read_text().replace('"second"', '"b"'))
    driver = legacy.driver(program, ADDRESS)
    wait_waiting(legacy, 3)
    said = []
    for command in demo_commands():
        done = legacy.raydbg(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        said.append(done.stdout)
        for script in (command[at + 1] for at, word in enumerate(command) if word == "-e"):
            assert f"(raydbg) {script}\n" in done.stdout, done.stdout
    assert "(raydbg) p z, arr.sum()\n(4999950144, " in said[0]
    assert "(raydbg) p loss\n0.5\n" in said[1]
    assert "could not convert string to float: 'two'" in said[2] and "(raydbg) p row\n'b=two'\n" in said[2]
    wait_for(lambda: driver.process.poll() is not None, "the program ends")
    output = driver.output()
    assert "square -> (4999950144, " in output and "Trainer.step -> 0.5" in output and "load failed: " in output


# --- what dies ---

@pytest.mark.parametrize("when", ["stopped", "running", "traced"])
def test_a_client_that_is_killed_harms_nothing(newest, when, soak):
    for _ in range(20 if soak else 3):
        driver = newest.driver("pauses.py", "walk")
        wait_waiting(newest)
        condition = {"line": line_of(PAUSES, "helper-add"), "condition": "i == 99"}
        process = newest.raydbg_popen("dap")
        client = DapClient.over_process(process, strict=False)
        attach(client, "walk", breakpoints={str(PAUSES): [condition]} if when == "traced" else {})
        if when != "stopped":
            client.send("continue", {"threadId": 1})
        process.send_signal(signal.SIGKILL)
        client.close(check=False)
        assert driver.result("walk") == "232"


def is_connected(pid, port):
    """Whether a process's network namespace has an established connection to this port."""
    with open(f"/proc/{pid}/net/tcp") as table:
        return any(row[2].endswith(f":{port:04X}") and row[3] == "01" for row in map(str.split, table))


# From the connection to the agent's first word it takes some 10 ms.
DELAYS = 0, 0, 0.001, 0.002, 0.005


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_client_that_ends_while_it_connects_harms_nothing(newest, end, soak):
    """Ray's pdb fails its task if it cannot say its first words, and takes no second connection."""
    count = 40 if soak else 5
    driver = newest.driver("in_turn.py", str(count), env={"RAY_ADDRESS": newest.head()})
    for number in range(count):
        row = wait_waiting(newest)[0]
        process = newest.raydbg_popen("dap")
        pid = process.inner_pid()
        client = DapClient.over_process(process, strict=False)
        client.initialize()
        client.send("attach", {"task": row["task_id"]})
        port = int(row["endpoint"].rpartition(":")[2])
        wait_for(lambda: is_connected(pid, port), "the client connects", every=0)  # noqa: B023
        settle(DELAYS[number % len(DELAYS)])
        os.kill(pid, end)
        client.close(check=False)
        driver.wait_for(rf"^(RESULT|ERROR) task-{number} ")
    assert driver.results() == [(f"task-{number}", str(number)) for number in range(count)], driver.output()


# --- a relay ---


def pause_of(relay, name):
    return next((p for p in relay.pauses() if p["task_name"] == name), None)


def test_two_clients_and_a_late_one(newest, run_relay):
    driver = newest.driver("pauses.py", "walk")
    wait_waiting(newest)
    relay = run_relay(newest)
    first = relay.join(name="first", task="walk", breakpoints={PAUSES: [line_of(PAUSES, "walk-second-call")]})
    first.stopped()
    go_to(first, "walk", "walk-call")
    second = relay.join("websocket", "second", task="walk")
    second.stopped()
    assert_at(second, "walk", "walk-call")
    assert not second.request("next", {"threadId": 1})["success"]
    first.resume(1)
    for client in first, second:
        client.stopped(reason="breakpoint")
        assert_at(client, "walk", "walk-second-call")
    first.transport.reset()
    late = relay.join(name="late", task="walk", takeOver=True)
    late.stopped()
    assert_at(late, "walk", "walk-second-call")
    row = wait_for(lambda: (p := pause_of(relay, "walk")) and p["held"] and p["location"] and p, "it is held")
    assert row["debugger"] == "pdb" and row["location"]["line"] == line_of(PAUSES, "walk-second-call")
    late.resume(1)
    assert driver.result("walk") == "232"
    for client in second, late:
        client.wait_event("terminated")
        client.disconnect()
    wait_for(lambda: not pause_of(relay, "walk"), "it is listed no more")


def test_a_relay_holds_each_pause_and_releases_it(newest, run_relay):
    driver = newest.driver("pauses.py", "square", "on_b")
    relay = run_relay(newest, "--hold", "on-pause")
    for name in "square", "on_b":
        row = wait_for(lambda: (p := pause_of(relay, name)) and p["held"] and p, f"{name} is held")
        assert row["debugger"] == "pdb"
        with hard():
            assert name not in dict(driver.results())
        assert relay.http("POST", f"/v1/pauses/{row['id']}/release").status == 200
        driver.result(name)


def test_killed_relays_lose_no_pause(newest, run_relay, soak):
    driver = newest.driver("pauses.py", "walk")
    wait_waiting(newest)
    relay = run_relay(newest)
    relay.join(task="walk").stopped()
    for number in range(20 if soak else 3):
        relay.kill9()
        relay.restart()
        with hard():
            assert [p["task_name"] for p in relay.pauses() if p["held"]] == ["walk"]
        client = relay.join(name=f"client {number}", task="walk")
        client.stopped()
        assert client.evaluate("number", client.stack(1)[0]["id"]) == "7"
    client.disconnect(onDisconnect="continue")
    assert driver.result("walk") == "232"


@pytest.mark.parametrize("when", ["stopped", "running", "traced"])
def test_relays_that_die_with_their_keeper_harm_nothing(newest, run_relay, when, soak):
    for _ in range(20 if soak else 2):
        driver = newest.driver("pauses.py", "walk")
        wait_waiting(newest)
        relay = run_relay(newest)
        condition = {"line": line_of(PAUSES, "helper-add"), "condition": "i == 99"}
        client = relay.join(task="walk", breakpoints={PAUSES: [condition]} if when == "traced" else {})
        client.strict = False
        client.stopped()
        if when != "stopped":
            client.send("continue", {"threadId": 1})
        relay.kill9()  # first: a relay that lives replaces its keeper
        for pid in relay.kept_pids():
            os.kill(pid, signal.SIGKILL)
        assert driver.result("walk") == "232"


# --- raydbg debug ---

def test_debug_is_as_ray_debug(legacy):
    driver = legacy.driver("pauses.py", "walk")
    wait_waiting(legacy)
    done = legacy.raydbg("debug", input="7\n\n0\np number\nc\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Active breakpoints:") >= 3
    assert "index" in done.stdout and "ray::walk" in done.stdout and "pauses.py:" in done.stdout
    assert done.stdout.count("Enter breakpoint index or press enter to refresh: ") >= 3
    assert "there is no breakpoint 7" in done.stderr and "\n7\n" in done.stdout
    assert driver.result("walk") == "232"
