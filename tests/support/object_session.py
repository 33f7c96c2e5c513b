"""A session whose worker has references: the adapter's variables, and what a test asks of them."""

from waits import wait_until

LOCALS, GLOBALS = 6, 7
OWN = 0x40000000
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


def known(client, *names):
    """The local variables by name, once it is known what these have in Ray; without names: what one of them has."""
    rows = {}

    def look():
        rows.update(client.children(LOCALS))
        have = [name for name, each in rows.items() if "·" in each["value"] or name == "size"]
        return set(names) <= set(have) if names else have

    wait_until(look, lambda: f"it is known what {names or 'one'} has: {rows}")
    return rows


def settled(client):
    """Nothing of `big` is still being asked: its owner and size are known before its copies, and what made it."""
    known(client)
    wait_until(lambda: "being asked" not in str(client.children(11)), "all is known of big")


def asked_together(client, adapter, *references):
    """Asks for the rows of these, and behind them for the threads: (rows, whether they waited for Ray) of each.

    The adapter answers all in one piece, so that an answer that is sent after the threads' was held back, however slow the
    machine is.
    """
    connection, pieces, on_threads = adapter.connections[-1], [], adapter.on["threads"]

    def threads(connection, request):
        on_threads(connection, request)
        del connection.send_raw
        connection.send_raw(b"".join(pieces))

    adapter.on["threads"] = threads
    connection.send_raw = pieces.append
    seqs = [client.send("variables", {"variablesReference": reference}) for reference in references]
    threads_seq = client.send("threads")
    client.response(threads_seq)
    adapter.on["threads"] = on_threads
    rows = [client.check(client.response(seq))["variables"] for seq in seqs]
    order = [e.message["request_seq"] for e in client.transcript if e.message.get("type") == "response"]
    return [(each, seq not in order[:order.index(threads_seq)]) for each, seq in zip(rows, seqs)]


def announced(client, found):
    """What found() gives once the client was told to look again. There may be news of something else before."""
    for _ in range(5):
        client.wait_event("invalidated")
        if value := found():
            return value
    raise AssertionError("what is announced is not there")


def announcements(client):
    """How often the client has been told to look again."""
    client.ok("threads")  # behind what corrects a response that was too early
    return len(client.events("invalidated"))


def in_time(attach, script):
    """Runs script(client) in new sessions until it is over before the worker is given up, 2 s after it was asked: only then
    does it show what is shown of a worker that is slow."""
    for _ in range(5):
        client = attach(wait=False)
        try:
            script(client)
        except AssertionError:
            if not gave_up(client):
                raise
        else:
            if not gave_up(client):
                return
        client.disconnect()
        client.close(check=False)
    raise AssertionError("the worker was given up each time before all was seen")


def gave_up(client):
    """Whether the product has given up the worker."""
    return "is not known: " in client.stderr()


def store(client, **page):
    scope = client.ok("scopes", {"frameId": 3})["scopes"][-1]
    assert scope["name"] == "Object store"
    return client.ok("variables", {"variablesReference": scope["variablesReference"], **page})["variables"]


def full_store(client):
    """The rows of the store, once its node has told the counters, too."""
    return wait_until(lambda: "unknown: the node" not in str(rows := store(client)) and rows, "the node has told its counters")
