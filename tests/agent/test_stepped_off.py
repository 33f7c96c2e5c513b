"""A step off the end of a task's code: nothing stops among Ray's frames, the task ends."""

import pytest
from debugpy_session import TASKS, Session, task_line

MARK = "raydbgSteppedOff"


def stepped_off(session):
    return session.wait_event("continued", lambda body: body.get(MARK))["body"]["threadId"]


@pytest.mark.parametrize("step", ["next", "stepIn", "stepOut"])
def test_the_task_ends(debugpy_attach, step):
    session = debugpy_attach("walk")
    session.set_breakpoints(TASKS, [task_line("walk-return")])
    session.resume(session.thread)
    session.stopped(reason="breakpoint")
    session.at("walk", "walk-return")
    session.ok(step, {"threadId": session.thread})
    assert session.worker.outcome() == "RESULT 13"
    assert stepped_off(session) == session.thread
    assert len(session.events("stopped")) == 2, session.text()
    session.disconnect()


def test_steps_within_it_stop(debugpy_attach):
    session = debugpy_attach("walk")
    session.set_breakpoints(TASKS, [])
    for marker in "walk-after", "walk-then", "walk-for":
        session.step("next", session.thread)
        session.at("walk", marker)
    assert not [event for event in session.events("continued") if MARK in event["body"]]
    assert session.finish() == "RESULT 13"
    session.disconnect()


def test_other_threads_stay_where_they_are(start_worker):
    worker = start_worker("pool")
    worker.wait_for("WAITING")
    session = Session.start(worker)
    others = [session.stopped()["threadId"] for _ in range(2)]
    session.ok("stepOut", {"threadId": session.thread})
    assert stepped_off(session) == session.thread
    for thread in others:
        top = session.stack(thread)[0]
        assert (top["name"], top["line"]) == ("walk", task_line("walk-breakpoint")), session.text()
    session.resume_all(others[0])
    assert worker.outcome() == "RESULT None"
    session.disconnect()
    session.close()
