"""Tests of the agent that is put into Ray's legacy pdb: on each Python that Ray has, or had, and without Ray."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import debugpy_session  # noqa: E402
import evidence  # noqa: E402
from agent_session import ROOT, Debuggee, Session  # noqa: E402
from waits import limit  # noqa: E402

SOME = ("3.9", "3.11", "3.13")
ALL = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")

# debugpy by Python. 1.8.6 cannot listen on Python 3.13; the newest is in the integration tests always.
SOME_DEBUGPY = (("3.11", "1.8.0"), ("3.12", "1.8.16"), ("3.13", "1.8.20"))
VERSIONS = [f"1.8.{n}" for n in (0, 1, 2, 5, 6, 7, 8, 9, *range(11, 23))]
ALL_DEBUGPY = (("3.9", "1.8.0"), ("3.11", "1.8.0"), ("3.11", "1.8.5"), ("3.11", "1.8.22"),
               *((python, version) for python in ("3.12", "3.13") for version in VERSIONS
                 if (python, version) != ("3.13", "1.8.6")))


def pytest_addoption(parser):
    parser.addoption("--ends", action="store_true", help="as without: they are always among them")
    parser.addoption("--matrix", action="store_true", help="on Python 3.8 to 3.13, and every debugpy")
    parser.addoption("--rounds", type=int, default=1, help="how often test_relay_fates.py plays each of them")


def pytest_configure(config):
    evidence.register(config)
    config.addinivalue_line("markers", "slow: on one debugpy only, or with --matrix on each fourth")


def pytest_generate_tests(metafunc):
    if "python" in metafunc.fixturenames:
        metafunc.parametrize("python", ALL if metafunc.config.getoption("matrix") else SOME, indirect=True)
    if "debugpy_version" in metafunc.fixturenames:
        pairs = ALL_DEBUGPY if metafunc.config.getoption("matrix") else SOME_DEBUGPY
        if metafunc.definition.get_closest_marker("slow"):
            pairs = pairs[1:2] if pairs is SOME_DEBUGPY else pairs[::4]
        metafunc.parametrize("debugpy_version", pairs, ids=["py%s-debugpy%s" % pair for pair in pairs])


def find_python(version):
    """pyenv's, an environment's, the system's, or one that tools/setup makes an environment of."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [*root.glob(f"versions/{version}.*/bin/python{version}"), *ROOT.glob(f".venvs/py{version}-*/bin/python")]
    if found:
        return found[0]
    if shutil.which(f"python{version}"):
        return f"python{version}"
    done = subprocess.run([ROOT / "tools/setup", "--python", version], stdout=subprocess.PIPE, text=True, timeout=limit(900),
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


@pytest.fixture
def debugpy_attach(debugpy_version):
    """debugpy_attach("function", "--option", VARIABLE="value"): a debugpy_session.Session at the task's first stop."""
    started = []
    python, version = debugpy_version
    directory = debugpy_session.debugpy_directory(python, version)

    def start(function, *arguments, options=None, **env):
        worker = debugpy_session.Worker(find_python(python), directory, function, env)
        started.append(worker.kill)
        session = debugpy_session.Session.start(worker, *arguments, **(options or {}))
        started.append(session.close)
        return session

    yield start
    for end in reversed(started):
        end()


@pytest.fixture
def start_worker(debugpy_version):
    """start_worker("function"): a Worker."""
    python, version = debugpy_version
    started = []

    def start(function):
        started.append(debugpy_session.Worker(find_python(python), debugpy_session.debugpy_directory(python, version), function, {}))
        return started[-1]

    yield start
    for one in started:
        one.kill()
