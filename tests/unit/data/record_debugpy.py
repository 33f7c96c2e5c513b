#!/usr/bin/env python3
"""Writes debugpy-<version>-*.json: what debugpy says of references in every shape, in a worker of a real Ray.

test_relay_annotate.c compares with the object ids of the run that is kept: they differ from run to run.
"""

import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent.parent
sys.path[:0] = [str(TESTS / name) for name in ("support", "integration")]

from cluster import Cluster, Spec  # noqa: E402


def save(client, name, command, arguments):
    """Asks, and keeps the answer's bytes."""
    answer = client.request(command, arguments)
    raw = next(e.raw for e in reversed(client.transcript) if e.message.get("request_seq") == answer["request_seq"])
    (HERE / f"debugpy-{version('debugpy')}-{name}.json").write_bytes(raw)
    return answer["body"]


def main():
    with Cluster(Spec(nodes=1)) as cluster:
        cluster.driver(TESTS / "integration/programs/shapes.py")
        worker = cluster.wait_paused()[0]
        client = cluster.direct(worker)
        thread = client.attach({"justMyCode": False})
        frame = client.request("stackTrace", {"threadId": thread})["body"]["stackFrames"][0]["id"]
        scope = client.request("scopes", {"frameId": frame})["body"]["scopes"][0]["variablesReference"]
        rows = save(client, "variables", "variables", {"variablesReference": scope})["variables"]
        by_name = next(row for row in rows if row["name"] == "by_name")
        save(client, "children", "variables", {"variablesReference": by_name["variablesReference"]})
        save(client, "evaluate", "evaluate", {"expression": "pair", "frameId": frame, "context": "repl"})
        save(client, "evaluate-actor", "evaluate", {"expression": "handle", "frameId": frame, "context": "repl"})
        save(client, "set-variable", "setVariable", {"variablesReference": scope, "name": "small", "value": "ref"})
        save(client, "set-expression", "setExpression", {"frameId": frame, "expression": "small", "value": "ref"})
        client.request("continue", {"threadId": thread})


if __name__ == "__main__":
    main()
