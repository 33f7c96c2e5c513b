"""What the relay says to debugpy's adapter, and what it keeps to itself."""

import json

import pytest
from dap_client import DapError
from fake_adapter import PROGRAM, WEDGE


def test_the_order_of_an_attach(adapter, relay):
    assert relay.start(breakpoints={PROGRAM: [9]})["reason"] == "breakpoint"
    commands = adapter.commands()
    assert commands[:2] == ["initialize", "attach"]
    assert commands.index("evaluate") < commands.index("setBreakpoints") < commands.index("configurationDone")
    evaluated = adapter.requests("evaluate")[0]["arguments"]
    assert "frameId" not in evaluated and evaluated["context"] == "watch"
    compile(evaluated["expression"], "injected", "eval")
    relay.disconnect()


def test_a_session_goes_its_way(adapter, relay):
    relay.start()
    assert relay.step("next", 1)["reason"] == "step"
    assert relay.stack(1)[0]["line"] == 9
    assert relay.locals(3)["x"]["value"] == "3"
    relay.resume(1)
    relay.disconnect()
    assert adapter.wait_request("disconnect")["arguments"]["terminateDebuggee"] is False
    assert [e["event"] for e in relay.events()].count("terminated") == 1


def test_attach_arguments(adapter, relay):
    relay.start({"task": "x", "token": "secret", "justMyCode": True, "redirectOutput": True, "kill": False,
                 "pathMappings": [{"localRoot": "/a", "remoteRoot": "/b"}]})
    assert adapter.requests("attach")[0]["arguments"] == {
        "justMyCode": False, "steppingResumesAllThreads": False, "stopAllThreadsOnSuspend": False,
        "redirectOutput": True, "pathMappings": [{"localRoot": "/a", "remoteRoot": "/b"}]}
    assert b"secret" not in bytes(adapter.raw)
    relay.disconnect()


def test_the_uncaught_filter_is_always_set(adapter, start_relay):
    cases = [({"filters": []}, ["uncaught"]),
             ({"filters": ["raised"]}, ["uncaught", "raised"]),
             ({"filters": ["uncaught"], "filterOptions": []}, ["uncaught"]),
             ({"filterOptions": []}, ["uncaught"])]
    relay = start_relay(adapter)
    relay.start()
    for arguments, expected in cases:
        relay.ok("setExceptionBreakpoints", arguments)
        sent = adapter.requests("setExceptionBreakpoints")[-1]["arguments"]
        assert sent == {**arguments, "filters": expected}
    relay.disconnect()


def test_a_client_that_sets_no_filters_gets_uncaught(adapter, relay):
    relay.initialize()
    attach = relay.send("attach", {})
    relay.wait_event("initialized")
    relay.ok("configurationDone")
    relay.check(relay.response(attach))
    relay.stopped()
    assert adapter.requests("setExceptionBreakpoints")[0]["arguments"] == {"filters": ["uncaught"]}
    order = adapter.commands()
    assert order.index("setExceptionBreakpoints") < order.index("configurationDone")
    relay.disconnect()


@pytest.mark.parametrize("command", sorted(WEDGE - {"restart"}))
def test_wedging_commands_never_reach_debugpy(adapter, relay, command):
    relay.start()
    answer = relay.request(command, {"requestId": 1})
    assert answer["success"] is (command == "cancel")
    assert relay.ok("threads")["threads"]
    assert command not in adapter.commands()
    relay.disconnect()


@pytest.mark.parametrize("command", ["evaluate", "setBreakpoints", "setExpression", "raydbg/objects", "nonsense"])
def test_a_request_that_debugpy_cannot_read_stays_here(adapter, relay, command):
    """Its adapter reads nothing after a message above 0xFFFFFF bytes."""
    relay.start()
    before = len(adapter.received)
    answer = relay.request(command, {"expression": "x" * 0xFFFFFF, "source": {"path": "/x"}, "breakpoints": []})
    assert not answer["success"], answer
    if command != "nonsense":
        assert "too large" in answer["message"] and "16 MiB" in answer["message"], answer
    assert len(adapter.received) == before
    relay.ok("evaluate", {"expression": "x" * (0xFFFFFF - 200)})
    assert max(len(one.raw) for one in adapter.received) <= 0xFFFFFF
    relay.disconnect()


def test_continue_while_nothing_is_stopped_stays_here(adapter, relay):
    relay.start()
    relay.resume(1)
    assert relay.ok("continue", {"threadId": 1}) == {"allThreadsContinued": True}
    for command in ("next", "stepIn", "stepOut", "stackTrace", "exceptionInfo"):
        assert relay.request(command, {"threadId": 1})["message"] == "this thread is not stopped"
    assert len(adapter.requests("continue")) == 1
    assert relay.ok("threads")["threads"]
    relay.disconnect()


def test_two_quick_continues_send_one(adapter, relay):
    relay.start()
    seqs = [relay.send("continue", {"threadId": 1}) for _ in range(2)]
    for seq in seqs:
        relay.check(relay.response(seq))
    assert len(adapter.requests("continue")) == 1
    relay.disconnect()


def test_a_step_that_fails_leaves_the_thread_stopped(adapter, relay):
    relay.start()
    adapter.on["next"] = lambda c, request: c.respond(request, success=False, message="no")
    assert not relay.request("next", {"threadId": 1})["success"]
    assert relay.stack(1)
    relay.disconnect()


@pytest.mark.parametrize("arguments", [
    {"source": {"sourceReference": 3, "name": "x"}, "breakpoints": [{"line": 1}]},
    {"source": {"path": ""}, "breakpoints": []},
    {"source": {"path": PROGRAM}, "breakpoints": [{"line": "3"}]},
    {"source": {"path": PROGRAM}, "breakpoints": [{}]}, {}])
def test_breakpoints_that_would_end_pydevd_stay_here(adapter, relay, arguments):
    relay.start()
    assert not relay.request("setBreakpoints", arguments)["success"]
    assert not adapter.requests("setBreakpoints")
    relay.disconnect()


def test_noise_is_dropped_and_notes_are_cut(adapter, relay):
    adapter.stop_on_attach = False
    relay.initialize()
    relay.attach({})
    text = "ValueError       (note: full exception trace is shown but execution is paused at: <module>)"
    connection = adapter.connection()
    connection.event("output", {"category": "telemetry", "output": "x"})
    connection.event("debugpySockets", {"sockets": []})
    connection.event("debugpyAttach", {"subProcessId": 7, "connect": {"host": "127.0.0.1", "port": 1}})
    connection.stop("exception", text=text)
    assert relay.stopped()["text"] == "ValueError"
    assert {e["event"] for e in relay.events()} <= {"initialized", "process", "thread", "stopped", "capabilities"}
    relay.disconnect()


def test_frames_of_ray_are_marked(adapter, relay):
    adapter.on["stackTrace"] = lambda c, request: c.respond(request, {"stackFrames": [
        {"id": 1, "name": "f", "line": 1, "column": 1, "source": {"path": PROGRAM}},
        {"id": 2, "name": "main_loop", "line": 1, "column": 1,
         "source": {"path": "/v/lib/python3.11/site-packages/ray/_private/worker.py"}}]})
    relay.start()
    assert [f.get("presentationHint") for f in relay.stack(1)] == [None, "subtle"]
    relay.disconnect()


def test_terminate_is_a_plain_disconnect(adapter, relay):
    relay.start()
    relay.ok("terminate")
    relay.wait_event("terminated")
    assert adapter.wait_request("disconnect")["arguments"]["terminateDebuggee"] is False
    assert "terminate" not in adapter.commands()
    relay.disconnect(terminateDebuggee=True)


def test_an_attach_after_terminate_is_refused(relay):
    relay.start()
    relay.ok("terminate")
    relay.wait_event("terminated")
    answer = relay.request("attach", {})
    assert not answer["success"] and "the session has ended" in answer["message"], answer
    relay.disconnect()
    relay.wait_end()


def test_kill_must_be_said(adapter, start_relay):
    relay = start_relay(adapter, "--kill")
    relay.start()
    relay.disconnect(terminateDebuggee=True)
    assert adapter.wait_request("disconnect")["arguments"]["terminateDebuggee"] is True


def test_a_client_that_vanishes_says_goodbye(adapter, relay):
    relay.start()
    relay.close(check=False)
    assert adapter.wait_request("disconnect")["arguments"]["terminateDebuggee"] is False


def test_reverse_requests_are_refused(adapter, relay):
    relay.start()
    adapter.connection().request("runInTerminal", {"args": ["rm", "-rf", "/"]})
    answer = adapter.wait_received(lambda m: m["type"] == "response").message
    assert answer["success"] is False
    assert relay.ok("threads") and not relay.reverse_requests
    relay.disconnect()


def test_sub_processes_only_when_asked_for(adapter, start_relay):
    relay = start_relay(adapter)
    relay.initialize(supportsStartDebuggingRequest=True, supportsRunInTerminalRequest=True)
    relay.attach({"subProcess": True})
    adapter.connection().event("debugpyAttach", {"subProcessId": 7})
    relay.wait_event("debugpyAttach")
    sent = adapter.requests("initialize")[0]["arguments"]
    assert sent["supportsStartDebuggingRequest"] and "supportsRunInTerminalRequest" not in sent
    relay.disconnect()


def test_capabilities_that_differ_are_told(adapter, relay):
    adapter.on["initialize"] = lambda c, request: c.respond(request, {"supportsLogPoints": True,
                                                                      "supportsRestartFrame": True})
    promised = relay.initialize()
    relay.attach({"request": "attach"})
    told = relay.wait_event("capabilities")["body"]["capabilities"]
    withdrawn = {name for name, value in promised.items() if value is True}
    withdrawn -= {"supportsLogPoints", "supportsRestartRequest", "supportsConfigurationDoneRequest"}
    assert told == {"supportsLogPoints": True, "supportsRestartFrame": False, **dict.fromkeys(withdrawn, False)}
    assert "supportsTerminateDebuggee" in withdrawn
    relay.disconnect()


def test_no_tune_leaves_the_sockets_alone(adapter, start_relay):
    relay = start_relay(adapter, "--no-tune")
    relay.start()
    assert "TCP_NODELAY" not in adapter.requests("evaluate")[0]["arguments"]["expression"]
    relay.disconnect()


def test_an_injection_that_fails_is_no_failure(adapter, relay):
    adapter.on["evaluate"] = lambda c, request: c.respond(request, success=False, message="no")
    assert relay.start()
    relay.disconnect()


def test_a_slow_injection_is_not_shown_to_the_client(adapter, relay):
    """pydevd warns of an evaluation of more than 3 s, with all of its text; it may do so right behind the answer."""
    relay.start()
    injection = adapter.requests("evaluate")[0]["arguments"]["expression"]
    warnings = [f"Evaluating: {expression} did not finish after 3.00 seconds.\nThis may mean a number of things:\n"
                for expression in (injection, "slow(1)")]

    def warn(connection, request):
        for warning in warnings:
            connection.event("output", {"category": "important", "output": warning})
        connection.respond(request, {"result": "2", "variablesReference": 0, "type": "int", "presentationHint": {}})

    adapter.on["evaluate"] = warn
    relay.evaluate("slow(1)", 3)
    assert [e["body"]["output"] for e in relay.events("output")] == warnings[1:]
    relay.disconnect()


def test_already_being_debugged(adapter, relay):
    adapter.on["attach"] = lambda c, request: c.respond(request, success=False,
                                                        message="Server[pid=9] is already being debugged.")
    relay.initialize()
    with pytest.raises(DapError, match="already being debugged by another client"):
        relay.attach({})
    relay.disconnect()


def test_a_second_attach_after_a_failed_one(adapter, relay):
    relay.initialize()
    with pytest.raises(DapError, match="no task|not HOST:PORT|connect"):
        relay.attach({"connect": "nonsense"})
    relay.attach({})
    relay.stopped()
    with pytest.raises(DapError, match="already attached"):
        relay.attach({})
    relay.disconnect()


def test_a_closed_port(adapter, relay):
    adapter.refuse_connections()
    relay.initialize()
    with pytest.raises(DapError, match=f"{adapter.host}:{adapter.port}"):
        relay.attach({})
    relay.disconnect()


def test_every_message_to_the_client_has_its_own_seq(adapter, relay):
    relay.start()
    relay.step("next", 1)
    relay.disconnect()
    relay.wait_end()
    seqs = [json.loads(e.raw)["seq"] for e in relay.transcript if e.way == "<"]
    assert seqs == list(range(1, len(seqs) + 1))


def test_a_step_that_nobody_asked_for_is_a_breakpoint(adapter, relay):
    """debugpy 1.8.0 gives a stop at breakpoint() the reason `step`."""
    adapter.stop_on_attach = False
    relay.initialize()
    relay.attach({})
    adapter.connection().stop("step")
    assert relay.stopped()["reason"] == "breakpoint"
    assert relay.step("next", 1)["reason"] == "step"
    relay.disconnect()
