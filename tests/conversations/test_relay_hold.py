"""The relay owns the pause: who may leave, come, and what the adapter sees of it."""

import re
import time

import pytest
from dap_client import DapClosed, DapError
from held_task import CHANGES, KINDS, LOOKS, assert_held
from relay_process import ClientProcess
from waits import SHORT, Gate, hard, wait_until


def wait_released(adapter):
    """The task goes on: by a continue, a disconnect, or the end of the connection; never by its death."""
    wait_until(lambda: adapter.requests("continue") or adapter.requests("disconnect")
               or adapter.connection().ended.is_set(), f"a release ({adapter.commands()})")
    assert not any((r.get("arguments") or {}).get("terminateDebuggee") for r in adapter.requests("disconnect"))


def outputs(client):
    return "\n".join(event["body"]["output"] for event in client.events("output"))


def two_stops(adapter):
    """Makes the adapter stop two threads, one by one, as debugpy does with a threaded actor."""
    def configuration_done(connection, request):
        adapter.on_configurationDone(connection, request)
        connection.stop("breakpoint", thread=2, allThreadsStopped=False)
    adapter.on["configurationDone"] = configuration_done


# --- leaving ---

@pytest.mark.parametrize("kind", KINDS)
def test_a_disconnect_leaves_the_task_held(adapter, hub, kind):
    first = hub.join(kind)
    thread = first.stopped(reason="breakpoint")["threadId"]
    first.disconnect()
    first.wait_end()
    assert "held" in outputs(first) and "release" in outputs(first)
    assert_held(adapter)
    pause = hub.pause()
    with hard():
        assert pause["held"] is True and pause["clients"] == 0, pause
    second = hub.join(kind)
    assert second.stopped()["threadId"] == thread
    assert second.stack(thread)[0]["line"] == 8
    assert second.step("next", thread)["reason"] == "step"
    second.disconnect()


@pytest.mark.parametrize("how", ["fin", "rst", "kill"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_vanishes_leaves_the_task_held(adapter, hub, kind, how):
    if how == "kill":
        ClientProcess(hub, kind).kill9()
    else:
        first = hub.join(kind)
        first.stopped()
        first.transport.reset() if how == "rst" else first.close()
    wait_until(lambda: hub.pause()["clients"] == 0, "the relay notices")
    assert_held(adapter)
    assert hub.join(kind).stopped()["reason"] == "breakpoint"


def test_a_client_that_vanishes_with_a_request_pending(adapter, hub):
    slow_evaluate = []

    def evaluate(connection, request):
        if request["arguments"].get("expression") == "slow()":
            slow_evaluate.append((connection, request))
        else:
            adapter.on_evaluate(connection, request)
    adapter.on["evaluate"] = evaluate
    first = hub.join()
    first.stopped()
    first.strict = False
    first.send("evaluate", {"expression": "slow()", "frameId": 3, "context": "repl"})
    adapter.wait_received(lambda m: (m.get("arguments") or {}).get("expression") == "slow()")
    first.transport.reset()
    second = hub.join()
    second.stopped()
    adapter.on_evaluate(*slow_evaluate[-1])
    assert second.stack(1)[0]["name"] == "square"
    assert not [e for e in second.transcript if e.way == "<" and e.message.get("command") == "evaluate"]
    assert_held(adapter)


CUT = "cut for more than 16 s"


@pytest.mark.parametrize("said, told", [("3.12.1/1.8.22 nodelay,keepalive!PermissionError(1) adapter=7", True),
                                        ("3.12.1/1.8.22 nodelay,keepalive adapter=7 cut=900s", False)])
def test_a_client_is_told_when_a_short_cut_lets_the_task_go(adapter, hub, said, told):
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {"result": said, "variablesReference": 0})
    for client in (hub.join(), hub.join("websocket", name="late")):
        client.ok("threads")
        assert (CUT in outputs(client)) is told, outputs(client)


def test_a_release_that_the_debugger_does_not_hear_says_so(adapter, run_relay, clock):
    """As after a message that debugpy's adapter does not read: the task stays stopped until its adapter ends."""
    hub = run_relay(env=clock.env)
    said = "3.12.1/1.8.22 nodelay,keepalive adapter=4711 cut=900s"
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {"result": said, "variablesReference": 0})
    adapter.on["modules"] = adapter.on["disconnect"] = lambda connection, request: None
    client = hub.join()
    client.send("modules")
    client.strict = False
    client.send("raydbg/release")
    wait_until(lambda: any(line["action"] == "release" for line in hub.audit()), "the relay releases it")
    clock.pass_time(8)
    client.wait_event("terminated")
    assert "does not answer" in outputs(client) and "kill 4711" in outputs(client), outputs(client)
    assert "was released and goes on" not in outputs(client), outputs(client)


def test_a_debugger_that_is_slow_to_let_go_is_not_called_deaf(adapter, run_relay, clock):
    """On a busy machine: nobody is told to kill an adapter that only takes its time."""
    hub = run_relay(env=clock.env)
    adapter.on["disconnect"] = goodbye = Gate(adapter.on_disconnect)
    client = hub.join()
    client.stopped()
    client.send("raydbg/release")
    goodbye.wait_reached()
    clock.pass_time(4)
    goodbye.open()
    client.wait_event("terminated")
    assert "was released and goes on" in outputs(client) and "does not answer" not in outputs(client), outputs(client)


def test_each_of_two_disconnects_is_answered(adapter, hub):
    adapter.on["disconnect"] = goodbye = Gate(adapter.on_disconnect)
    client = hub.join()
    client.stopped()
    seqs = [client.send("disconnect", {"onDisconnect": "continue"})]
    goodbye.wait_reached()
    seqs.append(client.send("disconnect", {"onDisconnect": "continue"}))
    assert not client.request("threads")["success"]  # the relay has read both
    goodbye.open()
    client.wait_end()
    answered = [e.message["request_seq"] for e in client.transcript
                if e.way == "<" and e.message.get("command") == "disconnect"]
    assert answered == seqs, client.text()


@pytest.mark.parametrize("where", ["attach", "disconnect"])
def test_on_disconnect_continue(adapter, hub, where):
    first = hub.join(**({"onDisconnect": "continue"} if where == "attach" else {}))
    first.stopped()
    first.disconnect(**({"onDisconnect": "continue"} if where == "disconnect" else {}))
    wait_released(adapter)


def test_terminate_debuggee_lets_go_and_kills_nobody(adapter, hub):
    first = hub.join()
    first.stopped()
    first.disconnect(terminateDebuggee=True)
    wait_released(adapter)


def test_a_vanished_client_that_asked_for_continue(adapter, hub):
    first = hub.join(onDisconnect="continue")
    first.stopped()
    first.transport.reset()
    wait_released(adapter)


def test_an_observer_that_leaves_releases_nothing(adapter, hub):
    hub.join().stopped()
    second = hub.join(role="observer", onDisconnect="continue")
    second.stopped()
    second.disconnect(terminateDebuggee=True)
    assert_held(adapter)


@pytest.mark.parametrize("beside", [True, False], ids=["beside a driver", "alone"])
def test_an_observer_kills_nobody(adapter, run_relay, beside):
    hub = run_relay("--kill")
    if beside:
        hub.join(name="driver").stopped()
    observer = hub.join(role="observer")
    observer.stopped()
    before = len(adapter.requests("evaluate"))
    observer.disconnect(terminateDebuggee=True)
    assert_held(adapter)
    assert len(adapter.requests("evaluate")) == before, "the worker was ended"


def test_hold_never(adapter, run_relay):
    hub = run_relay("--hold", "never")
    first, second = hub.join(name="first"), hub.join(name="second")
    first.stopped(), second.stopped()
    first.disconnect()
    assert_held(adapter)  # not while another client is there
    second.disconnect()
    wait_released(adapter)


def test_max_hold_warns_and_lets_go(adapter, run_relay):
    hub = run_relay("--max-hold", "2s")
    started = time.monotonic()
    first = hub.join()
    first.stopped()
    warned = first.wait_event("output", lambda body: re.search(r"goes on in \d+ s", body["output"]))
    wait_released(adapter)
    assert adapter.received[-1].at - started >= 2
    ended = first.wait_first(["terminated", "continued"])
    assert warned["seq"] < ended["seq"]


def test_max_hold_counts_from_the_last_touch(adapter, run_relay, clock):
    hub = run_relay("--max-hold", "5s", env=clock.env)
    first = hub.join()
    first.stopped()
    for _ in range(14):
        clock.pass_time(0.5)
        first.step("next", 1)
    assert_held(adapter, 0)
    first.disconnect()
    wait_released(adapter)


# --- coming late ---

@pytest.mark.parametrize("kind", KINDS)
def test_a_late_client_is_told_what_is_true(adapter, hub, kind):
    hub.join().stopped()
    late = hub.client(kind, "late")
    late.initialize()
    attach = late.send("attach", hub.attach_arguments(kind))
    late.wait_event("initialized")
    late.ok("setExceptionBreakpoints", {"filters": ["uncaught"]})
    assert not late.events("stopped") and not late.events("thread")
    late.ok("configurationDone")
    late.check(late.response(attach))
    assert late.stopped()["reason"] == "breakpoint"
    assert {e["body"]["threadId"] for e in late.events("thread")} == {1, 2}
    late.assert_no_event("stopped", 0.2)
    assert adapter.commands().count("attach") == 1 and adapter.commands().count("configurationDone") == 1


def test_a_late_client_sees_every_stopped_thread(adapter, hub):
    two_stops(adapter)
    first = hub.join()
    assert {first.stopped()["threadId"] for _ in range(2)} == {1, 2}
    first.disconnect()
    late = hub.join("websocket")
    assert {late.stopped()["threadId"] for _ in range(2)} == {1, 2}
    late.assert_no_event("stopped", 0.2)


def test_a_late_client_sees_the_last_stop(adapter, hub):
    first = hub.join()
    first.stopped()
    first.step("next", 1)
    late = hub.join()
    assert late.stopped()["reason"] == "step"
    assert late.stack(1)[0]["line"] == 9


def test_a_late_client_of_a_running_task_is_told_of_no_stop(adapter, hub):
    first = hub.join()
    first.stopped()
    first.resume(1)
    late = hub.join()
    late.assert_no_event("stopped", 0.3)
    adapter.connection().stop("breakpoint")
    assert first.stopped()["threadId"] == 1 and late.stopped()["threadId"] == 1


def test_the_same_capabilities_for_all(hub):
    first, late = hub.client(), hub.client()
    told = []
    for client in first, late:
        capabilities = client.initialize()
        client.attach(hub.attach_arguments())
        client.stopped()
        for event in client.events("capabilities"):
            capabilities |= event["body"]["capabilities"]
        told.append(capabilities)
    assert told[0] == told[1] and told[0]["supportsSetVariable"]


def test_everybody_sees_a_step(hub):
    first, second = hub.join(name="first"), hub.join("websocket", name="second")
    first.stopped(), second.stopped()
    first.step("next", 1)
    second.wait_event("continued")
    assert second.stopped(reason="step")["threadId"] == 1


def refuse(connection, request):
    connection.respond(request, success=False, message="Unable to find thread for evaluation.")


def assert_stop_is_known(hub, adapter, **expected):
    """To who comes late, to lists, and to a relay that comes after this one was killed."""
    late = hub.join(name="late")
    late.stopped(**expected)
    late.ok("threads")
    assert len(late.events("stopped")) == 1
    wait_until(lambda: hub.pause()["location"], lambda: f"a location in {hub.pause()}")
    assert hub.pause()["reason"] == "breakpoint"
    hub.kill9()
    hub.restart()
    hub.join(name="later").stopped(**expected)
    assert len(adapter.connections) == 1


@pytest.mark.parametrize("command, arguments", [("next", {}), ("stepIn", {"targetId": 7}), ("continue", {})])
def test_a_step_that_is_refused_leaves_the_stop(adapter, hub, command, arguments):
    adapter.on[command] = refuse
    driver, other = hub.join(name="driver"), hub.join("websocket", name="other")
    driver.stopped(), other.stopped()
    wait_until(lambda: hub.pause()["location"], "the location of the stop")
    assert not driver.request(command, {"threadId": 1, **arguments})["success"]
    other.wait_event("continued")
    assert other.stopped()["reason"] == "breakpoint"
    assert driver.stack(1) and len(driver.events("stopped")) == 1
    assert_stop_is_known(hub, adapter, reason="breakpoint", threadId=1)


def test_a_refusal_behind_what_is_newer(adapter, hub):
    """A thread that has stopped anew meanwhile has its new stop; one that has exited has none."""
    two_stops(adapter)

    def late_refusal(connection, request):
        with connection.together:
            if request["arguments"]["threadId"] == 1:
                connection.stop("exception", allThreadsStopped=False)
            else:
                connection.event("thread", {"reason": "exited", "threadId": 2})
            refuse(connection, request)

    adapter.on["next"] = late_refusal
    driver, other = hub.join(name="driver"), hub.join(name="other")
    for client in driver, other:
        assert {client.stopped()["threadId"] for _ in range(2)} == {1, 2}
    for thread in 1, 2:
        assert not driver.request("next", {"threadId": thread})["success"]
    other.stopped(reason="exception", threadId=1)
    other.ok("threads")
    assert len(other.events("stopped")) == 3
    late = hub.join(name="late")
    late.stopped(reason="exception", threadId=1)
    late.ok("threads")
    assert len(late.events("stopped")) == 1


def test_a_continue_of_the_relay_that_is_refused_leaves_the_stops(adapter, hub):
    two_stops(adapter)
    adapter.on["continue"] = refuse
    client = hub.join()
    assert {client.stopped()["threadId"] for _ in range(2)} == {1, 2}
    assert hub.post("continue").status == 504
    client.wait_event("continued")
    assert {client.stopped()["threadId"] for _ in range(2)} == {1, 2}
    assert client.stack(2)
    late = hub.join(name="late")
    assert {late.stopped()["threadId"] for _ in range(2)} == {1, 2}


def test_references_are_valid_for_each_client(hub):
    clients = [hub.join(name="first"), hub.join("websocket", name="second"), hub.join(name="third")]
    for client in clients:
        client.stopped()
    for _ in range(3):
        for client in clients:
            assert client.locals(client.stack(1)[0]["id"])["x"]["value"] == "3"


def test_requests_of_two_clients_with_the_same_seq(adapter, hub):
    """Answers go to who asked, also when they come in another order."""
    waiting = []

    def variables(connection, request):
        waiting.append((connection, request))
        if len(waiting) == 2:
            for conn, req in reversed(waiting):
                number = req["arguments"]["variablesReference"]
                conn.respond(req, {"variables": [{"name": "r", "value": str(number), "variablesReference": 0}]})
    first, second = hub.join(name="first"), hub.join(name="second")
    first.stopped(), second.stopped()
    adapter.on["variables"] = variables
    asked = [(client, client.send("variables", {"variablesReference": number}), number)
             for client, number in ((first, 61), (second, 62))]
    for client, seq, number in asked:
        assert client.check(client.response(seq))["variables"][0]["value"] == str(number)


# --- the adapter dies ---

@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("command", ["threads", "stackTrace", "variables", "evaluate", "next", "continue"])
def test_each_request_gets_one_response_when_the_adapter_dies(adapter, hub, command, how):
    driver, observer = hub.join(name="driver"), hub.join("websocket", role="observer")
    driver.stopped(), observer.stopped()
    adapter.on[command] = lambda c, request: c.die(how)
    asked = [(client, client.send(name, {**CHANGES, **LOOKS}[name]))
             for client in (observer, driver) for name in ("threads", "scopes", command, "stackTrace", "variables")]
    for client, seq in asked:
        client.response(seq)
    for client in driver, observer:
        client.wait_event("terminated")
        client.request("threads")
        client.disconnect()
        client.wait_end()
        client.verify()
        assert [e["event"] for e in client.events()].count("terminated") == 1
    wait_until(lambda: not (hub.pause() or {}).get("held"), "the dead one is held no more")


def test_the_adapter_dies_while_a_late_client_attaches(adapter, hub):
    hub.join().stopped()
    late = hub.client("websocket")
    late.initialize()
    attach = late.send("attach", hub.attach_arguments("websocket"))
    late.wait_event("initialized")
    adapter.connection().die("rst")
    for name in "setExceptionBreakpoints", "configurationDone":
        late.request(name, {"filters": []})
    late.response(attach)
    late.disconnect()
    late.verify()


def test_the_adapter_refuses_the_attach(adapter, hub):
    adapter.on["attach"] = lambda c, request: c.respond(request, success=False,
                                                        message="Server[pid=9] is already being debugged.")
    client = hub.client()
    client.initialize()
    with pytest.raises(DapError, match="already being debugged"):
        client.attach(hub.attach_arguments())


def test_nobody_listens(adapter, hub):
    adapter.refuse_connections()
    client = hub.client("websocket")
    client.initialize()
    with pytest.raises(DapError, match=f"{adapter.host}:{adapter.port}"):
        client.attach(hub.attach_arguments("websocket"))


def test_two_clients_attach_at_the_same_moment(adapter, hub):
    clients = [hub.client(kind, f"{kind} {n}") for kind in KINDS for n in range(3)]
    attaches = []
    for client, kind in zip(clients, [kind for kind in KINDS for _ in range(3)]):
        client.initialize()
        attaches.append(client.send("attach", hub.attach_arguments(kind)))
    for client, attach in zip(clients, attaches):
        client.wait_event("initialized")
        client.ok("configurationDone")
        client.check(client.response(attach))
        client.stopped()
    assert len(adapter.connections) == 1 and adapter.commands().count("attach") == 1
    assert sum(s["role"] == "driver" for s in hub.sessions()) == 1


def test_connect_must_be_allowed(adapter, run_relay):
    hub = run_relay(adapter=None)
    client = hub.client()
    client.initialize()
    with pytest.raises(DapError, match="allow-connect"):
        client.attach({"token": hub.token, "connect": adapter.address})
    assert not adapter.connections


# --- HTTP ---

def test_release_through_http(adapter, hub):
    first = hub.join()
    first.stopped()
    answer = hub.post("release")
    assert answer.status == 200 and "id" in answer.json, answer
    wait_released(adapter)
    first.wait_event("terminated")
    assert "release" in outputs(first)
    wait_until(lambda: not (hub.pause() or {}).get("held"), "not held any more")


def test_a_refusal_that_comes_while_the_debugger_is_tuned(adapter, hub):
    """A debugger that is being left greets, and refuses then: it is tried again, on a new connection alone."""
    refused = []

    def attach(connection, request):
        if connection is not adapter.connections[0]:
            adapter.on_attach(connection, request)
            return
        refused.append(request)
        connection.event("initialized")

    def evaluate(connection, request):
        if connection is adapter.connections[0]:
            connection.respond(refused[0], success=False, message="'Server[pid=258] is already being debugged.'")
        adapter.on_evaluate(connection, request)

    adapter.on.update(attach=attach, evaluate=evaluate)
    client = hub.join()
    assert client.stopped()["reason"] == "breakpoint"
    assert refused and len(adapter.connections) == 2


def test_a_release_while_the_debugger_is_being_attached(adapter, ray, run_relay):
    """The client is told, and what the debugger answers late finds nobody, but a relay that lives."""
    late = []
    hub = run_relay("--address", ray.address)
    adapter.on["initialize"] = lambda connection, request: late.append((connection, request))
    first = hub.client()
    first.initialize()
    attaching = first.send("attach", hub.attach_arguments())
    wait_until(lambda: late, "the relay attaches")
    assert hub.post("release").status == 409
    with pytest.raises(DapError, match="given up"):
        first.check(first.response(attaching))
    adapter.on_initialize(*late[0])
    first.wait_event("terminated")
    adapter.on["initialize"] = adapter.on_initialize
    wait_until(lambda: adapter.connection().ended.is_set(), "the debugger is let go")
    first.close()
    second = hub.join()
    assert second.stopped()["reason"] == "breakpoint"


def test_hold_and_continue_through_http(adapter, run_relay):
    hub = run_relay("--hold", "never")
    first = hub.join()
    first.stopped()
    assert hub.post("hold").status == 200
    first.disconnect()
    assert_held(adapter)
    pause = hub.pause()
    with hard():
        assert pause["held"] and pause["clients"] == 0 and pause["held_since"] and pause["reason"] == "breakpoint", pause
    assert hub.post("continue").status == 200
    adapter.wait_request("continue")
    assert not adapter.requests("disconnect") and not adapter.connection().ended.is_set()
    adapter.connection().stop("breakpoint")
    client = hub.join()
    assert client.stopped()["threadId"] == 1


def test_each_stop_has_a_time_of_its_own(adapter, hub):
    client = hub.join()
    client.stopped()
    first = hub.pause()
    assert time.time() - 3600 < first["stopped_at"] < time.time() + 1 and not first["client_left"], first
    client.resume(1)
    assert hub.pause()["stopped_at"] is None
    adapter.connection().stop("breakpoint")
    client.stopped()
    second = hub.pause()
    assert second["stopped_at"] > first["stopped_at"] and not second["client_left"], (first, second)
    client.disconnect()
    wait_until(lambda: hub.pause()["clients"] == 0, "the client has left")
    left = hub.pause()
    assert left["stopped_at"] == second["stopped_at"] and left["client_left"], left
    hub.kill9()
    hub.restart()
    assert hub.pause()["stopped_at"] == second["stopped_at"]
    assert hub.post("continue").status == 200
    adapter.connection().stop("breakpoint")
    wait_until(lambda: hub.pause()["reason"], "it stops once more")
    third = hub.pause()
    assert third["stopped_at"] > second["stopped_at"] and not third["client_left"], third


def test_a_hold_outlives_the_relay(adapter, run_relay):
    """What was held by hand stays held after a goodbye, though this relay would let it go then."""
    hub = run_relay("--hold", "on-loss")
    client = hub.join()
    client.stopped()
    assert hub.post("hold").status == 200
    hub.kill9()
    client.wait_end()
    hub.restart()
    with hard():
        assert hub.pause()["held"]
    again = hub.join()
    again.stopped()
    again.disconnect()
    assert_held(adapter)
    with hard():
        assert hub.pause()["held"] and hub.pause()["clients"] == 0


def test_errors_of_http(hub):
    for method, path, status in (("POST", "/v1/pauses/nothing-like-it/release", 404), ("GET", "/nowhere", 404),
                                 ("POST", "/v1/pauses/nothing/explode", 404), ("DELETE", "/v1/pauses", 405)):
        answer = hub.http(method, path)
        assert answer.status == status, (path, answer)
        assert answer.error


def test_events_follow_what_happens(adapter, hub):
    events = hub.events()
    assert events.wait(lambda m: m["event"] == "pauses")["pauses"] == []
    client = hub.join(name="somebody")
    client.stopped()
    events.wait(lambda m: m["event"] in ("added", "changed") and m["pause"]["held"] and m["pause"]["clients"] == 1)
    events.wait(lambda m: m["event"] == "sessions" and "somebody" in str(m["sessions"]))
    client.disconnect()
    events.wait(lambda m: m["event"] == "changed" and m["pause"]["held"] and m["pause"]["clients"] == 0)
    hub.post("release")
    events.wait(lambda m: m["event"] == "removed" or m["event"] == "changed" and not m["pause"]["held"])


def test_the_audit_log_tells_who_did_what(hub):
    client = hub.join(name="somebody")
    client.stopped()
    scope = client.ok("scopes", {"frameId": 3})["scopes"][0]["variablesReference"]
    client.ok("setVariable", {"variablesReference": scope, "name": "x", "value": "secret-value"})
    client.evaluate("secret_expression()", 3)
    client.resume(1)
    client.disconnect()
    hub.post("release")
    wait_until(lambda: any(line["action"] == "release" for line in hub.audit()), "the release is noted")
    noted = hub.audit()
    actions = [line["action"] for line in noted]
    for action in "connect", "attach", "evaluate", "setVariable", "continue", "release":
        assert action in actions, actions
    attach = noted[actions.index("attach")]
    assert attach["role"] == "driver" and "127.0.0.1" in attach["peer"] and attach["time"]
    for action in "evaluate", "setVariable", "continue":
        assert noted[actions.index(action)]["role"] == "driver", noted
    text = (hub.state / "s/raydbg/audit.log").read_text()
    assert "secret-value" not in text and hub.token not in text
    assert (hub.state / "s/raydbg/audit.log").stat().st_mode & 0o777 == 0o600


def test_a_dropped_answer_is_noticed(adapter, hub):
    """The check that the tests above rest on."""
    client = hub.join()
    client.stopped()
    adapter.on["threads"] = lambda c, request: None
    client.send("threads")
    with pytest.raises(DapError, match="was not answered"):
        client.verify()
    client.strict = False
    with pytest.raises((DapError, DapClosed)):
        client.wait_event("stopped", timeout=SHORT)


# --- a relay that holds only what is lost, and ends by itself ---


@pytest.fixture
def on_loss(run_relay, clock):
    return run_relay("--hold", "on-loss", "--until-idle", "1s", env=clock.env)


@pytest.mark.parametrize("kind", KINDS)
def test_a_goodbye_lets_go_where_only_losses_are_held(adapter, on_loss, kind):
    client = on_loss.join(kind)
    client.stopped()
    client.disconnect()
    wait_released(adapter)
    client.wait_end()
    assert "goes on" in outputs(client) and "held" not in outputs(client)
    assert on_loss.wait() == 0, "it ends when it holds nothing"
    assert not on_loss.kept_pids()


@pytest.mark.parametrize("how", ["vanishes", "asks"])
def test_a_lost_client_leaves_the_task_stopped(adapter, on_loss, clock, how):
    client = on_loss.join()
    client.stopped()
    if how == "vanishes":
        client.transport.reset()
    else:
        client.disconnect(onDisconnect="hold")
        assert "stays held" in outputs(client)
    wait_until(lambda: on_loss.pause()["clients"] == 0, "the relay notices")
    clock.pass_time(11.5)  # longer than an idle relay lives, and than a running task is kept
    assert_held(adapter)
    assert on_loss.process.poll() is None
    second = on_loss.join("websocket")
    assert second.stopped()["reason"] == "breakpoint"
    second.disconnect()
    wait_released(adapter)
    assert on_loss.wait() == 0


@pytest.mark.parametrize("how", ["vanishes", "asks"])
def test_a_task_that_runs_is_not_held(adapter, on_loss, clock, how):
    client = on_loss.join()
    thread = client.stopped()["threadId"]
    client.resume(thread)
    if how == "vanishes":
        client.transport.reset()
        wait_until(lambda: on_loss.pause()["clients"] == 0, "the relay notices")
        clock.pass_time(10)
    else:
        client.disconnect(onDisconnect="hold")
        assert "goes on" in outputs(client)
    wait_until(lambda: adapter.requests("disconnect"), f"it leaves ({adapter.commands()})")
    assert on_loss.wait() == 0


def test_a_step_that_outlasts_its_client_is_held(adapter, on_loss, clock):
    """On a busy machine a step takes seconds: the client is lost meanwhile, and the step's stop still comes."""
    adapter.on["next"] = step = Gate(adapter.on_next)
    client = on_loss.join()
    client.strict = False
    client.stopped()
    client.send("next", {"threadId": 1})
    step.wait_reached()
    client.transport.reset()
    wait_until(lambda: on_loss.pause()["clients"] == 0, "the relay notices")
    clock.pass_time(4)
    step.open()
    second = on_loss.join("websocket")
    assert second.stopped()["reason"] == "step"
    assert_held(adapter)
    second.disconnect()
    wait_released(adapter)


def test_a_goodbye_beside_others_leaves_them_the_task(adapter, on_loss):
    first, second = on_loss.join(name="first"), on_loss.join(name="second")
    first.stopped(), second.stopped()
    first.disconnect()
    assert_held(adapter)
    assert second.stack(1)[0]["name"] == "square"
    second.disconnect()
    wait_released(adapter)


@pytest.mark.parametrize("hold", ["on-attach", "on-loss"])
def test_a_restart_comes_back_for_the_task(adapter, run_relay, hold):
    """A client without the request `restart` disconnects with "restart": true, and attaches anew."""
    relay = run_relay("--hold", hold)
    client = relay.join(onDisconnect="continue")
    stop = client.stopped()
    client.disconnect(restart=True)
    again = relay.join(onDisconnect="continue")
    assert again.stopped()["threadId"] == stop["threadId"]
    assert not {"continue", "disconnect"} & set(adapter.commands())
    again.disconnect()
    adapter.wait_request("disconnect")
