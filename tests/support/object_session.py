"""A session whose worker has references: the adapter's variables, and what a test asks of them."""

import time

LOCALS, GLOBALS = 6, 7
OWN = 0x40000000
PATIENCE = 0.05
NINE = ["size", "nodes", "owner", "call site", "reference", "kinds", "copies", "spilled", "created by"]
READ_ONLY = {"kind": "virtual", "attributes": ["readOnly"]}


def row(name, value, kind, reference=0, evaluate=True):
    return {"name": name, "value": value, "type": kind, "variablesReference": reference,
            **({"evaluateName": name} if evaluate else {})}


def ref_row(name, which, reference=11):
    return row(name, f"ObjectRef({which})", "ObjectRef", reference)


class Worker:
    """The adapter's variables: rows by reference; each is answered with what is there."""

    def __init__(self, adapter, ray):
        self.adapter, self.ray = adapter, ray
        self.big = ray.add_ref(8_000_000, call_site="app.py:main:12")
        self.small = ray.add_ref(500)
        self.rows = {LOCALS: [row("x", "3", "int"), ref_row("big", self.big)],
                     11: [row("special variables", "", "", 15, evaluate=False)]}
        adapter.on["variables"] = self.variables

    def variables(self, connection, request):
        connection.respond(request, {"variables": self.rows.get(request["arguments"]["variablesReference"], [])})


def known(client, reference=LOCALS):
    """The rows of a reference by name, once all is known of them."""
    deadline = time.monotonic() + 10
    while True:
        rows = client.children(reference)
        if any("·" in r["value"] or r["name"] == "size" for r in rows.values()) or time.monotonic() > deadline:
            return rows


def timed(client, command, arguments):
    start = time.monotonic()
    body = client.ok(command, arguments)
    return body, time.monotonic() - start


def store(client, **page):
    scope = client.ok("scopes", {"frameId": 3})["scopes"][-1]
    assert scope["name"] == "Object store"
    return client.ok("variables", {"variablesReference": scope["variablesReference"], **page})["variables"]
