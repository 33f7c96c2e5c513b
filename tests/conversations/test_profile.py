"""`raydbg profile` on a recorded cluster: what agents and py-spy may answer, and the files that it writes."""

import json
import os
import pty
import select
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest
import sanitizers
from fake_failures import BURNS
from relay_under_test import raydbg_path
from test_stack import allowed, cluster, dashboard, switched  # noqa: F401 (fixtures)
from test_why import popen, run
from waits import SHORT, limit, wait_until

FAILED, USAGE, NOT_FOUND, DENIED, INTERRUPTED = 1, 2, 3, 4, 130
# https://www.speedscope.app/file-format-schema.json, as in the npm package speedscope 1.25.0 (MIT).
SCHEMA = json.loads((Path(__file__).parent.parent / "support/speedscope-1.25.0-schema.json").read_text())
SVG = "{http://www.w3.org/2000/svg}"
LIMIT = 16 << 20


def profile(cluster, *arguments, **options):  # noqa: F811
    return run(cluster, "profile", "--all", *arguments, **options)


def as_json(cluster, *arguments):  # noqa: F811
    return json.loads(profile(cluster, "--format", "json", *arguments))


def pids_of(cluster):  # noqa: F811
    return [process["pid"] for process in as_json(cluster)["processes"]]


def test_all_workers_are_one_profile(allowed):  # noqa: F811
    answer = as_json(allowed, "--duration", "7s", "--native", "--idle")
    count = len(answer["processes"])
    assert count > 8 and allowed.calls["CpuProfiling"] == count and not allowed.calls["GetTraceback"]
    assert {(r.duration, r.format, r.native, r.idle) for r in allowed.asked} == {(7, "raw", True, True)}
    inner, burn = answer["functions"]
    assert answer["samples"] == 200 * count == burn["total"] and inner["self"] == 180 * count
    assert (inner["name"], inner["file"], inner["line"], inner["processes"]) == ("inner", "app.py", 37, count)
    head, titles, hottest, *_ = profile(allowed).splitlines()
    assert head == f"{count} processes on 2 nodes, {200 * count} samples in 5 s"
    assert titles.split()[:3] == ["SELF", "TOTAL", "FUNCTION"]
    assert hottest.split() == ["90.0", "%", "90.0", "%", "inner", "app.py:37", str(count)]


def test_one_worker_of_all_fails(allowed):  # noqa: F811
    """Each that has no part in it is named, on standard output with the table, else on standard error."""
    pids = pids_of(allowed)
    allowed.profiles = {pids[0]: ValueError("Failed to execute `['py-spy']`.\n\n=== stderr ===\nError: a new one\n"),
                        pids[1]: ValueError("Error: Failed to get process executable name. Check that the process is running."),
                        pids[2]: "a (b.py:1) 3\n\x1b[31mnonsense", pids[3]: "", pids[4]: "a (b.py:1) 3\n" * (LIMIT // 13 + 1)}
    said = profile(allowed)
    for pid, reason in zip(pids, ("Error: a new one", "the process has ended", "its profile is not one of py-spy's",
                                  "it used no CPU", "is larger than 16 MB")):
        assert any(f"{reason}: {pid}@" in line for line in said.splitlines()), (reason, said)
    assert f", {200 * (len(pids) - 5)} samples" in said and "\x1b" not in said
    answer = as_json(allowed)
    assert [p["samples"] for p in answer["processes"]][:6] == [0, 0, 0, 0, 0, 200]
    assert [bool(p["not_shown"]) for p in answer["processes"]][:6] == [True] * 5 + [False]


def test_none_can_be_profiled(allowed):  # noqa: F811
    pids = pids_of(allowed)
    allowed.profiles = {pid: ValueError("Failed to execute: py-spy is not installed") for pid in pids}
    said = profile(allowed, code=FAILED)
    assert f"{len(pids)} processes, py-spy is not installed" in said and "pip install py-spy" in said
    allowed.profiles = {pid: ValueError("Error: No stack counts found") for pid in pids}
    assert "it used no CPU" in profile(allowed, code=FAILED)
    allowed.fail["CpuProfiling"] = "no profile today"
    assert "no profile today" in profile(allowed, code=FAILED)


def test_agents_that_cannot_be_reached(allowed):  # noqa: F811
    allowed.agent_in_store = "NO SUCH KEY"
    assert "the agent of node 127.0.0.1" in profile(allowed, code=FAILED)


def test_what_is_not_asked(cluster):  # noqa: F811
    with dashboard(switched(False)) as (address, _):
        cluster.store[b"dashboard"] = address.encode()
        assert "RAY_DASHBOARD_ENABLE_PROFILING=1" in run(cluster, "profile", code=DENIED)
        assert "knows no task" in run(cluster, "profile", "nobody", code=NOT_FOUND)
        assert "knows no node" in run(cluster, "profile", "--node", "10.9.9.9", code=NOT_FOUND)
        for wrong in (["one", "two"], ["--duration", "0"], ["--duration", "61s"], ["--duration", "soon"], ["-o", "x"],
                      ["--format", "pdf"], [""]):
            run(cluster, "profile", *wrong, code=USAGE)
        assert "No such file" in run(cluster, "profile", "-o", "/no/such/x.svg", code=FAILED)
    assert not cluster.calls["CpuProfiling"]


def test_speedscope_takes_the_file(allowed, tmp_path):  # noqa: F811
    allowed.profiles = {pids_of(allowed)[0]: "ü\x01\" (a;b.py:1);<lambda> (lib.so);0x7f 3\n"}
    profile(allowed, "-o", str(tmp_path / "x.json"))
    told = json.loads((tmp_path / "x.json").read_text())
    jsonschema.validate(told, SCHEMA)
    [sampled] = told["profiles"]
    assert sum(sampled["weights"]) == sampled["endValue"] and len(sampled["weights"]) == len(sampled["samples"]) == 3
    assert all(index < len(told["shared"]["frames"]) for stack in sampled["samples"] for index in stack)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**told, "profiles": [{**sampled, "weights": None}]}, SCHEMA)
    assert json.loads(profile(allowed, "--format", "speedscope")) == told


def test_a_flame_graph_stands_alone(allowed, tmp_path):  # noqa: F811
    """It is XML, and names nothing outside of it."""
    allowed.profiles = {pids_of(allowed)[0]: "</title><script> (&\".py:1);ü (b.py:2) 100\n"}
    profile(allowed, "-o", str(tmp_path / "x.svg"))
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    assert {element.tag for element in root.iter()} == {SVG + tag for tag in ("svg", "g", "title", "rect", "text")}
    assert not [name for element in root.iter() for name in element.attrib if "href" in name or name.startswith("on")]
    titles = [title.text for title in root.iter(SVG + "title")]
    assert any(title.startswith("</title><script> (&\".py:1): 100 samples") for title in titles) and len(titles) == 5
    boxes = [(float(r.get("x")), float(r.get("width"))) for r in root.iter(SVG + "rect") if r.get("x")]
    assert all(0 <= x and x + width <= float(root.get("width")) for x, width in boxes) and len(boxes) == 5


def test_folded_stacks(allowed, tmp_path):  # noqa: F811
    """Ray's frames are folded; with --full they are py-spy's own."""
    count = len(pids_of(allowed))
    assert profile(allowed, "--format", "folded") == f"burn (app.py:40) {20 * count}\nburn (app.py:40);inner (app.py:37) {180 * count}\n"
    profile(allowed, "--full", "-o", str(tmp_path / "x.folded"))
    assert (tmp_path / "x.folded").read_text() == BURNS.replace(" 20\n", f" {20 * count}\n").replace(" 180\n", f" {180 * count}\n")


@contextmanager
def on_a_terminal(cluster, *arguments):  # noqa: F811
    """Gives (process, until, write): until(text) reads the terminal up to this text."""
    master, slave = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    process = subprocess.Popen([raydbg_path(), "profile", "--address", cluster.address, *arguments], stdin=slave,
                               stdout=subprocess.DEVNULL, stderr=slave, env={**clean, **sanitizers.ENV})
    os.close(slave)
    said = b""

    def until(text):
        nonlocal said

        def seen():
            nonlocal said
            said += os.read(master, 1000) if select.select([master], [], [], 0)[0] else b""
            return text in said

        wait_until(seen, lambda: f"{text}: {said}")
        said = said.partition(text)[2]

    def write(text):
        os.write(master, text)
    try:
        yield process, until, write
    finally:
        process.kill()
        process.wait()
        os.close(master)


def test_an_interrupt_ends_it_at_once(allowed):  # noqa: F811
    """On a terminal it says meanwhile what it does, and clears that line."""
    allowed.silent.add("CpuProfiling")
    with on_a_terminal(allowed, "--all", "--duration", "60s") as (process, until, _):
        until(b"60 s each")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        until(b"\x1b[2K\r")
        assert process.wait(limit()) == INTERRUPTED
        assert time.monotonic() - began < 40  # timed: the profile would take 60 s


# --- memory ---


def process_of(cluster):  # noqa: F811
    process = as_json(cluster)["processes"][0]
    cluster.asked.clear()
    return process["pid"], f"{process['pid']}@{process['node_id']}"


def test_memory_of_one_process(allowed, tmp_path):  # noqa: F811
    pid, name = process_of(allowed)
    file = tmp_path / "m.html"
    run(allowed, "profile", "--memory", name, "-o", str(file), "--yes", "--duration", "7s", "--native")
    assert file.read_text() == f"<html>{pid}</html>"
    [asked] = allowed.asked
    assert (asked.pid, asked.duration, asked.format, asked.native, asked.leaks) == (pid, 7, "flamegraph", True, False)
    allowed.warning = "cannot detach\x1b"
    process = popen(allowed, "profile", "--memory", name, "-o", "-", "-y")
    out, err = process.communicate(timeout=limit())
    assert process.returncode == 0 and out == f"<html>{pid}</html>".encode() and b"still be in the process: cannot detach?" in err
    allowed.profiles[pid] = ValueError("no page")
    assert "still be in the process" in run(allowed, "profile", "--memory", name, "-o", str(file), "-y", code=FAILED)
    allowed.warning = None
    for words, says in (("Failed to execute: memray is not installed", "pip install memray"), ("no lldb or gdb here", "install gdb"),
                        ("An unexpected error occurred. Run with --verbose to debug the failure.", "gdb 14 or later"),
                        ("=== stderr ===\nsomething new\n", "something new")):
        allowed.profiles[pid] = ValueError(words)
        said = run(allowed, "profile", "--memory", name, "-o", str(file), "-y", code=FAILED)
        assert f"no memory profile of process {pid}@" in said and says in said


def test_memory_is_not_asked_for_lightly(allowed, tmp_path):  # noqa: F811
    """Only of one process, by somebody who knows what it does, to a file."""
    _, name = process_of(allowed)
    output = ("-o", str(tmp_path / "m.html"))
    assert "needs --yes" in run(allowed, "profile", "--memory", name, *output, code=USAGE)
    for wrong in ([name], ["--yes", *output], [name, *output, "--yes", "--all"], [name, *output, "--yes", "--format", "svg"]):
        run(allowed, "profile", "--memory", *wrong, code=USAGE)
    several = run(allowed, "profile", "--memory", "127.0.0.1", *output, "--yes", code=NOT_FOUND)
    assert "processes, not one" in several and "PID@NODE" in several
    with on_a_terminal(allowed, "--memory", name, *output) as (process, until, write):
        until(b"can crash it")
        until(b"Go on? [y/N] ")
        write(b"n\n")
        assert process.wait(limit()) == FAILED
    assert not allowed.asked and not (tmp_path / "m.html").exists()
    with on_a_terminal(allowed, "--memory", name, *output) as (process, until, write):
        until(b"Go on? [y/N] ")
        write(b"y\n")
        until(b"open it in a browser")
        assert process.wait(limit()) == 0


def test_memray_is_not_left_in_the_process(allowed, tmp_path):  # noqa: F811
    """An agent whose caller has gone does not detach it: the first ^C waits, the second does not."""
    _, name = process_of(allowed)
    allowed.silent.add("MemoryProfiling")
    with on_a_terminal(allowed, "--memory", name, "--yes", "-o", str(tmp_path / "m.html")) as (process, until, _):
        until(b"half a minute more")
        process.send_signal(signal.SIGINT)
        until(b"^C again")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(SHORT)
        process.send_signal(signal.SIGINT)
        assert process.wait(limit()) == INTERRUPTED
