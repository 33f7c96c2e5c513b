"""Every call of a thousand at once reaches its breakpoint: --rounds N runs that N times, each time with new processes."""

from cluster import PROGRAMS, line_of, wait_for
from test_run import Run

THOUSAND = PROGRAMS / "thousand.py"
COUNT = 1000


def test_every_call_hits(core_cluster, run_relay, pytestconfig, tmp_path):
    """None of them stops, so that all are there at once: the relay counts."""
    relay = run_relay(core_cluster)
    place = f"{THOUSAND}:{line_of(THOUSAND, 'task')}"
    for number in range(pytestconfig.getoption("rounds")):
        done = tmp_path / f"done-{number}"
        run = Run(core_cluster, relay, "--break", place, "--skip", str(100 * COUNT), kinds=(str(COUNT), done), program=THOUSAND)
        assert run.driver.result("task") == str(COUNT * (COUNT - 1))
        wait_for(lambda: relay.http("GET", "/v1/breakpoints").json["breakpoints"], "the breakpoint is there")
        [breakpoint] = relay.http("GET", "/v1/breakpoints").json["breakpoints"]
        assert breakpoint["hits"] == COUNT, breakpoint
        done.write_text("")
        assert run.end() == [("task", str(COUNT * (COUNT - 1)))]
    print(f"{COUNT} of {COUNT} calls, {pytestconfig.getoption('rounds')} times")
