"""Groups of tasks: verbs in the debug console, and what each task's debugger is asked for them."""

import re

import pytest
from dap_client import DapError
from fake_adapter import PROGRAM
from fake_gang import FakeGang
from many_adapter import ManyAdapter
from waits import Gate, wait_until

LINE = 41


class Trainer(ManyAdapter):
    """Goes from its breakpoint() to LINE when it is let go, unless it `lags`."""

    def __init__(self, rank):
        super().__init__(rank=rank)
        self.lags = False
        self.values = {"loss": "nan" if rank == 2 else "0.5"}

    def on_continue(self, connection, request):
        # The stop overtakes the answer to what let the thread go.
        if not self.lags:
            self.line = LINE
            self.stop()
        connection.respond(request, {"allThreadsContinued": True})


@pytest.fixture
def gang():
    with FakeGang() as fake:
        for rank in range(4):
            fake.add("Trainer.step", adapter=Trainer(rank))
        yield fake


@pytest.fixture
def client(gang, start_relay, clock):
    client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
    client.initialize(clientID="vscode", clientName="editor")
    client.attach({"tasks": "Trainer.*"})
    wait_until(lambda: verb(client, "/threads").count("  stopped  rank ") == 4, "four ranks that are stopped")
    return client


def verb(client, text):
    return client.evaluate(text)


def said(client, pattern):
    return client.wait_event("output", lambda body: re.search(pattern, body["output"]))["body"]["output"]


def lines_set(adapter):
    """The lines that have breakpoints in the program."""
    requests = [r["arguments"] for r in adapter.requests() if r["command"] == "setBreakpoints"]
    return [b["line"] for b in requests[-1]["breakpoints"]] if requests else []


def test_an_observer_has_the_ranks(gang, run_relay):
    relay = run_relay(adapter=None, address=gang.address)
    for role in "driver", "observer":
        client = relay.client("tcp", role)
        client.initialize(clientID="vscode", clientName=role)
        client.attach(relay.attach_arguments("tcp", tasks="Trainer.*", role=role))
        wait_until(lambda: verb(client, "/threads").count("  stopped  rank ") == 4, lambda: verb(client, "/threads"))  # noqa: B023


def test_all_come_to_a_barrier(client, gang):
    before = len(client.events("stopped"))
    assert verb(client, f"/barrier app.py:{LINE}") == f"barrier app.py:{LINE}: 0 of 4, missing: " + "; ".join(
        f"rank {rank} Trainer.step 127.0.0.1 pid {5001 + rank} (running)" for rank in range(4))
    said(client, rf"^barrier app.py:{LINE}: 4 of 4; all here after ")
    wait_until(lambda: len(client.events("stopped")) > before, "the stop of all")
    stop, = client.events("stopped")[before:]
    assert stop["body"]["allThreadsStopped"]
    for thread in client.ok("threads")["threads"]:
        assert client.stack(thread["id"])[0]["line"] == LINE
    wait_until(lambda: all(lines_set(w.adapter) == [] for w in gang.workers), "the barrier's breakpoints are gone")


def test_a_barrier_right_behind_a_step(client, gang):
    """Stops that the client has not been told of yet, because they are told together, go on, too."""
    for _ in range(3):
        verb(client, "/all next")
        wait_until(lambda: verb(client, "/threads").count(" app.py:9 ") == 4, lambda: verb(client, "/threads"),
                   every=0.002)
        verb(client, f"/barrier app.py:{LINE}")
        said(client, rf"^barrier app.py:{LINE}: 4 of 4; all here after ")
        for worker in gang.workers:
            worker.adapter.line = 8


def test_a_barrier_waits_for_the_stacks_that_it_needs(client, gang, clock):
    """On a busy machine they take seconds; without them no task would have the file."""
    ids = [thread["id"] for thread in client.ok("threads")["threads"]]
    gates = []
    for worker, thread in zip(gang.workers, ids):
        worker.adapter.lags = True
        client.ok("continue", {"threadId": thread})
        gates.append(Gate(worker.adapter.on["stackTrace"]))
        worker.adapter.on["stackTrace"] = gates[-1]
    for worker, gate in zip(gang.workers, gates):
        worker.adapter.stop(1)
        gate.wait_reached()
    asking = client.send("evaluate", {"expression": f"/barrier app.py:{LINE}", "context": "repl"})
    client.ok("threads")
    clock.pass_time(3)
    client.ok("threads")
    assert asking not in client._responses
    for gate in gates:
        gate.open()
    answer = client.check(client.response(asking))
    assert answer["result"].startswith(f"barrier app.py:{LINE}: 0 of 4"), answer


def test_the_missing_one_is_named_and_may_die(client, gang):
    late = gang.workers[3]
    late.adapter.lags = True
    verb(client, f"/barrier {PROGRAM}:{LINE}")
    said(client, rf"^barrier app.py:{LINE}: 3 of 4, missing: rank 3 Trainer.step 127.0.0.1 pid 5004 \(running\)\n")
    event = client.wait_event("raydbg/barrier", lambda body: len(body["arrived"]) == 3)["body"]
    assert event["state"] == "waiting"
    missing, = event["missing"]
    assert (missing["name"], missing["what"]) == ("rank 3 Trainer.step 127.0.0.1 pid 5004", "running")
    assert lines_set(late.adapter) == [LINE]
    gang.remove(late)
    said(client, r"3 of 3; no longer waited for: rank 3 Trainer.step .* \(its worker is gone\); all here after ")


def test_a_client_s_own_continue_ends_a_barrier(client, gang):
    gang.workers[3].adapter.lags = True
    verb(client, f"/barrier {PROGRAM}:{LINE}")
    said(client, "3 of 4")
    rank_0 = next(t["id"] for t in client.ok("threads")["threads"] if t["name"].startswith("rank 0 "))
    client.ok("continue", {"threadId": rank_0})
    said(client, r"given up: rank 0 Trainer.step 127.0.0.1 pid 5001 goes on by hand")
    with pytest.raises(DapError, match="no barrier under way"):
        verb(client, "/barrier")


def test_compare_stacks_and_groups(client, gang):
    text = verb(client, "/compare loss")
    assert re.search(r"^  0\.5 .* 3  rank 0, 1, 3$", text, re.M) and "  ← outlier" in text
    body = client.ok("raydbg/compare", {"expression": "loss", "group": "0-1"})
    assert body["asked"] == 2 and [(g["value"], g["count"]) for g in body["groups"]] == [("0.5", 2)]
    gang.workers[1].adapter.line = 9
    verb(client, "/group few 0-1")
    assert verb(client, "/few next") == "next: 2 tasks"
    wait_until(lambda: [w.adapter.commands().count("next") for w in gang.workers] == [1, 1, 0, 0], "two step")
    assert client.ok("raydbg/group", {"name": "few"})["filters"] == "0-1"
    assert client.ok("raydbg/stacks", {"group": "2-3"})["stacks"] == 1
    targets = client.ok("completions", {"text": "/few ne", "column": 8})["targets"]
    assert [(t["label"], t["start"], t["length"]) for t in targets] == [("next", 5, 2)]
    with pytest.raises(DapError, match="there is no verb or group '/nonsense'"):
        verb(client, "/nonsense")
    assert "/barrier FILE:LINE" in verb(client, "/help")


def test_a_slash_elsewhere_is_python_s(client):
    client.ok("evaluate", {"expression": "/ 2", "context": "watch"})
