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


def find_raydbg_bin() -> str:
    """The path of the raydbg program that was installed with this package."""
    places = [os.path.normpath(place) for place in _places()]
    for place in places:
        path = os.path.join(place, "raydbg")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
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
