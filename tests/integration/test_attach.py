"""`raydbg attach` on a real Ray: scripts on stdin and -e, the console on a terminal."""

import functools
import itertools
import re
import signal
import subprocess

import pytest
import sanitizers
from cluster import PROGRAMS, ClusterTimeout, line_of, table_of_threads, wait_for
from terminal import Terminal
from waits import hard, limit, settle

PAUSES = PROGRAMS / "pauses.py"


def script(cluster, task, *commands, options=(), timeout=None, **more):
    """Runs these lines as `raydbg attach TASK` gets them from a pipe; checks that what it prints is plain."""
    done = cluster.raydbg("attach", task, *options, input="".join(f"{c}\n" for c in commands), timeout=timeout, **more)
    sanitizers.check(done.returncode, done.stderr)
    assert "\033" not in done.stdout and "(raydbg)" not in done.stdout
    return done


def paused(cluster, *names, threads=None):
    driver = cluster.driver("pauses.py", *names)
    cluster.wait_paused(threads or len(names))
    return driver


def location(marker, function):
    return f"{PAUSES}:{line_of(PAUSES, marker)} in {function}"


def ended(out, name):
    """Whether the last line says that the task has ended: often its job has, too, before anybody looks."""
    return re.search(rf"^{name} has ended(, and its job)?\n\Z", out, re.M)


class Console(Terminal):
    failure = ClusterTimeout

    def __init__(self, cluster, *arguments, **env):
        env = {"TERM": "xterm", "LANG": "C.UTF-8", "XDG_STATE_HOME": str(cluster.directory / "state"), **env}
        super().__init__(functools.partial(cluster.raydbg_popen, "attach", *arguments, env=env))

    def prompt(self, command=None):
        self.expect(r"\(raydbg\) ")
        if command is not None:
            self.type(command + "\r")


@pytest.fixture
def terminal():
    open_ones = []

    def start(cluster, *arguments, **env):
        open_ones.append(Console(cluster, *arguments, **env))
        return open_ones[-1]

    yield start
    for one in open_ones:
        one.close()


# --- the core cases, on every version ---

def test_a_script_walks_through_a_task(core_cluster):
    driver = paused(core_cluster, "walk")
    done = script(core_cluster, "walk", "where", "p number", "args", "n", "step", "args", "return", "c")
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert re.search(rf"^walk · job \w+ · \S+ pid \d+ .*stopped at breakpoint\(\)$", out, re.M), out
    assert location("walk-breakpoint", "walk") in out
    assert re.search(rf"^  → +{line_of(PAUSES, 'walk-breakpoint')} +breakpoint\(\)", out, re.M), out
    assert re.search(r"frames? of Ray \(where --all\)$", out, re.M), out
    assert re.search(r"^7$", out, re.M) and re.search(r"^  count +10 · int$", out, re.M), out
    assert re.search(rf"^  → +{line_of(PAUSES, 'walk-call')} +first = ", out, re.M), out
    assert re.search(r"^  values +\[0, 1, 2.* · list$", out, re.M), out
    assert ended(out, "walk")
    assert driver.result("walk") == "232"


def test_breakpoints_and_assignments_in_a_script(core_cluster):
    driver = paused(core_cluster, "walk")
    done = script(core_cluster, "walk",
                  f"break pauses.py:{line_of(PAUSES, 'helper-add')}, i == 4", "c", "(i, scaled)", "scaled = 1000", "clear 1",
                  "tbreak helper", "c", "break", "p scale", "c")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  +1  .*pauses\.py:\d+  if i == 4$", done.stdout, re.M), done.stdout
    assert f"{location('helper-add', 'helper')} · breakpoint 1" in done.stdout
    assert "(4, 8)" in done.stdout
    assert re.search(r"in helper · breakpoint 2$", done.stdout, re.M), done.stdout
    assert re.search(r"^3$", done.stdout, re.M), done.stdout
    assert "no breakpoints" in done.stderr
    assert driver.result("walk") == str(232 + 992)


def test_looks_disturb_nothing(core_cluster):
    driver = paused(core_cluster, "looked")
    done = script(core_cluster, "looked", "p dropped is None", "locals", "n", "n", "n", "p plain", "n", "c")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  plain +7 · int$", done.stdout, re.M), done.stdout
    assert re.search(r"^  endless +.*not shown, because it takes more than 3 s.* · Endless$", done.stdout, re.M), done.stdout
    assert re.search(rf"^  → +{line_of(PAUSES, 'looked-wait')} +code = ", done.stdout, re.M), done.stdout
    assert driver.result("looked") == "False 7 None Endless"


def test_post_mortem(core_cluster):
    driver = paused(core_cluster, "boom")
    # Ray tells the state of a task some time after the worker has stopped.
    wait_for(lambda: "waits for a debugger" in core_cluster.raydbg("why", "boom", check=True).stdout, "why says that it is stopped")
    done = script(core_cluster, "boom", "exceptioninfo", "p value", "up", "p tag", "exceptions")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("post mortem") and lines[1] == "ValueError: boom 2", done.stdout
    assert location("boom-raise", "middle") in done.stdout
    assert "KeyError: 'bad 2'" in done.stdout and location("boom-call", "boom") in done.stdout
    assert "'outer'" in lines and "goes on: its exception goes to its caller" in lines[-1]
    assert re.search(r"^\W+0  KeyError: 'bad 2'\n\W+1  ValueError: boom 2$", done.stdout, re.M), done.stdout
    driver.wait_for(r"ValueError: boom 2")


def test_two_breakpoints_in_a_row(core_cluster):
    driver = paused(core_cluster, "twice")
    done = script(core_cluster, "twice", "c", "p x", "c")
    assert re.search(r"^4$", done.stdout, re.M), done.stdout
    assert ended(done.stdout, "twice")
    assert driver.result("twice") == "4"


# --- what it prints ---

def test_a_breakpoint_in_a_copied_working_dir(cluster):
    """By the path of the original; `clear` by that of the copy, which is the stack's."""
    steps = PROGRAMS / "copied/steps.py"
    driver = cluster.driver("copied/main.py")
    cluster.wait_paused()
    add, double = line_of(steps, "copied-add"), line_of(steps, "copied-double")
    done = script(cluster, "copied", f"break {steps}:{add}", f"tbreak {steps}:{double}", f"clear steps.py:{add}", "c", "p y", "break",
                  "c")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"steps\.py:{double} in copied · breakpoint 2$", done.stdout, re.M), done.stdout
    assert re.search(r"^2$", done.stdout, re.M) and "no breakpoints" in done.stderr, (done.stdout, done.stderr)
    assert driver.result("copied") == "4"


def test_values(cluster):
    paused(cluster, "walk")
    done = script(cluster, "walk", "p 'x' * 100000", "p --all 'y' * 3000", "p None", "None", "pp {'k': list(range(99))}",
                  "whatis array", "source helper", "locals", "p '\\x1b[31m'", "p chr(27) + 'é'", "p 1/0", "nonsense(", "mapping")
    out, err = done.stdout, done.stderr
    assert done.returncode == 0
    assert re.search(r"^'x{1999}\n… (over )?[\d,]+ more characters: p --all 'x' \* 100000$", out, re.M), out[-3000:]
    assert "'" + "y" * 3000 + "'" in out
    assert out.count("None\n") == 1
    assert "\n       1,\n" in out and "<class 'numpy.ndarray'>" in out
    assert "def helper(values, scale):" in out
    assert re.search(r"^  point +Point\(3, 4\) · Point$", out, re.M)
    assert re.search(r"^  text +'héllo 😀' · str$", out, re.M)
    assert all(len(line) <= 102 for line in out[out.index("  array "):].splitlines() if " · " in line)
    assert err.count("*** ZeroDivisionError: division by zero") == 1 and "*** SyntaxError" in err
    assert out.rstrip().endswith("walk goes on") and "{'one': 1, 'nested': {'two': 2}}" in out


def test_lines_and_frames(cluster):
    paused(cluster, "walk")
    breakpoint_line = line_of(PAUSES, "walk-breakpoint")
    done = script(cluster, "walk", "tbreak helper", "c", "ll", "up", "list", "list 1,2", "list", "down", "down",
                  f"until {line_of(PAUSES, 'helper-return')}", "p total", "return", "until")
    out = done.stdout
    assert re.search(r"^ +\d+ +def helper\(values, scale\):$", out, re.M)
    assert location("walk-call", "walk") in out
    assert re.search(rf"^ +{breakpoint_line} +breakpoint\(\)", out, re.M)
    assert re.search(r'^ +1 +"""A Ray driver', out, re.M) and re.search(r"^ +3 +pauses\.py square", out, re.M), out
    assert "*** this is the newest frame" in done.stderr
    assert re.search(r"^90$", out, re.M), out
    assert re.search(rf"^  → +{line_of(PAUSES, 'walk-second-call')} ", out, re.M), out


def test_displays(cluster):
    paused(cluster, "walk")
    done = script(cluster, "walk", "display number", "number = 8", "n", "n", "display", "undisplay number", "display")
    assert re.findall(r"^  number: .*$", done.stdout, re.M) == ["  number: 7", "  number: 8  [was: 7]"]
    assert "nothing is displayed" in done.stderr


def test_what_the_task_prints_shows(cluster):
    paused(cluster, "twice")
    done = script(cluster, "twice", "print('from the task')", "c")
    assert "\nfrom the task\n" in done.stdout
    done = script(cluster, "twice", "c", options=["-q"])
    assert "job" not in done.stdout.replace("twice has ended, and its job\n", "")  # which shows if the job ends in time


def attached_when_all_stand(cluster, task, count, *commands):
    """The table of threads once so many are stopped, as debugpy stops one after the other; then stdout and stderr of these
    commands."""
    process = cluster.raydbg_popen("attach", task, stderr=subprocess.PIPE, text=True)
    table = []

    def stand():
        table[:] = table_of_threads(process)
        return len(re.findall(r"^  [ →] +\d+ .* stopped at ", "".join(table), re.M)) == count  # the greeting has these words, too

    wait_for(stand, lambda: f"{count} threads stand: {table}", every=0.3)
    out, err = process.communicate("".join(f"{command}\n" for command in commands), timeout=limit())
    return "".join(table), subprocess.CompletedProcess(process.args, process.returncode, out, err)


def test_threads(cluster):
    driver = paused(cluster, "threaded", threads=3)
    table, done = attached_when_all_stand(cluster, "Pool.work", 3, *[f"thread {n}" for n in range(1, 9)], "thread x")
    assert len(re.findall(r"^  [ →] +\d+  Pool.work thread-\d +stopped at .*pauses\.py:\d+ in work$", table, re.M)) == 3, table
    assert len(re.findall(r"^\[thread \d+ \(Pool.work thread-\d\) stopped at .* in work\]$", done.stderr, re.M)) == 2, done.stderr
    assert "there is no thread" in done.stderr and "is running" in done.stderr
    for rank in range(3):
        assert driver.result(f"threaded-{rank}") == f"rank {rank}"


# --- leaving ---

def test_a_step_off_the_end_is_the_end(cluster):
    driver = paused(cluster, "square", "threaded", threads=4)
    done = script(cluster, "square", "n", "n", "return", "where")
    assert done.returncode == 0 and ended(done.stdout, "square"), (done.stdout, done.stderr)
    assert "main_loop" not in done.stdout
    _, done = attached_when_all_stand(cluster, "Pool", 3, "n", "n", "threads")  # one is over, the others stay where they are
    assert done.returncode == 0, done.stderr
    assert "has left the task's code" in done.stderr and "site-packages" not in done.stdout, (done.stdout, done.stderr)
    assert len(re.findall(r"stopped at .* in work$", done.stdout, re.M)) == 2, done.stdout
    driver.result("square")


def test_the_end_of_input_lets_the_task_go_on(cluster):
    driver = paused(cluster, "square")
    done = script(cluster, "square")
    assert done.returncode == 0 and done.stdout.rstrip().endswith("square goes on")
    assert driver.result("square") == "9"


@pytest.mark.parametrize("verb", ["quit", "detach"])
def test_leaving_verbs_let_the_task_go_on(cluster, verb):
    driver = paused(cluster, "square")
    done = script(cluster, "square", verb, "p 'not run'")
    assert done.returncode == 0 and "not run" not in done.stdout
    assert driver.result("square") == "9"


def test_commands_of_the_command_line(cluster):
    driver = paused(cluster, "square")
    done = cluster.raydbg("attach", "square", "-e", "p y", "--command=y = 1", "-e", "c")
    assert done.returncode == 0 and re.search(r"^9$", done.stdout, re.M)
    assert driver.result("square") == "1"


def test_strict(cluster):
    paused(cluster, "square", "twice")
    done = cluster.raydbg("attach", "square", "-e", "p missing", "-e", "p y")
    assert done.returncode == 0 and "NameError" in done.stderr and re.search(r"^9$", done.stdout, re.M)
    done = cluster.raydbg("attach", "twice", "--strict", "-e", "p missing", "-e", "p x")
    assert done.returncode == 1 and "NameError" in done.stderr and not re.search(r"^1$", done.stdout, re.M)


def test_looking_never_lets_go(cluster, tmp_path):
    """Without a relay an attach starts one."""
    own = {"env": {"RAYDBG_START_RELAY": None, "XDG_STATE_HOME": str(tmp_path)}}
    driver = paused(cluster, "square")
    done = script(cluster, "square", "where", "p y", **own)
    assert done.returncode == 0 and "started relay 127.0.0.1:" in done.stderr and re.search(r"^9$", done.stdout, re.M)
    done = cluster.raydbg("attach", "square", "-e", "locals", **own)
    assert done.returncode == 0 and re.search(r"^  y +9", done.stdout, re.M) and "stays held" in done.stdout + done.stderr
    assert "square" in (rows := cluster.raydbg("list", **own).stdout) and "held" in rows
    with hard():
        assert not driver.results()
    assert script(cluster, "square", "p x", "quit", **own).returncode == 0
    assert driver.result("square") == "9"


def test_an_interrupted_script_lets_the_task_go_on(cluster):
    driver = paused(cluster, "spin")
    process = cluster.raydbg_popen("attach", "spin", "--echo", "-e", "c")
    assert b"(raydbg) c\n" in iter(process.stdout.readline, b""), process.stdout.read()
    process.wait_catches(signal.SIGINT)
    settle(0.5)  # it runs
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=limit())
    assert process.returncode == 130 and b"spin goes on" in out
    with hard():
        assert not driver.results()


def test_a_worker_that_dies_is_told(cluster):
    paused(cluster, "square")
    pid = cluster.paused()[0]["pid"]
    process = cluster.raydbg_popen("attach", "square", stderr=-1)
    process.stdin.write(b"p y\n")
    process.stdin.flush()
    lines = list(itertools.takewhile(lambda line: line not in (b"9\n", b""), iter(process.stdout.readline, None)))
    assert process.poll() is None, (lines, process.stderr.read())
    cluster.kill(pid)
    assert process.wait(limit()) == 1  # its stdin is still open
    err = process.stderr.read()
    assert b"died" in err and str(pid).encode() in err


def test_a_worker_that_dies_in_an_expression_is_told_once(cluster):
    paused(cluster, "square")
    pid = cluster.paused()[0]["pid"]
    done = script(cluster, "square", "p __import__('os')._exit(3)", "p y", "where", "continue")
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1 and "died" in done.stderr and str(pid) in done.stderr, done.stderr


def test_kill_ends_the_worker(cluster):
    driver = paused(cluster, "square")
    done = script(cluster, "square", "quit", options=["--kill"])
    assert done.returncode == 0 and "the worker of square is ended" in done.stdout
    with hard():
        assert not driver.results()


# --- which task ---

def test_no_such_task(cluster):
    done = cluster.raydbg("attach", "nosuch", input="")
    assert done.returncode == 3 and "nosuch" in done.stderr and "raydbg list" in done.stderr


def test_several_candidates(cluster):
    paused(cluster, "square", "twice", "on_b")
    done = cluster.raydbg("attach", input="")
    assert done.returncode == 3
    assert all(name in done.stderr for name in ("square", "twice", "on_b")), done.stderr
    row = re.search(r"^  (\w+) +twice", done.stderr, re.M)
    done = script(cluster, row.group(1), "p x")
    assert done.stdout.startswith("twice · ")


def test_connect(cluster):
    driver = paused(cluster, "square")
    row = cluster.paused()[0]
    done = cluster.raydbg("attach", "--connect", f"{row['ip']}:{row['debugger_port']}", "-e", "p y")
    assert done.returncode == 0 and re.search(r"^9$", done.stdout, re.M), done.stderr
    assert driver.result("square") == "9"


def test_wrong_usage(cluster):
    for arguments in (["a", "--all"], ["--map", "x"], ["-e"], ["--nosuch"]):
        done = cluster.raydbg("attach", *arguments, input="")
        assert done.returncode == 2 and "usage: raydbg attach" in done.stderr
    done = cluster.raydbg("attach", "--help")
    assert done.returncode == 0 and "--strict" in done.stdout and "printf" in done.stdout


# --- a terminal ---

def test_the_console_on_a_terminal(cluster, terminal):
    driver = paused(cluster, "walk")
    console = terminal(cluster, "walk")
    console.expect(r"walk · job")
    console.prompt("n")
    console.expect(r"→ +\d+ +first = ")
    console.prompt("")
    console.expect(r"→ +\d+ +second = ")
    console.prompt()
    console.type("p numb")

    def completed():
        console.type("\t")
        settle(2.5)  # it waits 2 s for the worker
        return re.search("numb.*er", console.plain()[console.seen:], re.S)  # libedit writes the rest of the word only

    wait_for(completed, console.plain)
    console.type("\r")
    console.expect(r"\n7\r?\n")
    console.prompt()
    console.type("wh\t")
    console.expect(r"where +whatis")
    console.type("er\t\r")
    console.expect(r"frames? of Ray")
    console.prompt("text + 'é'")
    console.expect(r"héllo 😀é")
    console.prompt()
    console.type("\x04")
    console.expect(r"walk goes on")
    assert console.end() == 0
    assert driver.result("walk") == "232"
    history = cluster.directory / "state/raydbg/history"
    assert history.stat().st_mode & 0o777 == 0o600 and "p number\n" in history.read_text()


BLOCK = """\
    for i in range(3):
        if i == 1:

            continue
        print("turn", i)
"""


def test_a_pasted_block_is_python(cluster, terminal):
    driver = paused(cluster, "walk")
    console = terminal(cluster, "walk")
    console.expect(r"walk · job")
    console.prompt()
    console.type(f"\033[200~{BLOCK}\033[201~".replace("\n", "\r"))
    console.expect(r'print\("turn", i\)')  # Enter runs it
    console.type("\r")
    console.expect(r"\nturn 0\r?\nturn 2\r?\n")
    console.prompt()
    console.type(BLOCK.replace("\n", "\r") + "\r")  # a terminal that marks nothing: the empty line ends the block
    console.expect(r"\n\.\.\. +if i == 1:")
    console.expect(r"SyntaxError: 'continue' not properly in loop")
    console.prompt("p (number,")
    console.expect(r"\.\.\. ")
    console.type("2)\r")
    console.expect(r"\(7, 2\)")
    console.prompt("for i in number:")
    console.expect(r"\.\.\. ")
    console.type("    c")
    console.expect(r"    c")
    console.process.send_signal(signal.SIGINT)
    console.prompt()
    console.type("\033[200~p number\rtbreak helper\rcontinue\r\033[201~")  # nothing but verbs: one after the other
    console.expect(r"continue")
    console.type("\r")
    console.expect(r"\n7\r?\n")
    console.expect(r"in helper · breakpoint 1")
    console.prompt("c")
    console.expect(r"walk has ended")
    assert console.end() == 0
    assert driver.result("walk") == "232"


def test_a_block_in_a_script_is_python(cluster):
    driver = paused(cluster, "walk")
    done = script(cluster, "walk", *BLOCK.splitlines(), "", "p number ;; p 'a;;b'", "for _ in 'x':", "    continue")
    assert "SyntaxError: 'continue' not properly in loop" in done.stderr, done.stderr
    assert re.search(r"^7\n'a;;b'\nwalk goes on$", done.stdout, re.M), done.stdout
    assert driver.result("walk") == "232"


def test_interrupt_pauses_a_running_task(cluster, terminal):
    paused(cluster, "spin")
    console = terminal(cluster, "spin")
    console.expect(r"spin · job")
    console.prompt("c")
    console.expect(r"running; \^C pauses")
    console.process.send_signal(signal.SIGINT)
    console.expect(r"in spin · paused")
    console.prompt()
    console.type("half a li")
    console.expect("half a li")
    console.process.send_signal(signal.SIGINT)
    console.prompt("p turns > 0")
    console.expect(r"True")
    console.prompt()
    for _ in range(2):
        console.process.send_signal(signal.SIGINT)
        settle(0.5)
    console.expect(r"\^D or quit leaves")
    console.prompt("c")
    settle(0.5)
    console.process.send_signal(signal.SIGTERM)
    console.expect(r"spin goes on")
    assert console.end() == 1


CALLS_AN_ACTOR_TWICE = """
import os, sys, time
import ray

@ray.remote
class Counter:
    def __init__(self):
        self.count = 0

    def add(self, n):
        self.count += n
        breakpoint()
        return self.count

ray.init(address="127.0.0.1:6379", _node_ip_address="127.0.0.1")
counter = Counter.remote()
print(ray.get(counter.add.remote(1)))
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
print(ray.get(counter.add.remote(2)))
time.sleep(60)
"""


def test_an_actor_stops_in_its_next_call(cluster, terminal, tmp_path):
    program, go = cluster.directory / "twice.py", tmp_path / "go"
    program.write_text(CALLS_AN_ACTOR_TWICE)
    cluster.driver(program, str(go))
    cluster.wait_paused()
    console = terminal(cluster, "Counter")
    console.expect(r"Counter\S* · job")
    console.prompt("c")
    console.expect(r"Counter(.add)? has ended; waiting for the actor's next stop")
    go.touch()
    console.expect(r"in add")
    console.prompt("p self.count")
    console.expect(r"\n3\r?\n")
    console.prompt("c")
    console.expect(r"waiting for the actor's next stop")
    console.process.send_signal(signal.SIGINT)
    console.expect(r"pausing; \^C again leaves")
    console.process.send_signal(signal.SIGINT)
    console.expect(r"Counter(.add)? goes on")
    assert console.end() == 0


def test_a_choice_on_a_terminal(cluster, terminal):
    paused(cluster, "square", "twice")
    console = terminal(cluster)
    console.expect(r"which\? \[1-2\] ")
    console.type("9\r")
    console.expect(r"which\? \[1-2\] ")
    console.type("1\r")
    console.prompt("q")
    console.expect(r"goes on")
    assert console.end() == 0


def test_echo_prints_the_commands(cluster):
    paused(cluster, "square")
    done = cluster.raydbg("attach", "square", "--echo", "-e", "p x", "-e", "c")
    assert "(raydbg) p x\n3\n(raydbg) c\n" in done.stdout, done.stdout
