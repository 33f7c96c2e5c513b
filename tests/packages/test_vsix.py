"""The packages for VS Code: what is in each, for which machine, and that their metadata is whole."""

import json
import re
import zipfile
from xml.etree import ElementTree

import pytest
from conftest import ROOT, output
from waits import limit

# Each package, and the architecture of its program.
TARGETS = {"linux-x64": "x86_64", "linux-arm64": "aarch64", "universal": None}
MATRIX = [pytest.param(target, marks=pytest.mark.matrix) if target == "linux-arm64" else target for target in TARGETS]
PLATFORMS = [target for target in MATRIX if target != "universal"]
PROGRAM = "extension/bin/raydbg"
NAMESPACE = {"v": "http://schemas.microsoft.com/developer/vsx-schema/2011"}


@pytest.fixture(scope="session")
def targets(request):
    """Those that are made: a run without --matrix builds for this architecture alone."""
    return list(TARGETS) if request.config.getoption("matrix") else ["linux-x64", "universal"]


@pytest.fixture(scope="session")
def packages(made, version, targets):
    """{target: zip file}; there are no others."""
    directory = made("vsix", *targets)
    files = {target: directory / f"raydbg-{target}-{version}.vsix" for target in targets}
    assert sorted(directory.glob("*.vsix")) == sorted(files.values())
    return files


@pytest.fixture(scope="session")
def contents(packages):
    """{target: {name: bytes}}."""
    read = {}
    for target, file in packages.items():
        with zipfile.ZipFile(file) as archive:
            read[target] = {name: archive.read(name) for name in archive.namelist()}
    return read


@pytest.fixture(params=MATRIX)
def target(request):
    return request.param


def manifest(content):
    return json.loads(content["extension/package.json"])


def test_the_files(contents, target):
    """Nothing is missing, and nothing of the tree is in it that is not meant to be."""
    common = {"[Content_Types].xml", "extension.vsixmanifest", "extension/package.json", "extension/readme.md", "extension/changelog.md",
              "extension/LICENSE.txt", "extension/dist/extension.js", "extension/dist/compare-page.js", "extension/dist/treemap-page.js"}
    own = {PROGRAM, "extension/THIRD-PARTY-NOTICES", "extension/raydbg.cyclonedx.json"} if TARGETS[target] else set()
    media = {f"extension/{path.relative_to(ROOT / 'vscode-ext')}" for path in (ROOT / "vscode-ext/media").rglob("*.*")}
    media = {name for name in media if name != "extension/media/icon.svg"} | {"extension/media/walkthrough/vscode.png"}
    assert set(contents[target]) == common | own | media


def test_the_target_and_the_version(contents, target, version):
    package = ElementTree.fromstring(contents[target]["extension.vsixmanifest"])
    identity = package.find("v:Metadata/v:Identity", NAMESPACE)
    assert identity.get("Version") == version and identity.get("Id") == "raydbg"
    assert identity.get("TargetPlatform") == (target if TARGETS[target] else None)
    assert manifest(contents[target])["version"] == version


def test_the_version_is_cmakes_alone():
    assert json.loads((ROOT / "vscode-ext/package.json").read_text())["version"] == "0.0.0"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_program_is_portable_and_executable(packages, contents, platform, tmp_path):
    with zipfile.ZipFile(packages[platform]) as archive:
        assert archive.getinfo(PROGRAM).external_attr >> 16 == 0o100755
    program = tmp_path / "raydbg"
    program.write_bytes(contents[platform][PROGRAM])
    figures = output(ROOT / "tools/portable.d/check", program, TARGETS[platform])
    assert "not portable" not in figures and re.search(r"^symbols +GLIBC_2\.(\d+) ", figures, re.M)
    assert packages[platform].stat().st_size < 10_000_000


def test_the_program_says_the_version(contents, target, tmp_path, version):
    """That of another architecture is not run here."""
    if TARGETS[target] is None:
        assert not any(data.startswith(b"\x7fELF") for data in contents[target].values())
        return
    program = tmp_path / "raydbg"
    program.write_bytes(contents[target][PROGRAM])
    program.chmod(0o755)
    machine = output("uname", "-m").strip()
    if TARGETS[target] == machine:
        assert output(program, "version") == f"raydbg {version}\n"
    else:
        assert version.encode() in contents[target][PROGRAM]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_bill_and_the_notices(contents, platform, version):
    bill = json.loads(contents[platform]["extension/raydbg.cyclonedx.json"])
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["version"] == version
    locked = [line.split() for line in (ROOT / "cmake/portable.lock").read_text().splitlines()
              if line.startswith((TARGETS[platform], "source"))]
    known = {component["name"]: component["version"] for component in bill["components"]}
    assert len(locked) > 15 and {name for _, name, _, _ in locked} == set(known)
    notices = contents[platform]["extension/THIRD-PARTY-NOTICES"].decode()
    for name, its_version in known.items():
        assert f"\n{name} {its_version}\n=====" in notices


def test_nothing_else_is_bundled(contents):
    """So no further notices are due: npm's packages are compilers and types alone."""
    assert not manifest(contents["universal"]).get("dependencies")
    modules = {module for path in (ROOT / "vscode-ext/src").rglob("*.ts")
               for module in re.findall(r"^import (?!type\b)[^;]*?'([^']+)';", path.read_text(), re.M)}
    assert "vscode" in modules
    assert not {module for module in modules if not module.startswith((".", "node:"))} - {"vscode"}


def test_the_metadata(contents, target, version):
    content, found = contents[target], manifest(contents[target])
    assert found["license"] == "Apache-2.0" and content["extension/LICENSE.txt"] == (ROOT / "LICENSE").read_bytes()
    assert found["categories"] and found["keywords"] and found["description"] and found["displayName"]
    assert content[f"extension/{found['icon']}"].startswith(b"\x89PNG")
    assert f"\n## {version}\n" in content["extension/changelog.md"].decode(), "the changelog has this version"
    assert not found.get("extensionDependencies"), "the Python extension is used if it is there, and not required"


def test_the_pictures_are_in_the_package(contents, target):
    """VS Code shows pictures of a README over https alone, so that there are none; those of the walkthrough are files."""
    assert "![" not in contents[target]["extension/readme.md"].decode()
    shown = 0
    for name, data in contents[target].items():
        if name.startswith("extension/media/walkthrough/") and name.endswith(".md"):
            for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", data.decode()):
                assert contents[target][f"extension/media/walkthrough/{picture}"].startswith(b"\x89PNG"), picture
                shown += 1
    assert shown


def test_no_address_that_is_not_known(contents, target):
    texts = [contents[target][f"extension/{name}"].decode() for name in ("package.json", "readme.md", "changelog.md")]
    texts.append(contents[target]["extension.vsixmanifest"].decode())
    hosts = {host for text in texts for host in re.findall(r"https?://([\w.-]+)", text)}
    schemas = {"schemas.microsoft.com"}
    examples = {"head", "head.example.org", "HOST"}
    assert hosts - schemas - examples <= {"www.ray.io", "marketplace.visualstudio.com"}


def test_two_packages_of_one_commit_are_the_same(packages, targets, tmp_path):
    output(ROOT / "tools/vsix", *targets, "-o", tmp_path, timeout=limit(900))
    for target, file in packages.items():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), target
