"""Whatever happens to a client, its task can be attached to again: on a real debugpy.

debugpy's adapter ends (its port refuses) if its client is gone when `attach`, `evaluate` or `disconnect` is answered,
and accepts nobody any more if a client goes while it is greeted. Each client here is tried twice afterwards, because a
deaf adapter still serves the connection that made it so.
"""

import signal
import subprocess

import pytest
from cluster import PROGRAMS, line_of, wait_for
from dap_client import DapClient
from waits import limit, settle

PAUSES = PROGRAMS / "pauses.py"


def kill(client):
    client.process.send_signal(signal.SIGKILL)
    client.process.wait(limit())


def terminate(client):
    client.process.send_signal(signal.SIGTERM)
    client.process.wait(limit())


def hang_up(client):
    client.process.stdin.close()
    client.process.wait(limit())


def disconnect(client):
    client.send("disconnect", {})
    client.process.wait(limit())


ENDS = pytest.mark.parametrize("end", [kill, terminate, hang_up, disconnect])


started = []  # the processes of the test's clients


def dap(cluster, worker):
    """A client of `raydbg dap` on this worker's adapter, with nothing to find first; it may end as it likes."""
    process = cluster.raydbg_popen("dap", "--connect", f"{worker['ip']}:{worker['debugger_port']}",
                                   stderr=subprocess.DEVNULL)
    client = DapClient.over_process(process, name="raydbg dap", strict=False)
    client.process = process
    started.append(process)
    client.initialize()
    return client


def attached(cluster, worker):
    client = dap(cluster, worker)
    client.attach({"request": "attach"})
    return client


@pytest.fixture
def paused(cluster):
    """The worker of a paused task. A client that a failed test leaves would be in the next one's way."""
    cluster.driver("pauses.py", "twice")
    yield cluster.wait_paused()[0]
    while started:
        started.pop().kill()


def assert_attachable(cluster, worker, marker):
    for last in False, True:
        client = dap(cluster, worker)
        client.send("attach", {"request": "attach"})
        client.wait_event("initialized")
        if not last:
            disconnect(client)
    client.ok("configurationDone")
    stop = client.stopped()
    assert client.stack(stop["threadId"])[0]["line"] == line_of(PAUSES, marker)
    disconnect(client)


def wait_closed(cluster):
    """The adapter itself does not bear a client that comes while another one leaves."""
    some = ["sh", "-c", "grep -qsx raydbg-closer /proc/[0-9]*/comm"]
    wait_for(lambda: cluster.run(some).returncode, "nothing is being closed any more", most=limit(90))


@ENDS
def test_an_end_while_attaching(cluster, paused, end):
    for delay in 0.03, 0.06, 0.09, 0.12, 0.16, 0.22:
        client = dap(cluster, paused)
        client.send("attach", {"request": "attach"})
        settle(delay)
        end(client)
        wait_closed(cluster)
    assert_attachable(cluster, paused, "twice-first")


@ENDS
def test_an_end_while_an_expression_is_evaluated(cluster, paused, end, tmp_path):
    """The task goes on to its second breakpoint()."""
    client = attached(cluster, paused)
    client.stopped()
    begun = tmp_path / "begun"
    client.send("evaluate", {"expression": f"open({str(begun)!r}, 'w').close() or __import__('time').sleep(0.7)", "context": "repl"})
    wait_for(begun.exists, "the worker evaluates")
    end(client)
    cluster.wait_paused()
    assert_attachable(cluster, paused, "twice-second")


def greets(cluster, worker):
    """Whether the adapter says something to a connection in time; and the connection."""
    sock = cluster.connect(worker["ip"], worker["debugger_port"])
    sock.settimeout(limit(3))
    try:
        return bool(sock.recv(1)), sock
    except TimeoutError:
        return False, sock


def test_doctor_tells_a_deaf_debugger(cluster, paused):
    """Made deaf by what a port scanner does; the connection that waits then gives it away."""
    assert "accepts nobody" not in cluster.raydbg("doctor").stdout
    for _ in range(10):
        for _ in range(10):
            cluster.connect(paused["ip"], paused["debugger_port"]).close()
        heard, sock = greets(cluster, paused)
        if not heard:
            break
        sock.close()
    assert not heard
    told = cluster.raydbg("doctor")
    sock.close()
    assert told.returncode == 1 and "1 debugger accepts nobody any more" in told.stdout, told.stdout
    assert f"{paused['ip']}:{paused['debugger_port']} (pid {paused['pid']})" in told.stdout
