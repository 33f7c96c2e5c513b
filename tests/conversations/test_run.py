"""Processes that dial the relay, and breakpoints by file. The agent and pydevd are real, without Ray."""

import contextlib
import json

import pytest
from agent_by_hand import debugged
from agent_process import PROGRAM, line_of
from agent_relay import WORK, relay, run_agent, start  # noqa: F401
from dap_client import DapTimeout
from waits import settle, wait_until

# --- breakpoints by file ---

def test_a_breakpoint_wakes_a_process_and_frees_it_again(relay, run_agent):
    program = run_agent(relay)
    relay.processes(connected=1, debugged=0)
    program.work(1)
    number = relay.set()["id"]
    relay.processes(connected=1, debugged=1)
    assert relay.pauses() == []  # it runs
    program.send("work 2")
    pause = relay.stop()[0]
    assert (pause["debugger"], pause["state"], pause["pid"]) == ("pydevd", "held", program.pid)
    assert pause["location"] == WORK and pause["reason"] == "breakpoint"
    assert pause["task_name"] == f"driver {PROGRAM.name}"
    client = relay.attach(program)
    thread = client.stopped(reason="breakpoint")["threadId"]
    frame = client.stack(thread)[0]
    assert (frame["name"], frame["line"]) == ("work", WORK["line"])
    assert client.evaluate("n * 10", frame["id"]) == "20"
    assert client.step("next", thread)["reason"] == "step"
    client.resume(thread)
    assert program.wait_for("RESULT") == "5"
    client.disconnect(terminateDebuggee=False)
    program.send("work 3")  # the breakpoint is the relay's, and outlives the client
    relay.stop()
    assert relay.http("POST", f"/v1/breakpoints/{number}/clear").status == 200
    assert relay.pauses()  # what has stopped goes on by somebody's word only
    assert relay.http("POST", f"/v1/pauses/{program.pid}@127.0.0.1/continue").status == 200
    assert program.wait_for("RESULT") == "7"
    relay.processes(connected=1, debugged=0)
    wait_until(lambda: program.ask("active", "ACTIVE") == "False None", "pydevd is taken out")
    program.work(4)


def test_a_process_that_comes_later_stops_at_the_first_line(relay, run_agent):
    relay.set()
    program = run_agent(relay)
    program.send("work 1")
    relay.stop()
    client = relay.attach(program, "websocket")
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "3"


def set_and_wait(relay, program, **more):
    """Sets the relay's breakpoint anew, once the process has it."""
    before = program.ask("set", "SET")
    relay.set(**more)
    wait_until(lambda: program.ask("set", "SET") not in (before, "[]"), "the process has it")


def test_which_hits_count(relay, run_agent):
    relay.set(**{"if": "n > 4"})
    program = run_agent(relay)
    program.work(1)
    set_and_wait(relay, program, task="Trainer.*")
    program.work(9)
    set_and_wait(relay, program, log="n is {n}")
    program.work(9)
    assert "n is 9\n" in program.lines
    set_and_wait(relay, program, **{"if": "nothing > 4"})
    program.work(9)
    wait_until(lambda: relay.breakpoints()["breakpoints"][0].get("problem"), "the problem is known")
    assert relay.breakpoints()["breakpoints"][0]["problem"].startswith("NameError: name 'nothing'")
    set_and_wait(relay, program, hit=2)
    program.work(1)
    program.send("work 2")
    relay.stop()


class Busy:
    """Stands before a handler of the adapter's: as a process that gets no CPU, it does not answer the first of these requests."""

    def __init__(self, then, unanswered, about=""):
        self.then, self.unanswered, self.about = then, unanswered, about
        self.asked = 0

    def __call__(self, connection, request):
        self.asked += self.about in json.dumps(request)
        if self.about not in json.dumps(request) or self.asked > self.unanswered:
            self.then(connection, request)


def describe(connection, request):
    """As describe() in relay/worker_agent/agent.py."""
    if ".describe()" not in request["arguments"]["expression"]:
        connection.adapter.on_evaluate(connection, request)
        return
    result = repr(json.dumps({"task_name": "Trainer.step"}).encode().hex())
    connection.respond(request, {"result": result, "variablesReference": 0})


@pytest.mark.parametrize("command, about", [("stackTrace", ""), ("evaluate", ".describe()")])
def test_a_process_that_is_too_busy_to_answer_is_asked_again(start, clock, adapter, command, about):
    adapter.on["evaluate"] = describe
    adapter.on[command] = busy = Busy(adapter.on[command], 2, about)
    relay = start(env=clock.env)
    relay.set()
    debugged(relay, adapter, pid=2, role="worker", worker_id="ab" * 28)
    for count, seconds in (1, 5), (2, 10):
        wait_until(lambda: busy.asked == count, "it is asked")  # noqa: B023
        clock.pass_time(seconds)
    pause, = wait_until(lambda: [p for p in relay.pauses() if p["location"] and p["task_name"]], lambda: str(relay.pauses()))
    assert pause["task_name"] == "Trainer.step" and pause["location"]["line"] == adapter.line
    assert busy.asked == 3


def test_a_process_that_never_answers_is_not_asked_for_ever(start, clock, adapter):
    adapter.on["stackTrace"] = busy = Busy(adapter.on_stackTrace, 4)
    relay = start(env=clock.env)
    relay.set()
    debugged(relay, adapter, pid=2)
    for count, seconds in (1, 5), (2, 10), (3, 20), (4, 60):
        wait_until(lambda: busy.asked == count, "it is asked")  # noqa: B023
        clock.pass_time(seconds)
    relay.pauses()
    assert busy.asked == 4
    adapter.connection().stop()  # another stop
    assert relay.stop()[0]["location"]["line"] == adapter.line


def go_on(relay, pid):
    assert relay.http("POST", f"/v1/pauses/{pid}@127.0.0.1/continue").status == 200


HITS, THREADS = 150, 3


@pytest.mark.parametrize("which, expected", [
    ({"first": True}, 1), ({"hit": 500}, 1), ({"hit": 1000}, 0), ({"skip": 897}, 3), ({"skip": 200, "first": True}, 1),
])
def test_hits_are_counted_over_all_processes(start, clock, run_agent, which, expected):
    """Two processes with three threads each, all at once: exactly so many stop, and every call returns what it would."""
    relay = start(env=clock.env)
    relay.set(**which)
    programs = [run_agent(relay) for _ in range(2)]
    relay.processes(connected=2, debugged=2)
    for program in programs:
        program.send(f"many {HITS} {THREADS}")
    clients = {}
    while not all(program.has("MANY") for program in programs):
        for program in programs:
            if program.pid not in clients and any(pause["pid"] == program.pid for pause in relay.pauses()):
                clients[program.pid] = relay.attach(program)
        for client in clients.values():
            with contextlib.suppress(DapTimeout):
                stopped = client.stopped(timeout=0.05)  # timed: one after the other is looked at
                client.request("continue", {"threadId": stopped["threadId"]})
    breakpoint = relay.breakpoints()["breakpoints"][0]
    # All that were told: a continue lets all threads of its process go on, so that a stop may end before it is looked at.
    for client in clients.values():
        client.ok("threads")  # whose answer comes after them
    stops = sum(len(client.events("stopped")) for client in clients.values())
    assert stops == expected, (stops, breakpoint)
    for client in clients.values():
        client.disconnect(terminateDebuggee=False)
    if expected == 1:
        assert breakpoint["spent"] is True
        clock.pass_time(10)  # a process may be about to stop for so long
        relay.processes(connected=2, debugged=0)  # they are at full speed again
    else:
        assert breakpoint["hits"] == 2 * HITS * THREADS and "spent" not in breakpoint
        relay.http("POST", "/v1/breakpoints/clear")
    for program in programs:
        program.work(4)


def test_a_hit_that_stops_all_keeps_no_process_that_runs_no_task(start, clock, run_agent):
    """tests/integration/test_run.py has the tasks."""
    relay = start(env=clock.env)
    relay.set(first=True, stop_all=True)
    programs = [run_agent(relay) for _ in range(3)]
    relay.processes(connected=3, debugged=3)
    programs[0].send("work 2")
    assert relay.stop()[0]["pid"] == programs[0].pid
    relay.processes(connected=3, debugged=1)
    go_on(relay, programs[0].pid)
    assert programs[0].wait_for("RESULT") == "5"
    clock.pass_time(10)  # a process may be about to stop for so long
    relay.processes(connected=3, debugged=0)
    for program in programs:
        program.work(4)


def test_a_hit_that_is_spent_stays_so(relay, run_agent):
    relay.set(first=True)
    program = run_agent(relay)
    program.send("work 1")
    relay.stop()
    assert "at the first hit  · hits: 1, no further one stops" in relay.cli("break", "--list").stdout
    go_on(relay, program.pid)
    assert program.wait_for("RESULT") == "3"
    relay.kill9()
    relay.restart()
    assert relay.breakpoints()["breakpoints"][0]["spent"] is True
    relay.processes(connected=1, debugged=0)
    program.work(2)


def test_rank_and_node(relay, run_agent):
    relay.set(rank=3)
    third, fourth = (run_agent(relay, env={"RANK": rank}) for rank in "34")
    relay.processes(connected=2, debugged=2)
    fourth.work(1)
    third.send("work 1")
    assert relay.stop()[0]["pid"] == third.pid
    go_on(relay, third.pid)
    assert third.wait_for("RESULT") == "3"
    relay.set(node="127.0.0.1")  # no driver is a node's worker: it is not even traced
    relay.processes(connected=2, debugged=0)
    third.work(2)


def test_a_failure_wakes_the_process_and_stops(relay, run_agent):
    program = run_agent(relay, post_mortem=True)
    for _ in (1, 2):
        relay.processes(connected=1, debugged=0)
        program.send("fail 2")
        pause = relay.stop()[0]
        assert (pause["state"], pause["reason"]) == ("held", "exception")
        assert pause["location"] == {"file": str(PROGRAM), "line": line_of("lose")}
        client = relay.attach(program)
        thread = client.stopped(reason="exception")["threadId"]
        frame = client.stack(thread)[0]
        assert (frame["name"], client.evaluate("lost", frame["id"])) == ("lose", "6")
        client.resume(thread)
        assert program.wait_for("FAILED") == "6"
        client.disconnect(terminateDebuggee=False)
    relay.processes(connected=1, debugged=0)
    program.work(1)


def test_a_failure_and_a_relay_that_dies(relay, run_agent):
    program = run_agent(relay, post_mortem=True)
    relay.processes(connected=1, debugged=0)
    program.send("fail 2")
    relay.stop()
    relay.kill9()
    relay.restart()
    relay.processes(connected=1, debugged=1)  # it says again that it needs pydevd
    assert relay.stop()[0]["reason"] == "exception"
    go_on(relay, program.pid)
    assert program.wait_for("FAILED") == "6"
    relay.processes(connected=1, debugged=0)
    relay.kill9()
    relay.end_keeper()
    assert program.ask("fail 3", "FAILED") == "9"


def test_a_task_stops_at_its_first_line(relay, run_agent):
    program = run_agent(relay)
    assert program.ask("want", "WANTED") == "True"
    relay.processes(connected=1, debugged=1)
    for n in (1, 2):
        program.send(f"enter {n}")
        pause = relay.stop()[0]
        assert (pause["location"], pause["reason"]) == (WORK, "breakpoint")
        go_on(relay, program.pid)
        assert program.wait_for("RESULT") == str(2 * n + 1)
        program.work(5)
    relay.kill9()
    relay.restart()  # which sets it again, when it is asked again
    relay.processes(connected=1, debugged=1)
    program.send("enter 3")
    relay.stop()
    client = relay.attach(program, breakpoints={str(PROGRAM): [WORK["line"] + 1]})
    thread = client.stopped()["threadId"]
    client.resume(thread)
    assert client.stack(client.stopped()["threadId"])[0]["line"] == WORK["line"] + 1
    client.disconnect(terminateDebuggee=False)
    go_on(relay, program.pid)
    assert program.wait_for("RESULT") == "7"
    set_and_wait(relay, program)  # one of the relay's own at that line stops as well
    program.send("work 4")
    assert relay.stop()[0]["location"] == WORK


def test_a_clients_breakpoints_and_the_relays_in_one_file(relay, run_agent):
    relay.set()
    program = run_agent(relay)
    program.send("work 1")
    relay.stop()
    client = relay.attach(program, breakpoints={str(PROGRAM): [WORK["line"] + 1]})
    thread = client.stopped()["threadId"]
    client.resume(thread)
    assert client.stack(client.stopped()["threadId"])[0]["line"] == WORK["line"] + 1
    client.disconnect()
    relay.cli("continue", f"{program.pid}@127.0.0.1")
    program.send("work 2")
    assert relay.stop()[0]["location"] == WORK


# --- when things die ---

def test_a_stop_and_the_breakpoints_outlive_the_relay(relay, run_agent):
    relay.set()
    program = run_agent(relay)
    program.send("work 1")
    relay.stop()
    relay.kill9()
    settle(1)
    relay.restart()
    assert [b["line"] for b in relay.breakpoints()["breakpoints"]] == [WORK["line"]]
    assert relay.stop()[0]["location"] == WORK
    relay.processes(connected=1, debugged=1)  # its agent dials again
    client = relay.attach(program)
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "3"
    program.send("work 2")  # and its breakpoint is set again
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "5"


def test_a_process_that_runs_is_not_kept(relay, run_agent):
    """Without a relay, a breakpoint would stop it for nobody."""
    relay.set()
    program = run_agent(relay)
    relay.processes(connected=1, debugged=1)
    program.send("work 1")  # stopped, it is kept; then no more
    relay.stop()
    client = relay.attach(program)
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "3"
    client.disconnect()
    relay.kill9()
    for n in range(2, 5):
        program.work(n)
    wait_until(lambda: program.ask("active", "ACTIVE") == "False None", "pydevd is taken out")
    relay.restart()
    relay.processes(connected=1, debugged=1)
    program.send("work 5")
    relay.stop()


def test_relay_and_keeper_die_and_the_program_goes_on(relay, run_agent):
    relay.set()
    program = run_agent(relay)
    program.send("work 1")
    relay.stop()
    relay.kill9()
    relay.end_keeper()
    assert program.wait_for("RESULT") == "3"
    relay.restart()
    relay.processes(connected=1, debugged=1)
    program.send("work 2")
    relay.stop()


def test_the_process_ends_while_it_is_stopped(relay, run_agent):
    relay.set()
    program = run_agent(relay)
    program.send("work 1")
    relay.stop()
    client = relay.attach(program)
    client.stopped()
    program.process.kill()
    client.wait_event("terminated")
    relay.processes(connected=0, debugged=0)
    assert relay.pauses() == []
