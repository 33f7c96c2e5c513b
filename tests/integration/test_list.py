"""`raydbg list` on real clusters: what it shows is what Ray's own State API says, whichever way it asks."""

import contextlib
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest
from cluster import ADDRESS, PROGRAMS, Spec, line_of, wait_for
from conftest import raydbg_path
from waits import limit

PAUSES = PROGRAMS / "pauses.py"
DASHBOARD = "http://127.0.0.1:8265"
WAYS = {"gcs": ADDRESS, "dashboard": DASHBOARD}
FIELDS = ("task_id task_name actor_id actor_class actor_name job_id node_id node_ip pid worker_id debugger endpoint "
          "state paused_threads ambiguous candidates location since since_source reason clients driver held_since "
          "stopped_at client_left run").split()
# Exit codes.
USAGE, NOT_FOUND, DENIED, UNREACHABLE, FAILED = 2, 3, 4, 5, 1


def listing(cluster, *arguments, **options):
    """The rows that `raydbg list` gives."""
    done = cluster.raydbg("list", "--format", "json", *arguments, **options)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    for row in rows:
        assert list(row) == FIELDS
    return rows


def listing_of(cluster, pids, *arguments):
    """The rows of these workers. Ray may list one of an earlier test for ever: docs/facts/ray.md#0.5."""
    return [row for row in listing(cluster, *arguments) if row["pid"] in pids]


def refused(done, code, *words):
    """That it ended with this code, nothing on stdout, and one error on stderr that has all these words."""
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("raydbg: ") and len(done.stderr.splitlines()) <= 4, done.stderr
    for word in words:
        assert word in done.stderr
    return done.stderr


def names(rows):
    return sorted(row["task_name"] for row in rows)


# --- what Ray says ---

def running_tasks(cluster):
    filters = "filter_keys=state&filter_predicates=%3D&filter_values=RUNNING"
    return cluster.api(f"/api/v0/tasks?{filters}")


def expected_rows(cluster):
    """The rows as they follow from Ray's State API, by pid, for the workers in which threads wait."""
    tasks = [t for t in running_tasks(cluster) if t["type"] != "DRIVER_TASK"]
    actors = {a["actor_id"]: a for a in cluster.api("/api/v0/actors")}
    rows = {}
    for worker in cluster.paused():
        mine = [t for t in tasks if t["worker_id"] == worker["worker_id"]]
        actor = actors.get(mine[0]["actor_id"], {}) if mine else {}
        rows[worker["pid"]] = {
            "task_id": mine[0]["task_id"] if len(mine) == 1 else None,
            "task_name": mine[0]["name"] if mine else None,
            "actor_id": mine[0]["actor_id"] if mine else None,
            "actor_class": actor.get("class_name"),
            "actor_name": actor.get("name") or None,
            "job_id": mine[0]["job_id"] if mine else None,
            "node_id": worker["node_id"],
            "node_ip": worker["ip"],
            "pid": worker["pid"],
            "worker_id": worker["worker_id"],
            "debugger": "debugpy",
            "endpoint": f"{worker['ip']}:{worker['debugger_port']}",
            "state": "waiting",
            "paused_threads": worker["num_paused_threads"],
            "ambiguous": len(mine) > 1,
            "candidates": sorted(t["task_id"] for t in mine) if len(mine) > 1 else [],
            "location": None,
            "since": min((t["start_time_ms"] for t in mine), default=0) / 1000 or None,
            "since_source": "task_start" if mine else None,
            "reason": None, "clients": None, "driver": None, "held_since": None,  # no relay
            "stopped_at": None, "client_left": None, "run": None,
        }
    return rows


def comparable(rows):
    """The rows by pid, without what has no order of its own: candidates, and which of them comes first."""
    return {row["pid"]: {**row, "candidates": sorted(row["candidates"]),
                         "task_id": None if row["ambiguous"] else row["task_id"]} for row in rows}


def assert_as_ray_says(cluster, *arguments, **options):
    # A task's RUNNING event may come up to a second after its pause.
    def same():
        found, wanted = comparable(listing(cluster, *arguments, **options)), expected_rows(cluster)
        last.update(found=found, wanted=wanted)
        return found == wanted
    last = {}
    with contextlib.suppress(Exception):
        wait_for(same, "the rows are those of the State API", every=0.3)
    assert last["found"] == last["wanted"]
    return last["found"]


# --- a cluster in which much is paused: nothing here changes it ---

@pytest.fixture(scope="class")
def busy(pool):
    """Every kind of pause on two nodes, in two jobs."""
    cluster = pool.get(Spec())
    try:
        cluster.driver("pauses.py", "square", "on_b", "actor", "threaded", "async", "boom")
        cluster.driver("pauses.py", "walk")
        cluster.wait_paused(threads=9, timeout=limit(90))
        wait_for(lambda: len(running_tasks(cluster)) >= 11, "all RUNNING events")
        yield cluster
    finally:
        try:
            cluster.stop_drivers()
        except BaseException:
            pool.discard(cluster)
            raise


class TestBusy:
    @pytest.mark.parametrize("way", WAYS)
    def test_every_pause_is_listed_as_ray_tells_it(self, busy, way):
        rows = assert_as_ray_says(busy, "--address", WAYS[way])
        assert names(rows.values()) == sorted(
            ["square", "on_b", "Trainer.step", "Pool.work", "Async.work", "boom", "walk"])
        by_name = {row["task_name"]: row for row in rows.values()}
        assert by_name["on_b"]["node_ip"] == "127.0.0.2"
        assert {by_name[name]["node_ip"] for name in ("square", "boom", "walk")} <= {"127.0.0.1", "127.0.0.2"}
        assert (by_name["Trainer.step"]["actor_class"], by_name["Trainer.step"]["actor_name"]) == ("Trainer", "bob")
        assert by_name["square"]["actor_id"] is by_name["square"]["actor_class"] is None
        assert len({row["job_id"] for row in rows.values()}) == 2
        for row in rows.values():
            assert 0 <= time.time() - row["since"] < 300

    @pytest.mark.parametrize("way", WAYS)
    def test_what_is_ambiguous_is_marked(self, busy, way):
        rows = {row["task_name"]: row for row in listing(busy, "--address", WAYS[way])}
        for name, threads in (("Pool.work", 3), ("Async.work", 1)):
            assert rows[name]["ambiguous"] and len(rows[name]["candidates"]) == 3
            assert rows[name]["task_id"] in rows[name]["candidates"]
            assert rows[name]["paused_threads"] == threads
        assert not any(row["ambiguous"] or row["candidates"] for row in rows.values() if row["actor_name"] not in
                       ("pool", "async"))

    def test_both_ways_give_the_same_rows(self, busy):
        by_environment = listing(busy, env={"RAY_ADDRESS": None, "RAY_API_SERVER_ADDRESS": DASHBOARD})
        assert comparable(listing(busy)) == comparable(by_environment)
        assert [row["pid"] for row in listing(busy)] == [row["pid"] for row in by_environment]

    @pytest.mark.parametrize("way", WAYS)
    def test_the_table(self, busy, way):
        done = busy.raydbg("list", "--address", WAYS[way])
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= 100, done.stdout
        assert lines[0].split() == "TASK NAME JOB NODE PID DEBUGGER STATE AGE LOCATION".split()
        rows = listing(busy, "--address", WAYS[way])
        assert len(lines) == len(rows) + 3
        for line, row in zip(lines[1:], rows):
            for cell in (row["task_name"], row["node_ip"], str(row["pid"]), "debugpy", "waiting"):
                assert cell in line, done.stdout
            if not row["ambiguous"]:
                short = line.split()[0]
                assert [r["pid"] for r in rows if r["task_id"].startswith(short)] == [row["pid"]]
        assert "Trainer.step (bob)" in done.stdout and "Pool.work (pool) 3 of 3" in done.stdout
        assert "Async.work (async) 1 of 3" in done.stdout
        assert f"7 on 2 nodes of cluster {WAYS[way]} (Ray 2.60.0)" in lines[-2]
        assert re.fullmatch(r"attach: raydbg attach [0-9a-f]{6,}", lines[-1])

    def test_yaml_is_the_same(self, busy):
        text = busy.raydbg("list", "--format", "yaml", check=True).stdout
        code = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"
        parsed = json.loads(busy.python("-c", code, input=text, check=True).stdout)
        assert comparable(parsed) == comparable(listing(busy))
        assert [list(row) for row in parsed] == [FIELDS] * 7

    def test_filters(self, busy):
        rows = listing(busy)
        on_b = next(row for row in rows if row["task_name"] == "on_b")
        walk = next(row for row in rows if row["task_name"] == "walk")
        trainer = next(row for row in rows if row["actor_name"] == "bob")
        second = names(row for row in rows if row["node_ip"] == "127.0.0.2")
        assert names(listing(busy, "--node", "127.0.0.2")) == second
        assert names(listing(busy, "--node", on_b["node_id"])) == second
        assert names(listing(busy, "--node", on_b["node_id"][:8])) == second
        assert names(listing(busy, "--node", socket.gethostname())) == names(rows)
        for actor in ("Trainer", "bob", trainer["actor_id"], trainer["actor_id"][:10]):
            assert names(listing(busy, "--actor", actor)) == ["Trainer.step"]
        for job in (walk["job_id"], re.sub("(00)+$", "", walk["job_id"])):
            assert names(listing(busy, "--job", job)) == ["walk"]
        assert len(listing(busy, "--state", "waiting")) == 7
        assert listing(busy, "--state", "attached") == listing(busy, "--state", "idle") == []
        assert names(listing(busy, "--node", "127.0.0.2", "--actor", "nobody")) == []
        assert names(listing(busy, "--address", DASHBOARD, "--actor", "Pool")) == ["Pool.work"]

    def test_filters_that_fit_nothing_say_so(self, busy):
        done = busy.raydbg("list", "--actor", "nobody")
        assert (done.returncode, done.stdout) == (0, "")
        assert "7 workers with an open debugger did not fit the filters" in done.stderr

    def test_sorting(self, busy):
        keys = {"name": lambda r: r["task_name"], "pid": lambda r: r["pid"], "age": lambda r: r["since"],
                "state": lambda r: r["state"], "job": lambda r: r["job_id"],
                "node": lambda r: (r["node_ip"], r["pid"])}
        for key, value in keys.items():
            values = [value(row) for row in listing(busy, "--sort", key)]
            assert values == sorted(values), key
        assert [r["pid"] for r in listing(busy)] == [r["pid"] for r in listing(busy, "--sort", "node")]

    @pytest.mark.parametrize("wrong", ["--sort=size", "--state=asleep", "--format=xml", "--nonsense", "square"])
    def test_wrong_options(self, busy, wrong):
        refused(busy.raydbg("list", wrong), USAGE)

    # --- addresses ---

    def test_the_order_of_addresses(self, busy):
        dead = "127.0.0.1:9"
        wrong = {"RAY_ADDRESS": dead, "RAY_API_SERVER_ADDRESS": f"http://{dead}"}
        assert len(listing(busy, "--address", ADDRESS, env=wrong)) == 7
        assert len(listing(busy, env={**wrong, "RAY_ADDRESS": ADDRESS})) == 7
        assert len(listing(busy, env={**wrong, "RAY_ADDRESS": DASHBOARD})) == 7
        refused(busy.raydbg("list", env={**wrong, "RAY_API_SERVER_ADDRESS": DASHBOARD}), UNREACHABLE, dead)
        refused(busy.raydbg("list", "--address", dead), UNREACHABLE, dead)

    def test_auto_and_the_file_of_ray_start(self, busy):
        for way in ({"RAY_ADDRESS": "auto"}, {"RAY_ADDRESS": None}, {"RAY_ADDRESS": ""}):
            assert len(listing(busy, env=way)) == 7
        assert len(listing(busy, "--address", "auto")) == 7
        directory = busy.directory / "tmp"
        (directory / "ray").mkdir(parents=True, exist_ok=True)
        current = directory / "ray/ray_current_cluster"
        here = {"RAY_ADDRESS": None, "RAY_TMPDIR": str(directory)}
        current.write_text("127.0.0.1:9")
        refused(busy.raydbg("list", env=here), UNREACHABLE, "127.0.0.1:9")
        refused(busy.raydbg("list", "--address", "auto", env=here), UNREACHABLE, "127.0.0.1:9")
        assert len(listing(busy, env={**here, "RAY_ADDRESS": ADDRESS})) == 7
        for text in (ADDRESS, f"{ADDRESS}\n"):
            current.write_text(text)
            assert len(listing(busy, env=here)) == 7
            assert len(listing(busy, env={**here, "RAY_TMPDIR": None, "TMPDIR": str(directory)})) == 7

    @pytest.mark.parametrize("options", [{"address": "ray://127.0.0.1:10001"}, {"RAY_ADDRESS": "ray://127.0.0.1:10001"}])
    def test_ray_client_addresses_are_refused(self, busy, options):
        address = options.get("address")
        env = {"RAY_ADDRESS": options.get("RAY_ADDRESS")}
        done = busy.raydbg("list", *(["--address", address] if address else []), env=env)
        refused(done, USAGE, "ray://127.0.0.1:10001", "Ray Client", "HOST:6379", "http://HOST:8265")

    @pytest.mark.parametrize("address", [DASHBOARD + "/", DASHBOARD + "/#/overview", "http://localhost:8265"])
    def test_a_dashboard_as_a_browser_has_it(self, busy, address):
        assert len(listing(busy, "--address", address)) == 7

    def test_ports_of_something_else(self, busy):
        refused(busy.raydbg("list", "--address", "127.0.0.1:8265"), UNREACHABLE, "127.0.0.1:8265", "http://")
        refused(busy.raydbg("list", "--address", "http://127.0.0.1:6379"), UNREACHABLE, "http://127.0.0.1:6379")
        debugpy = listing(busy)[0]["endpoint"]
        refused(busy.raydbg("list", "--address", debugpy), UNREACHABLE, debugpy)


# --- what changes ---

def test_nothing_paused(cluster):
    for way, address in WAYS.items():
        done = cluster.raydbg("list", "--format", "json", "--address", address)
        assert (done.returncode, done.stdout) == (0, "[]\n")
        assert f"No task is paused on {address} (Ray 2.60.0)" in done.stderr and "debugpy" in done.stderr
    for arguments, stdout in (([], ""), (["--format", "yaml"], "[]\n")):
        done = cluster.raydbg("list", *arguments)
        assert (done.returncode, done.stdout) == (0, stdout)
        assert "RAY_DEBUG" in done.stderr


class Watch:
    """`raydbg list --watch` and the changes that it has told."""

    def __init__(self, cluster, *arguments):
        self.process = cluster.raydbg_popen("list", "--watch", *arguments, stderr=subprocess.PIPE)
        self.changes = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.changes.append(json.loads(line))

    def wait(self, events, name, timeout=None):
        def told():
            return next((c["pause"] for c in self.changes if c["event"] in events and c["pause"]["task_name"] == name), None)
        return wait_for(told, lambda: f"{events} {name} in {self.changes}", every=0.01, most=timeout)

    def interrupt(self, sig=signal.SIGINT):
        """Signals it; returns the exit code and what it said on stderr."""
        self.process.send_signal(sig)
        code = self.process.wait(limit())
        self.reader.join(limit())
        return code, self.process.stderr.read().decode()


def test_states_of_one_pause_and_watching_them(cluster):
    """waiting, attached while a client is, idle when the task has ended; --watch tells each."""
    gcs, dashboard = Watch(cluster), Watch(cluster, "--address", DASHBOARD)
    cluster.driver("pauses.py", "square", "on_b")
    cluster.wait_paused(threads=2)
    for watch in (gcs, dashboard):
        # A pause shows before its name does, which the worker tells about a second later.
        square, on_b = (watch.wait(("added", "changed"), name) for name in ("square", "on_b"))
        assert (square["debugger"], on_b["node_ip"]) == ("debugpy", "127.0.0.2")

    with cluster.raydbg_dap() as client:
        client.initialize()
        client.attach({"task": "square"})
        stop = client.stopped()
        for address in WAYS.values():
            rows = {row["task_name"]: row for row in listing(cluster, "--address", address)}
            assert (rows["square"]["state"], rows["square"]["paused_threads"]) == ("attached", 0)
            assert rows["on_b"]["state"] == "waiting"
            assert names(listing(cluster, "--state", "attached", "--address", address)) == ["square"]
        for watch in (gcs, dashboard):
            wait_for(lambda: any(c["event"] == "changed" and c["pause"]["state"] == "attached" and
                                 c["pause"]["task_name"] == "square" for c in watch.changes),
                     lambda: f"changed in {watch.changes}")
        client.resume(stop["threadId"])
        client.disconnect()

    for watch in (gcs, dashboard):
        watch.wait(("removed",), "square")
        assert not [c for c in watch.changes if c["event"] == "removed" and c["pause"]["task_name"] == "on_b"]
        assert watch.interrupt() == (0, "")
    pids = square["pid"], on_b["pid"]
    for address in WAYS.values():
        assert names(listing(cluster, "--address", address)) == ["on_b"]
        everything = {row["state"]: row for row in listing_of(cluster, pids, "--all", "--address", address)}
        assert {state: row["pid"] for state, row in everything.items()} == {"waiting": on_b["pid"], "idle": square["pid"]}
        assert everything["idle"]["task_id"] is everything["idle"]["task_name"] is None
        idle = listing_of(cluster, pids, "--state", "idle", "--address", address)
        assert [row["state"] for row in idle] == ["idle"]


def test_watch_tells_each_new_pause(cluster):
    program = cluster.popen([cluster.venv / "bin/python", PROGRAMS / "watch_latency.py", cluster.raydbg_path, 5])
    with program:
        assert program.stdout.readline() == b"READY\n"
        cluster.driver("pauses.py", "square", "on_b", "actor", "threaded", "async")
        latencies = json.loads(program.communicate(timeout=limit())[0])
    print(f"told after {sorted(latencies.values())} s")
    assert len(latencies) == 5


def test_watch_ends_cleanly(cluster):
    for sig in (signal.SIGINT, signal.SIGTERM):
        watch = Watch(cluster)
        watch.process.wait_catches(sig)
        assert watch.interrupt(sig) == (0, "")
        assert watch.changes == []
    done = cluster.raydbg("list", "--watch", "--address", "127.0.0.1:9")
    refused(done, UNREACHABLE, "127.0.0.1:9")


def test_a_worker_killed_while_paused_disappears(cluster):
    cluster.driver("pauses.py", "actor", "square")
    cluster.wait_paused(threads=2)
    watch = Watch(cluster)
    row = watch.wait(("added", "changed"), "Trainer.step")
    cluster.kill(row["pid"])
    watch.wait(("removed",), "Trainer.step")
    assert watch.interrupt()[0] == 0
    for address in WAYS.values():
        [square] = listing(cluster, "--address", address)
        assert square["task_name"] == "square"
        pids = row["pid"], square["pid"]
        # Ray tells of the end of the worker after that of its task: until then it is idle.
        wait_for(lambda: [row["task_name"] for row in listing_of(cluster, pids, "--all", "--address", address)] == ["square"],
                 "the killed worker is not listed", every=0.3)


def test_pauses_in_pdb(legacy_cluster):
    cluster = legacy_cluster
    started = time.time()
    driver = cluster.driver("pauses.py", "square", "actor")
    wait_for(lambda: len(listing(cluster)) == 2, lambda: f"two pauses in pdb:\n{driver.output()}", every=0.3)
    # Workers report their tasks once a second.
    wait_for(lambda: {"square", "Trainer.step"} <= {task["name"] for task in running_tasks(cluster)},
             "both RUNNING events")

    def named():
        """Both, once Ray itself knows what runs: workers report their tasks about once a second."""
        by_name = ({row["task_name"]: row for row in listing(cluster)}, {t["name"]: t for t in running_tasks(cluster)})
        return all({"square", "Trainer.step"} <= found.keys() for found in by_name) and by_name

    rows, tasks = wait_for(named, "the names of both tasks", every=0.3)
    for name, marker in (("square", "square-breakpoint"), ("Trainer.step", "trainer-breakpoint")):
        row, task = rows[name], tasks[name]
        # pdb stops at the line after the breakpoint().
        assert row["location"]["file"] == str(PAUSES)
        assert row["location"]["line"] in (line_of(PAUSES, marker), line_of(PAUSES, marker) + 1)
        assert (row["debugger"], row["state"], row["paused_threads"]) == ("pdb", "waiting", 1)
        assert started - 1 < row["since"] < time.time() + 1 and row["since_source"] == "breakpoint"
        for key in ("task_id", "job_id", "node_id", "worker_id", "actor_id"):
            assert row[key] == task[key], key
        assert row["pid"] == task["worker_pid"]
        assert int(row["endpoint"].rpartition(":")[2]) > 0
    assert (rows["Trainer.step"]["actor_class"], rows["Trainer.step"]["actor_name"]) == ("Trainer", "bob")
    assert f"pauses.py:{rows['square']['location']['line']}" in cluster.raydbg("list").stdout

    # Being listed has not ended it.
    assert names(listing(cluster)) == ["Trainer.step", "square"]

    cluster.kill(rows["square"]["pid"])
    wait_for(lambda: names(listing(cluster)) == ["Trainer.step"], "the killed worker's pause disappears")


# --- protected and old clusters ---

def test_an_old_cluster(old_cluster):
    old_cluster.driver("pauses.py", "square", "on_b", "actor", "threaded")
    old_cluster.wait_paused(threads=6)
    for address in WAYS.values():
        rows = assert_as_ray_says(old_cluster, "--address", address)
        assert names(rows.values()) == ["Pool.work", "Trainer.step", "on_b", "square"]
    assert "(Ray 2.44.1)" in old_cluster.raydbg("list").stdout


def test_tokens(token_cluster):
    token_cluster.driver("pauses.py", "square", "actor")
    token_cluster.wait_paused(threads=2)
    file = token_cluster.directory / "token"
    file.write_text(token_cluster.token + "\n")
    none = {"RAY_AUTH_TOKEN": None, "RAY_AUTH_MODE": None}
    for address in WAYS.values():
        def ask(**env):
            done = token_cluster.raydbg("list", "--format", "json", "--address", address, env={**none, **env})
            assert token_cluster.token not in done.stdout + done.stderr
            return done
        for env in ({"RAY_AUTH_TOKEN": token_cluster.token}, {"RAY_AUTH_TOKEN_PATH": str(file)}):
            assert names(json.loads(ask(**env).stdout)) == ["Trainer.step", "square"]
        refused(ask(), DENIED, "token", "RAY_AUTH_TOKEN")
        said = refused(ask(RAY_AUTH_TOKEN="wrongwrong"), DENIED, "token", "RAY_AUTH_TOKEN")
        assert "wrongwrong" not in said
        refused(ask(RAY_AUTH_TOKEN=token_cluster.token, RAY_AUTH_MODE="disabled"), DENIED, "token")
    rows = assert_as_ray_says(token_cluster)
    assert rows == assert_as_ray_says(token_cluster, "--address", DASHBOARD)


def test_tls(tls_cluster):
    tls_cluster.driver("pauses.py", "square", "actor")
    tls_cluster.wait_paused(threads=2)
    rows = assert_as_ray_says(tls_cluster)
    assert names(rows.values()) == ["Trainer.step", "square"]
    # The dashboard is plain HTTP, with or without.
    without = {"RAY_USE_TLS": None, "RAY_TLS_CA_CERT": None, "RAY_TLS_SERVER_CERT": None, "RAY_TLS_SERVER_KEY": None}
    for env in ({}, without):
        assert comparable(listing(tls_cluster, "--address", DASHBOARD, env=env)) == rows
    refused(tls_cluster.raydbg("list", env=without), UNREACHABLE, ADDRESS, "RAY_USE_TLS")
    missing = tls_cluster.raydbg("list", env={"RAY_TLS_CA_CERT": "/nowhere/ca.crt"})
    assert missing.returncode != 0 and "/nowhere/ca.crt" in missing.stderr


# --- what is no dashboard ---

class Answers(http.server.BaseHTTPRequestHandler):
    """Gives every request the server's one answer, and keeps what was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        answer = self.server.answer
        self.server.asked.append((self.path, self.headers))
        body = answer.get("body", b"")
        self.send_response(answer["status"])
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        if answer.get("length", body) is not None:
            self.send_header("Content-Length", str(answer.get("length", len(body))))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def http_server(**answer):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.answer, server.asked = answer, []
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", asked=server.asked)
    finally:
        server.shutdown()
        server.server_close()


def list_outside(url, **env):
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **env}
    return subprocess.run([raydbg_path(), "list", "--address", url], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=limit())


LOGIN = b"<html><title>Sign in</title></html>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("answer, code, words", [
    ({"status": 200, "headers": HTML, "body": LOGIN}, FAILED, ["URL", "web page", "login"]),
    ({"status": 302, "headers": {"Location": "http://sso.example/login?next=x"}}, FAILED,
     ["URL", "redirect", "http://sso.example/login?next=x"]),
    ({"status": 401, "body": b"Unauthorized: Missing authentication token"}, DENIED,
     ["URL", "token", "Missing authentication token", "RAY_AUTH_TOKEN"]),
    ({"status": 403, "headers": HTML, "body": LOGIN}, DENIED, ["URL", "refuses access", "403"]),
    ({"status": 404, "headers": {"Content-Type": "text/plain"}, "body": b"404: Not Found"}, FAILED, ["URL", "404"]),
    ({"status": 500, "headers": {"Content-Type": "text/plain"}, "body": b"it\x1b[31m broke"}, FAILED,
     ["URL", "500", "broke"]),
    ({"status": 200, "headers": JSON, "body": b"{\"result\": tru"}, FAILED, ["State API", "not JSON"]),
    ({"status": 200, "headers": JSON, "body": b"[1, 2]"}, FAILED, ["State API"]),
    ({"status": 200, "headers": JSON, "body": b"{", "length": 1000}, UNREACHABLE, ["URL", "no whole answer"]),
    ({"status": 200, "headers": {**JSON, "Transfer-Encoding": "chunked"}, "body": b"20\r\n{\r\n", "length": None},
     UNREACHABLE, ["URL", "no whole answer"]),
], ids=["page", "redirect", "401", "403-page", "404", "500", "bad-json", "odd-json", "cut", "cut-chunk"])
def test_what_is_no_dashboard_is_told(answer, code, words):
    with http_server(**answer) as server:
        said = refused(list_outside(server.url), code, *(word.replace("URL", server.url) for word in words))
    assert "\x1b" not in said


def test_a_redirect_gets_no_token():
    with http_server(status=200, headers=HTML, body=LOGIN) as other:
        with http_server(status=307, headers={"Location": f"{other.url}/api/v0/workers"}) as server:
            refused(list_outside(server.url, RAY_AUTH_TOKEN="secret-token"), FAILED, "redirect")
            assert all(headers["Authorization"] == "Bearer secret-token" for _, headers in server.asked)
        assert server.asked and not other.asked


def test_a_server_that_closes_or_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        def hang_up():
            with contextlib.suppress(OSError):
                while True:
                    silent.accept()[0].close()
        threading.Thread(target=hang_up, daemon=True).start()
        refused(list_outside(f"http://127.0.0.1:{port}"), UNREACHABLE, str(port))
        refused(list_outside(f"127.0.0.1:{port}"), UNREACHABLE, str(port))
    refused(list_outside("http://127.0.0.1:9"), UNREACHABLE, "http://127.0.0.1:9")
    refused(list_outside("http://no-such-host.invalid:8265"), UNREACHABLE, "no-such-host.invalid")
    refused(list_outside("no-such-host.invalid:6379"), UNREACHABLE, "no-such-host.invalid")


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1", "127.0.0.1:70000", "ftp://h:1", "http://u:p@h:8265", "local",
                                     "http://h:8265/?x=1", "http://h:port", "h h:1"])
def test_addresses_that_make_no_sense(address):
    refused(list_outside(address), USAGE, address)
