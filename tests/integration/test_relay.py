"""`raydbg relay` on a real two-node Ray: the pause outlives clients, the relay, and the network between."""

import json
import os
import re
import signal
import ssl
import subprocess
import time

import pytest
from certificates import Authority
from cluster import PROGRAMS, Spec, line_of, wait_for
from dap_client import DapClient
from relay_process import ClientProcess
from routed import NEAR, NODES, RoutedCluster
from waits import hard, limit, settle

PAUSES = PROGRAMS / "pauses.py"


def paused(cluster, *names, threads=None):
    driver = cluster.driver("pauses.py", *names)
    cluster.wait_paused(threads or len(names))
    return driver


def assert_at(client, marker, function):
    """The client's next stop is at this line; returns the thread."""
    thread = client.stopped()["threadId"]
    top = client.stack(thread)[0]
    assert (top["name"], top["line"]) == (function, line_of(PAUSES, marker)), client.text()
    return thread


def pause_of(relay, name):
    return next((p for p in relay.pauses() if p["task_name"] == name), None)


def assert_location(row, marker):
    assert row["location"] == {"file": str(PAUSES), "line": line_of(PAUSES, marker)}, row


def home(relay):
    """The environment of a raydbg that shares the relay's home, and so its token."""
    return {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"]}


def rounds(soak):
    return 20 if soak else 5


# --- several clients ---

def test_two_clients_and_a_late_third_on_one_task(cluster, run_relay):
    driver = paused(cluster, "walk")
    relay = run_relay(cluster)
    first = relay.join(name="first", task="walk")
    thread = assert_at(first, "walk-breakpoint", "walk")
    second = relay.join("websocket", "second", task="walk")
    assert assert_at(second, "walk-breakpoint", "walk") == thread
    frame = first.stack(thread)[0]["id"]
    assert first.locals(frame)["number"] == second.locals(second.stack(thread)[0]["id"])["number"]
    first.step("next", thread)
    second.stopped(reason="step")
    third = relay.join(name="third", task="walk", role="observer")
    assert_at(third, "walk-call", "walk")
    scope = third.ok("scopes", {"frameId": third.stack(thread)[0]["id"]})["scopes"][0]["variablesReference"]
    change = {"variablesReference": scope, "name": "number", "value": "1000"}
    for client in second, third:
        refused = client.request("setVariable", change)
        assert not refused["success"] and re.search("observ|drive", refused["message"]), refused
    second.ok("raydbg/takeOver")
    first.wait_event("raydbg/role", lambda body: body["role"] == "observer")
    assert not first.request("next", {"threadId": thread})["success"]
    second.ok("setVariable", change)
    assert third.locals(third.stack(thread)[0]["id"])["number"]["value"] == "1000"
    second.disconnect()
    first.wait_event("raydbg/role", lambda body: body["role"] == "driver")
    first.resume(thread)
    assert driver.result("walk") == str(225 + 1000)
    for client in first, third:
        client.disconnect()


def test_breakpoints_of_two_clients(cluster, run_relay):
    driver = paused(cluster, "walk")
    relay = run_relay(cluster)
    first = relay.join(name="first", task="walk", breakpoints={PAUSES: [line_of(PAUSES, "walk-call")]})
    thread = assert_at(first, "walk-breakpoint", "walk")
    second = relay.join(name="second", task="walk", takeOver=True,
                        breakpoints={PAUSES: [line_of(PAUSES, "walk-second-call")]})
    assert_at(second, "walk-breakpoint", "walk")
    second.resume(thread)
    assert_at(second, "walk-call", "walk")
    first.disconnect()
    second.resume(thread)
    assert_at(second, "walk-second-call", "walk")
    second.set_breakpoints(PAUSES, [])
    second.resume(thread)
    assert driver.result("walk") == "232"
    second.disconnect()


def test_post_mortem_is_held(cluster, run_relay):
    driver = paused(cluster, "boom")
    relay = run_relay(cluster)
    first = relay.join(task="boom")
    assert first.stopped()["reason"] == "exception"
    first.transport.reset()
    late = relay.join("websocket", task="boom")
    stop = late.stopped()
    assert stop["reason"] == "exception" and late.stack(stop["threadId"])[0]["name"] == "middle"
    info = late.ok("exceptionInfo", {"threadId": stop["threadId"]})
    assert "ValueError" in info["exceptionId"]
    late.resume(stop["threadId"])
    assert "boom 2" in driver.error("boom")
    late.disconnect()


def test_three_threads_of_one_actor_are_held(cluster, run_relay):
    driver = paused(cluster, "threaded", threads=3)
    relay = run_relay(cluster)
    first = relay.join(task="Pool")
    threads = {first.stopped()["threadId"] for _ in range(3)}
    first.transport.reset()
    late = relay.join(task="Pool")
    assert {late.stopped()["threadId"] for _ in range(3)} == threads
    late.disconnect(onDisconnect="continue")
    assert driver.wait() == 0


# --- kill -9 ---

def test_killed_relays_lose_no_pause(cluster, run_relay, soak):
    driver = paused(cluster, "square", "actor", "on_b")
    relay = run_relay(cluster)
    wanted = {"square": ("square-breakpoint", "square"), "bob": ("trainer-breakpoint", "step"),
              "on_b": ("on-b-breakpoint", "on_b")}
    clients = {task: relay.join(name=task, task=task) for task in wanted}
    for task, client in clients.items():
        assert_at(client, *wanted[task])
    lost = 0
    for number in range(rounds(soak)):
        relay.kill9()
        relay.restart()
        held = [p for p in relay.pauses() if p["held"]]
        lost += len(wanted) - len(held)
        for task in wanted:
            clients[task] = relay.join(("tcp", "websocket")[number % 2], f"{task} {number}", task=task)
            assert_at(clients[task], *wanted[task])
        with hard():
            assert not driver.results(), driver.output()
    print(f"{rounds(soak)} x kill -9 of the relay with {len(wanted)} pauses: {lost} lost")
    with hard():
        assert lost == 0
    for task, client in clients.items():
        client.disconnect(onDisconnect="continue")
    assert driver.wait() == 0 and dict(driver.results())["square"] == "9"


def keeper_then_relay(cluster, relay, client, thread):
    """The keeper dies, a new one takes its place, and the relay dies."""
    dead, = relay.kept_pids()
    os.kill(dead, signal.SIGKILL)
    wait_for(lambda: relay.kept_pids() not in ([], [dead]) and "raydbg_keeper_held 1\n" in
             relay.http("GET", "/metrics").body.decode(), lambda: f"a new keeper holds it: {relay.stderr()}")
    relay.kill9()
    relay.restart()


def torn_request(cluster, relay, client, thread):
    """The relay dies with a request half written: the adapter reads no more until the next relay runs."""
    port = pause_of(relay, "square")["endpoint"].rpartition(":")[2]
    adapter = int(re.search(r"pid=(\d+)", cluster.run(["ss", "-ltnpH", f"sport = :{port}"]).stdout)[1])
    text = "x" * 3_500_000
    frame = client.stack(thread)[0]["id"]
    cluster.kill(adapter, signal.SIGSTOP)
    for name in "whole", "torn":  # the two sockets hold more than one, and less than both
        client.send("evaluate", {"expression": f"__import__('sys').__dict__.update({name}=len('{text}'))",
                                 "context": "repl", "frameId": frame})
    def queues():
        return re.findall(r"^ESTAB +(\d+) +(\d+)", cluster.run(["ss", "-tnH", f"sport = :{port} or dport = :{port}"]).stdout, re.MULTILINE)
    seen = [[]]

    def is_stuck():
        relay.http("GET", "/healthz")  # a turn of its loop: it is not about to write
        seen.append(queues())
        return seen[-1] == seen[-2] and any(int(bytes) for row in seen[-1] for bytes in row)
    wait_for(is_stuck, lambda: f"the sockets are full: {seen[-1]}", every=0.2)
    relay.kill9()
    relay.restart()
    cluster.kill(adapter, signal.SIGCONT)


def large_snapshot(cluster, relay, client, thread):
    """The relay dies with more to leave than the next one reads."""
    for number in range(5):
        client.ok("setBreakpoints", {"source": {"path": f"/nowhere/{number}.py", "adapterData": "x" * 3_500_000},
                                     "breakpoints": [{"line": 1}]})
    relay.kill9()
    relay.restart()


@pytest.mark.parametrize("act", [keeper_then_relay, torn_request, large_snapshot])
def test_no_death_loses_a_pause(cluster, run_relay, soak, act):
    driver = paused(cluster, "square")
    relay = run_relay(cluster)
    lost = wedged = 0
    rounds = 20 if soak else 1
    for number in range(rounds):
        client = relay.join(("tcp", "websocket")[number % 2], f"client {number}", task="square")
        client.strict = False
        act(cluster, relay, client, assert_at(client, "square-breakpoint", "square"))
        lost += not (pause_of(relay, "square") or {}).get("held")
        client = relay.join(name=f"late {number}", task="square")
        thread = assert_at(client, "square-breakpoint", "square")
        wedged += client.evaluate("x + 1", client.stack(thread)[0]["id"]) != "4"
        if act is torn_request:
            torn = "__import__('sys').__dict__.pop('torn', None)"
            # The next relay gives up what a client that is gone has asked for: it has run by then, or does not run.
            assert client.evaluate(torn, client.stack(thread)[0]["id"]) in ("3500000", "")
        client.disconnect()
        with hard():
            assert not driver.results(), driver.output()
    print(f"{rounds} x {act.__name__}: {lost} lost, {wedged} wedged")
    with hard():
        assert (lost, wedged) == (0, 0)
    client = relay.join(task="square")
    thread = assert_at(client, "square-breakpoint", "square")
    client.resume(thread)
    assert driver.result("square") == "9"
    client.disconnect()


def test_killed_clients_lose_no_pause(cluster, run_relay, soak):
    driver = paused(cluster, "square")
    relay = run_relay(cluster)
    for number in range(rounds(soak)):
        if number % 3 == 2:
            process = cluster.raydbg_popen("attach", "square", "--relay", relay.host_header, env=home(relay))
            wait_for(lambda: relay.sessions(), "raydbg attach is there")
            process.kill()
            process.wait(limit())
            process.stdin.close(), process.stdout.close()
        else:
            ClientProcess(relay, ("tcp", "websocket")[number % 2], popen=cluster.popen, task="square").kill9()
        wait_for(lambda: not relay.sessions(), "the relay notices")
        with hard():
            assert pause_of(relay, "square")["held"] and not driver.results()
    client = relay.join(task="square")
    thread = assert_at(client, "square-breakpoint", "square")
    client.resume(thread)
    assert driver.result("square") == "9"
    client.disconnect()


def test_a_relay_that_is_upgraded(cluster, run_relay):
    driver = paused(cluster, "square")
    relay = run_relay(cluster)
    client = relay.join(task="square")
    assert_at(client, "square-breakpoint", "square")
    newer = run_relay(cluster, "--upgrade", state=relay.state, listen=relay.addresses)
    assert relay.wait() == 0
    client = newer.join(task="square")
    thread = assert_at(client, "square-breakpoint", "square")
    client.step("next", thread)
    client.resume(thread)
    assert driver.result("square") == "9"
    client.disconnect()


# --- list, hold, release ---

def rows(cluster, relay, *arguments):
    done = cluster.raydbg("list", "--format", "json", *arguments, env=home(relay))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_hold_on_pause_shows_the_lines(cluster, run_relay):
    relay = run_relay(cluster, "--hold", "on-pause")
    paused_drivers = cluster.driver("pauses.py", "square", "actor")
    wait_for(lambda: sum(p["held"] for p in relay.pauses()) == 2, lambda: f"both are held: {relay.pauses()}")
    wait_for(lambda: all(row["location"] for row in rows(cluster, relay)), "their locations are known")
    listed = {row["task_name"]: row for row in rows(cluster, relay)}
    assert_location(listed["square"], "square-breakpoint")
    assert_location(listed["Trainer.step"], "trainer-breakpoint")
    assert all(row["state"] == "held" for row in listed.values()), listed
    text = cluster.raydbg("list", env=home(relay)).stdout
    assert "held" in text and f"pauses.py:{line_of(PAUSES, 'square-breakpoint')}" in text
    client = relay.join(task="square")
    assert_at(client, "square-breakpoint", "square")
    wait_for(lambda: "attached (1 client)" in cluster.raydbg("list", env=home(relay)).stdout, "list tells the client")
    client.disconnect()
    assert cluster.raydbg("release", "--all", env=home(relay)).returncode == 0
    assert paused_drivers.wait() == 0


def test_hold_and_release(cluster, run_relay):
    driver = paused(cluster, "square", "actor")
    relay = run_relay(cluster)
    assert not any(p["held"] for p in relay.pauses())
    held = cluster.raydbg("hold", "square", env=home(relay))
    assert held.returncode == 0, held.stderr
    wait_for(lambda: pause_of(relay, "square")["location"], "it is held, and where is known")
    assert_location(pause_of(relay, "square"), "square-breakpoint")
    assert not pause_of(relay, "Trainer.step")["held"]
    settle()
    with hard():
        assert not driver.results()
    released = cluster.raydbg("release", "square", env=home(relay))
    assert released.returncode == 0, released.stderr
    assert driver.result("square") == "9"
    nothing = cluster.raydbg("release", "no-such-task", env=home(relay))
    assert nothing.returncode not in (0, 2) and "no-such-task" in nothing.stderr
    assert cluster.raydbg("release", "--all", env=home(relay)).returncode == 0
    settle(1)
    assert [name for name, _ in driver.results()] == ["square"], "what is not held is not released"


def test_list_finds_the_relay_by_itself(cluster, run_relay):
    driver = paused(cluster, "square")
    relay = run_relay(cluster)
    relay.join(task="square").stopped()
    wait_for(lambda: "attached (1 client)" in cluster.raydbg("list", env=home(relay)).stdout, "list tells the clients")
    wait_for(lambda: rows(cluster, relay)[0]["location"], lambda: f"where it stands is known: {relay.pauses()}")
    assert_location(rows(cluster, relay)[0], "square-breakpoint")
    direct = cluster.raydbg("list", "--no-relay", env=home(relay))
    assert direct.returncode == 0 and "client)" not in direct.stdout, direct.stdout + direct.stderr
    script = cluster.raydbg("attach", "square", "--observe", input="where\nquit\n", env=home(relay))
    assert f"pauses.py:{line_of(PAUSES, 'square-breakpoint')}" in script.stdout, script.stdout + script.stderr
    with hard():
        assert not driver.results()
    mine, others = registered(cluster, relay)
    assert mine and not others
    relay.kill9()
    # A relay that is gone is no obstacle; its registration is stale.
    done = cluster.raydbg("list", "--format", "json", env=home(relay))
    assert done.returncode == 0, done.stderr
    relay.restart()
    wait_for(lambda: "client" in cluster.raydbg("list", env=home(relay)).stdout
             or "held" in cluster.raydbg("list", env=home(relay)).stdout, "the restarted one is found")
    mine, _ = registered(cluster, relay)
    assert mine
    assert relay.terminate() == 0
    mine, others = registered(cluster, relay)
    assert not mine and not others, "the killed one's registration is in the way for ever"


def registered(cluster, relay):
    """The registrations in the GCS: this relay process's, and others with its address."""
    program = ("import ray, json; ray.init(address='auto', logging_level='ERROR');"
               "from ray.experimental.internal_kv import _internal_kv_list as l, _internal_kv_get as g;"
               "print('KEYS', json.dumps([json.loads(g(k, namespace='raydbg')) for k in l('', namespace='raydbg')]))")
    done = cluster.python("-c", program)
    assert "KEYS " in done.stdout, done.stdout + done.stderr
    entries = [e for e in json.loads(done.stdout.rpartition("KEYS ")[2]) if relay.host_header in e["addresses"]]
    newest = max((e["started"] for e in entries), default=0)
    alive = relay.process.poll() is None
    return [e for e in entries if alive and e["started"] == newest], \
        [e for e in entries if not (alive and e["started"] == newest)]


def test_dap_goes_through_the_registered_relay(cluster, run_relay):
    paused(cluster, "square")
    relay = run_relay(cluster)
    with cluster.raydbg_dap(env=home(relay)) as client:
        client.initialize()
        client.attach({"task": "square"})
        assert_at(client, "square-breakpoint", "square")
        assert len(relay.sessions()) == 1
        client.disconnect()
    wait_for(lambda: not relay.sessions(), "the session ends")
    with hard():
        assert pause_of(relay, "square")["held"]


def test_the_worker_dies_while_held(cluster, run_relay):
    paused(cluster, "square")
    relay = run_relay(cluster)
    client = relay.join(task="square")
    client.stopped()
    cluster.kill(pause_of(relay, "square")["pid"], signal.SIGKILL)
    client.wait_event("terminated")
    assert re.search("worker|killed|died", client.text()), client.text()
    client.disconnect()
    wait_for(lambda: not (pause_of(relay, "square") or {}).get("held"), "it is held no more")


# --- another namespace ---

@pytest.fixture(scope="module")
def routed():
    from conftest import raydbg_path
    with RoutedCluster(Spec(), raydbg_path()) as cluster:
        cluster.wait_nodes()
        yield cluster


@pytest.fixture
def far(routed):
    """The routed cluster, its drivers ended with the test."""
    yield routed
    routed.join()
    routed.stop_drivers()


def test_tls_and_a_token_over_one_port(far, run_relay, tmp_path):
    driver = paused(far, "square")
    authority = Authority(tmp_path)
    certificate, key = authority.issue("relay", hosts=[NEAR])
    context = ssl.create_default_context(cafile=authority.ca)
    relay = run_relay(far, "--tls-cert", certificate, "--tls-key", key, listen=[f"{NEAR}:0"], tls=context)
    host, port = relay.address
    env = {"RAYDBG_TOKEN": relay.token, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    options = ["--relay", f"https://{host}:{port}", "--relay-ca", authority.ca]
    with far.only_port(port):
        assert far.reaches(NEAR, port) and not far.reaches(f"{NODES}.1", 6379)

        def outside(*arguments, **more):
            argv = far.outside(far.raydbg_argv(*arguments))
            return far.run(argv, env={**env, "RAY_ADDRESS": None, **more.pop("env", {})}, **more)

        listed = outside("list", "--format", "json", *options)
        assert listed.returncode == 0 and json.loads(listed.stdout)[0]["task_name"] == "square", listed.stderr
        script = outside("attach", "square", *options, input="where\np y\nquit\n")
        assert f"pauses.py:{line_of(PAUSES, 'square-breakpoint')}" in script.stdout, script.stdout + script.stderr
        with hard():
            assert not driver.results() and pause_of(relay, "square")["held"]
        process = far.popen(far.outside(far.raydbg_argv("dap", *options)), env={**env, "RAY_ADDRESS": None})
        with DapClient.over_process(process, name="raydbg dap outside") as client:
            client.initialize()
            client.attach({"task": "square"})
            thread = assert_at(client, "square-breakpoint", "square")
            client.step("next", thread)
            client.disconnect()
        for wrong in ({"RAYDBG_TOKEN": "f" * 64}, {"RAYDBG_TOKEN": None}):
            refused = outside("list", *options, env=wrong)
            assert refused.returncode != 0 and "token" in refused.stderr, refused.stderr
        refused = outside("list", "--relay", f"https://{host}:{port}")
        assert refused.returncode != 0 and re.search("certificate|authority", refused.stderr), refused.stderr
        assert outside("release", "square", *options).returncode == 0
    assert driver.result("square") == "9"


def test_a_network_cut_between_relay_and_worker(far, run_relay, soak):
    """Longer than the 16 s that debugpy's adapter gives its client. Long form: 4 tasks, 5 cuts."""
    names = ["twice", "square", "walk", "on_b"] if soak else ["twice"]
    driver = far.driver("pauses.py", *names)
    far.wait_paused(len(names))
    relay = run_relay(far, outside=True)
    clients = {name: relay.join(task=name) for name in names}
    threads = {name: client.stopped()["threadId"] for name, client in clients.items()}
    locations = {name: clients[name].stack(threads[name])[0] for name in names}
    for cut in range(5 if soak else 1):
        far.cut()
        started = time.monotonic()
        pending = {name: clients[name].send("stackTrace", {"threadId": threads[name]}) for name in names}
        for name in names:
            answer = clients[name].response(pending[name])
            assert not answer["success"] and "is held" in answer["message"], answer
        noticed = time.monotonic() - started
        assert noticed > 16
        settle(max(0, 30 - noticed) if soak else 0)
        far.join()
        for name, client in clients.items():
            client.wait_event("output", lambda body: "the worker answers again" in body["output"], timeout=limit(120))
            client.stopped()
            top = client.stack(threads[name])[0]
            assert (top["name"], top["line"]) == (locations[name]["name"], locations[name]["line"]), client.text()
        print(f"cut {cut + 1}: found after {noticed:.1f} s, over after {time.monotonic() - started:.1f} s")
    with hard():
        assert not driver.results()
    for name, client in clients.items():
        client.step("next", threads[name])
        client.resume(threads[name])
        if name == "twice":
            client.stopped()
            client.resume(threads[name])
        driver.result(name)


def test_a_short_cut_is_not_noticed(far, run_relay):
    driver = paused(far, "square")
    relay = run_relay(far, outside=True)
    client = relay.join(task="square")
    thread = assert_at(client, "square-breakpoint", "square")
    far.cut()
    pending = client.send("stackTrace", {"threadId": thread})
    settle(3)
    far.join()
    client.check(client.response(pending))
    client.resume(thread)
    assert driver.result("square") == "9"
    client.disconnect()


def test_the_network_between_client_and_relay_is_cut(far, run_relay, tmp_path):
    """The client is far away and vanishes without FIN: found by the relay's keepalive, the pause is held."""
    driver = paused(far, "square")
    authority = Authority(tmp_path)
    certificate, key = authority.issue("relay", hosts=[NEAR])
    relay = run_relay(far, "--tls-cert", certificate, "--tls-key", key, listen=[f"{NEAR}:0"],
                      tls=ssl.create_default_context(cafile=authority.ca))
    env = {"RAYDBG_TOKEN": relay.token, "HOME": str(tmp_path), "RAY_ADDRESS": None}
    process = far.popen(far.outside(far.raydbg_argv("dap", "--relay", "https://%s:%d" % relay.address, "--relay-ca",
                                                    authority.ca)), env=env, stderr=subprocess.DEVNULL)
    client = DapClient.over_process(process, name="raydbg dap outside", strict=False)
    client.initialize()
    client.attach({"task": "square"})
    assert_at(client, "square-breakpoint", "square")
    far.cut()
    started = time.monotonic()
    # Meanwhile somebody near takes over at once.
    near = relay.join("websocket", "near", task="square", takeOver=True)
    thread = assert_at(near, "square-breakpoint", "square")
    wait_for(lambda: len(relay.sessions()) == 1, lambda: f"the far client is dropped: {relay.sessions()}")
    print(f"the vanished client was dropped after {time.monotonic() - started:.1f} s")
    client.close(check=False)
    near.resume(thread)
    assert driver.result("square") == "9"
    near.disconnect()
