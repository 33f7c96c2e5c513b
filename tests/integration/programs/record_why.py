"""Writes what a cluster tells of its failures, as its own replies: fixtures for the unit tests of relay/why.

    record_why.py DIRECTORY PREFIX

Writes DIRECTORY/PREFIX-{events,workers,actors,nodes,jobs,groups,resources}.bin. Of the profile events only `task:execute`
is kept, and the driver's own task is left out: the rest is as the GCS sent it.
"""

import sys
from pathlib import Path

import grpc

GCS = "127.0.0.1:6379"


def call(method, request=b""):
    return grpc.insecure_channel(GCS, options=[("grpc.max_receive_message_length", -1)]).unary_unary(method)(
        request, timeout=30)


def trimmed_events():
    from ray.core.generated import gcs_service_pb2
    reply = gcs_service_pb2.GetTaskEventsReply.FromString(call("/ray.rpc.TaskInfoGcsService/GetTaskEvents"))
    kept = []
    for event in reply.events_by_task:
        if event.task_info.type == 3:
            continue
        execute = [entry for entry in event.profile_events.events if entry.event_name == "task:execute"]
        del event.profile_events.events[:]
        event.profile_events.events.extend(execute)
        kept.append(event)
    del reply.events_by_task[:]
    reply.events_by_task.extend(kept)
    return reply.SerializeToString()


METHODS = {
    "workers": "/ray.rpc.WorkerInfoGcsService/GetAllWorkerInfo",
    "actors": "/ray.rpc.ActorInfoGcsService/GetAllActorInfo",
    "nodes": "/ray.rpc.NodeInfoGcsService/GetAllNodeInfo",
    "jobs": "/ray.rpc.JobInfoGcsService/GetAllJobInfo",
    "groups": "/ray.rpc.PlacementGroupInfoGcsService/GetAllPlacementGroup",
    "resources": "/ray.rpc.autoscaler.AutoscalerStateService/GetClusterResourceState",
}
SHOW_DEAD_JOBS = b"\x08\x01"


def main(directory, prefix):
    for name, method in METHODS.items():
        reply = call(method, SHOW_DEAD_JOBS if name == "actors" else b"")
        (Path(directory) / f"{prefix}-{name}.bin").write_bytes(reply)
    (Path(directory) / f"{prefix}-events.bin").write_bytes(trimmed_events())


if __name__ == "__main__":
    main(*sys.argv[1:])
