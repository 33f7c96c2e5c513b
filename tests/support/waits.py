"""How long tests wait, and which failures are never tried again."""

import contextlib
import functools
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Hard(AssertionError):
    """A failure that no load of the machine excuses, so that a rerun must not hide it: a sanitizer's report, a process of
    raydbg that a fault ended, a violation of DAP, a lost pause, a process that is left over."""


@contextlib.contextmanager
def hard():
    """`with hard():` around assertions about state, without waits among them: they fail as Hard, with the same text.

    So does a look into what is not there, such as `hub.pause()["held"]` of a pause that is gone.
    """
    try:
        yield
    except Hard:
        raise
    except AssertionError as error:
        raise Hard(*error.args).with_traceback(error.__traceback__) from None
    except (TypeError, LookupError) as error:
        raise Hard(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__) from error


def patience():
    """By how much limits are multiplied on this machine, 1 to 8: $RAYDBG_TEST_PATIENCE."""
    try:
        return min(8.0, max(1.0, float(os.environ.get("RAYDBG_TEST_PATIENCE") or 1)))
    except ValueError:
        return 1.0


@functools.cache
def is_sanitized(path):
    """Whether this program was built with AddressSanitizer."""
    try:
        return b"__asan_init" in Path(path).read_bytes()
    except OSError:
        return False


def limit(seconds, binary=None):
    """A limit for what has to happen: more on a slow machine, and double for a raydbg with sanitizers. `binary` is by
    default the raydbg under test."""
    binary = binary or os.environ.get("RAYDBG") or ROOT / "build-asan/raydbg"
    return seconds * patience() * (2 if is_sanitized(binary) else 1)
