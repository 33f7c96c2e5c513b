"""Of many tasks Ray is asked for the objects of those that somebody looks at."""

import pytest
from fake_gang import FakeGang
from many_adapter import ManyAdapter
from waits import settle, wait_until

REFERENCES = "GetCoreWorkerStats"  # with its references: fake_ray.py counts what lists ask apart
REF = "ObjectRef(" + "ab" * 24 + "02e1f505)"


@pytest.fixture
def gang():
    with FakeGang() as fake:
        for _ in range(3):
            fake.add("Trainer.step", adapter=ManyAdapter())
        yield fake


@pytest.fixture
def client(gang, start_relay, clock):
    client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
    client.initialize(clientID="vscode", clientName="editor")
    gang.seem_slow(clock)
    client.attach({"tasks": "*"})
    client.wait_event("stopped", lambda body: body.get("allThreadsStopped"))
    return client


def ids(client):
    return [thread["id"] for thread in client.ok("threads")["threads"]]


def step(client, thread):
    client.ok("next", {"threadId": thread})
    client.wait_event("stopped", lambda body: body["threadId"] == thread)


def asked(gang):
    """How often, a little later."""
    settle(0.3)
    return gang.asked[REFERENCES]


def test_nobody_is_asked_for_what_nobody_looks_at(client, gang):
    for thread in ids(client):
        client.stack(thread)
        step(client, thread)
    assert asked(gang) == 0


def test_who_is_looked_at_is_asked_and_at_its_next_stop_at_once(client, gang):
    first, second, _ = ids(client)
    client.ok("scopes", {"frameId": client.stack(first)[0]["id"]})
    gang.wait_asked(REFERENCES)
    step(client, second)
    assert asked(gang) == 1
    step(client, first)
    gang.wait_asked(REFERENCES, 2)
    step(client, first)
    assert asked(gang) == 2  # the last time nobody looked


def test_an_expression_is_a_look_if_its_value_is_a_reference(client, gang):
    worker = gang.workers[0]
    worker.adapter.values["ref"] = REF
    frame = client.stack(ids(client)[0])[0]["id"]
    client.ok("evaluate", {"expression": "x", "frameId": frame, "context": "watch"})
    assert asked(gang) == 0
    client.ok("evaluate", {"expression": "ref", "frameId": frame, "context": "watch"})
    gang.wait_asked(REFERENCES)


def test_annotated_rows_have_the_session_s_ids(client, gang):
    worker = gang.workers[2]
    row = {"name": "ref", "value": REF, "type": "ObjectRef", "variablesReference": 77}
    worker.adapter.on["variables"] = lambda connection, request: connection.respond(request, {"variables": [row]})
    frame = client.stack(ids(client)[2])[0]["id"]
    scope = client.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]

    def is_annotated():
        ref, = client.ok("variables", {"variablesReference": scope})["variables"]
        assert ref["variablesReference"] > 77
        client.ok("variables", {"variablesReference": ref["variablesReference"]})
        assert worker.adapter.requests("variables")[-1]["arguments"]["variablesReference"] == 77
        gang.wait_asked(REFERENCES)
        return ref.get("presentationHint")

    wait_until(is_annotated, "it is annotated")
