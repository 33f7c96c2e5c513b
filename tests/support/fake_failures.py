"""A scripted cluster whose GCS tells what a real one told (tests/unit/data/ray-*-why-*.bin), with one agent for all nodes.

    with FakeFailures("2.60.0") as cluster:
        cluster.fail["GetAllWorkerInfo"] = "broken"     # answers with this error
        cluster.silent.add("StreamLog")                 # answers never
        cluster.logs["worker-….err"] = b"…"             # a file of each node; by default of `segv` only

The messages are those of the Ray that is installed.
"""

import fnmatch
import json
import os
import threading
from collections import Counter
from concurrent import futures
from pathlib import Path

os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc  # noqa: E402
from ray.core.generated import gcs_service_pb2, reporter_pb2  # noqa: E402
from waits import settle  # noqa: E402

DATA = Path(__file__).resolve().parent.parent / "unit/data"
TABLES = {"GetTaskEvents": "events", "GetAllWorkerInfo": "workers", "GetAllActorInfo": "actors", "GetAllNodeInfo": "nodes",
          "GetAllJobInfo": "jobs", "GetAllPlacementGroup": "groups", "GetClusterResourceState": "resources"}
CHUNK = 1000
SLEEPS = """Process {pid}: ray::sleeps
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    sleeps (app.py:7)
    Worker.main_loop (ray/_private/worker.py:1069)
    <module> (ray/_private/workers/default_worker.py:323)
"""


BURNS = """<module> (ray/_private/workers/default_worker.py:323);Worker.main_loop (ray/_private/worker.py:1069);burn (app.py:40) 20
<module> (ray/_private/workers/default_worker.py:323);Worker.main_loop (ray/_private/worker.py:1069);burn (app.py:40);inner (app.py:37) 180
"""


class FakeFailures:
    def __init__(self, ray="2.60.0"):
        self.ray = ray
        self.fail, self.silent, self.calls = {}, set(), Counter()
        self.stalled = False  # the agent sends a log's first bytes, and no more
        self.endless = False  # a log has no end: its last bytes come again and again
        self.fail_after = None  # the agents give no log any more after so many
        self.agent_in_store = None  # the key under which the store has the agent's address, instead of the node's row
        self.store = {}  # further entries of the key-value store, as bytes
        self.stacks = {}  # py-spy's text, or its error as a ValueError, by pid; another process is asleep
        self.profiles = {}  # the same of py-spy's folded stacks; another process burns
        self.warning = None  # of MemoryProfiling
        self.asked = []  # the CpuProfilingRequests and MemoryProfilingRequests
        self.at_once, self.most_at_once = 0, 0  # stacks that are being read
        self.lock, self.freed = threading.Lock(), threading.Event()
        self.tables = {method: (DATA / f"ray-{ray}-why-{what}.bin").read_bytes() for method, what in TABLES.items()}
        self.logs = {f"worker-{self.worker_of('segv')}-01000000-7.err": (DATA / "ray-2.60.0-why-segv.err").read_bytes()}
        self.server = grpc.server(futures.ThreadPoolExecutor(32))
        self.server.add_generic_rpc_handlers((_Handler(self),))
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.address = f"127.0.0.1:{self.port}"

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.freed.set()
        self.server.stop(0).wait()

    def worker_of(self, name):
        events = gcs_service_pb2.GetTaskEventsReply.FromString(self.tables["GetTaskEvents"]).events_by_task
        [worker] = {event.state_updates.worker_id.hex() for event in events if event.task_info.name == name}
        return worker

    def attempt_of(self, name):
        events = gcs_service_pb2.GetTaskEventsReply.FromString(self.tables["GetTaskEvents"]).events_by_task
        [event] = [event for event in events if event.task_info.name == name]
        return event

    def answer(self, method, context):
        self.calls[method] += 1
        if method in self.silent:
            self.freed.wait()
        if method in self.fail:
            context.abort(grpc.StatusCode.INTERNAL, self.fail[method])

    def table(self, method, _, context):
        self.answer(method, context)
        if method != "GetAllNodeInfo":
            return self.tables[method]
        reply = gcs_service_pb2.GetAllNodeInfoReply.FromString(self.tables[method])
        for node in reply.node_info_list:
            node.node_manager_address = "127.0.0.1"
            node.metrics_agent_port = 0 if self.agent_in_store else self.port
        return reply.SerializeToString()

    def kv_get(self, data, context):
        self.answer("InternalKVGet", context)
        request = gcs_service_pb2.InternalKVGetRequest.FromString(data)
        reply = gcs_service_pb2.InternalKVGetReply()
        if request.key == b"CLUSTER_METADATA":
            reply.value = json.dumps({"ray_version": self.ray, "python_version": "3.11.2"}).encode()
        elif self.agent_in_store and request.key.decode().startswith(self.agent_in_store):
            reply.value = json.dumps([*(["127.0.0.1"] if "ADDR" in self.agent_in_store else []), 52365, self.port]).encode()
        elif request.key in self.store:
            reply.value = self.store[request.key]
        else:
            reply.status.code = 17  # not found
        return reply.SerializeToString()

    def kv_keys(self, data, context):
        self.answer("InternalKVKeys", context)
        request = gcs_service_pb2.InternalKVKeysRequest.FromString(data)
        known = self.agent_in_store and request.prefix.decode().startswith(self.agent_in_store)
        keys = [key for key in self.store if key.startswith(request.prefix)] + [request.prefix] * bool(known)
        return gcs_service_pb2.InternalKVKeysReply(results=keys).SerializeToString()

    def list_logs(self, data, context):
        self.answer("ListLogs", context)
        glob = reporter_pb2.ListLogsRequest.FromString(data).glob_filter
        anywhere = glob.startswith("**/")
        found = [name for name in self.logs if fnmatch.fnmatchcase(Path(name).name if anywhere else name, glob.removeprefix("**/"))]
        return reporter_pb2.ListLogsReply(log_files=found).SerializeToString()

    def profiler(self, method, texts, default, pid, context):
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            self.answer(method, context)
            settle(0.05)
            text = texts.get(pid, default.format(pid=pid))
            failed = isinstance(text, ValueError)
            return reporter_pb2.MemoryProfilingReply(success=not failed, output=str(text), warning=self.warning).SerializeToString()
        finally:
            with self.lock:
                self.at_once -= 1

    def get_traceback(self, data, context):
        pid = reporter_pb2.GetTracebackRequest.FromString(data).pid
        return self.profiler("GetTraceback", self.stacks, SLEEPS, pid, context)

    def cpu_profiling(self, data, context):
        self.asked.append(reporter_pb2.CpuProfilingRequest.FromString(data))
        return self.profiler("CpuProfiling", self.profiles, BURNS, self.asked[-1].pid, context)

    def memory_profiling(self, data, context):
        self.asked.append(reporter_pb2.MemoryProfilingRequest.FromString(data))
        return self.profiler("MemoryProfiling", self.profiles, "<html>{pid}</html>", self.asked[-1].pid, context)

    def stream_log(self, data, context):
        self.answer("StreamLog", context)
        if self.fail_after is not None and self.calls["StreamLog"] > self.fail_after:
            context.abort(grpc.StatusCode.UNAVAILABLE, "broken")
        request = reporter_pb2.StreamLogRequest.FromString(data)
        path = Path(request.log_file_name)
        log = self.logs.get(f"old/{path.name}" if path.parent.name == "old" else path.name)
        if log is None:
            context.send_initial_metadata([("log_grpc_status", f"no such file {request.log_file_name}")])
            return
        context.send_initial_metadata([])
        end = request.end_offset if request.HasField("end_offset") else len(log)
        log = log[request.start_offset:end]
        if request.lines > 0:
            log = b"".join(log.splitlines(keepends=True)[-request.lines:])
        for at in range(0, len(log), CHUNK):
            yield reporter_pb2.StreamLogReply(data=log[at:at + CHUNK]).SerializeToString()
            if self.stalled:
                self.freed.wait()
        while self.endless and context.is_active():
            yield reporter_pb2.StreamLogReply(data=log[-CHUNK:]).SerializeToString()
        if request.keep_alive:
            context.add_callback(self.freed.set)
            self.freed.wait()


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, cluster):
        self.unary = {"InternalKVGet": cluster.kv_get, "InternalKVKeys": cluster.kv_keys, "ListLogs": cluster.list_logs,
                      "GetTraceback": cluster.get_traceback, "CpuProfiling": cluster.cpu_profiling,
                      "MemoryProfiling": cluster.memory_profiling,
                      **{method: lambda data, context, method=method: cluster.table(method, data, context)
                         for method in TABLES}}
        self.cluster = cluster

    def service(self, details):
        method = details.method.rpartition("/")[2]
        if method == "StreamLog":
            return grpc.unary_stream_rpc_method_handler(self.cluster.stream_log)
        return grpc.unary_unary_rpc_method_handler(self.unary[method]) if method in self.unary else None
