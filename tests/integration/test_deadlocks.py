"""`raydbg why` on tasks that wait for each other in a circle: a deadlock is told from what only looks like one.

--rounds N runs the program N times, each time with new processes.
"""

import json

from cluster import Spec, wait_for

LOCKED = ("call_one", "call_two", "outer", "inner")
FALSE_ALARMS = ("calls_and_computes", "calls_and_gets_another", "one_thread_waits", "polls", "lends_its_cpu")
WANTED = {**dict.fromkeys(LOCKED, "deadlock"), **dict.fromkeys(FALSE_ALARMS, "may_wait")}
# Ray's gauge is up to 16 s old, so that nothing can be proven before; a busy machine takes longer.
PROOF_S = 240
NOT_FOUND = 3


def pytest_generate_tests(metafunc):
    specs = {"ray2.60.0": Spec()}
    if metafunc.config.getoption("matrix"):
        specs["ray2.9.3"] = Spec(python="3.11", ray="2.9.3", debugpy="1.8.0")
    metafunc.parametrize("spec", specs.values(), ids=specs.keys())


def why(cluster, name):
    """The report; its code is "" of what Ray has not heard of yet."""
    done = cluster.raydbg("why", "--format", "json", name)
    if done.returncode == NOT_FOUND:
        return {"code": ""}
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def check_round(cluster, suffix):
    driver = cluster.driver("deadlocks.py", suffix)
    driver.wait_for("^READY", 300)
    seen = {}

    def all_are_told():
        for name, code in WANTED.items():
            if seen.get(name, {}).get("code") != code:
                seen[name] = report = why(cluster, name + suffix)
                assert report["code"] != "deadlock" or name in LOCKED, report
        return all(seen[name]["code"] == code for name, code in WANTED.items())
    wait_for(all_are_told, PROOF_S, lambda: f"all are told apart: {seen}", every=1)
    for name in FALSE_ALARMS:
        assert why(cluster, name + suffix)["code"] == "may_wait"
    driver.stop()
    return seen


def test_deadlocks_and_false_alarms(spec, cluster_factory, pytestconfig):
    cluster = cluster_factory(spec)
    for number in range(pytestconfig.getoption("rounds")):
        seen = check_round(cluster, f"_{number}")
        print(f"round {number + 1}:", {name: report["code"] for name, report in seen.items()}, flush=True)
    assert "two looks 1.5 s apart agree" in " ".join(seen["call_one"]["details"])
    assert seen["call_one"]["cause"].startswith("DEADLOCK with call_two_")
    assert seen["inner"]["cause"].startswith("DEADLOCK with outer_")
    for name, who in (("calls_and_computes", "calls_and_computes"), ("calls_and_gets_another", "sleeper"), ("polls", "polls")):
        details = " ".join(seen[name]["details"])
        assert f"no deadlock: {who}" in details and "is not in ray.get" in details, details
