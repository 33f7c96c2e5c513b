"""`raydbg memory --top` on a real two-node Ray: what its screen shows, as a terminal would draw it."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import termios
import time

import pyte
import pytest
import sanitizers
from cluster import PROGRAMS, line_of, wait_for
from conftest import relay_in
from waits import limit, settle

OBJECTS_PY = PROGRAMS / "objects.py"
# A terminal that pyte draws, and its keys.
TERMINAL = {"TERM": "linux", "LANG": "C.UTF-8", "NO_COLOR": "1", "TZ": "UTC"}
ENTER, ESCAPE, BACKSPACE, CTRL_C, CTRL_Z = "\r", "\x1b", "\x7f", "\x03", "\x1a"
LEFT, DOWN, HOME = "\x1b[D", "\x1b[B", "\x1b[1~"
F3, F6, F10 = "\x1b[[C", "\x1b[17~", "\x1b[21~"


class Terminal:
    """A program with a terminal of its own, and what that shows."""

    def __init__(self, cluster, argv, columns=120, lines=30, errors=True, **env):
        """`errors`: stderr is kept apart, in a file."""
        self.master, slave = pty.openpty()
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.resize(columns, lines)
        self.errors = (cluster.directory / f"top-{time.monotonic_ns()}.err").open("wb+")
        self.before = termios.tcgetattr(slave)
        self.slave = slave  # kept open: else its modes could not be read when the program has ended
        env = {**TERMINAL, "RAY_ADDRESS": cluster.head(), **env}
        self.process = cluster.popen(["setsid", "--ctty", *argv], env=env, stdin=slave, stdout=slave,
                                     stderr=self.errors if errors else slave)
        os.set_blocking(self.master, False)

    def resize(self, columns, lines):
        self.screen.resize(lines, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        with contextlib.suppress(BlockingIOError, OSError):
            while data := os.read(self.master, 65536):
                self.stream.feed(data)
        return "\n".join(line.rstrip() for line in self.screen.display)

    def type(self, *keys):
        for key in keys:
            os.write(self.master, key.encode())

    def wait(self, pattern, timeout=None):
        return wait_for(lambda: re.search(pattern, self.read(), re.M),
                        lambda: f"{pattern!r} on the screen:\n{self.read()}\n{self.stderr()}", most=timeout)

    def wait_not(self, pattern, timeout=None):
        wait_for(lambda: not re.search(pattern, self.read(), re.M),
                 lambda: f"no {pattern!r} on the screen:\n{self.read()}", most=timeout)

    def chosen_row(self):
        """The number of the line in reverse, above the last one, which has the keys."""
        self.read()
        return next((number for number in range(len(self.screen.display) - 1) if self.screen.buffer[number][0].reverse), None)

    def chosen(self):
        """The text of that line."""
        row = self.chosen_row()
        return "" if row is None else self.screen.display[row].rstrip()

    def wait_chosen(self, pattern, timeout=None):
        wait_for(lambda: re.search(pattern, self.chosen()),
                 lambda: f"{pattern!r} chosen, not {self.chosen()!r}, on the screen:\n{self.read()}", most=timeout)

    def choose(self, pattern, most=40):
        """Goes down to the line that has this, each time when the key before has been drawn."""
        def list_state():
            row = self.chosen_row()
            return row, self.screen.display[self.first_row():-2]

        self.type(HOME)
        wait_for(lambda: self.chosen_row() == self.first_row(), lambda: f"the first line is chosen:\n{self.read()}")
        for _ in range(most):
            if re.search(pattern, self.chosen()):
                return
            before = list_state()
            self.type(DOWN)
            wait_for(lambda: list_state() != before, lambda: f"a line {pattern!r} below:\n{self.read()}")
        raise AssertionError(f"no line {pattern!r} to choose:\n{self.read()}")

    def first_row(self):
        """The number of the list's first line: the one below the titles."""
        return next((number for number, line in enumerate(self.screen.display) if re.match(r" +SIZE ", line)), -2) + 1

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def end(self, timeout=None):
        """The exit code; what the program took of the terminal has to be given back."""
        wait_for(lambda: self.read() and self.process.poll() is not None,
                 lambda: f"the program ends:\n{self.read()}", most=timeout)
        sanitizers.check(self.process.returncode, self.stderr())
        assert termios.tcgetattr(self.slave) == self.before
        assert not fcntl.fcntl(self.slave, fcntl.F_GETFL) & os.O_NONBLOCK
        return self.process.returncode

    def close(self):
        self.process.kill()
        self.process.wait(limit())
        os.close(self.master)
        os.close(self.slave)
        self.errors.close()


@pytest.fixture
def terminal():
    open_ones = []

    def start(cluster, *argv, **options):
        open_ones.append(Terminal(cluster, argv, **options))
        return open_ones[-1]

    yield start
    for one in open_ones:
        one.close()


@pytest.fixture
def top(terminal, objects_cluster):
    """top(arguments…): started, and past its first look."""
    def start(*arguments, **options):
        one = terminal(objects_cluster, *objects_cluster.raydbg_argv("memory", "--top", *arguments), **options)
        one.wait(r"every 2 s")
        return one
    return start


@pytest.fixture
def hold(objects_cluster):
    driver = objects_cluster.driver("objects.py", "hold")
    driver.wait_for("^RESULT ready hold")
    objects_cluster.wait_paused()
    return driver


def site(marker, deed="ray.put in "):
    return rf"objects\.py:{line_of(OBJECTS_PY, marker)} {re.escape(deed)}"


def test_from_a_node_to_an_owner(objects_cluster, hold, top):
    """Node, call site, references, one object with all that refer to it, its owner, and back."""
    pid, reader = hold.result("pid"), hold.result("reader_pid")
    one = top()
    one.wait(r"^raydbg memory · 127\.0\.0\.1:6379 · 2 nodes · \d+ processes · \d+ refs to \d+ objects · ")
    for node in ("127.0.0.1", "127.0.0.2"):
        one.wait(rf"^{re.escape(node)} +\[\|* +[\d.]+ .?B/80\.0 MB\]  spilled ")
    one.choose(r"127\.0\.0\.2")
    one.type(ENTER)
    one.wait(r"^node 127\.0\.0\.2.* › by call site")
    one.choose(site("big-put"))
    assert "8.0 MB" in one.chosen()
    one.type(ENTER)
    one.wait("› references$")
    one.wait_chosen(rf"8\.0 MB +{pid} Worker 127\.0\.0\.2 +LOCAL_REFERENCE +FINISHED +{hold.result('big')[:10]}")
    one.type(ENTER)
    one.wait(rf"^ object +{hold.result('big')}$")
    one.wait(rf"^ owner +pid {pid} on 127\.0\.0\.2, Worker$")
    one.wait(r"^ copies +127\.0\.0\.2$")
    one.wait(rf"^ created by +hold \(task \w{{48}}, pid {pid}\)$")
    one.wait(r"^ referred to by +1 process$")
    one.type("s")
    one.wait(rf"^ process +pid {pid}, Worker$")
    one.wait(r"^ task +hold$")
    one.wait(r"^ debugger +waiting$")
    one.wait(rf"raydbg attach {pid}@127\.0\.0\.2 -e where")
    one.type(LEFT)
    one.wait(rf"^ object +{hold.result('big')}$")
    one.type(BACKSPACE)
    one.wait_chosen(r"8\.0 MB")
    one.type(LEFT)
    one.wait_chosen(site("big-put"))
    # What another process borrows: both are named.
    one.type(LEFT, "/", hold.result("shared"), ENTER)
    one.wait(rf"filter: {hold.result('shared')}")
    one.type("ggg", "ggg")
    one.wait("^references")
    one.wait(rf" {reader} Worker 127\.0\.0\.1 ")
    one.type(ENTER)
    one.wait(rf"^ owner +pid {pid} on 127\.0\.0\.2")
    one.wait(r"^ referred to by +2 processes$")
    one.wait(rf"^ +{reader}  127\.0\.0\.1 +Worker +")
    one.wait(rf"^ +{pid}  127\.0\.0\.2 +Worker +")
    # What a task returned tells that task; it was fetched to where its owner is.
    one.type(LEFT, "/", ESCAPE, "/", hold.result("returned"), ENTER)
    one.wait(rf"filter: {hold.result('returned')}")
    one.wait_chosen(rf"8\.0 MB +{pid} ")
    one.type(ENTER)
    one.wait(r"^ created by +produce \(task ")
    one.wait(r"^ copies +127\.0\.0\.1, 127\.0\.0\.2$")
    one.type("q")
    assert one.end() == 0


def test_the_owner_of_what_a_relay_holds(objects_cluster, hold, run_relay, top):
    relay = run_relay(objects_cluster)
    relay.join(task="hold").stopped()
    one = top("--relay", relay.host_header, HOME=relay.env["HOME"], XDG_STATE_HOME=relay.env["XDG_STATE_HOME"],
              RAY_ADDRESS=None)
    one.type("/", hold.result("big"), ENTER)
    one.wait("filter: ")
    one.wait_chosen(r"127\.0\.0\.2")
    one.type(ENTER)
    one.wait_chosen(site("big-put"))
    one.type(ENTER)
    one.wait("› references")
    one.wait_chosen(r"8\.0 MB")
    one.type(ENTER)
    one.wait("^ owner ")
    one.type("s")
    one.wait(rf"^ stopped at +\S+objects\.py:{line_of(OBJECTS_PY, 'hold-breakpoint')}, ")
    one.type("q")
    assert one.end() == 0


def test_filter_sort_and_group(objects_cluster, hold, top):
    one = top()
    one.type(F3, "keeper-nobody-has-this")
    one.wait("nothing has the filter's text")
    one.type(ESCAPE)
    one.wait_not("ilter: ")
    one.wait_chosen(r"127\.0\.0\.")
    one.type("/Keeper", ENTER)
    one.wait("filter: Keeper")
    one.wait_chosen(r"127\.0\.0\.")
    one.type("/", ESCAPE)
    for title in ("CALL SITE", "OWNER", "TASK", "ACTOR", "JOB", "REFERENCE"):
        one.type("g")
        one.wait(rf"^ +SIZE .* {title}\b")
    pids = (int(hold.result("pid")), int(hold.result("driver_pid")), int(hold.result("keeper_pid")))
    one.type(F6)
    one.wait("^ Sort by")
    one.type("p")
    one.wait("sorted by pid")
    one.type(HOME)
    one.wait_chosen(rf" {min(pids)} ")
    one.type(">", "s")
    one.wait("sorted by size")
    one.type(HOME)
    one.wait_chosen(r"8\.0 MB")
    one.type("u")
    one.wait_chosen(r"\b8000\d\d\d B")
    # By what a task is called, which has to be asked for.
    one.type("u" * 4, "g", "g", "g", "g")
    one.wait(r"\bhold\b.*$")
    one.type(F10)
    assert one.end() == 0


def test_growth_and_a_choice_that_stays(objects_cluster, top):
    objects_cluster.driver("objects.py", "leaker").wait_for("^RESULT ready leaker")
    one = top("--group-by", "call-site")
    one.wait(rf"^ +2\.0 MB .*{site('leak-put')}")
    one.choose(site("leak-put"))
    grow = objects_cluster.driver("objects.py", "grow", "5")
    grow.wait_for("^RESULT grown 7")
    one.wait(rf"^ +7\.0 MB +\+5\.0 MB .*{site('leak-put')}")
    one.wait_chosen(site("leak-put"))
    one.type(ENTER)
    one.wait(r"^ +1\.0 MB new ")
    one.type("q")
    assert one.end() == 0


def test_paused_it_stays_as_it_is(objects_cluster, top):
    objects_cluster.driver("objects.py", "leaker").wait_for("^RESULT ready leaker")
    one = top("--group-by", "call-site")
    one.wait(rf"^ +2\.0 MB .*{site('leak-put')}")
    one.type(" ")
    one.wait("paused")
    objects_cluster.driver("objects.py", "grow", "5").wait_for("^RESULT grown 7")
    settle(3)
    assert re.search(rf"^ +2\.0 MB .*{site('leak-put')}", one.read(), re.M)
    one.type("r")
    one.wait(rf"^ +7\.0 MB +\+5\.0 MB .*{site('leak-put')}")
    one.type(CTRL_C)
    assert one.end() == 0


def test_other_sizes_of_the_terminal(objects_cluster, hold, top):
    one = top()
    one.wait(" LOCAL +PINNED ")
    one.resize(60, 14)
    one.wait_not("PINNED")
    one.wait_chosen(r"127\.0\.0\.")
    assert one.read().splitlines()[13].startswith("F1Help")
    one.resize(150, 40)
    one.wait(" LOCAL +PINNED ")
    wait_for(lambda: one.read().splitlines()[39:40] and one.read().splitlines()[39].startswith("F1Help"),
             lambda: f"the keys in the last line:\n{one.read()}")
    one.type("h")
    one.wait("^ HELP")
    one.type("q", "q")
    assert one.end() == 0


def test_signals_end_it_in_order(objects_cluster, top):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        one = top()
        one.process.send_signal(number)
        assert one.end() == 0


def test_a_terminal_that_goes_away(objects_cluster, top):
    one = top()
    os.close(one.slave)
    os.close(one.master)
    assert one.process.wait(limit()) == 0
    one.master, one.slave = pty.openpty()  # for close()


def test_ctrl_z_gives_the_terminal_to_the_shell(objects_cluster, terminal):
    raydbg = objects_cluster.raydbg_argv("memory", "--top")
    one = terminal(objects_cluster, "bash", "--norc", "--noediting", "-i", errors=False, PS1="shell> ", HISTFILE="")
    one.wait("shell>$")
    one.type("stty -a >before\r", " ".join(map(str, raydbg)) + "\r")
    one.wait("every 2 s")
    one.type(CTRL_Z)
    one.wait(r"Stopped .*memory --top\s+^shell>$")
    one.type("clear; stty -a | diff - before && echo the sa''me; grep flags /proc/self/fdinfo/0\r")
    one.wait("^the same$")
    one.wait(r"^flags:\s+0*2$")
    one.type("clear\r", "fg\r")
    one.wait("every 2 s")
    one.wait(r"^F1Help")
    one.type("q")
    one.wait("shell>$")
    one.type("clear; stty -a | diff - before && echo the sa''me\r")
    one.wait("^the same$")


def test_colours_only_where_they_are_wanted(objects_cluster, top):
    def colours(one):
        one.wait("^F1Help")
        return {cell.bg for row in one.screen.buffer.values() for cell in row.values()}
    assert colours(top()) == {"default"}
    assert {"green", "cyan"} <= colours(top(NO_COLOR=None))
    assert colours(top(NO_COLOR=None, TERM="vt100")) == {"default"}


def test_what_is_no_terminal_for_it(objects_cluster, terminal):
    raydbg = objects_cluster.raydbg_argv("memory", "--top")
    done = objects_cluster.raydbg("memory", "--top", env={"TERM": "linux"})
    assert done.returncode == 2 and "stdin is none" in done.stderr and "--format" in done.stderr
    assert done.stdout == ""
    for name, why in (("dumb", "TERM=dumb"), ("", "TERM is not set"), ("no-such-terminal", "not known")):
        one = terminal(objects_cluster, *raydbg, TERM=name)
        assert one.end() == 2
        assert why in one.stderr() and "--format" in one.stderr()
        assert not one.read().strip()


def test_a_cluster_that_is_not_there(objects_cluster, terminal):
    one = terminal(objects_cluster, *objects_cluster.raydbg_argv("memory", "--top", "--address", "127.0.0.1:1"))
    assert one.end() == 5
    assert "127.0.0.1:1" in one.stderr()
