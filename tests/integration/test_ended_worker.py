"""A worker that has ended while Ray's GCS lists it as alive, for ever.

To change `num_paused_threads`, the GCS reads the worker's record, adds to it and writes it back; the worker's end may be
written in between, and is lost then. It happens when a task is let go and its driver ends at the same moment.
"""

import json

import pytest
from cluster import wait_for

# Writes the worker's record once more as it was while the worker lived.
WRITE_BACK = """
import sys
import grpc
from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc
gcs = gcs_service_pb2_grpc.WorkerInfoGcsServiceStub(grpc.insecure_channel("127.0.0.1:6379"))
for worker in gcs.GetAllWorkerInfo(gcs_service_pb2.GetAllWorkerInfoRequest(), timeout=10).worker_table_data:
    if worker.pid == int(sys.argv[1]):
        worker.is_alive = True
        worker.num_paused_threads = int(sys.argv[2])
        gcs.AddWorkerInfo(gcs_service_pb2.AddWorkerInfoRequest(worker_data=worker), timeout=10)
        print("written")
"""


def listed(cluster):
    done = cluster.raydbg("list", "--format", "json")
    assert done.returncode == 0, done.stderr
    return [row["pid"] for row in json.loads(done.stdout)]


@pytest.mark.parametrize("paused_threads", [0, 1])
def test_it_is_not_listed(cluster, paused_threads):
    cluster.driver("pauses.py", "square")
    (worker,) = cluster.wait_paused()
    assert listed(cluster) == [worker["pid"]]
    cluster.kill(worker["pid"])
    cluster.stop_drivers()

    def row():
        return next(row for row in cluster.workers() if row["worker_id"] == worker["worker_id"])
    wait_for(lambda: not row()["is_alive"], "Ray knows of the worker's end")
    written = cluster.python("-c", WRITE_BACK, str(worker["pid"]), str(paused_threads))
    assert written.stdout == "written\n", written.stderr
    try:
        assert row()["is_alive"]
        assert listed(cluster) == []
        refused = cluster.raydbg("attach", str(worker["pid"]))
        assert refused.returncode == 3 and "no task is paused" in refused.stderr, refused.stderr
    finally:
        ended = cluster.python("-c", WRITE_BACK.replace("is_alive = True", "is_alive = False"), str(worker["pid"]), "0")
        assert ended.stdout == "written\n", ended.stderr
