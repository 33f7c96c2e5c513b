"""`raydbg memory` on a real two-node Ray: row by row what `ray memory` says, and what that does not say."""

import csv
import io
import json
import re
import signal
import time
from collections import Counter
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from cluster import PROGRAMS, line_of, wait_for
from conftest import OBJECTS, relay_in
from ray_memory import MB, Row, at_the_same_moment, ray_memory, start, wait_dead, worker_stats

OBJECTS_PY = PROGRAMS / "objects.py"
FIRST, SECOND = "127.0.0.1", "127.0.0.2"
USAGE, UNREACHABLE = 2, 5
GROUPS = ("node", "call-site", "owner", "task", "actor", "job")
SORTS = ("size", "refs", "pid", "age")
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def memory(cluster, *arguments, **options):
    """What `raydbg memory` prints; it has to succeed."""
    done = cluster.raydbg("memory", *arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sweep(cluster, *arguments, **options):
    return json.loads(memory(cluster, "--format", "json", *arguments, **options))


def rows_of(swept):
    """The rows of the JSON as `ray memory` has them; what a row does not say is as it mostly is."""
    sites, rows = swept["call_sites"], []
    for row in swept["rows"]:
        process, site = swept["processes"][row["process"]], row.get("call_site")
        size = row.get("size_here", row.get("size"))
        rows.append(Row(row["object_ref"], process["ip"], process["pid"], process["type"].capitalize(),
                        row["reference_type"], -1 if size is None else size, "" if site is None else sites[site],
                        row.get("task_status") or "", row.get("attempt", 1)))
    return sorted(rows)


def stats(text):
    """The numbers of the last part of `ray memory`: MiB, objects, percents; 0 where it has no line."""
    used = re.search(r"Plasma memory usage (\d+) MiB, (\d+) objects, ([\d.]+)% full, ([\d.]+)% needed", text)
    spilled = re.search(r"Spilled (\d+) MiB, (\d+) objects", text)
    restored = re.search(r"Restored (\d+) MiB, (\d+) objects", text)
    return (int(used[1]), int(used[2]), float(used[3]), float(used[4]),
            *(int(n) for n in (spilled.groups() if spilled else (0, 0))),
            *(int(n) for n in (restored.groups() if restored else (0, 0))))


def stats_of(swept):
    """The same of the JSON."""
    total = {name: sum(node["store"][name] for node in swept["nodes"]) for name in
             ("used", "objects", "capacity", "primary_copies_bytes", "spilled_bytes", "spilled_objects",
              "restored_bytes", "restored_objects")}
    return (total["used"] >> 20, total["objects"], round(100 * total["used"] / total["capacity"], 2),
            round(100 * total["primary_copies_bytes"] / total["capacity"], 2),
            total["spilled_bytes"] >> 20, total["spilled_objects"],
            total["restored_bytes"] >> 20, total["restored_objects"])


TERMINAL = ("import pty, sys; shell = ['sh', '-c', 'stty cols 100 rows 50; exec \"$@\"', 'sh']; "
            "sys.exit(pty.spawn([*shell, *sys.argv[1:]]) >> 8)")


def on_a_terminal(cluster, *arguments):
    """What raydbg prints on a terminal of 100 columns, without colours."""
    done = cluster.python("-c", TERMINAL, *cluster.raydbg_argv(*arguments), env={"RAY_ADDRESS": cluster.head()})
    assert done.returncode == 0, done.stdout
    return re.sub(r"\x1b\[[\d;]*m", "", done.stdout)


# --- a cluster in which much is held: nothing here changes it ---

@pytest.fixture(scope="class")
def held(pool):
    """The paused task of `objects.py hold`."""
    cluster = pool.get(OBJECTS)
    with ExitStack() as stack:
        stack.callback(cluster.stop_drivers)
        known = start(cluster, "hold")
        yield SimpleNamespace(cluster=cluster, known=known)


def row_of(swept, object_id, pid):
    return next(row for row in swept["rows"] if row["object_ref"] == object_id
                and swept["processes"][row["process"]]["pid"] == int(pid))


class TestHeld:
    def test_row_by_row_as_ray_memory_says(self, held):
        rays, ours = at_the_same_moment(held.cluster, lambda: rows_of(sweep(held.cluster)))
        assert len(rays) > 25
        assert ours == rays

    def test_the_kinds_are_those_of_the_program(self, held):
        known, swept = held.known, sweep(held.cluster)
        for name, pid, reference in (
                ("big", known.pid, "LOCAL_REFERENCE"), ("captured", known.pid, "CAPTURED_IN_OBJECT"),
                ("viewed", known.pid, "PINNED_IN_MEMORY"), ("shared", known.pid, "USED_BY_PENDING_TASK"),
                ("closed", known.pid, "LOCAL_REFERENCE"), ("kept", known.keeper_pid, "LOCAL_REFERENCE"),
                ("borrowed", known.driver_pid, "USED_BY_PENDING_TASK"),
                ("shared", known.reader_pid, "LOCAL_REFERENCE")):
            assert row_of(swept, getattr(known, name), pid)["reference_type"] == reference, name
        for name, status in (("pending", "SUBMITTED_TO_WORKER"), ("nowhere", "PENDING_NODE_ASSIGNMENT")):
            assert row_of(swept, getattr(known, name), known.pid)["task_status"] == status

    def test_the_same_through_a_relay(self, held, run_relay):
        relay = run_relay(held.cluster)
        home = {"HOME": relay.env["HOME"], "XDG_STATE_HOME": relay.env["XDG_STATE_HOME"], "RAY_ADDRESS": None}
        ask = lambda: rows_of(sweep(held.cluster, "--relay", relay.host_header, env=home))  # noqa: E731
        rays, ours = at_the_same_moment(held.cluster, ask)
        assert ours == rays
        plain = memory(held.cluster, "--relay", relay.host_header, "--group-by", "call-site", env=home)
        assert "objects.py" in plain and "hold" in plain

    def test_what_ray_memory_does_not_say(self, held):
        known, swept = held.known, sweep(held.cluster)
        for name, owner in (("big", known.pid), ("small", known.pid), ("borrowed", known.keeper_pid)):
            row = row_of(swept, getattr(known, name), known.pid)
            assert swept["processes"][row["owner"]]["pid"] == int(owner), name
        driver = swept["processes"][row_of(swept, known.borrowed, known.driver_pid)["process"]]
        assert driver["type"] == "driver"
        keeper = swept["processes"][row_of(swept, known.kept, known.keeper_pid)["process"]]
        assert (keeper["actor_class"], keeper["actor_name"]) == ("Keeper", "keeper")
        assert row_of(swept, known.borrowed, known.driver_pid)["size"] == \
            row_of(swept, known.borrowed, known.keeper_pid)["size"]
        assert {node["ip"] for node in swept["nodes"]} == {FIRST, SECOND}
        assert all(node["asked"] for node in swept["nodes"])

    def test_numbers_as_ray_memory_says(self, held):
        rays, ours = at_the_same_moment(
            held.cluster, lambda: stats_of(sweep(held.cluster, "--stats-only")), stats, ["--stats-only"])
        assert ours == rays and ours[0] > 0

    def test_stats_only_says_them_of_each_node(self, held):
        text = memory(held.cluster, "--stats-only")
        assert FIRST in text and SECOND in text and "all 2 nodes" in text and "created since it started" in text
        assert held.known.big not in text and "objects.py" not in text
        [line] = [line for line in text.splitlines() if line.lstrip().startswith("used")][-1:]
        assert re.search(r"used [\d.]+ MB of 160(\.0)? MB", line), text

    @pytest.mark.parametrize("by", GROUPS)
    def test_groups(self, held, by):
        plain, grouped = sweep(held.cluster), sweep(held.cluster, "--group-by", by)
        assert rows_of(grouped) == rows_of(plain)
        groups = {group["key"]: group for group in grouped["groups"]}
        assert sum(group["references"] for group in groups.values()) == len(plain["rows"])
        whole = " ".join(groups)
        known = held.known
        wanted = {"node": (FIRST, SECOND), "owner": (known.pid, known.keeper_pid), "task": ("hold", "produce"),
                  "call-site": (f"objects.py:hold:{line_of(OBJECTS_PY, 'big-put')}",), "actor": ("Keeper (keeper)",),
                  "job": ("0000",)}[by]
        for word in wanted:
            assert word in whole, whole
        if by == "call-site":
            [puts] = [g for key, g in groups.items() if f"<listcomp>:{line_of(OBJECTS_PY, 'refs-put')}" in key
                      or f"hold:{line_of(OBJECTS_PY, 'refs-put')}" in key]
            assert puts["objects"] == puts["references"] == 12 and 12 * MB <= puts["bytes"] < 12.1 * MB
        sizes = [group["bytes"] for group in grouped["groups"]]
        assert sizes == sorted(sizes, reverse=True)
        assert memory(held.cluster, "--group-by", by)

    def test_sorting(self, held):
        order = {by: list(csv.DictReader(io.StringIO(memory(held.cluster, "--format", "csv", "--sort-by", by))))
                 for by in SORTS}
        rows = {by: sorted((row["object_ref"], row["pid"]) for row in found) for by, found in order.items()}
        assert all(found == rows["size"] for found in rows.values())
        sizes = [int(row["size"] or 0) for row in order["size"]]
        assert sizes == sorted(sizes, reverse=True)
        pids = [int(row["pid"]) for row in order["pid"]]
        assert pids == sorted(pids)
        held_by = Counter(row["object_ref"] for row in order["refs"])
        counts = [held_by[row["object_ref"]] for row in order["refs"]]
        assert counts == sorted(counts, reverse=True) and counts[0] > 1
        in_order = {by: [(row["object_ref"], row["pid"]) for row in found] for by, found in order.items()}
        assert in_order["age"] not in (in_order["size"], in_order["pid"])

    @pytest.mark.parametrize("units", UNITS)
    def test_units(self, held, units):
        size = row_of(sweep(held.cluster), held.known.big, held.known.pid)["size"]
        text = memory(held.cluster, "--units", units)
        shown = {float(number.replace(",", "")) * UNITS[units] for number in
                 re.findall(rf"([\d.,]*\d) {units}\b", text, re.IGNORECASE)}
        assert any(abs(number - size) <= 0.05 * size for number in shown), text

    def test_formats_say_the_same(self, held):
        swept = sweep(held.cluster)
        code = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"
        text = memory(held.cluster, "--format", "yaml")
        assert rows_of(json.loads(held.cluster.python("-c", code, input=text, check=True).stdout)) == rows_of(swept)
        table = list(csv.DictReader(io.StringIO(memory(held.cluster, "--format", "csv"))))
        found = sorted((row["object_ref"], row["node_ip"], int(row["pid"]), row["type"], row["reference_type"],
                        row["call_site"], row["task_status"], int(row["attempt"])) for row in table)
        assert found == sorted((r.id, r.ip, r.pid, r.type, r.reference, r.call_site, r.status, r.attempt)
                               for r in rows_of(swept))
        assert all(line["size"] == "" or int(line["size"]) >= 0 for line in table)

    def test_the_table_is_for_people(self, held):
        text = on_a_terminal(held.cluster, "memory")
        table = text[text.index("SIZE"):text.index("the stores hold")].splitlines()[:-1]
        assert len(table) > 10 and max(map(len, table)) <= 100, text
        assert f"objects.py:{line_of(OBJECTS_PY, 'refs-put')}" in text, "the program's own line, not Ray's"
        text = memory(held.cluster)
        assert "8.0 MB" in text and "object store" in text and f"{len(sweep(held.cluster)['rows'])} reference" in text
        few = memory(held.cluster, "--group-by", "node", "--num-entries", "1")
        assert "more" in few and len(few) < len(memory(held.cluster, "--group-by", "node", "--num-entries", "100"))

    def test_one_task(self, held):
        swept = sweep(held.cluster, "--task", "hold")
        ids = {row["object_ref"] for row in swept["rows"]}
        assert {held.known.big, held.known.borrowed, *held.known.list("refs")} <= ids
        assert held.known.kept not in ids, "neither made nor held by it"
        done = held.cluster.raydbg("memory", "--task", "nosuch")
        assert done.returncode == 0 and "--task" in done.stderr, done.stderr

    def test_where_copies_are(self, held):
        text = memory(held.cluster, "--group-by", "node", "--num-entries", "100", "--format", "csv")
        [row] = [row for row in csv.DictReader(io.StringIO(text))
                 if row["object_ref"] == held.known.returned and row["pid"] == held.known.pid]
        assert row["copies"] in ("", "2"), "asked with --locations only, or it is right"

    @pytest.mark.parametrize("arguments", [["--group-by", "colour"], ["--sort-by", "x"], ["--units", "TB"],
                                           ["--format", "xml"], ["--nonsense"], ["extra"], ["--num-entries", "-3"]])
    def test_wrong_usage(self, held, arguments):
        done = held.cluster.raydbg("memory", *arguments)
        assert (done.returncode, done.stdout) == (USAGE, ""), done.stdout
        assert arguments[-1] in done.stderr

    def test_addresses(self, held):
        done = held.cluster.raydbg("memory", "--address", "127.0.0.1:9")
        assert (done.returncode, done.stdout) == (UNREACHABLE, "") and "127.0.0.1:9" in done.stderr
        done = held.cluster.raydbg("memory", "--address", "http://127.0.0.1:8265")
        assert done.returncode != 0 and "6379" in done.stderr, "the dashboard cannot tell; what to give instead"

    def test_a_node_that_does_not_answer(self, held):
        raylet = held.cluster.raylet_pid(2)
        held.cluster.kill(raylet, signal.SIGSTOP)
        try:
            started = time.monotonic()
            done = held.cluster.raydbg("memory", "--format", "json")
            took = time.monotonic() - started
        finally:
            held.cluster.kill(raylet, signal.SIGCONT)
        print(f"raydbg memory with a raylet that does not answer: {took:.1f} s")
        assert done.returncode == 0 and SECOND in done.stderr, done.stderr
        nodes = {node["ip"]: node for node in json.loads(done.stdout)["nodes"]}
        assert nodes[FIRST]["asked"] and not nodes[SECOND]["asked"] and nodes[SECOND]["problem"]
        wait_for(lambda: all(node["asked"] for node in sweep(held.cluster)["nodes"]), "it answers again")


# --- what changes ---

def test_growth_since_a_file(objects_cluster, tmp_path):
    cluster = objects_cluster
    start(cluster, "leaker", paused=False)
    before = cluster.directory / "before.json"
    before.write_text(memory(cluster, "--format", "json"))
    start_grow = cluster.driver("objects.py", "grow", "5")
    assert start_grow.wait() == 0
    text = memory(cluster, "--diff", before)
    line = line_of(OBJECTS_PY, "leak-put")
    [grown] = [row for row in text.splitlines() if f"objects.py:{line}" in row]
    assert "+5.0 MB" in grown, text
    assert f"{line_of(OBJECTS_PY, 'drip-put')}" not in text


def test_growth_over_a_time(objects_cluster):
    known = start(objects_cluster, "drip", "200", "20", paused=False)
    assert known.dripper_pid
    text = memory(objects_cluster, "--diff", "1s")
    [grown] = [row for row in text.splitlines() if f"objects.py:{line_of(OBJECTS_PY, 'drip-put')}" in row]
    assert re.search(r"\+\d", grown), text


def test_a_wrong_file_to_compare_with(objects_cluster):
    path = objects_cluster.directory / "wrong.json"
    path.write_text('{"rows": 7}')
    for wrong in (path, objects_cluster.directory / "missing.json"):
        done = objects_cluster.raydbg("memory", "--diff", wrong)
        assert done.returncode not in (0, None) and done.stdout == "" and str(wrong) in done.stderr, done.stderr


def test_why_a_store_is_full(objects_cluster):
    known = start(objects_cluster, "hoard", paused=False)
    text = memory(objects_cluster, "--why-full")
    first = text.index(str(line_of(OBJECTS_PY, "hoard-put")))
    assert first < text.index(str(line_of(OBJECTS_PY, "hoard-value"))), text
    assert re.search(rf"objects\.py:(fill:)?{line_of(OBJECTS_PY, 'hoard-put')}", text), text
    assert f"Hoarder (hoarder) pid {known.hoarder_pid}@{FIRST}" in text and "PINNED_IN_MEMORY" in text, text
    assert re.search(rf"^  {FIRST} is full", text, re.M) and re.search(rf"^  {SECOND} is not full", text, re.M), text
    assert re.search(r"48(\.\d)? MB", text) and re.search(r"24(\.\d)? MB", text), text


def test_a_store_that_is_not_full(objects_cluster):
    start(objects_cluster, "leaker", paused=False)
    assert memory(objects_cluster, "--why-full")


def test_spilled_and_lost_objects(objects_cluster):
    cluster = objects_cluster
    known = start(cluster, "spill")
    wait_for(lambda: (again := stats(ray_memory(cluster, "--stats-only"))) == stats(ray_memory(cluster, "--stats-only"))
             and again[4], "spilling is over")
    rays, ours = at_the_same_moment(cluster, lambda: stats_of(sweep(cluster, "--stats-only")), stats, ["--stats-only"])
    assert ours == rays
    assert known.gone in {row["object_ref"] for row in sweep(cluster)["rows"]}


def test_the_owner_died(objects_cluster):
    known = start(objects_cluster, "witness")
    objects_cluster.kill(known.owner_pid)
    wait_dead(objects_cluster, known.owner_pid)
    rays, ours = at_the_same_moment(objects_cluster, lambda: rows_of(sweep(objects_cluster)))
    assert ours == rays
    swept = sweep(objects_cluster)
    assert row_of(swept, known.orphan, known.pid).get("owner") is None
    assert swept["processes"][row_of(swept, known.lost, known.pid)["owner"]]["pid"] == int(known.pid)


def test_ten_thousand_rows(objects_cluster):
    known = start(objects_cluster, "many", "10000")
    started = time.monotonic()
    swept = sweep(objects_cluster)
    took = time.monotonic() - started
    mine = [row for row in swept["rows"] if swept["processes"][row["process"]]["pid"] == int(known.pid)]
    assert len(mine) == 10_000
    assert {row["object_ref"] for row in mine} == {r["id"] for r in worker_stats(objects_cluster, known.pid)["refs"]}
    print(f"raydbg memory of 10,000 references: {1000 * took:.0f} ms, entering the namespace included")


def test_an_empty_cluster(objects_cluster):
    swept = sweep(objects_cluster)
    assert len(swept["nodes"]) == 2 and memory(objects_cluster)


# --- every version ---

def test_row_by_row_on_every_version(core_cluster):
    known = start(core_cluster, "hold")
    rays, ours = at_the_same_moment(core_cluster, lambda: rows_of(sweep(core_cluster)))
    assert ours == rays and known.big in {row.id for row in ours}
    rays, ours = at_the_same_moment(
        core_cluster, lambda: stats_of(sweep(core_cluster, "--stats-only")), stats, ["--stats-only"])
    assert ours == rays
    assert memory(core_cluster, "--group-by", "owner")
