"""`raydbg run` on a real Ray whose worker node has a network namespace of its own: its workers reach the relay with TLS only, and
listen on nothing for a debugger."""

import json
import re
import ssl

import pytest
from certificates import Authority
from cluster import Spec, line_of, wait_for
from dap_client import DapError
from launch_editor import LaunchEditor
from routed import FAR, NEAR, ApartCluster
from test_env import Jobs
from test_launch import next_stop
from test_run import KINDS, NAMES, UNEDITED, Run, all_results, breaks


@pytest.fixture(scope="module")
def apart():
    from conftest import raydbg_path
    with ApartCluster(Spec(), raydbg_path()) as cluster:
        cluster.wait_nodes()
        yield cluster


@pytest.fixture
def nodes(apart):
    """The cluster, its drivers ended with the test."""
    yield apart
    apart.join()
    apart.stop_drivers()


class Away:
    """A relay that other nodes can dial, at the head, and what is run with it."""

    def __init__(self, cluster, run_relay, directory):
        authority = Authority(directory)
        certificate, key = authority.issue("relay", hosts=["0.0.0.0", NEAR])
        self.cluster = cluster
        self.relay = run_relay(cluster, "--tls-cert", certificate, "--tls-key", key, listen=["0.0.0.0:0"],
                               tls=ssl.create_default_context(cafile=authority.ca))
        self.address = f"https://{NEAR}:{self.relay.address[1]}"
        self.options = ["--relay-ca", authority.ca]

    def run(self, *arguments, **options):
        return Run(self.cluster, self.relay, *self.options, *arguments, address=self.address, **options)


@pytest.fixture
def away(nodes, run_relay, tmp_path):
    return Away(nodes, run_relay, tmp_path)


def test_every_kind_of_call_stops_on_the_other_node(away):
    check_every_kind(away)


def test_every_kind_of_call_stops_on_a_node_that_nothing_can_connect_to(away):
    """Ray's own processes connect to its workers' gRPC ports; all others are closed."""
    assert away.cluster.accepts()
    with away.cluster.rays_ports_only():
        assert not away.cluster.accepts()
        check_every_kind(away)


def check_every_kind(away):
    run = away.run(*breaks(*KINDS))
    stops = []
    for pause in run.stops():
        stops.append((pause["task_name"], pause["location"]["line"], pause["node_ip"] == FAR))
        assert (pause["debugger"], pause["state"], pause["reason"]) == ("pydevd", "held", "breakpoint")
    assert run.end() == all_results()
    assert stops == [(NAMES[name], line_of(UNEDITED, name), name != "driver") for name in KINDS for _ in (1, 2)]
    assert "nothing stops on" not in run.driver.output()


def test_listed_stepped_and_continued_and_no_port_is_open(away):
    run = away.run(kinds=("task", "task"))
    location = f"{UNEDITED}:{line_of(UNEDITED, 'task')}"
    said = away.cluster.raydbg("break", location, "--if", "n == 2", *away.options, env=run.env)
    assert (said.returncode, "nothing stops on" in said.stderr) == (0, False), said.stderr
    pause = run.stop()
    assert (pause["task_name"], pause["node_ip"]) == ("task", FAR)
    before = away.cluster.listening(pause["pid"])
    row = next(r for r in json.loads(run.raydbg("list", "--format", "json", *away.options)) if r["pid"] == pause["pid"])
    assert (row["task_name"], row["state"], row["debugger"]) == ("task", "held", "pydevd")
    console = run.raydbg("attach", "task", *away.options, input="p n\nnext\np doubled\nbreak --clear\n")
    assert re.search(r"^2$", console, re.MULTILINE) and re.search(r"^4$", console, re.MULTILINE), console
    run.raydbg("break", "--clear", "--all", *away.options)
    run.raydbg("release", "task", *away.options)
    for _ in run.stops():
        pass
    assert run.end() == all_results(("task", "task"))
    # Ray's workers have gRPC, and no more.
    assert len(before) <= 2 and not any(address.startswith("127.") for address in before), before


def test_a_killed_relay_leaves_the_task_stopped(away):
    run = away.run(*breaks("actor"), kinds=("actor",))
    pause = run.stop()
    assert pause["node_ip"] == FAR
    away.relay.kill9()
    away.relay.restart()
    again = wait_for(lambda: next((p for p in away.relay.pauses() if p["location"]), None), "it is taken over")
    assert (again["pid"], again["location"]) == (pause["pid"], pause["location"])
    assert not run.driver.results()
    wait_for(lambda: away.relay.http("GET", "/v1/breakpoints").json["processes"]["connected"] == 2, "the agents dial again")
    console = run.raydbg("attach", "Work.step", *away.options, input="p n\nnext\np doubled\ncontinue\n")
    assert re.search(r"^1$", console, re.MULTILINE) and re.search(r"^2$", console, re.MULTILINE), console
    for pause in run.stops():  # the second call
        assert pause["location"]["line"] == line_of(UNEDITED, "actor")
    assert run.end() == all_results(("actor",))


def test_without_relay_and_keeper_the_task_goes_on(away):
    run = away.run(*breaks("actor"), kinds=("actor", "task"))
    run.stop()
    away.relay.kill9()
    away.relay.end_keeper()
    assert run.end() == all_results(("actor", "task"))


def test_a_cut_network_is_told_and_the_task_stays_where_it_is(away):
    run = away.run(*breaks("actor"), kinds=("actor",))
    pause = run.stop()
    client = away.relay.join("websocket", task="Work.step")
    thread = client.stopped()["threadId"]
    with away.cluster.cut_port(away.relay.address[1]):
        client.wait_event("output", lambda body: "nothing comes back from the worker's machine" in body["output"])
        with pytest.raises(DapError, match="cannot be reached for now"):
            client.stack(thread)
        assert [(p["pid"], p["location"]) for p in away.relay.pauses() if p["location"]] == [(pause["pid"], pause["location"])]
    client.wait_event("output", lambda body: "the worker answers again" in body["output"])
    client.stopped()
    assert client.step("next", thread)["reason"] == "step"
    assert client.stack(thread)[0]["line"] == pause["location"]["line"] + 1
    client.resume(thread)
    client.stopped()  # the second call
    client.resume(thread)
    assert run.end() == all_results(("actor",))


def test_a_worker_that_ends_is_no_cut_network(away):
    run = away.run(*breaks("actor"), kinds=("actor",))
    pause = run.stop()
    client = away.relay.join("websocket", task="Work.step")
    client.stopped()
    away.cluster.run(["kill", "-9", str(pause["pid"])], check=True)
    client.wait_event("terminated")
    assert "nothing comes back" not in client.text()
    wait_for(lambda: run.driver.process.poll() is not None, "the program ends")


def test_a_job_of_raydbg_env(away):
    """Its workers and its driver have from the cluster's store what they need."""
    jobs = Jobs(away.cluster, away.relay)
    jobs.env["RAYDBG_RELAY"] = away.address
    driver = jobs.submit(jobs.runtime_env(*breaks("task", "driver"), *away.options), UNEDITED, "task", "driver")
    assert list(jobs.stops(driver)) == [(NAMES[name], line_of(UNEDITED, name)) for name in ("task", "driver") for _ in (1, 2)]
    assert "RESULT driver 4 - -" in driver.output()


def test_an_editors_launch(away):
    """F5: a gutter breakpoint stops a task of the other node."""
    cluster = away.cluster
    env = {"HOME": away.relay.env["HOME"], "XDG_STATE_HOME": away.relay.env["XDG_STATE_HOME"], "RAYDBG_START_RELAY": "0",
           "RAY_ADDRESS": cluster.head(), "RAYDBG_RELAY": away.address}
    editor = LaunchEditor(cluster.raydbg_argv("dap", "--launch", *away.options), env, cluster.directory, popen=cluster.popen)
    try:
        editor.launch({UNEDITED: [line_of(UNEDITED, "task")]}, program=str(UNEDITED), args=["task"],
                      python=str(cluster.venv / "bin/python"), cwd=str(cluster.directory))
        stops = []
        for _ in (1, 2):
            stop, stopped_at = next_stop(editor, stops[-1:])
            stops.append(stopped_at)
            editor.resume(stop["threadId"])
        assert stops == [(line_of(UNEDITED, "task"), str(n)) for n in (1, 2)]
        assert editor.exit_code() == 7
        editor.end()
    finally:
        editor.kill()


def test_a_relay_of_loopback_only_says_which_nodes_it_misses(nodes, run_relay):
    relay = run_relay(nodes)
    run = Run(nodes, relay, *breaks("task", "driver"), kinds=("task", "driver"))
    run.driver.wait_for(rf"nothing stops on node {FAR}: its workers cannot dial the relay; they can if it is started by raydbg relay "
                        r"--listen 0\.0\.0\.0:4713 --tls-cert F --tls-key F")
    for pause in run.stops():
        assert pause["task_name"] == NAMES["driver"]
    assert run.end() == all_results(("task", "driver"))
