"""Fixtures for scripted conversations: a fake debugpy adapter on one side of the relay, a DAP client on the other.

They need no Ray. The relay is the binary in $RAYDBG, by default build-asan/raydbg.
"""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import evidence  # noqa: E402
import reporting  # noqa: E402
from fake_adapter import FakeAdapter  # noqa: E402
from fake_ray import FakeRay  # noqa: E402
from object_session import Worker  # noqa: E402
from relay_process import RelayProcess  # noqa: E402
from relay_under_test import RelayUnderTest, raydbg_path  # noqa: E402
from skip_clock import SkipClock  # noqa: E402
from waits import Gate  # noqa: E402

# The session is in the process that a test starts, but where it asks for a relay: one that starts by itself would stay,
# and prefetch. test_own_relay.py is about those.
os.environ["RAYDBG_START_RELAY"] = "0"


@pytest.fixture
def adapter():
    """A FakeAdapter with debugpy's own manners; change its `on` before the relay connects."""
    with FakeAdapter() as fake:
        yield fake


@pytest.fixture
def gate():
    """gate(then): a Gate, open at the test's end at the latest."""
    made = []

    def make(then):
        made.append(Gate(then))
        return made[-1]

    yield make
    for one in made:
        one.open()


@pytest.fixture
def clock():
    """Of what is started with its `env`: `clock.pass_time(5)` takes no time with a sanitized raydbg."""
    with SkipClock(raydbg_path()) as made:
        yield made


@pytest.fixture
def start_relay():
    """start_relay(adapter, *arguments, env=…, strict=…): a RelayUnderTest, closed and checked at the test's end."""
    started = []

    def start(*arguments, **options):
        started.append(RelayUnderTest(*arguments, **options))
        return started[-1]

    yield start
    for relay in started:
        if relay.process.returncode is None:
            relay.close()


@pytest.fixture
def relay(adapter, start_relay):
    """A relay connected to `adapter`."""
    return start_relay(adapter)


@pytest.fixture
def run_relay(adapter):
    """run_relay(*arguments, …): a RelayProcess whose `join` attaches to `adapter`; ended and checked at the test's end."""
    started = []

    def run(*arguments, **options):
        started.append(RelayProcess(*arguments, **{"adapter": adapter, **options}))
        return started[-1]

    yield run
    with ExitStack() as stack:
        for relay in started:
            stack.callback(relay.close)


@pytest.fixture
def hub(run_relay):
    """`raydbg relay` with its defaults, and the adapter to attach to."""
    return run_relay()


@pytest.fixture
def ray(adapter):
    """A fake cluster whose one worker stops at `adapter`."""
    with FakeRay(adapter.port) as fake:
        yield fake


@pytest.fixture
def worker(adapter, ray):
    """That worker, with two references."""
    return Worker(adapter, ray)


@pytest.fixture
def attach(ray, start_relay):
    """attach(initialize={…}, **attach arguments): a client that has seen its stop."""
    def start(initialize=None, wait=True, **arguments):
        client = start_relay(None, "--address", ray.address)
        client.initialize(**(initialize or {}))
        client.attach({"request": "attach", **arguments})
        client.stopped()
        if wait:
            ray.wait_asked("GetCoreWorkerStats")
        return client
    return start


def pytest_configure(config):
    evidence.register(config)


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="the long forms: 10,000 hostile connections")


@pytest.fixture
def soak(request):
    """Whether the long forms were asked for."""
    return request.config.getoption("--soak")


@pytest.fixture(autouse=True)
def fresh_transcripts():
    reporting.forget_clients()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if outcome.get_result().failed:
        reporting.add_transcripts(outcome.get_result())
