"""The packages for Debian: their files, what lintian and systemd say, and the archive with the same tree."""

import platform
import re
import subprocess
import tarfile

import pytest
from conftest import ARCH, ROOT, output

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


@pytest.fixture(scope="session")
def debs(made, version):
    """{package: its file}."""
    directory = made("deb")
    return {"raydbg": directory / f"raydbg_{version}_{DEBIAN}.deb", "raydbg-relay": directory / f"raydbg-relay_{version}_all.deb"}


@pytest.fixture(scope="session")
def tree(debs, tmp_path_factory):
    """Both packages unpacked into one root, with the maintainer scripts in SCRIPTS/PACKAGE."""
    root = tmp_path_factory.mktemp("root")
    for package, file in debs.items():
        output("dpkg-deb", "-x", file, root)
        (root / "SCRIPTS").mkdir(exist_ok=True)
        output("dpkg-deb", "-e", file, root / "SCRIPTS" / package)
    return root


def field(deb, name):
    return output("dpkg-deb", "-f", deb, name).strip()


def test_the_fields(debs, version):
    for deb in debs.values():
        assert field(deb, "Version") == version
    assert field(debs["raydbg"], "Depends") == "libc6 (>= 2.28)" and field(debs["raydbg"], "Architecture") == DEBIAN
    assert f"raydbg (>= {version})" in field(debs["raydbg-relay"], "Depends")


def test_the_program(tree, version):
    assert output(tree / "usr/bin/raydbg", "version") == f"raydbg {version}\n"
    for path in ("usr/share/man/man1/raydbg-attach.1.gz", "usr/share/man/man8/raydbg-relay.8.gz",
                 "usr/share/bash-completion/completions/raydbg", "usr/share/zsh/vendor-completions/_raydbg",
                 "usr/share/fish/vendor_completions.d/raydbg.fish", "usr/share/doc/raydbg/THIRD-PARTY-NOTICES",
                 "usr/share/doc/raydbg/README.md", "usr/share/doc/raydbg/docs/run.md", "usr/share/doc/raydbg/docs/images/vscode.png"):
        assert (tree / path).is_file(), path


def test_lintian_is_silent(debs):
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning,info", *map(str, debs.values())],
                          capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr


def test_the_unit_is_hardened(tree):
    unit = tree / "lib/systemd/system/raydbg-relay.service"
    said = output("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    level = float(re.search(r"exposure level for .*: ([0-9.]+)", said).group(1))
    assert level <= 1.5, said


def test_the_unit_is_understood(tree, tmp_path):
    """systemd has nothing to say about it, but for the path of the program, which is this tree's."""
    unit = tmp_path / "raydbg-relay.service"
    text = (tree / "lib/systemd/system/raydbg-relay.service").read_text()
    unit.write_text(text.replace("/usr/bin/raydbg", str(tree / "usr/bin/raydbg")))
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True).stderr
    assert "raydbg" not in said, said
    unit.write_text(unit.read_text().replace("ProtectClock=", "ProtectClcok="))
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True).stderr
    assert "ProtectClcok" in said, "a misspelt key is found"


def test_the_service_is_not_started_by_itself(tree):
    script = (tree / "SCRIPTS/raydbg-relay/postinst").read_text()
    assert "systemd-sysusers" in script and "systemctl start" not in script and "deb-systemd-invoke" not in script


def test_the_archive_has_the_same_files(made, tree, version):
    name = f"raydbg-{version}-linux-{ARCH}"
    with tarfile.open(made("deb") / f"{name}.tar.gz") as archive:
        members = {member.name: member for member in archive if member.isfile()}
        assert all(member.uid == 0 and member.name.startswith(f"{name}/") for member in members.values())
        program = archive.extractfile(members[f"{name}/bin/raydbg"]).read()
    assert program == (tree / "usr/bin/raydbg").read_bytes() and members[f"{name}/bin/raydbg"].mode == 0o755
