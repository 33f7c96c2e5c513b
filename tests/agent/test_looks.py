"""Looks at what does not return: a real debugpy on several versions, and no Ray."""

import pytest
from debugpy_session import task_line
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
    inside = {row["name"]: row["value"] for row in session.children(shown["holder"]["variablesReference"])}
    assert inside["fine"] == "5" and CUT in inside["endless"], inside
    hover = session.request("evaluate", {"expression": "repr(spins)", "frameId": frame, "context": "hover"})
    assert not hover["success"] and CUT in hover["message"], hover
    assert CUT in session.evaluate("spins", frame)
    assert session.evaluate("plain + 1", frame) == "8"
    assert "default_int_handler" in session.evaluate("__import__('signal').getsignal(2).__name__", frame)
    session.step("next", session.thread)
    assert session.finish() == "RESULT (8, 5, 100000, 'Spins')"
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
    assert session.finish() == "RESULT (8, 5, 15.0, 'Spins')"
    session.disconnect()
