"""What is on its way between two sockets of this machine, as the kernel counts it."""

import select
import socket
from pathlib import Path

from waits import wait_until


def unread_by_peer(sock):
    """How many of the bytes that were sent into this IPv4 socket its peer, in this network namespace, has not read."""
    return _unread(_hex(sock.getsockname()), _hex(sock.getpeername()))


def unread(sock):
    """How many of the bytes that its peer sent are not read from this socket."""
    return _unread(_hex(sock.getpeername()), _hex(sock.getsockname()))


def _unread(sender, receiver):
    count = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues = line.split()[:5]
        unsent, received = (int(number, 16) for number in queues.split(":"))
        if (local, remote) == (sender, receiver):
            count += unsent
        elif (local, remote) == (receiver, sender):
            count += received
    return count


def _hex(address):
    """An address as in /proc/net/tcp."""
    host, port = address
    return "%08X:%04X" % (int.from_bytes(socket.inet_aton(host), "little"), port)


def is_full(sock):
    """Whether a write into it would block."""
    return not select.select([], [sock], [], 0)[1]


def wait_still(relay, count):
    """Until count() is not 0 and stays what it is while the relay answers others, that is, while its loop turns: it does then
    what it can with each of its sockets. Returns the count."""
    def still():
        before = count()
        for _ in range(3):
            relay.http("GET", "/healthz", token="")
        return count() == before and before

    return wait_until(still, lambda: f"{count()} bytes stay as they are")


def wait_stuck(relay, sock):
    """Until the relay reads this connection no more, though its sender has filled it; returns how much it has not read."""
    return wait_still(relay, lambda: unread_by_peer(sock) if is_full(sock) else 0)
