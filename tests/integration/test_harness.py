"""The harness itself, without raydbg: clusters come up, programs pause, a direct DAP client debugs them."""

import contextlib
import os
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster import PROGRAMS, Cluster, ClusterError, Spec, line_of, program_of, wait_for
from dap_client import DapClosed, DapTimeout
from waits import limit, settle

PAUSES = PROGRAMS / "pauses.py"


def attach(client, **options):
    client.initialize()
    client.attach({"justMyCode": False}, **options)
    return client.stopped()


def user_frame(client, thread_id):
    """The topmost frame of the program: on Python 3.12 and later Ray's set_trace is above it."""
    return next(f for f in client.stack(thread_id) if f["source"]["path"] == str(PAUSES))


def test_a_paused_task_is_seen_and_debugged_directly(cluster):
    driver = cluster.driver("pauses.py", "square")
    [worker] = cluster.wait_paused()
    assert worker["ip"] == "127.0.0.1"
    with cluster.direct(worker) as client:
        stop = attach(client)
        assert stop["reason"] == "breakpoint"
        top = client.stack(stop["threadId"])[0]
        assert (top["name"], top["line"]) == ("square", line_of(PAUSES, "square-breakpoint"))
        assert client.locals(top["id"])["y"]["value"] == "9"
        client.step("next", stop["threadId"])
        assert client.stack(stop["threadId"])[0]["line"] > top["line"]
        client.resume(stop["threadId"])
        assert driver.result("square") == "9"
        client.disconnect()
        client.verify()
    assert driver.wait() == 0


def test_the_second_node_has_its_own_address(cluster):
    driver = cluster.driver("pauses.py", "on_b")
    [worker] = cluster.wait_paused()
    assert worker["ip"] == "127.0.0.2"
    with cluster.direct(worker) as client:
        client.resume(attach(client)["threadId"])
        assert driver.result("on_b") == "5@127.0.0.2"


def run_to_end(client, driver, timeout=60):
    """Continues whatever stops until the driver has ended."""
    deadline = time.monotonic() + timeout
    while driver.process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(DapTimeout, DapClosed):
            thread = client.stopped(timeout=0.5)["threadId"]  # timed: a look whether another stops
            # debugpy may never answer a continue that comes while further threads are about to stop.
            settle(0.5)
            client.resume_all(thread)
    assert driver.wait() == 0, driver.output()


# Of three coroutines the first to stop holds up the event loop. Of three threads that pause, debugpy reports one, two
# or three as stopped.
@pytest.mark.parametrize("kind, threads", [("actor", 1), ("threaded", 3), ("async", 1)])
def test_actors_of_each_kind_pause(cluster, kind, threads):
    driver = cluster.driver("pauses.py", kind)
    [worker] = cluster.wait_paused(threads)
    assert worker["num_paused_threads"] == threads
    with cluster.direct(worker) as client:
        client.initialize()
        client.attach({"justMyCode": False})
        run_to_end(client, driver)
    names = ["actor"] if kind == "actor" else [f"{kind}-{n}" for n in range(3)]
    assert sorted(name for name, _ in driver.results()) == names


def test_two_breakpoints_in_a_row(cluster):
    driver = cluster.driver("pauses.py", "twice")
    [worker] = cluster.wait_paused()
    with cluster.direct(worker) as client:
        client.resume(attach(client)["threadId"])
        stop = client.stopped(reason="breakpoint")
        # debugpy on 3.11 reports the line after a later breakpoint().
        assert user_frame(client, stop["threadId"])["line"] >= line_of(PAUSES, "twice-second")
        client.resume(stop["threadId"])
        assert driver.result("twice") == "4"


def test_post_mortem_stops_at_the_raising_frame(cluster):
    driver = cluster.driver("pauses.py", "boom")
    [worker] = cluster.wait_paused()
    with cluster.direct(worker) as client:
        stop = attach(client, filters=["uncaught"])
        assert stop["reason"] == "exception"
        top = client.stack(stop["threadId"])[0]
        assert (top["name"], top["line"]) == ("middle", line_of(PAUSES, "boom-raise"))
        client.resume(stop["threadId"])
        assert "ValueError" in driver.error("boom")


def test_conditional_breakpoint_in_a_loop(cluster):
    driver = cluster.driver("pauses.py", "walk")
    [worker] = cluster.wait_paused()
    with cluster.direct(worker) as client:
        breakpoints = [{"line": line_of(PAUSES, "helper-add"), "condition": "i == 4"}]
        stop = attach(client, breakpoints={str(PAUSES): breakpoints})
        frame = user_frame(client, stop["threadId"])
        assert {"mapping", "items", "point", "array", "reference", "big"} <= client.locals(frame["id"]).keys()
        client.resume(stop["threadId"])
        frame = user_frame(client, client.stopped()["threadId"])
        assert client.evaluate("(i, scaled)", frame["id"]) == "(4, 8)"
        client.disconnect()
    assert driver.result("walk") == "232"


@pytest.mark.parametrize("kind", ["cluster_313", "token_cluster", "tls_cluster", "old_cluster"])
def test_each_kind_of_cluster_pauses_and_debugs(kind, request):
    cluster = request.getfixturevalue(kind)
    driver = cluster.driver("pauses.py", "square")
    [worker] = cluster.wait_paused()
    with cluster.direct(worker) as client:
        stop = attach(client)
        assert user_frame(client, stop["threadId"])["line"] == line_of(PAUSES, "square-breakpoint")
        client.resume(stop["threadId"])
        assert driver.result("square") == "9"


def test_core_versions_come_up(core_cluster):
    driver = core_cluster.driver("pauses.py", "square", "on_b")
    workers = core_cluster.wait_paused(threads=2)
    assert {w["ip"] for w in workers} == {"127.0.0.1", "127.0.0.2"}
    for worker in workers:
        with core_cluster.direct(worker) as client:
            attach(client)
            client.disconnect()
    assert driver.wait() == 0


def test_token_is_required(token_cluster):
    assert token_cluster.http("/api/v0/workers")[0] == 200
    assert token_cluster.http("/api/v0/workers", headers={})[0] == 401
    assert token_cluster.http("/api/v0/workers", headers={"Authorization": "Bearer wrong"})[0] == 403


def answers_http2(sock):
    """Whether a gRPC server is willing to talk over this socket."""
    try:
        sock.settimeout(limit())
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000"))
        # A frame that is a server's SETTINGS; one who refuses sends nothing, a TLS alert, or GOAWAY.
        return sock.recv(9)[3:4] == b"\x04"
    except OSError:
        return False


def test_tls_is_required(tls_cluster):
    def over_tls(certificate):
        context = ssl.create_default_context(cafile=tls_cluster.directory / "ca.crt")
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(tls_cluster.directory / "node.crt", tls_cluster.directory / "node.key")
        return context.wrap_socket(tls_cluster.connect("127.0.0.1", 6379), server_hostname="127.0.0.1")

    assert answers_http2(over_tls(certificate=True))
    assert not answers_http2(over_tls(certificate=False))
    assert not answers_http2(tls_cluster.connect("127.0.0.1", 6379))


def test_without_tls_grpc_answers(cluster):
    assert answers_http2(cluster.connect("127.0.0.1", 6379))


def test_a_killed_worker_is_not_paused(cluster):
    driver = cluster.driver("pauses.py", "actor")
    [worker] = cluster.wait_paused()
    cluster.kill(worker["pid"])
    assert "Actor" in driver.error("actor")
    wait_for(lambda: not cluster.paused(), "the dead worker leaves the list")


def test_signals_reach_the_program_inside(cluster):
    code = "import signal,sys,time; signal.signal(2, lambda *_: sys.exit(7)); print('up', flush=True); time.sleep(60)"
    process = cluster.popen([cluster.venv / "bin/python", "-c", code])
    with process:
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(limit()) == 7


def test_killing_a_client_ends_the_program_inside(cluster):
    process = cluster.popen(["sleep", "1000"])
    with process:
        inner = process.inner_pid()
        assert program_of(inner) == "sleep"
        os.kill(process.pid, signal.SIGKILL)
        process.wait(limit())
    wait_for(lambda: not Path(f"/proc/{inner}").exists(), "the program ends")


def test_a_missing_raydbg_fails(cluster, monkeypatch):
    monkeypatch.setattr(cluster, "raydbg_path", Path("/nowhere/raydbg"))
    with pytest.raises(ClusterError, match="tools/build"):
        cluster.raydbg("list")


def test_nothing_is_left_when_the_test_run_is_killed(tmp_path):
    script = ("import sys; sys.path[:0] = sys.argv[1:]\n"
              "from cluster import Cluster, Spec\n"
              "c = Cluster(Spec(nodes=1, dashboard=False)).start()\n"
              "print(c.directory, c._namespace.pid, flush=True)\n"
              "import time; time.sleep(100)\n")
    here = Path(__file__).parent
    with subprocess.Popen([sys.executable, "-c", script, here, here.parent / "support"], stdout=subprocess.PIPE,
                          text=True) as run:
        directory, pid = run.stdout.readline().split()
        assert any(Path(directory).iterdir())
        run.kill()
    wait_for(lambda: not Path(f"/proc/{pid}").exists() and not Path(directory).exists(), "everything is gone")


def test_two_clusters_at_once_do_not_meet(cluster):
    with Cluster(Spec(nodes=1)) as other:
        driver = other.driver("pauses.py", "square")
        assert other.wait_paused()
        assert not cluster.paused()
        driver.stop()
