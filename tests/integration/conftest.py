"""Fixtures for tests on real Ray clusters. None is skipped: what is missing is installed, or fails the run."""

import os
import subprocess
import sys
import zlib
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import evidence  # noqa: E402
import reporting  # noqa: E402
from cluster import ROOT, Cluster, ClusterTimeout, Spec  # noqa: E402
from relay_process import RelayProcess  # noqa: E402
from waits import Hard  # noqa: E402

# The core cases run on these: on the first two always, on the ends too with --ends, on all with --matrix.
DEFAULT = {"py3.11-ray2.60.0": Spec(), "py3.13-ray2.60.0": Spec(python="3.13")}
# Rays before 2.39 use debugpy only when told.
ENDS = {"py3.9-ray2.51.2": Spec(python="3.9"),
        "py3.11-ray2.9.3": Spec(python="3.11", ray="2.9.3", debugpy="1.8.0", env=(("RAY_DEBUG", "1"),))}
MATRIX = {"py3.10-ray2.60.0": Spec(python="3.10"), "py3.12-ray2.60.0": Spec(python="3.12"),
          "py3.11-ray2.34.0": Spec(python="3.11", ray="2.34.0", env=(("RAY_DEBUG", "1"),)),
          **{f"py3.11-ray{ray}": Spec(python="3.11", ray=ray)
             for ray in ("2.40.0", "2.44.1", "2.49.2", "2.52.1", "2.55.1")}}


class ClusterPool:
    """One cluster, kept running for further tests: an idle one takes a tenth of a core. More only where a test uses more."""

    def __init__(self):
        self.clusters = {}  # by their Spec

    def get(self, spec, beside=()):
        """The cluster of that Spec; all but those that the test uses beside it make room."""
        if spec not in self.clusters:
            cluster = Cluster(spec, raydbg_path())
            cluster.check_startable()
            for other in [other for other in self.clusters.values() if not any(other is one for one in beside)]:
                self.discard(other)
            self.clusters[spec] = cluster.start()
        return self.clusters[spec]

    def discard(self, cluster):
        """Stops a cluster that nobody needs, or that a test has broken."""
        self.clusters.pop(cluster.spec, None)
        cluster.stop()

    def stop(self):
        with ExitStack() as stack:
            for cluster in self.clusters.values():
                stack.callback(cluster.stop)
            self.clusters.clear()


def raydbg_path():
    return Path(os.environ.get("RAYDBG", ROOT / "build/raydbg")).resolve()


def pytest_configure(config):
    evidence.register(config)


def pytest_addoption(parser):
    parser.addoption("--ends", action="store_true", help="core cases also on the oldest Python and the oldest Ray")
    parser.addoption("--matrix", action="store_true", help="core cases on Python 3.9 to 3.13 and Ray 2.9.3 to 2.60")
    parser.addoption("--soak", action="store_true", help="the long forms: 20 x kill -9, half an hour of the soak")
    parser.addoption("--rounds", type=int, default=1, help="how often test_deadlocks.py and test_run_series.py run their programs")


def core_specs(config):
    ends = config.getoption("ends") or config.getoption("matrix")
    return {**DEFAULT, **(ENDS if ends else {}), **(MATRIX if config.getoption("matrix") else {})}


def pytest_generate_tests(metafunc):
    if "core_spec" in metafunc.fixturenames:
        specs = core_specs(metafunc.config)
        metafunc.parametrize("core_spec", specs.values(), ids=specs.keys())


# Small stores, which fill and spill soon; and Ray tells where references were made.
OBJECTS = Spec(store=80_000_000, env=(("RAY_record_ref_creation_sites", "1"),))
LEGACY = Spec(env=(("RAY_DEBUG", "legacy"),))

# The fixtures that are a shared cluster, or something on it. A test with none of them runs on the first.
SHARED = {"cluster": Spec(), "cluster_313": Spec(python="3.13"), "token_cluster": Spec(token=True),
          "tls_cluster": Spec(tls=True), "old_cluster": Spec(python="3.11", ray="2.44.1"), "objects_cluster": OBJECTS,
          "held": OBJECTS, "legacy_cluster": LEGACY, "newest": LEGACY}
ORDER = list(dict.fromkeys(SHARED.values()))
FIRST = (0, "")  # the kind of the first cluster's tests


def kind_of(item):
    """Which cluster a test uses; a network of its own is a kind for each file."""
    if "routed" in item.fixturenames:
        return len(ORDER) + 1, item.path.name
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    spec = next((value for value in parameters.values() if isinstance(value, Spec)), None)
    if spec is None:
        names = {*item.fixturenames, *(value for value in parameters.values() if isinstance(value, str))}
        spec = max((SHARED[name] for name in names if name in SHARED), key=ORDER.index, default=ORDER[0])
    return (ORDER.index(spec), "") if spec in ORDER else (len(ORDER), repr(spec))


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own
def pytest_collection_modifyitems(items):
    """With `--dist loadgroup` one process runs all tests of a cluster; of the first cluster, all of a file."""
    kinds = {item: kind_of(item) for item in items}
    counts = Counter(kinds.values())
    items.sort(key=lambda item: (kinds[item] != FIRST, -counts[kinds[item]], kinds[item]))
    for item, kind in kinds.items():
        item.shared_cluster = repr(kind)  # tests/gate/gate_plugin.py
        group = item.path.name if kind == FIRST else f"cluster-{zlib.crc32(repr(kind).encode()):08x}"
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def pool():
    clusters = ClusterPool()
    yield clusters
    clusters.stop()


@pytest.fixture
def cluster_factory(pool):
    """cluster_factory(Spec(...)) or cluster_factory(tls=True, ...): a running cluster; its drivers end with the test."""
    used = []

    def make(spec=None, **options):
        cluster = pool.get(spec or Spec(**options), used)
        used.append(cluster)
        return cluster

    yield make
    for cluster in used:
        release(pool, cluster)


def release(pool, cluster):
    """Ends a test's drivers. Where Ray takes too long to end their workers, the cluster goes and the test stays passed."""
    try:
        cluster.stop_drivers()
    except (ClusterTimeout, TimeoutError, subprocess.TimeoutExpired) as error:
        try:
            excuse_slow_end(cluster, error)
        finally:
            pool.discard(cluster)
    except BaseException:
        pool.discard(cluster)
        raise


def excuse_slow_end(cluster, error):
    """Records it; fails if raydbg may be the cause: it is still there, or has harmed the cluster."""
    text = f"a cluster's drivers were not ended in time: {error}"
    evidence.save(cluster, text)
    left = cluster.raydbg_processes()
    if left and not any(isinstance(source, RelayProcess) and source.process.poll() is None
                        for _, source in evidence.recorder.sources()):
        raise Hard(f"{text}\nthese processes are left over: {left}") from error
    if left or cluster.run(["pgrep", "-x", "gcs_server"]).returncode:
        raise error
    evidence.note(f"{cluster.spec} was discarded: {str(error)[:300]}")


@pytest.fixture
def cluster(cluster_factory):
    """Two nodes, the project's Python and Ray."""
    return cluster_factory(Spec())


@pytest.fixture
def cluster_313(cluster_factory):
    return cluster_factory(Spec(python="3.13"))


@pytest.fixture
def token_cluster(cluster_factory):
    return cluster_factory(Spec(token=True))


@pytest.fixture
def tls_cluster(cluster_factory):
    return cluster_factory(Spec(tls=True))


@pytest.fixture
def old_cluster(cluster_factory):
    return cluster_factory(Spec(python="3.11", ray="2.44.1"))


@pytest.fixture
def objects_cluster(cluster_factory):
    return cluster_factory(OBJECTS)


@pytest.fixture
def legacy_cluster(cluster_factory):
    """Its breakpoints wait in Ray's legacy pdb."""
    return cluster_factory(LEGACY)


@pytest.fixture
def core_cluster(core_spec, cluster_factory):
    """Each of the versions that the core cases run on, in turn."""
    return cluster_factory(core_spec)


@pytest.fixture
def soak(request):
    """Whether the long forms were asked for."""
    return request.config.getoption("--soak")


def relay_in(cluster, *arguments, outside=False, **options):
    """`raydbg relay` inside; `join(task=…)` attaches, close() ends it with its keeper."""
    def popen(argv, env, stderr):
        return cluster.popen(cluster.outside(argv) if outside else argv, env=env, stderr=stderr,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    connect = cluster.connect_outside if outside else cluster.connect
    return RelayProcess(*arguments, **{"binary": cluster.raydbg_path, "popen": popen, "connect": connect,
                                       "address": cluster.head(), **options})


@pytest.fixture
def run_relay():
    """run_relay(cluster, *arguments, …): relay_in(…), closed with the test."""
    started = []

    def run(cluster, *arguments, **options):
        started.append(relay_in(cluster, *arguments, **options))
        return started[-1]

    yield run
    with ExitStack() as stack:
        for relay in started:
            stack.callback(relay.close)


@pytest.fixture(autouse=True)
def fresh_transcripts():
    reporting.forget_clients()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        reporting.add_transcripts(report)
        for name, cluster in item.funcargs.items() if hasattr(item, "funcargs") else ():
            for driver in cluster.drivers if isinstance(cluster, Cluster) else ():
                report.sections.append((f"driver in {name}", driver.output()[-8000:] if driver.log.exists() else ""))
