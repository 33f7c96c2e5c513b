"""Tests of the agent that is put into Ray's legacy pdb: on each Python that Ray has, or had, and without Ray."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from agent_session import ROOT, Debuggee, Session  # noqa: E402

SOME = ("3.9", "3.11", "3.13")
ALL = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


def pytest_addoption(parser):
    parser.addoption("--ends", action="store_true", help="as without: they are always among them")
    parser.addoption("--matrix", action="store_true", help="on Python 3.8 to 3.13")


def pytest_generate_tests(metafunc):
    if "python" in metafunc.fixturenames:
        metafunc.parametrize("python", ALL if metafunc.config.getoption("matrix") else SOME, indirect=True)


def find_python(version):
    """pyenv's, an environment's, the system's, or one that tools/setup makes an environment of."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [*root.glob(f"versions/{version}.*/bin/python{version}"), *ROOT.glob(f".venvs/py{version}-*/bin/python")]
    if found:
        return found[0]
    if shutil.which(f"python{version}"):
        return f"python{version}"
    done = subprocess.run([ROOT / "tools/setup", "--python", version], stdout=subprocess.PIPE, text=True, timeout=900,
                          check=True)
    return Path(done.stdout.split()[-1]) / "bin/python"


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
