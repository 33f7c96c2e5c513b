"""What exits, or is never answered, where a client evaluates: no client waits for it, and leaving lets the task go at once."""

import subprocess

import pytest
from debugpy_session import Session, raydbg_path
from waits import limit

EXITING = "type('X', (), {'__repr__': lambda self: exit(3)})()"
RAISING = "type('X', (), {'__repr__': lambda self: (_ for _ in ()).throw(GeneratorExit())})()"
EXPRESSIONS = ["exit()", "quit()", "__import__('sys').exit(3)", "raise SystemExit(4)", "raise GeneratorExit",
               "(_ for _ in ()).throw(SystemExit)", "[exit() for _ in range(3)]", "print(exit())", EXITING, RAISING,
               f"[{EXITING}]", f"{{'a': {EXITING}}}", None, 7, []]
CONTEXTS = ("repl", "watch", "hover", "clipboard", "variables")


def requests(session):
    """(command, arguments): every request by which a client can have an expression evaluated."""
    frame = session.top()["id"]
    scope = session.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    for expression in EXPRESSIONS:
        for context in CONTEXTS:
            yield "evaluate", {"expression": expression, "context": context, "frameId": frame}
        yield "evaluate", {"expression": expression, "context": "repl"}
        yield "setVariable", {"variablesReference": scope, "name": "number", "value": expression}
        yield "setExpression", {"frameId": frame, "expression": "number", "value": expression}
        yield "setExpression", {"frameId": frame, "expression": expression, "value": "1"}
        yield "completions", {"frameId": frame, "text": expression, "column": 1}


def attached(worker):
    session = Session.begin(worker)
    session.initialize()
    session.attach({})
    session.thread = session.stopped()["threadId"]
    return session


def test_each_is_answered_and_nothing_after_it_waits(start_worker):
    session = attached(start_worker("stand"))
    for command, arguments in requests(session):
        session.request(command, arguments)
        assert session.evaluate("1 + 1", session.top()["id"], "watch") == "2", arguments
    children = session.locals(session.top()["id"])
    assert "number" in children
    session.step("next", session.thread)
    session.disconnect()
    session.close()


def test_values_that_exit_when_they_are_shown(start_worker):
    """Set in the frame, they are in its variables, and in a stop's."""
    session = attached(start_worker("stand"))
    for value in (EXITING, RAISING, f"[{EXITING}]"):
        session.request("evaluate", {"expression": f"odd = {value}", "context": "repl", "frameId": session.top()["id"]})
        scope = session.ok("scopes", {"frameId": session.top()["id"]})["scopes"][0]["variablesReference"]
        session.request("variables", {"variablesReference": scope})
        session.request("evaluate", {"expression": "odd", "context": "hover", "frameId": session.top()["id"]})
        assert session.evaluate("1 + 1", session.top()["id"], "watch") == "2", value
        session.step("next", session.thread)
    session.disconnect()
    session.close()


def test_who_leaves_right_after_it_lets_the_task_go_on(start_worker):
    """Without having waited for the answer; the next client is served at once."""
    worker = start_worker("stand")
    number = 0
    while True:
        session = attached(worker)
        left = list(requests(session))[number:]
        if not left:
            break
        command, arguments = left[0]
        number += 7  # every one of them would take minutes; each expression and each request comes up
        session.send(command, arguments)
        session.disconnect()
        session.close()
    session.disconnect()
    session.close()


LINES = ["exit()", "quit()", "import sys; sys.exit()", "sys.exit(2)", "raise SystemExit", "raise GeneratorExit", "p exit()",
         "pp exit()", "!exit()", EXITING, "odd = " + EXITING, "odd", "p odd", "locals", "args", "whatis odd", "display exit()",
         "undisplay", "condition 1 exit()", "print(exit())", "number = exit()", "def f():\n    exit()\n", "f()"]


def console(worker, *lines):
    done = subprocess.run([raydbg_path(), "attach", "--connect", f"127.0.0.1:{worker.port}"], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, timeout=limit())
    assert "Sanitizer" not in done.stderr, done.stderr
    return done


def test_exit_in_the_console(start_worker):
    worker = start_worker("walk")
    lines = [line for one in LINES for line in (one, "p 'after', number")]
    done = console(worker, *lines, "where", "continue")
    assert done.stdout.count("('after', 7)") == len(LINES), done.stdout + done.stderr
    assert "still stopped" in done.stdout + done.stderr
    assert worker.outcome() == "RESULT 13"


@pytest.mark.parametrize("line", ["exit()", "raise SystemExit", EXITING])
def test_a_script_that_ends_after_an_exit(start_worker, line):
    """Nothing hangs at the end of the input; the next client is served."""
    worker = start_worker("walk")
    console(worker, line)
    assert worker.outcome() == "RESULT 13"
