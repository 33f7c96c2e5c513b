"""`raydbg logs` on real clusters: the bytes that tasks, actors and Ray's own processes have written."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import types

import pytest
from cluster import PROGRAMS, Spec
from waits import limit

USAGE, NOT_FOUND = 2, 3


def constant(name):
    """Of programs/writers.py, which imports Ray."""
    source = (PROGRAMS / "writers.py").read_text()
    [line] = [line for line in source.splitlines() if line.startswith(f"{name} = ")]
    return eval(line.removeprefix(f"{name} = "))  # noqa: S307


def pytest_generate_tests(metafunc):
    if "logs_spec" in metafunc.fixturenames:
        matrix = metafunc.config.getoption("matrix")
        specs = {"ray2.60.0": Spec(), "token": Spec(token=True),
                 **({"ray2.9.3": Spec(python="3.11", ray="2.9.3", debugpy="1.8.0")} if matrix else {})}
        metafunc.parametrize("logs_spec", specs.values(), ids=specs.keys())


@pytest.fixture
def written(logs_spec, cluster_factory):
    """A cluster in which programs/writers.py has written, and goes on."""
    cluster = cluster_factory(logs_spec)
    for name in ("tries", "ticking"):
        (cluster.directory / name).unlink(missing_ok=True)
    cluster.driver("writers.py").wait_for("^READY", limit(400))
    return cluster


def logs(cluster, *arguments, code=0, text=False, **options):
    done = cluster.raydbg("logs", *arguments, text=text, **options)
    assert done.returncode == code, done.stderr
    return done


def check_bytes(cluster):
    """Exactly the bytes of the task, of either stream, though another task has written into the same files."""
    for stream, data in constant("PARTS").items():
        assert logs(cluster, "writes", f"--{stream}").stdout == data
    both = logs(cluster, "writes").stdout
    assert both.startswith(b"out  out \xff\xfe") and b"\nout  no end\nerr  err \x80" in both
    assert logs(cluster, "writes_again", "--out").stdout == b"of the other task\n"


def check_retries(cluster):
    """Exactly the bytes of each of the eleven attempts; the last one is the default."""
    for number in range(11):
        data = constant("ATTEMPT") % number
        assert logs(cluster, "tries", "--out", "--attempt", str(number + 1)).stdout == data
    assert logs(cluster, "tries", "--out").stdout == data
    assert "has 11 attempts" in logs(cluster, "tries", "--attempt", "12", code=NOT_FOUND, text=True).stderr


def check_actor(cluster):
    done = logs(cluster, "writer", text=True)
    assert done.stdout == "out  hello from the actor\nerr  hello from the actor err\n"
    assert re.search(r"^worker pid \d+@127\.0\.0\.", done.stderr)
    process = re.search(r"\d+@[\d.]+", done.stderr).group()
    assert logs(cluster, process, text=True).stdout == done.stdout
    calls = logs(cluster, "Writer.say", "--out", text=True)
    assert calls.stdout == "hello from the actor\n" and "no offsets" in calls.stderr


def check_selection(cluster):
    assert logs(cluster, "ticks", "--out", "--grep", "^tick [0-2]$", text=True).stdout == "tick 0\ntick 1\ntick 2\n"
    [last] = logs(cluster, "ticks", "--out", "--tail", "1", text=True).stdout.splitlines()
    assert re.fullmatch(r"tick \d+", last)
    several = logs(cluster, "writer", "writes_again", text=True).stdout.splitlines()
    assert several == ["writer out  hello from the actor", "writer err  hello from the actor err",
                       "writes_again out  of the other task"]


def check_ray(cluster):
    assert "raylet" in logs(cluster, "raylet@127.0.0.1", "--grep", r"\(raylet\)", text=True).stdout
    assert "gcs_server" in logs(cluster, "gcs", "--out", text=True).stdout


def check_node(cluster):
    """A node's log is its raylet's."""
    done = logs(cluster, "127.0.0.1", "--grep", r"\(raylet\)", text=True)
    assert done.stderr.startswith("the raylet on node 127.0.0.1") and "(raylet)" in done.stdout, done


def check_refusals(cluster):
    assert "did you mean writes?" in logs(cluster, "writse", code=NOT_FOUND, text=True).stderr
    assert "knows no node" in logs(cluster, "raylet@10.9.9.9", code=NOT_FOUND, text=True).stderr
    assert "of submitted jobs only" in logs(cluster, "01", code=NOT_FOUND, text=True).stderr
    logs(cluster, code=USAGE)
    logs(cluster, "writer", "--tail", "0", code=USAGE)
    logs(cluster, "writer", "--grep", "(", code=USAGE)
    logs(cluster, "writer", "--out", "--err", code=USAGE)


def check_following(cluster):
    """It goes on as the file grows, and ^C ends it, or that nobody reads on."""
    process = cluster.raydbg_popen("logs", "ticks", "--out", "--follow", stdin=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
    unread = cluster.raydbg_popen("logs", "ticks", "--out", "--follow", stdin=subprocess.DEVNULL)
    unread.stdout.readline()
    unread.stdout.close()
    assert unread.wait(limit()) == 0
    numbers = [int(process.stdout.readline().split()[1]) for _ in range(30)]
    assert numbers == list(range(30))
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    process.wait(limit())


def check_lives(cluster):
    """Following goes on in the processes of later attempts and restarts."""
    for name, line in (("mortal", "a life of the task"), ("mortal_actor", "a life of the actor")):
        process = cluster.raydbg_popen("logs", name, "--out", "--follow", stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lines = [process.stdout.readline().decode() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.wait(limit())
        assert all(line in shown for shown in lines), lines


def check_since(cluster):
    assert logs(cluster, "stamped", "--out", "--since", "1h", text=True).stdout.splitlines()[0].endswith("INFO new")
    assert logs(cluster, "stamped", "--out", "--since", "1h", text=True).stdout.splitlines()[1:] == ["of the new"]
    assert len(logs(cluster, "stamped", "--out", "--since", "2019-01-01", text=True).stdout.splitlines()) == 4
    logs(cluster, "stamped", "--since", "yesterday", code=USAGE)


def check_around(cluster):
    """What the dead process wrote last, and what the raylet and the GCS wrote then, in the order of their times."""
    shown = logs(cluster, "dies", "--around", "--within", "3s", text=True)
    lines = shown.stdout.splitlines()
    assert any(re.fullmatch(r"[\d:.]{12}  \d+ out  last word of dies", line) for line in lines), shown.stdout
    assert any(re.match(r"[\d:.]{12}  raylet out  \[", line) for line in lines), shown.stdout
    assert [line[:12] for line in lines] == sorted(line[:12] for line in lines)
    assert re.search(r"^node 127\.0\.0\.[12] around [\d:.]{12}$", shown.stderr, re.MULTILINE)
    assert "has not ended" in logs(cluster, "ticks", "--around", code=NOT_FOUND, text=True).stderr
    logs(cluster, "dies", "--around", "--follow", code=USAGE)
    logs(cluster, "dies", "--within", "3s", code=USAGE)


def on_terminal(cluster, *arguments):
    master, slave = pty.openpty()
    process = cluster.raydbg_popen("logs", *arguments, stdin=subprocess.DEVNULL, stdout=slave,
                                   stderr=subprocess.DEVNULL, env={"TERM": "xterm"})
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(master)
    process.wait(limit())
    return shown


def check_terminal(cluster):
    """On a terminal no byte of the program can do more than set colours."""
    assert on_terminal(cluster, "writes", "--err") == b"err ??]0;t?\r\n"


def check_colours(cluster):
    """Each file of several names has a colour of its own."""
    shown = on_terminal(cluster, "writer", "writes_again")
    assert shown == (b"\x1b[36mwriter out\x1b[0m  hello from the actor\r\n"
                     b"\x1b[33mwriter err\x1b[0m  hello from the actor err\r\n"
                     b"\x1b[35mwrites_again out\x1b[0m  of the other task\r\n"), shown


def check_moved(cluster):
    """Ray's log monitor does this to what an ended process has written, once 200 files of the node are open: at times already."""
    for path in cluster.directory.glob("session_2*/logs/worker-*.out"):
        with contextlib.suppress(FileNotFoundError):
            if b"last word of dies" in path.read_bytes():
                path.rename(path.parent / "old" / path.name)
    assert any(b"last word of dies" in path.read_bytes() for path in cluster.directory.glob("session_2*/logs/old/worker-*.out"))
    assert logs(cluster, "dies", "--out", text=True).stdout.endswith("last word of dies\n")
    check_around(cluster)


CHECKS = [value for name, value in list(globals().items())
          if name.startswith("check_") and isinstance(value, types.FunctionType)]


def test_logs(written):
    """All on one run of the program, which takes its time."""
    for check in CHECKS:
        check(written)
