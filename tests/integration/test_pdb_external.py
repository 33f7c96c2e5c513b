"""Ray's legacy pdb on a node that raydbg reaches over a network: with --ray-debugger-external, and without."""

import json
import re
import tempfile

import pytest
from cluster import Spec, wait_for
from conftest import raydbg_path
from routed import HEAD, NODES, RoutedCluster

UNREACHABLE = 5
SPEC = {"env": (("RAY_DEBUG", "legacy"),), "dashboard": False}


@pytest.fixture
def routed(request):
    with RoutedCluster(Spec(**SPEC, start=request.param), raydbg_path()) as cluster:
        cluster.wait_nodes()
        yield cluster
        cluster.stop_drivers()


EXTERNAL = pytest.mark.parametrize("routed", [("--ray-debugger-external",)], indirect=True, ids=["external"])
INTERNAL = pytest.mark.parametrize("routed", [()], indirect=True, ids=["internal"])


def outside(cluster, *arguments, env=None, **options):
    argv = cluster.outside([cluster.raydbg_path, *arguments])
    return cluster.run(argv, env={"RAY_ADDRESS": HEAD, **(env or {})}, **options)


def wait_endpoint(cluster):
    """Where the one waiting task's pdb listens, as it is listed outside."""
    def find():
        rows = json.loads(outside(cluster, "list", "--format", "json", check=True).stdout)
        return next((row["endpoint"] for row in rows if row["state"] == "waiting" and row["task_name"]), None)
    return wait_for(find, "the task waits in pdb", every=0.2)


@EXTERNAL
def test_an_external_pdb_is_attached_to_over_the_network(routed):
    driver = routed.driver("pauses.py", "on_b")
    assert re.fullmatch(rf"{re.escape(NODES)}\.2:\d+", wait_endpoint(routed))
    done = outside(routed, "attach", "on_b", input="p x\nc\n")
    assert done.returncode == 0 and "\n5\n" in done.stdout, done.stdout + done.stderr
    assert driver.result("on_b") == f"5@{NODES}.2"


@INTERNAL
def test_one_on_another_nodes_localhost_is_refused_and_left_alone(routed):
    driver = routed.driver("pauses.py", "on_b")
    assert wait_endpoint(routed).startswith("localhost:")
    for _ in range(2):
        done = outside(routed, "attach", "on_b", input="c\n")
        assert done.returncode == UNREACHABLE and "--ray-debugger-external" in done.stderr, done.stdout + done.stderr
    assert wait_endpoint(routed) and not re.search("RESULT|ERROR", driver.output())


@INTERNAL
def test_a_relay_on_its_node_reaches_it(routed, run_relay):
    driver = routed.driver("pauses.py", "on_b")
    assert wait_endpoint(routed).startswith("localhost:")
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        relay = run_relay(routed, listen=(f"unix:{directory}/s",))
        done = outside(routed, "attach", "on_b", "--relay", f"unix:{directory}/s", env={"RAYDBG_TOKEN": relay.token},
                       input="p x\nc\n")
        assert done.returncode == 0 and "\n5\n" in done.stdout, done.stdout + done.stderr
        assert driver.result("on_b").startswith("5@")
        relay.terminate()
