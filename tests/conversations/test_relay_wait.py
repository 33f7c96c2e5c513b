"""What a relay waits with: libwebsockets' plugin for libuv, which lies beside libwebsockets, or else poll()."""

import os
import shutil
import subprocess

import pytest
from relay_process import raydbg_path

LIBRARY = "libwebsockets.so."


def loaded_library():
    """The libwebsockets that the tested binary loads; None: it is linked in, and libuv with it (tools/portable)."""
    lines = subprocess.run(["ldd", raydbg_path()], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return next((line.split()[2] for line in lines if line.strip().startswith(LIBRARY)), None)


def has_epoll(relay):
    """grpc has epoll sets, too, but a relay without a cluster has no grpc."""
    links = f"/proc/{relay.pid}/fd"
    return any("eventpoll" in os.readlink(f"{links}/{fd}") for fd in os.listdir(links))


@pytest.fixture
def alone(tmp_path):
    """A directory with a libwebsockets that has no plugins beside it; it is empty if the binary has one inside."""
    if library := loaded_library():
        shutil.copy(library, tmp_path)
    return tmp_path


def serve(relay):
    client = relay.join()
    client.stopped()
    client.ok("stackTrace", {"threadId": 1})
    client.disconnect()


def test_a_relay_waits_with_epoll(run_relay):
    relay = run_relay(env={"RAYDBG_LOG": "info"})
    assert has_epoll(relay)
    assert "libuv" not in relay.stderr()
    serve(relay)


def test_without_the_plugin_it_waits_with_poll_and_says_so_once(run_relay, alone):
    """A portable binary needs no plugin, and does not miss it."""
    relay = run_relay(env={"RAYDBG_LOG": "info", "LD_LIBRARY_PATH": str(alone)})
    missed = loaded_library() is not None
    assert has_epoll(relay) != missed
    assert relay.stderr().count("plugin for libuv is not installed") == missed
    serve(relay)


def test_nothing_is_said_of_it_to_who_did_not_ask(run_relay, alone):
    relay = run_relay(env={"LD_LIBRARY_PATH": str(alone)})
    serve(relay)
    assert "libuv" not in relay.stderr()
