"""The agent in a Ray worker or driver: it dials the relay, sleeps on the socket, and starts pydevd when the relay says so.

It runs in a process that belongs to the user. Nothing here raises into the user's code, start() blocks no longer than
twice WORD_S and the relay's `hold` together (and what the machine kept the CPU from it, see STARVED_MOST_S), and a sleeping
agent is one thread that waits for its socket. Only the standard library is imported until the relay says `debug`; debugpy is
then imported from the worker's environment.

Its code is sent by value (relay/worker_agent/run_hook.py) and executed, with that of agent_debugger.py, agent_threads.py,
agent_tls.py and agent_stops.py behind it, as the module raydbg_agent. Two empty lines stand between definitions, and nowhere
else. Its protocol, and what the two ends prove to each other, is in docs/run.md.
"""

import binascii
import contextlib
import hashlib
import hmac
import importlib
import json
import os
import queue
import random
import re
import socket
import sys
import threading
import time
from itertools import chain, count

WORD_S = 1.0  # for each of the relay's first words: its proof, and a verb
HOLD_MOST_S = 10.0  # for pydevd to be configured, whatever the relay asks for
STARVED_MOST_S = 50.0  # and on top of it: what a busy machine kept the CPU from this process's debugger
AGAIN_S = (5.0, 8.0)  # between two dials: never sooner, and not all workers at one moment
ANSWER_S = 20.0  # for the relay's answer to a question of a thread that waits for it
LINE_MOST = 1 << 20


def prove(key, who, exchange, *request):
    """As proof_of_relay() and proof_of_client() in relay/access/proof.c."""
    text = "raydbg %s\n%s\n%s\n%s\n%s\n%s %s\n" % (who, *exchange, *(request or ("", "")))
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def connect_to(host, port, most_s=None):
    """The socket, whose calls take most_s, else WORD_S, at most. For a str getaddrinfo() imports encodings.idna, 0.4 MiB in
    each process: it gets the bytes, where that is the same."""
    return socket.create_connection((host.encode() if host.isascii() else host, port), timeout=most_s or WORD_S)


def endpoint_of(host, port):
    """The relay proves that it listens here, at this address: see proof_endpoint() there."""
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        boot = file.readline().strip()
    return "here %s %s %s" % (boot, os.readlink("/proc/self/ns/net"), "%s:%d" % (host, port))


def lines_of(sock):
    """Yields the messages that come, until the relay closes."""
    rest = b""
    while True:
        line, end, after = rest.partition(b"\n")
        if end:
            rest = after
            yield json.loads(line)
            continue
        if len(rest) > LINE_MOST:
            raise ValueError("the line is too long")
        more = sock.recv(65536)
        if not more:
            return
        rest += more


class Agent:
    """The connection to the relay, on a thread of its own."""

    def __init__(self, config, hello):
        self.config = config
        self.hello = hello
        self.settled = threading.Event()  # the process need not be held any longer
        self.held_until = time.monotonic() + WORD_S
        self.dialled = None  # the connection, which may not be proven yet
        self.sock = None  # the same, once the relay has proven itself and the hello is sent
        self.reached = False  # something listens there
        self.late = False  # and has not said a word in time
        self.lock = threading.RLock()  # of sends; a handler of SIGINT may send in the middle of one
        self.questions = {}  # by number: the queue that gets the answer
        self.numbers = count(1)
        self.deaf = False  # the relay did not answer the last question in time
        self.met = False  # a relay was there, and it was not said that it has gone
        self.wanted = int(bool(config.get("pause_all") and config["role"] == "worker"))  # so many need pydevd, with or without a breakpoint
        self.debuggable = None  # True: pydevd stops the threads here; False: it cannot be started; None: it may come
        self.connected = 0  # how often pydevd was configured
        self.failed = 0  # and how often it could not be
        self.failures = False  # an editor wants what fails to stop
        self.renewed = threading.Event()  # config is another run's

    def start(self):
        """Returns when the relay has no breakpoints for this process, when they are set, or when time is up."""
        self.begin()
        self.hold()

    def begin(self):
        start_thread("raydbg-agent", self.live)

    def hold(self):
        while not self.settled.wait(max(0.0, self.left_s())) and self.left_s() > 0:
            pass
        if self.late or (not self.settled.is_set() and self.reached):  # two clocks: the agent's thread may give up first
            print("raydbg: this process begins without its breakpoints, which the relay has not set in time",
                  file=sys.stderr, flush=True)

    def left_s(self):
        left = self.held_until - time.monotonic()
        return left if left > 0 else left + min(starved_s(), STARVED_MOST_S)

    def live(self):
        silence_tracing()
        while True:
            try:
                debugger.tidy()
                self.session()
            except Exception as error:  # the relay is not there, is not the right one, or has ended
                self.problem = error
                self.late = self.reached and isinstance(error, socket.timeout)
            self.close()
            if not self.renewed.is_set():
                self.settled.set()
                self.renewed.wait(random.uniform(*AGAIN_S))
            self.renewed.clear()

    def renew(self, config):
        """Another run begins in this process, as by a second raydbg_bridge.init(): dials its relay, and holds the process."""
        self.config = config
        debugger.original = config.get("root")
        self.held_until = time.monotonic() + WORD_S
        self.late = self.met = False
        self.renewed.set()
        self.settled.clear()
        dialled = self.dialled
        if dialled is not None:
            with contextlib.suppress(OSError):
                dialled.shutdown(socket.SHUT_RDWR)
        self.hold()

    def close(self):
        sock, self.dialled, self.sock, self.reached = self.dialled, None, None, False
        if sock is not None:
            sock.close()
        for waiting in list(self.questions.values()):
            waiting.put(None)

    def session(self):
        self.dialled, endpoint = self.dial()
        sock = self.dialled
        nonce = binascii.hexlify(os.urandom(32)).decode()
        sock.sendall(("raydbg agent 1 %s %s\n" % (self.config["key_id"], nonce)).encode())
        messages = lines_of(sock)
        challenge = next(messages)
        exchange = challenge["relay"], endpoint, nonce, challenge["nonce"]
        if not hmac.compare_digest(prove(self.config["key"], "relay", exchange), challenge["proof"]):
            raise ConnectionError("this is not the relay that the key is for")
        self.held_until = max(self.held_until, time.monotonic() + WORD_S)
        proof = prove(self.config["key"], "client", exchange, "AGENT", self.config["key_id"])
        placed.clear()
        self.deaf = self.failures = False
        self.debuggable = None
        with self.lock:
            self.sock = sock  # the other threads' lines come behind the hello
            self.send(proof=proof, hello=dict(self.hello, debugging=debugger.active, wanted=self.wanted > 0))
        first = next(messages)
        self.met = True
        sock.settimeout(None)
        for message in chain([first], messages):
            self.obey(message)

    def dial(self):
        """The connection, and the endpoint that the relay proves to be at: a process that forwards the bytes cannot."""
        fingerprint, address = self.config.get("fingerprint"), (self.config["host"], self.config["port"])
        sock = connect_to(*address)
        self.reached = True
        if not fingerprint:
            return sock, endpoint_of(*address)
        sock = secure(sock, fingerprint, VANISHED_S)
        sock.settimeout(WORD_S)
        return sock, endpoint_of_tls(sock, fingerprint)

    def send(self, **message):
        with self.lock:
            if self.sock is not None:
                self.sock.sendall(json.dumps(message).encode() + b"\n")

    def ask(self, **question):
        """True if the relay says yes; False also if it is gone, or does not answer in time. Says so, except of the question of
        want_debugger(), whose callers do."""
        answer = {} if self.deaf else self.answer_to(question)
        if answer is None and question["event"] != "wanted":
            self.say_gone()
        return bool(answer) and answer.get("yes", False)

    def answer_to(self, question):
        """None if the relay is gone."""
        if self.sock is None:
            return None
        number = next(self.numbers)
        waiting = self.questions[number] = queue.SimpleQueue()
        try:
            self.send(question=number, **question)
            return waiting.get(timeout=ANSWER_S) if self.sock is not None else None
        except queue.Empty:
            self.deaf = True
            print("raydbg: the relay has not answered for %.0f s: what should stop here goes on, until the relay says something again"
                  % ANSWER_S, file=sys.stderr, flush=True)
            return {}
        except OSError as error:
            self.deaf, self.problem = True, error
            return None
        finally:
            del self.questions[number]

    def say_gone(self):
        """Once for each connection that has ended."""
        with self.lock:
            met, self.met = self.met, False
        if met:
            print("raydbg: the relay has gone: what should stop here goes on, until there is a relay again",
                  file=sys.stderr, flush=True)

    def obey(self, message):
        verb = message.get("verb")
        self.deaf = False
        if verb == "sleep":
            self.debuggable = None
            debugger.disconnect()
            self.send(event="asleep")
            self.settled.set()
        elif verb == "debug":
            self.held_until = time.monotonic() + min(float(message.get("hold", 0)), HOLD_MOST_S)
            self.debuggable = None
            start_thread("raydbg-connect", self.debug, message["token"])
        elif verb == "stay":
            self.debuggable = True
            self.settled.set()
        elif verb == "pause":
            with told_lock:
                self.wanted += 1
            start_thread("raydbg-pause", pause_tasks)
        elif verb == "failures":
            self.failures = bool(message.get("stop"))
            if self.failures:
                watch_failures()
        elif verb == "answer" and message["question"] in self.questions:
            self.questions[message["question"]].put(message)

    def debug(self, token):
        silence_tracing()
        try:
            debugger.disconnect()  # what a relay that died has left
            if debugger.connect(self.config, token):
                self.tell(event="debugging")
                self.debuggable = True
                self.connected += 1
        except Exception as error:
            self.debuggable = False
            self.failed += 1
            self.tell(event="failed", why="%s: %s" % (type(error).__name__, error))
        finally:
            self.settled.set()

    def tell(self, **event):
        """Tells the relay, if it is there."""
        try:
            self.send(**event)
        except Exception as error:
            self.problem = error


# --- what the relay asks of a stopped thread ---


def describe():
    """The task on this thread, as hexadecimal JSON: a result that no repr() can change. Of a task that a step has entered, the
    step's uuid, too."""
    facts = dict(agent.hello)
    try:
        facts.update(task_facts())
    except Exception as error:
        facts["problem"] = str(error)
    return binascii.hexlify(json.dumps(facts).encode()).decode()


def task_facts():
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized() or agent.hello.get("forked"):  # Ray's core has no threads in a forked child
        return {}
    worker = ray._private.worker.global_worker
    context = ray.get_runtime_context()
    facts = {"job_id": worker.current_job_id.hex(), "rank": os.environ.get("RANK", "")}
    by = getattr(called, "by", None)
    if isinstance(by, bytes):
        facts["breakpoint"] = by.decode()
    if agent.hello["role"] == "driver":
        return dict(facts, node_id=context.get_node_id(), worker_id=worker.worker_id.hex())
    facts["task_id"] = worker.current_task_id.hex()
    facts["task_name"] = current_task_name(worker)
    if not worker.actor_id.is_nil():
        facts["actor_id"] = worker.actor_id.hex()
        facts["actor_class"] = type(worker.actors.get(worker.actor_id)).__name__
        facts["actor_name"] = context.get_actor_name() or ""
    return facts


def current_task_name(worker):
    """Ray 2.9.3 has it in the process's title only."""
    for name in ("get_current_task_name", "get_current_task_function_name"):
        ask = getattr(worker.core_worker, name, None)
        if ask is not None and ask():
            return ask()
    with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
        title = file.read().split("\0")[0]
    return title[len("ray::"):].replace("()", "") if title.startswith("ray::") else ""


# --- the start ---

agent = None
forking = threading.local()  # task_name: of the task that forks on this thread, or ""


def facts_of_worker():
    ray = sys.modules["ray"]
    worker = ray._private.worker.global_worker
    return {"role": "worker", "worker_id": worker.worker_id.hex() if hasattr(worker.worker_id, "hex") else "",
            "node_id": ray.get_runtime_context().get_node_id(), "job_id": worker.current_job_id.hex(),
            "node_ip": worker.node_ip_address, "cluster": worker.gcs_client.address}


def facts_of_driver():
    return {"role": "driver", "program": find_program()}


def find_program():
    """Before a module of -m runs, its name is only in the command line."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    with contextlib.suppress(OSError, IndexError, StopIteration):
        if name == "-m":
            with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().split("\0")
            name = next(words[at + 1] for at, word in enumerate(words) if re.fullmatch("-[a-zA-Z]*m", word))
    return name


def find_copy():
    """Ray's copy of a working_dir, if this process runs in one. A worker without a task ends if it asks Ray for its
    runtime_env, so the path must tell."""
    directory = os.getcwd()
    return directory if "/runtime_resources/working_dir_files/" in directory else None


def before_fork():
    """The child cannot ask Ray which task has forked it. No other thread is in OpenSSL meanwhile."""
    forking.locked = openssl.acquire(timeout=FORK_MOST_S)
    forking.task_name = ""
    with contextlib.suppress(Exception):
        if agent.hello["role"] == "worker" and not agent.hello.get("forked"):
            forking.task_name = current_task_name(sys.modules["ray"]._private.worker.global_worker)


def end_fork():
    """In the parent, and in the child."""
    if forking.locked:
        openssl.release()


def after_fork():
    """A forked child has none of its parent's threads: neither agent nor debugger. It is a process of its own, with an agent
    of its own; one that multiprocessing has made is held for its breakpoints, like a process that begins."""
    global agent
    try:
        end_fork()
        before = agent
        hello = dict(before.hello, pid=os.getpid(), forked=True)
        if hello["role"] == "worker":
            name = getattr(forking, "task_name", "") or hello.get("task_name")
            hello["task_name"] = name or "child of pid %d" % before.hello["pid"]
        agent = Agent(before.config, hello)
        agent.wanted = 0  # no task begins here
        before.close()
        debugger.forget()
        starts.forget()
        renew_lock()
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.register_after_fork(agent, Agent.hold)
        agent.begin()
    except Exception as error:
        agent.problem = error


def start(config):
    """Starts the agent of this process, once; whatever happens, the user's program goes on."""
    global agent
    try:
        if agent is not None and debugger.active:
            share_with_ray()  # from ray.init(): Ray is imported now
        if agent is not None and config["role"] == "driver" and agent.config["key_id"] != config["key_id"]:
            agent.renew(config)
        if agent is not None or not sys.platform.startswith("linux"):
            return
        hello = {"pid": os.getpid(), "python": "%d.%d.%d" % sys.version_info[:3], "cwd": os.getcwd()}
        hello.update(facts_of_driver() if config["role"] == "driver" else facts_of_worker())
        agent = Agent(config, hello)
        atexit.register(starts.end)
        debugger.original, debugger.copy = config.get("root"), find_copy()
        if config.get("fingerprint"):
            importlib.import_module("ssl")  # here: the agent's thread would wait for the import that this one may be in
        if config["role"] == "worker":
            with contextlib.suppress(AttributeError):  # Ray's inside has changed: only some threads are not traced then
                trace_pool_threads()
        watch_calls(config)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=before_fork, after_in_parent=end_fork, after_in_child=after_fork)
        if not config.get("only_forks"):  # multiprocessing's fork server: a process with threads must not fork
            agent.start()
    except Exception as error:
        if os.environ.get("RAYDBG_LOG"):
            print("raydbg: this process cannot be debugged:", error, file=sys.stderr)
