"""The clock that other conversations let skip: relay/io/loop_clock.h."""

import pytest
from relay_process import release_path
from relay_under_test import raydbg_path
from held_task import assert_held
from waits import is_sanitized, wait_until


def test_time_passes_at_once(adapter, run_relay, clock):
    """Without sanitizers it passes, which takes its time."""
    half = 1800 if clock.skips else 2
    hub = run_relay("--max-hold", f"{2 * half}s", env=clock.env)
    client = hub.join()
    client.stopped()
    clock.pass_time(half)
    assert_held(adapter)
    clock.pass_time(half)
    wait_until(lambda: adapter.requests("disconnect"), "the task is let go")


def test_a_relay_that_is_started_again_has_it_too(adapter, run_relay, clock):
    half = 1800 if clock.skips else 2
    hub = run_relay("--max-hold", f"{2 * half}s", env=clock.env)
    clock.pass_time(1)
    hub.kill9()
    hub.restart()
    client = hub.join()
    client.stopped()
    clock.pass_time(2 * half)
    wait_until(lambda: adapter.requests("disconnect"), "the task is let go")


@pytest.mark.parametrize("kind", ["sanitized", "released"])
def test_a_released_raydbg_has_no_such_clock(run_relay, clock, kind):
    binary = raydbg_path() if kind == "sanitized" else release_path()
    has = is_sanitized(binary)
    run_relay(binary=binary, env=clock.env)
    assert len(clock.accept()) == (3 if has else 0)  # the loop, the keeper and the closer
    assert (b"RAYDBG_TEST_" in binary.read_bytes()) is has
