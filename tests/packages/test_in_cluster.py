"""The wheel in a job's runtime_env: the workers of a real Ray without a network have raydbg, and nothing was installed."""

import json
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "tests/integration"))
from cluster import Cluster, Spec  # noqa: E402
from waits import limit  # noqa: E402

# The fields of a runtime_env that take a wheel's file; and the package's name, where pip has an index or, here, a directory.
FIELDS = ["py_modules", "pip", "uv", "name"]


def runtime_env(field, wheel):
    if field != "name":
        return {field: [str(wheel)]}
    options = ["--no-index", f"--find-links={wheel.parent}"]
    return {"pip": {"packages": ["raydbg-bridge"], "pip_install_options": options}}


@pytest.fixture(scope="module")
def cluster():
    """One node, no network, a paused task, and no raydbg on PATH."""
    with Cluster(Spec(nodes=1), ROOT / "build/raydbg") as cluster:
        assert cluster.run(["sh", "-c", "command -v raydbg"]).returncode != 0
        cluster.driver("pauses.py", "square")
        cluster.wait_paused()
        yield cluster


def assert_paused_task(text):
    """What `raydbg list --format json` printed has the paused task."""
    assert [(row["task_name"], row["state"]) for row in json.loads(text)] == [("square", "waiting")]


@pytest.mark.parametrize("field", FIELDS)
def test_a_task(cluster, wheel, field, version):
    driver = cluster.driver(Path(__file__).parent / "in_cluster.py", json.dumps(runtime_env(field, wheel)),
                            env={"RAY_ADDRESS": cluster.head()})
    found = json.loads(driver.result("look", timeout=limit(180)))
    assert "/runtime_resources/" in found["program"] and found["program"].endswith("/bin/raydbg"), found
    assert found["version"] == f"raydbg {version}\n", found
    assert_paused_task(found["list"])


@pytest.mark.parametrize("field, command", [("pip", "raydbg"), ("name", "raydbg"), ("uv", "raydbg"),
                                            ("py_modules", "python -m raydbg_bridge")])
def test_ray_job_submit(cluster, wheel, field, command):
    """RAY_ADDRESS is set in a job: raydbg needs no option there."""
    done = cluster.run([cluster.venv / "bin/ray", "job", "submit", "--address", "http://127.0.0.1:8265",
                        "--runtime-env-json", json.dumps(runtime_env(field, wheel)), "--",
                        "sh", "-c", f"echo at $RAY_ADDRESS; {command} list --format json"], timeout=limit(180))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"at {cluster.head()}\n" in done.stdout
    assert_paused_task(re.search(r"^\[.*^\]$", done.stdout, re.MULTILINE | re.DOTALL)[0])


def test_a_wheel_from_the_working_directory(cluster, wheel, tmp_path):
    """The client has the wheel, the nodes do not: Ray sends the working directory, and pip finds the wheel in it."""
    (tmp_path / wheel.name).write_bytes(wheel.read_bytes())
    env = {"pip": [f"${{RAY_RUNTIME_ENV_CREATE_WORKING_DIR}}/{wheel.name}"]}
    done = cluster.run([cluster.venv / "bin/ray", "job", "submit", "--address", "http://127.0.0.1:8265", "--working-dir",
                        tmp_path, "--runtime-env-json", json.dumps(env), "--", "raydbg", "list", "--format", "json"],
                       timeout=limit(180))
    assert done.returncode == 0, done.stdout + done.stderr
    assert_paused_task(re.search(r"^\[.*^\]$", done.stdout, re.MULTILINE | re.DOTALL)[0])
