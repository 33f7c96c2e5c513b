"""The connections of the agent and of pydevd to a relay that listens with TLS, from its own node and from others.

Executed in the module of agent.py. No authority vouches for the relay's certificate, and no host's name matters: it is known by
its fingerprint, which came with the key. It is compared before anything is sent through TLS.
"""

import select

VANISHED_S = 25.0  # without a sign of the relay's machine: the agent dials again
CUT_S = 900.0  # the same for pydevd, whose stopped threads go on when its connection ends: see REVERSE_CUT_S in relay/debuggee
PROBE_S = (10, 5)  # the kernel looks for the relay's machine after this silence, and then each time after that
PROTOCOL = "raydbg"  # ALPN; relay/port/client_hello.h
# Each of OpenSSL's calls is made under this lock, and so is each fork: in a forked child, a lock of OpenSSL's that another thread
# has is never released. Reentrant, because a handler of SIGINT may send in the middle of a call.
openssl = threading.RLock()
FORK_MOST_S = 1.0  # how long a fork waits for it


class SecureSocket:
    """A TLS connection that one thread reads and others write, as pydevd and the agent use a plain socket.

    OpenSSL allows one call at a time. No call under its lock waits: who must wait does it outside of the lock, for the socket.
    """

    def __init__(self, sock):
        self.limit_s = sock.gettimeout()
        sock.setblocking(False)
        self.sock = sock
        self.writes = threading.RLock()

    def __getattr__(self, name):
        return getattr(self.sock, name)

    def settimeout(self, seconds):
        self.limit_s = seconds

    def wait(self, event):
        if self.sock.fileno() < 0:
            raise OSError("the connection is closed")
        poll = select.poll()
        poll.register(self.sock, event)
        if not poll.poll(None if self.limit_s is None else 1000 * self.limit_s):
            raise socket.timeout("the relay says nothing")

    def call(self, function, *arguments):
        ssl = sys.modules["ssl"]
        while True:
            try:
                with openssl:
                    return function(*arguments)
            except ssl.SSLWantReadError:
                event = select.POLLIN
            except ssl.SSLWantWriteError:
                event = select.POLLOUT
            self.wait(event)

    def handshake(self):
        """The SHA-256 of the certificate that the other side shows."""
        self.call(self.sock.do_handshake)
        return hashlib.sha256(self.call(self.sock.getpeercert, True)).hexdigest()

    def recv(self, size):
        return self.call(self.sock.recv, size)

    def sendall(self, data):
        with self.writes:
            left = memoryview(data)
            while left:
                left = left[self.call(self.sock.send, left):]

    def shutdown(self, how):
        """Not that of SSLSocket, after which it would read and write plain bytes."""
        socket.socket.shutdown(self.sock, how)


def probe(sock, seconds):
    """The kernel ends the connection after so long without a sign of the other machine."""
    for option, value in ((socket.TCP_KEEPIDLE, PROBE_S[0]), (socket.TCP_KEEPINTVL, PROBE_S[1]),
                          (socket.TCP_USER_TIMEOUT, int(1000 * seconds)), (socket.TCP_NODELAY, 1)):
        sock.setsockopt(socket.IPPROTO_TCP, option, value)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def secure(plain, fingerprint, seconds):
    """The connected socket with TLS, by then to the relay with this certificate. Closes it otherwise."""
    with contextlib.ExitStack() as failing:
        failing.callback(plain.close)
        probe(plain, seconds)
        with openssl:
            sock = SecureSocket(make_context().wrap_socket(plain, do_handshake_on_connect=False))
        failing.callback(sock.sock.close)
        shown = "SHA256:" + sock.handshake()
        if not hmac.compare_digest(shown, fingerprint):
            raise ConnectionError("the relay shows another certificate, %s" % shown)
        failing.pop_all()
    sock.settimeout(None)
    return sock


def make_context():
    ssl = importlib.import_module("ssl")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the fingerprint says more
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([PROTOCOL])
    return context


def endpoint_of_tls(sock, fingerprint):
    """As proof_endpoint_tls() in relay/access/proof.c."""
    host, port = sock.getpeername()[:2]
    return "tls %s:%d %s" % ("[%s]" % host if ":" in host else host, port, fingerprint)
