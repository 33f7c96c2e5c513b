"""How the start of a cluster fails, and how its drivers' end may. Nothing is started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "integration")]

import cluster  # noqa: E402
import evidence  # noqa: E402
from cluster import Cluster, ClusterError, Spec, start_lock  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "BROKEN", {})
    monkeypatch.setattr(cluster, "START_LOCK", str(tmp_path / "lock{}"))
    monkeypatch.setattr(evidence, "recorder", evidence.Recorder())


@pytest.fixture
def starts(monkeypatch):
    """What each start of a cluster does: nothing, or raise this."""
    outcomes, made = [], []

    def start(self):
        made.append(self.spec)
        if outcomes and (failure := outcomes.pop(0)):
            raise failure
    monkeypatch.setattr(Cluster, "_start", start)
    start.outcomes, start.made = outcomes, made
    return start


def test_a_start_that_fails_is_tried_again_and_that_is_noted(starts):
    starts.outcomes[:] = [ClusterError("node 1 did not start:\nport taken")]
    one = Cluster(Spec(nodes=1))
    assert one.start() is one and len(starts.made) == 2
    assert evidence.recorder.notes == ["Spec(nodes=1) started only when tried again; first: node 1 did not start: … port taken"]


def test_a_spec_that_is_broken_fails_at_once(starts):
    starts.outcomes[:] = [ClusterError("the first one"), subprocess.TimeoutExpired("ray start", 120)]
    with pytest.raises(ClusterError, match="(?s)^Spec.nodes=1. does not start here, tried twice; first: the first one\n.*120 s"):
        Cluster(Spec(nodes=1)).start()
    with pytest.raises(ClusterError) as again:
        Cluster(Spec(nodes=1)).start()
    assert str(again.value) == "Spec(nodes=1) does not start here, tried twice; first: the first one"
    assert len(starts.made) == 2
    Cluster(Spec(nodes=1, token=True)).start()  # another one is not
    assert len(starts.made) == 3


def test_an_interrupted_start_is_not_tried_again(starts):
    starts.outcomes[:] = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        Cluster(Spec()).start()
    assert len(starts.made) == 1 and not cluster.BROKEN


HOLD = "import sys; sys.path[:0] = sys.argv[2:]; import cluster; cluster.START_LOCK = sys.argv[1]\n" \
       "with cluster.start_lock():\n    print('held', flush=True); input()"


def test_the_lock_of_a_dead_process_is_free(tmp_path):
    argv = [sys.executable, "-c", HOLD, cluster.START_LOCK, HERE.parent / "support", HERE.parent / "integration"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as second:
            first.kill()
            first.wait()
            assert second.stdout.readline() == "held\n"
            second.kill()
    with start_lock():
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user's")
def test_another_users_lock_is_not_waited_for(tmp_path):
    (tmp_path / "lock").touch()
    os.chown(tmp_path / "lock", 12345, 12345)
    with start_lock():
        assert (tmp_path / "lock-1").exists()


def test_where_there_is_no_lock_the_error_says_so(tmp_path):
    for more in ("", "-1", "-2", "-3"):
        (tmp_path / f"lock{more}").symlink_to("/nowhere")
    with pytest.raises(ClusterError, match="please remove these files: .*lock"), start_lock():
        pass


# --- the end of a test ---

PROGRAM = """
import subprocess, pytest
from cluster import Cluster, ClusterError, ClusterTimeout, Spec

@pytest.fixture(autouse=True)
def ended(monkeypatch, request):
    def stop_drivers(self):
        raise request.param[0]
    monkeypatch.setattr(Cluster, "_start", lambda self: None)
    monkeypatch.setattr(Cluster, "stop", lambda self: print("stopped"))
    monkeypatch.setattr(Cluster, "stop_drivers", stop_drivers)
    monkeypatch.setattr(Cluster, "raydbg_processes", lambda self: request.param[1])
    monkeypatch.setattr(Cluster, "run", lambda self, *_, **__: subprocess.CompletedProcess("", request.param[2]))

@pytest.mark.parametrize("ended", [(ClusterTimeout("slow workers"), [], 0), (TimeoutError("slow dashboard"), [], 0)], indirect=True)
def test_slow(ended, cluster):
    pass

@pytest.mark.parametrize("ended", [(ClusterTimeout("left"), [(7, "raydbg dap")], 0), (ClusterTimeout("no gcs"), [], 1),
                                   (ClusterError("500"), [], 0)], indirect=True)
def test_harmed(ended, cluster):
    pass
"""


def test_a_slow_end_costs_the_cluster_and_not_the_test(tmp_path):
    (tmp_path / "conftest.py").write_text(f"import sys\nsys.path[:0] = {[str(HERE.parent / 'integration')]!r}\n"
                                          + (HERE.parent / "integration/conftest.py").read_text().replace(
                                              "Path(__file__).resolve().parent.parent", f"Path({str(HERE.parent)!r})"))
    (tmp_path / "test_planted.py").write_text(PROGRAM)
    out = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", tmp_path], cwd=tmp_path, text=True,
                         env={**os.environ, "RAYDBG_TEST_ARTIFACTS": str(tmp_path / "artifacts")}, stdout=subprocess.PIPE).stdout
    assert "5 passed, 3 errors" in out, out
    assert "Spec() was discarded: slow workers" in out and "Spec() was discarded: slow dashboard" in out
    assert "waits.Hard: a cluster's drivers were not ended in time: left" in out and "(7, 'raydbg dap')" in out
    assert len(list((tmp_path / "artifacts/evidence").iterdir())) == 5
