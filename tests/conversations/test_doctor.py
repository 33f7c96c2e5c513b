"""`raydbg doctor` about this machine, beside a simulated cluster; tests/integration/test_doctor.py asks real ones."""

import json
import os
import subprocess

import pytest
import sanitizers
from fake_ray import FakeRay
from relay_under_test import raydbg_path
from waits import limit

# The command of PyPI's raydbg 0.1.0, as pip writes it.
NAMESAKE = """#!/usr/bin/env python3
# -*- coding: utf-8 -*-
import re
import sys
from raydbg.cli import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""


@pytest.fixture
def checks(tmp_path):
    """checks(directory…): what doctor finds with these directories first on PATH, by the checks' names."""
    def find(*directories):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
        with FakeRay(1) as ray:
            done = subprocess.run([raydbg_path(), "doctor", "--format", "json"], capture_output=True, text=True, timeout=limit(), env={
                **clean, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "RAY_ADDRESS": ray.address,
                "PATH": ":".join([*map(str, directories), clean["PATH"]]), **sanitizers.ENV})
        sanitizers.check(done.returncode, done.stderr)
        return {row["check"]: row for row in json.loads(done.stdout)}
    return find


@pytest.fixture
def namesake(tmp_path):
    """A directory with another program of this name."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/raydbg").write_text(NAMESAKE)
    (tmp_path / "other/raydbg").chmod(0o755)
    return tmp_path / "other"


def test_another_program_is_first_on_path(checks, namesake):
    """Its user types raydbg, and gets what PyPI's package raydbg installs."""
    found = checks(namesake)["command"]
    assert found["status"] == "warning" and found["what"] == f"raydbg on PATH is another program: {namesake}/raydbg"
    own = os.path.realpath(raydbg_path())
    assert f"raydbg-bridge, is {own}" in found["why"]
    assert f"put {os.path.dirname(own)} before it on PATH" in found["hint"] and "pip uninstall raydbg" in found["hint"]


def test_another_program_behind_this_one(checks, namesake, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/raydbg").symlink_to(raydbg_path())
    assert "command" not in checks(tmp_path / "bin", namesake)


def test_a_wrapper_of_this_one(checks, tmp_path):
    (tmp_path / "raydbg").write_text('#!/bin/sh\nexec python3 -m raydbg_bridge "$@"\n')
    (tmp_path / "raydbg").chmod(0o755)
    assert "command" not in checks(tmp_path)
