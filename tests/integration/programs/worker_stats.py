"""What a worker says of its references, asked with Ray's own stubs.

    worker_stats.py PID

Prints a JSON object: worker_id, ip, port, refs (id, size, call_site, local, submitted, contained, pinned, status,
attempt), locations of what it owns (by id: nodes, did_spill, spilled_url, pending; null with older Rays, which have no
such call for many), and its node's store (used, available, spilled).
"""

import json
import sys

import grpc
from ray.core.generated import (core_worker_pb2, core_worker_pb2_grpc, gcs_service_pb2, gcs_service_pb2_grpc,
                                node_manager_pb2, node_manager_pb2_grpc)

GCS = "127.0.0.1:6379"


def channel(address):
    return grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)])


def worker_of(pid):
    stub = gcs_service_pb2_grpc.WorkerInfoGcsServiceStub(channel(GCS))
    rows = stub.GetAllWorkerInfo(gcs_service_pb2.GetAllWorkerInfoRequest(), timeout=10).worker_table_data
    [row] = [row for row in rows if row.is_alive and row.pid == pid]
    return row.worker_address


def stats_of(worker):
    stub = core_worker_pb2_grpc.CoreWorkerServiceStub(channel(f"{worker.ip_address}:{worker.port}"))
    request = core_worker_pb2.GetCoreWorkerStatsRequest(intended_worker_id=worker.worker_id, include_memory_info=True)
    return stub.GetCoreWorkerStats(request, timeout=30).core_worker_stats


def ref_of(info):
    statuses = info.DESCRIPTOR.fields_by_name["task_status"].enum_type.values_by_number
    return {"id": info.object_id.hex(), "size": info.object_size, "call_site": info.call_site,
            "local": info.local_ref_count, "submitted": info.submitted_task_ref_count,
            "contained": len(info.contained_in_owned), "pinned": info.pinned_in_memory,
            "status": statuses[info.task_status].name, "attempt": info.attempt_number}


def locations_of(worker, refs):
    stub = core_worker_pb2_grpc.CoreWorkerServiceStub(channel(f"{worker.ip_address}:{worker.port}"))
    ids = [ref["id"] for ref in refs if ref["status"] != "NIL"]
    request = core_worker_pb2.GetObjectLocationsOwnerRequest(intended_worker_id=worker.worker_id,
                                                             object_ids=[bytes.fromhex(i) for i in ids])
    infos = stub.GetObjectLocationsOwner(request, timeout=30).object_location_infos
    return {i: {"nodes": [n.hex() for n in info.node_ids], "did_spill": info.did_spill, "size": info.object_size,
                "spilled_url": info.spilled_url, "pending": info.pending_creation} for i, info in zip(ids, infos)}


def store_of(node_id):
    stub = gcs_service_pb2_grpc.NodeInfoGcsServiceStub(channel(GCS))
    nodes = stub.GetAllNodeInfo(gcs_service_pb2.GetAllNodeInfoRequest(), timeout=10).node_info_list
    [node] = [node for node in nodes if node.node_id == node_id]
    raylet = node_manager_pb2_grpc.NodeManagerServiceStub(
        channel(f"{node.node_manager_address}:{node.node_manager_port}"))
    store = raylet.GetNodeStats(node_manager_pb2.GetNodeStatsRequest(), timeout=30).store_stats
    return {"used": store.object_store_bytes_used, "available": store.object_store_bytes_avail,
            "spilled": store.spilled_bytes_total, "spilled_objects": store.spilled_objects_total}


def main(pid):
    worker = worker_of(pid)
    refs = [ref_of(info) for info in stats_of(worker).object_refs]
    old = "object_ids" not in core_worker_pb2.GetObjectLocationsOwnerRequest.DESCRIPTOR.fields_by_name
    node_id = worker.raylet_id if "raylet_id" in worker.DESCRIPTOR.fields_by_name else worker.node_id
    print(json.dumps({"worker_id": worker.worker_id.hex(), "ip": worker.ip_address, "port": worker.port, "refs": refs,
                      "node_id": node_id.hex(), "locations": None if old else locations_of(worker, refs),
                      "store": store_of(node_id)}))


main(int(sys.argv[1]))
