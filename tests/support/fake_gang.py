"""A scripted Ray cluster of several paused workers, each with a FakeAdapter of its own.

    with FakeGang(names=["Trainer.step", "Trainer.step", "load"]) as gang:
        gang.workers[0].adapter                     # its debugger
        gang.workers[1].waits = False               # goes on: nobody is to attach to it
        gang.add("late")                            # one more pauses
        gang.remove(gang.workers[0])                # its worker is gone
"""

import functools
import threading
import time
from contextlib import suppress

from fake_adapter import FakeAdapter
from fake_ray import JOB, NODE, FakeRay
from ray.core.generated import common_pb2, core_worker_pb2, gcs_pb2, gcs_service_pb2


class Worker:
    """`waits`: whether a thread of it waits for a debugger; `busy`: whether it runs its task; with a `rank`, it answers
    that to who asks for one, and its pid to anything else; `parent` is the id of the task that called its own; `counted`:
    how many threads of it wait, as Ray counts them. `end` is what Ray says of its process once that has ended:
    WorkerExitType and detail."""

    def __init__(self, number, name, adapter, rank, parent):
        self.number, self.name, self.adapter = number, name, adapter
        self.pid = 5000 + number
        self.task = b"\xc8" + number.to_bytes(2, "big") + b"\x11" * 13 + b"\xff" * 4 + JOB
        self.worker_id = b"\xbb" * 26 + number.to_bytes(2, "big")
        self.waits = True
        self.named = True
        self.busy = True
        self.rank = rank
        self.parent = parent
        self.counted = 1
        self.end = None

    def evaluate(self, connection, request):
        asked = "WORLD_RANK" in request["arguments"]["expression"]
        result = ("''" if self.rank is None else f"'{self.rank}'") if asked else f"{self.pid}"
        connection.respond(request, {"result": result, "variablesReference": 0, "type": "str", "presentationHint": {}})

    @property
    def task_id(self):
        return self.task.hex()


class FakeGang(FakeRay):
    """`workers` in the order they were added; a client that attaches ends a worker's waiting, as with debugpy."""

    def __init__(self, names=(), **options):
        super().__init__(0, **options)
        self.workers = []
        self.number = 0
        self.job_is_dead = False
        for name in names:
            self.add(name)

    def add(self, name, adapter=None, rank=None, parent=b""):
        self.number += 1
        worker = Worker(self.number, name, adapter or FakeAdapter(), rank, parent)
        if rank is not None or not adapter:
            worker.adapter.on["evaluate"] = worker.evaluate
        self.workers.append(worker)
        return worker

    def remove(self, worker):
        self.workers.remove(worker)
        with suppress(OSError):
            worker.adapter.close()

    def close(self):
        super().close()
        for worker in self.workers:
            worker.adapter.close()

    def seem_slow(self, clock):
        """Whoever attaches next, with that SkipClock, sees debuggers that take four seconds to attach. So their first stops are
        waited for twice as long, instead of half a second, and a machine that is busy shows all of them together, too. It is not
        for tasks of which some do not stop, or that another client has attached to."""
        if not clock.skips or any(self._attached(worker) for worker in self.workers):
            return
        passing, passed = threading.Lock(), []

        def slowly(usual, connection, request):
            with passing:  # until then nobody has attached: who has would not wait for the others
                if not passed:
                    passed.append(clock.pass_time(4))
            usual(connection, request)

        for worker in self.workers:
            worker.adapter.on["attach"] = functools.partial(slowly, worker.adapter.on["attach"])

    def _of(self, worker_id):
        return next((worker for worker in self.workers if worker.worker_id == worker_id), None)

    def _attached(self, worker):
        return any(c.attached and not c.ended.is_set() for c in worker.adapter.connections)

    # --- what it answers ---

    def GetAllWorkerInfo(self, _):
        reply = gcs_service_pb2.GetAllWorkerInfoReply()
        reply.worker_table_data.extend(self._row(worker) for worker in self.workers)
        return reply

    def GetWorkerInfo(self, data):
        request = gcs_service_pb2.GetWorkerInfoRequest.FromString(data)
        worker = self._of(request.worker_id)
        return gcs_service_pb2.GetWorkerInfoReply(worker_table_data=self._row(worker) if worker else None)

    def _row(self, worker):
        address = common_pb2.Address(node_id=NODE, ip_address="127.0.0.1", port=self.port, worker_id=worker.worker_id)
        end = dict(zip(("exit_type", "exit_detail"), worker.end)) if worker.end else {}
        return gcs_pb2.WorkerTableData(
            is_alive=not worker.end, worker_address=address, pid=worker.pid, debugger_port=worker.adapter.port,
            num_paused_threads=worker.counted if worker.waits and not self._attached(worker) else 0, **end)

    def GetAllActorInfo(self, _):
        return gcs_service_pb2.GetAllActorInfoReply()

    def GetAllJobInfo(self, _):
        return gcs_service_pb2.GetAllJobInfoReply(
            job_info_list=[gcs_pb2.JobTableData(job_id=JOB, is_dead=self.job_is_dead)])

    def GetTaskEvents(self, _):
        reply = gcs_service_pb2.GetTaskEventsReply()
        for worker in (worker for worker in self.workers if worker.named):
            task = reply.events_by_task.add(task_id=worker.task, job_id=JOB)
            task.task_info.name = task.task_info.func_or_class_name = worker.name
            task.task_info.task_id, task.task_info.job_id = worker.task, JOB
            task.task_info.parent_task_id = worker.parent
            task.state_updates.node_id, task.state_updates.worker_id = NODE, worker.worker_id
            task.state_updates.worker_pid = worker.pid
            task.state_updates.state_ts_ns[8] = time.time_ns()
        return reply

    def GetCoreWorkerStats(self, data):
        request = core_worker_pb2.GetCoreWorkerStatsRequest.FromString(data)
        worker = self._of(request.intended_worker_id)
        running = [worker.task] if worker and worker.busy else []
        reply = core_worker_pb2.GetCoreWorkerStatsReply(running_task_ids=running)
        if worker:
            reply.core_worker_stats.CopyFrom(common_pb2.CoreWorkerStats(
                ip_address="127.0.0.1", port=self.port, job_id=JOB, worker_id=worker.worker_id, pid=worker.pid))
        return reply
