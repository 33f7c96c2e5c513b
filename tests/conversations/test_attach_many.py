"""`raydbg attach` on many tasks: one prompt, which says which task is meant; the others stay out of the way."""

import functools
import json
import os
import re
import signal
import subprocess

import pytest
import sanitizers
from fake_gang import FakeGang
from many_adapter import ManyAdapter
from relay_under_test import raydbg_path
from terminal import Terminal
from waits import limit, settle, wait_until

LOCATION = "/app/app.py:8 in square"


@pytest.fixture
def gang():
    with FakeGang() as fake:
        for rank in range(3):
            fake.add("Trainer.step", rank=rank)
        yield fake


@pytest.fixture
def attach(gang, tmp_path, clock):
    """attach(argument…, commands=[…]): the ended process of `raydbg attach`."""
    def run(*arguments, commands=(), code=0, input=""):
        words = [word for command in commands for word in ("-e", command)]
        gang.seem_slow(clock)
        done = subprocess.run([raydbg_path(), "attach", "--no-relay", *arguments, *words], input=input, text=True,
                              capture_output=True, timeout=limit(), env=environment(gang, tmp_path, clock))
        sanitizers.check(done.returncode, done.stderr)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    return run


def environment(gang, directory, clock):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
    return {**clean, **sanitizers.ENV, "RAY_ADDRESS": gang.address, "XDG_STATE_HOME": str(directory), "TERM": "xterm",
            "LANG": "C.UTF-8", **clock.env}


class Console(Terminal):
    """`raydbg attach` in a pseudo-terminal."""

    def __init__(self, gang, directory, clock, *arguments, relay=None):
        where = ["--relay", "%s:%d" % relay.address] if relay else ["--no-relay"]
        gang.seem_slow(clock)
        super().__init__(functools.partial(subprocess.Popen, [raydbg_path(), "attach", *where, *arguments],
                                           env=environment(gang, directory, clock), start_new_session=True))


@pytest.fixture
def terminal(gang, tmp_path, clock):
    open_ones = []

    def start(*arguments, relay=None):
        open_ones.append(Console(gang, relay.state / "s" if relay else tmp_path, clock, *arguments, relay=relay))
        return open_ones[-1]

    yield start
    for one in open_ones:
        one.close()


def rows(text):
    """What `threads` printed: name and state by number; and the selected one's number."""
    found = re.findall(r"^  (→?) +(\d+)  (\S.*?)  +(stopped|running)", text, re.M)
    return {int(n): (name, state) for _, n, name, state in found}, next(int(n) for mark, n, *_ in found if mark)


def test_one_prompt_for_all(attach, gang):
    out = attach("--all", "--echo", commands=["threads", "next", "threads"]).stdout
    assert out.startswith("3 threads, all at app.py:8 in square\n")
    first, second = out.split("> threads\n")[1:]
    assert re.findall(r"^rank 0 \(3/3\)> (.*)$", out, re.M) == ["threads", "next", "threads"]
    for text, line in (first.split("rank 0 (3/3)> next")[0], 8), (second, 9):
        known, selected = rows(text)
        assert sorted(name for name, _ in known.values()) == [
            f"rank {n} Trainer.step 127.0.0.1 pid {5001 + n}" for n in range(3)]
        assert {state for _, state in known.values()} == {"stopped"}
        assert known[selected][0].startswith("rank 0 ")
        locations = dict(re.findall(r"(rank \d).*stopped at (.*)$", text, re.M))
        assert locations == {"rank 0": f"/app/app.py:{line} in square", "rank 1": LOCATION, "rank 2": LOCATION}
    assert [len(worker.adapter.requests("next")) for worker in gang.workers] == [1, 0, 0]
    assert out.endswith("they go on\n")
    for worker in gang.workers:
        worker.adapter.wait_request("disconnect")


@pytest.mark.parametrize("words", ["rank 2", "2", "pid 5003", "5003"])
def test_a_task_is_chosen_by_what_it_is_called(attach, words):
    verb = "focus" if words == "rank 2" else "thread rank" if words == "2" else "thread"
    out = attach("--all", "--echo", commands=[f"{verb} {words}", "p x"]).stdout
    assert f"{LOCATION} · rank 2\n" in out
    assert re.search(r"^rank 2 \(3/3\)> p x\n5003$", out, re.M)


def test_names_that_are_none_or_several(attach):
    done = attach("--all", commands=["thread nobody", "thread Trainer.step", "thread 9", "focus"])
    assert "there is no task 'nobody'" in done.stderr and "'Trainer.step' is 3 tasks" in done.stderr
    assert "there is no task '9'" in done.stderr and "there is no task ''" in done.stderr


@pytest.mark.parametrize("arguments, count", [
    (["Trainer.*"], 3), (["*"], 4), (["load", "Train*"], 4), (["--node", "127.0.0.1", "load"], 1), (["--job", "01"], 4),
    (["load", "5001@127.0.0.1"], 2)])
def test_which_ones(attach, gang, arguments, count):
    gang.add("load", rank=7)
    out = attach(*arguments, commands=["where"]).stdout
    assert re.match(rf"{count} thread", out), out


def test_one_name_is_one_task(attach, gang):
    gang.add("load", rank=7)
    out = attach("load", "--echo", commands=["threads"]).stdout
    assert "(raydbg) threads" in out and "rank 7 load" in out and "rank 0" not in out


def test_nothing_that_matches(attach):
    assert "no paused task is named 'nobody*'" in (done := attach("nobody*", code=3)).stderr and "3 others" in done.stderr
    assert "'load, x' " not in done.stderr
    assert "of job 77" in attach("--job", "77", code=3).stderr


def test_wrong_usage(attach):
    assert "--all is all tasks" in attach("--all", "square", code=2).stderr
    assert "--connect goes to one adapter" in attach("--all", "--connect", "127.0.0.1:1", code=2).stderr
    assert "text or json" in attach("--format", "yaml", code=2).stderr


def test_tables_as_json(attach):
    out = attach("--all", "--quiet", "--format", "json", commands=["threads", "compare x", "stacks"]).stdout
    decoder, at, values = json.JSONDecoder(), out.index("["), []
    while len(values) < 3:
        value, end = decoder.raw_decode(out, at)
        values.append(value)
        at = end + len(out[end:]) - len(out[end:].lstrip())
    threads, compare, stacks = values
    assert [row["name"] for row in threads] == [f"rank {n} Trainer.step 127.0.0.1 pid {5001 + n}" for n in range(3)]
    assert {row["state"] for row in threads} == {"stopped"} and {row["place"] for row in threads} == {LOCATION}
    assert [row["selected"] for row in threads] == [True, False, False] and [row["thread"] for row in threads] == [1, 2, 3]
    assert "5003" in json.dumps(compare) and "square" in json.dumps(stacks)


def test_verbs_over_many_go_to_the_session(attach, gang):
    out = attach("--all", "--echo", commands=[
        "group odd 1", "threads", "odd next", "compare x", "/next 2", "all next", "!compare", "compare = 3", "threads"]).stdout
    assert [len(worker.adapter.requests("next")) for worker in gang.workers] == [1, 2, 2]
    assert "odd" in out.split("> group odd 1\n")[1].splitlines()[0]
    assert re.search(r"min 5001 · max 5003", out)
    evaluated = [r["arguments"]["expression"] for r in gang.workers[0].adapter.requests("evaluate")]
    assert "compare" in evaluated and "compare = 3" in evaluated and not [e for e in evaluated if e.startswith("/")]
    assert {state for _, state in rows(out.split("> threads\n")[1])[0].values()} == {"stopped"}
    assert len(re.findall(r"app.py:(9|10) in square", out.split("> threads\n")[2])) == 3


def test_help_names_them(attach):
    out = attach("--all", commands=["help", "help barrier", "help thread"]).stdout
    assert "/barrier FILE:LINE [GROUP]" in out and "--timeout S gives up" in out
    assert "go to another stopped thread" in out


def test_a_task_that_ends_makes_room_for_another(attach, gang):
    """The selected worker dies: another task is selected, and the script goes on."""
    adapter = gang.workers[0].adapter
    adapter.on["next"] = lambda c, request: (c.respond(request), c.event("terminated"), c.die())
    done = attach("--all", "--echo", commands=["next", "p x"])
    assert re.search(r"^rank (1|2) \(2/2\)> p x\n500(2|3)$", done.stdout, re.M), (done.stdout, done.stderr)
    assert "rank 0 has ended" in done.stderr


def test_what_others_do_is_a_line(attach, gang, tmp_path):
    """Stops while the selected one runs are told, and do not take its place."""
    first, second = gang.workers[:2]
    def next_of_first(connection, request):
        connection.respond(request)
        connection.event("continued", {"threadId": 1, "allThreadsContinued": False})
        other = second.adapter.connection()
        other.event("continued", {"threadId": 1, "allThreadsContinued": False})
        second.adapter.line = 30
        shown = len(second.adapter.requests("stackTrace"))
        other.stop("breakpoint")
        second.adapter.wait_request("stackTrace", shown + 1)  # the line says where
        first.adapter.line = 9
        connection.stop("step")
    first.adapter.on["next"] = next_of_first
    done = attach("--all", "--echo", commands=["next", "p x"])
    assert re.search(r"^rank 0 \(3/3\)> p x\n5001$", done.stdout, re.M)
    assert re.search(r"^\[rank 1 .* stopped at /app/app.py:30 in square\]$", done.stderr, re.M)


def test_the_prompt_on_a_terminal(gang, terminal):
    console = terminal("--all")
    console.expect(r"3 threads, all at app.py:8")
    console.expect(r"rank 0 \(3/3\)> ")
    console.type("focus 1\r")
    console.expect(r"rank 1 \(3/3\)> ")
    # One more pauses: a line, and the prompt comes back with what was typed.
    console.type("p x")
    late = gang.add("Trainer.step", rank=8)
    console.expect(r"\[(rank 8|pid 5004) Trainer.step 127.0.0.1.* stopped at /app/app.py:8 in square\]")
    console.expect(r"rank 1 \(4/4\)> p x")
    console.type("\r")
    console.expect(r"\n5002\r?\n")
    console.expect(r"rank 1 \(4/4\)> ")
    # The selected one's worker is gone: another one takes its place.
    gang.workers[1].adapter.connection().event("terminated")
    gang.workers[1].adapter.connection().die()
    console.expect(r"rank 1 has ended")
    console.expect(r"rank \d \(3/3\)> ")
    assert late.waits
    console.type("quit\r")
    console.expect("they go on")
    assert console.process.wait(limit()) == 0


def test_a_storm_is_counted(gang, terminal):
    for rank in range(3, 40):
        gang.add("Trainer.step", rank=rank)
    console = terminal("--all")
    console.expect(r"rank \d+ \(40/40\)> ")
    connections = [worker.adapter.connection() for worker in gang.workers[1:]]
    for connection in connections:
        connection.event("continued", {"threadId": 1, "allThreadsContinued": False})
        connection.stop("breakpoint")
    console.expect(r"\d+ more stopped: rank \d+, rank \d+, rank \d+, …; threads lists them")
    settle(1)
    assert len(re.findall(r"stopped", console.plain())) < 15
    console.type("quit\r")
    console.expect("they go on")


def test_interrupt_goes_to_another_task(gang, terminal):
    """A task that does not come back keeps nobody: ^C leaves it running and goes to one that is stopped."""
    adapter = gang.workers[0].adapter
    adapter.on["next"] = lambda c, request: (
        c.respond(request), c.event("continued", {"threadId": 1, "allThreadsContinued": False}))
    console = terminal("--all")
    console.expect(r"rank 0 \(3/3\)> ")
    console.type("next\r")
    console.expect(r"rank 0 runs; \^C goes to another task")
    console.process.send_signal(signal.SIGINT)
    console.expect(r"rank 0 runs on")
    console.expect(r"rank [12] \(2/3\)> ")
    adapter.connection().stop("breakpoint")
    console.expect(r"\[rank 0 .* stopped at")
    console.expect(r"rank [12] \(3/3\)> ")
    console.type("quit\r")
    console.expect("they go on")


@pytest.mark.parametrize("how", ["quit", "detach", "^D", "hangup", "SIGTERM", "running"])
def test_leaving_holds_every_task(gang, terminal, run_relay, clock, how):
    """However the console is left: with a relay no task goes on."""
    relay = run_relay(adapter=None, address=gang.address, env=clock.env)
    if how == "running":
        gang.workers[0].adapter.on["next"] = lambda c, request: c.respond(request)
    console = terminal("--all", relay=relay)
    console.expect(r"rank 0 \(3/3\)> ")
    if how == "hangup":
        console.process.send_signal(signal.SIGHUP)
    elif how == "SIGTERM":
        console.process.send_signal(signal.SIGTERM)
    elif how == "running":  # ^C leaves the one that runs, and then it is the others that are looked at
        console.type("next\r")
        console.expect(r"rank 0 runs; \^C goes to another task")
        console.process.send_signal(signal.SIGINT)
        console.expect(r"rank [12] \(2/3\)> ")
        console.type("\x04")
    else:
        console.type("\x04" if how == "^D" else how + "\r")
    console.process.wait(limit())
    if how not in ("hangup", "SIGTERM"):
        assert "3 tasks stay held by" in console.plain()
    wait_until(lambda: not relay.sessions(), lambda: relay.sessions())
    assert {pause["pid"]: pause["state"] for pause in relay.pauses()} == dict.fromkeys((5001, 5002, 5003), "held")
    for worker in gang.workers:
        assert not worker.adapter.connection().ended.is_set()
        assert not {"continue", "disconnect"} & set(worker.adapter.commands())


def test_threads_of_one_worker_are_told_apart(attach, gang):
    adapter = ManyAdapter(threads=3)
    gang.add("Pool.work", adapter)
    out = attach("Pool*", "--echo", commands=["threads", "thread thread-2", "next"]).stdout
    known, _ = rows(out)
    assert len(known) == 3 and all("Pool.work" in name for name, _ in known.values())
    assert re.search(r"^pid 5004 thread-2 \(3/3\)> next$", out, re.M), out
