"""A client leaves while what it had evaluated never ends: it hears what happened, the task goes on, the next client is served."""

import re
import socket
import threading

import pytest
from dap_client import DapClient, DapError, SocketTransport
from debugpy_session import Session
from waits import limit, wait_until

ENDLESS = {
    "loop": "exec('while True: pass')",
    "sleep": "__import__('time').sleep(1e6)",
    "lock": "__import__('threading').Event().wait()",
    "read": "__import__('os').read(__import__('os').pipe()[0], 1)",
}
INTERRUPTED = "was interrupted"
BUSY = "still evaluated"


def attached(worker):
    session = Session.begin(worker)
    session.initialize()
    session.attach({})
    session.thread = session.stopped()["threadId"]
    return session


def outputs(session):
    return "".join(event["body"]["output"] for event in session.events("output"))


def disconnect(session):
    session.disconnect()
    session.close()
    return outputs(session)


def close(session):
    session.strict = False
    session.close()
    return ""


def kill(session):
    session.strict = False
    session.transport.process.kill()
    session.transport.process.wait(limit())
    return ""


LEAVES = pytest.mark.parametrize("leave", [disconnect, close, kill])


def test_threads_that_wait_together_all_stop(start_worker):
    """debugpy 1.8.0 stops all where one stops: also those that have not reached their own stop."""
    worker = start_worker("pool")
    worker.wait_for("WAITING")
    session = attached(worker)
    stopped = {session.thread, session.stopped()["threadId"], session.stopped()["threadId"]}
    assert len(stopped) == 3
    disconnect(session)
    assert worker.outcome() == "RESULT None"


@LEAVES
@pytest.mark.parametrize("debuggee", ["pool", "pool_late"])
def test_a_thread_does_not_stop_for_a_client_that_has_left(start_worker, debuggee, leave):
    """It leaves at the first of several stops. pydevd's threads poll for a client, so one can miss it (pool_late)."""
    worker = start_worker(debuggee)
    worker.wait_for("WAITING")
    leave(attached(worker))
    assert worker.outcome() == "RESULT None"


def served(worker):
    """The next client is, at once, and the task has suffered nothing."""
    session = attached(worker)
    assert session.top()["name"] == "stand"
    assert session.evaluate("1 + 1", session.top()["id"], "watch") == "2"
    session.step("next", session.thread)
    session.disconnect()
    session.close()


@LEAVES
@pytest.mark.parametrize("kind", ENDLESS)
def test_what_the_main_thread_evaluates_is_interrupted(start_worker, kind, leave):
    worker = start_worker("stand")
    session = attached(worker)
    session.send("evaluate", {"expression": ENDLESS[kind], "context": "repl", "frameId": session.top()["id"]})
    said = leave(session)
    assert leave is not disconnect or INTERRUPTED in said, said
    served(worker)


@pytest.mark.parametrize("context", ["repl", "watch", "hover", "clipboard"])
def test_each_way_to_evaluate(start_worker, context):
    worker = start_worker("stand")
    session = attached(worker)
    evaluate = session.send("evaluate", {"expression": ENDLESS["sleep"], "context": context, "frameId": session.top()["id"]})
    said = disconnect(session)
    assert INTERRUPTED in said, said
    assert session.response(evaluate)["success"] is False
    served(worker)


def test_several_at_once(start_worker):
    """Those behind it in its thread are answered, too, and do not run."""
    worker = start_worker("stand")
    session = attached(worker)
    frame = session.top()["id"]
    asked = [session.send("evaluate", {"expression": expression, "context": "watch", "frameId": frame})
             for expression in (ENDLESS["loop"], ENDLESS["sleep"], "globals().update(ran=1)")]
    disconnect(session)
    assert [session.response(seq)["success"] for seq in asked] == [False] * 3
    session = attached(worker)
    assert session.evaluate("'ran' in globals()", session.top()["id"], "watch") == "False"
    session.disconnect()
    session.close()


LOCKS_SLOWLY = """
import threading, time
def spin():
    until = time.perf_counter() + 0.02
    while time.perf_counter() < until:
        pass
enter = threading.Condition.__enter__
def enter_slowly(condition):
    enter(condition)
    spin()
def print_for_ever():
    threading.Condition.__enter__ = enter_slowly
    while True:
        spin()
        print('x')
"""


@pytest.mark.parametrize("debuggee", ["stand", "stand_beside"])
def test_an_interrupt_leaves_no_lock_taken(start_worker, debuggee):
    """It comes while pydevd takes a lock to send what is printed: each later message would wait for that for ever."""
    worker = start_worker(debuggee)
    session = attached(worker)
    frame = session.top()["id"]
    session.evaluate(f"exec({LOCKS_SLOWLY!r}, globals())", frame)
    session.send("evaluate", {"expression": "print_for_ever()", "context": "repl", "frameId": frame})
    wait_until(lambda: "x\nx\n" in outputs(session), "it prints")
    disconnect(session)
    served(worker)


def test_another_thread_is_interrupted_when_it_runs_python(start_worker):
    worker = start_worker("stand_beside")
    session = attached(worker)
    session.send("evaluate", {"expression": ENDLESS["loop"], "context": "repl", "frameId": session.top()["id"]})
    said = disconnect(session)
    assert INTERRUPTED in said, said
    served(worker)


def test_another_thread_that_sleeps_goes_on_when_that_ends(start_worker):
    """The client hears so, and the next one attaches at once."""
    worker = start_worker("stand_beside")
    session = attached(worker)
    session.send("evaluate", {"expression": "__import__('time').sleep(12)", "context": "repl", "frameId": session.top()["id"]})
    said = disconnect(session)
    assert BUSY in said and "beside" in said, said
    served(worker)


def test_without_a_frame(start_worker):
    """A thread of pydevd's own evaluates it, or one that is stopped."""
    worker = start_worker("stand")
    session = attached(worker)
    session.send("evaluate", {"expression": ENDLESS["loop"], "context": "repl"})
    said = disconnect(session)
    assert INTERRUPTED in said, said
    served(worker)


@pytest.mark.slow  # of debugpy 1.8.0 the next client's injection comes too late
def test_a_sleep_without_a_frame(start_worker):
    """pydevd gets a new thread for it: the next client's requests without a frame are answered."""
    worker = start_worker("stand")
    session = attached(worker)
    session.send("evaluate", {"expression": ENDLESS["sleep"], "context": "repl"})
    said = disconnect(session)
    assert BUSY in said or INTERRUPTED in said, said
    session = attached(worker)
    session.request("evaluate", {"expression": "1 + 1", "context": "repl"})
    session.disconnect()
    session.close()


def test_an_answer_that_comes_is_waited_for(start_worker):
    """What ends within a moment is not interrupted."""
    worker = start_worker("stand")
    session = attached(worker)
    evaluate = session.send("evaluate", {"expression": "__import__('time').sleep(0.1) or 7", "context": "watch",
                                         "frameId": session.top()["id"]})
    said = disconnect(session)
    assert INTERRUPTED not in said and session.response(evaluate)["body"]["result"] == "7"
    served(worker)


def test_a_thread_that_is_busy_does_not_hold_up_the_others(start_worker):
    """A request for its variables is refused, so that debugpy's adapter handles what comes next."""
    worker = start_worker("stand")
    session = attached(worker)
    frame = session.top()["id"]
    scope = session.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    session.send("evaluate", {"expression": ENDLESS["sleep"], "context": "repl", "frameId": frame})
    answer = session.request("variables", {"variablesReference": scope})
    assert answer["success"] is False and "still evaluates" in answer["message"], answer
    session.ok("threads")
    said = disconnect(session)
    assert INTERRUPTED in said, said
    served(worker)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["setVariable", "setExpression"])
def test_a_request_that_blocks_the_adapter_is_given_up(start_worker, what):
    """Nothing reaches the worker meanwhile: it gives up by itself, and who leaves before is told. A look is cut sooner:
    test_looks.py."""
    worker = start_worker("stand")
    session = attached(worker)
    frame = session.top()["id"]
    scope = session.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    session.send(what, {"setVariable": {"variablesReference": scope, "name": "number", "value": ENDLESS["loop"]},
                        "setExpression": {"frameId": frame, "expression": "number", "value": ENDLESS["loop"]}}[what])
    said = disconnect(session)
    assert re.search("interrupted after 30 s", said), said

    def next_client():
        client = Session.begin(worker)
        client.strict = False
        client.initialize()
        try:
            client.attach({})
            return True
        except DapError as error:
            assert "still runs code for it (30 s at most)" in str(error), error
            return False
        finally:
            client.close()

    wait_until(next_client, "the task goes on")


class DeafSocket(socket.socket):
    """Of a client that stops reading until `hears` is set."""

    def __init__(self, port, hears):
        super().__init__()
        self.hears = hears
        self.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        self.connect(("127.0.0.1", port))

    def recv(self, *arguments):
        self.hears.wait(limit())
        return super().recv(*arguments)

    def recv_into(self, *arguments):
        self.hears.wait(limit())
        return super().recv_into(*arguments)


def test_an_attach_while_output_waits_for_another_client_ends_nothing(start_worker):
    """debugpy reports each new client to the one that is attached before it accepts others: if that does not read, or has
    gone, a second connection is not greeted, and may be the last."""
    worker, hears = start_worker("flood"), threading.Event()
    hears.set()
    other = DapClient(SocketTransport(DeafSocket(worker.port, hears)), name="another", strict=False)
    other.initialize()
    other.attach({"justMyCode": False, "redirectOutput": True})
    thread = other.stopped()["threadId"]
    hears.clear()
    other.send("continue", {"threadId": thread})
    worker.wait_for("FLOODED")
    late = Session.begin(worker)
    late.initialize()
    with pytest.raises(DapError, match="already being debugged by another client"):
        late.attach({})
    disconnect(late)
    hears.set()
    other.stopped()  # else the next client would hear of this stop, which is over, behind the output
    other.ok("disconnect", {"terminateDebuggee": False})
    other.close(check=False)
    served(worker)
