"""`raydbg why` on tasks that wait for one which is stopped at a breakpoint, and who has that."""

import json

import pytest
import trace_checker
from cluster import PROGRAMS, Spec, line_of, wait_for
from waits import limit

CHAIN = ("gets", "takes", "needs_b", "get", "behind")
LEGACY = (("RAY_DEBUG", "legacy"),)
PAUSE_S = limit(180)  # a first debugpy compiles itself, on a busy machine for long
SPECS = {"debugpy": Spec(), "pdb": Spec(env=LEGACY)}


def why(cluster, name, env=None):
    done = cluster.raydbg("why", "--format", "json", name, env=env)
    return json.loads(done.stdout) if done.returncode == 0 else {"code": done.stderr}


def check_chain(cluster, suffix, words, env=None):
    """Each of them is told that it waits for the stopped task, in these words."""
    for name in CHAIN:
        said = {}

        def told(name=name, said=said):
            said.update(why(cluster, name + suffix, env))
            return said["code"] == "waits_for_paused" and words in said["cause"]
        wait_for(told, lambda name=name, said=said: f"{name} waits for the pause: {said}", every=0.5)
        assert f"for stopped{suffix} (" in said["cause"], said
        assert any(line.startswith("raydbg attach ") for line in said["next"]), said
    assert why(cluster, "needs_b" + suffix, env)["cause"].startswith("it waits for stopped")
    assert why(cluster, "gets" + suffix, env)["cause"].startswith("it may wait for stopped")


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_what_waits_for_a_pause(spec, cluster_factory):
    cluster = cluster_factory(spec)
    cluster.driver("behind_pause.py", "_1").wait_for("^READY", limit(300))
    if not spec.env:
        cluster.wait_paused(timeout=PAUSE_S)
    words = "stopped at a breakpoint and waits for a debugger"
    if spec.env:
        words = f"stopped at behind_pause.py:{line_of(PROGRAMS / 'behind_pause.py', 'stopped')} in Ray's legacy pdb and waits"
    check_chain(cluster, "_1", words)
    report = why(cluster, "stopped_1")
    assert report["code"] == "paused" and words in report["cause"], report


def test_who_has_it(cluster_factory, run_relay):
    """A relay knows the client that drives, and the line."""
    cluster = cluster_factory(Spec())
    driver = cluster.driver("behind_pause.py", "_2")
    driver.wait_for("^READY", limit(300))
    cluster.wait_paused(timeout=PAUSE_S)
    relay = run_relay(cluster)
    client = relay.join(name="alice", task="stopped_2")
    client.stopped()
    env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"]}
    location = f"behind_pause.py:{line_of(PROGRAMS / 'behind_pause.py', 'stopped')}"
    check_chain(cluster, "_2", f"stopped at {location}: ", env)
    report = why(cluster, "stopped_2", env)
    assert "through the relay" in report["cause"] and location in report["cause"], report
    answer = relay.http("GET", "/v1/why/takes_2")
    assert answer.status == 200 and answer.json["code"] == "waits_for_paused" and location in answer.json["cause"], answer
    assert answer.json["chain"] == why(cluster, "takes_2", env)["chain"]
    assert "stopped_2" in {row["name"] for row in relay.http("GET", "/v1/why").json["rows"]}
    assert "Ray debugger is listening" in relay.http("GET", "/v1/logs/stopped_2").body.decode()
    assert "gcs_server" in relay.http("GET", "/v1/logs/gcs").body.decode()
    for path, status in (("/v1/why/nobody", 404), ("/v1/logs/nobody", 404)):
        assert relay.http("GET", path).status == status and relay.http("GET", path, token="").status == 401
    assert relay.http("POST", "/v1/why/takes_2").status == 405
    client.close()
    wait_for(lambda: "no client is attached" in why(cluster, "stopped_2", env)["cause"], "the client has left", every=0.3)


def test_the_timeline_has_the_pause(cluster_factory, run_relay, tmp_path):
    """The relay remembers it: a part of the task's span, with its location; and Ray's own state is told right while it is held."""
    cluster = cluster_factory(Spec())
    driver = cluster.driver("behind_pause.py", "_5")
    driver.wait_for("^READY", limit(300))
    cluster.wait_paused(timeout=PAUSE_S)
    relay = run_relay(cluster)
    env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"]}

    def history():
        return relay.http("GET", "/v1/pauses/history").json["pauses"]

    def spans():
        done = cluster.raydbg("timeline", "-o", str(tmp_path / "trace.json"), env=env)
        assert done.returncode == 0, done.stderr
        trace = json.loads((tmp_path / "trace.json").read_text())
        assert trace_checker.faults(trace) == []
        shown = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        [run] = [event for event in shown if event["name"] == "stopped_5" and event["cat"] == "task"]
        return run, [event for event in shown if event["cat"] == "paused"]

    client = relay.join(name="alice", task="stopped_5")
    thread = client.stopped()["threadId"]
    wait_for(lambda: history()[-1]["location"], "its location is known")
    run, [paused] = spans()
    line = line_of(PROGRAMS / "behind_pause.py", "stopped")
    assert (run["args"]["state"], paused["args"]["line"]) == ("paused", line), (run, paused)
    assert paused["args"]["file"].endswith("behind_pause.py") and paused["tid"] == run["tid"]
    assert run["ts"] <= paused["ts"] and paused["ts"] + paused["dur"] == run["ts"] + run["dur"]
    client.resume(thread)
    wait_for(lambda: history()[-1]["ended"], "it has ended")
    client.close()
    _, after = spans()
    assert after[0]["ts"] == paused["ts"] and after[0]["dur"] >= paused["dur"]


def test_in_the_console(cluster_factory, run_relay):
    """`why` and `logs` by way of a relay, and without one."""
    cluster = cluster_factory(Spec())

    def check(suffix, *options, **more):
        driver = cluster.driver("behind_pause.py", suffix)
        driver.wait_for("^READY", limit(300))
        cluster.wait_paused(timeout=PAUSE_S)
        wait_for(lambda: why(cluster, "takes" + suffix)["code"] == "waits_for_paused", "Ray tells of what waits", every=0.5)
        commands = f"why takes{suffix}\nlogs\nwhy nobody{suffix}\nlogs stopped{suffix}\n"
        done = cluster.raydbg("attach", "stopped" + suffix, "--quiet", *options, input=commands, timeout=limit(120), **more)
        assert f"it waits for stopped{suffix}" in done.stdout, done.stdout + done.stderr
        assert done.stdout.count("Ray debugger is listening") == 2, done.stdout + done.stderr
        assert "knows no task" in done.stderr and "\033" not in done.stdout, done.stderr
        driver.stop()
        return done.stdout
    assert "this console has it" in check("_3", "--no-relay")
    relay = run_relay(cluster)
    env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"]}
    assert "through the relay" in check("_4", env=env)
