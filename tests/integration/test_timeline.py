"""`raydbg timeline` on real clusters: the Trace Event Format, the same spans as ray.timeline(), and what that leaves out."""

import copy
import json
from collections import Counter, defaultdict
from types import SimpleNamespace

import pytest
import trace_checker
from cluster import Cluster, Spec
from conftest import raydbg_path
from waits import limit

NOT_FOUND, USAGE = 3, 2
MILLISECOND = 1000  # us


def pytest_generate_tests(metafunc):
    if "timeline_spec" in metafunc.fixturenames:
        matrix = metafunc.config.getoption("matrix")
        specs = {"ray2.60.0": Spec(),
                 **({"ray2.9.3": Spec(python="3.11", ray="2.9.3", debugpy="1.8.0")} if matrix else {})}
        metafunc.parametrize("timeline_spec", specs.values(), ids=specs.keys(), scope="module")


@pytest.fixture(scope="module")
def spans(timeline_spec):
    """A cluster of its own, for the counts; programs/spans.py has run there, and a part of it goes on."""
    with Cluster(timeline_spec, raydbg_path()) as cluster:
        cluster.driver("spans.py").wait_for("^READY", limit(180))
        path = cluster.directory / "ours.json"
        done = cluster.raydbg("timeline", "-o", str(path))
        assert done.returncode == 0 and "ui.perfetto.dev" in done.stderr, done.stderr
        yield SimpleNamespace(cluster=cluster, note=done.stderr, trace=json.loads(path.read_text()),
                              rays=json.loads((cluster.directory / "spans.json").read_text()))


def bars(trace, name, category="task"):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["name"] == name and e["cat"] == category]


def test_it_obeys_the_format(spans):
    assert trace_checker.faults(spans.trace) == []
    assert len([e for e in spans.trace["traceEvents"] if e["ph"] == "X"]) > 200


def broken(trace, event, **changes):
    """A copy of the trace, with changes to the first event of its kind; None removes a member."""
    trace = copy.deepcopy(trace)
    found = next(e for e in trace["traceEvents"] if e["ph"] == event and e.get("dur", 100) >= 100)
    found.update(changes)
    for name in [name for name, value in changes.items() if value is None]:
        del found[name]
    return trace


@pytest.mark.parametrize("event, changes", [
    ("X", {"pid": "127.0.0.1"}), ("X", {"tid": "worker:1"}), ("X", {"dur": -1}), ("X", {"tid": 99999}), ("X", {"ts": None}),
    ("X", {"cname": "mauve"}), ("M", {"name": "thread_title"}), ("s", {"id": -1}), ("f", {"ts": 1}), ("i", {"s": None})])
def test_the_checker_finds_faults(spans, event, changes):
    assert trace_checker.faults(broken(spans.trace, event, **changes)) != []


def test_the_checker_finds_crossings(spans):
    trace = copy.deepcopy(spans.trace)
    nap = bars(trace, "half_second")[0]
    trace["traceEvents"].append({**nap, "ts": nap["ts"] + 1000})
    assert any("crossing" in fault for fault in trace_checker.faults(trace))


def test_it_agrees_with_ray(spans):
    """Each span of ray.timeline() is there, in the right process, within a millisecond at both ends."""
    ours = defaultdict(list)
    for event in spans.trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] in ("task", "event"):
            name = f"task::{event['name']}" if event["cat"] == "task" else event["name"]
            ours[name].append((event["ts"], event["ts"] + event["dur"]))
    worst = 0
    assert len(spans.rays) > 150
    for event in spans.rays:
        start, end = event["ts"], event["ts"] + event["dur"]
        offs = [max(abs(start - a), abs(end - b)) for a, b in ours[event["cat"]]]
        nearest = min(range(len(offs)), key=offs.__getitem__, default=None)
        assert nearest is not None and offs[nearest] <= MILLISECOND, (event, offs)
        worst = max(worst, offs[nearest])
        ours[event["cat"]].pop(nearest)  # each of ours matches once
    print("worst difference", worst, "us, of", len(spans.rays))


def test_what_ray_leaves_out(spans):
    """Failed attempts with their errors, what runs, what waits, and who submitted what."""
    fails = bars(spans.trace, "fails")
    assert sorted(e["args"]["attempt"] for e in fails) == [0, 1, 2]
    assert {e["args"]["state"] for e in fails} == {"failed"} and "as planned" in fails[0]["args"]["error"]
    [killed] = bars(spans.trace, "killed")
    assert killed["args"]["state"] == "failed" and killed["args"]["error_type"] == "WORKER_DIED"
    assert 2e6 < killed["dur"] < 10e6
    [at_once] = bars(spans.trace, "killed_at_once")
    assert at_once["args"]["state"] == "failed"
    [running] = bars(spans.trace, "runs_on")
    assert running["args"]["state"] == "running" and running["dur"] > 3e6
    for name in ("waits_for_ever", "takes"):
        [waiting] = bars(spans.trace, name, "waiting")
        assert waiting["args"]["state"] == "waiting" and waiting["dur"] > 3e6 and not bars(spans.trace, name)
    phases = Counter(e["name"] for e in spans.trace["traceEvents"] if e.get("cat") == "waiting")
    assert phases["waits for its arguments"] >= 1 and phases["waits for a node and a worker"] >= 1
    assert {e["name"] for e in spans.trace["traceEvents"] if e["ph"] == "i"} == {"process died"}
    arrows = {e["id"]: e["tid"] for e in spans.trace["traceEvents"] if e["ph"] == "s"}
    [parent] = bars(spans.trace, "parent")
    assert len(arrows) > 30 and list(arrows.values()).count(parent["tid"]) >= 5


def test_concurrent_calls_have_lanes(spans):
    """Of ten calls of an actor with four threads at most four are at one time, each in a lane of its process."""
    naps = bars(spans.trace, "Threads.nap")
    lanes = {e["tid"] for e in naps}
    assert len(naps) == 10 and len({e["pid"] for e in naps}) == 1 and 2 <= len(lanes) <= 4
    names = {e["args"]["name"] for e in spans.trace["traceEvents"] if e["name"] == "thread_name" and e["tid"] in lanes}
    assert len({name.split(" (")[0] for name in names}) == 1 and len(names) == len(lanes)


def test_the_picture(spans):
    done = spans.cluster.raydbg("timeline", env={"LC_ALL": "C.UTF-8"})
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and "5 failed, 1 running, 2 waiting" in lines[0] and len(lines) < 40, done.stdout
    [_] = [line for line in lines if line.startswith("pid") and len(line) == 100 and line.endswith("█")]  # runs on
    assert any(line.startswith("waiting, at most") for line in lines)
    assert any("x" in line[26:] for line in lines if line.startswith("pid")), done.stdout
    plain = spans.cluster.raydbg("timeline", env={"LC_ALL": "C"}).stdout
    assert plain.isascii() and "#" in plain


def test_selection(spans):
    done = spans.cluster.raydbg("timeline", "--job", "01", "-o", "-")
    trace = json.loads(done.stdout)
    assert trace_checker.faults(trace) == [] and bars(trace, "quick")
    none = spans.cluster.raydbg("timeline", "--job", "77")
    assert none.returncode == NOT_FOUND and "there is no job '77'" in none.stderr
    assert spans.cluster.raydbg("timeline", "quick").returncode == USAGE
    unwritable = spans.cluster.raydbg("timeline", "-o", "/nonexistent/t.json")
    assert unwritable.returncode == 1 and "/nonexistent/t.json" in unwritable.stderr


def test_slow_names_each_cause(spans):
    """`raydbg slow` of a second job, which has ended: each of its slow groups with its cause, and not the healthy one."""
    assert spans.cluster.driver("slow.py").wait(limit(180)) == 0
    report = json.loads(spans.cluster.raydbg("slow", "--job", "02", "--format", "json").stdout)
    causes = {(finding["name"], finding["code"]) for finding in report["findings"]}
    assert causes - {("new processes", "process_starts")} == {  # how fast processes start is the machine's
        ("tiny", "too_small"), ("uneven", "uneven"), ("One.step", "one_actor"), ("one_by_one", "get_loop")}, report
    assert report["cpus"] == 8 and report["nodes"] == 2 and report["unknown"] == [] and report["changes_dropped"] == 0
    assert report["tasks"] == 4 + 16 + 1000 + 12 + 30 + 1 + 8 + 1 + 6
    [tiny] = [finding for finding in report["findings"] if finding["name"] == "tiny"]
    assert tiny["count"] == 1000 and tiny["median_execute_ms"] < 1 < tiny["figures"]["overhead_ms"] * 2
    text = spans.cluster.raydbg("slow").stdout
    assert text.startswith("job 02") and "its 6 calls of called never overlap" in text, text
    healthy = spans.cluster.raydbg("slow", "healthy")
    assert healthy.returncode == 0 and "nothing stands out among 1 name of tasks; looked for" in healthy.stdout
