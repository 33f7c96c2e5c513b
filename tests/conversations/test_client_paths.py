"""Each client of a relay has its own path mappings; of other settings it is told whose hold.

The adapter stands in for a pydevd with the mappings of the client that attached first, or with none if the relay did.
test_client_paths.py of tests/agent has the real one.
"""

import re
from pathlib import Path

import pytest
from fake_adapter import PROGRAM, WORKER

TREE = Path(__file__).resolve().parents[2]
ROOT = PROGRAM.rpartition("/")[0]
NAME = PROGRAM.rpartition("/")[2]


def mapped(root, remote=ROOT, **more):
    return {"pathMappings": [{"localRoot": root, "remoteRoot": remote}], **more}


def paths(client):
    return [frame["source"].get("path") for frame in client.stack(1)]


def said(client, text):
    return [e["body"]["output"] for e in client.events("output") if text in e["body"]["output"]]


@pytest.fixture
def held(adapter, ray, run_relay):
    """A relay that has attached by itself."""
    relay = run_relay("--hold", "on-pause", adapter=None, address=ray.address)
    adapter.wait_request("configurationDone")
    return relay


def join(relay, **arguments):
    client = relay.join(task="work", **arguments)
    client.stopped()
    return client


@pytest.fixture
def first(adapter, hub):
    """A client whose mappings the debugger has: `/one`, and a file that they do not map."""
    def stack(connection, request):
        connection.respond(request, {"stackFrames": [
            {"id": 3, "name": "square", "line": 8, "column": 1, "source": {"sourceReference": 0, "path": f"/one/{NAME}"}},
            {"id": 4, "name": "lib", "line": 9, "column": 1, "source": {"path": "/lib/a.py", "sourceReference": 7}},
            {"id": 5, "name": "eval", "line": 1, "column": 1, "source": {"path": "<string>", "sourceReference": 8}},
            {"id": 6, "name": "none", "line": 0, "column": 0, "source": {}}], "totalFrames": 4})
    adapter.on["stackTrace"] = stack
    client = hub.join(name="one", **mapped("/one"))
    client.stopped()
    return client


def test_the_first_client_s_are_the_debugger_s(adapter, first):
    frames = [frame["source"] for frame in first.stack(1)]
    assert frames == [{"sourceReference": 0, "path": f"/one/{NAME}"}, {"path": "/lib/a.py", "sourceReference": 7},
                      {"path": "<string>", "sourceReference": 8}, {}]
    first.set_breakpoints(f"/one/{NAME}", [9])
    assert adapter.requests("setBreakpoints")[-1]["arguments"]["source"]["path"] == f"/one/{NAME}"


def test_a_later_client_has_its_own(adapter, hub, first):
    second = hub.join(name="two", takeOver=True, pathMappings=[{"localRoot": "/two/", "remoteRoot": ROOT + "/"},
                                                               {"localRoot": "/here/lib", "remoteRoot": "/lib"}])
    second.stopped()
    frames = [frame["source"] for frame in second.stack(1)]
    assert frames == [{"sourceReference": 0, "path": f"/two/{NAME}"}, {"path": "/here/lib/a.py", "sourceReference": 0},
                      {"path": "<string>", "sourceReference": 8}, {}]
    (answer,) = second.set_breakpoints(f"/two/{NAME}", [9])["breakpoints"]
    assert adapter.requests("setBreakpoints")[-1]["arguments"]["source"]["path"] == f"/one/{NAME}"
    assert (answer["verified"], answer["source"]["path"]) == (True, f"/two/{NAME}")
    adapter.connections[-1].event("breakpoint", {"reason": "changed", "breakpoint": {
        "id": answer["id"], "verified": True, "line": 9, "source": {"path": f"/one/{NAME}"}}})
    assert second.wait_event("breakpoint")["body"]["breakpoint"]["source"]["path"] == f"/two/{NAME}"
    assert first.wait_event("breakpoint")["body"]["breakpoint"]["source"]["path"] == f"/one/{NAME}"
    adapter.connections[-1].event("module", {"reason": "new", "module": {"id": 1, "name": "m", "path": f"/one/{NAME}"}})
    assert second.wait_event("module")["body"]["module"]["path"] == f"/two/{NAME}"


def test_a_later_client_without_mappings_has_the_worker_s(adapter, hub, first):
    second = hub.join(name="two", takeOver=True)
    second.stopped()
    assert paths(second)[:3] == [PROGRAM, "/lib/a.py", "<string>"]
    second.set_breakpoints(PROGRAM, [9])
    assert adapter.requests("setBreakpoints")[-1]["arguments"]["source"]["path"] == f"/one/{NAME}"


@pytest.mark.parametrize("way", ["kill", "upgrade"])
def test_after_a_restart_too(adapter, hub, first, run_relay, way):
    if way == "kill":
        hub.kill9()
        hub.restart()
    else:
        old, hub = hub, run_relay("--upgrade", state=hub.state, listen=hub.addresses)
        assert old.wait() == 0
    second = hub.join(name="two", **mapped("/two"))
    second.stopped()
    assert paths(second)[0] == f"/two/{NAME}"
    one = hub.join(name="again", takeOver=True, **mapped("/one"))
    one.stopped()
    assert paths(one)[0] == f"/one/{NAME}"
    one.set_breakpoints(f"/one/{NAME}", [9])
    assert adapter.requests("setBreakpoints")[-1]["arguments"]["source"]["path"] == f"/one/{NAME}"


def test_what_a_relay_has_attached_to_itself(adapter, held):
    client = join(held, **mapped("/one"))
    assert paths(client) == [f"/one/{NAME}", WORKER]
    client.set_breakpoints(f"/one/{NAME}", [9])
    assert adapter.requests("setBreakpoints")[-1]["arguments"]["source"]["path"] == PROGRAM
    other = join(held, role="observer", **mapped("/two"))
    assert paths(other) == [f"/two/{NAME}", WORKER]


def test_a_session_over_many_tasks_has_its_own(adapter, held):
    client = held.join(tasks="*", **mapped("/one"))
    client.stopped()
    assert paths(client)[0] == f"/one/{NAME}"
    client.set_breakpoints(f"/one/{NAME}", [9])
    assert adapter.requests("setBreakpoints")[-1]["arguments"]["source"]["path"] == PROGRAM


def test_a_client_on_windows(adapter, held):
    client = join(held, **mapped("C:\\Code\\", clientOS="windows"))
    assert paths(client)[0] == f"C:\\Code\\{NAME}"
    client.set_breakpoints(f"c:/code\\{NAME}", [9])
    assert adapter.requests("setBreakpoints")[-1]["arguments"]["source"]["path"] == PROGRAM


def test_the_worker_s_own_directory_is_the_first_client_s(held):
    client = join(held, **mapped("/one", "."))
    assert paths(client)[0] == PROGRAM
    (text,) = said(client, "remoteRoot")
    assert "attaches first" in text


SETTINGS = [("redirectOutput", True), ("showReturnValue", True), ("rules", [{"path": "/x", "include": False}]),
            ("stopAllThreadsOnSuspend", True), ("steppingResumesAllThreads", True), ("django", True), ("jinja", True),
            ("breakOnSystemExitZero", True), ("stopOnEntry", True), ("maxExceptionStackFrames", 5),
            ("variablePresentation", {"special": "hide"}), ("autoReload", {"enable": True}), ("resolveSymlinks", True),
            ("breakOnSystemExit", [3]), ("debugOptions", ["ShowReturnValue"]), ("debugStdLib", True), ("flask", True),
            ("terminateChildProcesses", True)]


def other_than(value):
    if isinstance(value, bool):
        return not value
    return {int: 6, list: [], dict: {}}[type(value)]


@pytest.mark.parametrize("name, value", SETTINGS, ids=[name for name, _ in SETTINGS])
def test_a_setting_without_effect_is_said(hub, name, value):
    first = hub.join(name="one", **{name: value})
    first.stopped()
    same = hub.join(name="two", **{name: value})
    same.stopped()
    none = hub.join(name="three")
    none.stopped()
    assert not said(first, "without effect") + said(same, "without effect") + said(none, "without effect")
    other = hub.join(name="four", **{name: other_than(value)})
    other.stopped()
    (text,) = said(other, "without effect")
    assert f'"{name}"' in text and "settings of one @ " in text, text


def test_the_settings_are_all():
    source = (TREE / "relay/debuggee/debugpy_arguments.c").read_text()
    table = source.partition("attach_arguments[] = {")[2].partition("\n};")[0]
    names = re.findall(r'(?:FLAG\(|\{)"(\w+)"', table)
    assert sorted({*names} - {"pathMappings", "clientOS"}) == sorted(name for name, _ in SETTINGS)


def test_a_relay_s_own_settings(held):
    """They are those that raydbg's own clients ask for."""
    assert not said(join(held, redirectOutput=True, showReturnValue=True), "without effect")
    client = join(held, redirectOutput=False, showReturnValue=True, rules=[])
    (text,) = said(client, "without effect")
    assert '"redirectOutput"' in text and "the relay" in text and "showReturnValue" not in text and "rules" not in text, text


@pytest.mark.parametrize("given, times", [({"justMyCode": True}, 1), ({"justMyCode": False}, 0), ({}, 0)])
def test_just_my_code_is_without_effect_and_said(adapter, hub, given, times):
    client = hub.join(**given)
    client.stopped()
    assert len(said(client, '"justMyCode" has no effect')) == times
    assert adapter.requests("attach")[-1]["arguments"]["justMyCode"] is False
