"""tidy.py: what has passed is not examined again, what has changed is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from waits import limit

GATE = Path(__file__).resolve().parent
SOUND = '#include "a.h"\nint answer(int x) { return x < LIMIT ? 1 : 2; }\n'
FAULTY = '#include "a.h"\nint answer(int x) { return x < LIMIT ? 1 : 1; }\n'
NINJA = """rule cc
  command = cc -MD -MF $out.d -I. -c $in -o $out
  depfile = $out.d
  deps = gcc
build a.o: cc ../a.c
"""


class Project:
    """A file and a header that are compiled as in build-werror-clang."""

    def __init__(self, root, cache):
        self.root = root
        self.cache = cache
        (root / "build").mkdir(parents=True)
        self.write("a.h", "#define LIMIT 3\n")
        self.write("a.c", SOUND)
        self.write(".clang-tidy", "Checks: '-*,bugprone-*'\nWarningsAsErrors: '*'\n")
        self.write("build/build.ninja", NINJA)
        self.compile_with("")

    def write(self, name, text):
        (self.root / name).write_text(text)

    def compile_with(self, options):
        row = {"directory": f"{self.root}/build", "file": f"{self.root}/a.c", "command": f"cc {options} -I{self.root} -c {self.root}/a.c"}
        self.write("build/compile_commands.json", json.dumps([row]))

    def tidy(self):
        """How many files passed without being examined; None if clang-tidy has something to say."""
        subprocess.run(["ninja", "--quiet", "-C", self.root / "build"], check=True, timeout=limit())
        done = subprocess.run([sys.executable, GATE / "tidy.py", "--root", self.root, "--build", self.root / "build"], input="a.c\n",
                              text=True, stdout=subprocess.PIPE, timeout=limit(), env={"XDG_CACHE_HOME": str(self.cache), "PATH": "/usr/bin:/bin"})
        return int(done.stdout.split(", ")[1].split()[0]) if done.returncode == 0 else None


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "one", tmp_path / "cache")


def test_what_passed_is_remembered_in_every_clone(project, tmp_path):
    assert project.tidy() == 0
    assert project.tidy() == 1
    assert Project(tmp_path / "a/deeper/one", project.cache).tidy() == 1


@pytest.mark.parametrize(("name", "text"), [
    ("a.c", SOUND.replace("2", "4")),
    ("a.h", "#define LIMIT 4\n"),
    (".clang-tidy", "Checks: '-*,bugprone-*,misc-*'\nWarningsAsErrors: '*'\n"),
])
def test_what_has_changed_is_examined(project, name, text):
    assert project.tidy() == 0
    project.write(name, text)
    assert project.tidy() == 0


def test_other_options_are_another_file(project):
    assert project.tidy() == 0
    project.compile_with("-DOTHER")
    assert project.tidy() == 0


def test_what_failed_fails_again(project):
    assert project.tidy() == 0
    project.write("a.c", FAULTY)
    assert project.tidy() is None
    assert project.tidy() is None


def test_a_cache_that_cannot_be_written(project):
    project.cache.write_text("a file where a directory belongs")
    assert project.tidy() == 0
    assert project.tidy() == 0
