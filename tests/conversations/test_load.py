"""dapload, which tools/bench measures with: it notices what a bad relay does, and raydbg passes it."""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import sanitizers
from fake_ray import TASK, FakeRay
from relay_process import RelayProcess
from relay_under_test import raydbg_path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench/load"))

from relays import Threads, end, programs, run_told  # noqa: E402
from waits import limit  # noqa: E402

# What a bad relay does, and what dapload has to say of it.
FAULTS = {"drop": "has no answer", "duplicate": "which is not open", "flip": "differs from byte",
          "shorten": "a body of 10239 bytes, not 10240", "misnumber": "which is not open",
          "repeat-body": "the body of another request", "repeat-rows": "differs from byte"}


@pytest.fixture
def started():
    """started(PROGRAM, arguments…): runs it until the test's end; gives the addresses that it listens on."""
    with ExitStack() as stack:
        def start(program, *arguments):
            process, addresses = run_told(str(programs(raydbg_path()) / program), *arguments)
            stack.callback(end, process)
            return addresses
        yield start


def dapload(address, *arguments):
    """Its exit code, its numbers, and what it has complained of."""
    argv = [programs(raydbg_path()) / "dapload", "--connect", address, "--seconds", "0.3", "--warm", "0.05",
            "--patience", "3", *map(str, arguments)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit())
    assert done.returncode in (0, 1), done.stderr
    sanitizers.check(0, done.stderr)
    return done.returncode, json.loads(done.stdout), done.stderr


def assert_sound(address, *arguments):
    for _ in range(5):
        code, numbers, complaints = dapload(address, *arguments)
        assert (code, numbers["faults"]) == (0, 0), complaints
        if numbers.get("messages"):  # else the machine stood still for as long as is measured
            return numbers
    raise AssertionError("no message was measured")


@pytest.mark.parametrize("arguments", [["--body", "10K", "--depth", 4], ["--body", "200", "--sessions", 20],
                                       ["--body", "1M"], ["--body", "new1M", "--depth", 4],
                                       ["--body", "newrefs10K", "--depth", 4]])
def test_a_forwarder_is_no_bad_relay(started, arguments):
    adapter = started("fakeadapter")[0]
    assert_sound(started("forward", "--listen", "127.0.0.1:0", "--target", adapter)[0], *arguments)


# To repeat rows that are the same each time is no fault.
@pytest.mark.parametrize("fault, body", [(fault, body) for fault in FAULTS for body in ("10K", "new10K", "newrefs10K")
                                         if (fault, body) != ("repeat-rows", "10K")])
def test_a_bad_relay(started, fault, body):
    adapter = started("fakeadapter")[0]
    bad = started("forward", "--listen", "127.0.0.1:0", "--target", adapter, "--fault", fault, "--every", "20")[0]
    code, numbers, complaints = dapload(bad, "--body", body, "--depth", 4)
    assert code == 1 and numbers["faults"], complaints
    assert FAULTS[fault] in complaints


@pytest.mark.parametrize("sessions, depth, body", [(8, 16, "200"), (8, 4, "10K"), (2, 4, "1M")])
def test_the_relay_without_ray(started, sessions, depth, body):
    adapter = started("fakeadapter")[0]
    with RelayProcess("--token", "none", "--target", f"debugpy://{adapter}") as relay:
        assert_sound("%s:%d" % relay.address, "--sessions", sessions, "--depth", depth, "--body", body)


@pytest.mark.parametrize("sessions, depth, body", [(8, 16, "200"), (8, 4, "10K"), (2, 4, "1M")])
def test_sessions_of_many_targets(started, tmp_path, sessions, depth, body):
    attach = tmp_path / "attach"
    attach.write_text("".join('{"connect": "%s"}\n' % address
                              for address in started("fakeadapter", "--ports", str(sessions))))
    with RelayProcess("--token", "none", "--allow-connect") as relay:
        assert_sound("%s:%d" % relay.address, "--attach", attach, "--sessions", sessions, "--depth", depth, "--body",
                     body)


@pytest.mark.parametrize("body, depth, rewritten", [("200", 16, []), ("10K", 4, []), ("new10K", 4, []),
                                                    ("refs10K", 2, ["--rewritten"]),
                                                    ("newrefs10K", 2, ["--rewritten"])])
def test_one_session_of_many_tasks(body, depth, rewritten):
    """Each answer is of the task that was asked, although their adapters' ids are all the same."""
    with Threads(1 if rewritten else 5, 100, raydbg_path()) as row:
        assert_sound(row.address, *row.options, "--body", body, "--depth", depth, *rewritten)


def test_annotated_bodies(started, tmp_path):
    """They differ from the adapter's, have all of it in them, and are the same each time."""
    adapter, attach = started("fakeadapter")[0], tmp_path / "attach"
    attach.write_text('{"task": "%s"}\n' % TASK.hex())
    with FakeRay(int(adapter.rpartition(":")[2])) as ray:
        for _ in range(100):
            ray.add_ref(8_000_000)
        with RelayProcess("--token", "none", address=ray.address) as relay:
            address = "%s:%d" % relay.address
            assert_sound(address, "--attach", attach, "--body", "refs10K", "--rewritten")
            assert_sound(address, "--attach", attach, "--body", "newrefs10K", "--rewritten")
            assert_sound(address, "--attach", attach, "--body", "new1M")
            code, _, complaints = dapload(address, "--attach", attach, "--body", "refs10K")
            assert code == 1 and "differs from byte" in complaints
