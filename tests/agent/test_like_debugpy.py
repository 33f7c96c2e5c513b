"""What a session changes of what debugpy says, and `relay --target` does not: the same client, at the same program,
through either; each difference is a row of the table in docs/relay.md."""

import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from agent_session import ROOT
from dap_client import DapClient, DapTimeout, SocketTransport
from debugpy_session import debugpy_directory, pages_directory, raydbg_path
from waits import limit, wait_until

HERE = Path(__file__).resolve().parent
PROGRAMS, PAGE, DJANGO_PAGE = HERE / "like_programs.py", HERE / "like_page.html", HERE / "like_django.html"
ROWS = set(re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs/relay.md").read_text(), re.MULTILINE))


def line_of(marker):
    lines = PROGRAMS.read_text().splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.endswith(f"# line: {marker}"))


COPY = "runtime_resources/working_dir_files/_ray_pkg_0"  # where Ray puts a working_dir


def at(*markers, **more):
    return {str(PROGRAMS): [{"line": line_of(marker), **more} for marker in markers]}


# How a session is made, the version of debugpy ("": the one installed), and what that does to the rows of a scene.
LEGS = {
    "dap --connect": ("session", "", lambda rows, scene: rows),
    "relay --allow-connect": ("relay", "", lambda rows, scene: rows | {"role"}),
    "debugpy 1.8.0": ("session", "1.8.0", lambda rows, scene: rows - {"one-thread"} | {"capabilities"}
                      | ({"all-threads"} if scene == "threads" else {"frameless", "reason"} if scene == "no source" else set())),
}
ALWAYS = {"adapter-events", "restart", "telemetry", "whole-stacks"}
STOPS = ALWAYS | {"one-thread"}
# Function of the program, its breakpoints, exception filters, further attach arguments; the rows of the table that show.
SCENES = {
    "lines": ("walk", at("walk-add", "walk-return"), (), {}, STOPS),
    "condition": ("walk", at("walk-add", condition="n == 2"), (), {}, STOPS),
    "an error in a condition": ("walk", at("walk-add", condition="1 / 0"), (), {}, ALWAYS | {"conditions"}),
    "an unknown name in a condition": ("walk", at("walk-add", condition="nobody > 1"), (), {}, ALWAYS | {"conditions"}),
    "past the end": ("walk", {str(PROGRAMS): [{"line": 9999}]}, (), {}, STOPS),
    "no such file": ("walk", {"/nowhere/program.py": [{"line": 1}]}, (), {}, ALWAYS),
    "a copy": (f"{COPY}/walk", at("walk-add"), (), {}, ALWAYS | {"other-names"}),
    "no source": ("sourceless", {}, (), {}, STOPS | {"byte-code"}),
    "a slow look": ("slow", at("slow-return"), (), {}, STOPS | {"slow-looks"}),
    "hits": ("walk", at("walk-add", hitCondition="3"), (), {}, STOPS),
    "a logpoint": ("walk", at("walk-add", logMessage="n is {n}"), (), {}, ALWAYS),
    "raised": ("caught", {}, ("raised",), {}, STOPS),
    "uncaught": ("uncaught", {}, ("uncaught",), {}, STOPS | {"note"}),
    "no text": ("textless", {}, ("uncaught",), {}, STOPS | {"note", "no-text"}),
    "no filter": ("uncaught", {}, (), {}, ALWAYS | {"uncaught"}),
    "threads": ("threads", at("threads-run"), (), {}, STOPS),
    "just my code": ("library", {}, ("raised",), {"justMyCode": True}, STOPS | {"just-my-code"}),
    "template": ("template", {str(PAGE): [{"line": 2}, {"line": 3}]}, ("uncaught",), {"jinja": True}, STOPS | {"note"}),
    "an error in a template": ("template", {}, ("uncaught", "userUnhandled"), {"jinja": True}, STOPS | {"note"}),
    "a Django template": ("django_page", {str(DJANGO_PAGE): [{"line": 2}, {"line": 3}]}, ("uncaught",), {"django": True},
                          STOPS | {"note"}),
    "an error in a Django template": ("django_page", {}, ("uncaught", "userUnhandled"), {"django": True}, STOPS | {"note"}),
    "a Flask view": ("flask_page", {str(PAGE): [{"line": 2}, {"line": 3}]}, ("uncaught",), {"jinja": True}, STOPS | {"note"}),
    "child": ("child", {}, (), {}, ALWAYS | {"children"}),
    "child, followed": ("child", {}, (), {"subProcess": True}, ALWAYS),
}


def end_all(mark):
    """Ends every process that has `mark` in its environment: debugpy's adapters leave the session that starts them."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)


def start(stack, version, function, program=PROGRAMS):
    """The port that the program says; it dies with `stack`, and so do its children and their adapters, which would wait
    for a client for ever. A version of debugpy, or "": the one installed."""
    log = stack.enter_context(tempfile.TemporaryFile("w+"))
    path = [debugpy_directory("%d.%d" % sys.version_info[:2], version)] if version else []
    path += [pages_directory()] if function.endswith("_page") else []
    mark = uuid.uuid4().hex
    process = subprocess.Popen([sys.executable, "-Xfrozen_modules=off", str(program), function], stdout=subprocess.PIPE,
                               stderr=log, text=True, stdin=subprocess.DEVNULL,
                               env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "LIKE_DEBUGPY": mark})
    stack.callback(lambda: (end_all(mark), process.wait(limit()), process.stdout.close()))
    return int(process.stdout.readline().split()[1])


def connect(stack, how, port):
    """A client of a session that `raydbg dap` makes, of one that a relay makes, or of a relay that passes bytes."""
    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="like-"))
    env = {**os.environ, "RAY_ADDRESS": "ray://none:1", "XDG_STATE_HOME": home}  # no cluster that runs on this machine
    if how == "session":
        process = subprocess.Popen([raydbg_path(), "dap", "--connect", f"127.0.0.1:{port}"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        client = DapClient.over_process(process, name=how, strict=False)
    else:
        path = f"{home}/relay.sock"
        log = stack.enter_context(open(f"{home}/log", "w+"))
        process = subprocess.Popen([raydbg_path(), "relay", "--listen", f"unix:{path}", "--token", "none",
                                    *MODES[how](port)], stdout=subprocess.DEVNULL, stderr=log, env=env)
        stack.callback(lambda: (process.kill(), process.wait(limit())))
        client = DapClient(SocketTransport(unix(path, log)), name=how, strict=False)
    stack.callback(client.close, check=False)
    return client


MODES = {"target": lambda port: ["--target", f"debugpy://127.0.0.1:{port}"], "relay": lambda port: ["--allow-connect"]}


def unix(path, log):
    wait_until(lambda: log.seek(0) == 0 and "ready" in log.read(), "the relay listens")
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    return sock


def play(how, version, function, breakpoints, filters, extra):
    """The stops with what the client sees at them, the answers to all that it asks, and the events by name."""
    with ExitStack() as stack:
        directory, _, function = function.rpartition("/")
        copy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / directory / PROGRAMS.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROGRAMS, copy)
        port = start(stack, version, function, copy if directory else PROGRAMS)
        client = connect(stack, how, port)
        if how == "relay":
            extra = {**extra, "connect": {"host": "127.0.0.1", "port": port}}
        said = {"initialize": client.initialize(),
                "breakpoints": client.attach({"justMyCode": False, **extra}, breakpoints, filters)}
        stops = said["stops"] = []
        while len(stops) < 12 and (event := next_stop(client)):
            thread = event["body"]["threadId"]
            stops.append({"stopped": event["body"], **look(client, thread)})
            client.ok("next" if len(stops) % 3 == 1 else "continue", {"threadId": thread})
        for event in client.events("debugpyAttach"):  # the rest is what the client has said in its own attach
            event["body"] = {name: event["body"][name] for name in ("name", "request", "connect", "subProcessId")}
        for event in client.events():
            if event["event"] not in ("stopped", "module", "continued", "thread"):
                said.setdefault("event " + event["event"], []).append(event.get("body"))
        return plain(json.loads(json.dumps(said).replace(str(copy), COPY)))


def next_stop(client):
    """The next `stopped`, or None: it has ended, or waits for ever, as it does for a child that waits for a client."""
    try:
        event = client.wait_first(("stopped", "terminated", "debugpyAttach"), timeout=limit(10))
    except DapTimeout:
        return None
    return event if event["event"] == "stopped" else None


def look(client, thread):
    stack = client.ok("stackTrace", {"threadId": thread})["stackFrames"]
    scopes = client.ok("scopes", {"frameId": stack[0]["id"]})["scopes"]
    seen = {"stack": stack, "scopes": scopes,
            "variables": client.ok("variables", {"variablesReference": scopes[0]["variablesReference"]})}
    seen["evaluate"] = client.request("evaluate", {"expression": "1 + 1", "frameId": stack[0]["id"], "context": "watch"})["body"]
    if any(frame["name"] in ("uncaught", "textless") for frame in stack):
        seen["exceptionInfo"] = client.request("exceptionInfo", {"threadId": thread}).get("body")
    if reference := stack[0]["source"].get("sourceReference"):
        source = client.request("source", {"source": stack[0]["source"], "sourceReference": reference})
        seen["source"] = source["success"] and source["body"]["content"]
        seen["frameless"] = client.request("evaluate", {"expression": "6 * 7", "context": "watch"})["body"]["result"]
    return seen


def plain(value, key=""):
    """Without what is another at each run: ids, ports, pids, addresses."""
    if key in ("id", "frameId", "variablesReference", "systemProcessId", "threadId", "port", "subProcessId"):
        return 0
    if isinstance(value, dict):
        return {name: plain(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return re.sub(r"0x[0-9a-f]+|\b\d{4,}\b|(?<=Subprocess )\d+", "N", value) if isinstance(value, str) else value


def differences(one, other, path=""):
    """The members in which the two are not alike: path, value in the first, value in the second."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from differences(one.get(name), other.get(name), f"{path}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other)):
            yield from differences(left, right, f"{path}/{number}")
    elif one != other:
        yield path, one, other


def note_removed(value):
    if isinstance(value, dict):
        return {name: note_removed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [note_removed(item) for item in value]
    return re.sub(r" {7}\(note: .*\)$", "", value) if isinstance(value, str) else value


def no_text_removed(value):
    if isinstance(value, dict):
        return {name: no_text_removed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [no_text_removed(item) for item in value]
    return "" if value == "exception: no description" else value


def each_stop(said, change):
    return {**said, "stops": [{**stop, **change(stop)} for stop in said["stops"]]}


def slow_removed(stop):
    rows = stop["variables"]["variables"]
    return {"variables": {"variables": [{**row, "value": "?"} if row["name"] == "one" else row for row in rows]}}


def outputs(said, hide):
    kept = [body for body in said.pop("event output", []) if not hide(body)]
    return {**said, "event output": kept}


def reconcile(theirs, ours, scene, version):
    """Both, without what the table says; and the rows of it that were needed."""
    needed = set()

    def apply(row, before, after):
        if before != after:
            needed.add(row)
        return after

    theirs = apply("adapter-events", theirs, {name: value for name, value in theirs.items()
                                              if name not in ("event debugpySockets", "event debugpyWaitingForServer")})
    theirs = apply("telemetry", theirs, outputs(dict(theirs), lambda body: body.get("category") == "telemetry"))
    ours = outputs(dict(ours), lambda body: body["output"].startswith("raydbg: the debuggee ended"))
    # On a busy machine, pydevd's half second passes at any value.
    theirs, ours = (outputs(dict(said), lambda body: "was slow (took" in body["output"]) for said in (theirs, ours))
    if "in a condition" in scene:
        theirs, ours = (apply("conditions", said, outputs(dict(said), lambda body: "condition" in body["output"]))
                        for said in (theirs, ours))
    ours = apply("role", ours, {name: value for name, value in ours.items() if name != "event raydbg/role"})
    assert ours["initialize"]["supportsRestartRequest"]
    for body in ours.get("event capabilities", []):
        known = {**ours["initialize"], **body["capabilities"]}
        assert known.pop("supportsTerminateDebuggee") is False  # as one that it does not name
        ours = apply("capabilities", ours, {**{name: value for name, value in ours.items() if name != "event capabilities"},
                                            "initialize": known})
    if scene == "threads" and version:
        theirs = apply("all-threads", theirs, {**{name: value for name, value in theirs.items() if name != "event terminated"},
                                               "stops": theirs["stops"][:1]})
    for row, name, ours_is in (("restart", "supportsRestartRequest", True), ("whole-stacks", "supportsDelayedStackTraceLoading", False)):
        theirs = apply(row, theirs, {**theirs, "initialize": {**theirs["initialize"], name: ours_is}})
    if "event debugpyAttach" in theirs and "event debugpyAttach" not in ours:
        theirs, ours = (apply("children", said, {name: value for name, value in said.items() if name not in
                                                 ("event debugpyAttach", "event terminated")}) for said in (theirs, ours))
    if scene == "just my code":
        assert len(ours["stops"]) > len(theirs["stops"])
        ours = apply("just-my-code", ours, outputs(dict(ours), lambda body: '"justMyCode"' in body["output"]))
        ours = apply("just-my-code", ours, {**ours, "stops": theirs["stops"] and ours["stops"][:0]})
        theirs = apply("just-my-code" if version else "one-thread", theirs, {**theirs, "stops": []})
    if scene == "a copy":
        assert ours["stops"] and not theirs["stops"]
        theirs = apply("other-names", theirs, {**theirs, "stops": ours["stops"]})
    if scene == "no source":
        assert "LOAD_CONST" in theirs["stops"][0]["source"]
        theirs = apply("byte-code", theirs, each_stop(theirs, lambda stop: {"source": False} if "source" in stop else {}))
        theirs = apply("frameless", theirs, each_stop(theirs, lambda stop: {"frameless": "42"} if "source" in stop else {}))
        theirs = outputs(dict(theirs), lambda body: body["output"] == "42\n")
        if version:
            first = theirs["stops"][0]["stopped"]
            theirs = apply("reason", theirs, {**theirs, "stops": [
                {**theirs["stops"][0], "stopped": {**first, "reason": "breakpoint"}}, *theirs["stops"][1:]]})
    if scene == "a slow look":
        theirs, ours = (apply("slow-looks", said, each_stop(said, slow_removed)) for said in (theirs, ours))
    if scene == "no filter":
        ours = apply("uncaught", ours, {**ours, "stops": []})
    theirs = apply("note", theirs, note_removed(theirs))
    theirs = apply("no-text", theirs, no_text_removed(theirs))
    assert not any(stop["stopped"]["allThreadsStopped"] != bool(version) for stop in ours["stops"])
    stops = [{**stop, "stopped": {**stop["stopped"], "allThreadsStopped": bool(version)}} for stop in theirs["stops"]]
    return apply("one-thread", theirs, {**theirs, "stops": stops}), ours, needed


def test_the_table_has_what_the_scenes_show():
    assert set().union(*(change(scene[4], name) for name, scene in SCENES.items() for _, _, change in LEGS.values())) == ROWS


@functools.cache
def play_target(version, scene):
    return play("target", version, *SCENES[scene][:-1])


@pytest.mark.parametrize("leg", LEGS)
@pytest.mark.parametrize("scene", SCENES)
def test_a_session_is_like_debugpy(scene, leg):
    how, version, change = LEGS[leg]
    *words, rows = SCENES[scene]
    theirs, ours, needed = reconcile(play_target(version, scene), play(how, version, *words), scene, version)
    assert "\n".join(f"{path}: {json.dumps(one)} != {json.dumps(other)}"
                     for path, one, other in differences(theirs, ours)) == ""
    assert needed == change(rows, scene)
