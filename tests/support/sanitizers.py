"""How a raydbg that was built with sanitizers is run, and how their reports are noticed."""

import signal

from waits import Hard



ENV = {"ASAN_OPTIONS": "exitcode=99:detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}

# Tests send these themselves, among others to what took too long; the other signals are a fault's.
SENT = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP}


def reported(text):
    return "Sanitizer" in text or "runtime error:" in text


def failure(returncode, text=""):
    """Hard if a sanitizer reported or a fault ended the process, else AssertionError."""
    crashed = returncode is not None and returncode < 0 and returncode not in SENT
    return Hard if crashed or returncode == 99 or reported(text) else AssertionError


def check(returncode, stderr):
    """Fails if a sanitizer reported, or a signal ended the process, or it has not ended."""
    if returncode is None or returncode < 0 or returncode == 99 or reported(stderr):
        raise failure(returncode, stderr)(f"raydbg ended with {returncode}; its stderr:\n{stderr[-8000:]}")


def check_text(text):
    """Fails if a sanitizer reported in this log."""
    if reported(text):
        raise Hard(text[-8000:])
