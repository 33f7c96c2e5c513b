"""The portable program starts as fast as the one that uses the system's libraries."""

import os

import pytest
from conftest import ROOT, clean_environment
from fake_adapter import FakeAdapter
from fake_ray import FakeRay

ROUNDS = 40
SLOWER = 1.1  # with which a measurement may be off


@pytest.fixture
def ray():
    """A fake cluster whose one worker waits for a client."""
    with FakeAdapter() as adapter, FakeRay(adapter.port) as fake:
        yield fake


def cost(program, command, env):
    """The processor time in ms of a run: unlike its duration, it does not depend on what else this machine does."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    _, status, usage = os.wait4(os.posix_spawn(program, [program.name, command], env, file_actions=quiet), 0)
    assert status == 0, (program, command)
    return (usage.ru_utime + usage.ru_stime) * 1000


@pytest.mark.parametrize("command", ["version", "list"])
def test_start(command, ray, made):
    """The least of many runs, in turns."""
    made("wheel")
    env = clean_environment(RAY_ADDRESS=ray.address)
    programs = [ROOT / f"build-portable-{os.uname().machine}/raydbg", ROOT / "build/raydbg"]
    least = {program: float("inf") for program in programs}
    for _ in range(ROUNDS):
        for program in programs:
            least[program] = min(least[program], cost(program, command, env))
    portable, system = least.values()
    print(f"raydbg {command}: portable {portable:.2f} ms, system {system:.2f} ms, ratio {portable / system:.2f}")
    assert portable < system * SLOWER
