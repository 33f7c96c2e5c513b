"""What the commands print, beside a small cluster that is simulated."""

import json
import os
import re
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pytest
import sanitizers
from fake_cluster import FakeCluster
from fake_ray import FakeRay
from fake_relay import FakeRelay, pause, register
from relay_under_test import raydbg_path
from terminal import Terminal
from waits import limit, wait_until

LONG = "preprocess_the_whole_of_the_dataset_with_a_name_that_is_longer_than_a_terminal_is_wide_" * 2


def environment(home, **more):
    """No relay, token or cluster of the user's own is found."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
    return {**clean, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), **sanitizers.ENV, **more}


@pytest.fixture
def run(tmp_path):
    """run(*arguments, address=…): what the command printed, and its exit code."""
    def run(*arguments, address="127.0.0.1:1", input="", **more):
        done = subprocess.run([raydbg_path(), *arguments], capture_output=True, text=True, timeout=limit(), input=input,
                              env=environment(tmp_path, RAY_ADDRESS=address, **more))
        sanitizers.check(done.returncode, done.stderr)
        return done
    return run


@pytest.fixture
def fake_cluster():
    """fake_cluster(…): a FakeCluster of a few workers."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(FakeCluster(**{"nodes": 2, "workers": 6, "events": 0, **options}))


@pytest.mark.parametrize("columns", [None, "40"])
def test_a_pipe_is_never_cut(run, fake_cluster, columns):
    cluster = fake_cluster(pauses=2, actors=0, name=LONG)
    env = {"COLUMNS": columns} if columns else {}
    assert run("list", address=cluster.address, **env).stdout.count(LONG) == 2


@pytest.mark.parametrize("option, value", [
    ("--hold", "sometimes"), ("--max-hold", "soon"), ("--until-idle", "0"), ("--until-idle", "x"), ("--max-body", "much"),
    ("--max-header", "255"), ("--max-header", "8193"), ("--max-header", "x"), ("--max-sessions", "0"),
    ("--max-per-address", "-1"), ("--token", "secret")])
def test_a_relay_refuses_what_an_option_does_not_take(run, option, value):
    done = run("relay", "--listen", "127.0.0.1:0", option, value)
    assert done.returncode == 2 and option in done.stderr and not done.stdout, done
    assert value != "secret" or value not in done.stderr


@pytest.mark.parametrize("arguments, words", [
    (["--since", "10m"], "--since goes with --failed"), (["--running", "--since", "10m"], "--since goes with --failed"),
    *(([which, *more], "--failed and --running take --job, --node and --format") for which in ("--failed", "--running")
      for more in (["--sort", "age"], ["--no-relay"], ["--relay", "127.0.0.1:4713"], ["--relay-ca", "/ca.pem"], ["--all"])),
])
def test_list_refuses_options_that_it_would_not_use(run, arguments, words):
    done = run("list", *arguments)
    assert done.returncode == 2 and words in done.stderr and not done.stdout, done


def test_a_list_of_options_has_an_end(run):
    addresses = [word for port in range(17) for word in ("--listen", f"127.0.0.1:{port + 1}")]
    done = run("relay", *addresses)
    assert done.returncode == 2 and "--listen is given more than 16 times" in done.stderr, done
    done = run("relay", *addresses[:32], "--hold", "sometimes")
    assert done.returncode == 2 and "--hold" in done.stderr and "--listen" not in done.stderr.partition("usage")[0], done


def test_a_gcs_that_is_named_as_a_dashboard(run):
    with FakeRay(1) as ray:
        said = run("list", "--no-relay", address=f"http://{ray.address}")
    assert said.returncode == 5
    assert "read failed" not in said.stderr
    assert f"--address {ray.address}" in said.stderr, said.stderr


def test_a_cluster_that_does_not_say_whether_it_has_a_relay(run, clock):
    """To go on without a relay that may hold the pauses is said."""
    with FakeRay(1) as ray:
        ray.silent.add("InternalKVKeys")
        with ThreadPoolExecutor() as threads:
            running = threads.submit(run, "list", address=ray.address, **clock.env)
            ray.wait_asked("InternalKVKeys")
            clock.pass_time(4)
            said = running.result()
        ray.speak("InternalKVKeys")
    assert said.returncode == 0 and "whether it has a relay: going on without one" in said.stderr, said


def test_each_line_of_a_help_belongs_there(run):
    commands = re.findall(r"^  ([a-z]+) ", run("help").stdout, re.M)
    assert {"list", "memory", "attach", "why"} < set(commands)
    for command in commands:
        lines = run(command, "--help").stdout.splitlines()
        if command == "version":
            continue
        assert len(lines) > 6, lines
        assert not [line for line in lines if line.isalpha()], command
        assert max(map(len, lines)) <= 100, max(lines, key=len)


@pytest.mark.parametrize("typed, meant", [("lst", "list"), ("atach", "attach"), ("whi", "why"), ("memroy", "memory"),
                                          ("nothing", None), ("x", None)])
@pytest.mark.parametrize("before", [[], ["help"]])
def test_an_unknown_command_gets_the_nearest_one(run, before, typed, meant):
    done = run(*before, typed)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.splitlines()[0] == f"raydbg: there is no command '{typed}'" + (f": did you mean {meant}?" if meant else "")
    assert "raydbg help" in done.stderr


# --- output that is lost ---


@pytest.fixture
def run_into(tmp_path, fake_cluster):
    """run_into(file, *arguments): exit code and stderr, with the file as stdout."""
    cluster = fake_cluster(pauses=2)

    def run_into(file, *arguments):
        done = subprocess.run([raydbg_path(), *arguments], stdout=file, stderr=subprocess.PIPE, text=True, timeout=limit(),
                              stdin=subprocess.DEVNULL, env=environment(tmp_path, RAY_ADDRESS=cluster.address))
        if done.returncode != -signal.SIGPIPE:
            sanitizers.check(done.returncode, done.stderr)
        return done.returncode, done.stderr
    return run_into


PRINTS = [("help",), ("version",), ("list", "--help"), ("completions", "bash"), ("list",), ("list", "--format", "json"),
          ("why",)]


@pytest.mark.parametrize("arguments", PRINTS, ids=" ".join)
def test_a_full_disk_is_a_failure(run_into, tmp_path, arguments):
    with (tmp_path / "out").open("w") as out, open("/dev/full", "w") as full:
        code, said = run_into(out, *arguments)
        assert code == 0 and (tmp_path / "out").read_text(), said
        code, errors = run_into(full, *arguments)
    assert code == 1 and errors.startswith(said + "raydbg: cannot write standard output\n"), errors


@pytest.mark.parametrize("arguments", PRINTS, ids=" ".join)
def test_a_reader_that_has_read_enough_is_none(run_into, tmp_path, arguments):
    """`| head -1`. A command without a loop ends by the signal, as others do."""
    with (tmp_path / "out").open("w") as out:
        _, said = run_into(out, *arguments)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        code, errors = run_into(writer, *arguments)
    finally:
        os.close(writer)
    assert code in (0, -signal.SIGPIPE) and errors == said, errors


# --- list --watch, while relays come and go ---


class Watch:
    """`raydbg list --watch --format json` and its lines."""

    def __init__(self, home, address, *arguments):
        self.lines = []
        self.process = subprocess.Popen(
            [raydbg_path(), "list", "--watch", "--format", "json", *arguments], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(home, RAY_ADDRESS=address))
        self.threads = [threading.Thread(target=self._read, daemon=True),
                        threading.Thread(target=self._talk, daemon=True)]
        self.said = []
        for thread in self.threads:
            thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def _talk(self):
        self.said.extend(self.process.stderr)

    def lives(self):
        """The relays that were asked, None for the cluster, in order."""
        return [line["relay"] for line in self.lines if line["event"] == "live"]

    def shown(self):
        """The rows that a reader has now: task name and state by pid."""
        rows = {}
        for line in list(self.lines):
            if line["event"] in ("added", "changed"):
                rows[line["pause"]["pid"]] = line["pause"]["task_name"], line["pause"]["state"]
            elif line["event"] == "removed":
                del rows[line["pause"]["pid"]]
        return rows

    def wait(self, find, what):
        wait_until(find, lambda: f"{what}: {self.lines}, {self.said}")

    def close(self):
        self.process.terminate()
        code = self.process.wait(limit())
        for thread in self.threads:
            thread.join(limit())
        sanitizers.check(code, "".join(self.said))
        return code


@pytest.fixture
def watch(tmp_path):
    with ExitStack() as stack:
        def start(address, *arguments):
            watch = Watch(tmp_path, address, *arguments)
            stack.callback(watch.close)
            return watch
        yield start


def served(fake_cluster):
    """A cluster with one pause, and that pause as a relay would tell it."""
    cluster = fake_cluster(pauses=1, actors=0)
    worker = cluster.paused[0]
    return cluster, pause("square", task_id=worker.tasks[0].hex(), worker_id=worker.id.hex(), pid=worker.pid,
                          node_ip=worker.ip, endpoint=f"{worker.ip}:{worker.debugger_port}", state="held", held=True)


@pytest.mark.parametrize("killed", [True, False])
def test_watch_outlives_the_relay_that_it_found(adapter, fake_cluster, watch, tmp_path, killed):
    cluster, held = served(fake_cluster)
    with FakeRelay(adapter) as relay:
        relay.pauses, address = [held], relay.address
        entry = register(tmp_path, relay, cluster=cluster.address)
        seen = watch(cluster.address)
        seen.wait(lambda: seen.shown() == {held["pid"]: ("square", "held")}, "what the relay tells")
        if not killed:
            entry.unlink()
    seen.wait(lambda: seen.shown() == {held["pid"]: ("square", "waiting")}, "what the cluster tells")
    cluster.set_paused(cluster.paused[0], False)
    cluster.paused[0].debugger_port = 0
    cluster.publish()
    seen.wait(lambda: not seen.shown(), "a change in the cluster")
    assert seen.lives() == [address, None]
    assert not [line for line in seen.lines if line["event"] == "away"]


def test_watch_goes_on_with_the_next_relay(adapter, fake_cluster, watch, tmp_path):
    cluster, held = served(fake_cluster)
    seen = watch(cluster.address)
    seen.wait(lambda: seen.shown() == {held["pid"]: ("square", "waiting")}, "what the cluster tells")
    for number in range(2):
        with FakeRelay(adapter) as relay:
            relay.pauses = [held]
            entry = register(tmp_path, relay, cluster=cluster.address, started=number)
            seen.wait(lambda: seen.shown() == {held["pid"]: ("square", "held")}, "what the relay tells")
            entry.unlink()
        seen.wait(lambda: seen.shown() == {held["pid"]: ("square", "waiting")}, "what the cluster tells")
    assert len(seen.lives()) == 5


def test_a_watch_without_cluster_and_relay_goes_on(adapter, fake_cluster, watch, tmp_path):
    with FakeRelay(adapter) as relay:
        register(tmp_path, relay, cluster="127.0.0.1:1")
        relay.pauses = [pause("square")]
        seen = watch("127.0.0.1:1")
        seen.wait(lambda: seen.shown(), "what the relay tells")
    seen.wait(lambda: seen.lines[-1]["event"] == "away", "nothing answers")
    with FakeRelay(adapter) as relay:
        relay.pauses = [pause("square"), pause("cube", "d" * 48, worker_id="d" * 56, pid=7)]
        register(tmp_path, relay, cluster="127.0.0.1:1", started=2)
        seen.wait(lambda: len(seen.shown()) == 2, "what the next relay tells")


# --- which task ---


def make_idle(cluster, worker):
    """Its task is over; its debugger stays open."""
    worker.tasks = []
    cluster._tell_worker(worker)
    cluster.set_paused(worker, False)


@pytest.fixture
def trainers(fake_cluster):
    """One of three actors is paused, the others run nothing."""
    cluster = fake_cluster(pauses=3, actors=1)
    for worker in cluster.paused[1:]:
        make_idle(cluster, worker)
    cluster.publish()
    return cluster


def test_a_name_does_not_count_idle_workers(run, trainers):
    done = run("attach", "Trainer", "--no-relay", "-e", "where", address=trainers.address)
    assert done.returncode == 5 and str(trainers.paused[0].ip) in done.stderr, done.stderr
    make_idle(trainers, trainers.paused[0])
    trainers.publish()
    done = run("attach", "Trainer", "--no-relay", "-e", "where", address=trainers.address)
    assert done.returncode == 3 and "no paused task is called 'Trainer'" in done.stderr, done.stderr


def test_no_attach_to_an_idle_worker_is_suggested(run, trainers):
    everything = run("list", "--all", "--sort", "pid", address=trainers.address).stdout
    assert everything.count("idle") == 2
    assert f"attach: raydbg attach {trainers.paused[0].tasks[0].hex()[:6]}\n" in everything, everything
    make_idle(trainers, trainers.paused[0])
    trainers.publish()
    assert "attach:" not in run("list", "--all", address=trainers.address).stdout


@pytest.mark.parametrize("typed, meant", [("squre", "square"), ("Trainer.stp", "Trainer.step"), ("Traner", "Trainer"),
                                          ("nothing_like_it", None)])
def test_an_unknown_name_gets_the_nearest_one(run, fake_cluster, typed, meant):
    cluster = fake_cluster(pauses=2, actors=2, name="square")  # one of each
    done = run("attach", typed, "--no-relay", address=cluster.address)
    assert done.returncode == 3
    what, why, hint = done.stderr.splitlines()
    if meant:
        assert re.fullmatch(rf"raydbg: no paused task is called '{typed}'; did you mean {meant} \(\w+\)\?", what), what
    else:
        assert what == f"raydbg: no paused task is called '{typed}'"
    assert re.fullmatch(r"  2 are paused: (square|Trainer\.step) \(\w+\), (square|Trainer\.step) \(\w+\)", why), why
    assert "raydbg list" in hint and "--wait" in hint


@pytest.mark.parametrize("words", [["work"], ["wor*"], []])
def test_wait_attaches_to_the_next_that_pauses(adapter, ray, tmp_path, words):
    ray.debugger_port = 0
    attach = subprocess.Popen([raydbg_path(), "attach", "--no-relay", "--wait", *words, "-e", "where"], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(tmp_path, RAY_ADDRESS=ray.address, LANG="C.UTF-8"))
    said = attach.stderr.readline()
    ray.debugger_port = adapter.port
    out, rest = attach.communicate(timeout=limit())
    sanitizers.check(attach.returncode, rest)
    assert said == f"waiting for {words[0] if words else 'a task to pause'} …\n"
    assert attach.returncode == 0 and "app.py:8" in out, (out, rest)


def test_wait_finds_what_is_paused_already(adapter, ray, run):
    done = run("attach", "--no-relay", "--wait", "work", "-e", "where", address=ray.address)
    assert done.returncode == 0 and "app.py:8" in done.stdout and "waiting" not in done.stderr


# --- standard streams that are closed ---


@pytest.mark.parametrize("closed", [[0], [1], [0, 1], [0, 1, 2]], ids=str)
def test_a_closed_stream_is_an_empty_one(adapter, ray, tmp_path, closed):
    """It is not the number of one of raydbg's own sockets."""
    def attach(*before, **streams):
        files = [tmp_path / "out", tmp_path / "errors"]
        with files[0].open("w") as out, files[1].open("w") as errors:
            process = subprocess.Popen([*before, raydbg_path(), "attach", "--no-relay", "work"],
                                       **{"stdin": subprocess.DEVNULL, "stdout": out, "stderr": errors, **streams},
                                       env=environment(tmp_path, RAY_ADDRESS=ray.address, LANG="C.UTF-8"))
            code = process.wait(limit())
        sanitizers.check(code, files[1].read_text())
        return code, *(file.read_text() for file in files)

    names = [("stdin", "stdout", "stderr")[fd] for fd in closed]
    close = " ".join(("<&-", ">&-", "2>&-")[fd] for fd in closed)
    assert attach("sh", "-c", f'exec "$@" {close}', "sh") == attach(**dict.fromkeys(names, subprocess.DEVNULL))


# --- debug: one console after the other ---


@pytest.fixture
def menu(adapter, ray, tmp_path):
    """`raydbg debug` on a terminal of its own."""
    terminal = Terminal(partial(subprocess.Popen, ["setsid", "--ctty", raydbg_path(), "debug", "--no-relay"],
                                env=environment(tmp_path, RAY_ADDRESS=ray.address, TERM="xterm", LANG="C.UTF-8")))
    yield terminal
    terminal.close()


QUESTION, PDB = "Enter breakpoint index or press enter to refresh: ", r"\(Pdb\) "


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_the_menu_comes_again_and_a_signal_ends_it(menu, sig):
    """^C in a console clears its line; in the menu it ends the program."""
    menu.expect(QUESTION)
    for _ in range(2):
        menu.type("0\r")
        menu.expect(PDB)
        menu.type("p 1\x03")
        menu.expect(r"\^C")
        menu.expect(PDB)
        menu.type("quit\r")
        menu.expect(QUESTION)
    if sig == signal.SIGINT:
        menu.type("\x03")
    else:
        menu.process.send_signal(sig)
    assert menu.process.wait(limit()) == -sig


def test_a_signal_that_ends_a_console_ends_the_menu(menu):
    menu.expect(QUESTION)
    menu.type("0\r")
    menu.expect(PDB)
    menu.process.send_signal(signal.SIGTERM)
    assert menu.process.wait(limit()) == 0
