"""`raydbg dap` on a real Ray and a real debugpy: the same behaviour on every Python."""

import time
from contextlib import suppress

import pytest
from cluster import PROGRAMS, line_of, wait_for
from dap_client import DapError, DapTimeout
from waits import limit, settle

PAUSES = PROGRAMS / "pauses.py"

# docs/facts/debugpy.md#0.1: with debugpy itself each of these leaves the worker's debugger stuck for good.
WEDGING = ("breakpointLocations cancel dataBreakpointInfo disassemble loadedSources readMemory restartFrame "
           "reverseContinue runInTerminal setDataBreakpoints setInstructionBreakpoints startDebugging stepBack "
           "terminateThreads writeMemory").split()


def attach(client, task, arguments=None, **options):
    client.initialize()
    client.attach({"task": task, **(arguments or {})}, **options)
    return client.stopped()


def assert_at(client, stop, function, marker):
    top = client.stack(stop["threadId"])[0]
    assert (top["name"], top["line"]) == (function, line_of(PAUSES, marker)), client.text()
    assert top["source"]["path"] == str(PAUSES)
    return top


# --- the core cases, on every version ---

def test_a_task_stops_at_its_breakpoint_and_steps(core_cluster):
    driver = core_cluster.driver("pauses.py", "walk")
    core_cluster.wait_paused()
    with core_cluster.raydbg_dap() as client:
        stop = attach(client, "walk", {"showReturnValue": True, "redirectOutput": True})
        assert stop["reason"] == "breakpoint"
        thread = stop["threadId"]
        top = assert_at(client, stop, "walk", "walk-breakpoint")
        found = client.locals(top["id"])
        assert found["number"]["value"] == "7" and not [name for name in found if name.startswith("(return)")]
        assert [t["name"] for t in client.ok("threads")["threads"] if "walk" not in t["name"]] == []
        client.ok("restart")
        assert client.stopped()["threadId"] == thread
        assert_at(client, stop, "walk", "walk-breakpoint")
        assert_at(client, client.step("next", thread), "walk", "walk-call")
        inside = client.step("stepIn", thread)
        frames = client.stack(thread)
        assert [f["name"] for f in frames[:2]] == ["helper", "walk"], client.text()
        assert_at(client, client.step("stepOut", inside["threadId"]), "walk", "walk-call")
        assert_at(client, client.step("next", thread), "walk", "walk-second-call")
        assert_at(client, client.step("next", thread), "walk", "walk-return")
        client.ok("next", {"threadId": thread})  # off the end: the task ends, and stops nowhere
        assert driver.result("walk") == "232"
        client.wait_event("terminated")  # its job ends with it
        said = "".join(e["body"]["output"] for e in client.events("output"))
        assert "Debugger client is connected" not in said and "goes on" not in said
        client.disconnect()


def test_conditional_breakpoints_evaluate_and_set_variable(core_cluster):
    driver = core_cluster.driver("pauses.py", "walk")
    core_cluster.wait_paused()
    conditional = {"line": line_of(PAUSES, "helper-add"), "condition": "i == 4"}
    with core_cluster.raydbg_dap() as client:
        stop = attach(client, "walk", breakpoints={str(PAUSES): [conditional]})
        client.resume(stop["threadId"])
        top = assert_at(client, client.stopped(reason="breakpoint"), "helper", "helper-add")
        assert client.evaluate("(i, scaled)", top["id"]) == "(4, 8)"
        scope = client.ok("scopes", {"frameId": top["id"]})["scopes"][0]
        client.ok("setVariable", {"variablesReference": scope["variablesReference"], "name": "scaled", "value": "1000"})
        client.set_breakpoints(PAUSES, [])
        client.resume(stop["threadId"])
        assert driver.result("walk") == str(232 + 992)
        client.disconnect()


def test_post_mortem_shows_the_raising_frame(core_cluster):
    driver = core_cluster.driver("pauses.py", "boom")
    core_cluster.wait_paused()
    with core_cluster.raydbg_dap() as client:
        client.initialize()
        client.attach({"task": "boom"}, filters=())
        stop = client.stopped()
        assert stop["reason"] == "exception"
        top = assert_at(client, stop, "middle", "boom-raise")
        assert client.locals(top["id"])["value"]["value"] == "2"
        info = client.ok("exceptionInfo", {"threadId": stop["threadId"]})
        assert "ValueError" in info["exceptionId"] and "boom 2" in info["description"]
        client.resume(stop["threadId"])
        assert "ValueError: boom 2" in driver.error("boom")
        client.disconnect()


def test_rays_own_frames_have_no_byte_code_for_a_source(core_cluster):
    """The traceback of a task's exception goes through Ray's _raylet.pyx, whose text no worker has."""
    driver = core_cluster.driver("pauses.py", "boom")
    core_cluster.wait_paused()
    with core_cluster.raydbg_dap() as client:
        client.initialize()
        client.attach({"task": "boom"}, filters=())
        stop = client.stopped()
        compiled = [frame for frame in client.stack(stop["threadId"]) if frame["source"]["path"].endswith("_raylet.pyx")]
        assert compiled, client.text()
        for frame in compiled:
            reference = frame["source"].get("sourceReference", 0)
            answer = client.request("source", {"source": frame["source"], "sourceReference": reference})
            assert not answer["success"], (frame, answer)
        client.resume(stop["threadId"])
        assert "ValueError: boom 2" in driver.error("boom")
        client.disconnect()


def test_two_breakpoints_in_a_row(core_cluster):
    driver = core_cluster.driver("pauses.py", "twice")
    core_cluster.wait_paused()
    with core_cluster.raydbg_dap() as client:
        stop = attach(client, "twice")
        assert_at(client, stop, "twice", "twice-first")
        client.resume(stop["threadId"])
        assert_at(client, client.stopped(reason="breakpoint"), "twice", "twice-second")
        client.resume(stop["threadId"])
        assert driver.result("twice") == "4"
        client.disconnect()


def pool_stops(client, cluster):
    """Attaches to the actor with three paused threads; its stops, one for each thread.

    debugpy 1.8.0 knows no way to stop threads one by one: the first stop may freeze the others before their own.
    """
    stops = [attach(client, "Pool")]
    if cluster.spec.debugpy != "1.8.0":
        stops += [client.stopped() for _ in range(2)]
        assert len({stop["threadId"] for stop in stops}) == 3
    return stops


def resume_until_done(client, driver, names):
    """Continues whatever stops until the driver has all these results."""
    deadline = time.monotonic() + limit()
    while not names <= {name for name, _ in driver.results()}:
        assert time.monotonic() < deadline, client.text()
        with suppress(DapTimeout):
            client.resume(client.stopped(timeout=0.5)["threadId"])  # timed: a look whether another stops


def test_actors_of_all_kinds(core_cluster):
    driver = core_cluster.driver("pauses.py", "actor", "threaded", "async")
    core_cluster.wait_paused(threads=5)
    with core_cluster.raydbg_dap() as client:
        top = assert_at(client, attach(client, "bob"), "step", "trainer-breakpoint")
        assert client.locals(top["id"])["loss"]["value"] == "1.0"
        client.disconnect()
    with core_cluster.raydbg_dap() as client:
        stops, labels = pool_stops(client, core_cluster), set()
        for stop in stops:
            top = assert_at(client, stop, "work", "pool-breakpoint")
            labels.add(client.evaluate("label", top["id"]))
        assert len(labels) == len(stops) and labels <= {"'rank 0'", "'rank 1'", "'rank 2'"}
        client.resume(stops[0]["threadId"])
        resume_until_done(client, driver, {f"threaded-{rank}" for rank in range(3)})
        client.disconnect()
    with core_cluster.raydbg_dap() as client:
        ranks, stop = [], attach(client, "Async")
        for left in (2, 1, 0):
            top = assert_at(client, stop, "work", "async-breakpoint")
            ranks.append(client.evaluate("rank", top["id"]))
            client.resume(stop["threadId"])
            stop = client.stopped() if left else None
        assert sorted(ranks) == ["0", "1", "2"]
        client.disconnect()
    assert driver.wait() == 0, driver.output()


# Stands in for a thread whose stop comes while the others are let go: stops them anew before they notice.
OVERTAKE = """
import pydevd, threading
from _pydevd_bundle import pydevd_api
from _pydevd_bundle.pydevd_comm_constants import CMD_SET_BREAK
from _pydevd_bundle.pydevd_thread_lifecycle import suspend_all_threads
original, stopped = pydevd_api.resume_threads, threading.current_thread()
def resume_threads(*args, **named):
    pydevd_api.resume_threads = original
    original(*args, **named)
    suspend_all_threads(pydevd.get_global_debugger(), None)
    stopped.stop_reason = CMD_SET_BREAK
pydevd_api.resume_threads = resume_threads
"""


def test_a_continue_that_another_stop_overtakes_is_answered(core_cluster):
    driver = core_cluster.driver("pauses.py", "square")
    core_cluster.wait_paused()
    with core_cluster.raydbg_dap() as client:
        stop = attach(client, "square", {"stopAllThreadsOnSuspend": True})
        top = client.stack(stop["threadId"])[0]
        client.evaluate(f"exec({OVERTAKE!r}, {{}})", top["id"])
        client.resume(stop["threadId"])
        again = client.stopped()
        assert (again["threadId"], again["reason"]) == (stop["threadId"], "breakpoint"), client.text()
        assert client.stack(again["threadId"])[0]["line"] == top["line"]
        client.resume(again["threadId"])
        client.disconnect()
    assert driver.wait() == 0, driver.output()


def test_stepping_one_thread_leaves_the_others_where_they_are(core_cluster):
    driver = core_cluster.driver("pauses.py", "threaded")
    core_cluster.wait_paused(threads=3)
    with core_cluster.raydbg_dap() as client:
        stops = pool_stops(client, core_cluster)
        client.ok("next", {"threadId": stops[0]["threadId"]})
        # Where one thread's stop stops all, a thread that stops meanwhile ends the step.
        client.stopped(**({"threadId": stops[0]["threadId"]} if len(stops) > 1 else {}))
        for stop in stops[1:]:
            assert_at(client, stop, "work", "pool-breakpoint")
        client.resume(stops[0]["threadId"])
        resume_until_done(client, driver, {f"threaded-{rank}" for rank in range(3)})
        client.disconnect()
    assert driver.wait() == 0, driver.output()


def test_wedging_commands_leave_the_session_usable(core_cluster):
    driver = core_cluster.driver("pauses.py", "walk", "square")  # whose job, and so the worker, outlives walk
    core_cluster.wait_paused(threads=2)
    with core_cluster.raydbg_dap() as client:
        stop = attach(client, "walk")
        for command in WEDGING:
            answer = client.request(command, {"requestId": 1} if command == "cancel" else {})
            assert answer["success"] == (command == "cancel"), answer
            assert_at(client, stop, "walk", "walk-breakpoint")
        client.resume(stop["threadId"])
        assert driver.result("walk") == "232"
        for command in ("continue", "continue", "next", "stepIn", "stepOut"):
            client.request(command, {"threadId": stop["threadId"]})
            assert client.ok("threads")["threads"]
        client.disconnect()


# --- leaving, dying, and what a client may do wrong ---

def test_a_value_of_16_mib_wedges_nothing(cluster, soak):
    """debugpy's adapter reads nothing after a message of that size. Long form: 20 of them."""
    driver = cluster.driver("pauses.py", "walk")
    cluster.wait_paused()
    large = [("'x' * 17_000_000", "clipboard"), ("print('x' * 17_000_000)", "repl"),
             ("exec('raise ValueError(17_000_000 * str(7))')", "watch"), ("b'\\0' * 17_000_000", "clipboard")]
    with cluster.raydbg_dap() as client:
        frame = client.stack(attach(client, "walk")["threadId"])[0]["id"]
        for expression, context in large * 5 if soak else large[:1]:
            client.request("evaluate", {"expression": expression, "context": context, "frameId": frame})
            assert client.evaluate("number", frame) == "7"
        client.disconnect()
    assert driver.result("walk") == "232"


def test_terminate_debuggee_does_not_kill_the_worker(cluster):
    driver = cluster.driver("pauses.py", "actor")
    cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        attach(client, "Trainer.step")
        client.disconnect(terminateDebuggee=True)
        assert any("goes on" in e["body"]["output"] for e in client.events("output"))
    assert driver.result("actor") == "1.5"


def test_terminate_does_not_kill_the_worker(cluster):
    driver = cluster.driver("pauses.py", "actor")
    cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        attach(client, "Trainer.step")
        client.ok("terminate")
        client.wait_event("terminated")
        client.disconnect()
    assert driver.result("actor") == "1.5"


def test_kill_ends_the_worker(cluster):
    driver = cluster.driver("pauses.py", "actor")
    cluster.wait_paused()
    with cluster.raydbg_dap("--kill") as client:
        attach(client, "Trainer.step")
        client.disconnect(terminateDebuggee=True)
    assert "Actor" in driver.error("actor")


def test_a_client_that_vanishes_lets_the_task_go_on(cluster):
    driver = cluster.driver("pauses.py", "square")
    cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        attach(client, "square")
    assert driver.result("square") == "9"


def test_a_worker_that_dies_is_explained(cluster):
    driver = cluster.driver("pauses.py", "actor")
    [worker] = cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        stop = attach(client, "Trainer.step")
        cluster.kill(worker["pid"])
        client.wait_event("terminated")
        said = " ".join(e["body"]["output"] for e in client.events("output"))
        assert f"pid {worker['pid']}" in said and "died" in said and "raydbg why " in said, said
        answer = client.request("stackTrace", {"threadId": stop["threadId"]})
        assert not answer["success"] and "died" in answer["message"]
        client.disconnect()
    assert "Actor" in driver.error("actor")


def test_a_second_client_is_refused_with_the_reason(cluster):
    cluster.driver("pauses.py", "square")
    cluster.wait_paused()
    with cluster.raydbg_dap() as first:
        stop = attach(first, "square")
        with cluster.raydbg_dap() as second:
            second.initialize()
            with pytest.raises(DapError, match="already being debugged"):
                second.attach({"task": "square"})
            second.disconnect()
        assert_at(first, stop, "square", "square-breakpoint")
        first.disconnect()


def test_names_that_match_nothing_or_too_much(cluster):
    cluster.driver("pauses.py", "square", "on_b")
    cluster.wait_paused(threads=2)
    with cluster.raydbg_dap() as client:
        client.initialize()
        with pytest.raises(DapError, match="no paused task is called 'nosuch'"):
            client.attach({"task": "nosuch"})
        with pytest.raises(DapError, match="which one"):
            client.attach({})
        with pytest.raises(DapError, match='"task" must be a string'):
            client.attach({"task": 7})
        client.attach({"task": "on_b"})
        assert_at(client, client.stopped(), "on_b", "on-b-breakpoint")
        client.disconnect()


def test_frames_of_ray_are_subtle(cluster):
    cluster.driver("pauses.py", "square")
    cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        frames = client.stack(attach(client, "square")["threadId"])
        assert frames[0].get("presentationHint") != "subtle"
        rays = [f for f in frames if f["name"].startswith("ray.") or "/ray/" in f["source"].get("path", "")]
        assert rays and all(f["presentationHint"] == "subtle" for f in rays), frames
        client.disconnect()


def test_noise_is_kept_from_clients(cluster):
    cluster.driver("pauses.py", "square")
    cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        attach(client, "square")
        names = {e["event"] for e in client.events()}
        assert not names & {"debugpySockets", "debugpyWaitingForServer"}
        assert not [e for e in client.events("output") if e["body"].get("category") == "telemetry"]
        client.disconnect()


def test_the_dashboard_leads_to_the_same_session(cluster):
    driver = cluster.driver("pauses.py", "on_b")
    cluster.wait_paused()
    with cluster.raydbg_dap(env={"RAY_ADDRESS": None}) as client:
        stop = attach(client, "on_b", {"address": "http://127.0.0.1:8265"})
        assert_at(client, stop, "on_b", "on-b-breakpoint")
        client.resume(stop["threadId"])
        assert driver.result("on_b") == "5@127.0.0.2"
        client.disconnect()


def test_pause_stops_a_running_task(cluster):
    cluster.driver("pauses.py", "spin")
    cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        stop = attach(client, "spin")
        client.resume(stop["threadId"])
        settle()
        client.ok("pause", {"threadId": stop["threadId"]})
        again = client.stopped(reason="pause", threadId=stop["threadId"])
        names = [f["name"] for f in client.stack(again["threadId"])]
        assert "spin" in names
        client.disconnect()


def test_child_processes_run_undebugged(cluster):
    driver = cluster.driver("children.py")
    cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        stop = attach(client, "parent")
        client.resume(stop["threadId"])
        assert driver.result("parent") == "child"
        assert not client.events("debugpyAttach")
        client.disconnect()


@pytest.mark.parametrize("kind", ["token_cluster", "tls_cluster", "old_cluster"])
def test_protected_and_old_clusters(kind, request):
    cluster = request.getfixturevalue(kind)
    driver = cluster.driver("pauses.py", "square")
    cluster.wait_paused()
    with cluster.raydbg_dap() as client:
        stop = attach(client, "square")
        assert_at(client, stop, "square", "square-breakpoint")
        client.resume(stop["threadId"])
        assert driver.result("square") == "9"
        client.disconnect()


def test_a_wrong_token_is_named(token_cluster):
    for token, word in (("wrong", "token"), (None, "token")):
        with token_cluster.raydbg_dap(env={"RAY_AUTH_TOKEN": token, "RAY_AUTH_MODE": None}) as client:
            client.initialize()
            with pytest.raises(DapError, match=word):
                client.attach({"task": "square"})
            client.disconnect()


def test_an_unreachable_cluster_is_named(cluster):
    with cluster.raydbg_dap("--address", "127.0.0.1:1") as client:
        client.initialize()
        with pytest.raises(DapError, match="127.0.0.1:1"):
            client.attach({"task": "square"})
        client.disconnect()


def test_a_task_that_is_gone_meanwhile(cluster):
    driver = cluster.driver("pauses.py", "square")
    cluster.wait_paused()
    driver.stop()
    wait_for(lambda: not cluster.paused(), "the worker ends")
    with cluster.raydbg_dap() as client:
        client.initialize()
        with pytest.raises(DapError, match="no task is paused|no paused task"):
            client.attach({"task": "square"})
        client.disconnect()
