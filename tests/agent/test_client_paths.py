"""Clients with path mappings of their own, one after the other at a real debugpy, which has those of the first."""

from debugpy_session import TASKS, task_line
from relay_process import RelayProcess


def top(client, thread):
    return client.stack(thread)[0]["source"]


def test_two_clients_with_their_own_mappings(start_worker):
    worker = start_worker("walk")
    worker.address = f"127.0.0.1:{worker.port}"
    with RelayProcess(adapter=worker) as relay:
        first = relay.join(pathMappings=[{"localRoot": "/one", "remoteRoot": str(TASKS.parent)}])
        thread = first.stopped()["threadId"]
        assert top(first, thread)["path"] == f"/one/{TASKS.name}"
        second = relay.join(takeOver=True, pathMappings=[{"localRoot": "/two", "remoteRoot": str(TASKS.parent)}])
        second.stopped()
        assert top(second, thread) == {"path": f"/two/{TASKS.name}", "sourceReference": 0}
        (answer,) = second.set_breakpoints(f"/two/{TASKS.name}", [task_line("walk-loop")])["breakpoints"]
        assert answer["verified"], answer
        second.resume(thread)
        assert second.stopped()["reason"] == "breakpoint"
        assert second.stack(thread)[0]["line"] == task_line("walk-loop")
        relay.kill9()
        relay.restart()
        third = relay.join()
        third.stopped()
        assert top(third, thread)["path"] == str(TASKS)
        other = relay.join(pathMappings=[{"localRoot": "/two", "remoteRoot": str(TASKS.parent)}])
        other.stopped()
        assert top(other, thread)["path"] == f"/two/{TASKS.name}"
