"""tools/release: what it refuses, and what is in the directory that it fills."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, output
from waits import limit

MADE = ["raydbg_bridge-{v}-py3-none-manylinux_2_28_x86_64.whl", "raydbg_bridge-{v}-py3-none-manylinux_2_28_aarch64.whl", "raydbg_{v}_amd64.deb",
        "raydbg_{v}_arm64.deb", "raydbg-relay_{v}_all.deb", "raydbg-{v}-linux-x86_64.tar.gz", "raydbg-{v}-linux-aarch64.tar.gz",
        "raydbg-{v}-image-x86_64.tar", "raydbg-{v}-image-aarch64.tar"]


def release(clone, *arguments):
    return subprocess.run([clone / "tools/release", "-o", clone.parent / "out", *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(300))


def test_a_tree_with_changes_is_refused(clone):
    (clone / "LICENSE").write_text("changed")
    (clone / "new.c").write_text("")
    done = release(clone)
    assert done.returncode == 1 and "--dirty" in done.stdout, done.stdout
    assert " M LICENSE" in done.stdout and "?? new.c" in done.stdout
    assert not (clone.parent / "out").exists()


def test_a_difference_from_the_lock_is_refused(clone):
    """The lock's hash is not that of what the mirror has; packages that were fetched already are taken from here."""
    lock = clone / "cmake/portable.lock"
    lines = lock.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("runtime-x86_64 ca-certificates "))
    lines[at] = re.sub(r"[0-9a-f]{64}", "0" * 64, lines[at])
    lock.write_text("".join(lines))
    output(ROOT / "tools/portable.d/runtime", "x86_64")
    shutil.copytree(ROOT / ".cache/portable/packages", clone / ".cache/portable/packages")
    done = subprocess.run([clone / "tools/portable.d/runtime", "x86_64", "--strict"], capture_output=True, text=True, timeout=limit(300))
    assert done.returncode == 1 and "tools/portable --lock" in done.stderr, done.stderr
    assert "ca-certificates for runtime-x86_64: the lock has" in done.stderr
    lenient = subprocess.run([clone / "tools/portable.d/runtime", "x86_64"], capture_output=True, text=True, timeout=limit(300))
    assert lenient.returncode == 0 and "warning" in lenient.stderr, lenient.stderr


@pytest.fixture
def dist():
    """What tools/release made."""
    return Path(os.environ["RAYDBG_DIST"])


@pytest.mark.release
def test_all_files_are_there_and_have_their_sums(dist, version):
    names = {path.name for path in dist.glob("raydbg[-_]*")}
    extensions = {name for name in names if name.endswith(".vsix")}
    assert extensions and names - extensions == {name.format(v=version) for name in MADE} | {f"raydbg-{version}.cyclonedx.json"}
    sums = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == names
    for name, digest in sums.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.release
def test_the_bill_has_each_file_and_what_is_in_it(dist, version):
    bill = json.loads((dist / f"raydbg-{version}.cyclonedx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["version"] == version
    known = {component["bom-ref"]: component for component in bill["components"]}
    within = {entry["ref"]: set(entry["dependsOn"]) for entry in bill["dependencies"]}
    for name in (dist / "SHA256SUMS").read_text().split()[1::2]:
        if name.endswith(".cyclonedx.json"):
            continue
        assert known[f"file:{name}"]["hashes"][0]["content"] == hashlib.sha256((dist / name).read_bytes()).hexdigest()
        libraries = {ref.split("/")[2].split("@")[0] for ref in within[f"file:{name}"]}
        has_program = not re.search(r"relay_|universal", name)
        assert ("libssl-dev" in libraries) == has_program, name
        assert ("libc6" in libraries) == ("-image-" in name), name
    assert all(ref in known for refs in within.values() for ref in refs)
