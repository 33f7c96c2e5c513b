"""`raydbg attach` on many tasks of a real two-node Ray: one prompt, each task a thread."""

import json
import re

import pytest
from cluster import PROGRAMS, line_of, table_of_threads, wait_for
from waits import limit

PAUSES, MANY = PROGRAMS / "pauses.py", PROGRAMS / "many.py"


def at(program, marker):
    return f"{program.name}:{line_of(program, marker)}"


@pytest.fixture(params=["relay", "alone"])
def attach(request, cluster, run_relay):
    """attach(TASK…, commands=[…]): stdout of `raydbg attach`, with the commands, in parts: its head and each command's."""
    def run(*arguments, commands, relay=None):
        where = ["--relay", "%s:%d" % relay.address] if relay else ["--no-relay"]
        words = [word for command in commands for word in ("-e", command)]
        done = cluster.raydbg("attach", *arguments, *where, "--echo", *words,
                              env={"XDG_STATE_HOME": str(relay.state / "s")} if relay else None)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return re.split(r"^[^\n]* \(\d+/\d+\)> [^\n]*\n", done.stdout, flags=re.M), done

    relay = run_relay(cluster) if request.param == "relay" else None
    return lambda *arguments, **options: run(*arguments, relay=relay, **options)


def locations(table):
    """What `threads` says: the location by what each thread is called, "running" for one that runs."""
    found = re.findall(r"^  (?:→| ) +\d+  (\S.*?)  +(?:stopped at \S*/(\S+)|(running))", table, re.M)
    return {name: location or running for name, location, running in found}


def test_all_tasks_of_two_nodes(cluster, attach):
    """One prompt; stepping one leaves the others in place."""
    driver = cluster.driver("pauses.py", "square", "on_b", "actor")
    cluster.wait_paused(3)
    (head, before, _, _, after, value, *_), done = attach("--all", commands=[
        "threads", "thread square", "next", "threads", "p y"])
    assert head.startswith("3 threads: 1 at pauses.py:")
    old, new = locations(before), locations(after)
    assert len(old) == 3 and sorted(old) == sorted(new)
    assert all(any(f" {task} " in name for name in old) for task in ("square", "on_b", "Trainer.step"))
    assert any("127.0.0.2" in name for name in old) and any(name.startswith("bob ") for name in old)
    square = next(name for name in old if " square " in name)
    assert old.pop(square) == at(PAUSES, "square-breakpoint") and new.pop(square) == at(PAUSES, "square-after")
    assert old == new
    assert value.startswith("9\n")
    if " held by relay " in done.stdout + done.stderr:
        assert not driver.results()
    else:
        assert {driver.result("square"), driver.result("actor")} == {"9", "1.5"}


def test_a_threaded_actor_one_by_one(cluster, attach):
    """Each of its three threads goes on alone, in any order."""
    cluster.driver("many.py", "0", "pool")
    cluster.wait_paused(3)
    parts, _ = attach("Pool*", commands=[
        "threads", "thread thread-2", "next", "threads", "thread thread-3", "next", "threads", "thread thread-1", "next",
        "threads", "p mine"])
    stood, moved = at(MANY, "pool-breakpoint"), at(MANY, "pool-after")
    for index, number in (1, 0), (4, 1), (7, 2), (10, 3):
        now = list(locations(parts[index]).values())
        assert (now.count(moved), now.count(stood)) == (number, 3 - number), parts


def test_groups_of_actors(cluster, attach):
    """Six trainers: values compared, stacks merged, a step of a group, one that is named."""
    cluster.driver("many.py", "6", "loop")
    cluster.wait_paused(6)
    parts, done = attach("Trainer.*", commands=[
        "p __import__('time').sleep(2)",  # the greeting may come before the last has stopped
        "compare self.rank", "stacks", "group low 0-2", "low next", "threads", "focus 4", "p self.rank", "all next",
        "stacks"])
    head, _, compared, stacks, group, _, table, _, rank, _, after = parts
    assert re.match(rf"\d threads? of Trainer.\*, (all )?at {at(MANY, 'train-breakpoint')} in step\n", head)
    assert "6 different" in compared and "min 0 · max 5" in compared
    assert "rank 0-5" in stacks and "1 different stack" in stacks
    assert "rank 0-2" in group
    stands = {name.split()[1]: location for name, location in locations(table).items()}
    first, after_it = at(MANY, "train-breakpoint"), f"{MANY.name}:{line_of(MANY, 'train-step') - 1}"
    assert stands == {**dict.fromkeys("012", after_it), **dict.fromkeys("345", first)}
    assert rank.startswith("4\n")
    assert "rank 3-5" in after


def test_tables_as_json(cluster):
    cluster.driver("many.py", "2")
    cluster.wait_paused(2)
    done = cluster.raydbg("attach", "--all", "--no-relay", "--quiet", "--format", "json", "-e", "threads")
    rows = json.loads(done.stdout[done.stdout.index("["):done.stdout.rindex("]") + 1])
    assert sorted(row["name"].split()[1] for row in rows) == ["0", "1"]
    assert all(row["place"].endswith(f"{at(MANY, 'train-breakpoint')} in step") for row in rows)


def test_a_breakpoint_in_who_comes_later(cluster, tmp_path):
    """It is set once; a trainer that is made after that stops there, and the prompt stays where it is."""
    late = tmp_path / "late"
    driver = cluster.driver("many.py", "2", "late", str(late))
    cluster.wait_paused(2)
    line = line_of(MANY, "train-return")
    process = cluster.raydbg_popen("attach", "--all", "--no-relay", "--echo", stdin=-1, stdout=-1, stderr=-1, text=True)
    process.stdin.write(f"break {MANY}:{line}\nfocus 0\n")
    process.stdin.flush()
    def told(what):
        wait_for(lambda: " stopped at " in process.stderr.readline(), what)
    shown = int(process.stdout.readline().split()[0])
    if shown == 1:  # a busy machine: the other one came behind the greeting
        told("the second one")
    late.write_text("")
    told("the new one")

    wait_for(lambda: any(" rank 99 " in line for line in table_of_threads(process)), "its rank is known", every=0.3)
    process.stdin.write("focus 99\ncontinue\nwhere\n")
    process.stdin.close()
    out = process.stdout.read()
    assert process.wait(limit()) == 0, out
    assert re.search(rf"^rank 99 \(3/3\)> where\n(.*\n)*?  → \S*{MANY.name}:{line} in step", out, re.M), out
    assert driver.result("late") == "1"
