"""The packages in a Debian 11, and from there to a real paused task."""

import re
import shutil

import pytest
from conftest import ARCH, output
from debian_root import DebianRoot, PausedCluster
from test_deb import DEBIAN
from waits import limit

pytestmark = pytest.mark.matrix
APT = ("apt-get", "install", "--quiet", "--yes", "--allow-downgrades")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A Debian 11 as debootstrap leaves it, with Python."""
    root = DebianRoot(tmp_path_factory.mktemp("debian11") / "root")
    yield root
    shutil.rmtree(root.path)


@pytest.fixture(scope="module")
def debs(made, version, fresh, tmp_path_factory):
    """{package: (its file in the root, that of a lower version)}."""
    files = {"raydbg": f"raydbg_{version}_{DEBIAN}.deb", "raydbg-relay": f"raydbg-relay_{version}_all.deb"}
    found = {}
    for package, name in files.items():
        work = tmp_path_factory.mktemp("older") / package
        output("dpkg-deb", "-R", made("deb") / name, work)
        control = work / "DEBIAN/control"
        control.write_text(control.read_text().replace(f"Version: {version}", "Version: 0.0.1").replace(f"(>= {version})", "(>= 0.0.1)"))
        output("dpkg-deb", "--root-owner-group", "-b", work, work.with_suffix(".deb"))
        found[package] = (fresh.put(made("deb") / name), fresh.put(work.with_suffix(".deb"), f"{package}_0.0.1.deb"))
    return found


def installed(root, package):
    return root.run("dpkg-query", "--show", "--showformat", "${Status} ${Version}", package)


@pytest.fixture(scope="module")
def cluster(fresh):
    fresh.install_ray()
    with PausedCluster(fresh) as cluster:
        yield cluster


def test_install_upgrade_and_remove(fresh, debs, version):
    fresh.run(*APT, *(older for _, older in debs.values()))
    assert installed(fresh, "raydbg-relay") == "install ok installed 0.0.1"
    token = (fresh.path / "etc/raydbg/token").read_text()
    options = fresh.path / "etc/default/raydbg-relay"
    options.write_text(options.read_text().replace("127.0.0.1:6379", "10.0.0.5:6379"))

    fresh.run(*APT, "-o", "Dpkg::Options::=--force-confdef", *(newer for newer, _ in debs.values()))
    for package in debs:
        assert installed(fresh, package) == f"install ok installed {version}"
    assert fresh.run("raydbg", "version") == f"raydbg {version}\n"
    assert (fresh.path / "etc/raydbg/token").read_text() == token and "10.0.0.5" in options.read_text()
    assert fresh.run("stat", "-c", "%U:%G %a", "/etc/raydbg/token") == "root:raydbg 640\n"
    assert len(token.strip()) == 64

    fresh.run("apt-get", "remove", "--quiet", "--yes", "raydbg", "raydbg-relay")
    assert fresh.fails("sh", "-c", "raydbg version")[0] == 127
    assert not (fresh.path / "lib/systemd/system/raydbg-relay.service").exists()
    assert (fresh.path / "etc/raydbg/token").read_text() == token and "10.0.0.5" in options.read_text()
    fresh.run("apt-get", "purge", "--quiet", "--yes", "raydbg", "raydbg-relay")
    left = fresh.run("sh", "-c", "find / -xdev -path /proc -prune -o -path /sys -prune -o -name '*raydbg*' -print")
    assert {path for path in left.split() if not path.endswith(".deb")} <= {"/var/lib/raydbg"}
    assert not (fresh.path / "etc/raydbg").exists()


def assert_listed(text):
    """The one paused task, of a real Ray, is in what raydbg list printed."""
    assert re.search(r"^  \w+ +square .* debugpy +waiting ", text, re.M), text
    assert re.search(r"^1 on 1 node of cluster \S+ \(Ray 2\.51\.2\)$", text, re.M), text


def test_two_commands_from_a_fresh_debian_11(cluster, debs, fresh):
    """apt install, raydbg list."""
    assert fresh.fails("sh", "-c", "raydbg list")[0] == 127
    fresh.run(*APT, debs["raydbg"][0])
    assert_listed(cluster.run("raydbg", "list"))


def test_two_commands_from_a_fresh_environment(cluster, made, fresh, version):
    """pip install, raydbg list, with Debian 11's own pip."""
    wheel = fresh.put(made("wheel") / f"raydbg_bridge-{version}-py3-none-manylinux_2_28_{ARCH}.whl")
    fresh.run("python3", "-m", "venv", "/venv")
    fresh.run("/venv/bin/pip", "install", "--quiet", "--no-index", wheel)
    assert_listed(cluster.run("/venv/bin/raydbg", "list"))


def test_the_task_is_looked_into_and_let_go(cluster):
    """The program that was installed attaches to the real debugpy; this is the last use of the cluster."""
    said = cluster.run("sh", "-c", "printf 'p area\\ncontinue\\n' | raydbg attach --no-relay square", timeout=limit())
    assert "49" in said, said
    cluster.outer.wait(limit())
    assert "the task returned 49" in cluster.output()
