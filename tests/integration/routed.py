"""A cluster whose nodes another network namespace reaches over one link, as a laptop does; the link can be cut.

In the cluster's namespace the nodes are 10.77.0.1, 10.77.0.2, … and the link's end is 10.78.0.1; outside it ends at 10.78.0.2.
"""

import contextlib
import re
import socket
import subprocess

from cluster import Cluster, ClusterError, InnerProcess, wait_for
from waits import limit

NODES = "10.77.0"
HEAD = f"{NODES}.1:6379"
NEAR, FAR = "10.78.0.1", "10.78.0.2"


class RoutedCluster(Cluster):
    """A Cluster with a second namespace, `outside`, and the link between them."""

    def _start_namespace(self):
        super()._start_namespace()
        self._outside = InnerProcess([*self._entry, "unshare", "-n", "sh", "-c", "echo $$; exec sleep infinity"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self._outside_pid = self._outside.stdout.readline().strip()
        self._ip(f"link add near type veth peer name far netns {self._outside_pid}", f"addr add {NEAR}/24 dev near",
                 "link set near up", *(f"addr add {NODES}.{n}/32 dev lo" for n in range(1, self.spec.nodes + 1)))
        self._ip("link set lo up", f"addr add {FAR}/24 dev far", outside=True)
        self.join()

    def _protect(self):
        super()._protect()
        self.env |= {"RAY_ADDRESS": HEAD, "NODE_IP": f"{NODES}.1"}

    def _node_ip(self, number):
        return f"{NODES}.{number}"

    def head(self):
        return HEAD

    def _ip(self, *commands, outside=False):
        entry = [*self._entry, *(["nsenter", "-t", self._outside_pid, "-n"] if outside else [])]
        for command in commands:
            done = subprocess.run([*entry, "ip", *command.split()], capture_output=True, text=True, timeout=limit())
            if done.returncode:
                raise ClusterError(f"ip {command}: {done.stderr}")

    # --- the link ---

    def cut(self):
        """The link is gone without a word; both ends keep their addresses."""
        self._ip("link set far down", outside=True)

    def join(self):
        self._ip("link set far up", f"route replace {NODES}.0/24 via {NEAR}", outside=True)

    @contextlib.contextmanager
    def _before_local(self, *rules):
        """These decide before the namespace's own addresses do."""
        self._ip(*(f"rule add {rule}" for rule in rules), "rule add pref 20 lookup local", "rule del pref 0")
        try:
            yield
        finally:
            self._ip("rule add pref 0 lookup local", "rule del pref 20", *(f"rule del {rule}" for rule in rules))

    @contextlib.contextmanager
    def only_port(self, port):
        """From outside nothing is reachable but NEAR:port."""
        with self._before_local(f"pref 5 iif near to {NEAR} ipproto tcp dport {port} lookup local",
                                "pref 6 iif near ipproto tcp blackhole"):
            yield

    @contextlib.contextmanager
    def cut_port(self, port):
        """From outside nothing comes to NEAR:port, without a word; all else works."""
        with self._before_local(f"pref 5 iif near to {NEAR} ipproto tcp dport {port} blackhole"):
            yield

    # --- programs outside ---

    def outside(self, argv):
        return ["nsenter", "-t", self._outside_pid, "-n", *map(str, argv)]

    def reaches(self, host, port, timeout=3):
        """Whether a connection from outside is accepted."""
        program = f"import socket; socket.create_connection(({host!r}, {port}), {timeout})"
        return self.run(self.outside([self.venv / "bin/python", "-c", program])).returncode == 0

    def connect_outside(self, host, port):
        """A socket of the outside, connected to host:port, by way of a relaying process there."""
        ours, theirs = socket.socketpair()
        program = ("import socket,sys,threading\n"
                   "a=socket.socket(fileno=0); b=socket.create_connection((sys.argv[1],int(sys.argv[2])),20)\n"
                   "def pump(x,y):\n"
                   "    while (d:=x.recv(65536)): y.sendall(d)\n"
                   "    y.shutdown(1)\n"
                   "b.settimeout(None)\n"
                   "t=threading.Thread(target=pump,args=(a,b)); t.start(); pump(b,a); t.join()\n")
        self.popen(self.outside([self.venv / "bin/python", "-c", program, host, port]), stdin=theirs,
                   stdout=subprocess.DEVNULL)
        theirs.close()
        return ours

    def wait_nodes(self):
        wait_for(lambda: self.reaches(f"{NODES}.1", 6379), "the head is reachable from outside")


class ApartCluster(RoutedCluster):
    """Two nodes in two network namespaces, neither of which reaches the other's loopback: the head at NEAR, which runs drivers
    and no tasks, and node 2 at FAR, outside, which runs all tasks."""

    def _protect(self):
        super()._protect()
        self.env |= {"RAY_ADDRESS": self.head(), "NODE_IP": NEAR}

    def _node_ip(self, number):
        return NEAR if number == 1 else FAR

    def head(self):
        return f"{NEAR}:6379"

    def _at_node(self, number, argv):
        return [*argv, "--num-cpus=0"] if number == 1 else self.outside(argv)

    def listening(self, pid):
        """The addresses on which this process of node 2 listens."""
        said = self.run(self.outside(["ss", "-Hltnp"]), check=True).stdout
        return {line.split()[3] for line in said.splitlines() if re.search(rf"\bpid={pid}\b", line)}

    @contextlib.contextmanager
    def rays_ports_only(self):
        """Node 2 accepts connections at the ports that Ray's processes have there by now, and at those that start_node() gives
        to its workers; all others are lost without a word."""
        said = self.run(self.outside(["ss", "-Hltn"]), check=True).stdout
        ports = sorted({int(line.split()[3].rpartition(":")[2]) for line in said.splitlines()})
        rules = [*(f"--dport {port} -j ACCEPT" for port in [*ports, "12000:12999"]), "-j DROP"]
        for rule in rules:
            self._filter(f"-A INPUT -i far -p tcp --syn {rule}")
        try:
            yield
        finally:
            self._filter("-F INPUT")

    def _filter(self, rule):
        self.run(self.outside(["iptables", "-w", *rule.split()]), check=True)

    def accepts(self):
        """Whether the head can connect to a port that somebody opens at node 2."""
        program = "import socket; s = socket.create_server((%r, 0)); print(s.getsockname()[1], flush=True); input()" % FAR
        listener = self.popen(self.outside([self.venv / "bin/python", "-c", program]))
        port = int(listener.stdout.readline())
        program = f"import socket; socket.create_connection(({FAR!r}, {port}), 3)"
        accepted = self.python("-c", program).returncode == 0
        listener.communicate(b"\n", timeout=limit())
        return accepted
