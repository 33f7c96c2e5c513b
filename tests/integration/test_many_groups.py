"""Groups of tasks on a real three-node Ray: a barrier, a comparison, merged stacks."""

import os
import re

import pytest
from cluster import PROGRAMS, Spec, line_of, wait_for
from waits import limit

GANGS = PROGRAMS / "gangs.py"
# Fewer are enough while one works on it.
COUNT = int(os.environ.get("RAYDBG_GANGS", "24"))
LATE = 7 if COUNT > 7 else COUNT - 1
THREE = Spec(nodes=3)


@pytest.fixture
def gangs(cluster_factory, tmp_path):
    """A client that is attached to all trainers, its driver, and the file that lets the late one go."""
    cluster = cluster_factory(THREE)
    release = tmp_path / "release"
    driver = cluster.driver("gangs.py", str(COUNT), str(LATE), str(release))
    cluster.wait_paused(COUNT, timeout=limit(300))
    with cluster.raydbg_dap() as client:
        client.initialize(clientID="vscode", clientName="editor")
        client.attach({"tasks": "Trainer.*"}, timeout=limit(120))
        wait_for(lambda: len(ranks(client)) == COUNT, lambda: f"{COUNT} ranks: {client.ok('threads')}", every=0.5, most=limit(120))
        wait_for(lambda: line(client, "/threads").count("stopped") == COUNT, "all are stopped", every=0.5, most=limit(120))
        yield client, driver, release
        client.disconnect()


def ranks(client):
    """The thread ids by rank."""
    names = {thread["name"]: thread["id"] for thread in client.ok("threads")["threads"]}
    found = {re.match(r"rank (\d+) Trainer\.train ", name): id for name, id in names.items()}
    return {int(match.group(1)): id for match, id in found.items() if match}


def line(client, text, timeout=None):
    return client.ok("evaluate", {"expression": text, "context": "repl"}, timeout=timeout)["result"]


def said(client, pattern, timeout=None):
    """The output event's text that this regular expression is found in."""
    return client.wait_event("output", lambda body: re.search(pattern, body["output"]), timeout)["body"]["output"]


def assert_values(result):
    """`compare rank` by its body: every rank once, and it is that of the thread's name."""
    assert len(result["groups"]) == COUNT and result["notAsked"] == []
    for row in result["values"]:
        assert row["value"] == str(row["rank"]) and row["name"].startswith(f"rank {row['rank']} Trainer.train ")


def test_all_meet_at_a_barrier_and_the_missing_one_is_named(gangs):
    client, driver, release = gangs
    everybody = ranks(client)
    pause, met, waits = (line_of(GANGS, marker) for marker in ("pause", "met", "waits"))
    assert_values(client.ok("raydbg/compare", {"expression": "rank"}))
    assert f"{COUNT} tasks, 1 different stack\n" in line(client, "/stacks")

    # All but one arrive; the client is told of none before the last, and of who is missing.
    before = len(client.events("stopped"))
    begun = line(client, f"/barrier gangs.py:{met}")
    assert begun.startswith(f"barrier gangs.py:{met}: 0 of {COUNT}, missing: rank 0")
    missing = rf"barrier gangs.py:{met}: {COUNT - 1} of {COUNT}, missing: rank {LATE} Trainer.train .*\(running\)"
    said(client, missing)
    assert len(client.events("stopped")) == before
    assert re.match(missing, line(client, "/barrier"))
    where = line(client, "/stacks")
    loop = rf"wait_for_release  gangs.py:({waits - 1}|{waits}) "  # it looks for the file, or sleeps
    assert f"{COUNT} tasks, 2 different stacks\n" in where and re.search(loop, where), where
    assert re.search(rf"^  running: rank {LATE} ", where, re.M)
    body = client.ok("raydbg/compare", {"expression": "loss"})
    assert body["asked"] == COUNT - 1 and [row["rank"] for row in body["notAsked"]] == [LATE]

    # It comes; then they are told, by one stop.
    release.touch()
    said(client, rf"barrier gangs.py:{met}: {COUNT} of {COUNT}; all here after ")
    wait_for(lambda: len(client.events("stopped")) > before, "the stop of all")
    stopped, = client.events("stopped")[before:]
    assert stopped["body"]["allThreadsStopped"] and stopped["body"]["threadId"] in everybody.values()
    for thread in everybody.values():
        assert client.stack(thread)[0]["line"] == met
    loss = line(client, "/compare loss")
    assert re.search(rf"^  0\.6931 .* {COUNT - 2}  rank 0, 1, 3, 4, ", loss, re.M), loss
    assert re.search(r"^  nan .* 1  rank 5 .*← outlier$", loss, re.M), loss
    assert re.search(r"^  1e\+30 .* 1  rank 2 .*← outlier$", loss, re.M), loss
    assert_values(client.ok("raydbg/compare", {"expression": "rank"}))
    stacks = client.ok("raydbg/stacks")
    assert stacks["tasks"] == COUNT and stacks["stacks"] == 1
    run, = stacks["tree"]
    assert [(frame["name"], frame["line"]) for frame in run["frames"]][-1][1] == met
    assert len(run["threadIds"]) == COUNT

    # A group steps on its own; the next round, over the breakpoint() on the way, is one more barrier.
    line(client, "/group few 0-1")
    assert line(client, "/few next") == "next: 2 tasks"
    def stepped():
        few = line(client, "/threads few")
        return few.count("  stopped  ") == 2 and few.count(" gangs.py:") == 2 and f" gangs.py:{met} " not in few
    wait_for(stepped, lambda: f"two have stepped: {line(client, '/threads few')}")
    assert client.stack(everybody[3])[0]["line"] == met
    line(client, f"/barrier gangs.py:{pause} --timeout {int(limit())}")
    said(client, rf"barrier gangs.py:{pause}: {COUNT} of {COUNT}; all here after ")
    assert [row["value"] for row in client.ok("raydbg/compare", {"expression": "step"})["groups"]] == ["1"]

    # And all the rest: nobody stops any more but at the last breakpoint().
    assert line(client, "/all continue --skip 5") == f"continue: {COUNT} tasks"
    assert driver.wait(limit(120)) == 0, driver.output()
    assert {int(value) for _, value in driver.results()} == set(range(COUNT))
