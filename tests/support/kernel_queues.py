"""What is on its way between two sockets of this machine, as the kernel counts it."""

import select
import socket
import struct
from pathlib import Path

from waits import settle, wait_until


def unread_by_peer(sock):
    """How many of the bytes that were sent into this IPv4 socket its peer, in this network namespace, has not read."""
    own, peer = _hex(sock.getsockname()), _hex(sock.getpeername())
    return _queues(own, peer)[0] + _queues(peer, own)[1]


def unread(sock):
    """How many of the bytes that its peer sent are not read from this socket."""
    own, peer = _hex(sock.getsockname()), _hex(sock.getpeername())
    return _queues(peer, own)[0] + _queues(own, peer)[1]


def read_by_peer(sock):
    """How many bytes the peer has read, and one."""
    own, peer = _hex(sock.getsockname()), _hex(sock.getpeername())
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136)
    acknowledged, = struct.unpack_from("Q", info, 120)  # tcpi_bytes_acked: they are in the peer's queue, or were
    return acknowledged - _queues(peer, own)[1]


def _queues(local, remote):
    """What a socket has not sent, or got no acknowledgement of, and what it has received and not read."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, own, peer, _, queues = line.split()[:5]
        if (own, peer) == (local, remote):
            return [int(number, 16) for number in queues.split(":")]
    return [0, 0]


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
        settle()  # the kernel's timers: an acknowledgement may be late
        for _ in range(3):
            relay.http("GET", "/healthz", token="")
        return count() == before and before

    return wait_until(still, lambda: f"{count()} bytes stay as they are")


def wait_stuck(relay, sock):
    """Until the relay reads this connection no more, though its sender has filled it; returns how much it has read."""
    return wait_still(relay, lambda: read_by_peer(sock) if is_full(sock) else 0)
