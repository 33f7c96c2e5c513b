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
    body = client.ok(command, arguments)
    raw = next(e.raw for e in reversed(client.transcript) if e.way == "<" and e.message.get("command") == command)
    (HERE / f"debugpy-{version('debugpy')}-{name}.json").write_bytes(raw)
    return body


def main():
    with Cluster(Spec(nodes=1)) as cluster:
        cluster.driver(TESTS / "integration/programs/shapes.py")
        with cluster.direct(cluster.wait_paused()[0]) as client:
            client.initialize()
            client.attach({"justMyCode": False})
            thread = client.stopped()["threadId"]
            frame = client.stack(thread)[0]["id"]
            scope = client.ok("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
            rows = save(client, "variables", "variables", {"variablesReference": scope})["variables"]
            by_name = next(row["variablesReference"] for row in rows if row["name"] == "by_name")
            save(client, "children", "variables", {"variablesReference": by_name})
            save(client, "evaluate", "evaluate", {"expression": "pair", "frameId": frame, "context": "repl"})
            save(client, "evaluate-actor", "evaluate", {"expression": "handle", "frameId": frame, "context": "repl"})
            save(client, "set-variable", "setVariable", {"variablesReference": scope, "name": "small", "value": "ref"})
            save(client, "set-expression", "setExpression", {"frameId": frame, "expression": "small", "value": "ref"})
            client.resume_all(thread)


if __name__ == "__main__":
    main()
