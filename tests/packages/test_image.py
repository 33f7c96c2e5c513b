"""The container image: what is in it, and the relay in it as PID 1 without any privilege."""

import http.client
import os
import signal
import socket
import stat
import time

import pytest
from conftest import ARCH, ROOT, output
from dap_client import DapClient
from fake_adapter import FakeAdapter
from fake_ray import FakeRay
from oci_image import STATE, Container, Image
from waits import limit, wait_until

USER = 65532
PLATFORM = {"x86_64": "amd64", "aarch64": "arm64"}
BOTH = [arch if arch == ARCH else pytest.param(arch, marks=pytest.mark.matrix) for arch in PLATFORM]


@pytest.fixture(scope="session")
def image_of(made, version):
    """image_of(arch): the path of its OCI archive."""
    return lambda arch: made("image", arch) / f"raydbg-{version}-image-{arch}.tar"


@pytest.fixture(scope="session", params=BOTH)
def image(request, image_of):
    """The image of each architecture that is tested, with its name in `arch`."""
    image = Image(image_of(request.param))
    image.arch = request.param
    return image


@pytest.fixture
def root(image_of, tmp_path):
    """The image for this machine, unpacked."""
    path = tmp_path / "root"
    Image(image_of(ARCH)).unpack(path)
    tmp_path.chmod(0o755)
    return path


@pytest.fixture
def start(image_of, root):
    """start(*command): a Container; with no command it is the image's own."""
    started = []

    def start(*command):
        started.append(Container(Image(image_of(ARCH)), root, *command))
        return started[-1]
    yield start
    for container in started:
        container.__exit__()


def test_the_configuration(image, version):
    assert image.platform["architecture"] == PLATFORM[image.arch] and image.platform["os"] == "linux"
    assert image.name == f"raydbg:{version}"
    config = image.config
    assert config["User"] == f"{USER}:{USER}" and config["Entrypoint"] == ["/usr/bin/raydbg"] and config["Cmd"] == ["relay"]
    assert config["Volumes"] == {f"/{STATE}": {}} and config["ExposedPorts"] == {"4713/tcp": {}}
    assert "XDG_STATE_HOME=/var/lib" in config["Env"]
    assert config["Labels"]["org.opencontainers.image.version"] == version


def test_the_files(image):
    """The program, glibc, and nothing else that could be executed; nothing with more rights, nothing to write to but two."""
    files = image.files()
    for name, member in files.items():
        assert not member.mode & (stat.S_ISUID | stat.S_ISGID), name
        assert member.isfile() or member.isdir() or member.issym(), name
    executable = {name for name, member in files.items() if member.isfile() and member.mode & 0o111}
    loader = "ld-linux-x86-64.so.2" if image.arch == "x86_64" else "ld-linux-aarch64.so.1"
    libraries = f"lib/{image.arch}-linux-gnu"
    assert executable - {f"{libraries}/{loader}", f"{libraries}/libc.so.6"} == {"usr/bin/raydbg"}
    writable = {name for name, member in files.items()
                if member.mode & 0o002 and not member.issym() or member.uid == USER or member.gid == USER}
    assert writable == {"tmp", STATE}
    assert (files[STATE].mode & 0o7777, files[STATE].uid, files[STATE].gid) == (0o700, USER, USER)
    assert files["tmp"].mode & 0o7777 == 0o1777
    for name in ("LICENSE", "THIRD-PARTY-NOTICES", "raydbg.cyclonedx.json"):
        assert files[f"usr/share/doc/raydbg/{name}"].size > 1000


def test_the_certificates_and_the_names(root):
    bundle = (root / "etc/ssl/certs/ca-certificates.crt").read_text()
    assert bundle.count("-----BEGIN CERTIFICATE-----") == bundle.count("-----END CERTIFICATE-----") > 100
    assert f"raydbg:x:{USER}:{USER}:" in (root / "etc/passwd").read_text()
    notices = (root / "usr/share/doc/raydbg/THIRD-PARTY-NOTICES").read_text()
    assert "\nlibc6 2." in notices and "\nca-certificates 2" in notices and "\nlibgrpc-dev 1." in notices


def test_two_images_of_one_commit_are_the_same(image_of, tmp_path, version):
    output(ROOT / "tools/image", "-o", tmp_path, timeout=limit(900))
    assert (tmp_path / f"raydbg-{version}-image-{ARCH}.tar").read_bytes() == image_of(ARCH).read_bytes()


def test_a_container_tool_reads_and_runs_it(image_of, tmp_path, version):
    storage = ["--storage-driver", "vfs", "--root", tmp_path / "storage", "--runroot", tmp_path / "run"]
    name = output("buildah", *storage, "from", f"oci-archive:{image_of(ARCH)}").strip()
    said = output("buildah", *storage, "run", "--isolation", "chroot", name, "/usr/bin/raydbg", "version")
    assert said == f"raydbg {version}\n"
    output("buildah", *storage, "rm", name)


def get(address, path):
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=limit())
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.read()


def zombies_of(container):
    return [pid for pid, fields in container.processes().items() if fields["State"].startswith("Z")]


def keepers_of(container):
    """The keepers' pids, as seen from here."""
    return [fields["HostPid"] for fields in container.processes().values()
            if fields["Name"] == "raydbg-keeper" and not fields["State"].startswith("Z")]


def test_the_relay_as_pid_1(start, root):
    with FakeAdapter() as adapter, FakeRay(adapter.port) as ray:
        container = start("relay", "--listen", "127.0.0.1:0", "--address", ray.address)
        address = wait_until(container.listens, container.output)
        assert get(address, "/healthz") == (200, b"ok\n")
        first = container.processes()[1]
        assert first["Name"] == "raydbg" and first["Uid"].split() == [str(USER)] * 4 and first["Groups"].strip() == ""
        assert [int(first[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")] == [0] * 5
        assert {path.name for path in (root / STATE).iterdir()} >= {"token", "audit.log"}
        began = time.monotonic()
        assert container.terminate() == 0, container.output()
        assert time.monotonic() - began < 30  # timed: Kubernetes kills it then


def test_orphans_are_reaped(start, root):
    """The keeper is an orphan from its first moment; of one that was killed nothing remains."""
    with FakeAdapter() as adapter, FakeRay(adapter.port) as ray:
        container = start("relay", "--listen", "127.0.0.1:0", "--address", ray.address)
        host, port = wait_until(container.listens, container.output).rsplit(":", 1)
        token = (root / STATE / "token").read_text().strip()
        client = DapClient.over_socket(socket.create_connection((host, int(port)), timeout=limit()))
        client.initialize()
        client.attach({"request": "attach", "token": token})
        client.stopped()
        keepers = keepers_of(container)
        assert len(keepers) == 1, container.processes()
        os.kill(keepers[0], signal.SIGKILL)
        wait_until(lambda: keepers_of(container) not in ([], keepers), "another keeper")
        wait_until(lambda: not zombies_of(container), lambda: f"no zombie: {container.processes()}")
        assert container.terminate() == 0, container.output()
        client.close(check=False)


def test_without_a_directory_for_its_state(start, root):
    """With a state directory that is not the user's the relay says so, and ends."""
    os.chown(root / STATE, 0, 0)
    container = start()
    assert container.outer.wait(limit()) == 2
    assert STATE in container.output(), container.output()

