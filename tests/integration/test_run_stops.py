"""`raydbg run --post-mortem` and `--pause-all`, and breakpoints that count, on a real two-node Ray."""

import re

import pytest
from cluster import PROGRAMS, line_of
from test_run import KINDS, NAMES, UNEDITED, Run, all_results

STOPS = PROGRAMS / "stops.py"
FAILING = ("task", "actor", "threaded", "asynchronous", "stream", "calm")
FAILING_NAMES = {"task": "task", "actor": "Work.step", "threaded": "Work.step", "asynchronous": "Asynchronous.step", "stream": "stream"}


class RunStops(Run):
    """`raydbg run` of stops.py; `words` are its arguments."""

    def __init__(self, cluster, relay, *arguments, words):
        super().__init__(cluster, relay, *arguments, kinds=words, program=STOPS)

    def look(self, pause, *expressions):
        """What `raydbg attach` prints for the stack and for these; the task stays stopped."""
        commands = ["where", *(f"p {one}" for one in expressions), "detach"]
        return self.raydbg("attach", "%d@%s" % (pause["pid"], pause["node_ip"]), input="\n".join(commands) + "\n")


def location(name, program=STOPS):
    return f"{program}:{line_of(program, name)}"



def test_post_mortem_of_every_kind_of_call(core_cluster, run_relay):
    relay = run_relay(core_cluster)
    run = RunStops(core_cluster, relay, "--post-mortem", words=("fails", *FAILING))
    stops = []
    for pause in run.stops():
        stops.append((pause["task_name"], pause["reason"], pause["location"]["line"]))
        if len(stops) == 1:
            told = run.driver.wait_for(r"raydbg: task \(\w+\) on \S+ pid (\d+) stopped by an exception at stops\.py:(\d+)")
            assert (int(told[1]), int(told[2])) == (pause["pid"], line_of(STOPS, "lose"))
            console = run.look(pause, "lost", "n")
            assert re.search(r"^6$", console, re.MULTILINE) and re.search(r"^2$", console, re.MULTILINE), console
            assert "in task" in console and "ValueError" in console, console
    assert run.end() == [(kind, "2" if kind == "calm" else "ValueError: lost 6") for kind in FAILING]
    untold = {"stream"} if core_cluster.spec.ray == "2.9.3" else set()
    assert stops == [(FAILING_NAMES[kind], "exception", line_of(STOPS, "lose")) for kind in FAILING if kind not in {"calm"} | untold]
    assert ("this version of Ray does not tell what was raised" in run.driver.output()) == bool(untold)


def test_post_mortem_of_the_driver_and_of_tasks_that_are_meant(cluster, run_relay):
    relay = run_relay(cluster)
    run = RunStops(cluster, relay, "--post-mortem", "--task", "Work.*", words=("fails", "task", "actor"))
    pause = run.stop()
    assert (pause["task_name"], pause["location"]["line"]) == ("Work.step", line_of(STOPS, "lose"))
    relay.go_on(pause)
    assert run.stop() is None
    assert [kind for kind, _ in run.end()] == ["task", "actor"]
    run = RunStops(cluster, relay, "--post-mortem", words=("fails", "driver"))
    pause = run.stop()
    assert (pause["task_name"], pause["reason"]) == ("driver stops.py", "exception")
    assert pause["location"]["line"] == line_of(STOPS, "lose")
    relay.go_on(pause)
    assert run.driver.wait() == 1 and "ValueError: lost 6" in run.driver.output()


def test_nothing_is_traced_before_something_fails(cluster, run_relay):
    relay = run_relay(cluster)
    run = RunStops(cluster, relay, "--post-mortem", words=("fails", "calm", "task"))
    pause = run.stop()
    processes = relay.http("GET", "/v1/breakpoints").json["processes"]
    assert processes["debugged"] == 1 and processes["connected"] >= 2, processes
    relay.go_on(pause)
    assert run.stop() is None


def test_pause_all(core_cluster, run_relay):
    relay = run_relay(core_cluster)
    kinds = tuple(kind for kind in KINDS if kind not in ("driver", "process"))
    run = Run(core_cluster, relay, "--pause-all", kinds=kinds)
    stops = []
    for pause in run.stops():
        stops.append((pause["task_name"], pause["location"]["line"]))
    assert run.end() == all_results(kinds)
    assert stops == [(NAMES[name], line_of(UNEDITED, name)) for name in kinds for _ in (1, 2)]


def test_pause_all_of_one_task(cluster, run_relay):
    relay = run_relay(cluster)
    run = Run(cluster, relay, "--pause-all", "--task", "Work.*", kinds=("task", "actor"))
    for _ in (1, 2):
        pause = run.stop()
        assert (pause["task_name"], pause["location"]["line"]) == (NAMES["actor"], line_of(UNEDITED, "actor"))
        relay.go_on(pause)
    assert run.stop() is None
    assert run.end() == all_results(("task", "actor"))


RANKS, STEPS = 4, 50


@pytest.mark.parametrize("which, stops", [
    (("--first",), 1), (("--hit", str(3 * STEPS)), 1), (("--skip", str(RANKS * STEPS - 2)), 2),
    (("--rank", "2", "--first"), 1), (("--rank", "7"), 0),
])
def test_hits_are_counted_over_all_workers(cluster, run_relay, which, stops):
    relay = run_relay(cluster)
    run = RunStops(cluster, relay, "--break", location("step"), *which, words=("ranks", str(RANKS), str(STEPS)))
    seen = []
    for pause in run.stops():
        seen.append(pause)
        if "--rank" in which:
            assert "'2'" in run.look(pause, "__import__('os').environ['RANK']")
    assert len(seen) == stops, seen
    assert run.end() == [("ranks", str(RANKS * STEPS))]


def test_one_node(cluster, run_relay):
    relay = run_relay(cluster)
    run = RunStops(cluster, relay, "--break", location("step"), "--node", "127.0.0.2", "--hit", "1",
                   words=("ranks", str(RANKS), "1"))
    pause = run.stop()
    assert pause["node_ip"] == "127.0.0.2"
    relay.go_on(pause)
    assert run.stop() is None
    assert run.end() == [("ranks", str(RANKS))]
