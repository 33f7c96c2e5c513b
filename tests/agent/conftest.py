"""Tests of the agent that is put into Ray's legacy pdb: on each Python that Ray has, or had, and without Ray."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from agent_session import ROOT, Debuggee, Session  # noqa: E402

SOME = ("3.9", "3.11", "3.13")
ALL = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


def pytest_addoption(parser):
    parser.addoption("--matrix", action="store_true", help="on Python 3.8 to 3.13")


def pytest_generate_tests(metafunc):
    if "python" in metafunc.fixturenames:
        metafunc.parametrize("python", ALL if metafunc.config.getoption("matrix") else SOME, indirect=True)


def find_python(version):
    """pyenv's, one that tools/setup has made an environment of, or the system's; a missing one fails the run."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [*root.glob(f"versions/{version}.*/bin/python{version}"), *ROOT.glob(f".venvs/py{version}-*/bin/python")]
    path = found[0] if found else f"python{version}"
    subprocess.run([path, "-c", ""], check=True, timeout=30)
    return path


@pytest.fixture
def python(request):
    return find_python(request.param)


@pytest.fixture
def debuggee(python):
    """debuggee("function"): the program, which waits in pdb."""
    started = []

    def start(function, **env):
        started.append(Debuggee(python, function, env))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture
def attach(debuggee):
    """attach("function"): an attached Session; its `debuggee` is the program."""
    sessions = []

    def start(function, env=None, **options):
        program = debuggee(function, **(env or {}))
        sessions.append(Session.start(program, **options))
        sessions[-1].debuggee = program
        return sessions[-1]

    yield start
    for session in sessions:
        session.close()
