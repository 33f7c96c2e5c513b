"""A locale in which a decimal point is a comma, as in German and French ones: the machine may have none."""

import os
import subprocess


def make_comma_locale(directory):
    """The environment that sets it; fails if it cannot be made (tools/setup installs the sources of locales)."""
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(directory / "de_DE.UTF-8")], check=True)
    env = {"LOCPATH": str(directory), "LC_ALL": "de_DE.UTF-8"}
    said = subprocess.run(["/usr/bin/printf", "%.1f", "1,5"], env={**os.environ, **env}, capture_output=True, text=True, check=True)
    assert said.stdout == "1,5"
    return env
