"""The program for 64-bit Arm, run by qemu on glibc of that architecture, and the packages that have it."""

import json
import os
import re
import struct
import subprocess
import tarfile
import zipfile

import pytest
from conftest import ROOT, clean_environment, output
from fake_adapter import FakeAdapter
from fake_ray import FakeRay
from waits import limit

pytestmark = pytest.mark.matrix
ARCH, DEBIAN = "aarch64", "arm64"
EM_AARCH64 = 183


@pytest.fixture(scope="module")
def archive(made, version):
    return made("deb", ARCH) / f"raydbg-{version}-linux-{ARCH}.tar.gz"


@pytest.fixture(scope="module")
def program(archive, tmp_path_factory, version):
    """The archive's program, as a command that qemu runs."""
    directory = tmp_path_factory.mktemp("arm64")
    with tarfile.open(archive) as content:
        content.extractall(directory)
    output(ROOT / "tools/portable.d/runtime", ARCH)
    binary = directory / f"raydbg-{version}-linux-{ARCH}/bin/raydbg"
    machine, = struct.unpack_from("<H", binary.read_bytes(), 18)
    assert machine == EM_AARCH64
    command = directory / "raydbg"
    command.write_text(f'#!/bin/sh\nexec qemu-{ARCH}-static -L {ROOT}/.cache/portable/runtime-{ARCH} {binary} "$@"\n')
    command.chmod(0o755)
    return command


def test_version_and_list(program, version):
    assert output(program, "version") == f"raydbg {version}\n"
    with FakeAdapter() as adapter, FakeRay(adapter.port) as ray:
        pause, = json.loads(output(program, "list", "--format", "json", "--address", ray.address, timeout=limit()))
        assert (pause["task_name"], pause["state"]) == ("work", "waiting")


def test_the_wrong_architecture_is_not_run_by_accident(program):
    """Without qemu the kernel refuses it: what the other tests see is emulated."""
    binary = re.search(r"(\S+/bin/raydbg) ", program.read_text()).group(1)
    with pytest.raises(OSError, match="Exec format error"):
        subprocess.run([binary, "version"], capture_output=True)


@pytest.mark.parametrize("file", ["test_attach.py", "test_bytes.py"])
def test_conversations(program, file):
    """raydbg dap between a client and the fake adapter."""
    done = subprocess.run([ROOT / ".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                           ROOT / "tests/conversations" / file], env=clean_environment(RAYDBG=str(program)), cwd=ROOT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(600))
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ passed", done.stdout, re.M), done.stdout


def test_pip_takes_the_wheel_for_that_machine(made, version, tmp_path):
    """As pip on a 64-bit Arm with glibc 2.28 would; this machine's own pip refuses it."""
    wheel = made("wheel", ARCH) / f"raydbg_bridge-{version}-py3-none-manylinux_2_28_{ARCH}.whl"
    pip = [ROOT / ".cache/packages/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--target", tmp_path]
    output(*pip, "--only-binary=:all:", "--platform", f"manylinux_2_28_{ARCH}", wheel, env=clean_environment())
    machine, = struct.unpack_from("<H", (tmp_path / "bin/raydbg").read_bytes(), 18)
    assert machine == EM_AARCH64
    refused = subprocess.run([*map(str, pip), wheel], env=clean_environment(), capture_output=True, text=True)
    assert refused.returncode != 0 and "not a supported wheel on this platform" in refused.stderr


def test_one_program_in_all_packages(made, archive, version):
    """The wheel, the deb and the archive have the same bytes."""
    with tarfile.open(archive) as content:
        program = content.extractfile(f"raydbg-{version}-linux-{ARCH}/bin/raydbg").read()
    with zipfile.ZipFile(made("wheel", ARCH) / f"raydbg_bridge-{version}-py3-none-manylinux_2_28_{ARCH}.whl") as wheel:
        assert wheel.read(f"raydbg_bridge-{version}.data/scripts/raydbg") == program
    deb = made("deb", ARCH) / f"raydbg_{version}_{DEBIAN}.deb"
    assert output("dpkg-deb", "-f", deb, "Architecture") == f"{DEBIAN}\n"
    unpacked = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE, check=True).stdout
    member = subprocess.run(["tar", "-xO", "./usr/bin/raydbg"], input=unpacked, stdout=subprocess.PIPE, check=True).stdout
    assert member == program


def test_lintian_is_silent_about_arm64(made, version):
    deb = made("deb", ARCH) / f"raydbg_{version}_{DEBIAN}.deb"
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning,info", deb], env=dict(os.environ),
                          capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr
