"""How a raydbg that was built with sanitizers is run, and how their reports are noticed."""

ENV = {"ASAN_OPTIONS": "exitcode=99:detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


def check(returncode, stderr):
    """Fails if a sanitizer reported, or a signal ended the process, or it has not ended."""
    reported = "Sanitizer" in stderr or "runtime error:" in stderr
    if returncode is None or returncode < 0 or returncode == 99 or reported:
        raise AssertionError(f"raydbg ended with {returncode}; its stderr:\n{stderr[-8000:]}")
