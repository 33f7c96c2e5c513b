"""The agent and its pydevd with a relay that listens with TLS: to whom they speak, and that a connection takes what pydevd asks of it.

tests/conversations/test_run_tls.py has the real relay.
"""

import concurrent.futures
import socket
import ssl
import threading

import pytest
from agent_process import KEY_ID, PROGRAM, TOKEN, AgentProcess, agent_key, line_of
from certificates import Authority
from conftest import find_python
from debugpy_session import debugpy_directory
from scripted_relay import Relay
from waits import limit, settle, wait_until
from worker_agent import fall_asleep, put_to_sleep

PAIRS = [("3.9", "1.8.0"), ("3.10", "1.8.22"), ("3.11", "1.8.22"), ("3.12", "1.8.22"), ("3.13", "1.8.22")]
LONG = 1000  # seconds: what waits for so long fails
WORD = "ef" * 32
WITHOUT = "raydbg: this process begins without its breakpoints"


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def relay(authority):
    scripted = Relay(*authority.issue("relay", hosts=["another.host"]))
    yield scripted
    scripted.close()


@pytest.fixture
def start(relay):
    """start(): AgentProcess, in a thread: it comes back when its agent has had its first word."""
    started = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        def run(python=None, path="", **options):
            options = {"fingerprint": relay.fingerprint, **options}
            started.append(pool.submit(AgentProcess, relay.address, TOKEN, python or find_python("3.11"), path, **options))
            return started[-1]
        yield run
        for future in started:
            future.result(limit()).kill()


@pytest.fixture(params=PAIRS, ids=lambda pair: f"py{pair[0]}-debugpy{pair[1]}")
def debugged(request, start, relay):
    """An agent on each Python, with its debugpy, that has said hello."""
    python, version = request.param
    future = start(find_python(python), debugpy_directory(python, version), word=60)
    agent = relay.accept()
    agent.facts = agent.hello()
    return agent, future


def wake(relay, agent, breakpoints=None):
    """Has the agent start pydevd; the configured DAP client."""
    agent.say(verb="debug", token=WORD, hold=10)
    pydevd = relay.accept()
    assert pydevd.line == ["raydbg", "pydevd", "1", WORD]
    client = pydevd.dap()
    client.attach({"justMyCode": False, "stopAllThreadsOnSuspend": False}, breakpoints, filters=())
    assert agent.hear() == {"event": "debugging"}
    return client


def test_pydevds_connection_may_take_longer_than_a_word(debugged, relay):
    """Of the relay of a busy machine, or a distant one. Nothing of the user's waits for it."""
    agent, future = debugged
    fall_asleep(agent)
    program = future.result(limit())
    program.do("agent.WORD_S = 0.1")
    agent.say(verb="debug", token=WORD, hold=0)
    plain = relay.accept_plain()
    settle(0.5)
    assert relay.tls.wrap_socket(plain, server_side=True).recv(100) == f"raydbg pydevd 1 {WORD}\n".encode()


# --- to whom it speaks ---

def left_without_a_word(sock):
    """Closed by the agent, maybe with an alert, and with nothing inside TLS."""
    try:
        return sock.recv(1) == b""
    except (ConnectionResetError, ssl.SSLError):
        return True


def stop_in(client, program):
    """The thread and the frame in which the program stops."""
    program.send("work 4")
    thread = client.stopped(reason="breakpoint")["threadId"]
    return thread, client.stack(thread)[0]["id"]


def test_another_certificate_gets_nothing(start, relay, authority):
    """A process in between has one of its own, if only of the same authority."""
    future = start(word=LONG, fingerprint="SHA256:" + "0" * 64)
    assert left_without_a_word(relay.accept_secure())
    future.result(limit()).work(3)


@pytest.mark.parametrize("fingerprint", ["SHA256:", "sha256", "é"])
def test_what_is_no_fingerprint_is_no_certificates(start, relay, fingerprint):
    future = start(word=LONG, fingerprint=fingerprint)
    assert left_without_a_word(relay.accept_secure())
    future.result(limit()).work(3)


def test_a_port_without_tls_gets_a_client_hello_only(start, relay):
    future = start(word=LONG)
    sock = relay.accept_plain()
    assert sock.recv(65536)[:1] == b"\x16"
    sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert left_without_a_word(sock)
    future.result(limit()).work(3)


def test_a_proof_that_does_not_name_the_certificate_is_none(start, relay):
    """So a forwarder with a certificate of its own could not use the relay's proofs, either."""
    future = start(word=LONG)
    agent = relay.accept()
    assert agent.line[:4] == ["raydbg", "agent", "1", KEY_ID]
    agent.fingerprint = "SHA256:" + "0" * 64
    agent.prove()
    assert left_without_a_word(agent.sock)
    future.result(limit()).work(3)


def test_a_proof_for_loopback_is_none_over_tls(start, relay):
    future = start(word=LONG)
    agent = relay.accept()
    agent.fingerprint = None
    agent.prove()
    assert left_without_a_word(agent.sock)
    future.result(limit()).work(3)


def test_a_relay_without_the_key_gets_nothing(start, relay):
    future = start(word=LONG)
    agent = relay.accept()
    agent.prove(key=agent_key("another token"))
    assert left_without_a_word(agent.sock)
    future.result(limit()).work(3)


@pytest.mark.parametrize("words", [b"", b"{}\n", b"nonsense\n", b"x" * 100000])
def test_a_relay_that_talks_nonsense_is_left(start, relay, words):
    future = start(word=LONG)
    agent = relay.accept()
    agent.sock.sendall(words)
    agent.sock.shutdown(socket.SHUT_WR)
    future.result(limit()).work(3)
    assert left_without_a_word(agent.sock)


@pytest.mark.parametrize("secure", [False, True], ids=["no handshake", "no word"])
def test_the_relay_says_nothing(start, relay, secure):
    future = start()
    if secure:
        relay.accept()
    program = future.result(limit())
    assert program.started >= 0.9 and any(WITHOUT in line for line in program.lines), program.lines
    program.work(3)


# --- asleep, and debugged ---

def test_asleep_it_is_one_thread(debugged):
    agent, future = debugged
    fall_asleep(agent)
    program = future.result(limit())
    assert program.ask("threads", "THREADS") == "MainThread raydbg-agent"
    assert program.ask("active", "ACTIVE") == "False None"


def test_a_breakpoint_stops_steps_and_goes_on(debugged, relay):
    agent, future = debugged
    fall_asleep(agent)
    program = future.result(limit())
    for number in (1, 2):  # it can be woken again
        client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
        program.send(f"work {number}")
        thread = client.stopped(reason="breakpoint")["threadId"]
        frame = client.stack(thread)[0]
        assert (frame["name"], frame["line"]) == ("work", line_of("work"))
        if number == 1:
            assert client.step("next", thread)["reason"] == "step"
            assert client.evaluate("doubled", client.stack(thread)[0]["id"]) == "2"
        client.resume(thread)
        assert program.wait_for("RESULT") == str(2 * number + 1)
        put_to_sleep(agent, client)


def test_a_relay_that_dies_frees_the_program(debugged, relay):
    agent, future = debugged
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
    program = future.result(limit())
    program.send("work 4")
    client.stopped()
    client.transport.close()
    assert program.wait_for("RESULT") == "9"


def test_both_directions_at_once(debugged, relay):
    """pydevd answers on one thread while it reads on another: large values out, long expressions in."""
    agent, future = debugged
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
    program = future.result(limit())
    program.send("work 4")
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]["id"]
    digits = str(7 ** 5000)  # 4,226 of them
    asked = [client.send("evaluate", {"expression": f"'{digits * 25}{n}' * 10", "frameId": frame, "context": "clipboard"})
             for n in range(20)]
    for n, seq in enumerate(asked):
        value = client.response(seq)["body"]["result"]
        assert value.strip("'") == f"{digits * 25}{n}" * 10
    client.resume(thread)
    assert program.wait_for("RESULT") == "9"


def test_a_relay_that_does_not_read_holds_only_what_speaks_to_it(debugged, relay):
    """The kernel's buffers are full: pydevd's reader must still get what comes, and the program its CPU."""
    agent, future = debugged
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
    program = future.result(limit())
    reading = threading.Event()
    read = client.transport.read
    client.transport.read = lambda size: reading.wait() and read(size)  # after the read that is under way
    # Its value is None: debugpy 1.8.0 prints that of an evaluation without a frame.
    large = "(lambda it: it.writer.add_command(it.cmd_factory.make_io_message('x' * 50_000_000, 1)))"
    client.send("evaluate", {"expression": f"{large}(__import__('pydevd').get_global_debugger())", "context": "repl"})
    client.send("evaluate", {"expression": "__import__('sys').modules['__main__'].__dict__.update(heard=1)", "context": "repl"})
    wait_until(lambda: program.ask("heard", "HEARD") == "1", "pydevd evaluates what comes")
    program.ask("spin 10", "SPUN")
    reading.set()
    program.send("work 4")
    client.resume(client.stopped()["threadId"])
    assert program.wait_for("RESULT") == "9"


FORKS_IN_A_CALL = """
import os, threading, time
agent_has_it, forks, order = threading.Event(), threading.Event(), []

def call():
    with agent.openssl:
        agent_has_it.set()
        forks.wait()
        time.sleep(0.2)
        order.append("called")

caller = threading.Thread(target=call)
caller.start()
agent_has_it.wait()
forks.set()
child = os.fork()
if child == 0:
    os._exit(0 if agent.openssl.acquire(timeout=limit) else 1)  # its own agent may be in a call, too
order.append("forked")
caller.join()
with agent.openssl:
    answer = order, os.waitpid(child, 0)[1]
"""


def test_no_fork_is_made_in_the_midst_of_a_call(debugged, relay):
    """In the child, a lock of OpenSSL's that another thread has would never be released: its agent would have no connection."""
    agent, future = debugged
    wake(relay, agent, {})
    assert future.result(limit()).do(f"limit = {limit()}{FORKS_IN_A_CALL}") == "(['called', 'forked'], 0)"


def test_a_forked_child_leaves_its_parents_connections(debugged, relay):
    agent, future = debugged
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
    program = future.result(limit())
    program.send("fork 3")
    child = relay.accept()
    hello = child.hello()
    assert hello["forked"] and hello["pid"] != program.pid and not hello["debugging"]
    child.say(verb="sleep")
    assert program.wait_for("FORKED") == "7"
    thread, frame = stop_in(client, program)
    assert client.evaluate("n * 10", frame) == "40"
    client.resume(thread)
    assert program.wait_for("RESULT") == "9"
    fall_asleep(agent)


def test_a_vanished_relay_is_left_by_the_kernel(debugged, relay):
    """What the agent has set on its sockets: 25 s for its own, 15 min for that of stopped threads."""
    agent, future = debugged
    client = wake(relay, agent, {str(PROGRAM): [line_of("work")]})
    thread, frame = stop_in(client, future.result(limit()))
    ask = ("[s.getsockopt(6, 18) for s in (__import__('sys').modules['raydbg_agent'].agent.sock, "
           "__import__('pydevd').get_global_debugger().writer.sock)]")
    assert client.evaluate(ask, frame) == "[25000, 900000]"
    client.resume(thread)
