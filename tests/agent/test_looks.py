"""Looks at what does not return, and at what must not be kept alive: a real debugpy on several versions, and no Ray."""

from contextlib import ExitStack

import pytest
from test_like_debugpy import at, connect, start
from waits import wait_until

QUICK = {"PYDEVD_INTERRUPT_THREAD_TIMEOUT": "1"}  # pydevd's own setting: the limit of a look is 3 s without it
CUT = "not shown, because it takes more than 1 s"


def test_a_look_that_does_not_return_is_cut(debugpy_attach):
    """The rest of the variables are shown; the session, the thread and its signal handler are as before."""
    session = debugpy_attach("odd", **QUICK)
    frame = session.at("odd", "odd-breakpoint")["id"]
    for _ in range(2):
        shown = session.locals(frame)
        assert shown["plain"]["value"] == "7", shown
        assert CUT in shown["spins"]["value"] and CUT in shown["sleeps"]["value"], shown
        assert shown["spins"]["type"] == "Spins", shown
    inside = session.children(shown["holder"]["variablesReference"])
    assert inside["fine"]["value"] == "5" and CUT in inside["endless"]["value"], inside
    assert CUT in session.evaluate("spins", frame)
    assert session.evaluate("plain + 1", frame) == "8"
    session.step("next", session.thread)
    assert session.finish() == "RESULT (8, 5, 100000, 'Spins', 'SIG_DFL')"
    session.disconnect()


def test_a_hover_that_does_not_return_is_cut(debugpy_attach):
    session = debugpy_attach("odd")
    frame = session.at("odd", "odd-breakpoint")["id"]
    hover = session.request("evaluate", {"expression": "repr(spins)", "frameId": frame, "context": "hover"})
    assert not hover["success"] and "takes more than 3 s" in hover["message"], hover
    assert session.finish() == "RESULT (8, 5, 100000, 'Spins', 'SIG_DFL')"
    session.disconnect()


@pytest.mark.slow
def test_a_look_that_cannot_be_interrupted_is_answered(debugpy_attach):
    session = debugpy_attach("odd_in_a_thread", SLEEP_S="15", **QUICK)
    frame = session.at("odd", "odd-breakpoint")["id"]
    scope = session.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    answer = session.request("variables", {"variablesReference": scope})
    assert not answer["success"] and "cannot be interrupted" in answer["message"], answer
    again = session.request("evaluate", {"expression": "plain", "frameId": frame, "context": "watch"})
    assert not again["success"] and "cannot be interrupted" in again["message"], again
    assert session.ok("threads")["threads"]
    wait_until(lambda: session.request("evaluate", {"expression": "plain", "frameId": frame, "context": "watch"})["success"],
               "the thread answers again")
    assert session.finish() == "RESULT (8, 5, 15.0, 'Spins', 'SIG_DFL')"
    session.disconnect()


def test_a_look_lets_no_other_thread_go():
    """debugpy 1.8.22 resumes the others after 3 s, if one thread's stop stops all."""
    with ExitStack() as stack:
        client = connect(stack, "session", start(stack, "", "ticks"))
        client.initialize()
        client.attach({"justMyCode": False, "stopAllThreadsOnSuspend": True}, at("ticks-return"))
        thread = client.stopped()["threadId"]
        frame = client.stack(thread)[0]["id"]
        before = client.evaluate("len(seen)", frame)
        assert "takes more than 3 s" in client.locals(frame)["slow"]["value"]
        assert client.evaluate("len(seen)", frame) == before
        assert [event["body"]["threadId"] for event in client.events("stopped")] == [thread]
        client.disconnect()


LOOKS = {
    "none": lambda session, frame: None,
    "locals": lambda session, frame: session.locals(frame),
    "a watch": lambda session, frame: session.evaluate("resource", frame, "watch"),
    "a hover": lambda session, frame: session.evaluate("resource", frame, "hover"),
    "an expression": lambda session, frame: session.evaluate("[resource, kept]", frame),
    "a statement": lambda session, frame: session.evaluate("kept[0] = kept[0]", frame),
    "a failure": lambda session, frame: session.request("evaluate", {"expression": "resource.nothing", "frameId": frame}),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_keeps_nothing_alive(debugpy_attach, look):
    session = debugpy_attach("dropped")
    LOOKS[look](session, session.at("dropped", "dropped-breakpoint")["id"])
    session.step("next", session.thread)
    LOOKS[look](session, session.top()["id"])
    assert session.finish() == "RESULT (False, [1, 2], None, [])"
    session.disconnect()


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_a_caller_keeps_nothing_alive(debugpy_attach, look):
    session = debugpy_attach("dropped_by_a_caller")
    session.at("stand_once", "stand-once")
    LOOKS[look](session, session.stack(session.thread)[1]["id"])
    assert session.finish() == "RESULT (False, [3], None)"
    session.disconnect()


def test_what_is_set_at_a_stop_stays_set(debugpy_attach):
    session = debugpy_attach("dropped")
    frame = session.at("dropped", "dropped-breakpoint")["id"]
    session.evaluate("kept = [4]", frame)
    scope = session.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    session.ok("setVariable", {"variablesReference": scope, "name": "own", "value": "{'five': 5}"})
    session.step("next", session.thread)
    assert session.locals(session.top()["id"])["kept"]["value"] == "[4]"
    assert session.finish() == "RESULT (False, [4], None, ['five'])"
    session.disconnect()


def test_the_programs_own_locals_stay(debugpy_attach):
    session = debugpy_attach("dropped", OWN_LOCALS="1")
    session.locals(session.at("dropped", "dropped-breakpoint")["id"])
    session.resume(session.thread)
    names = session.worker.outcome()
    assert "'kept'" in names and "'watch'" in names or "'own'" in names, names
    session.disconnect()


def test_a_thread_may_print_while_an_expression_is_evaluated(debugpy_attach):
    """pydevd has another sys.stdout meanwhile, and print() no reference to it (CPython's gh-130163)."""
    session = debugpy_attach("prints_beside")
    for number in range(200):
        assert session.evaluate(f"{number} + 0", session.top()["id"], "repl") == str(number)
    frame = session.top()["id"]
    session.evaluate("__import__('sys').stdout._writing = True", frame)  # as an interrupt may leave it
    session.evaluate("print('as' + ' before')", frame)
    assert "as before" in "".join(event["body"]["output"] for event in session.events("output"))
    session.disconnect()
