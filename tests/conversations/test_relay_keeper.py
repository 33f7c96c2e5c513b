"""What outlives the relay: after kill -9, an upgrade or SIGTERM the adapter's connection is the same one, still stopped."""

import contextlib
import os
import random
import re
import signal
import socket
import threading

import pytest
from dap_client import DapError
from fake_adapter import PROGRAM, FakeAdapter
from kernel_queues import unread, unread_by_peer, wait_still
from relay_process import ClientProcess, RelayProcess
from waits import Gate, hard, limit, settle, wait_until

ROUNDS = 20


def assert_unharmed(*adapters):
    """Nobody has connected again, let go, resumed, or said anything that changes the task."""
    for adapter in adapters:
        with hard():
            assert len(adapter.connections) == 1 and not adapter.connection().ended.is_set()
            assert not set(adapter.commands()) & {"continue", "disconnect", "pause", "terminate"}, adapter.commands()
            assert adapter.commands().count("attach") == 1 and adapter.commands().count("initialize") == 1


def assert_stopped_at(client, line, thread=1):
    assert client.stopped()["threadId"] == thread
    assert client.stack(thread)[0]["line"] == line


def test_the_relay_is_killed_again_and_again(adapter, hub):
    first = hub.join()
    first.stopped()
    first.step("next", 1)
    keepers = hub.kept_pids()
    assert len(keepers) == 1
    for number in range(ROUNDS):
        hub.kill9()
        first.wait_end()
        hub.restart()
        pause = hub.pause()
        with hard():
            assert pause and pause["held"] is True and pause["clients"] == 0, f"round {number}: {pause}"
        first = hub.join("tcp" if number % 2 else "websocket", f"client {number}")
        assert_stopped_at(first, 9)
        assert_unharmed(adapter)
    assert hub.kept_pids() == keepers
    assert first.step("next", 1) and first.stack(1)[0]["line"] == 10


def test_the_client_is_killed_again_and_again(adapter, hub):
    for number in range(ROUNDS):
        client = ClientProcess(hub, "tcp" if number % 2 else "websocket")
        assert client.stop["threadId"] == 1
        client.kill9()
        wait_until(lambda: hub.pause()["clients"] == 0, "the relay notices")
        assert_unharmed(adapter)
    assert_stopped_at(hub.join(), 8)


def test_relay_and_client_are_killed_together(adapter, hub):
    for _ in range(5):
        client = ClientProcess(hub)
        hub.kill9()
        client.kill9()
        hub.restart()
    assert_stopped_at(hub.join(), 8)
    assert_unharmed(adapter)


def test_many_pauses_are_taken_over(run_relay):
    adapters = [FakeAdapter() for _ in range(20)]
    try:
        hub = run_relay("--allow-connect")
        for number, adapter in enumerate(adapters):
            adapter.line = 100 + number
            hub.join(adapter=adapter).stopped()
        hub.kill9()
        hub.restart()
        with hard():
            assert sum(p["held"] for p in hub.pauses()) == len(adapters)
        for number, adapter in enumerate(adapters):
            assert_stopped_at(hub.join("websocket", adapter=adapter), 100 + number)
        assert_unharmed(*adapters)
    finally:
        for adapter in adapters:
            adapter.close()


def test_killed_with_a_request_pending(adapter, hub):
    """The answer that comes after the takeover is nobody's; later ones find who asked."""
    asked = []
    first = hub.join()
    first.stopped()
    adapter.on["scopes"] = lambda c, request: asked.append((c, request))
    first.strict = False
    first.send("scopes", {"frameId": 3})
    adapter.wait_request("scopes")
    hub.kill9()
    hub.restart()
    adapter.on["scopes"] = adapter.on_scopes
    second = hub.join()
    second.stopped()
    adapter.on_scopes(*asked[0])
    assert second.locals(3)["x"]["value"] == "3"
    assert second.stack(1)[0]["line"] == 8
    second.verify()
    assert_unharmed(adapter)


GIVE_UP = "None and 'raydbg: give up'"  # relay/inject/inject.h


def test_a_goodbye_waits_for_what_a_dead_relay_has_asked(adapter, hub):
    """An evaluate that is answered after the goodbye ends the real adapter, and nobody can attach to that worker again."""
    asked = []
    first = hub.join()
    first.stopped()
    adapter.on["evaluate"] = lambda c, request: asked.append((c, request))
    first.strict = False
    first.send("evaluate", {"expression": "slow()", "frameId": 3})
    wait_until(lambda: asked, "the adapter is asked")
    hub.kill9()
    hub.restart()
    second = hub.join()
    assert_stopped_at(second, 8)
    assert [request["arguments"]["expression"] for _, request in asked] == ["slow()", GIVE_UP]
    assert_unharmed(adapter)
    released = second.send("raydbg/release")
    wait_until(lambda: "release" in [line["action"] for line in hub.audit()], "the relay releases it")
    settle()
    assert "disconnect" not in adapter.commands()

    def is_left():
        while asked:
            adapter.on_evaluate(*asked.pop(0))
        return "disconnect" in adapter.commands()
    wait_until(is_left, "it is left once everything is answered")
    assert second.response(released)["success"]


def test_killed_in_the_middle_of_a_message(adapter, hub):
    """Half of an answer was read by the relay that died: what follows is still understood, or the loss is said."""
    first = hub.join()
    first.stopped()
    first.strict = False
    sent, relay_dead = [], threading.Event()

    def half(connection, request):
        """Holds the adapter's only writer: another answer in the middle of this one would be no adapter's."""
        body = (b'{"seq":900,"type":"response","request_seq":%d,"success":true,"command":"scopes","body":{"scopes":[]}}'
                % request["seq"])
        data = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        connection.send_raw(data[:60])
        sent.append(connection)
        relay_dead.wait(limit())
        connection.send_raw(data[60:])
    adapter.on["scopes"] = half
    first.send("scopes", {"frameId": 3})
    wait_until(lambda: sent and unread_by_peer(sent[0].sock) == 0, "half an answer is read")
    hub.kill9()
    relay_dead.set()
    hub.restart()
    adapter.on["scopes"] = adapter.on_scopes
    second = hub.join()
    assert_stopped_at(second, 8)
    assert second.locals(3)["x"]["value"] == "3"
    assert_unharmed(adapter)


def test_killed_before_a_slow_keeper_has_answered(adapter, hub):
    """A keeper that a busy machine keeps from answering: what was sent to it is held nevertheless."""
    keeper, = hub.kept_pids()
    os.kill(keeper, signal.SIGSTOP)
    try:
        first = hub.join()
        first.stopped()
        first.step("next", 1)
        assert gauges(hub) == (1, 1)
        hub.kill9()
    finally:
        os.kill(keeper, signal.SIGCONT)
    hub.restart()
    with hard():
        assert hub.pause()["held"] is True, hub.stderr()
    assert_stopped_at(hub.join(), 9)
    assert_unharmed(adapter)
    assert hub.kept_pids() == [keeper]


LARGE = 3 * 1024 * 1024  # two of them are more than the two sockets hold


def stuck(adapter, relay, client, expression):
    """The adapter reads no more, and what the client evaluates leaves only in part. Returns what lets it read again."""
    adapter.on["scopes"] = scopes = Gate(adapter.on_scopes)
    client.strict = False
    client.send("scopes", {"frameId": 3})
    scopes.wait_reached()
    client.send("evaluate", {"expression": "'" + "y" * LARGE + "'", "context": "repl"})
    client.send("evaluate", {"expression": expression, "context": "repl"})
    wait_still(relay, lambda: unread(adapter.connection().sock))  # it is in the socket as far as that takes it
    return scopes


@pytest.mark.parametrize("kills", [1, 3])
def test_killed_with_a_request_half_written(adapter, hub, kills):
    """The next relay writes the rest; so does the one after it, if that is killed, too."""
    first = hub.join()
    first.stopped()
    expression = "'" + "0123456789" * (LARGE // 10) + "'"
    scopes = stuck(adapter, hub, first, expression)
    for number in range(kills):
        hub.kill9()
        if number == 1:  # the adapter takes some of it while no relay runs
            adapter.connection().sock.recv(100_000, socket.MSG_PEEK)
        hub.restart()
        with hard():
            assert hub.pause()["held"] is True, hub.stderr()
    scopes.open()
    wait_until(lambda: expression in [r["arguments"]["expression"] for r in adapter.requests("evaluate")],
               "the whole request is there")
    adapter.on["scopes"] = adapter.on_scopes
    second = hub.join()
    assert_stopped_at(second, 8)
    assert second.locals(3)["x"]["value"] == "3"
    second.step("next", 1)
    assert [r["arguments"]["expression"] for r in adapter.requests("evaluate")].count(expression) == 1
    assert_unharmed(adapter)


@pytest.mark.parametrize("kills", [1, 2])
def test_killed_with_a_continue_behind_a_request_half_written(adapter, hub, kills):
    """To the relay that died the thread runs; the next one sends what has not begun to leave, too."""
    def go_on():
        with contextlib.suppress(OSError):
            hub.post("continue")
    first = hub.join()
    first.stopped()
    expression = "'" + "0123456789" * (LARGE // 10) + "'"
    scopes = stuck(adapter, hub, first, expression)
    going_on = threading.Thread(target=go_on)
    going_on.start()
    wait_until(lambda: hub.pause()["reason"] is None, "the relay sends `continue`")
    for _ in range(kills):
        hub.kill9()
        going_on.join(limit())
        hub.restart()
        with hard():
            assert hub.pause()["held"] is True, hub.stderr()
    scopes.open()
    second = hub.join()
    second.ok("threads")
    assert adapter.commands().count("continue") == 1
    assert [r["arguments"]["expression"] for r in adapter.requests("evaluate")].count(expression) == 1
    assert not second.events("stopped")
    adapter.connection().stop(thread=1)
    assert_stopped_at(second, 8)
    assert len(adapter.connections) == 1


def test_killed_at_any_moment_of_large_requests(adapter, hub):
    """Requests of all sizes, without a stop: wherever the relay is killed, the bytes that the adapter gets are whole."""
    seed = random.Random(7)
    for number in range(8):
        client = hub.join(name=f"client {number}")
        client.stopped()
        client.strict = False
        sender = threading.Thread(target=keep_asking, args=(client, seed.randrange(1 << 30)))
        sender.start()
        settle(0.05 + 0.2 * seed.random())
        hub.kill9()
        sender.join(limit())
        hub.restart()
        with hard():
            assert hub.pause()["held"] is True, f"round {number}: {hub.stderr()}"
        assert not adapter.problems
    assert_stopped_at(hub.join(), 8)
    assert_unharmed(adapter)


def keep_asking(client, seed):
    sizes = random.Random(seed)
    with contextlib.suppress(OSError, DapError):
        while True:
            client.send("evaluate", {"expression": "'" + "x" * int(10 ** sizes.uniform(1, 6.3)) + "'", "context": "repl"})


def test_breakpoints_that_count_since_a_take_over_are_cleared(adapter, hub):
    """They were an observer's when they were set: the next relay knows that they are in the worker."""
    first, second = hub.join(name="first"), hub.join(name="second")
    first.stopped(), second.stopped()
    second.set_breakpoints(PROGRAM, [12])
    second.ok("raydbg/takeOver")
    adapter.wait_request("setBreakpoints")
    hub.kill9()
    hub.restart()
    assert_stopped_at(hub.join(), 8)
    wait_until(lambda: [r["arguments"]["breakpoints"] for r in adapter.requests("setBreakpoints")] == [[{"line": 12}], []],
               lambda: f"it is cleared ({adapter.requests('setBreakpoints')})")
    assert_unharmed(adapter)


def test_a_snapshot_too_large_to_be_read(adapter, hub):
    """What a client says of its sources may be as long as it likes: it costs nobody the pause."""
    client = hub.join()
    client.stopped()
    for number in range(6):
        client.ok("setBreakpoints", {"source": {"path": f"/app/{number}.py", "adapterData": "x" * 3_500_000},
                                     "breakpoints": [{"line": 1}]})
    hub.kill9()
    hub.restart()
    with hard():
        assert hub.pause()["held"] is True, hub.stderr()
    assert_stopped_at(hub.join(), 8)
    cleared = {r["arguments"]["source"]["path"] for r in adapter.requests("setBreakpoints")
               if not r["arguments"]["breakpoints"]}
    assert cleared == {f"/app/{number}.py" for number in range(6)}
    assert_unharmed(adapter)


def cpu(pid):
    """The seconds of processor time that a process has used."""
    return int(open(f"/proc/{pid}/schedstat").read().split()[0]) / 1e9


def test_a_breakpoint_costs_the_same_however_many_there_are(adapter, hub):
    """Each setBreakpoints adds to the snapshot what it changes: the ratio of what one costs, with 2,000 files and 100.

    Two sessions of one relay take turns, so that what runs beside the relay makes both dearer.
    """
    with FakeAdapter() as other:
        many, few = hub.join(), hub.join(adapter=other)

        def cost(client, first, count):
            """In ms of processor time, of one."""
            began = cpu(hub.pid)
            for number in range(first, first + count):
                client.ok("setBreakpoints", {"source": {"path": f"/app/some/where/file_{number}.py"}, "breakpoints": [{"line": 1}]})
            return (cpu(hub.pid) - began) * 1000 / count

        for client, count in ((few, 100), (many, 2000)):
            client.stopped()
            cost(client, 0, count)
        pairs = [(cost(few, 100 + part, 10), cost(many, 2000 + part, 10)) for part in range(0, 100, 10)]
    ratios = sorted(dear / cheap for cheap, dear in pairs)
    print("setBreakpoints: with 2,000 files, times what it costs with 100:", *(f"{ratio:.1f}" for ratio in ratios))
    assert ratios[2] < 4, pairs  # nearly 8 where the whole snapshot is written; what runs beside the relay raises some of them
    hub.kill9()
    hub.restart()
    client = hub.join()
    assert_stopped_at(client, 8)
    wait_until(lambda: len({r["arguments"]["source"]["path"] for r in adapter.requests("setBreakpoints")
                            if not r["arguments"]["breakpoints"]}) == 2100, "all are taken away again")
    assert_unharmed(adapter)


def test_what_happens_while_no_relay_runs_is_seen(adapter, hub):
    first = hub.join()
    first.stopped()
    first.resume(1)
    hub.kill9()
    adapter.connection().event("output", {"category": "stdout", "output": "meanwhile\n"})
    adapter.connection().stop("breakpoint", thread=2)
    hub.restart()
    second = hub.join()
    assert second.stopped()["threadId"] == 2
    second.assert_no_event("stopped", 0.2)


def test_what_the_adapter_said_before_is_known_after(adapter, hub):
    """Capabilities, threads, the stop's reason and text, breakpoints and filters survive."""
    adapter.stop_on_attach = False
    first = hub.client()
    before = first.initialize()
    first.attach(hub.attach_arguments(), breakpoints={PROGRAM: [9]}, filters=["raised"])
    wait_until(lambda: len(first.events("thread")) == 2, "both threads are told")
    adapter.connection().stop("exception", text="ValueError", description="boom")
    first.stopped(reason="exception")
    hub.kill9()
    hub.restart()
    second = hub.client()
    after = second.initialize()
    second.attach(hub.attach_arguments())
    stop = second.stopped()
    assert (stop["reason"], stop["text"]) == ("exception", "ValueError")
    assert {e["body"]["threadId"] for e in second.events("thread")} == {1, 2}
    for event in second.events("capabilities"):
        after |= event["body"]["capabilities"]
    assert after == before
    # The first client is gone with its relay, and so are its breakpoints, once the second one has said its own.
    second.set_breakpoints(PROGRAM, [12])
    last = adapter.requests("setBreakpoints")[-1]["arguments"]
    assert [b["line"] for b in last["breakpoints"]] == [12]


def test_what_the_worker_said_of_itself_is_known_after(adapter, run_relay, clock):
    """How long it holds the task while the network is cut, and which process is its adapter."""
    said = "3.12.1/1.8.22 nodelay,keepalive!PermissionError(1) adapter=4711"
    adapter.on["evaluate"] = lambda c, request: c.respond(request, {"result": said, "variablesReference": 0})
    adapter.on["disconnect"] = lambda connection, request: None
    hub = run_relay(env=clock.env)
    hub.join().stopped()
    hub.kill9()
    hub.restart()
    client = hub.join()
    client.stopped()
    client.strict = False
    client.send("raydbg/release")
    adapter.wait_request("disconnect")
    clock.pass_time(8)
    client.wait_event("terminated")
    outputs = "\n".join(event["body"]["output"] for event in client.events("output"))
    assert "cut for more than 16 s" in outputs and "kill 4711" in outputs, outputs


def test_the_adapter_ends_while_no_relay_runs(adapter, hub):
    hub.join().stopped()
    hub.kill9()
    adapter.connection().die()
    hub.restart()
    wait_until(lambda: not (hub.pause() or {}).get("held"), "it is not held any more")
    assert hub.http("GET", "/healthz", token="").status == 200


def test_a_release_is_not_undone(adapter, hub):
    hub.join().stopped()
    assert hub.post("release").status == 200
    adapter.wait_request("disconnect")
    hub.kill9()
    hub.restart()
    assert not (hub.pause() or {}).get("held")
    assert len(adapter.connections) == 1


def test_upgrade(adapter, hub, run_relay):
    first = hub.join()
    first.stopped()
    for _ in range(3):
        old = hub
        hub = run_relay("--upgrade", state=old.state, listen=old.addresses)
        assert old.wait() == 0
        first.wait_end()
        with hard():
            assert hub.pause()["held"] is True
        first = hub.join("websocket")
        assert_stopped_at(first, 8)
        assert_unharmed(adapter)


def test_a_second_relay_is_refused(adapter, hub, run_relay):
    first = hub.join()
    first.stopped()
    second = run_relay(state=hub.state, ready=False)
    assert second.wait() == 1
    assert re.search(rf"pid {hub.pid}\b", second.stderr()) and "--upgrade" in second.stderr(), second.stderr()
    assert first.step("next", 1)
    assert len(hub.kept_pids()) == 1


def test_upgrade_without_a_relay_just_starts(run_relay):
    hub = run_relay("--upgrade")
    assert hub.http("GET", "/healthz", token="").status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_relay_that_is_told_to_end_lets_nobody_go(adapter, hub, number):
    first, second = hub.join(), hub.join("websocket")
    first.stopped(), second.stopped()
    hub.process.send_signal(number)
    assert hub.wait() == 0
    for client in first, second:
        client.wait_end()
        assert re.search("relay", "\n".join(e["body"]["output"] for e in client.events("output"))), client.text()
    settle()
    assert_unharmed(adapter)
    assert len(hub.kept_pids()) == 1
    hub.restart()
    assert_stopped_at(hub.join(), 8)


def test_nothing_is_left_of_a_relay_that_held_nothing(adapter, hub):
    client = hub.join()
    client.stopped()
    client.disconnect(onDisconnect="continue")
    adapter.wait_request("disconnect")
    assert hub.terminate() == 0
    wait_until(lambda: not hub.kept_pids(), lambda: f"the keeper ends ({hub.kept_pids()})")
    assert not list((hub.state / "s/raydbg").glob("*.sock"))


def gauges(hub):
    """(keeper_up, keeper_held) of /metrics."""
    text = hub.http("GET", "/metrics").body.decode()
    return tuple(int(re.search(rf"^raydbg_keeper_{name} (\d+)$", text, re.MULTILINE)[1]) for name in ("up", "held"))


def kill_keeper(hub):
    """Kills the relay's keeper; returns its pid."""
    pid, = hub.kept_pids()
    os.kill(pid, signal.SIGKILL)
    return pid


def wait_new_keeper(hub, dead):
    def has_come():
        pids = hub.kept_pids()
        return len(pids) == 1 and pids != [dead] and gauges(hub) == (1, 1)

    wait_until(has_come,
               lambda: f"a new keeper holds the pause: {hub.kept_pids()}, not {dead}; {hub.stderr()[-2000:]}")


def test_a_keeper_that_dies_is_replaced(adapter, hub):
    """Again and again, and the relay after it: the pause, its location and its client's breakpoints are kept."""
    client = hub.join(breakpoints={PROGRAM: [9]})
    client.stopped()
    line = 8
    for number in range(ROUNDS):
        wait_new_keeper(hub, kill_keeper(hub))
        if number % 4 < 2:
            assert client.step("next", 1)
            line += 1
        if number % 2:
            hub.kill9()
            client.wait_end()
            hub.restart()
            with hard():
                assert hub.pause()["held"] is True, f"round {number}"
            client = hub.join("tcp" if number % 4 == 1 else "websocket", f"client {number}")
            assert_stopped_at(client, line)
        assert_unharmed(adapter)
    assert [r["arguments"]["breakpoints"] for r in adapter.requests("setBreakpoints")][-1] == []


def test_strangers_who_say_nothing_do_not_block_the_keeper(adapter, hub):
    hub.join().stopped()
    path, = (hub.state / "s/raydbg").glob("keeper-*.sock")
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            sock.connect(str(path))
        hub.kill9()
        hub.restart()
        with hard():
            assert hub.pause()["held"] is True
    assert_stopped_at(hub.join(), 8)
    assert_unharmed(adapter)


def test_many_pauses_outlive_keeper_and_relay(run_relay):
    adapters = [FakeAdapter() for _ in range(20)]
    try:
        hub = run_relay()
        for adapter in adapters:
            hub.join(adapter=adapter).stopped()
        dead = kill_keeper(hub)
        wait_until(lambda: hub.kept_pids() not in ([], [dead]) and gauges(hub) == (1, 20), "all are kept again")
        hub.kill9()
        hub.restart()
        with hard():
            assert sum(p["held"] for p in hub.pauses()) == len(adapters)
        assert_unharmed(*adapters)
    finally:
        for adapter in adapters:
            adapter.close()


def test_a_relay_is_upgraded_after_its_keeper_died(adapter, hub, run_relay):
    hub.join().stopped()
    wait_new_keeper(hub, kill_keeper(hub))
    newer = run_relay("--upgrade", state=hub.state, listen=hub.addresses)
    assert hub.wait() == 0
    with hard():
        assert newer.pause()["held"] is True
    assert_stopped_at(newer.join(), 8)
    assert_unharmed(adapter)


def test_a_keeper_that_cannot_be_replaced(adapter, run_relay, clock):
    """The gauges and the clients tell the truth until it can be; then it is replaced without a word of the user's."""
    hub = run_relay(env=clock.env)
    client = hub.join()
    client.stopped()
    assert gauges(hub) == (1, 1)
    directory = hub.state / "s/raydbg"
    directory.chmod(0o755)  # no keeper's socket is made where others may come
    dead = kill_keeper(hub)
    client.wait_event("output", lambda body: "keeper" in body["output"] and "this task goes on" in body["output"])
    assert gauges(hub) == (0, 0)
    assert client.step("next", 1)
    directory.chmod(0o700)
    clock.pass_time(10)
    wait_new_keeper(hub, dead)
    client.wait_event("output", lambda body: "outlives the relay again" in body["output"])
    hub.kill9()
    hub.restart()
    assert_stopped_at(hub.join(), 9)
    assert_unharmed(adapter)


def test_a_keeper_that_no_relay_comes_for_lets_go(adapter, run_relay, clock):
    most = 3600 if clock.skips else 2
    hub = run_relay("--max-hold", f"{most}s", env=clock.env)
    hub.join().stopped()
    hub.kill9()

    def log():
        return "".join(p.read_text() for p in (hub.state / "s/raydbg").glob("*.log"))
    wait_until(lambda: f"1 connections wait for the next one, at most {most} s" in log(), log)
    clock.pass_time(most / 2)
    assert_unharmed(adapter)
    clock.pass_time(most / 2)
    assert adapter.connection().ended.wait(limit())
    wait_until(lambda: not hub.kept_pids(), "the keeper ends")
    assert f"no relay came within {most} s: 1 connections are let go" in log(), log()


def test_the_keeper_is_nobody_elses(adapter, hub):
    hub.join().stopped()
    pid, = hub.kept_pids()
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.getsid(pid) not in (os.getsid(hub.pid), os.getsid(0)), "a terminal's end would end it"
    for path in (hub.state / "s/raydbg").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    for number in 0, 1, 2:
        assert "stderr" not in os.readlink(f"/proc/{pid}/fd/{number}"), "it would keep the shell's pipe open"


def test_no_descriptor_leaks_into_the_keeper(run_relay):
    """Sessions and pauses come and go; the keeper holds only what is held."""
    hub = run_relay()
    hub.join().stopped()
    pid, = hub.kept_pids()

    def come_and_go():
        with FakeAdapter() as other:
            client = hub.join(adapter=other)
            client.stopped()
            client.disconnect(onDisconnect="continue")
            other.wait_request("disconnect")

    come_and_go()  # and the first one's is there by now
    wait_until(lambda: gauges(hub) == (1, 1), lambda: str(gauges(hub)))
    count = len(os.listdir(f"/proc/{pid}/fd"))
    for _ in range(10):
        come_and_go()
    wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= count,
               lambda: f"{count} descriptors, not {len(os.listdir(f'/proc/{pid}/fd'))}")


def test_a_stranger_on_the_keepers_socket(adapter, hub):
    """Garbage on its socket is not taken for a relay."""
    hub.join().stopped()
    sockets = [p for p in (hub.state / "s/raydbg").iterdir() if p.is_socket()]
    assert sockets
    for path in sockets:
        for data in b"", b"\0" * 4096, b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096):
            with socket.socket(socket.AF_UNIX) as sock:
                try:
                    sock.connect(str(path))
                    sock.sendall(data)
                except OSError:
                    pass
    assert_unharmed(adapter)
    hub.kill9()
    hub.restart()
    assert_stopped_at(hub.join(), 8)
    assert_unharmed(adapter)


def test_a_lost_pause_would_be_noticed(adapter):
    """The check that the tests above rest on: relay and keeper killed at one moment lose the pause."""
    with RelayProcess(adapter=adapter) as hub:
        hub.join().stopped()
        hub.kill9()  # first: a relay that lives replaces its keeper
        kill_keeper(hub)
        assert adapter.connection().ended.wait(limit())
        with pytest.raises(AssertionError):
            assert_unharmed(adapter)
        hub.restart()
        assert not (hub.pause() or {}).get("held")
