"""A FakeAdapter whose threads stop and go on one by one, with ids that are the same in every worker, as debugpy's are.

    adapter = ManyAdapter(threads=3, rank=7)
    adapter.stop(2)                        # thread 2 stops again
    adapter.line, adapter.values           # where it stands; what `evaluate` gives
    adapter.waiting                        # how many threads the worker itself counts, if it does
"""

import re

from fake_adapter import PROGRAM, FakeAdapter

RESUME_ONE = re.compile(r"request_resume_thread.*\[(\d+)\]")


class ManyAdapter(FakeAdapter):
    def __init__(self, threads=1, rank=None, stops=None):
        self.threads = list(range(1, threads + 1))
        self.rank = rank
        self.stops = self.threads if stops is None else stops
        self.values = {}
        self.waiting = None
        self.standing = set()
        super().__init__()

    def stop(self, thread=1, reason="breakpoint"):
        connection = self.connections[-1]
        self.standing.add(thread)
        connection.stop(reason, thread, allThreadsStopped=False)

    def _frame(self, thread):
        return 10 * thread + 3

    def on_configurationDone(self, connection, request):
        connection.respond(request)
        connection.respond(connection.attached)
        for thread in self.threads:
            connection.event("thread", {"reason": "started", "threadId": thread})
        for thread in self.stops:
            self.stop(thread)

    def on_threads(self, connection, request):
        connection.respond(request, {"threads": [{"id": n, "name": f"Dummy-{n}"} for n in self.threads]})

    def on_stackTrace(self, connection, request):
        thread = request["arguments"]["threadId"]
        connection.respond(request, {"stackFrames": [
            {"id": self._frame(thread) + depth, "name": name, "line": self.line + depth, "column": 1,
             "source": {"path": PROGRAM, "sourceReference": 0}} for depth, name in enumerate(["step", "loop", "main"])],
            "totalFrames": 3})

    def on_scopes(self, connection, request):
        connection.respond(request, {"scopes": [
            {"name": "Locals", "variablesReference": request["arguments"]["frameId"] + 100, "expensive": False}]})

    def on_variables(self, connection, request):
        connection.respond(request, {"variables": [
            {"name": "port", "value": str(self.port), "type": "int", "variablesReference": 0},
            {"name": "ref", "value": str(request["arguments"]["variablesReference"]), "type": "int",
             "variablesReference": 0}]})

    def on_evaluate(self, connection, request):
        expression = request["arguments"]["expression"]
        if self.waiting is not None and "count_waiting" in expression:
            said = f"3.11.9/1.8.22 guard waiting={self.waiting}"
            connection.respond(request, {"result": said, "variablesReference": 0, "type": "str"})
            return
        resumed = RESUME_ONE.search(expression)
        result = self.values.get(expression, str(self.port))
        if "WORLD_RANK" in expression:
            result = "''" if self.rank is None else f"'{self.rank}'"
        if resumed:
            self.standing.discard(int(resumed[1]))
        with connection.together:
            connection.respond(request, {"result": "None" if resumed else result, "variablesReference": 0, "type": "int"})
            if resumed:
                connection.event("continued", {"threadId": int(resumed[1]), "allThreadsContinued": False})

    def on_continue(self, connection, request):
        if not self.standing:
            self.wedge(connection, request)
        self.standing.clear()
        with connection.together:
            connection.respond(request, {"allThreadsContinued": True})
            connection.event("continued", {"threadId": request["arguments"]["threadId"], "allThreadsContinued": True})

    def _step(self, connection, request):
        connection.respond(request)
        self.line += 1
        self.stop(request["arguments"]["threadId"], "step")

    on_next = on_stepIn = on_stepOut = _step
