"""Every call reaches its breakpoint, of every kind and of a thousand at once, and no worker opens a port for it: --rounds N runs
that N times, each time with new processes."""

import re

from cluster import PROGRAMS, line_of, wait_for
from test_run import KINDS, NAMES, UNEDITED, Run, all_results, breaks

THOUSAND = PROGRAMS / "thousand.py"
COUNT = 1000
RAYS_PORTS = 2  # most that a worker of Ray's listens on by itself: gRPC


def adapters(cluster):
    """The pids of debugpy's adapters in the cluster: an earlier test's may end late."""
    processes = cluster.run(["ps", "-ewwo", "pid,args"], check=True).stdout
    assert "raylet" in processes, processes
    return set(re.findall(r"^\s*(\d+) .*debugpy/adapter", processes, re.MULTILINE))


def assert_no_door(cluster, pid, earlier):
    """Neither the process listens for a debugger, nor is there an adapter but the earlier ones in the cluster."""
    listening = cluster.run(["ss", "-Hltnp"], check=True).stdout.splitlines()
    own = [line.split()[3] for line in listening if re.search(rf"\bpid={pid}\b", line)]
    assert len(own) <= RAYS_PORTS, own
    assert adapters(cluster) <= earlier


def test_every_kind_of_call_stops_each_time(core_cluster, run_relay, pytestconfig):
    relay = run_relay(core_cluster)
    rounds = pytestconfig.getoption("rounds")
    for _ in range(rounds):
        earlier = adapters(core_cluster)
        run, stops = Run(core_cluster, relay, *breaks(*KINDS)), []
        for pause in run.stops():
            stops.append((pause["task_name"], pause["location"]["line"]))
            assert_no_door(core_cluster, pause["pid"], earlier)
        assert run.end() == all_results()
        assert stops == [(NAMES[name], line_of(UNEDITED, name)) for name in KINDS for _ in (1, 2)]
    print(f"{2 * len(KINDS)} of {2 * len(KINDS)} stops, {rounds} times, and no port")


def test_every_call_hits(core_cluster, run_relay, pytestconfig, tmp_path):
    """None of them stops, so that all are there at once: the relay counts."""
    relay = run_relay(core_cluster)
    location = f"{THOUSAND}:{line_of(THOUSAND, 'task')}"
    for number in range(pytestconfig.getoption("rounds")):
        done, earlier = tmp_path / f"done-{number}", adapters(core_cluster)
        run = Run(core_cluster, relay, "--break", location, "--skip", str(100 * COUNT), kinds=(str(COUNT), done), program=THOUSAND)
        assert run.driver.result("task") == f"{COUNT * (COUNT - 1)} own ran"
        wait_for(lambda: relay.http("GET", "/v1/breakpoints").json["breakpoints"], "the breakpoint is there")
        [breakpoint] = relay.http("GET", "/v1/breakpoints").json["breakpoints"]
        assert breakpoint["hits"] == COUNT, breakpoint
        assert_no_door(core_cluster, run.driver.process.pid, earlier)
        done.write_text("")
        assert run.end() == [("task", f"{COUNT * (COUNT - 1)} own ran")]
    print(f"{COUNT} of {COUNT} calls, {pytestconfig.getoption('rounds')} times")
