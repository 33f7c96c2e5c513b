"""Every member of every request, left out and by values of every type: a real debugpy answers, and goes on answering."""

import re

import pytest
import request_members
from agent_session import ROOT
from debugpy_session import TASKS

MOVES = {"next", "stepIn", "stepOut", "continue"}
COMMANDS = list(request_members.requests(1, 1, 1, ""))

# Takes back what the injection `guard` did, so that only the relay's own guards are left.
UNGUARD = """
from _pydevd_bundle.pydevd_comm import InternalThreadCommand
from _pydevd_bundle.pydevd_net_command_factory_json import NetCommandFactoryJson
from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor
InternalThreadCommand.do_it = InternalThreadCommand.do_it.__globals__["do_it"]
NetCommandFactoryJson.make_error_message = NetCommandFactoryJson.make_error_message.__globals__["error_message"]
for name in dir(PyDevJsonCommandProcessor):
    function = getattr(PyDevJsonCommandProcessor, name)
    if getattr(function, "__name__", "") == "handle":
        cells = dict(zip(function.__code__.co_freevars, function.__closure__))
        setattr(PyDevJsonCommandProcessor, name, cells["handler"].cell_contents)
"""


class Stop:
    """Where the task is stopped; the ids are new after each step."""

    def __init__(self, session):
        self.session, self.thread = session, session.thread
        self.look()

    def look(self):
        self.frame = self.session.top()["id"]
        self.scope = self.session.ok("scopes", {"frameId": self.frame})["scopes"][0]["variablesReference"]

    def assert_well(self):
        self.session.ok("threads")
        self.look()
        assert self.session.evaluate("1 + 1", self.frame, "watch") == "2"

    def variants(self, command):
        base = request_members.requests(self.thread, self.frame, self.scope, str(TASKS))[command]
        return [variant for arguments in base for variant in request_members.variants(arguments)]


def ask_all(session, command):
    """All of them, one after the other; returns the path and value of those that were refused."""
    stop = Stop(session)
    refused = []
    for number in range(len(stop.variants(command))):
        path, what, arguments = stop.variants(command)[number]
        answer = session.request(command, arguments)
        if not answer["success"]:
            refused.append((path, what))
        elif command in MOVES:
            session.stopped()
        stop.assert_well()
    return refused


@pytest.mark.parametrize("command", COMMANDS)
def test_every_member_of_a_request_is_answered(debugpy_attach, command):
    session = debugpy_attach("stand")
    refused = ask_all(session, command)
    # Nor does what was set break a later step.
    session.set_breakpoints(TASKS, [])
    session.move("next", session.thread)  # a `pause` of a stopped thread may have told its stop once more
    session.stopped(threadId=session.thread)
    Stop(session).assert_well()
    paths = {path[0] for path, _ in refused if path}
    assert {member for name, member in guards() if name == command} <= paths
    session.worker.kill()
    session.close(check=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted({name for name in COMMANDS} - MOVES - {"pause"}))
def test_the_relay_alone_holds_back_what_pydevd_cannot_digest(debugpy_attach, command):
    """As where the injection failed."""
    session = debugpy_attach("stand")
    session.ok("evaluate", {"expression": f"exec({UNGUARD!r}, {{}})", "context": "repl", "frameId": session.top()["id"]})
    ask_all(session, command)
    session.worker.kill()
    session.close(check=False)


def guards():
    """(command, member) of each row of the table of guards."""
    source = (ROOT / "relay/debuggee/request_guards.c").read_text()
    return re.findall(r'^    \{"(\w+)", "(\w+)", &', re.search(r"guards\[\] = \{(.*?)\n\};", source, re.S)[1], re.M)


def test_every_request_that_passes_is_tried():
    source = (ROOT / "dap/rules.c").read_text()
    passes = set(re.findall(r'(?:PASSES|REQUEST)\("(\w+)"(?:\)|, RULE_(?:OBSERVE|REWRITE))', source))
    own = {"initialize", "attach", "configurationDone", "restart", "disconnect", "terminate"}
    assert passes - own == set(COMMANDS)
    assert len(guards()) > 20 and {name for name, _ in guards()} <= set(COMMANDS)
