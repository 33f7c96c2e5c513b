"""The packages, made once by their tools in a directory of their own, or those of the directory in $RAYDBG_DIST."""

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support")]
ARCH = platform.machine()

import evidence  # noqa: E402
from waits import limit  # noqa: E402


def output(*argv, **more):
    """What a command printed; fails with both of its streams if it failed."""
    done = subprocess.run([*map(str, argv)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **more)
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def clean_environment(**more):
    """Nothing of this test run's Python or raydbg."""
    drop = ("PYTHON", "PIP_", "RAYDBG", "VIRTUAL_ENV", "RAY_")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(drop)}, **more}


@pytest.fixture(scope="session")
def version():
    """The one version: that of CMake's project()."""
    return re.search(r"^project\(raydbg VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


@pytest.fixture(scope="session")
def made(tmp_path_factory, worker_id):
    """made(tool, *arguments): the directory with what tools/TOOL made, once for all processes of the test run."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent

    def make(tool, *arguments):
        if "RAYDBG_DIST" in os.environ:
            return Path(os.environ["RAYDBG_DIST"]).resolve(strict=True)
        name = "-".join([tool, *arguments])
        directory, done = shared / name, shared / f"{name}.done"
        with open(shared / f"{name}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                output(ROOT / "tools" / tool, *arguments, "-o", directory, timeout=limit(1500))
                done.touch()
        return directory
    return make


@pytest.fixture(scope="session")
def wheel(made, version):
    return made("wheel") / f"raydbg_bridge-{version}-py3-none-manylinux_2_28_{ARCH}.whl"


def git(directory, *arguments):
    output("git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments, cwd=directory)


@pytest.fixture
def clone(tmp_path):
    """A checkout of this commit, with the scripts of the work tree."""
    output("git", "clone", "--quiet", "--shared", ROOT, tmp_path / "clone")
    shutil.copytree(ROOT / "tools", tmp_path / "clone/tools", dirs_exist_ok=True, symlinks=True)
    git(tmp_path / "clone", "add", "--all")
    git(tmp_path / "clone", "commit", "--quiet", "--allow-empty", "--message", "tools: those of the work tree")
    return tmp_path / "clone"


# Tests that not every run has: who runs them.
MARKS = {"matrix": "tools/test packages --matrix, and tools/release",
         "release": "tools/release, whose files they examine"}


def pytest_addoption(parser):
    parser.addoption("--matrix", action="store_true", help="the tests that are marked so, too: minutes each")


def pytest_configure(config):
    evidence.register(config)
    for mark, runner in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: run by {runner}")


def marks_left_out(config):
    """The marks whose tests this run does not have."""
    return [mark for mark, runs in (("matrix", config.getoption("matrix")), ("release", "RAYDBG_DIST" in os.environ)) if not runs]


def pytest_collection_modifyitems(config, items):
    marks = marks_left_out(config)
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in marks)]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_report_header(config):
    """With xdist the processes that collect print nothing, so the files are found by their text."""
    files = {path.name: path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py"))}
    return [f"left out: tests of {', '.join(name for name, text in files.items() if f'mark.{mark}' in text)}: "
            f"run by {MARKS[mark]}" for mark in marks_left_out(config)]
