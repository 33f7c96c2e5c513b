"""The wheel: what is in it, and that pip installs it on every Python without a network."""

import json
import posixpath
import re
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from conftest import ARCH, ROOT, clean_environment, output
from waits import limit

PYTHONS = ["3.9", "3.10", "3.11", "3.12", "3.13"]


@pytest.fixture(scope="session")
def content(wheel):
    """{name in the archive: bytes}."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def python(version):
    """The interpreter of that version: this machine's or pyenv's."""
    done = subprocess.run(["sh", "-c", f"pyenv prefix $(pyenv versions --bare | grep '^{version}[.]' | tail -1)"],
                          capture_output=True, text=True)
    candidates = [Path(done.stdout.strip()) / "bin/python", Path(f"/usr/bin/python{version}")]
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        candidates.append(Path(sys.executable))
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise AssertionError(f"no Python {version}: install it (pyenv install {version})")


def test_it_is_small_and_portable(wheel, content, tmp_path, version):
    assert wheel.stat().st_size < 10_000_000
    program = tmp_path / "raydbg"
    program.write_bytes(content[f"raydbg_bridge-{version}.data/scripts/raydbg"])
    program.chmod(0o755)
    assert "not portable" not in output(ROOT / "tools/portable.d/check", program)


def test_two_wheels_of_one_commit_are_the_same(wheel, tmp_path):
    output(ROOT / "tools/wheel", "-o", tmp_path, timeout=limit(900))
    again, = tmp_path.iterdir()
    assert again.read_bytes() == wheel.read_bytes()


def test_the_metadata(content, version):
    metadata = message_from_string(content[f"raydbg_bridge-{version}.dist-info/METADATA"].decode())
    assert metadata["Name"] == "raydbg-bridge" and metadata["Version"] == version
    assert metadata["Requires-Python"] == ">=3.9" and metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Summary"] and metadata["Author"] and metadata["Keywords"] and metadata.get_all("Classifier")
    assert not metadata.get_all("Requires-Dist")
    tags = message_from_string(content[f"raydbg_bridge-{version}.dist-info/WHEEL"].decode())
    assert tags["Tag"] == f"py3-none-manylinux_2_28_{ARCH}" and tags["Root-Is-Purelib"] == "false"


def test_the_description_needs_no_other_file(content, version):
    """PyPI's page has no other file, and the project no address: neither a picture nor a link could lead anywhere."""
    metadata = message_from_string(content[f"raydbg_bridge-{version}.dist-info/METADATA"].decode())
    text = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown" and "pip install raydbg-bridge" in text
    assert not re.search(r"\]\(|<img|https?://", text)
    assert not metadata.get_all("Project-URL") and not metadata["Home-page"]


def test_the_bill_names_what_is_linked_in(content, version):
    bill = json.loads(content[f"raydbg_bridge-{version}.dist-info/sboms/raydbg.cyclonedx.json"])
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["version"] == version
    known = {component["name"]: component for component in bill["components"]}
    locked = [line.split() for line in (ROOT / "cmake/portable.lock").read_text().splitlines() if line.startswith((ARCH, "source"))]
    assert len(locked) > 15 and {name for _, name, _, _ in locked} == set(known)
    notices = content[f"raydbg_bridge-{version}.dist-info/licenses/THIRD-PARTY-NOTICES"].decode()
    for name, component in known.items():
        assert component["purl"].startswith(f"pkg:deb/debian/{name}@") and len(component["hashes"][0]["content"]) == 64
        assert f"\n{name} {component['version']}\n=====" in notices
    assert "OpenSSL" in notices and "Apache License" in content[f"raydbg_bridge-{version}.dist-info/licenses/LICENSE"].decode()


def test_manual_pages_and_completions(content, version):
    share = f"raydbg_bridge-{version}.data/data/share"
    for name in ("man/man1/raydbg.1", "man/man1/raydbg-attach.1", "man/man8/raydbg-relay.8", "zsh/site-functions/_raydbg",
                 "bash-completion/completions/raydbg", "fish/vendor_completions.d/raydbg.fish"):
        assert content[f"{share}/{name}"], name


def test_the_documentation_is_inside(content, version):
    """Messages name its pages. What the pages show and link to is inside, too."""
    share = f"raydbg_bridge-{version}.data/data/share/doc/raydbg"
    pages = {name: data.decode() for name, data in content.items() if name.startswith(share) and name.endswith(".md")}
    assert {f"{share}/README.md", f"{share}/docs/run.md", f"{share}/docs/relay.md", f"{share}/docs/editors.md"} <= set(pages)
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)#]+)", text):
            if "://" not in target:
                assert posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) in content, (name, target)
    picture, = re.findall(r"!\[[^]]*\]\(([^)]+)\)", pages[f"{share}/README.md"])
    assert content[f"{share}/{picture}"].startswith(b"\x89PNG")


def installed(wheel, interpreter, directory, *options):
    """`pip install raydbg-bridge`, where the wheel's directory is all that pip knows."""
    env = clean_environment(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheel.parent), PIP_DISABLE_PIP_VERSION_CHECK="1")
    output(interpreter, "-m", "pip", "install", "--quiet", *options, "raydbg-bridge", env=env, cwd=directory)


@pytest.mark.parametrize("number", PYTHONS)
def test_pip_install(wheel, number, tmp_path, version):
    output(python(number), "-m", "venv", tmp_path / "venv", env=clean_environment())
    interpreter = tmp_path / "venv/bin/python"
    installed(wheel, interpreter, tmp_path)
    program = tmp_path / "venv/bin/raydbg"
    assert output(program, "version") == f"raydbg {version}\n"
    assert output(interpreter, "-m", "raydbg_bridge", "version", env=clean_environment()) == f"raydbg {version}\n"
    found = output(interpreter, "-c", "import raydbg_bridge; print(raydbg_bridge.find_raydbg_bin())", env=clean_environment())
    assert found.strip() == str(program)
    assert (tmp_path / "venv/share/man/man1/raydbg.1").is_file()
    wrong = subprocess.run([interpreter, "-m", "raydbg_bridge", "nonsense"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "nonsense" in wrong.stderr
    output(interpreter, "-m", "pip", "uninstall", "--quiet", "--yes", "raydbg-bridge", env=clean_environment())
    assert not program.exists() and not (tmp_path / "venv/share/man/man1/raydbg.1").exists()


@pytest.fixture
def namesake(tmp_path):
    """A wheel like that of PyPI's `raydbg`: another program, whose command has the same name."""
    path = tmp_path / "raydbg-0.1.0-py3-none-any.whl"
    info = "raydbg-0.1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("raydbg/cli.py", "def main():\n    print('another program')\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: raydbg\nVersion: 0.1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\nraydbg = raydbg.cli:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_another_raydbg_in_the_environment(wheel, namesake, tmp_path):
    """It takes the command's place. The package says so, instead of running it, and what to do works."""
    output(python(PYTHONS[-1]), "-m", "venv", tmp_path / "venv", env=clean_environment())
    interpreter, program = tmp_path / "venv/bin/python", tmp_path / "venv/bin/raydbg"
    installed(wheel, interpreter, tmp_path)
    output(interpreter, "-m", "pip", "install", "--quiet", "--no-index", namesake, env=clean_environment())
    assert output(program) == "another program\n"
    wrong = subprocess.run([interpreter, "-m", "raydbg_bridge", "version"], env=clean_environment(), capture_output=True, text=True)
    assert wrong.returncode != 0 and f"{program} is another program" in wrong.stderr and not wrong.stdout
    assert "pip uninstall raydbg, then pip install --force-reinstall raydbg-bridge" in wrong.stderr
    output(interpreter, "-m", "pip", "uninstall", "--quiet", "--yes", "raydbg", env=clean_environment())
    installed(wheel, interpreter, tmp_path, "--force-reinstall")
    assert output(program, "version") == output(interpreter, "-m", "raydbg_bridge", "version", env=clean_environment())


@pytest.mark.parametrize("option", ["--target", "--prefix"])
def test_pip_install_elsewhere(wheel, option, tmp_path, version):
    interpreter = python(PYTHONS[-1])
    installed(wheel, interpreter, tmp_path, option, tmp_path / "elsewhere")
    package, = (tmp_path / "elsewhere").rglob("raydbg_bridge/__main__.py")
    env = clean_environment(PYTHONPATH=str(package.parents[1]))
    assert output(interpreter, "-m", "raydbg_bridge", "version", env=env) == f"raydbg {version}\n"
    (tmp_path / "elsewhere/bin/raydbg").unlink()
    gone = subprocess.run([interpreter, "-m", "raydbg_bridge", "version"], env=env, capture_output=True, text=True)
    assert gone.returncode != 0 and "there is no raydbg in" in gone.stderr and "install the package anew" in gone.stderr
