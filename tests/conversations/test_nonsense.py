"""What a client may do wrong: one clear error each, and never a crash or a hang."""

import subprocess

import pytest
from dap_client import frame
from relay_under_test import raydbg_path
from waits import limit


def raw_session(start_relay, data, adapter=None):
    """Sends bytes as the client; returns the relay after it has ended."""
    relay = start_relay(adapter, strict=False)
    relay.transport.write(data)
    relay.wait_end()
    return relay


BAD_STREAMS = {
    "no header": b"hello\r\n\r\n",
    "no length": b"Content-Type: x\r\n\r\n{}",
    "a length of 1 GiB": b"Content-Length: 1073741824\r\n\r\n",
    "a negative length": b"Content-Length: -5\r\n\r\n",
    "a length that is no number": b"Content-Length: ten\r\n\r\n",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a header without end": b"A: " + b"x" * 10_000,
    "not json": frame(b"hello"),
    "an array": frame(b"[]"),
    "nothing": frame(b""),
    "half an object": frame(b'{"seq":1,'),
    "no type": frame(b'{"seq":1}'),
    "an odd type": frame(b'{"seq":1,"type":"question"}'),
    "no command": frame(b'{"seq":1,"type":"request"}'),
    "seq as text": frame(b'{"seq":"1","type":"request","command":"threads"}'),
    "seq with a fraction": frame(b'{"seq":1.5,"type":"request","command":"threads"}'),
    "nested too deeply": frame(b'{"seq":1,"type":"request","command":"x","arguments":' + b"[" * 5000),
    "a command of 1 MB": frame(b'{"seq":1,"type":"request","command":"' + b"x" * 1_000_000 + b'"}'),
}


@pytest.mark.parametrize("name", BAD_STREAMS)
def test_a_broken_stream_ends_with_one_error(adapter, start_relay, name):
    relay = raw_session(start_relay, BAD_STREAMS[name], adapter)
    answers = [e.message for e in relay.transcript if e.way == "<" and e.message["type"] == "response"]
    assert len(answers) == 1 and answers[0]["success"] is False and answers[0]["message"], answers
    assert not adapter.connections
    relay.close()
    assert relay.process.returncode == 1


@pytest.mark.parametrize("name", BAD_STREAMS)
def test_a_broken_stream_lets_the_task_go_on(adapter, start_relay, name):
    relay = start_relay(adapter, strict=False)
    relay.start()
    relay.transport.write(BAD_STREAMS[name])
    relay.wait_end()
    assert adapter.wait_request("disconnect")["arguments"]["terminateDebuggee"] is False
    relay.close()


def test_requests_before_initialize(relay):
    for command in ("attach", "threads", "setBreakpoints", "configurationDone"):
        assert "initialize" in relay.request(command, {})["message"]
    relay.initialize()
    assert not relay.request("initialize", {})["success"]
    relay.disconnect()


def test_requests_before_attach(adapter, relay):
    relay.initialize()
    for command in ("threads", "setBreakpoints", "configurationDone", "continue", "evaluate"):
        assert not relay.request(command, {})["success"]
    assert not adapter.connections
    relay.disconnect()


def test_unknown_commands_and_launch(relay):
    relay.start()
    assert "nonsense" not in relay.request("threads", {})
    for command in ("nonsense", "launch", "pydevdAuthorize", "startDebugging", ""):
        answer = relay.request(command, {})
        assert answer["success"] is False and answer["message"], answer
    assert relay.ok("threads")
    relay.disconnect()


@pytest.mark.parametrize("arguments", [None, [], "x", 7, {"filters": None}, {"filters": "x"}])
def test_odd_exception_filters(adapter, relay, arguments):
    relay.start()
    relay.request("setExceptionBreakpoints", arguments)
    assert relay.ok("threads")
    for request in adapter.requests("setExceptionBreakpoints"):
        assert "uncaught" in request["arguments"]["filters"]
    relay.disconnect()


def test_a_request_without_seq(relay):
    relay.start()
    relay.transport.write(frame(b'{"type":"request","command":"threads"}'))
    assert relay.ok("threads")
    [refusal] = [e.message for e in relay.transcript if e.message.get("request_seq") == 0]
    assert not refusal["success"] and "seq" in refusal["message"]
    relay._answers.pop(0)
    relay.disconnect()


@pytest.mark.parametrize("arguments", [b'{"v":"\xff"}', b'{"v":"a\tb"}', b'{"v":"\x00"}', b"1" * 5000])
def test_what_python_cannot_read_stays_here(adapter, relay, arguments):
    relay.start()
    relay.transport.write(frame(b'{"seq":700,"type":"request","command":"evaluate","arguments":%s}' % arguments))
    relay._requests[700] = "evaluate"
    assert not relay.response(700)["success"]
    assert relay.ok("threads")
    relay.disconnect()


@pytest.mark.parametrize("command", ["pause", "continue"])
@pytest.mark.parametrize("arguments", [[1], "x", 7])
def test_arguments_that_close_the_adapter_stay_here(adapter, relay, command, arguments):
    relay.start()
    assert not relay.request(command, arguments)["success"]
    assert not adapter.requests(command)
    relay.disconnect()


@pytest.mark.parametrize("command", ["pause", "continue", "threads", "modules", "setExceptionBreakpoints", "restart"])
def test_arguments_that_are_null_are_none(adapter, relay, command):
    relay.start()
    relay.send_body(b'{"seq":700,"type":"request","command":"%s","arguments":null}' % command.encode())
    relay.check(relay.response(700))
    if command != "restart":  # which never goes further
        assert "arguments" in adapter.wait_request(command) and None not in adapter.requests(command)[-1].values()
    relay.disconnect()


WRONG = {"pathMappings": {"/app": "/home/me"}, "rules": "x", "debugOptions": [7], "redirectOutput": "yes"}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_reaches_no_worker(adapter, relay, name):
    """tests/agent/test_arguments.py tries each of them with a real debugpy."""
    relay.initialize()
    for command in "attach", "attach":
        answer = relay.request(command, {name: WRONG[name]})
        assert not answer["success"] and f'"{name}" must be' in answer["message"], answer
    assert not adapter.connections
    relay.attach({"unheardOf": 1, "type": "raydbg"})
    [warning] = [event["body"]["output"] for event in relay.events("output") if "left out" in event["body"]["output"]]
    assert '"unheardOf"' in warning and '"type"' not in warning, warning
    assert "unheardOf" not in adapter.wait_request("attach")["arguments"]
    relay.disconnect()


def test_responses_and_events_from_a_client_are_ignored(relay):
    relay.start()
    relay.send_body(b'{"seq":90,"type":"event","event":"stopped","body":{}}')
    relay.send_body(b'{"seq":91,"type":"response","request_seq":1,"success":true,"command":"x"}')
    assert relay.ok("threads")
    relay.disconnect()


def test_disconnect_first_of_all(relay):
    relay.disconnect()
    relay.wait_end()


def test_disconnect_while_attaching(adapter, relay):
    adapter.on["initialize"] = lambda c, request: None
    relay.initialize()
    attach = relay.send("attach", {})
    adapter.wait_request("initialize")
    relay.disconnect()
    assert not relay.response(attach)["success"]


@pytest.mark.parametrize("stdin", ["/dev/null", "/dev/zero"])
def test_odd_files_as_stdin(stdin):
    with open(stdin, "rb") as source:
        done = subprocess.run([raydbg_path(), "dap", "--connect", "127.0.0.1:1"], stdin=source,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit())
    assert done.returncode == (0 if stdin == "/dev/null" else 1), done.stderr


def test_a_reader_that_goes_away(adapter):
    """stdout is closed while a large answer is under way: the relay leaves, the task goes on."""
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {"result": "x" * 5_000_000,
                                                                    "variablesReference": 0})
    with subprocess.Popen([raydbg_path(), "dap", "--connect", adapter.address], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as relay:
        for seq, (command, arguments) in enumerate((("initialize", {}), ("attach", {})), 1):
            relay.stdin.write(frame({"seq": seq, "type": "request", "command": command, "arguments": arguments}))
        relay.stdin.flush()
        read = b""
        while b'"initialized"' not in read:
            read += relay.stdout.read1(65536)
        relay.stdin.write(frame({"seq": 3, "type": "request", "command": "configurationDone"}))
        relay.stdin.write(frame({"seq": 4, "type": "request", "command": "evaluate",
                                 "arguments": {"expression": "big", "frameId": 3}}))
        relay.stdin.flush()
        adapter.wait_request("evaluate", 2)
        relay.stdout.close()
        assert adapter.wait_request("disconnect")["arguments"]["terminateDebuggee"] is False
        assert relay.wait(limit()) == 1, relay.stderr.read()
