"""A scripted Ray cluster of one paused worker on a free port of 127.0.0.1: GCS, raylet and core worker in one server.

    with FakeAdapter() as adapter, FakeRay(adapter.port) as ray:
        ref = ray.add_ref(size=8_000_000)
        ray.delay["GetCoreWorkerStats"] = 0.2           # answers late
        ray.silent.add("GetNodeStats")                  # answers never, or once ray.speak("GetNodeStats") lets it
        ray.old_numbers = True                          # CoreWorkerStats as of Ray <= 2.49

The messages are those of the Ray that is installed.
"""

import json
import os
import threading
import time
from collections import Counter
from concurrent import futures
from types import SimpleNamespace

os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc  # noqa: E402
from ray.core.generated import (  # noqa: E402
    common_pb2, core_worker_pb2, gcs_pb2, gcs_service_pb2, node_manager_pb2)
from waits import limit, settle  # noqa: E402

TASK = bytes.fromhex("c8ef45ccd0112571ffffffffffffffffffffffff01000000")
ACTOR = bytes.fromhex("0123456789abcdef0123456701000000")
JOB = bytes.fromhex("01000000")
PDB_KEY = b"RAY_PDB_" + b"0f" * 16
NODE = bytes.fromhex("aa" * 28)
WORKER = bytes.fromhex("bb" * 28)
PID = 5842
FINISHED = 11
# CoreWorkerStats of Ray <= 2.49: the same fields under other numbers.
OLD_NUMBERS = {3: 7, 4: 8, 5: 9, 12: 16, 13: 18, 14: 19, 15: 20, 16: 21, 17: 22, 18: 23, 19: 24, 20: 25, 21: 26, 22: 27}


def object_id(number, task=TASK):
    return task + number.to_bytes(4, "little")


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def renumber(stats):
    """The bytes of a CoreWorkerStats in the numbers of Ray <= 2.49."""
    data, out, at = stats.SerializeToString(), bytearray(), 0
    while at < len(data):
        tag, start = _read_varint(data, at)
        end = start
        if tag & 7 == 0:
            _, end = _read_varint(data, start)
        elif tag & 7 == 2:
            length, end = _read_varint(data, start)
            end += length
        else:
            end += 8 if tag & 7 == 1 else 4
        out += _varint(OLD_NUMBERS.get(tag >> 3, tag >> 3) << 3 | tag & 7) + data[start:end]
        at = end
    return bytes(out)


class FakeRay:
    """Serves until it is closed. What may be changed at any time: `refs`, `store`, `tasks` (names, by the ids of those
    that there are events of), `delay` (seconds, by method), `silent` (methods that do not answer until `speak`),
    `old_numbers`, `version`, `running` (whether the worker runs its task, which is paused), `node` (fields of
    GcsNodeInfo), `entrypoint` (makes the worker a driver, which runs no task, with this command line), `paused` (whether a
    thread waits, if that is not the same), `task` (the id of what it runs), `pdb` (the port of Ray's pdb, which the worker has
    registered as Ray <= 2.34 does). `task_requests` has the bytes of each GetTaskEvents. GetCoreWorkerStats is the question for
    references; that for running tasks is apart."""

    def __init__(self, debugger_port, version="2.60.0", port=0):
        self.debugger_port = debugger_port
        self.version = version
        self.old_numbers = False
        self.running = True
        self.task = TASK
        self.task_requests = []
        self.paused = None
        self.pdb = None
        self.pdb_since = time.time()
        self.entrypoint = None
        self.refs = []
        self.locations = {}
        self.tasks = {TASK: "work"}
        self.store = {"object_store_bytes_used": 96_000_000, "object_store_bytes_avail": 2_000_000_000,
                      "spilled_bytes_total": 5_000_000, "spilled_objects_total": 3, "num_local_objects": 7}
        self.node = {}
        self.delay = {}
        self.silent = set()
        self.asked = Counter()
        self._changed = threading.Condition()
        self._server = grpc.server(futures.ThreadPoolExecutor(32))
        self._server.add_generic_rpc_handlers([_Handler(self)])
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self._server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def stop(self):
        """The cluster is gone: nothing listens at its address any more."""
        for name in list(self.silent):
            self.speak(name)
        self._server.stop(0).wait(limit())

    def close(self):
        self.stop()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def add_ref(self, size=1000, owned=True, number=None, task=TASK, **fields):
        """One more reference of the worker's; gives its id in hex. `owned`: by this worker, in its node's store."""
        which = object_id(number or len(self.refs) + 1, task)
        self.refs.append(common_pb2.ObjectRefInfo(**{
            "object_id": which, "object_size": size, "local_ref_count": 1, "call_site": "",
            "task_status": FINISHED if owned else 0, **fields}))
        self.locations[which] = SimpleNamespace(size=size, nodes=[NODE])
        return which.hex()

    def wait_asked(self, method, count=1):
        with self._changed:
            if not self._changed.wait_for(lambda: self.asked[method] >= count, limit()):
                raise AssertionError(f"{method} was asked {self.asked[method]} times: {self.asked}")

    def speak(self, method):
        """A silent method answers what it was asked."""
        with self._changed:
            self.silent.discard(method)
            self._changed.notify_all()

    # --- what it answers: a message, or bytes ---

    def call(self, method, request):
        name = method
        if method == "GetCoreWorkerStats" and not \
                core_worker_pb2.GetCoreWorkerStatsRequest.FromString(request).include_memory_info:
            name = "GetCoreWorkerStats of its tasks"
        with self._changed:
            self.asked[name] += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: name not in self.silent)
        settle(self.delay.get(name, 0))
        answer = getattr(self, method)(request)
        return answer if isinstance(answer, bytes) else answer.SerializeToString()

    def _address(self):
        return common_pb2.Address(node_id=NODE, ip_address="127.0.0.1", port=self.port, worker_id=WORKER)

    def InternalKVGet(self, data):
        request = gcs_service_pb2.InternalKVGetRequest.FromString(data)
        reply = gcs_service_pb2.InternalKVGetReply()
        if request.key == b"CLUSTER_METADATA":
            reply.value = json.dumps({"ray_version": self.version, "python_version": "3.11.2"}).encode()
        elif request.key == PDB_KEY and self.pdb:
            reply.value = json.dumps({
                "proctitle": "ray::work", "pdb_address": f"localhost:{self.pdb}", "filename": "work.py", "lineno": 1,
                "traceback": "NoneType: None\n", "timestamp": self.pdb_since, "job_id": JOB.hex()}).encode()
        else:
            reply.status.code = 21  # not found
        return reply

    def InternalKVKeys(self, data):
        pdb = self.pdb and gcs_service_pb2.InternalKVKeysRequest.FromString(data).prefix == b"RAY_PDB_"
        return gcs_service_pb2.InternalKVKeysReply(results=[PDB_KEY] if pdb else [])

    def GetAllWorkerInfo(self, _):
        return gcs_service_pb2.GetAllWorkerInfoReply(worker_table_data=[gcs_pb2.WorkerTableData(
            is_alive=True, worker_address=self._address(), pid=PID, debugger_port=self.debugger_port,
            worker_type=common_pb2.WORKER if self.entrypoint is None else common_pb2.DRIVER,
            num_paused_threads=int(self.running if self.paused is None else self.paused))])

    def GetAllNodeInfo(self, _):
        return gcs_service_pb2.GetAllNodeInfoReply(node_info_list=[gcs_pb2.GcsNodeInfo(**{
            "node_id": NODE, "node_manager_address": "127.0.0.1", "node_manager_port": self.port,
            "node_manager_hostname": "node-1", "state": 0, **self.node})])

    def GetAllActorInfo(self, _):
        return gcs_service_pb2.GetAllActorInfoReply(actor_table_data=[gcs_pb2.ActorTableData(
            actor_id=ACTOR, job_id=JOB, state=2, address=self._address(), name="keeper", class_name="Counter", pid=77,
            node_id=NODE)])

    def GetAllJobInfo(self, _):
        if self.entrypoint is None:
            return gcs_service_pb2.GetAllJobInfoReply()
        return gcs_service_pb2.GetAllJobInfoReply(job_info_list=[gcs_pb2.JobTableData(
            job_id=JOB, entrypoint=self.entrypoint, driver_pid=PID, driver_ip_address="127.0.0.1")])

    def GetTaskEvents(self, data):
        """What is asked for by its id, in the filter of any Ray."""
        self.task_requests.append(data)
        return gcs_service_pb2.GetTaskEventsReply(
            events_by_task=[self._task(which, name) for which, name in self.tasks.items() if which in data])

    def _task(self, which, name):
        task = gcs_pb2.TaskEvents(task_id=which, job_id=JOB)
        task.task_info.name = task.task_info.func_or_class_name = name
        task.task_info.task_id = which
        task.task_info.parent_task_id = TASK
        task.task_info.job_id = JOB
        task.state_updates.node_id = NODE
        task.state_updates.worker_id = WORKER
        task.state_updates.worker_pid = PID
        task.state_updates.state_ts_ns[8] = time.time_ns()
        return task

    def GetCoreWorkerStats(self, data):
        request = core_worker_pb2.GetCoreWorkerStatsRequest.FromString(data)
        stats = common_pb2.CoreWorkerStats(
            ip_address="127.0.0.1", port=self.port, job_id=JOB, worker_id=WORKER, pid=PID,
            objects_total=len(self.refs), num_owned_objects=sum(ref.task_status != 0 for ref in self.refs))
        if request.include_memory_info:
            stats.object_refs.extend(self.refs)
        runs = self.running and self.entrypoint is None
        reply = core_worker_pb2.GetCoreWorkerStatsReply(running_task_ids=[self.task] if runs else [])
        if not self.old_numbers:
            reply.core_worker_stats.CopyFrom(stats)
            return reply
        old = renumber(stats)
        return b"\x0a" + _varint(len(old)) + old + reply.SerializeToString()

    def GetNodeStats(self, _):
        reply = node_manager_pb2.GetNodeStatsReply(num_workers=1)
        for name, value in self.store.items():
            setattr(reply.store_stats, name, value)
        return reply

    def GetObjectLocationsOwner(self, data):
        request = core_worker_pb2.GetObjectLocationsOwnerRequest.FromString(data)
        reply = core_worker_pb2.GetObjectLocationsOwnerReply()
        for which in request.object_ids:
            location = self.locations.get(bytes(which))
            info = reply.object_location_infos.add()
            if location is None:
                info.ref_removed = True
            else:
                info.object_size = location.size
                info.node_ids.extend(location.nodes)
        return reply


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, ray):
        self.ray = ray

    def service(self, details):
        method = details.method.rpartition("/")[2]
        if not hasattr(self.ray, method):
            return None
        return grpc.unary_unary_rpc_method_handler(lambda request, _: self.ray.call(method, request))
