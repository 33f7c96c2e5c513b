"""Ray <= 2.34 registers its pdb, and only then listens: an attach that looks in between waits for it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from agent_session import Debuggee
from conftest import find_python
from fake_ray import FakeRay
from relay_process import RelayProcess
from waits import limit, settle, wait_until


@pytest.fixture
def early(tmp_path):
    """A cluster with a registered pdb, and the file with which that listens."""
    listens = tmp_path / "listens"
    program = Debuggee(find_python("3.11"), "plain", {"LISTENS_WITH": str(listens)})
    with FakeRay(0) as ray:
        ray.paused = False
        ray.pdb_since += 8  # a busy machine has that much longer than the 10 s of the product
        ray.pdb = int(program.wait_for("PORT"))
        yield ray, listens
    program.kill()


@pytest.fixture
def relay(early):
    with RelayProcess(address=early[0].address) as relay:
        wait_until(relay.pauses, "the registered pdb is listed")
        yield relay


def hold(relay, pause):
    answer = relay.http("POST", f"/v1/pauses/{pause}/hold")
    return answer.status == 200 and answer.json["state"] == "held", answer


def attach(relay, _):
    with relay.join(task="work") as client:
        return client.stopped(), client.text()


def attach_to_all(relay, _):
    with relay.join(tasks=["*"]) as client:
        return client.stopped() and "cannot" not in client.text(), client.text()


@pytest.mark.parametrize("way", [hold, attach, attach_to_all], ids=lambda way: way.__name__)
def test_it_waits_until_the_pdb_listens(early, relay, way):
    [pause] = relay.pauses()
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(way, relay, pause["id"])
        settle(0.5)  # longer than two looks are apart
        waits = not result.done()
        early[1].touch()
        done, said = result.result(limit())
    assert waits, ("it did not wait", said)
    assert done, said
