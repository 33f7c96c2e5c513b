"""`raydbg why` on tasks that wait for each other in a circle: a deadlock is told from what only looks like one.

--rounds N runs the program N times, each time with new processes.
"""

import json
import re
import time

from cluster import Spec, wait_for
from waits import limit

LOCKED = ("call_one", "call_two", "outer", "inner")
FALSE_ALARMS = ("calls_and_computes", "calls_and_gets_another", "one_thread_waits", "polls", "lends_its_cpus")
# The task that a false alarm's report has to name: it is not in ray.get.
GOES_ON = {"calls_and_computes": "calls_and_computes", "calls_and_gets_another": "sleeper", "polls": "polls"}
WANTED = {**dict.fromkeys(LOCKED, "deadlock"), **dict.fromkeys(FALSE_ALARMS, "may_wait")}
# Ray's gauge is up to 16 s old, so that nothing can be proven before; a busy machine takes longer.
PROOF_S = 240
NOT_FOUND = 3
LOOKS_APART_S = 1.5  # at least: a busy machine takes longer to come to the second look


def pytest_generate_tests(metafunc):
    specs = {"ray2.60.0": Spec()}
    if metafunc.config.getoption("matrix"):
        specs["ray2.9.3"] = Spec(python="3.11", ray="2.9.3", debugpy="1.8.0")
    metafunc.parametrize("spec", specs.values(), ids=specs.keys())


def why(cluster, name):
    """The report, and how long it took; its code is "" of what Ray has not heard of yet."""
    start = time.monotonic()
    done = cluster.raydbg("why", "--format", "json", name)
    if done.returncode == NOT_FOUND:
        return {"code": ""}
    assert done.returncode == 0, done.stdout + done.stderr
    return {**json.loads(done.stdout), "took_s": time.monotonic() - start}


def names_what_goes_on(name, report):
    details = " ".join(report["details"])
    return f"no deadlock: {GOES_ON[name]}" in details and "is not in ray.get" in details


def is_told(name, report):
    """A call that has waited for less than two seconds may only be on its way (WHY_GRAPH_REST_MS): its caller "may_wait" as
    soon as it is made, and the circle, with the reason why it is no deadlock, is in later reports."""
    return report["code"] == WANTED[name] and (name not in GOES_ON or names_what_goes_on(name, report))


def check_round(cluster, suffix):
    driver = cluster.driver("deadlocks.py", suffix)
    driver.wait_for("^READY", limit(300))
    seen = {}

    def all_are_told():
        for name in WANTED:
            if name not in seen or not is_told(name, seen[name]):
                seen[name] = report = why(cluster, name + suffix)
                assert report["code"] != "deadlock" or name in LOCKED, report
        return all(is_told(name, seen[name]) for name in WANTED)
    wait_for(all_are_told, lambda: f"all are told apart: {seen}", every=1, most=PROOF_S)
    for name in FALSE_ALARMS:
        seen[name] = why(cluster, name + suffix)
        assert is_told(name, seen[name]), seen[name]
    driver.stop()
    return seen


def test_deadlocks_and_false_alarms(spec, cluster_factory, pytestconfig):
    cluster = cluster_factory(spec)
    for number in range(pytestconfig.getoption("rounds")):
        seen = check_round(cluster, f"_{number}")
        print(f"round {number + 1}:", {name: report["code"] for name, report in seen.items()}, flush=True)
    apart_s = float(re.search(r"two looks (\d+\.\d) s apart agree", " ".join(seen["call_one"]["details"])).group(1))
    assert LOOKS_APART_S <= apart_s <= round(seen["call_one"]["took_s"], 1), seen["call_one"]
    assert seen["call_one"]["cause"].startswith("DEADLOCK with call_two_")
    assert seen["inner"]["cause"].startswith("DEADLOCK with outer_")
