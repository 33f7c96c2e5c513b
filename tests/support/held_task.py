"""A task that a relay holds, and what clients may ask of it."""

from waits import SHORT, hard, settle

KINDS = ["tcp", "websocket"]

# What an observer must not do, with arguments that a driver's would have.
CHANGES = {"continue": {"threadId": 1}, "next": {"threadId": 1}, "stepIn": {"threadId": 1}, "stepOut": {"threadId": 1},
           "pause": {"threadId": 1}, "setVariable": {"variablesReference": 6, "name": "x", "value": "4"},
           "setExpression": {"expression": "x", "value": "4", "frameId": 3},
           "goto": {"threadId": 1, "targetId": 1},
           "evaluate": {"expression": "x.clear()", "frameId": 3, "context": "repl"}}
LOOKS = {"threads": None, "stackTrace": {"threadId": 1}, "scopes": {"frameId": 3}, "variables": {"variablesReference": 6}}


def assert_held(adapter, seconds=SHORT):
    """The adapter is still connected, and nobody has told it to go on or to let go."""
    settle(seconds)
    with hard():
        assert len(adapter.connections) == 1
        assert not adapter.connection().ended.is_set()
        assert not adapter.requests("disconnect") and not adapter.requests("continue"), adapter.commands()
