"""A private Ray cluster in namespaces of its own: nothing of it is seen outside or outlives the test run.

The network and pid namespaces have one process 1, namespace_init.py, that ends when this process does; the kernel then
ends everything inside. Within, head and nodes are 127.0.0.1, 127.0.0.2, … with Ray's usual ports.
"""

import contextlib
import fcntl
import http.client
import itertools
import json
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import urllib.parse
from dataclasses import dataclass, field, fields
from pathlib import Path

import evidence
import sanitizers
from dap_client import DapClient
from waits import limit, wait_until

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
ADDRESS = "127.0.0.1:6379"
START_LOCK = f"/tmp/raydbg-cluster-{os.geteuid()}{{}}.lock"
DASHBOARD = ("127.0.0.1", 8265)


class ClusterError(Exception):
    """The cluster or a program in it did not do what it has to; the text holds its output."""


class ClusterTimeout(ClusterError):
    """Something did not happen in time."""


# Why a cluster of a kind and Spec could not be started in this process: no test tries that again.
BROKEN = {}


@dataclass(frozen=True)
class Spec:
    """Which cluster: versions, how many nodes, how it is protected, and the environment of all its processes."""

    python: str = ""  # "" is the project's .venv
    ray: str = ""
    debugpy: str = ""
    nodes: int = 2
    dashboard: bool = True
    token: bool = False
    tls: bool = False
    store: int = 200_000_000  # bytes of each node's object store; Ray's minimum is 75 MiB
    env: tuple = ()  # pairs of strings
    start: tuple = ()  # more arguments of `ray start`

    def __str__(self):
        """What it has other than the default."""
        values = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        return f"Spec({', '.join(f'{name}={value!r}' for name, value, default in values if value != default)})"

    def venv(self):
        """The environment's directory, made by tools/setup if it is not there."""
        if not self.python:
            return ROOT / ".venv"
        argv = [ROOT / "tools/setup", "--python", self.python]
        argv += ["--ray", self.ray] * bool(self.ray) + ["--debugpy", self.debugpy] * bool(self.debugpy)
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=limit(900))
        if done.returncode:
            raise ClusterError(f"tools/setup could not make the environment of {self}")
        return Path(done.stdout.strip().splitlines()[-1])


def line_of(path, marker):
    """The number of the line that carries the comment `# line: MARKER`."""
    numbers = [n for n, text in enumerate(Path(path).read_text().splitlines(), 1)
               if re.search(rf"# line: {re.escape(marker)}$", text)]
    if len(numbers) != 1:
        raise ClusterError(f"{path} has {len(numbers)} lines marked {marker}")
    return numbers[0]


def wait_for(find, what, every=0.05, most=None):
    """wait_until() for what a cluster does."""
    return wait_until(find, what, every, most, ClusterTimeout)


def table_of_threads(process):
    """The lines that a `raydbg attach` which reads its commands from a pipe has for `threads` now."""
    process.stdin.write("threads\np 'end'\n")
    process.stdin.flush()
    return list(itertools.takewhile(lambda line: line not in ("'end'\n", ""), iter(process.stdout.readline, None)))


@contextlib.contextmanager
def start_lock():
    """Held by one process at a time: two clusters that start at once both take longer than Ray's own time limits.

    A process that ends frees it, whatever ended it. A file that another user owns is not ours to wait for, so that then
    the next name is the lock's.
    """
    problems = []
    for path in (START_LOCK.format(more) for more in ("", "-1", "-2", "-3")):
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        except OSError as error:
            problems.append(str(error))
            continue
        with open(lock, "rb"):
            found = os.fstat(lock)
            if found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode):
                problems.append(f"{path} is not a file of this user's")
                continue
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
            return
    raise ClusterError("there is no lock for the start of a cluster; please remove these files: " + "; ".join(problems))


def summary_of(error):
    """The lines of a failure that say the most: its first and its last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return " … ".join(line[:200] for line in (lines if len(lines) < 3 else [lines[0], lines[-1]]))


def children_of(pid):
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def program_of(pid):
    try:
        return os.path.basename(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode())
    except OSError:
        return ""


# What a program inside is started through; each replaces itself by the next.
LAUNCHERS = ("nsenter", "setpriv", "env")


class InnerProcess(subprocess.Popen):
    """A process inside the namespace. Signals go to the program itself, not to the nsenter that runs it."""

    def inner_pid(self):
        """The program's pid as seen from outside; 0 if it has ended."""
        def started():
            for pid in children_of(self.pid):
                if program_of(pid) not in ("", *LAUNCHERS):
                    return [pid]
            return [0] if self.poll() is not None else None
        return wait_for(started, "the program inside starts", every=0.005)[0]

    def wait_catches(self, sig):
        """Until the program inside has a handler for this signal, or blocks it to read it, or has ended."""
        def catches():
            pid = self.inner_pid()
            with contextlib.suppress(OSError):
                masks = re.findall(r"^Sig(?:Cgt|Blk):\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
                return any(int(mask, 16) >> (sig - 1) & 1 for mask in masks)
            return self.poll() is not None
        wait_until(catches, f"a handler of {sig}")

    def send_signal(self, sig):
        pid = self.inner_pid()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sig)


class Driver:
    """A Ray driver program that runs in the background, its output in a file."""

    def __init__(self, process, log):
        self.process = process
        self.log = log

    def output(self):
        return self.log.read_text(errors="replace")

    def wait_for(self, pattern, timeout=None):
        """The match of this regular expression in the output; fails if the program ends without one."""
        def find():
            ended = self.process.poll() is not None
            return re.search(pattern, self.output(), re.MULTILINE) or ended
        found = wait_for(find, lambda: f"{pattern} in the driver's output:\n{self.output()}", most=timeout)
        if found is True:
            raise ClusterError(f"the driver ended ({self.process.returncode}) without {pattern}:\n{self.output()}")
        return found

    def result(self, name, timeout=None):
        """The value that the program printed for this name: the rest of its line `RESULT name value`."""
        # Ray may have printed a part of a worker's line in front of it.
        return self.wait_for(rf"RESULT {re.escape(name)} (.*)\n", timeout).group(1)

    def results(self):
        """All values so far, as pairs of name and value, in the order of completion."""
        return re.findall(r"RESULT (\S+) (.*)\n", self.output())

    def error(self, name, timeout=None):
        """What the program printed for a name that failed: the rest of its line `ERROR name type: message`."""
        return self.wait_for(rf"ERROR {re.escape(name)} (.*)\n", timeout).group(1)

    def wait(self, timeout=None):
        timeout = timeout or limit()
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"the driver did not end in {timeout} s:\n{self.output()}") from None

    def stop(self):
        self.process.kill()
        self.process.wait(limit())


@dataclass
class Cluster:
    """`with Cluster(Spec(...)) as cluster:` or start() and stop()."""

    spec: Spec = field(default_factory=Spec)
    raydbg_path: Path = ROOT / "build/raydbg"

    def __post_init__(self):
        self.directory = None
        self.drivers = []
        self.token = None
        self._namespace = None
        self._entry = []
        self._proc = None  # the /proc of the inside

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if kind:
            evidence.save(self, f"{self.spec} ends with {kind.__name__}")
        self.stop()

    # --- start and stop ---

    def start(self):
        """Tries it twice. Where that fails, too, no other cluster like this one is started by this process."""
        self.check_startable()
        failures = []
        while len(failures) < 2:
            try:
                with start_lock():
                    self._start()
                if failures:
                    evidence.note(f"{self.spec} started only when tried again; first: {summary_of(failures[0])}")
                return self
            except Exception as error:
                failures.append(error)
        reason = f"{self.spec} does not start here, tried twice; first: {summary_of(failures[0])}"
        BROKEN[type(self), self.spec] = reason
        raise ClusterError("\n\n".join([reason, *map(str, failures)])) from failures[0]

    def check_startable(self):
        """Fails at once if a cluster like this one could not be started before."""
        if reason := BROKEN.get((type(self), self.spec)):
            raise ClusterError(reason)

    def _start(self):
        self.venv = self.spec.venv()
        self.directory = Path(tempfile.mkdtemp(prefix="rd-", dir="/tmp"))
        try:
            self._start_namespace()
            self._protect()
            for number in range(1, self.spec.nodes + 1):
                self.start_node(number)
            if self.spec.dashboard:
                self._wait_dashboard()
        except BaseException as error:
            evidence.save(self, f"{self.spec} did not start: {summary_of(error)}")
            self.stop()
            raise

    def stop(self):
        """Ends the namespace's process 1, and so everything inside."""
        self.drivers.clear()
        if self._namespace:
            self._namespace.stdin.close()
            try:
                self._namespace.wait(limit())
            except subprocess.TimeoutExpired:
                self._namespace.kill()
                self._namespace.wait()
            self._namespace.stdout.close()
            self._namespace = None
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None

    def _start_namespace(self):
        user = [] if os.geteuid() == 0 else ["-r"]
        argv = ["unshare", *user, "-n", "-p", "-f", "--mount-proc", "--kill-child",
                sys.executable, HERE / "namespace_init.py", self.directory]
        self._namespace = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                           start_new_session=True)
        if self._namespace.stdout.readline() != "ready\n":
            raise ClusterError("the namespace did not come up; are unprivileged namespaces allowed here?")
        init = children_of(self._namespace.pid)[0]
        self._proc = Path(f"/proc/{init}/root/proc")
        user = ["-U", "--preserve-credentials"] if user else []
        # setpriv: killing nsenter kills the program.
        self._entry = ["nsenter", "-t", str(init), *user, "-n", "-p", "-m", "setpriv", "--pdeathsig", "KILL"]

    def _protect(self):
        """The environment that all of the cluster's processes, drivers and clients share."""
        home = self.directory / "home"
        home.mkdir()
        keep = {k: v for k, v in os.environ.items() if k in ("LANG", "LC_ALL", "TERM", "TZ")}
        self.env = {**keep, "HOME": str(home), "PATH": f"{self.venv}/bin:{os.environ['PATH']}",
                    "RAY_TMPDIR": str(self.directory), "RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0",
                    # On a disk that is 95 % full Ray would spill nothing: an OutOfDiskError instead.
                    "RAY_local_fs_capacity_threshold": "0.999",
                    # Ray forks the server of a Ray Client from a process with gRPC's threads. With gRPC's handlers of forks
                    # one in four of these servers died before it began, on a busy machine, and without them none.
                    "GRPC_ENABLE_FORK_SUPPORT": "0",
                    # Beside other tests, Ray's 30 s may be too few for the server of a Ray Client to start.
                    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": str(int(limit(120))),
                    "PYTHONDONTWRITEBYTECODE": "1", **sanitizers.ENV, **dict(self.spec.env)}
        if self.spec.token:
            self.token = secrets.token_hex(32)
            self.env |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}
        if self.spec.tls:
            self._make_certificates()
            self.env |= {"RAY_USE_TLS": "1", "RAY_TLS_CA_CERT": f"{self.directory}/ca.crt",
                         "RAY_TLS_SERVER_CERT": f"{self.directory}/node.crt",
                         "RAY_TLS_SERVER_KEY": f"{self.directory}/node.key"}

    def _make_certificates(self):
        """A certificate authority and one certificate for all nodes, with their addresses in it."""
        (self.directory / "san").write_text(
            "subjectAltName=" + ",".join(f"IP:127.0.0.{n}" for n in range(1, 10)) + ",DNS:localhost")
        for command in (
                "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=raydbg-test-ca -keyout ca.key -out ca.crt",
                "req -newkey rsa:2048 -nodes -subj /CN=raydbg-test-node -keyout node.key -out node.csr",
                "x509 -req -in node.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile san -out node.crt"):
            subprocess.run(["openssl", *command.split()], cwd=self.directory, check=True, timeout=limit(),
                           stderr=subprocess.DEVNULL)

    def start_node(self, number):
        """Starts node 127.0.0.NUMBER; one more than the Spec has is the caller's to end.

        Workers listen on all addresses, at ports that their own node believes to be free: each node has some of its own.
        """
        argv = ["ray", "start", f"--node-ip-address={self._node_ip(number)}", "--num-cpus=4", "--disable-usage-stats",
                f"--min-worker-port={10000 + 1000 * number}", f"--max-worker-port={10999 + 1000 * number}",
                f"--object-store-memory={self.spec.store}", *self.spec.start]
        if number == 1:
            argv += ["--head", "--port=6379", f"--temp-dir={self.directory}",
                     f"--include-dashboard={str(self.spec.dashboard).lower()}"]
        else:
            argv += [f"--address={self.head()}", f"--resources={json.dumps({chr(ord('a') + number - 1): 4})}"]
        done = self.run(self._at_node(number, argv), timeout=limit(120))
        if done.returncode:
            raise ClusterError(f"node {number} of {self.spec} did not start:\n{done.stdout}{done.stderr}")

    def _node_ip(self, number):
        return f"127.0.0.{number}"

    def _at_node(self, number, argv):
        """The command line that runs `argv` on this node."""
        return argv

    def head(self):
        return ADDRESS

    def _wait_dashboard(self):
        def answers():
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, ClusterError):
                nodes = self.api("/api/v0/nodes")
                return len([n for n in nodes if n["state"] == "ALIVE"]) == self.spec.nodes
        wait_for(answers, "the dashboard lists all nodes", every=0.2)

    # --- programs inside ---

    def inside(self, argv, env=None, cwd=None):
        """The command line that runs `argv` inside, with the cluster's environment and `env` (None unsets)."""
        evidence.use(self)
        merged = {**self.env, **(env or {})}
        pairs = [f"{name}={value}" for name, value in merged.items() if value is not None]
        return [*self._entry, "env", "-i", "-C", str(cwd or self.directory), *pairs, *map(str, argv)]

    def run(self, argv, *, env=None, cwd=None, timeout=None, input=None, text=True, check=False):
        """Runs a command inside to its end; like subprocess.run with both outputs captured, text, no stdin."""
        feed = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        done = subprocess.run(self.inside(argv, env, cwd), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text,
                              timeout=timeout or limit(), **feed)
        if check and done.returncode:
            raise ClusterError(f"{argv} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def popen(self, argv, *, env=None, cwd=None, **options):
        """Starts a command inside and returns its subprocess.Popen; pipes unless told otherwise."""
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
        return InnerProcess(self.inside(argv, env, cwd), **options)

    def python(self, *arguments, **options):
        return self.run([self.venv / "bin/python", *arguments], **options)

    def driver(self, program, *arguments, env=None):
        """Starts a Ray driver program (a name in programs/ or a path) in the background."""
        path = PROGRAMS / program
        log = self.directory / f"driver-{len(self.drivers) + 1}.log"
        while log.exists():
            log = log.with_stem(log.stem + "-")
        with log.open("wb") as output:
            process = self.popen([self.venv / "bin/python", "-u", path, *arguments], env=env, stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=subprocess.STDOUT)
        self.drivers.append(Driver(process, log))
        return self.drivers[-1]

    def stop_drivers(self):
        """Ends all drivers, and waits until Ray has ended their workers that have a debugger open, paused or running."""
        stopped = [driver.stop() for driver in self.drivers]
        self.drivers.clear()
        if stopped and self.spec.dashboard:
            left = []

            def ended():
                left[:] = [w for w in self.workers("is_alive", "=", "True")
                           if (w.get("debugger_port") or 0) > 0 and self.lives(w)]
                return not left
            # Ray gives an actor 30 s to end by itself (RAY_actor_graceful_shutdown_timeout_ms).
            wait_for(ended, lambda: f"the stopped drivers' workers end: {left}", every=0.1)

    def runs(self, pid):
        """True if the process with this pid inside has not ended."""
        try:
            status = (self._proc / str(pid) / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return status.rpartition(")")[2].split()[0] not in "ZX"

    def kill(self, pid, sig=signal.SIGKILL):
        """Signals a process by its pid inside, which is the one that Ray tells."""
        self.run(["kill", f"-{int(sig)}", str(pid)], check=True)

    def raylet_pid(self, number):
        """The pid, inside, of this node's raylet; SIGTERM ends the node at once, and all know it."""
        return int(self.run(["pgrep", "-f", f"raylet/raylet .*--node_ip_address={self._node_ip(number)} "],
                            check=True).stdout)

    # --- sockets inside ---

    def connect(self, host, port):
        """A socket connected to host:port inside."""
        return self._socket("connect", host, port)

    def listen(self, host="127.0.0.1", port=0):
        """A socket that listens inside."""
        return self._socket("listen", host, port)

    def _socket(self, verb, host, port):
        evidence.use(self)
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(limit())
            agent.connect(str(self.directory / "ns.sock"))
            agent.sendall(f"{verb} {host} {port}\n".encode())
            word, descriptors, _, _ = socket.recv_fds(agent, 4096, 1)
        if not descriptors:
            raise ConnectionError(f"{verb} {host}:{port}: {word.decode()}")
        return socket.socket(fileno=descriptors[0])

    # --- what is left of it ---

    # Of Ray's logs, the most telling first.
    LOGS = "gcs_server", "raylet", "dashboard", "ray_client_server", "worker", "python-core-worker", "python-core-driver"

    def evidence_files(self, since):
        """For evidence.py: what was written since then by programs, and by Ray. No other files: keys are among them."""
        if not self.directory:
            return []
        paths = evidence.newer([*self.directory.glob("*.log"), *self.directory.glob("*.err")], since)
        for kind in self.LOGS:
            paths += evidence.newer(self.directory.glob(f"session_2*/logs/{kind}*"), since)
        return [(path.name, path) for path in paths]

    def secrets(self):
        kept = evidence.secrets_in(self.directory / "home") if self.directory else set()
        return kept | ({self.token} if self.token else set())

    def raydbg_processes(self):
        """The raydbgs that run inside, as pairs of a pid, as seen from outside, and a command line."""
        inside, found = [os.readlink(f"/proc/{pid}/ns/pid") for pid in children_of(self._namespace.pid)], []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/pid") in inside and program_of(pid).startswith("raydbg"):
                    argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    found.append((int(pid), b" ".join(argv[:2]).decode(errors="replace")))
        return found

    # --- what Ray says ---

    def http(self, path, headers=None, method="GET", body=None, address=DASHBOARD):
        """Status and body of a request to the dashboard, with the token if there is one."""
        if headers is None:
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection = http.client.HTTPConnection(*address, timeout=limit())
        connection.sock = self.connect(*address)
        connection.sock.settimeout(limit())
        with contextlib.closing(connection):
            # Older dashboards (2.44.1) answer 500 to a request without User-Agent.
            connection.request(method, path, body=body, headers={"User-Agent": "raydbg-tests", **headers})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def api(self, path):
        """The rows of a State API listing."""
        status, body = self.http(path + ("&" if "?" in path else "?") + "detail=1&limit=1000")
        if status != 200:
            raise ClusterError(f"{path}: {status} {body[:500]!r}")
        return json.loads(body)["data"]["result"]["result"]

    def workers(self, *where):
        """All workers, those that have ended included, or the ones with ("is_alive", "=", "True"), ("num_paused_threads",
        "!=", "0"). Ray's GCS (for 2.9.3, the dashboard) looks for these two itself: a list of hundreds of ended workers
        takes the dashboard 0.1 s of a core, as often as a test asks."""
        columns = "filter_keys", "filter_predicates", "filter_values"
        return self.api("/api/v0/workers?" + urllib.parse.urlencode(list(zip(columns, where))))

    def _with_paused_threads(self):
        return [row for row in self.workers("num_paused_threads", "!=", "0")
                if row.get("num_paused_threads") and self.lives(row)]

    def paused(self):
        """Rows of the live workers in which threads wait for a debugger: pid, ip, debugger_port, num_paused_threads."""
        return self._counted(self._with_paused_threads())

    @staticmethod
    def _counted(rows):
        return [row for row in rows if 0 < row["num_paused_threads"] < 2**31]

    def lives(self, worker):
        """Ray <= 2.60 may list an ended worker as alive for ever: the GCS reads the row, adds to num_paused_threads and writes
        the row back, and the worker's end may be written in between."""
        return worker["is_alive"] and self.runs(worker["pid"])

    def _paused_by_log(self, rows):
        """The same, from the workers' logs: of several threads that pause at once Ray counts fewer, but not none. A worker
        that it counts none of has logged it already, and Ray is told of it a moment later."""
        by_log = [{**row, "num_paused_threads": self.waiting_by_log(row["pid"])} for row in rows]
        return [row for row in by_log if row["num_paused_threads"] > 0]

    def waiting_by_log(self, pid):
        """How many threads of a worker wait for a debugger, as ray.util.debugpy has logged it there."""
        logs = self.directory.glob(f"session_2*/logs/worker-*-{pid}.err")
        text = "".join(log.read_text(errors="replace") for log in logs)
        return text.count("Waiting for debugger to attach") - text.count("Debugger client is connected")

    def wait_paused(self, threads=1, timeout=None):
        """The paused workers, once at least that many threads are paused in the cluster."""
        def enough():
            rows = self._with_paused_threads()
            found = (count(rows) for count in (self._counted, self._paused_by_log))
            return next((rows for rows in found if sum(row["num_paused_threads"] for row in rows) >= threads), None)
        return wait_for(enough, lambda: f"{threads} paused threads; the drivers said:\n{self.driver_output()}", most=timeout)

    def driver_output(self):
        return "\n".join(driver.output()[-4000:] for driver in self.drivers)

    # --- debuggers ---

    def direct(self, worker, nodelay=True, **options):
        """A DapClient on the worker's own debugpy adapter, for a row of `paused`."""
        return DapClient.over_socket(self.connect(worker["ip"], worker["debugger_port"]), nodelay=nodelay,
                                     **{"name": "direct", "strict": False, **options})

    def raydbg_argv(self, *arguments):
        if not self.raydbg_path.exists():
            raise ClusterError(f"{self.raydbg_path} is not built: run tools/build")
        return [self.raydbg_path, *arguments]

    def raydbg(self, *arguments, env=None, **options):
        """Runs raydbg inside to its end, with RAY_ADDRESS set to this cluster's (override or unset it by `env`). It
        starts no relay by itself, unless RAYDBG_START_RELAY is unset."""
        return self.run(self.raydbg_argv(*arguments), env=self._raydbg_env(env), **options)

    def _raydbg_env(self, env):
        return {"RAY_ADDRESS": self.head(), "RAYDBG_START_RELAY": "0", **(env or {})}

    def raydbg_popen(self, *arguments, env=None, **options):
        return self.popen(self.raydbg_argv(*arguments), env=self._raydbg_env(env), **options)

    @contextlib.contextmanager
    def raydbg_dap(self, *arguments, env=None, **options):
        """A DapClient over the stdio of `raydbg dap`; its stderr is kept in client.stderr (a path)."""
        stderr = Path(tempfile.mkstemp(prefix="dap-", suffix=".err", dir=self.directory)[1])
        with stderr.open("wb") as errors:
            process = self.raydbg_popen("dap", *arguments, env=env, stderr=errors)
        client = DapClient.over_process(process, **{"name": "raydbg dap", **options})
        client.stderr = stderr
        try:
            yield client
        except BaseException:
            client.close(check=False)
            raise
        client.close()
        sanitizers.check(process.returncode, stderr.read_text(errors="replace"))
