"""What a client sees of one session over many tasks."""

ALL = {"tasks": "*"}


def shown(client):
    """The event that shows the population."""
    return client.wait_event("stopped", lambda body: body.get("allThreadsStopped"))["body"]


def threads(client):
    return {thread["name"]: thread["id"] for thread in client.ok("threads")["threads"]}


def port_of(client, thread):
    """The port of the adapter whose variables the thread's top frame shows."""
    return int(client.locals(client.stack(thread)[0]["id"])["port"]["value"])
