"""Processes that dial a relay with TLS, as those of other nodes do. The agent and pydevd are real, without Ray."""

import json
import os
import resource
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from agent_by_hand import ByHand, secure_context
from agent_process import KEY_ID, PROGRAM
from agent_relay import WORK, run_agent, start  # noqa: F401
from certificates import Authority, fingerprint
from relay_under_test import raydbg_path
from waits import limit, wait_until


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def start_tls(start, authority):
    def run(*arguments, **options):
        certificate, key = authority.issue("relay")
        relay = start("--tls-cert", certificate, "--tls-key", key, *arguments,
                      tls=ssl.create_default_context(cafile=authority.ca), **options)
        relay.certificate = certificate
        relay.fingerprint = "SHA256:" + fingerprint(certificate).replace(":", "").lower()
        return relay
    return run


@pytest.fixture
def relay(start_tls):
    return start_tls()


def terminator_of(relay):
    """The pids of the process that has the relay's TLS connections: none or one."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if words.startswith(f"raydbg-tls {relay.certificate}".encode()):
            pids.append(int(pid))
    return pids


def refusals(relay):
    return [entry["detail"] for entry in relay.audit() if entry["action"] == "refused"]


def go_on(relay, pid):
    assert relay.http("POST", f"/v1/pauses/{pid}@127.0.0.1/continue").status == 200


# --- debugged ---

def test_the_relay_says_where_to_dial(relay):
    assert relay.breakpoints()["processes"]["dial"] == {"address": "%s:%d" % relay.address, "fingerprint": relay.fingerprint}


def test_a_breakpoint_stops_steps_and_goes_on(relay, run_agent):
    program = run_agent(relay, fingerprint=relay.fingerprint)
    relay.processes(connected=1, debugged=0)
    number = relay.set()["id"]
    relay.processes(connected=1, debugged=1)
    program.send("work 2")
    pause = relay.stop()[0]
    assert (pause["debugger"], pause["state"], pause["pid"], pause["location"]) == ("pydevd", "held", program.pid, WORK)
    client = relay.attach(program, "websocket")
    thread = client.stopped(reason="breakpoint")["threadId"]
    frame = client.stack(thread)[0]
    assert (frame["name"], frame["line"]) == ("work", WORK["line"])
    assert client.evaluate("n * 10", frame["id"]) == "20"
    assert client.step("next", thread)["reason"] == "step"
    client.resume(thread)
    assert program.wait_for("RESULT") == "5"
    client.disconnect(terminateDebuggee=False)
    assert relay.http("POST", f"/v1/breakpoints/{number}/clear").status == 200
    relay.processes(connected=1, debugged=0)
    wait_until(lambda: program.ask("active", "ACTIVE") == "False None", "pydevd is taken out")


def test_large_values_pass_both_ways(relay, run_agent):
    relay.set()
    program = run_agent(relay, fingerprint=relay.fingerprint)
    program.send("work 2")
    relay.stop()
    client = relay.attach(program, "websocket")
    frame = client.stack(client.stopped()["threadId"])[0]["id"]
    text = "0123456789" * 30_000
    asked = [client.send("evaluate", {"expression": f"'{text}{n}' * 4", "frameId": frame, "context": "clipboard"})
             for n in range(8)]
    for n, seq in enumerate(asked):
        assert client.check(client.response(seq))["result"].strip("'") == f"{text}{n}" * 4
    go_on(relay, program.pid)
    assert program.wait_for("RESULT") == "5"


def test_a_killed_relay_leaves_the_task_stopped(relay, run_agent):
    """The next relay has its connection, its location, and goes on with it."""
    relay.set()
    program = run_agent(relay, fingerprint=relay.fingerprint)
    program.send("work 2")
    relay.stop()
    relay.kill9()
    assert terminator_of(relay), "it has the task's connection"
    relay.restart()
    pause = relay.stop()[0]
    assert (pause["pid"], pause["state"], pause["location"]) == (program.pid, "held", WORK)
    relay.processes(connected=1, debugged=1)  # its agent has dialled again
    assert not program.has("RESULT")
    client = relay.attach(program, "websocket")
    thread = client.stopped()["threadId"]
    assert client.evaluate("n * 10", client.stack(thread)[0]["id"]) == "20"
    assert client.step("next", thread)["reason"] == "step"
    client.resume(thread)
    assert program.wait_for("RESULT") == "5"
    program.send("work 3")  # the breakpoint is still there
    relay.stop()
    go_on(relay, program.pid)
    assert program.wait_for("RESULT") == "7"


def test_nothing_is_left(start_tls, run_agent):
    relay = start_tls()
    relay.set()
    program = run_agent(relay, fingerprint=relay.fingerprint)
    program.send("work 2")
    relay.stop()
    assert len(terminator_of(relay)) == 1
    relay.kill9()
    relay.end_keeper()
    assert program.wait_for("RESULT") == "5"  # with both gone nobody holds it
    wait_until(lambda: not terminator_of(relay), "the process of the TLS connections ends")
    program.work(3)


def test_a_killed_tls_process_is_replaced(relay, run_agent):
    """Its tasks go on, and their agents dial again."""
    relay.set()
    program = run_agent(relay, fingerprint=relay.fingerprint)
    program.send("work 2")
    relay.stop()
    killed = terminator_of(relay)
    os.kill(killed[0], 9)
    assert program.wait_for("RESULT") == "5"
    relay.processes(connected=1, debugged=1)
    assert len(terminator_of(relay)) == 1 and terminator_of(relay) != killed
    assert "raydbg-tls has died" in relay.stderr()
    program.send("work 3")
    relay.stop()
    go_on(relay, program.pid)
    assert program.wait_for("RESULT") == "7"


def test_without_a_free_descriptor_an_agent_is_refused(relay):
    used = {int(name) for name in os.listdir(f"/proc/{relay.pid}/fd")}
    before = resource.prlimit(relay.pid, resource.RLIMIT_NOFILE)
    first_free = min(set(range(len(used) + 1)) - used)
    resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (first_free + 1, before[1]))  # one: the connection itself
    with pytest.raises((OSError, EOFError)):
        ByHand(relay, tls=True)
    resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, before)
    wait_until(lambda: "an agent's TLS connection cannot be served" in refusals(relay), lambda: str(refusals(relay)))
    agent = ByHand(relay, tls=True)
    agent.prove()
    assert agent.hear() == {"verb": "sleep"}


def test_raydbg_run_uses_it(relay, authority):
    """The program and its directory know nothing but the certificate's fingerprint and a key."""
    program = ("import sys, time\nwhile sys.gettrace() is None: time.sleep(0.05)\n"  # the relay's word may come too late
               f"sys.path.insert(0, {str(PROGRAM.parent)!r}); import agent_program; print(agent_program.work(4))")
    process = subprocess.Popen([raydbg_path(), "run", "--relay-ca", authority.ca, "--break", f"{PROGRAM}:{WORK['line']}", "--",
                                sys.executable, "-c", program],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=relay.cli_env())
    pause = relay.stop()[0]
    assert pause["location"] == WORK
    go_on(relay, pause["pid"])
    out, errors = process.communicate(timeout=limit())
    assert (process.returncode, out) == (0, "9\n"), errors


# --- the TLS terminator ---

def test_the_proof_names_the_certificate_and_the_address(relay):
    """What was proven on one connection, or for loopback, is nothing on another."""
    first = ByHand(relay, tls=True)
    proof = first.proof()
    second = ByHand(relay, tls=True)
    second.hear()
    second.prove(proof=proof)
    assert second.is_closed()
    first.prove(proof=proof)
    assert first.hear() == {"verb": "sleep"}
    third = ByHand(relay, tls=True)
    third.fingerprint = None
    with pytest.raises(AssertionError):  # the relay's own proof is not for loopback
        third.prove()
    assert refusals(relay) == ["an agent without its key"]


def test_an_agent_with_another_key_is_refused(relay):
    agent = ByHand(relay, tls=True)
    agent.prove(token="another-token-of-the-users")
    assert agent.is_closed()
    assert refusals(relay) == ["an agent without its key"]


def test_a_token_is_good_once(relay):
    relay.set()
    agent = ByHand(relay, tls=True)
    agent.prove()
    word = agent.hear()
    first = ByHand(relay, f"raydbg pydevd 1 {word['token']}", tls=True)
    assert first.file.readline().startswith(b"Content-Length: ")
    assert ByHand(relay, f"raydbg pydevd 1 {word['token']}", tls=True).is_closed()
    assert refusals(relay) == ["a pydevd whose token is none, or was used"]
    assert word["token"] not in (relay.state / "s/raydbg/audit.log").read_text() + relay.stderr()


def test_without_tls_an_agent_is_refused(relay):
    answer = ByHand(relay).file.read()
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert refusals(relay) == ["this port speaks TLS, and these bytes are plain"]


def test_without_the_protocols_name_an_agent_is_a_bad_request(relay):
    """TLS of any client: HTTP, which an agent's line is not."""
    sock = secure_context(()).wrap_socket(socket.create_connection(relay.address, timeout=limit()))
    sock.sendall(f"raydbg agent 1 {KEY_ID} {'ab' * 32}\r\n\r\n".encode())
    assert b"nonce" not in sock.recv(65536)
    assert relay.breakpoints()["processes"]["connected"] == 0


@pytest.mark.parametrize("line", ["x" * 10_000, "\0" * 10_000, "GET /v1/pauses HTTP/1.1\r\n\r\n", "Content-Length: 2\r\n\r\n{}",
                                  "raydbg " + "x" * 10_000, "raydbgs"], ids=lambda line: line[:8])
def test_what_is_no_agents_line_is_refused(relay, line):
    agent = ByHand(relay, line, tls=True)
    answer = agent.file.read()
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]["what"] == "these bytes do not begin with an agent's line"
    assert refusals(relay) == ["these bytes do not begin with an agent's line"]


@pytest.mark.parametrize("line", ["raydbg agent 2 x y", "raydbg agent 1 x y", "raydbg pydevd 1"])
def test_another_first_line_is_refused(relay, line):
    assert ByHand(relay, line, tls=True).is_closed()
    assert refusals(relay) == ["a first line of another version, or none"]


@pytest.mark.parametrize("after", [b"nonsense", b"[]", b"{}", b"{\"proof\":7}", b"x" * 70000])
def test_nonsense_instead_of_a_proof_is_refused(relay, after):
    agent = ByHand(relay, tls=True)
    agent.hear()
    agent.write(after)
    assert agent.is_closed()
    assert len(refusals(relay)) == 1


def half_a_hello(sock):
    """The first half of a ClientHello that names raydbg."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = secure_context().wrap_bio(incoming, outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    hello = outgoing.read()
    sock.sendall(hello[:len(hello) // 2])
    return sock


def half_a_line(sock):
    sock = secure_context().wrap_socket(sock)
    sock.sendall(b"raydbg agent 1 ")
    return sock


def no_word(sock):
    return secure_context().wrap_socket(sock)


def is_left(sock):
    """Closed by the relay, maybe with a reason."""
    try:
        while sock.recv(65536):
            continue
    except (ConnectionResetError, ssl.SSLError):
        pass
    return True


@pytest.mark.parametrize("begin", [half_a_hello, half_a_line, no_word])
def test_what_never_ends_is_closed_in_time(start_tls, clock, begin):
    relay = start_tls(env=clock.env)
    begun = clock.now()
    sock = begin(socket.create_connection(relay.address, timeout=limit()))
    wait_until(lambda: relay.http("GET", "/healthz", token="").status == 200, "it serves others")
    clock.pass_time(12)
    assert is_left(sock) and clock.now() - begun > 9
    assert refusals(relay) == ["the request took too long"]


@pytest.mark.parametrize("begin", [half_a_hello, half_a_line, no_word])
def test_who_leaves_in_the_middle_leaves_nothing(relay, begin):
    begin(socket.create_connection(relay.address, timeout=limit())).close()
    if begin is not half_a_hello:
        wait_until(lambda: refusals(relay) == ["an agent that dialled with TLS and said nothing"], lambda: str(refusals(relay)))
    agent = ByHand(relay, tls=True)
    agent.prove()
    assert agent.hear() == {"verb": "sleep"}


def test_so_many_of_an_address(start_tls):
    relay = start_tls("--max-per-address", "3")
    kept = [no_word(socket.create_connection(relay.address, timeout=limit())) for _ in range(3)]
    with pytest.raises(OSError):
        no_word(socket.create_connection(relay.address, timeout=limit())).recv(1)
    assert refusals(relay) == ["too many connections of this address wait to be authenticated"]
    for sock in kept:
        sock.close()


def test_where_clients_must_show_a_certificate_agents_are_refused(start_tls, authority):
    relay = start_tls("--tls-client-ca", authority.ca)
    assert not terminator_of(relay)
    try:
        assert ByHand(relay, tls=True).hear() is None
    except OSError:
        pass  # the handshake fails, or what follows it


def test_a_relay_without_a_token_takes_no_agents(start_tls):
    relay = start_tls("--token", "none")
    assert ByHand(relay, tls=True).is_closed()
    assert "no token" in refusals(relay)[0]
