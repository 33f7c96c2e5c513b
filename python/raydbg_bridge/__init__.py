"""raydbg, a distributed debugger for Ray. The package has the program; find_raydbg_bin() says where.

In a notebook, raydbg_bridge.init() instead of ray.init() is `raydbg run`: its tasks, actors and cells stop at breakpoints by file.
"""

import os
import sys
import sysconfig

__all__ = ["find_raydbg_bin", "init", "prepare"]


def _places():
    """The directories where pip may have put the program, the likeliest first."""
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", vars={"base": sys.base_prefix})
    user = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else f"{os.name}_user"
    yield sysconfig.get_path("scripts", scheme=user)
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield os.path.join(packages, "bin")  # pip install --target
    yield os.path.join(packages, "..", "..", "..", "bin")  # pip install --prefix


def _is_compiled(path):
    """False for a script: PyPI's package `raydbg`, another program, has one of the same name in the same place."""
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def find_raydbg_bin() -> str:
    """The path of the raydbg program that was installed with this package."""
    places = [os.path.normpath(place) for place in _places()]
    paths = [os.path.join(place, "raydbg") for place in places]
    found = [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)]
    for path in found:
        if _is_compiled(path):
            return path
    if found:
        raise FileNotFoundError(f"{found[0]} is another program, of PyPI's package raydbg: pip uninstall raydbg, then pip "
                                "install --force-reinstall raydbg-bridge")
    raise FileNotFoundError(f"there is no raydbg in {', '.join(dict.fromkeys(places))}: install the package anew")


def init(address=None, *, breakpoints=(), relay=None, **options):
    """ray.init(address, **options), with raydbg's agent in this driver and in the workers of its job.

    They stop at `breakpoints`, "FILE:LINE" each, until this process ends, and at those of `raydbg break`. `relay` is an
    address as in `raydbg run --relay`. Uses the relay of this machine, or starts one. Raises RuntimeError if that fails, or if
    Ray has been initialized.
    """
    from raydbg_bridge import driver

    return driver.init(address, breakpoints=breakpoints, relay=relay, **options)


def prepare(breakpoints=(), relay=None):
    """The same for a ray.init() that comes later and that this code does not make."""
    from raydbg_bridge import driver

    driver.prepare(breakpoints, relay)
