"""The last word of a connection that is reset before the relay has read it counts."""

import os
import signal

from dap_client import frame


class Asleep:
    """The relay reads nothing while this is open."""

    def __init__(self, relay):
        self.pid = relay.pid

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)


def test_what_a_client_asked_last_is_done(adapter, hub):
    client, other = hub.join(), hub.join()
    client.stopped(), other.stopped()
    client.strict = False  # the answer to what is sent raw comes, if this end is slow to close
    with Asleep(hub):
        client.send_raw(frame(b'{"seq": 99, "type": "request", "command": "pause", "arguments": {"threadId": 1}}'))
        client.transport.reset()
    adapter.wait_request("pause")
    assert other.request("threads")["success"]


def test_what_a_debuggee_said_last_is_told(adapter, hub):
    client = hub.join()
    client.stopped()
    with Asleep(hub):
        adapter.connection().event("output", {"category": "stdout", "output": "the last words\n"})
        adapter.connection().die("rst")
    client.wait_event("output", lambda body: body["output"] == "the last words\n")


def test_a_debuggee_that_asks_something_last_harms_nobody(adapter, hub):
    """The refusal of a reverse request cannot be sent any more."""
    client = hub.join()
    client.stopped()
    with Asleep(hub):
        adapter.connection().request("runInTerminal", {})
        adapter.connection().event("output", {"category": "stdout", "output": "the last words\n"})
        adapter.connection().die("rst")
    client.wait_event("output", lambda body: body["output"] == "the last words\n")
    assert hub.http("GET", "/healthz").status == 200
