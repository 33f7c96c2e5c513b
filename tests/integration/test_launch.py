"""F5 on a real two-node Ray: `raydbg dap` with `launch` of a program that nobody has edited."""

import re

import pytest
from cluster import PROGRAMS, line_of, wait_for
from launch_editor import LaunchEditor
from waits import limit

UNEDITED, STOPS = PROGRAMS / "unedited.py", PROGRAMS / "stops.py"
KINDS = ("task", "actor", "threaded", "asynchronous", "driver")
NAMES = {"task": "task", "actor": "Work.step", "threaded": "Threaded.step", "asynchronous": "Asynchronous.step",
         "driver": "driver unedited.py"}


@pytest.fixture
def edit():
    """edit(cluster, relay): an editor in the cluster."""
    started = []

    def run(cluster, relay, **env):
        env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"], "RAYDBG_START_RELAY": "0",
               "RAY_ADDRESS": cluster.head(), "RAYDBG_RELAY": "%s:%d" % relay.address, **env}
        started.append(LaunchEditor(cluster.raydbg_argv("dap", "--launch"), env, cluster.directory, popen=cluster.popen))
        return started[-1]

    yield run
    for editor in started:
        editor.kill()


def name_of(editor, stop):
    """The thread's name; that of a worker's earlier task until the new one has become known."""
    return next(t["name"] for t in editor.ok("threads")["threads"] if t["id"] == stop["threadId"])


def next_stop(editor, last):
    """The next stop that is not the last one, which is shown once more when its task's name has become known."""
    while True:
        stop = editor.stopped(limit(120), reason="breakpoint")
        stack = editor.request("stackTrace", {"threadId": stop["threadId"]})
        if not stack["success"]:
            continue
        frame = stack["body"]["stackFrames"][0]
        value = editor.request("evaluate", {"expression": "n", "frameId": frame["id"], "context": "watch"})
        if value["success"] and [(frame["line"], value["body"]["result"])] != last:
            return stop, (frame["line"], value["body"]["result"])


def results(text):
    """Ray may have printed a part of a worker's line in front of a result."""
    return re.findall(r"RESULT (\w+) (\d+) ", text)


def test_every_kind_of_call_stops_in_the_editor(core_cluster, run_relay, edit):
    editor = edit(core_cluster, run_relay(core_cluster))
    lines = [line_of(UNEDITED, name) for name in KINDS]
    answers = editor.launch({UNEDITED: lines}, program=str(UNEDITED), args=list(KINDS),
                            python=str(core_cluster.venv / "bin/python"), cwd=str(core_cluster.directory))[UNEDITED]
    assert [answer["verified"] for answer in answers] == [False] * len(lines)
    stops = []
    for name in KINDS:
        for _ in (1, 2):
            stop, stopped_at = next_stop(editor, stops[-1:])
            wait_for(lambda: NAMES[name] in name_of(editor, stop), lambda: f"{name}: {name_of(editor, stop)}")
            stops.append(stopped_at)
            editor.resume(stop["threadId"])
    assert stops == [(line_of(UNEDITED, name), str(n)) for name in KINDS for n in (1, 2)]
    assert editor.exit_code() == 7
    changed = {event["body"]["breakpoint"]["id"]: event["body"]["breakpoint"]["verified"] for event in editor.events("breakpoint")}
    assert changed == {answer["id"]: True for answer in answers}
    assert results(editor.output()) == [(name, str(2 * n)) for name in KINDS for n in (1, 2)]
    editor.end()


def test_a_click_while_it_runs_reaches_a_worker_that_runs(cluster, run_relay, edit):
    relay = run_relay(cluster)
    editor = edit(cluster, relay)
    editor.launch({UNEDITED: [line_of(UNEDITED, "driver")]}, program=str(UNEDITED), args=["actor", "driver", "actor"],
                  python=str(cluster.venv / "bin/python"), cwd=str(cluster.directory))
    stop = editor.stopped(limit(120))
    editor.set_breakpoints(UNEDITED, [line_of(UNEDITED, "actor")])
    editor.resume(stop["threadId"])
    stop = editor.stopped(limit(120))
    assert editor.stack(stop["threadId"])[0]["name"] == "step"
    editor.ok("terminate")  # a stopped actor and a driver that waits for it
    assert editor.exit_code() != 7
    editor.end()
    wait_for(lambda: not relay.pauses(), lambda: f"the job's pauses are gone: {relay.pauses()}")


def test_the_filter_uncaught_in_tasks(core_cluster, run_relay, edit):
    """It is switched on before the program starts, and off while a task stands. Before 2.39 Ray's own post mortem begins then,
    if RAY_DEBUG is set."""
    after = [] if "RAY_DEBUG" in dict(core_cluster.spec.env) else ["actor"]
    editor = edit(core_cluster, run_relay(core_cluster))
    editor.launch({}, filters=["uncaughtInTasks"], program=str(STOPS), args=["fails", "task", *after],
                  python=str(core_cluster.venv / "bin/python"), cwd=str(core_cluster.directory))
    stop = editor.stopped(limit(120), reason="exception")
    frame = editor.stack(stop["threadId"])[0]
    assert (frame["name"], frame["line"]) == ("lose", line_of(STOPS, "lose")), frame
    assert editor.evaluate("lost", frame["id"]) == "6"
    editor.ok("setExceptionBreakpoints", {"filters": []})
    editor.resume(stop["threadId"])
    editor.exit_code()
    assert editor.output().count("ValueError: lost 6") >= 1 + len(after), editor.output()
