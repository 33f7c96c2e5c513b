"""How soon `raydbg list --watch` tells what the GCS knows, both seen by this one process.

    watch_latency.py RAYDBG COUNT

Asks the GCS in a tight loop, with Ray's own stubs, until it has told COUNT workers with an open debugger and raydbg has
told them too. Prints READY, then a JSON object: worker id to seconds between the two (negative if raydbg was first).
"""

import json
import subprocess
import sys
import threading
import time

import grpc
from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc

ADDRESS = "127.0.0.1:6379"


def read_lines(stream, added):
    for line in stream:
        now = time.monotonic()
        change = json.loads(line)
        if change["event"] == "added":
            added.setdefault(change["pause"]["worker_id"], now)


def main(raydbg, count):
    stub = gcs_service_pb2_grpc.WorkerInfoGcsServiceStub(grpc.insecure_channel(ADDRESS))
    request = gcs_service_pb2.GetAllWorkerInfoRequest()
    known, added = {}, {}
    argv = [raydbg, "list", "--all", "--watch", "--format", "json", "--address", ADDRESS]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as watch:
        threading.Thread(target=read_lines, args=(watch.stdout, added), daemon=True).start()
        stub.GetAllWorkerInfo(request)
        time.sleep(0.5)
        print("READY", flush=True)
        deadline = time.monotonic() + 60
        while len(known.keys() & added.keys()) < count and time.monotonic() < deadline:
            for row in stub.GetAllWorkerInfo(request).worker_table_data:
                if row.is_alive and row.debugger_port:
                    known.setdefault(row.worker_address.worker_id.hex(), time.monotonic())
            time.sleep(0.002)
        watch.terminate()
    print(json.dumps({worker: added[worker] - at for worker, at in known.items() if worker in added}), flush=True)


main(sys.argv[1], int(sys.argv[2]))
