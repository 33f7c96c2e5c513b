"""`raydbg run` on a real two-node Ray: a program that nobody has edited stops at its lines, and ends as it would have."""

import json
import re
import shutil
import time

import pytest
from cluster import PROGRAMS, Driver, line_of, wait_for
from waits import limit

UNEDITED, RANKS = PROGRAMS / "unedited.py", PROGRAMS / "ranks.py"
KINDS = ("task", "own_env", "actor", "threaded", "asynchronous", "process", "driver")
NAMES = {"task": "task", "own_env": "own_env", "actor": "Work.step", "threaded": "Threaded.step",
         "asynchronous": "Asynchronous.step", "process": "driver unedited.py", "driver": "driver unedited.py"}


def result(name, n):
    variable = {"own_env": "another", "driver": "-"}.get(name, "own")
    return f"{2 * n} {variable} {'-' if name == 'driver' else 'ran'}"


def next_stop(relay, driver, most):
    """The next pause that has stopped at a line, its task known; None once the driver has ended."""
    def find():
        if driver.process.poll() is not None:
            return "ended"
        return next((p for p in relay.pauses() if p["location"] and p["task_name"]), None)
    found = wait_for(find, lambda: f"a stop: {relay.pauses()} {driver.output()}", every=0.2, most=most)
    return None if found == "ended" else found


def stops_of(relay, driver, most):
    """All of them; each goes on when the next is asked for."""
    while pause := next_stop(relay, driver, most):
        yield pause
        relay.go_on(pause)


class Run:
    """`raydbg run` in the cluster, with a relay of its own home."""

    def __init__(self, cluster, relay, *arguments, kinds=KINDS, program=UNEDITED, python=None, cwd=None, address=None):
        self.cluster, self.relay = cluster, relay
        self.env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"],
                    "RAYDBG_RELAY": address or "%s:%d" % relay.address}
        log = cluster.directory / f"run-{time.monotonic_ns()}.log"
        with log.open("wb") as output:
            process = cluster.raydbg_popen("run", *arguments, "--", *(python or [cluster.venv / "bin/python"]), "-u",
                                           program, *kinds, env=self.env, cwd=cwd, stdout=output, stderr=output)
        self.driver = Driver(process, log)
        cluster.drivers.append(self.driver)

    def raydbg(self, *arguments, **options):
        done = self.cluster.raydbg(*arguments, env=self.env, **options)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def stop(self):
        return next_stop(self.relay, self.driver, limit(120))

    def stops(self):
        return stops_of(self.relay, self.driver, limit(120))

    def end(self):
        assert self.driver.wait(limit(120)) == 7, self.driver.output()
        return [(name, value.strip()) for name, value in self.driver.results()]


def breaks(*names, program=UNEDITED):
    return [word for name in names for word in ("--break", f"{program}:{line_of(program, name)}")]


def all_results(kinds=KINDS):
    return [(name, result(name, n)) for name in kinds for n in (1, 2)]


def test_every_kind_of_call_stops(core_cluster, run_relay):
    relay = run_relay(core_cluster)
    run = Run(core_cluster, relay, *breaks(*KINDS))
    stops = []
    for pause in run.stops():
        stops.append((pause["task_name"], pause["location"]["line"]))
        assert (pause["debugger"], pause["state"], pause["reason"]) == ("pydevd", "held", "breakpoint")
    assert run.end() == all_results()
    assert stops == [(NAMES[name], line_of(UNEDITED, name)) for name in KINDS for _ in (1, 2)]
    assert relay.http("GET", "/v1/breakpoints").json["breakpoints"] == []


def test_a_driver_of_uv_run(cluster, run_relay, tmp_path):
    """Ray runs its workers by `uv run`, too, in copies of the directory, for which the driver's functions have the
    original's name."""
    program = tmp_path / "unedited.py"
    shutil.copy(UNEDITED, program)
    relay = run_relay(cluster)
    uv = [cluster.venv / "bin/uv", "run", "--no-project", "--offline", "--python", cluster.venv / "bin/python", "python"]
    locations = [word for name in ("task", "driver") for word in ("--break", f"{program}:{line_of(program, name)}")]
    run = Run(cluster, relay, *locations, kinds=("task", "driver"), program=program, python=uv, cwd=tmp_path)
    stops = []
    for pause in run.stops():
        stops.append((pause["task_name"], pause["location"]["file"], pause["location"]["line"]))
    assert run.end() == all_results(("task", "driver"))
    assert stops == [(NAMES[name], str(program), line_of(program, name)) for name in ("task", "driver") for _ in (1, 2)]


def test_a_line_before_ray_init(cluster, run_relay):
    relay = run_relay(cluster)
    run = Run(cluster, relay, *breaks("early", "driver"), kinds=("driver",))
    early, driver = (line_of(UNEDITED, name) for name in ("early", "driver"))
    stops = []
    for pause in run.stops():
        line = pause["location"]["line"]
        stops.append((pause["task_name"], line))
        if line == early:
            assert not pause["job_id"]
        else:  # a driver's name is known before the stopped thread has been asked for its job
            wait_for(lambda: relay.pauses()[0]["job_id"], lambda: f"the driver's job: {relay.pauses()}")
    assert run.end() == all_results(("driver",))
    assert stops == [(NAMES["driver"], early), (NAMES["driver"], driver), (NAMES["driver"], driver)]


def test_list_attach_look_and_go_on(cluster, run_relay):
    relay = run_relay(cluster)
    run = Run(cluster, relay, *breaks("task"), "--if", "n == 2", kinds=("task",))
    pause = run.stop()
    assert run.driver.result("task") == result("task", 1)
    told = run.driver.wait_for(r"raydbg: task \(\w+\) on \S+ pid (\d+) stopped at unedited\.py:(\d+)")
    assert (int(told[1]), int(told[2])) == (pause["pid"], line_of(UNEDITED, "task"))
    row = next(r for r in json.loads(run.raydbg("list", "--format", "json")) if r["pid"] == pause["pid"])
    assert (row["task_name"], row["state"], row["debugger"]) == ("task", "held", "pydevd")
    assert row["job_id"] and row["worker_id"] and row["task_id"] and row["node_id"]
    console = run.raydbg("attach", "task", input="p n\nnext\np doubled\ncontinue\n")
    assert re.search(r"^2$", console, re.MULTILINE) and re.search(r"^4$", console, re.MULTILINE), console
    assert run.end() == all_results(("task",))


def test_a_breakpoint_for_what_runs_already(cluster, run_relay):
    """No breakpoint at first; then one while the job runs; then none again."""
    relay = run_relay(cluster)
    run = Run(cluster, relay, *breaks("driver"), kinds=("actor", "driver", "actor"))
    pause = run.stop()  # the driver; the first actor's worker has been there before any breakpoint of its own
    run.raydbg("break", f"{UNEDITED}:{line_of(UNEDITED, 'actor')}", "--task", "Work.*")
    relay.go_on(pause)
    pause = run.stop()
    assert pause["task_name"] == NAMES["driver"]
    relay.go_on(pause)
    pause = run.stop()
    assert (pause["task_name"], pause["actor_class"]) == ("Work.step", "Work")
    run.raydbg("break", "--clear", "--all")
    relay.go_on(pause)
    assert run.end() == all_results(("actor", "driver", "actor"))


def test_the_first_that_hits_stops_all(core_cluster, run_relay, tmp_path):
    relay = run_relay(core_cluster)
    run = Run(core_cluster, relay, "--break", f"{RANKS}:{line_of(RANKS, 'count')}", "--if", "reached == 50", "--rank", "0",
              "--first", "--stop-all", kinds=(tmp_path,), program=RANKS)
    pauses = wait_for(lambda: (found := [p for p in relay.pauses() if p["location"] and p["task_name"]]) and len(found) == 3 and found,
                      lambda: f"three stops: {relay.pauses()} {run.driver.output()}", every=0.2, most=limit(120))
    assert sorted((p["task_name"], p["reason"]) for p in pauses) == [
        ("Rank.count", "breakpoint"), ("Rank.count", "pause"), ("count", "pause")]
    for pause in pauses:
        relay.go_on(pause)
    pause = run.stop()  # when it returns from ray.get()
    assert (pause["task_name"], pause["reason"]) == ("wait", "pause")
    relay.go_on(pause)
    assert run.stop() is None  # the idle one has not stopped in its next task
    assert run.end() == [("first", "counted"), ("waiting", "counted and got"), ("task", "counted"), ("threaded", "counted"),
                         ("idle", "6")]


@pytest.mark.parametrize("fate", ["killed", "told to let go"])
def test_the_relays_fate_is_not_the_jobs(cluster, run_relay, fate):
    relay = run_relay(cluster)
    run = Run(cluster, relay, *breaks("actor"), kinds=("actor", "task", "threaded"))
    run.stop()
    if fate == "killed":  # and nobody takes over: the keeper ends, too
        relay.kill9()
        relay.end_keeper()
        assert run.end() == all_results(("actor", "task", "threaded"))
        relay.restart()
    else:
        run.raydbg("break", "--clear", "--all")
        run.raydbg("release", "--all")
        assert run.end() == all_results(("actor", "task", "threaded"))


WAITS = """
import sys, time, ray
from pathlib import Path
ray.init(log_to_driver=False)

@ray.remote(num_cpus=0)
def waits(path):
    while not Path(path).exists():
        time.sleep(0.05)
    return "came"

waiting = waits.remote(sys.argv[1])
print("BEGINS", flush=True)
print("RESULT", "waits", ray.get(waiting), flush=True)  # line: waits
"""
# As a shell does, whose job has the terminal.
ON_A_TERMINAL = "import pty, sys; sys.exit(pty.spawn(['/bin/bash', '-c', 'set -m; \"$@\"; exit $?', 'bash', *sys.argv[1:]]) >> 8)"


def test_an_interrupt_pauses_a_driver_in_ray_get(cluster, run_relay, tmp_path):
    relay = run_relay(cluster)
    program, came, log = tmp_path / "waits.py", tmp_path / "came", tmp_path / "terminal.log"
    program.write_text(WAITS)
    env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"], "RAYDBG_RELAY": "%s:%d" % relay.address,
           "RAY_ADDRESS": cluster.head(), "TERM": "dumb"}
    python = cluster.venv / "bin/python"
    with log.open("wb") as output:
        process = cluster.popen([python, "-c", ON_A_TERMINAL, *cluster.raydbg_argv("run", "--", python, "-u", program, came)],
                                env=env, stdout=output, stderr=output)
    terminal = Driver(process, log)
    cluster.drivers.append(terminal)

    def type_keys(keys):
        process.stdin.write(keys)
        process.stdin.flush()

    terminal.wait_for("BEGINS")
    type_keys(b"\x03")
    terminal.wait_for(rf"waits\.py:{line_of(program, 'waits')} in <module>")
    type_keys(b"p 40 + 2\r")
    terminal.wait_for(r"^42\r?$")
    type_keys(b"c\r")
    came.write_text("")
    terminal.wait_for("RESULT waits came")
    assert terminal.wait(limit()) == 0, terminal.output()


def test_no_secret_is_in_the_runtime_env(cluster, run_relay):
    relay = run_relay(cluster)
    run = Run(cluster, relay, *breaks("task"), kinds=("task",))
    run.stop()
    directory, = (relay.state / "s/raydbg").glob("run-*")
    secrets = [json.loads((directory / "run.json").read_text())["key"], relay.token]
    shown = "".join(str(cluster.http(path)) for path in (
        "/api/v0/tasks?detail=true", "/api/v0/workers?detail=true", "/api/v0/runtime_envs?detail=true", "/api/jobs/"))
    assert "OWN_VARIABLE" in shown
    assert not [secret for secret in secrets if secret in shown]
    logs = [path for path in cluster.directory.rglob("*") if path.is_file() and path.suffix in (".log", ".out", ".err")]
    assert logs and not [path for path in logs for secret in secrets if secret.encode() in path.read_bytes()]
    run.raydbg("break", "--clear", "--all")
    relay.go_on(run.stop())
    assert run.end() == all_results(("task",))
