"""A thread that outlives the call which started it, as the worker's own stacks show it: a real debugpy, and a cluster that says
that the worker runs no task."""

import os
import subprocess

from dap_client import DapClient
from debugpy_session import raydbg_path
from fake_ray import FakeRay


def test_the_session_lasts_as_long_as_the_thread(start_worker, tmp_path, monkeypatch):
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    worker = start_worker("outlive")
    with FakeRay(worker.port) as ray:
        process = subprocess.Popen([raydbg_path(), "dap", "--address", ray.address], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env={**os.environ, "RAYDBG_START_RELAY": "0"})
        with DapClient.over_process(process, name="raydbg dap") as client:
            client.initialize()
            client.attach({"request": "attach", "endWithTask": True})
            thread = client.stopped()["threadId"]
            client.step("next", thread)
            ray.running = False
            asked = ray.asked["GetAllWorkerInfo"]
            client.ok("next", {"threadId": thread})
            ray.wait_asked("GetAllWorkerInfo", asked + 6)  # after two of them the worker is asked, after two more again
            assert not client.events("terminated")
            (tmp_path / "gate").touch()
            assert client.stopped(threadId=thread)["reason"] == "step"
            client.resume(thread)
            client.wait_event("output", lambda e: "work has ended" in e["output"])
            client.wait_event("terminated")
            client.disconnect()
