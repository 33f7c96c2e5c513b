"""`raydbg doctor` on real clusters: what it says is so, and looking disturbs nothing."""

import contextlib
import json
import signal
import subprocess
import threading

import pytest
from cluster import ROOT, Spec, wait_for
from conftest import raydbg_path
from routed import HEAD, RoutedCluster
from waits import limit

FAILED, UNREACHABLE = 1, 5
# Every check that docs/doctor.md knows.
CHECKS = {"cluster", "gcs", "ray", "nodes", "raylets", "debugpy", "auth", "clocks", "call-sites", "relay", "relay-token",
          "relay-pauses", "relay-version", "keeper", "ray-debug", "debuggers", "debugger-ports", "legacy-pdb",
          "leftovers", "command", "raydbg", "extension"}


class Findings(dict):
    """Checks by name, of one run."""

    def __init__(self, done):
        rows = json.loads(done.stdout)
        for row in rows:
            assert list(row) == ["check", "status", "what", "why", "hint"]
            assert row["status"] in ("ok", "warning", "problem") and row["check"] in CHECKS, row
            assert row["what"] and "" not in row.values(), row
            # What is wrong comes with what to do.
            assert row["status"] == "ok" or row["hint"], row
        super().__init__((row["check"], row) for row in rows)
        assert len(self) == len(rows)
        self.code = done.returncode
        assert (self.code == 0) == all(row["status"] != "problem" for row in rows), rows

    def assert_check(self, name, status, *words):
        assert self.get(name, {}).get("status") == status, (name, self)
        for word in words:
            assert word in " ".join(filter(None, self[name].values())), self[name]


def doctor(cluster, *arguments, **options):
    return Findings(cluster.raydbg("doctor", "--format", "json", *arguments, **options))


def test_every_check_is_documented():
    text = (ROOT / "docs/doctor.md").read_text()
    for check in CHECKS:
        assert f"`{check}`" in text, check


def test_a_fine_cluster(cluster):
    found = doctor(cluster)
    assert found.code == 0
    found.assert_check("cluster", "ok", "127.0.0.1:6379, from RAY_ADDRESS")
    found.assert_check("gcs", "ok", "the GCS answers in")
    found.assert_check("ray", "ok", "Ray 2.60.0, Python 3.11")
    found.assert_check("nodes", "ok", "2 alive")
    found.assert_check("raylets", "ok", "all 2")
    found.assert_check("auth", "ok", "no token; no TLS")
    found.assert_check("relay", "ok", "none runs")
    found.assert_check("ray-debug", "ok", "unset")
    found.assert_check("debugpy", "ok", "have debugpy 1.8")
    doctor(cluster, env={"RAY_ADDRESS": None}).assert_check("cluster", "ok", "a raylet's command line")
    found = doctor(cluster, "--address", "http://127.0.0.1:8265", "--no-relay", env={"RAY_DEBUG": "legacy"})
    found.assert_check("gcs", "ok", "the dashboard answers in")
    found.assert_check("relay", "ok", "--no-relay")
    found.assert_check("ray-debug", "warning", "legacy", "unset RAY_DEBUG")


def test_debugpy_in_the_runtime_env_of_jobs(core_cluster):
    """Read from the GCS: no worker has such an environment, and none is made."""
    for env in ({"pip": ["debugpy>=1.8.0"]}, {"conda": "training"}):
        core_cluster.driver("job_with_env.py", json.dumps(env)).wait_for("^READY$")
    found = doctor(core_cluster)
    found.assert_check("debugpy", "ok", "on this node have debugpy 1.8", "1 running job has debugpy in its runtime_env",
                       "1 running job has an image, a conda environment or an interpreter")
    core_cluster.stop_drivers()
    wait_for(lambda: not doctor(core_cluster)["debugpy"]["why"], "the jobs have ended")


def test_the_text_is_for_people(cluster):
    done = cluster.raydbg("doctor")
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ok       cluster") and "127.0.0.1:6379" in lines[0]
    assert lines[-1] == "no problem: raydbg list shows what is paused"
    assert "\x1b" not in done.stdout


def test_paused_workers_are_not_disturbed(cluster):
    """Before somebody attaches, while somebody is attached, and many at once: debugpy's adapter notices nothing."""
    driver = cluster.driver("pauses.py", "walk")
    worker = cluster.wait_paused()[0]
    for _ in range(10):
        found = doctor(cluster)
        found.assert_check("debuggers", "ok", "1 worker with an open debugger, 1 waits")
        found.assert_check("debugger-ports", "ok", "all 1 reachable")
    with cluster.direct(worker) as client:
        client.initialize()
        client.attach({"justMyCode": False})
        thread = client.stopped()["threadId"]
        before = len(client.events())
        threads = [threading.Thread(target=doctor, args=(cluster,)) for _ in range(6)]
        for at in threads:
            at.start()
        frame = client.stack(thread)[0]
        assert client.evaluate("number", frame["id"]) == "7"
        for at in threads:
            at.join()
        # Each connection to an adapter is told to the client that is attached.
        assert "debugpySockets" not in [event["event"] for event in client.events()[before:]]
        client.step("next", thread)
        doctor(cluster).assert_check("debuggers", "ok", "1 worker with an open debugger, 0 wait")
        client.resume(thread)
        client.disconnect()
    assert driver.result("walk") == "232"


def test_a_wrong_token_is_told_and_not_shown(token_cluster):
    right = doctor(token_cluster)
    right.assert_check("auth", "ok", "a token, from RAY_AUTH_TOKEN")
    assert right.code == 0
    wrong = "f00d" * 16
    done = token_cluster.raydbg("doctor", "--format", "json", env={"RAY_AUTH_TOKEN": wrong})
    found = Findings(done)
    assert found.code == FAILED
    found.assert_check("auth", "problem", "wants a token", "RAY_AUTH_TOKEN")
    found.assert_check("gcs", "ok", "answers in")
    assert wrong not in done.stdout + done.stderr and token_cluster.token not in done.stdout
    found = doctor(token_cluster, env={"RAY_AUTH_TOKEN": None})
    found.assert_check("auth", "problem", "ray get-auth-token")
    found = doctor(token_cluster, env={"RAY_AUTH_TOKEN": None, "RAY_AUTH_TOKEN_PATH": "/no/such/file"})
    found.assert_check("auth", "problem", "/no/such/file")


def test_no_cluster(tmp_path):
    argv = ["unshare", "-n", "-p", "-f", "--mount-proc", "env", "-i", f"HOME={tmp_path}", f"RAY_TMPDIR={tmp_path}",
            raydbg_path(), "doctor", "--format", "json"]
    found = Findings(subprocess.run(argv, capture_output=True, text=True, timeout=limit()))
    assert found.code == UNREACHABLE
    found.assert_check("cluster", "problem", "no Ray cluster was found", "--address")
    assert "debugpy" not in found
    found = Findings(subprocess.run([*argv, "--address", "127.0.0.1:1"], capture_output=True, text=True, timeout=limit()))
    assert found.code == UNREACHABLE
    found.assert_check("cluster", "ok", "--address")
    found.assert_check("gcs", "problem", "127.0.0.1:1")


# --- a relay ---

def test_a_relay(cluster, run_relay):
    cluster.driver("pauses.py", "square")
    cluster.wait_paused()
    relay = run_relay(cluster)
    ours = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"]}
    found = doctor(cluster, env=ours)
    found.assert_check("relay", "ok", relay.addresses[0], "running here")
    found.assert_check("relay-token", "ok", "accepts")
    found.assert_check("relay-pauses", "ok", "it sees 1 pause and holds 0")
    found.assert_check("relay-version", "ok")
    found.assert_check("keeper", "ok", "lives")
    assert found.code == 0 and "leftovers" not in found
    assert cluster.raydbg("hold", "square", env=ours).returncode == 0
    doctor(cluster, env=ours).assert_check("relay-pauses", "ok", "holds 1")

    # From another home: the cluster names it, but its token is not there, or is another one.
    found = doctor(cluster)
    found.assert_check("relay", "ok", "named by the cluster")
    found.assert_check("relay-token", "problem", "there is none here", "RAYDBG_TOKEN")
    assert found.code == FAILED
    other = {"RAYDBG_TOKEN": "0" * 64}
    doctor(cluster, env=other).assert_check("relay", "warning", "does not know this machine's token")
    given = doctor(cluster, "--relay", relay.addresses[0], env=other)
    given.assert_check("relay", "ok", "(given)")
    given.assert_check("relay-token", "problem", "does not accept")

    relay.kill9()
    found = doctor(cluster, env=ours)
    found.assert_check("leftovers", "warning", "a keeper here has no relay")
    given = doctor(cluster, "--relay", relay.addresses[0], env=ours)
    given.assert_check("relay", "problem", "cannot be reached")
    relay.restart()
    assert "leftovers" not in doctor(cluster, env=ours)


def test_legacy_pdb_is_told_and_left_alone(legacy_cluster):
    cluster = legacy_cluster
    driver = cluster.driver("pauses.py", "square")

    def waits():
        found = doctor(cluster)  # entries that earlier tests' workers have left are told, too, as ok
        return found if found.get("legacy-pdb", {}).get("status") == "warning" else None
    found = wait_for(waits, "the task waits in pdb")
    found.assert_check("legacy-pdb", "warning", "1 task waits", "RAY_DEBUG=1")
    for _ in range(3):
        doctor(cluster).assert_check("legacy-pdb", "warning", "1 task waits")
    assert driver.process.poll() is None and not driver.results()
    assert "ERROR" not in driver.output()


# --- a network in between ---

@pytest.fixture(scope="module")
def routed():
    with RoutedCluster(Spec(dashboard=True), raydbg_path()) as cluster:
        yield cluster
        cluster.stop_drivers()


@contextlib.contextmanager
def blocked(cluster, port):
    """What comes from outside for this port is dropped."""
    cluster._ip(f"rule add pref 5 iif near ipproto tcp dport {port} blackhole", "rule add pref 20 lookup local",
                "rule del pref 0")
    try:
        yield
    finally:
        cluster._ip("rule add pref 0 lookup local", "rule del pref 20", "rule del pref 5")


def outside(cluster, *arguments, before=(), **options):
    argv = cluster.outside([*before, cluster.raydbg_path, "doctor", "--format", "json", *arguments])
    return Findings(cluster.run(argv, env={"RAY_ADDRESS": HEAD}, **options))


def test_a_blocked_debugger_port(routed):
    routed.wait_nodes()
    routed.driver("pauses.py", "square")
    port = routed.wait_paused()[0]["debugger_port"]
    outside(routed).assert_check("debugger-ports", "ok", "all 1")
    # A machine that has no node of the cluster.
    elsewhere = outside(routed, before=["unshare", "-p", "-f", "--mount-proc"])
    elsewhere.assert_check("debugpy", "ok", "unknown: no node", "1 worker with an open debugger has it", "on a node")
    with blocked(routed, port):
        found = outside(routed)
        found.assert_check("debugger-ports", "problem", f":{port}", "no answer in time", "raydbg relay", "--relay")
        found.assert_check("raylets", "ok", "all 2")
        assert found.code == FAILED
    outside(routed).assert_check("debugger-ports", "ok", "all 1")


def test_a_cluster_out_of_reach(routed):
    routed.wait_nodes()
    routed.cut()
    try:
        found = outside(routed)
        assert found.code == UNREACHABLE
        found.assert_check("gcs", "problem")
        # ^C ends it before it has found that out.
        process = routed.popen(routed.outside([routed.raydbg_path, "doctor", "--address", HEAD]))
        process.inner_pid()
        process.send_signal(signal.SIGINT)
        assert process.wait(limit()) != UNREACHABLE
        process.stdin.close()
        process.stdout.close()
    finally:
        routed.join()
