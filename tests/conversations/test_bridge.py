"""`raydbg dap`, `attach`, `list`, `release` and `hold` with a relay: a fake one, which speaks HTTP and WebSocket."""

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
import sanitizers
from fake_adapter import PROGRAM
from fake_relay import FakeRelay, make_certificate, pause, register
from relay_under_test import raydbg_path
from waits import limit

TOKEN = "0123456789abcdef" * 4


@pytest.fixture
def home(tmp_path, monkeypatch):
    """No relay, token or cluster of the user's own is found."""
    for name in [name for name in os.environ if name.startswith(("RAY_", "RAYDBG_"))]:
        if name != "RAYDBG":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def fake(adapter, home):
    with FakeRelay(adapter, token=TOKEN) as relay:
        yield relay


@pytest.fixture
def start(start_relay, fake):
    def start(*arguments, relay=fake, env=None, **options):
        return start_relay(None, "--relay", relay.address, *arguments, env={"RAYDBG_TOKEN": TOKEN, **(env or {})},
                           **options)
    return start


def run(*arguments, env=None, input=""):
    result = subprocess.run([raydbg_path(), *arguments], capture_output=True, text=True, timeout=limit(), input=input,
                            env={**os.environ, "RAYDBG_TOKEN": TOKEN, **sanitizers.ENV, **(env or {})})
    sanitizers.check(result.returncode, result.stderr)
    return result


# --- raydbg dap ---


def test_a_session_over_the_bridge(adapter, start, fake):
    client = start()
    assert client.start({"request": "attach", "task": "square"}, breakpoints={PROGRAM: [9]})["reason"] == "breakpoint"
    assert client.step("next", 1)["reason"] == "step"
    assert client.stack(1)[0]["line"] == 9
    client.disconnect()
    client.wait_end()
    assert adapter.requests("attach")[0]["arguments"] == {"request": "attach", "task": "square"}
    assert "stays held" in client.events("output")[-1]["body"]["output"]
    assert client.process.wait(limit()) == 0
    upgrade = fake.asked("/dap")[0][2]
    assert upgrade["Sec-WebSocket-Protocol"] == "dap" and upgrade["Authorization"].startswith("Raydbg anywhere ")
    assert TOKEN not in str(fake.calls)


def test_messages_are_not_changed(adapter, start):
    odd = b'{"seq":9007199254740993,"type":"event","event":"odd","body":{"a":1,"a":"\\ud800","n":NaN}}'
    adapter.on["threads"] = lambda c, request: (c.send_body(odd), c.respond(request, {"threads": []}))
    client = start()
    client.start({"request": "attach"})
    client.request("threads")
    assert odd in [entry.raw for entry in client.transcript]
    body = b'{"seq":77, "type":"request","command":"evaluate","arguments":{"v":1e400,"expression":"\\u0000"}}'
    client.send_body(body)
    assert client.response(77)["success"]
    assert adapter.wait_received(lambda m: m.get("seq") == 77).raw == body
    client.disconnect()


def test_large_messages_both_ways(adapter, start):
    large = "x" * (9 << 20)
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {"result": large, "variablesReference": 0})
    client = start()
    client.start({"request": "attach"})
    body = client.ok("evaluate", {"expression": large})
    assert body["result"] == large
    assert adapter.requests("evaluate")[-1]["arguments"]["expression"] == large
    client.disconnect()


@pytest.mark.parametrize("given, expected", [
    (None, {"task": "square", "noTune": True}),
    ({}, {"task": "square", "noTune": True}),
    ({"task": "other", "a": 1}, {"noTune": True, "task": "other", "a": 1}),
])
def test_the_command_line_completes_an_attach(adapter, start, given, expected):
    client = start("--no-tune", "square")
    client.initialize()
    client.send("attach", given)
    client.wait_event("initialized")
    client.ok("configurationDone")
    client.stopped()
    assert adapter.requests("attach")[0]["arguments"] == expected
    client.disconnect()


def test_what_a_client_says_last_still_goes_out(adapter, start):
    client = start(strict=False)
    client.start({"request": "attach"})
    client.send("disconnect", {"terminateDebuggee": False})
    client.transport.close_write()
    adapter.wait_request("disconnect")
    client.wait_end()


@pytest.mark.parametrize("refusal, code", [
    ((401, "who are you?", "the token is another", "look at RAYDBG_TOKEN"), 4),
    ((403, "not from here", "the Origin is not allowed", ""), 4),
    ((429, "too many", "1000 connections", "wait"), 1),
    ((503, "full", "10000 sessions", "later"), 5),
])
def test_a_refusal_is_told_in_the_relays_words(start, fake, refusal, code):
    fake.refuse = refusal
    client = start()
    answer = client.request("initialize", {"adapterID": "x"})
    assert not answer["success"]
    for word in refusal[1:]:
        assert word in answer["message"]
    client.wait_event("terminated")
    assert not client.request("threads")["success"]
    assert client.request("disconnect")["success"]
    assert client.process.wait(limit()) == code


def test_a_relay_that_is_not_there(start_relay, home):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    client = start_relay(None, "--relay", address)
    answer = client.request("initialize", {"adapterID": "x"})
    assert not answer["success"] and address in answer["message"]
    client.request("disconnect")
    assert client.process.wait(limit()) == 5


def test_a_relay_that_dies_before_it_holds_anything(start, fake):
    fake.announce = False
    client = start()
    client.start({"request": "attach"})
    fake.drop()
    client.wait_event("terminated")
    assert "connection was lost" in client.events("output")[-1]["body"]["output"]
    client.request("disconnect")
    assert client.process.wait(limit()) == 5


def test_pending_requests_are_answered_when_the_relay_dies(adapter, start, fake):
    fake.announce = False
    adapter.on["evaluate"] = lambda c, request: fake.drop()
    client = start()
    client.start({"request": "attach"})
    answer = client.request("evaluate", {"expression": "1"})
    assert not answer["success"] and "connection was lost" in answer["message"]
    client.request("disconnect")
    client.wait_end()


def test_a_relay_that_comes_back_hears_what_was_said(adapter, start, fake):
    client = start()
    client.start({"request": "attach", "task": "square"}, breakpoints={PROGRAM: [9]})
    client.ok("setBreakpoints", {"source": {"path": PROGRAM}, "breakpoints": [{"line": 11}]})
    client.ok("setBreakpoints", {"source": {"path": "/b.py"}, "breakpoints": [{"line": 2}]})
    client.wait_event("raydbg/role")
    before = len(adapter.requests())
    fake.drop()
    client.wait_event("output", lambda body: "waiting for the relay" in body["output"])
    answer = client.send("threads")  # waits for the new one
    assert client.stopped()["reason"] == "breakpoint"
    again = adapter.requests()[before:]
    assert client.response(answer)["success"]
    names = [m["command"] for m in again if m["command"] != "threads"]
    assert names == ["initialize", "attach", "setBreakpoints", "setBreakpoints", "setExceptionBreakpoints",
                     "configurationDone"]
    assert [m["arguments"]["breakpoints"] for m in again if m["command"] == "setBreakpoints"] == \
        [[{"line": 11}], [{"line": 2}]]
    assert len(client.events("initialized")) == 1 and not client.events("terminated")
    client.disconnect()


def test_a_relay_that_comes_back_and_refuses(adapter, start, fake):
    client = start()
    client.start({"request": "attach"})
    client.wait_event("raydbg/role")
    adapter.on["attach"] = lambda c, request: c.respond(request, success=False, message="no such task any more")
    fake.drop()
    client.wait_event("terminated")
    assert "no such task any more" in client.events("output")[-1]["body"]["output"]
    client.request("disconnect")
    client.wait_end()


def test_a_unix_socket(adapter, home, start_relay):
    with FakeRelay(adapter, unix=home / "s.sock") as fake:
        client = start_relay(None, "--relay", fake.address)
        client.start({"request": "attach"})
        client.disconnect()
        assert fake.asked("/dap")[0][2]["Host"] == "localhost"


# --- TLS ---


@pytest.fixture
def secure(adapter, home):
    cert, key, fingerprint = make_certificate(home, "IP:127.0.0.1", "DNS:localhost")
    with FakeRelay(adapter, token=TOKEN, cert=(cert, key)) as fake:
        fake.fingerprint, fake.cert = fingerprint, cert
        yield fake


@pytest.fixture
def misnamed(adapter, home):
    (home / "other").mkdir()
    cert, key, fingerprint = make_certificate(home / "other", "DNS:elsewhere.example")
    with FakeRelay(adapter, token=TOKEN, cert=(cert, key)) as fake:
        fake.fingerprint, fake.cert = fingerprint, cert
        yield fake


def over_tls(start_relay, fake, *arguments):
    client = start_relay(None, "--relay", fake.url, *arguments, env={"RAYDBG_TOKEN": TOKEN})
    answer = client.request("initialize", {"adapterID": "x"})
    return client, answer


@pytest.mark.parametrize("spell", [str, str.lower, lambda text: text.replace(":", "").replace("SHA256", "SHA256:")])
def test_a_pinned_certificate_needs_no_ca_and_no_name(start_relay, misnamed, spell):
    client, answer = over_tls(start_relay, misnamed, "--relay-fingerprint", spell(misnamed.fingerprint))
    assert answer["success"]
    client.disconnect()


def test_another_certificate_than_the_pinned_one(start_relay, secure):
    other = secure.fingerprint[:-1] + ("0" if secure.fingerprint[-1] != "0" else "1")
    client, answer = over_tls(start_relay, secure, "--relay-fingerprint", other)
    assert not answer["success"] and "not the pinned one" in answer["message"]
    assert not secure.calls  # nothing was said to it, the token least of all
    client.request("disconnect")
    assert client.process.wait(limit()) == 4


def test_a_ca(start_relay, secure):
    client, answer = over_tls(start_relay, secure, "--relay-ca", str(secure.cert))
    assert answer["success"]
    client.disconnect()


@pytest.mark.parametrize("relay, ca", [("secure", False), ("misnamed", True)])
def test_a_certificate_that_is_not_trusted(start_relay, request, relay, ca):
    fake = request.getfixturevalue(relay)
    client, answer = over_tls(start_relay, fake, *(["--relay-ca", str(fake.cert)] if ca else []))
    assert not answer["success"] and "not trusted" in answer["message"]
    assert not fake.calls
    client.request("disconnect")
    assert client.process.wait(limit()) == 4


def test_an_ipv6_address_is_checked_against_the_certificate(adapter, home, start_relay):
    for names, good in ((["IP:::1"], True), (["IP:::2"], False)):
        (home / str(good)).mkdir()
        cert, key, _ = make_certificate(home / str(good), *names)
        with FakeRelay(adapter, token=TOKEN, host="::1", cert=(cert, key)) as fake:
            client = start_relay(None, "--relay", f"https://[::1]:{fake.port}", "--relay-ca", str(cert),
                                 env={"RAYDBG_TOKEN": TOKEN})
            assert client.request("initialize", {"adapterID": "x"})["success"] is good
            client.request("disconnect")
            client.wait_end()


# --- raydbg attach ---


def test_the_console_over_the_bridge(adapter, fake):
    fake.pauses = [pause()]
    result = run("attach", "--relay", fake.address, "square", "-e", "where", "-e", "p x", "-e", "detach")
    assert result.returncode == 0, result.stderr
    assert "app.py" in result.stdout and "stays held" in result.stdout + result.stderr
    assert "goes on" not in result.stdout
    arguments = adapter.requests("attach")[0]["arguments"]
    assert arguments["task"] == "square" and "role" not in arguments


def test_the_console_asks_for_a_role(adapter, fake):
    fake.pauses = [pause()]
    for option, expected in (("--observe", ("role", "observer")), ("--take-over", ("takeOver", True)),
                             ("--let-go", ("onDisconnect", "continue")), ("--kill", ("kill", True))):
        run("attach", "--relay", fake.address, "square", option, "-e", "where")
        assert adapter.requests("attach")[-1]["arguments"][expected[0]] == expected[1]


def test_a_console_whose_relay_dies(adapter, fake):
    fake.pauses = [pause()]
    adapter.on["evaluate"] = lambda c, request: fake.drop()
    result = run("attach", "--relay", fake.address, "square", "-e", "p 1", "-e", "p 2")
    assert "connection was lost" in result.stderr
    assert result.returncode == 5


def test_a_console_that_is_refused(fake):
    result = run("attach", "--relay", fake.address, "square", "-e", "where", env={"RAYDBG_TOKEN": "f" * 64})
    assert result.returncode == 4 and "does not prove that it knows this client's token" in result.stderr
    assert "f" * 64 not in str(fake.calls)


# --- raydbg list ---

HELD = {"state": "held", "held": True, "held_since": time.time() - 5, "reason": "step",
        "location": {"file": "/app/train.py", "line": 41}}


def test_list_shows_what_the_relay_knows(fake):
    fake.pauses = [pause("square", "a1" * 24), pause("Trainer.step", "b2" * 24, **HELD, clients=2),
                   pause("boom", "c3" * 24, **HELD, clients=0)]
    result = run("list", "--relay", fake.address, "--sort", "name")
    assert result.returncode == 0, result.stderr
    header, *rows = result.stdout.splitlines()
    assert [row.split()[1] for row in rows[:3]] == ["Trainer.step", "boom", "square"]
    assert "attached (2 clients)" in rows[0] and "train.py:41  step" in rows[0]
    assert " held " in rows[1] and " waiting " in rows[2]
    assert "cluster 10.0.0.5:6379 (Ray 2.60.0)" in rows[3] and f"relay {fake.address} holds 2" in rows[3]


def test_list_filters_and_formats(fake):
    fake.pauses = [pause("square", "a1" * 24), pause("boom", "c3" * 24, **HELD, clients=0, driver="nvim")]
    shown = json.loads(run("list", "--relay", fake.address, "--format", "json").stdout)
    assert {it["task_name"]: it["state"] for it in shown} == {"square": "waiting", "boom": "held"}
    it = next(it for it in shown if it["task_name"] == "boom")
    assert it["location"] == HELD["location"] and it["reason"] == "step" and it["driver"] == "nvim"
    assert abs(it["held_since"] - HELD["held_since"]) < 0.01 and it["endpoint"] == "10.0.0.7:40001"
    shown = json.loads(run("list", "--relay", fake.address, "--format", "json", "--state", "held").stdout)
    assert [it["task_name"] for it in shown] == ["boom"]
    assert run("list", "--relay", fake.address, "--node", "10.9.9.9").stdout == ""


def test_a_given_relay_that_does_not_answer(home):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    result = run("list", "--relay", address)
    assert result.returncode == 5 and address in result.stderr


def test_an_answer_that_is_none(adapter, home):
    with FakeRelay(adapter) as fake:
        fake.pauses = None
        result = run("list", "--relay", fake.address)
        assert result.returncode == 1 and "could not be read" in result.stderr


def test_watch_follows_the_relay(fake):
    fake.pauses = [pause("square")]
    watch = subprocess.Popen([raydbg_path(), "list", "--watch", "--relay", fake.address], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "RAYDBG_TOKEN": TOKEN, **sanitizers.ENV})
    assert json.loads(watch.stdout.readline())["event"] == "added"
    fake.pauses = [pause("square", **HELD, clients=1)]
    changed = json.loads(watch.stdout.readline())
    assert changed["event"] == "changed" and changed["pause"]["clients"] == 1
    fake.pauses = []
    assert json.loads(watch.stdout.readline())["event"] == "removed"
    watch.terminate()
    _, stderr = watch.communicate(timeout=limit())
    sanitizers.check(watch.returncode, stderr)


# --- finding one ---


def test_a_relay_on_this_machine_is_found(fake, home):
    register(home, fake)
    fake.pauses = [pause("square")]
    for extra in [], ["--address", "10.0.0.5:6379"]:
        assert f"relay {fake.address}" in run("list", *extra).stdout


def test_the_newest_of_several(adapter, fake, home):
    with FakeRelay(adapter, token=TOKEN) as other:
        for relay in fake, other:
            relay.pauses = [pause("square")]
        register(home, fake, started=2000)
        register(home, other, "relay-1.json", started=1000)
        assert f"relay {fake.address}" in run("list").stdout
        register(home, other, "relay-1.json", started=3000)
        assert f"relay {other.address}" in run("list").stdout


@pytest.mark.parametrize("changes", [{"pid": 1}, {"start_ticks": 1}, {"host": "elsewhere"}, {"addresses": []},
                                     {"addresses": ["10.1.2.3:1"]}])
def test_a_registration_that_does_not_hold(fake, home, changes):
    register(home, fake, **{"cluster": "127.0.0.1:1", **changes})
    result = run("release", "--all", "--address", "127.0.0.1:1")
    assert result.returncode == 5 and "there is no relay" in result.stderr
    assert not fake.calls


def test_a_registration_that_others_could_have_written(fake, home):
    path = register(home, fake, cluster="127.0.0.1:1")
    assert run("release", "--all", "--address", "127.0.0.1:1").returncode == 0
    fake.calls.clear()
    path.chmod(0o666)
    assert run("release", "--all", "--address", "127.0.0.1:1").returncode == 5
    assert not fake.calls


def test_a_relay_of_another_cluster_is_passed_over(fake, home):
    register(home, fake)
    assert run("release", "--all", "--address", "127.0.0.1:1").returncode == 5
    assert not fake.calls


def test_another_relay_where_a_registered_one_was(fake, home):
    """It knows the token, too, but is not the one that the entry is about."""
    register(home, fake, cluster="127.0.0.1:1", id="0" * 32)
    result = run("release", "--all", "--address", "127.0.0.1:1")
    assert result.returncode == 5 and "there is no relay" in result.stderr
    assert {path for _, path, _ in fake.calls} == {"/v1/challenge"}


def test_no_relay_goes_without(fake, home):
    register(home, fake, cluster="127.0.0.1:1")
    fake.pauses = [pause("square")]
    assert run("list", "--address", "127.0.0.1:1").returncode == 0
    fake.calls.clear()
    result = run("list", "--no-relay", "--address", "127.0.0.1:1", env={"RAYDBG_RELAY": fake.address})
    assert result.returncode == 5 and not fake.calls


def test_a_found_relay_that_hangs_is_passed_over(fake, home):
    register(home, fake, cluster="127.0.0.1:1")
    fake.slow = 60
    result = run("list", "--address", "127.0.0.1:1")
    assert "does not answer: going on without it" in result.stderr and result.returncode == 5


def test_a_found_relay_that_is_slow_is_used(fake, home):
    register(home, fake, cluster="127.0.0.1:1")
    fake.pauses = [pause("square")]
    fake.slow = 1.5
    result = run("list", "--address", "127.0.0.1:1")
    assert result.returncode == 0 and "square" in result.stdout and "without" not in result.stderr, result


def test_the_environment_names_a_relay(fake):
    fake.pauses = [pause("square")]
    assert f"relay {fake.address}" in run("list", env={"RAYDBG_RELAY": fake.address}).stdout


NOT_NEEDED = ["ray://head:10001", "local", "redis://head:6379", "nonsense", "http://", "a" * 600]


@pytest.mark.parametrize("address", NOT_NEEDED, ids=lambda address: address[:20])
@pytest.mark.parametrize("named", ["--relay", "RAYDBG_RELAY"])
def test_an_address_that_is_not_needed_is_not_judged(adapter, fake, named, address):
    """A named relay knows its cluster: RAY_ADDRESS, which is for the job's driver, does not matter."""
    fake.pauses = [pause("square")]
    option = ["--relay", fake.address] if named == "--relay" else []
    env = {"RAY_ADDRESS": address, "RAYDBG_RELAY": "" if option else fake.address}
    done = run("list", *option, env=env)
    assert done.returncode == 0 and "square" in done.stdout and not done.stderr, done
    done = run("attach", "square", *option, "-e", "p x", env=env)
    assert done.returncode == 0 and "app.py" in done.stdout, done
    done = run("debug", *option, env=env, input="q\n")
    assert done.returncode == 0 and "square" in done.stdout, done
    run("memory", *option, env=env)  # this relay does not know what is in the object stores
    assert fake.calls[-1][1].startswith("/v1/objects"), fake.calls[-1]
    assert run("list", *option, "--address", address, env=env).returncode == 2  # it is this command's own


def test_a_relay_that_does_not_know_the_address_is_not_asked(fake, home):
    """Of several relays RAY_ADDRESS chooses the one that is meant: here it is needed, and so it is judged."""
    register(home, fake)
    done = run("list", env={"RAY_ADDRESS": "ray://head:10001"})
    assert done.returncode == 2 and "RAY_ADDRESS" in done.stderr and "Ray Client" in done.stderr, done
    assert run("list", "--no-relay", env={"RAY_ADDRESS": "local", "RAYDBG_RELAY": fake.address}).returncode == 2
    assert not fake.calls


# In a process namespace: the raylets of two clusters, then the arguments as a command.
BESIDE_TWO_CLUSTERS = """
for port in 1 2; do
    (exec -a raylet sh -c 'sleep 600; :' --gcs-address=127.0.0.1:$port) &
done
until "$1" list --no-relay 2>&1 | grep -q 'raylets of 2 Ray clusters'; do :; done
"$@"
"""


@pytest.mark.parametrize("address", ["auto", ""])
def test_two_clusters_on_this_machine_do_not_matter_to_a_named_relay(fake, home, address):
    fake.pauses = [pause("square")]
    user = [] if os.getuid() == 0 else ["-r"]
    done = subprocess.run(["unshare", *user, "-p", "-f", "--mount-proc", "--kill-child", "bash", "-c", BESIDE_TWO_CLUSTERS, "bash",
                           raydbg_path(), "list", "--relay", fake.address], capture_output=True, text=True, timeout=limit(),
                          env={**os.environ, **sanitizers.ENV, "RAYDBG_TOKEN": TOKEN, "RAY_ADDRESS": address, "RAY_TMPDIR": str(home)})
    assert done.returncode == 0 and "square" in done.stdout, done


# --- raydbg release and hold ---


def test_release_one(fake):
    fake.pauses = [pause("square", "c2668a" * 8)]
    result = run("release", "square", "--relay", fake.address)
    assert result.returncode == 0 and "square (c2668a)" in result.stdout and "goes on" in result.stdout
    assert fake.calls[-1][:2] == ("POST", "/v1/pauses/square/release")


def test_hold_and_json(fake):
    fake.pauses = [pause("square", **HELD)]
    result = run("hold", "square", "--relay", fake.address, "--format", "json")
    assert json.loads(result.stdout)[0]["location"] == HELD["location"]
    assert fake.calls[-1][:2] == ("POST", "/v1/pauses/square/hold")


def test_a_task_is_encoded(fake):
    run("release", "a/b c@\u00e9?", "--relay", fake.address)
    assert fake.calls[-1][1] == "/v1/pauses/a%2Fb%20c%40%C3%A9%3F/release"


def test_release_all_releases_what_is_held(fake):
    idle = {**HELD, "state": "idle"}  # its task has ended, its debugger is held
    fake.pauses = [pause("square", "a1" * 24), pause("boom", "c3" * 24, **HELD), pause("bang", "d4" * 24, **HELD),
                   pause("over", "e5" * 24, **idle)]
    result = run("release", "--all", "--relay", fake.address)
    assert result.returncode == 0, result.stderr
    posts = [path for method, path, _ in fake.calls if method == "POST"]
    assert sorted(posts) == [f"/v1/pauses/{task * 24}/release" for task in ("c3", "d4", "e5")]


def test_a_release_that_takes_long_holds_up_no_other(fake):
    """Each is answered when its task goes on. Told in the order that was asked for; the first failure gives the exit code."""
    fake.pauses = [pause(f"task{number:02}", f"{number:02}" * 24, **HELD) for number in range(40)]
    fake.answers[f"/v1/pauses/{'03' * 24}/release"] = 504, {"error": {"what": "it is not known", "why": "", "hint": ""}}
    fake.answers[f"/v1/pauses/{'05' * 24}/release"] = 403, {"error": {"what": "not by you", "why": "", "hint": ""}}
    fake.together = 16
    result = run("release", "--all", "--relay", fake.address)
    assert result.returncode == 1 and "it is not known" in result.stderr and "not by you" in result.stderr, result.stderr
    said = [line.split()[0] for line in result.stdout.splitlines()]
    assert said == [f"task{number:02}" for number in range(40) if number not in (3, 5)], result.stdout


def test_release_all_of_nothing(fake):
    result = run("release", "--all", "--relay", fake.address)
    assert result.returncode == 0 and "holds no task" in result.stderr


@pytest.mark.parametrize("status, code", [(404, 3), (403, 4), (409, 1)])
def test_the_relays_no(fake, status, code):
    body = {"error": {"what": "it cannot be", "why": "for a reason", "hint": "do something"}}
    fake.answers["/v1/pauses/square/release"] = status, body
    result = run("release", "square", "--relay", fake.address)
    assert result.returncode == code
    assert all(word in result.stderr for word in body["error"].values())


@pytest.mark.parametrize("arguments", [["release"], ["release", "--all", "x"], ["hold"], ["hold", "--all"],
                                       ["release", "x", "--format", "xml"], ["release", "x", "--relay", "http://h:1"],
                                       ["list", "--relay", "a", "--no-relay"],
                                       ["list", "--relay", "a", "--relay-fingerprint", "SHA256:12"],
                                       ["list", "--relay", "a", "--relay-cert", "x"]])
def test_wrong_usage(home, arguments):
    assert run(*arguments).returncode == 2
