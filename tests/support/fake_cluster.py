"""A large Ray cluster that is simulated: GCS and workers in one process that answers with gRPC what it was given.

    with FakeCluster(nodes=200, workers=5_000, pauses=1_000, events=100_000) as cluster:
        cluster.address                             # of the GCS
        cluster.set_paused(worker, False)
        cluster.publish()                           # the GCS tells what was changed
        cluster.counts()                            # what was asked since the last forget()

Each node has an ip of its own in 127.0.0.0/8 and each worker a port there, as in a real cluster: who asks 10,000
workers makes 10,000 connections. Task events beyond those of the pauses are of finished tasks. The messages are those
of the Ray that is installed; tests/support/cluster_server is the process.
"""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from ray.core.generated import (  # noqa: E402
    common_pb2, core_worker_pb2, gcs_pb2, gcs_service_pb2)
from waits import limit  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
JOB = bytes.fromhex("01000000")
VERSION = "2.60.0"
RUNNING, FINISHED, FAILED = 8, 11, 12
TASK_EXECUTION_EXCEPTION = 3
FAILED_NAME = "fails"
START_MS = 1_700_000_000_000
NOT_FOUND = 17


def server_path():
    """The server that was built beside $RAYDBG, else the released one."""
    beside = Path(os.environ.get("RAYDBG", ROOT / "build/raydbg")).resolve().parent / "cluster_server"
    path = beside if beside.exists() else ROOT / "build/cluster_server"
    if not path.exists():
        raise AssertionError(f"{path} is not built: run tools/build")
    return path


def _unique(kind, number):
    """28 bytes that look like an id's: the first ones differ from one number to the next."""
    return (number * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "big") + bytes([kind]) * 12 + number.to_bytes(8, "big")


def task_id(number):
    return _unique(0x70, number)[:8] + number.to_bytes(4, "big") + b"\xff" * 8 + JOB


def actor_id(number):
    return _unique(0xAC, number)[:12] + JOB


@dataclass
class Worker:
    number: int
    node: int
    ip: str
    port: int
    debugger_port: int = 0
    paused: int = 0
    alive: bool = True
    actor: bytes = b""
    tasks: list = field(default_factory=list)
    record: bytes = b""

    @property
    def id(self):
        return _unique(0xBB, self.number)

    @property
    def pid(self):
        return 1000 + self.number

    def address(self):
        return common_pb2.Address(node_id=_unique(0xAA, self.node), ip_address=self.ip, port=self.port,
                                  worker_id=self.id)


def _tagged(number, data):
    """A length-delimited field of a message: replies are put together from records that were packed before."""
    out, length = bytearray([number << 3 | 2]), len(data)
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes(out) + bytes([length]) + data



class FakeCluster:
    """`pauses` workers wait in debugpy, evenly over the nodes; each `actors`-th of those (0: none) is an actor's.
    `debugger_ports` gives where debugpy listens, by the worker's index on its node; without it nobody does. The last `away`
    nodes say that they have addresses of other machines."""

    def __init__(self, nodes=200, workers=5_000, pauses=1_000, events=100_000, actors=4, debugger_ports=None,
                 name="square", away=0):
        self.name = name  # of the tasks that are no actor's
        self.away = away
        self.per_node = -(-workers // nodes)
        self._process = subprocess.Popen([server_path(), str(1 + self.per_node)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
        ports = [int(port) for port in self._process.stdout.readline().split()]
        self.address = f"127.0.0.1:{ports[0]}"
        self.nodes = [self._node_ip(number) for number in range(nodes)]
        self.workers = [self._worker(number, nodes, ports, debugger_ports) for number in range(workers)]
        self.paused = self.workers[:pauses]
        self._describe_cluster()
        for number, worker in enumerate(self.paused):
            if actors and number % actors == 0:
                worker.actor = actor_id(number)
            worker.tasks = [task_id(number)]
            worker.paused = 1
            worker.debugger_port = self._debugger_port(worker, debugger_ports)
            self._tell_worker(worker)
            self._tell_task(worker.tasks[0], worker)
        self._describe_actors()
        self._describe_finished(len(self.paused), events)
        self.publish()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._process.stdin.close()
        self._process.wait(limit())

    @property
    def pid(self):
        return self._process.pid

    @staticmethod
    def _node_ip(number):
        number += 256
        return f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    def _worker(self, number, nodes, ports, debugger_ports):
        node, index = number % nodes, number // nodes
        return Worker(number, node, self.nodes[node], ports[1 + index])

    def _debugger_port(self, worker, debugger_ports):
        index = worker.number // len(self.nodes)
        return debugger_ports[index] if debugger_ports else 20_000 + index

    # --- what the processes say ---

    def _put(self, method, key, data):
        self._process.stdin.write(b"R %s %d %d\n%s%s" % (method.encode(), len(key), len(data), key, data))

    def _describe_cluster(self):
        metadata = json.dumps({"ray_version": VERSION, "python_version": "3.11.2"}).encode()
        self._put("InternalKVGet", b"cluster/CLUSTER_METADATA",
                  gcs_service_pb2.InternalKVGetReply(value=metadata).SerializeToString())
        self._put("InternalKVGet", b"?", gcs_service_pb2.InternalKVGetReply(
            status={"code": NOT_FOUND}).SerializeToString())
        self._put("GetAllNodeInfo", b"", gcs_service_pb2.GetAllNodeInfoReply(node_info_list=[gcs_pb2.GcsNodeInfo(
            node_id=_unique(0xAA, number), node_manager_address=ip, node_manager_hostname=f"node-{number}", state=0)
            for number, ip in enumerate(self._told_ips())]).SerializeToString())
        self._put("GetAllJobInfo", b"", gcs_service_pb2.GetAllJobInfoReply(job_info_list=[gcs_pb2.JobTableData(
            job_id=JOB, driver_pid=1, entrypoint="python train.py")]).SerializeToString())

    def _told_ips(self):
        here = len(self.nodes) - self.away
        return self.nodes[:here] + [f"203.0.113.{number}" for number in range(1, self.away + 1)]

    def _describe_actors(self):
        rows = [gcs_pb2.ActorTableData(actor_id=worker.actor, job_id=JOB, state=2, address=worker.address(),
                                       class_name="Trainer", pid=worker.pid, node_id=_unique(0xAA, worker.node))
                for worker in self.paused if worker.actor]
        self._put("GetAllActorInfo", b"", gcs_service_pb2.GetAllActorInfoReply(
            actor_table_data=rows).SerializeToString())
        for row in rows:
            self._put("GetActorInfo", row.actor_id, gcs_service_pb2.GetActorInfoReply(
                actor_table_data=row).SerializeToString())

    def _failed_event(self, task, worker):
        event = gcs_pb2.TaskEvents.FromString(self._event(task, worker, RUNNING))
        event.task_info.name = event.task_info.func_or_class_name = FAILED_NAME
        event.state_updates.state_ts_ns[FAILED] = (START_MS + 1000) * 1_000_000
        event.state_updates.error_info.error_type = TASK_EXECUTION_EXCEPTION
        event.state_updates.error_info.error_message = "ValueError: bad 3"
        return event.SerializeToString()

    def _event(self, task, worker, state):
        event = gcs_pb2.TaskEvents(task_id=task, job_id=JOB)
        event.task_info.task_id = task
        event.task_info.job_id = JOB
        event.task_info.name = "Trainer.step" if worker.actor else self.name
        event.task_info.func_or_class_name = event.task_info.name
        event.task_info.actor_id = worker.actor
        event.task_info.runtime_env_info.serialized_runtime_env = "{}"
        event.task_info.required_resources["CPU"] = 1.0
        event.task_info.parent_task_id = b"\xff" * 20 + JOB
        event.state_updates.node_id = _unique(0xAA, worker.node)
        event.state_updates.worker_id = worker.id
        event.state_updates.worker_pid = worker.pid
        for reached in (1, 5, 7, RUNNING, FINISHED):
            if reached <= state:
                event.state_updates.state_ts_ns[reached] = (START_MS + worker.number) * 1_000_000
        return event.SerializeToString()

    def _tell_task(self, task, worker):
        self._put("GetTaskEvents", task, _tagged(2, self._event(task, worker, RUNNING)))

    def _describe_finished(self, first, events):
        """Of tasks that are over: one event with another id in it, as often as there are such."""
        if events <= first:
            return
        model = task_id(first)
        parts = _tagged(2, self._event(model, self.workers[-1], FINISHED)).split(model)
        lines = []
        for number in range(first, events):
            task = task_id(number)
            data = task.join(parts)
            lines.append(b"R GetTaskEvents 24 %d\n%s%s" % (len(data), task, data))
            if len(lines) == 10_000:
                self._process.stdin.write(b"".join(lines))
                lines = []
        self._process.stdin.write(b"".join(lines))

    def tell_all_tasks(self, events):
        """Answers a question for all tasks, too, as `raydbg why` asks it: those of the pauses, one that has failed, and `events`
        that are over."""
        own = [_tagged(2, self._event(worker.tasks[0], worker, RUNNING)) for worker in self.paused]
        model = task_id(0)
        parts = _tagged(2, self._event(model, self.workers[-1], FINISHED)).split(model)
        over = [task_id(number).join(parts) for number in range(len(self.paused), events)]
        failed = _tagged(2, self._failed_event(task_id(events), self.workers[-1]))
        self._put("GetTaskEvents", b"", b"".join([*own, failed, *over]))

    def _tell_worker(self, worker):
        stats = common_pb2.CoreWorkerStats(ip_address=worker.ip, port=worker.port, job_id=JOB, worker_id=worker.id,
                                           pid=worker.pid, actor_id=worker.actor,
                                           num_running_tasks=len(worker.tasks))
        self._put("GetCoreWorkerStats", worker.id, core_worker_pb2.GetCoreWorkerStatsReply(
            core_worker_stats=stats, running_task_ids=worker.tasks).SerializeToString())

    # --- changes ---

    def set_paused(self, worker, paused, task=None, event=True):
        """Whether a thread of the worker's waits for a client; what it runs, if that is another task than before.
        Without `event` the GCS knows nothing of that task."""
        worker.paused = int(paused)
        worker.record = b""
        if task is not None:
            worker.tasks = [task]
            self._tell_worker(worker)
            if event:
                self._tell_task(task, worker)

    def kill(self, worker):
        worker.alive = False
        worker.record = b""

    def publish(self):
        """The GCS's list of workers, as they are now."""
        for worker in self.workers:
            if not worker.record:
                row = gcs_pb2.WorkerTableData(
                    is_alive=worker.alive, worker_address=worker.address(), timestamp=START_MS // 1000, pid=worker.pid,
                    start_time_ms=START_MS, debugger_port=worker.debugger_port, num_paused_threads=worker.paused,
                    worker_launch_time_ms=START_MS - 500, worker_launched_time_ms=START_MS - 100)
                worker.record = _tagged(2, row.SerializeToString())
                if worker.debugger_port:
                    self._put("GetWorkerInfo", worker.id, worker.record)
        total = gcs_service_pb2.GetAllWorkerInfoReply(total=len(self.workers)).SerializeToString()
        for key, rows in ((b"", self.workers), (b"alive", [w for w in self.workers if w.alive]),
                          (b"paused", [w for w in self.workers if w.alive and w.paused])):
            self._put("GetAllWorkerInfo", key, b"".join(worker.record for worker in rows) + total)
        self.counts()  # it has read all of it

    # --- what was asked ---

    def counts(self):
        """Connections, calls of methods that a cluster does not have, and by method: requests, bytes_in, bytes_out,
        and scans, the requests for which the real process goes through all that it has."""
        self._process.stdin.write(b"S\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def forget(self):
        self._process.stdin.write(b"Z\n")
        self.counts()
