"""Breakpoints by file in what runs on top of Ray: Serve, Data, Train, and a Jupyter kernel. None of the programs is edited."""

import shutil
import time

import pytest
from cluster import PROGRAMS, ROOT, Driver, line_of, wait_for
from waits import limit


class Program:
    """A program of `programs/` with a relay of its own home, from which `raydbg run` or raydbg_bridge.init() takes the token."""

    def __init__(self, cluster, relay):
        self.cluster, self.relay = cluster, relay
        self.env = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"], "RAY_ADDRESS": cluster.head(),
                    "RAYDBG_RELAY": "%s:%d" % relay.address}

    def start(self, argv, **env):
        log = self.cluster.directory / f"library-{time.monotonic_ns()}.log"
        with log.open("wb") as output:
            process = self.cluster.popen(argv, env={**self.env, **env}, stdout=output, stderr=output)
        self.driver = Driver(process, log)
        self.cluster.drivers.append(self.driver)
        return self

    def run(self, name, mark, *arguments, **env):
        return self.start(self.cluster.raydbg_argv("run", "--break", location(name, mark), "--", self.cluster.venv / "bin/python",
                                                   "-u", PROGRAMS / name, *arguments), **env)

    def stops(self):
        """Lets each process that stops go on; yields its name and its line."""
        while True:
            def find():
                paused = [p for p in self.relay.pauses() if p["location"] and p["task_name"]]
                return paused or self.driver.process.poll() is not None
            found = wait_for(find, lambda: f"a stop: {self.relay.pauses()} {self.driver.output()}", every=0.2, most=limit(240))
            if found is True:
                return
            yield found[0]["task_name"], found[0]["location"]["line"]
            self.relay.go_on(found[0])

    def results(self):
        assert self.driver.process.returncode == 0, self.driver.output()
        return [line for line in self.driver.output().splitlines() if line.startswith(("RESULT", "ERROR"))]


def location(name, mark):
    return f"{PROGRAMS / name}:{line_of(PROGRAMS / name, mark)}"


@pytest.fixture
def program(cluster, run_relay):
    return Program(cluster, run_relay(cluster))


def test_a_serve_deployment(program):
    stops = list(program.run("serving.py", "deployment").stops())
    assert [line for _, line in stops] == 2 * [line_of(PROGRAMS / "serving.py", "deployment")], stops
    assert all("Doubler" in name or "ServeReplica" in name for name, _ in stops), stops
    assert program.results() == ["RESULT 2", "RESULT 4"]


def test_a_map_over_ray_data(program):
    stops = list(program.run("mapping.py", "map_batches").stops())
    assert stops and {line for _, line in stops} == {line_of(PROGRAMS / "mapping.py", "map_batches")}
    assert program.results() == ["RESULT [0, 2, 4, 6]"]


def test_two_workers_of_ray_train(program, tmp_path):
    """On a busy machine the workers do not start within the minute that Train gives them."""
    stops = list(program.run("training.py", "train", tmp_path, RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S="1000").stops())
    assert [line for _, line in stops] == 2 * [line_of(PROGRAMS / "training.py", "train")], stops
    assert all("RayTrainWorker" in name for name, _ in stops), stops
    assert program.results() == ["RESULT fitted"]


@pytest.fixture
def package(tmp_path, cluster):
    """The Python package as `pip install --target` leaves it."""
    shutil.copytree(ROOT / "python/raydbg_bridge", tmp_path / "raydbg_bridge")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/raydbg").symlink_to(cluster.raydbg_path)
    return tmp_path


def test_a_notebook(program, package):
    unedited = PROGRAMS / "unedited.py"
    program.start([program.cluster.venv / "bin/python", "-u", PROGRAMS / "notebook.py", location("unedited.py", "task"),
                   location("unedited.py", "driver")], PYTHONPATH=f"{package}:{PROGRAMS}", JUPYTER_RUNTIME_DIR=str(package / "run"))
    stops = list(program.stops())
    assert [line for _, line in stops] == [line_of(unedited, name) for name in ("task", "driver", "task")], stops
    assert [name for name, _ in stops][::2] == ["task", "task"]
    error, *results = program.results()
    assert "ray.shutdown() first" in error
    assert results == ["RESULT task 2 own ran", "RESULT driver 4 - -", "RESULT task 6 b -"]
    assert program.relay.http("GET", "/v1/breakpoints").json["breakpoints"] == []
    assert not list((program.relay.state / "s/raydbg").glob("run-*"))
