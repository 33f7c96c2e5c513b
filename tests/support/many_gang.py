"""Three paused tasks, and clients of one session over all of them: fixtures of tests/conversations/test_many_*.py."""

import pytest
from fake_gang import FakeGang
from many_adapter import ManyAdapter
from many_session import ALL, shown, threads
from waits import wait_until


@pytest.fixture
def gang():
    with FakeGang() as fake:
        for name in ("Trainer.step", "Trainer.step", "load"):
            fake.add(name, adapter=ManyAdapter())
        yield fake


@pytest.fixture
def attach(gang, start_relay, clock):
    """attach(**arguments): a client that is attached to all of the gang, without a relay."""
    def start(expected=3, **arguments):
        client = start_relay(None, "--address", gang.address, "--no-relay", env=clock.env)
        client.initialize(clientID="vscode", clientName="editor")
        gang.seem_slow(clock)
        client.attach({**ALL, **arguments})
        shown(client)
        wait_until(lambda: len(threads(client)) == expected, lambda: threads(client))
        return client

    return start


@pytest.fixture
def join(gang, run_relay, clock):
    """join(**arguments): the same through one relay, `join.relay`; `join.words` are more arguments of initialize."""
    def start(**arguments):
        client = start.relay.client("tcp")
        client.initialize(clientID="vscode", clientName="editor", **start.words)
        gang.seem_slow(clock)
        client.attach(start.relay.attach_arguments("tcp", **{**ALL, **arguments}))
        return client

    start.relay, start.words = run_relay(adapter=None, address=gang.address, env=clock.env), {}
    return start


def thread_of(client, worker):
    return next(id for name, id in threads(client).items() if f"pid {worker.pid} " in name)


def drive(relay, task):
    """Another client, which drives this task alone."""
    client = relay.client("tcp")
    client.initialize(clientName="other")
    client.attach(relay.attach_arguments("tcp", task=task))
    client.stopped()
    return client
