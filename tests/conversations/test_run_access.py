"""Which processes and clients may say what to a relay with agents."""

import json
import re

import pytest
from agent_by_hand import ByHand, asleep, debugged, hears_nothing
from agent_process import KEY_ID
from agent_relay import WORK, relay, start  # noqa: F401
from waits import Gate, wait_until


def refusals(relay):
    return [entry["detail"] for entry in relay.audit() if entry["action"] == "refused"]


def test_an_agent_with_another_key_is_refused(relay):
    relay.set()
    agent = ByHand(relay)
    agent.prove(token="another-token-of-the-users")
    assert agent.is_closed()
    assert refusals(relay) == ["an agent without its key"]
    assert relay.breakpoints()["processes"]["connected"] == 0


def test_a_token_is_good_once_and_for_its_agent(relay):
    relay.set()
    agent = ByHand(relay)
    agent.prove()
    word = agent.hear()
    assert word["verb"] == "debug" and re.fullmatch("[0-9a-f]{64}", word["token"])
    assert ByHand(relay, "raydbg pydevd 1 " + "0" * 64).is_closed()
    first = ByHand(relay, f"raydbg pydevd 1 {word['token']}")
    assert first.file.readline().startswith(b"Content-Length: ")
    assert ByHand(relay, f"raydbg pydevd 1 {word['token']}").is_closed()
    assert refusals(relay) == 2 * ["a pydevd whose token is none, or was used"]
    assert word["token"] not in (relay.state / "s/raydbg/audit.log").read_text() + relay.stderr()


@pytest.mark.parametrize("line", ["raydbg", "raydbg agent 2 x y", "raydbg agent 1 x y", "raydbg " + "x" * 300])
def test_another_first_line_is_refused(relay, line):
    agent = ByHand(relay, line)
    answer = agent.file.read()
    assert answer == b"" or b"400" in answer.split(b"\r\n")[0], answer
    assert relay.breakpoints()["processes"]["connected"] == 0


@pytest.mark.parametrize("after", [b"nonsense", b"[]", b"{}", b"{\"proof\":7}", b"x" * 70000])
def test_nonsense_instead_of_a_proof_is_refused(relay, after):
    agent = ByHand(relay)
    agent.hear()
    agent.write(after)
    assert agent.is_closed()
    assert len(refusals(relay)) == 1


def test_nonsense_of_a_proven_agent_harms_nobody(relay):
    agent = ByHand(relay)
    agent.prove()
    assert agent.hear() == {"verb": "sleep"}
    for words in ({"event": "asleep"}, {"event": "problem"}, {"event": 7}, {"event": "failed"}, {"event": "asleep"}, {}):
        agent.write(json.dumps(words).encode())
    relay.set()
    wait_until(lambda: agent.hear()["verb"] == "debug", "it is woken")
    agent.write(b'{"event":"failed","why":"no module \\u0007"}')
    relay.processes(connected=1, problem="pid 1 at 127.0.0.1:%d: no module \u0007" % agent.sock.getsockname()[1])


def test_what_cannot_be_debugged_is_said_while_it_is_there(relay):
    relay.set()
    agents = [ByHand(relay), ByHand(relay)]
    for number, agent in enumerate(agents):
        agent.prove(pid=number)
        assert agent.hear()["verb"] == "debug"
        agent.write(b'{"event":"failed","why":"another debugger"}')
        relay.processes(connected=number + 1, problem="pid %d at 127.0.0.1:%d: another debugger" % (number, agent.sock.getsockname()[1]))
    agents[1].sock.close()
    agents[1].file.close()
    relay.processes(connected=1, problem="pid 0 at 127.0.0.1:%d: another debugger" % agents[0].sock.getsockname()[1])
    relay.set(line=1)
    assert agents[0].hear()["verb"] == "debug"  # it is tried again
    relay.processes(connected=1, problem=None)


def test_an_agent_that_proves_nothing_is_closed_in_time(start, clock):
    relay = start(env=clock.env)
    begun = clock.now()
    agent = ByHand(relay)
    agent.hear()
    while not agent.has_ended():
        clock.pass_time(2)
    assert agent.is_closed() and clock.now() - begun > 9
    assert refusals(relay) == ["an agent that has not proven itself in time"]


def test_a_breakpoint_for_which_a_task_waits_may_take_a_while(start, clock, adapter):
    """On a busy machine pydevd takes seconds to set it; without the answer the task would not stop at its first line."""
    adapter.greet = lambda connection: None
    relay = start(env=clock.env)
    relay.set()
    agent = ByHand(relay)
    agent.prove()
    adapter.serve(ByHand(relay, f"raydbg pydevd 1 {agent.hear()['token']}").sock)
    adapter.wait_request("setBreakpoints")
    agent.write(b'{"event":"debugging"}')  # said when the relay has greeted pydevd
    relay.processes(connected=1, debugged=1)
    adapter.on["threads"] = slow = Gate(adapter.on["threads"])
    agent.write(b'{"event":"first_line","question":1,"file":"/app/first.py","line":3}')
    slow.wait_reached()
    clock.pass_time(6)
    agent.write(b'{"event":"wanted","wanted":true,"question":2}')
    assert agent.hear()["question"] == 2
    slow.open()
    assert agent.hear() == {"verb": "answer", "question": 1, "yes": True}


@pytest.fixture
def attaching(start, adapter):
    """An agent whose pydevd has been asked to attach, while a task waits for its first line, and what attaches it."""
    asked, attach = [], adapter.on["attach"]
    adapter.greet = lambda connection: None
    adapter.on["attach"] = lambda *request: asked.append(request)
    relay = start()
    relay.set()
    agent = ByHand(relay)
    agent.prove()
    adapter.serve(ByHand(relay, f"raydbg pydevd 1 {agent.hear()['token']}").sock)
    wait_until(lambda: asked, "the relay attaches")
    agent.write(b'{"event":"first_line","question":1,"file":"/app/first.py","line":3}')
    for question in 2, 3:  # whatever pydevd is sent for the first
        agent.write(json.dumps({"event": "wanted", "wanted": True, "question": question}).encode())
        assert agent.hear() == {"verb": "answer", "question": question, "yes": False}
    return agent, lambda: attach(*asked[0])


def test_a_first_line_waits_for_a_pydevd_that_attaches(attaching, adapter):
    agent, attach = attaching
    attach()
    assert agent.hear() == {"verb": "answer", "question": 1, "yes": True}
    sent = [(one["command"], (one.get("arguments") or {}).get("source", {}).get("path")) for one in adapter.requests()]
    assert sent.index(("setBreakpoints", "/app/first.py")) < sent.index(("threads", None)), sent


def test_a_first_line_does_not_wait_for_a_pydevd_that_has_ended(attaching, adapter):
    agent, _ = attaching
    adapter.connection().die()
    heard = [agent.hear(), agent.hear()]
    assert {"verb": "answer", "question": 1, "yes": False} in heard and {"verb": "sleep"} in heard, heard


def test_a_relay_without_a_token_takes_no_agents(start):
    relay = start("--token", "none")
    assert ByHand(relay).is_closed()
    assert "no token" in refusals(relay)[0]


def test_an_observer_looks_only(start):
    relay = start(env={"RAYDBG_OBSERVER_TOKEN": "an-observers-own-token"})
    observer = {"token": "an-observers-own-token"}
    assert relay.http("GET", "/v1/breakpoints", **observer).status == 200
    assert relay.http("POST", "/v1/breakpoints", body=json.dumps(WORK), **observer).status == 403
    assert relay.http("POST", "/v1/breakpoints/clear", **observer).status == 403
    assert relay.http("GET", "/v1/breakpoints", token="").status == 401


OBSERVERS = "an-observers-own-token"
FAILURES = ["uncaughtInTasks"]
RUNS_CODE = [{"line": 3, "condition": "harm()"}, {"line": 5, "logMessage": "{harm()}"}]


def watch_run(relay, **arguments):
    """A client of the whole run."""
    return relay.join(filters=(), tasks="*", run=KEY_ID, **arguments)


def set_in_run(client, breakpoints=RUNS_CODE):
    """The answers to setBreakpoints and setExceptionBreakpoints, and the text of their entries."""
    lines = client.set_breakpoints("/app/train.py", breakpoints)["breakpoints"]
    failures = client.ok("setExceptionBreakpoints", {"filters": FAILURES}) or {}
    return [(b["verified"], b.get("message")) for b in (*lines, *failures.get("breakpoints", ()))]


@pytest.mark.parametrize("who", [{"token": OBSERVERS}, {"role": "observer"}], ids=["token", "role"])
def test_an_observer_of_a_run_sets_nothing_in_it(start, who):
    """A breakpoint's condition and a log point's text are code that the processes run."""
    relay = start(env={"RAYDBG_OBSERVER_TOKEN": OBSERVERS})
    agent = asleep(relay)
    observer = watch_run(relay, **who)
    assert set_in_run(observer) == 3 * [(False, "this session observes: this takes effect when it drives")]
    assert hears_nothing(agent)
    observer.disconnect()
    assert hears_nothing(agent)
    driver = watch_run(relay)
    assert set_in_run(driver) == 2 * [(False, "in no process yet")]
    assert sorted(agent.hear()["verb"] for _ in (1, 2)) == ["debug", "failures"]
    driver.disconnect()
    assert agent.hear() == {"verb": "failures", "stop": False}


def test_what_an_observer_of_a_run_has_set_takes_effect_when_it_drives(start, adapter):
    relay = start()
    number = relay.set()["id"]
    stopped = debugged(relay, adapter)
    relay.stop()
    assert relay.http("POST", f"/v1/breakpoints/{number}/clear").status == 200
    agent = asleep(relay, pid=2)
    observer = watch_run(relay, role="observer")
    observer.stopped()
    set_in_run(observer)
    assert hears_nothing(agent)
    observer.ok("raydbg/takeOver")
    assert sorted(agent.hear()["verb"] for _ in (1, 2)) == ["debug", "failures"]
    wait_until(lambda: [b["line"] for b in adapter.requests("setBreakpoints")[-1]["arguments"]["breakpoints"]] == [3, 5],
               "the stopped process has them, too")
    assert stopped.hear() == {"verb": "failures", "stop": True}


@pytest.mark.parametrize("body, status", [
    ("", 400), ("x", 400), ("[]", 400), ("{}", 400), ('{"file":"t.py","line":1}', 400), ('{"file":"/t.py","line":0}', 400),
    ('{"file":"/t.py","line":1} x', 400), ('{"file":"/t.py","line":1,"hit":2,"first":true}', 400),
    ('{"file":"/t.py","line":1,"rank":-2}', 400),
])
def test_what_is_no_breakpoint_is_refused(relay, body, status):
    answer = relay.http("POST", "/v1/breakpoints", body=body)
    assert answer.status == status and answer.error["what"]


@pytest.mark.parametrize("path", ["/v1/breakpoints/7/clear", "/v1/breakpoints/x/clear", "/v1/breakpoints/1", "/v1/breakpointsx"])
def test_there_is_no_such_breakpoint(relay, path):
    relay.set()
    assert relay.http("POST", path).status == 404
    assert len(relay.breakpoints()["breakpoints"]) == 1
