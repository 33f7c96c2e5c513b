"""What a client says in `initialize` and `attach`: none of it may end the debugging of a worker. A real debugpy, and no Ray."""

import re
from pathlib import Path

import pytest
from agent_session import ROOT
from debugpy_session import Session, debugpy_directory

ANY = {"null": None, "a number": 7, "a fraction": 1.5, "a string": "x", "true": True, "an empty list": [],
       "a list of numbers": [7], "a list of lists": [[]], "a list of nulls": [None], "an object": {"/app": "/home/me"},
       "a list of objects": [{"/app": 7}], "an empty object": {}}


def but(*names):
    return {name: value for name, value in ANY.items() if name not in (*names, "null")}


FLAG, TEXT = but("true"), but("a string")

# Each member that debugpy gets in an attach: values of the wrong type.
ATTACH = {
    "pathMappings": {**but("an empty list", "a list of objects"), "a list of strings": ["/app"],
                     "a root that is a number": [{"localRoot": 7, "remoteRoot": "/app"}],
                     "a remote root that is null": [{"localRoot": "/home/me", "remoteRoot": None}],
                     "one of two": [{"localRoot": "/a", "remoteRoot": "/b"}, {"localRoot": [], "remoteRoot": "/c"}]},
    "rules": {**but("an empty list", "a list of objects"), "a path that is a number": [{"path": 7, "include": True}],
              "a module that is a list": [{"module": [], "include": True}],
              "include as text": [{"path": "/a", "include": "x"}]},
    "variablePresentation": {**but("an object", "an empty object"), "a list in it": {"all": ["hide"]},
                             "another word": {"class": "shown"}},
    "autoReload": {**but("an object", "an empty object"), "enable as text": {"enable": "x"},
                   "directories as a number": {"enable": True, "watchDirectories": 7},
                   "exclude as a number": {"enable": True, "exclude": 7},
                   "include as a list of numbers": {"enable": True, "include": [7]},
                   "interval as text": {"enable": True, "pollingInterval": "x"}},
    "breakOnSystemExit": {**but("an empty list", "a list of numbers", "a list of nulls", "a list of objects"),
                          "a range of strings": [{"from": "1", "to": 2}], "a list of fractions": [1.5]},
    "clientOS": but(),
    "debugOptions": but("an empty list"),
    "maxExceptionStackFrames": but("a number"),
    **{name: FLAG for name in (
        "breakOnSystemExitZero", "debugStdLib", "django", "flask", "jinja", "redirectOutput", "resolveSymlinks",
        "showReturnValue", "steppingResumesAllThreads", "stopAllThreadsOnSuspend", "stopOnEntry",
        "terminateChildProcesses")},
}

INITIALIZE = {
    **{name: TEXT for name in ("adapterID", "clientID", "clientName", "locale")},
    "pathFormat": {**but(), "uri": "uri"},
    **{name: FLAG for name in (
        "columnsStartAt1", "linesStartAt1", "supportsANSIStyling", "supportsArgsCanBeInterpretedByShell",
        "supportsInvalidatedEvent", "supportsMemoryEvent", "supportsMemoryReferences", "supportsProgressReporting",
        "supportsRunInTerminalRequest", "supportsStartDebuggingRequest", "supportsVariablePaging",
        "supportsVariableType")},
}

# Of the right type, or of none: what it says is odd.
ODD = {
    "null everywhere": dict.fromkeys(ATTACH),
    "names that Python's constructors have": {"self": 1, "update_ids_from_dap": True, "kwargs": {}, "__restart": [1]},
    "what debugpy's adapter reads": {"options": "CLIENT_OS_TYPE=x;DEBUG_STDLIB", "onTerminate": "KeyboardInterrupt",
                                     "guiEventLoop": "os.abort", "isOutputRedirected": [], "restart": {}},
    "options that are no text": {"options": 7},
    "half a character": {"pathMappings": [{"localRoot": "/\ud800", "remoteRoot": "/a\udfff"}],
                         "rules": [{"path": "/\ud800", "include": False}], "debugOptions": ["\ud800"]},
    "a NUL": {"pathMappings": [{"localRoot": "/a\0", "remoteRoot": "/b\0"}], "rules": [{"path": "/\0", "include": False}],
              "autoReload": {"enable": True, "watchDirectories": ["/\0"], "include": ["\0"]}},
    "broken patterns": {"rules": [{"path": "/a[*", "include": False}, {"path": "**[!", "include": False},
                                  {"module": "[", "include": False}],
                        "autoReload": {"enable": True, "exclude": ["["], "watchDirectories": [""]}},
    "numbers without end": {"maxExceptionStackFrames": -(1 << 62), "breakOnSystemExit": [1 << 62, {"from": 9, "to": 1}],
                            "autoReload": {"enable": True, "pollingInterval": float("nan")}},
    "all options": {"debugOptions": ["RedirectOutput", "Django", "Jinja", "WindowsClient", "Multiprocess", "nonsense"]},
    "mappings of nothing": {"pathMappings": [{}, {"localRoot": ""}, {"remoteRoot": "."}, {"localRoot": "/", "remoteRoot": "/"}]},
    "Windows": {"clientOS": "Windows", "pathMappings": [{"localRoot": "C:\\a", "remoteRoot": "/a"}]},
}


def assert_debuggable(session, worker, **attach):
    session.attach(attach)
    thread = session.stopped()["threadId"]
    assert session.stack(thread)[0]["name"] == "walk", session.text()
    session.resume(thread)
    assert worker.outcome() == "RESULT 13"
    session.disconnect()
    session.close()


def test_no_member_of_attach_ends_a_worker(start_worker):
    """Nothing of the wrong type reaches the worker: the client is told which member it is."""
    one = start_worker("walk")
    session = Session.begin(one)
    session.initialize()
    for name, values in ATTACH.items():
        for what, value in values.items():
            answer = session.request("attach", {name: value})
            assert not answer["success"], (name, what, answer)
            assert f'"{name}" must be' in answer["message"], (name, what, answer)
    assert_debuggable(session, one)


def test_no_member_of_initialize_ends_a_worker(start_worker):
    one = start_worker("walk")
    session = Session.begin(one)
    for name, values in INITIALIZE.items():
        for what, value in values.items():
            answer = session.request("initialize", {"adapterID": "x", name: value})
            assert not answer["success"], (name, what, answer)
            assert f'"{name}" must be' in answer["message"], (name, what, answer)
    for arguments in ([], "x", 7, True):
        assert not session.request("initialize", arguments)["success"], arguments
    session.ok("initialize", {**dict.fromkeys(INITIALIZE), "self": 1, "update_ids_from_dap": True, "supportsX": 7})
    assert_debuggable(session, one)


@pytest.mark.parametrize("odd", ODD)
def test_no_odd_value_ends_a_worker(start_worker, odd):
    one = start_worker("walk")
    session = Session.begin(one)
    session.initialize()
    assert_debuggable(session, one, **ODD[odd])


def test_an_unknown_member_is_left_out_with_a_warning(start_worker):
    one = start_worker("walk")
    session = Session.begin(one)
    session.initialize()
    known = {"name": "x", "type": "raydbg", "request": "attach", "preLaunchTask": "x", "__sessionId": "1", "pathMappings": []}
    assert_debuggable(session, one, **known, pathMapings=[], **{"x" * 1000: 1})
    [warning] = [event["body"]["output"] for event in session.events("output") if "left out" in event["body"]["output"]]
    assert '"pathMapings"' in warning and len(warning) < 300, warning
    assert not any(f'"{name}"' in warning for name in known), warning


# --- the tables are whole ---

def rows(table):
    """The names in a table of debugpy_arguments.c."""
    source = (ROOT / "relay/debuggee/debugpy_arguments.c").read_text()
    body = re.search(r"struct argument %s\[\] = \{(.*?)\n\};" % table, source, re.S)[1]
    return set(re.findall(r'(?:^    \{|FLAG\(|TEXT\()"(\w+)"', body, re.M))


def test_every_member_of_the_table_is_tried():
    assert rows("attach_arguments") == set(ATTACH)
    assert rows("initialize_arguments") == set(INITIALIZE)
    documented = (ROOT / "docs/editors.md").read_text()
    assert not [name for name in ATTACH if f"`{name}`" not in documented]


def test_every_member_that_debugpy_reads_is_known(debugpy_version):
    """Each one passes, is raydbg's own, or is left out on purpose."""
    bundle = Path(debugpy_directory(*debugpy_version)) / "debugpy"
    pydevd = bundle / "_vendored/pydevd/_pydevd_bundle"
    text = "".join(path.read_text() for path in (pydevd / "pydevd_process_net_command_json.py",
                                                 pydevd / "pydevd_json_debug_options.py"))
    text += re.search(r"def attach_request\(.*?@message_handler", (bundle / "adapter/clients.py").read_text(), re.S)[0]
    read = set(re.findall(r"""(?:args\.get\(|request\()["'](\w+)["']|["'](\w+)["'] in args""", text))
    names = {one or other for one, other in read}
    assert len(names) > 25, names
    ours = "".join((ROOT / "relay" / name).read_text() for name in ("debuggee/debugpy_arguments.c", "session/attach_arguments.c"))
    unknown = {"options", "guiEventLoop"}  # with a warning: an old form, and a function to call in the worker
    assert {name for name in names if f'"{name}"' not in ours} == unknown
