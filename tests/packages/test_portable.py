"""tools/portable: the lock of Debian's packages, and that a build can be made again."""

import subprocess

import pytest
from conftest import ARCH, ROOT, output
from waits import limit


def portable(clone, *arguments):
    return subprocess.run([clone / "tools/portable", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit(180))


def test_the_lock_is_compared_with_debian(clone):
    """A lock that was made just now has what Debian has, so that this test does not depend on the day."""
    lock = clone / "cmake/portable.lock"
    names = [line.split()[:2] for line in lock.read_text().splitlines()]
    assert portable(clone, "--lock").returncode == 0
    written = lock.read_text()
    assert [line.split()[:2] for line in written.splitlines()] == names
    same = portable(clone, "--check")
    assert same.returncode == 0 and "has what Debian has" in same.stderr, same.stderr

    lines = written.splitlines(keepends=True)
    at = {name: next(number for number, line in enumerate(lines) if line.startswith(f"{name} "))
          for name in ("x86_64 libssl-dev", "aarch64 libabsl-dev", "source cjson", "runtime-x86_64 libc6")}
    for name, number in at.items():
        *_, version, digest = lines[number].split()
        changed = {"x86_64 libssl-dev": ("3.0.0-1", digest), "source cjson": (version, "0" * 64)}.get(name)
        lines[number] = f"{name} {' '.join(changed)}\n" if changed else ""
    lock.write_text("".join(lines))
    done = portable(clone, "--check")
    assert done.returncode == 1 and "tools/portable --lock" in done.stderr, done.stderr
    said = [line.split() for line in done.stderr.splitlines() if line.startswith(("-", "+"))]
    assert sorted(" ".join(words[:2]) for words in said) == sorted(
        [*(f"+{name}" for name in at), "-x86_64 libssl-dev", "-source cjson"])
    assert lock.read_text() == "".join(lines)
    assert not list(clone.glob("build-portable-*")) and not (clone / ".cache/portable/zig").exists()


@pytest.mark.matrix
def test_a_build_in_another_directory_has_the_same_bytes(clone):
    """Only what the sources and the lock say gets into the binary."""
    output(ROOT / "tools/portable")
    (clone / ".cache").mkdir()
    (clone / ".cache/portable").symlink_to(ROOT / ".cache/portable")
    for name in ("base", "proto", "dap", "relay", "cli", "cmake", "CMakeLists.txt", "CMakePresets.json"):
        output("cp", "-a", "-T", ROOT / name, clone / name)
    output(clone / "tools/portable", timeout=limit(900))
    program = f"build-portable-{ARCH}/raydbg"
    assert (clone / program).read_bytes() == (ROOT / program).read_bytes()
