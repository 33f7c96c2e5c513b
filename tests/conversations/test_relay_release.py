"""A release says what became of the task when that is known, over HTTP, in DAP and in the console: not before."""

import os
import subprocess
import threading

import pytest
import sanitizers
from dap_client import DapError
from relay_under_test import raydbg_path
from waits import limit, settle, wait_until

DEAF = "does not answer"
HUNG_UP = "ended before it had let the task go"


def outputs(client):
    return "\n".join(event["body"]["output"] for event in client.events("output"))


def hangs_up(connection, request):
    connection.die("rst")


def refuses(connection, request):
    connection.respond(request, success=False, message="not now")


class Call(threading.Thread):
    """A function's result, later."""

    def __init__(self, function, *arguments):
        super().__init__(daemon=True)
        self.function, self.arguments = function, arguments
        self.start()

    def run(self):
        self.answer = self.function(*self.arguments)

    def result(self):
        self.join(limit())
        return self.answer


def command(hub, *words):
    """raydbg's exit code, stdout and stderr."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
    done = subprocess.run([raydbg_path(), *words, "--relay", "http://%s:%d" % hub.address], text=True, capture_output=True,
                          timeout=limit(), env={**env, **sanitizers.ENV, "RAYDBG_TOKEN": hub.token})
    sanitizers.check(done.returncode, done.stderr)
    return done.returncode, done.stdout, done.stderr


def deaf(adapter, run_relay, clock, said="3.12.1/1.8.22 nodelay,keepalive adapter=4711 cut=900s"):
    """A relay with a client at a debugger that does not hear of its disconnect: the time passes by clock.pass_time(8)."""
    hub = run_relay(env=clock.env)
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {"result": said, "variablesReference": 0})
    adapter.on["disconnect"] = lambda connection, request: None
    client = hub.join()
    client.stopped()
    return hub, client


# --- HTTP ---


def test_the_answer_comes_when_the_task_goes_on(adapter, ray, run_relay, gate):
    hub = run_relay("--address", ray.address)
    adapter.on["disconnect"] = goodbye = gate(adapter.on_disconnect)
    client = hub.join()
    client.stopped()
    call = Call(hub.post, "release")
    goodbye.wait_reached()
    again = Call(hub.post, "release")
    wait_until(lambda: [line["action"] for line in hub.audit()].count("release") == 2, "the relay has both")
    settle()
    assert call.is_alive() and again.is_alive()
    assert "goes on" not in outputs(client)
    goodbye.open()
    for answer in call.result(), again.result():
        assert answer.status == 200, answer
        assert answer.json["state"] == "attached" and answer.json["held"] is False, answer.json
        assert not any(answer.json[name] for name in ("location", "held_since", "clients", "driver", "reason")), answer.json
    client.wait_event("terminated")
    assert "was released and goes on" in outputs(client)


def test_a_debugger_that_does_not_answer(adapter, run_relay, clock):
    hub, client = deaf(adapter, run_relay, clock)
    call = Call(hub.post, "release")
    adapter.wait_request("disconnect")
    clock.pass_time(8)
    answer = call.result()
    assert answer.status == 504 and DEAF in answer.json["error"]["why"] and "kill 4711" in answer.json["error"]["why"], answer
    assert "not known whether" in answer.json["error"]["what"]
    client.wait_event("terminated")
    assert DEAF in outputs(client) and "goes on\n" not in outputs(client), outputs(client)


def test_a_release_that_outlives_the_relay(adapter, hub):
    adapter.on["disconnect"] = lambda connection, request: None
    hub.join().stopped()
    call = Call(hub.post, "release")
    adapter.wait_request("disconnect")
    assert hub.terminate() == 0
    answer = call.result()
    assert answer.status == 503 and "the relay is ending" in answer.json["error"]["what"], answer


@pytest.mark.parametrize("goodbye", [hangs_up, refuses])
def test_a_debugger_that_is_gone_has_not_let_go(adapter, hub, goodbye):
    """Its worker may have ended."""
    adapter.on["disconnect"] = goodbye
    client = hub.join()
    client.stopped()
    answer = hub.post("release")
    assert answer.status == 504 and HUNG_UP in answer.json["error"]["why"], answer
    client.wait_event("terminated")
    assert "the debuggee ended" in outputs(client) and "goes on\n" not in outputs(client), outputs(client)


def test_a_release_before_the_debugger_is_attached_lets_nothing_go(adapter, ray, run_relay):
    """The task waits in debugpy as before."""
    hub = run_relay("--address", ray.address)
    adapter.on["initialize"] = lambda connection, request: None
    client = hub.client()
    client.initialize()
    client.strict = False
    client.send("attach", hub.attach_arguments())
    adapter.wait_request("initialize")
    answer = hub.post("release")
    assert answer.status == 409 and "waits as before" in answer.json["error"]["what"], answer


def test_what_is_not_held_is_not_released(adapter, ray, run_relay):
    hub = run_relay("--address", ray.address)
    answer = hub.post("release")
    assert answer.status == 409 and "does not hold it" in answer.json["error"]["what"], answer
    assert not adapter.connections


# --- continue ---


def test_a_continue_is_answered_when_the_debugger_has_handled_it(adapter, hub, gate):
    adapter.on["continue"] = handled = gate(adapter.on_continue)
    hub.join().stopped()
    call = Call(hub.post, "continue")
    handled.wait_reached()
    settle()
    assert call.is_alive()
    handled.open()
    answer = call.result()
    assert answer.status == 200 and answer.json["held"] is True and answer.json["location"] is None, answer


def test_a_continue_that_is_not_heard(adapter, run_relay, clock):
    hub = run_relay(env=clock.env)
    adapter.on["continue"] = adapter.wedge
    client = hub.join()
    client.stopped()
    call = Call(hub.post, "continue")
    adapter.wait_request("continue")
    clock.pass_time(8)
    answer = call.result()
    assert answer.status == 504 and DEAF in answer.json["error"]["why"], answer


# --- the command ---


def test_the_command_says_that_the_task_goes_on(adapter, hub):
    hub.join().stopped()
    code, out, err = command(hub, "release", "--all")
    assert code == 0 and "goes on" in out and not err, (out, err)
    assert adapter.requests("disconnect")


def test_the_command_says_that_nothing_was_heard(adapter, run_relay, clock):
    hub, _ = deaf(adapter, run_relay, clock)
    call = Call(command, hub, "release", "--all")
    adapter.wait_request("disconnect")
    clock.pass_time(8)
    code, out, err = call.result()
    assert code == 1 and not out and DEAF in err and "not known whether" in err, (out, err)


# --- DAP ---


def ask(client, way):
    """Sends a release; the request's seq."""
    if way == "line":
        return client.send("evaluate", {"expression": "/release", "context": "repl", "frameId": 3})
    return client.send("raydbg/release")


@pytest.mark.parametrize("way", ["line", "request"])
def test_a_clients_release_is_answered_when_the_task_goes_on(adapter, hub, gate, way):
    adapter.on["disconnect"] = goodbye = gate(adapter.on_disconnect)
    client, other = hub.join(), hub.join(name="other")
    client.stopped(), other.stopped()
    seq = ask(client, way)
    goodbye.wait_reached()
    again = ask(client, way)
    with pytest.raises(DapError):
        client.check(client.response(again))
    assert not any(entry.message.get("request_seq") == seq for entry in client.transcript)
    assert "goes on" not in outputs(client) + outputs(other)
    goodbye.open()
    client.check(client.response(seq))
    for one in client, other:
        one.wait_event("terminated")
        assert "was released and goes on" in outputs(one)


@pytest.mark.parametrize("way", ["line", "request"])
def test_a_clients_release_fails_where_nothing_was_heard(adapter, run_relay, clock, way):
    _, client = deaf(adapter, run_relay, clock)
    seq = ask(client, way)
    adapter.wait_request("disconnect")
    clock.pass_time(8)
    with pytest.raises(DapError, match=DEAF):
        client.check(client.response(seq))


def test_a_client_that_leaves_meanwhile_has_its_answer(adapter, hub, gate):
    adapter.on["disconnect"] = goodbye = gate(adapter.on_disconnect)
    client = hub.join()
    client.stopped()
    seq = ask(client, "request")
    goodbye.wait_reached()
    client.disconnect()
    with pytest.raises(DapError, match="the session has ended"):
        client.check(client.response(seq))


# --- leaving ---


@pytest.fixture(params=["relay", "none"])
def leaver(request, adapter, run_relay, start_relay, clock):
    """A client whose disconnect lets the task go, with a relay and without."""
    if request.param == "relay":
        client = run_relay(env=clock.env).join(onDisconnect="continue")
        client.stopped()
    else:
        client = start_relay(adapter, env=clock.env)
        client.start()
    return client


def test_a_client_that_leaves_hears_of_it_when_it_is_so(adapter, gate, leaver):
    adapter.on["disconnect"] = goodbye = gate(adapter.on_disconnect)
    seq = leaver.send("disconnect")
    goodbye.wait_reached()
    goodbye.open()
    leaver.check(leaver.response(seq))
    assert "goes on; its next breakpoint() waits again" in outputs(leaver)


def test_a_client_that_leaves_a_post_mortem_hears_where_the_exception_goes(adapter, leaver):
    adapter.connection().stop("exception")
    leaver.wait_event("stopped", lambda body: body["reason"] == "exception")
    leaver.check(leaver.response(leaver.send("disconnect")))
    assert "goes on: its exception goes to its caller" in outputs(leaver) and "next breakpoint" not in outputs(leaver)


@pytest.mark.parametrize("how, why", [(None, DEAF), (hangs_up, HUNG_UP)])
def test_a_client_that_leaves_hears_why_that_is_not_known(adapter, leaver, clock, how, why):
    adapter.on["disconnect"] = how or (lambda connection, request: None)
    seq = leaver.send("disconnect")
    adapter.wait_request("disconnect")
    if not how:
        clock.pass_time(8)
    leaver.check(leaver.response(seq))
    assert why in outputs(leaver) and "goes on; its next" not in outputs(leaver), outputs(leaver)


def test_the_console_that_quits_a_relay(adapter, ray, run_relay):
    hub = run_relay("--address", ray.address)
    adapter.on["disconnect"] = hangs_up
    _, out, err = command(hub, "attach", "work", "--let-go", "-e", "where")
    assert HUNG_UP in out + err and "goes on;" not in out + err, (out, err)
    adapter.on["disconnect"] = adapter.on_disconnect
    _, out, err = command(hub, "attach", "work", "--let-go", "-e", "where")
    assert "goes on;" in out + err and HUNG_UP not in out + err, (out, err)


def test_the_console_that_quits_without_a_relay(adapter):
    def quits():
        done = subprocess.run([raydbg_path(), "attach", "--connect", adapter.address, "--no-relay", "-e", "where"], text=True,
                              capture_output=True, timeout=limit(), env={**os.environ, **sanitizers.ENV})
        sanitizers.check(done.returncode, done.stderr)
        return done.stdout, done.stderr
    adapter.on["disconnect"] = hangs_up
    out, err = quits()
    assert HUNG_UP in out + err and "the task goes on\n" not in out, (out, err)
    adapter.on["disconnect"] = adapter.on_disconnect
    out, err = quits()
    assert out.endswith("the task goes on\n") and HUNG_UP not in out + err, (out, err)
