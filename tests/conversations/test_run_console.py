"""`raydbg run` on a terminal: what stops gets a console, and the program has the terminal again after it. The agent and
pydevd are real, without Ray."""

import functools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from agent_relay import relay, start  # noqa: F401
from relay_under_test import raydbg_path
from terminal import Terminal
from waits import settle, wait_until

DRIVER = """\
import os
import sys, time
import raydbg_run
raydbg_run.runtime_env({"env_vars": {}})
while sys.gettrace() is None:  # on a busy machine the relay's word may come too late
    time.sleep(0.05)

def work(n):
    m = n + 1
    return m

"""
WORK = "train.py:9"


# What an interactive shell does: a job has the terminal until it ends, or is suspended and resumed later, in the foreground
# or by the word `bg` in the background.
SHELL = """
set -m
"$@"
code=$?
while [ "$(jobs -r)$(jobs -s)" ]; do
    echo "[suspended]"
    read -r how
    ${how:-fg}
    code=$?
done
echo "[ended with $code]"
"""


# Becomes the first program of the terminal that is its input. The tests may be a script's job in the background, where ^C is
# ignored.
FIRST = """
import fcntl, os, signal, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Run(Terminal):
    """`raydbg run` in a terminal, by a shell, or else as the terminal's first program."""

    def __init__(self, relay, *arguments, shell=True):
        env = {**os.environ, **relay.env, "RAYDBG_RELAY": "%s:%d" % relay.address, "TERM": "xterm", "LANG": "C.UTF-8"}
        argv = [raydbg_path(), "run", *map(str, arguments)]
        if shell:
            argv = ["/bin/bash", "-c", SHELL, "bash", *argv]
        super().__init__(functools.partial(subprocess.Popen, [sys.executable, "-c", FIRST, *argv],
                                           env={name: value for name, value in env.items() if value is not None}))
        self.pid = self.process.pid

    def marks_pastes(self):
        self.plain()
        marks = re.findall(r"\033\[\?2004([hl])", self.text)
        return marks[-1:] == ["h"]

    def leave_console(self, keys):
        """Types this at the console's prompt, and waits until the program has the terminal."""
        self.expect(r"\(raydbg\) ")
        console = os.tcgetpgrp(self.master)
        self.type(keys)
        wait_until(lambda: os.tcgetpgrp(self.master) != console, "the console has ended")

    def close(self):
        self.hang_up()


@pytest.fixture
def run(relay, tmp_path):
    started = []

    def run(program, *arguments, relay=relay, **options):
        (tmp_path / "train.py").write_text(DRIVER + program)
        started.append(Run(relay, "--break", tmp_path / WORK, *arguments, "--", sys.executable, tmp_path / "train.py", **options))
        return started[-1]

    yield run
    for terminal in started:
        terminal.close()


def test_a_stop_gets_a_console_and_the_program_its_end(run):
    terminal = run("print('result', work(3), flush=True)\nsys.exit(7)\n")
    terminal.expect(r"train\.py:9 in work")
    terminal.expect(r"\(raydbg\) ")
    terminal.type("p n * 2\r")
    terminal.expect(r"\n6\r\n")
    terminal.type("next\r")
    terminal.expect("return m")
    terminal.type("c\r")
    terminal.expect("result 4")
    terminal.expect(r"\[ended with 7\]")


def test_the_program_has_the_terminal_again(run):
    terminal = run("work(1)\ntime.sleep(5)\nname = input('who? ')\nwork(2)\nprint('hello', name, flush=True)\n")
    terminal.leave_console("c\r")
    terminal.expect(r"who\? ")
    terminal.type("Ada\n")
    terminal.leave_console("c\r")
    terminal.expect("hello Ada")
    terminal.expect(r"\[ended with 0\]")


def test_what_is_left_stopped_gets_no_console_at_once(run, relay):
    terminal = run("work(1)\nprint('went on', flush=True)\nwork(2)\n")
    terminal.expect(r"\(raydbg\) ")
    terminal.type("next\r")
    terminal.expect("return m")
    terminal.type("detach\r")
    wait_until(lambda: [p["state"] for p in relay.pauses()] == ["held"], lambda: str(relay.pauses()))
    settle(1.5)  # four looks
    assert "(raydbg) " not in terminal.plain()[terminal.seen:].replace("(raydbg) detach", "")
    pid = relay.pauses()[0]["pid"]
    assert relay.http("POST", f"/v1/pauses/{pid}@127.0.0.1/continue").status == 200
    terminal.expect("went on")
    terminal.expect(r"\(raydbg\) ")  # another stop
    terminal.type("c\r")
    terminal.expect(r"\[ended with 0\]")


LOOPS = "for n in range(%d):\n    work(n)\nprint('went on', flush=True)\n"


def test_the_stop_after_quit_gets_a_console(run, start):
    """At a relay as `raydbg run` starts it; at the same line, before it has been seen that the task went on."""
    terminal = run(LOOPS % 3, relay=start("--hold", "on-loss"))
    for keys in "quit\r", "\x04", "c\r":  # ^D
        terminal.expect(r"train\.py:9 in work")
        terminal.leave_console(keys)
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")


def test_what_quit_leaves_stopped_gets_no_console(run, relay):
    """At a relay that was started by hand."""
    terminal = run(LOOPS % 2)
    terminal.expect(r"train\.py:9 in work")
    terminal.leave_console("quit\r")
    pause, = relay.stop()
    settle(1.5)  # four looks
    assert relay.pauses() == [pause] and pause["client_left"]
    relay.go_on(pause)
    terminal.expect(r"train\.py:9 in work")
    terminal.leave_console("c\r")
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")


def test_the_stop_after_another_clients_word_gets_a_console(run, relay):
    terminal = run(LOOPS % 2)
    terminal.expect(r"train\.py:9 in work")
    terminal.leave_console("detach\r")
    relay.go_on(relay.stop()[0])
    terminal.expect(r"train\.py:9 in work")
    terminal.leave_console("c\r")
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")


def test_a_stop_is_in_the_terminal_of_its_run(run):
    bystander = run("print('waits', flush=True)\ninput()\n")
    bystander.expect("waits")
    terminal = run(LOOPS % 6)
    for _ in range(6):
        terminal.expect(r"train\.py:9 in work")
        terminal.leave_console("c\r")
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")
    bystander.type("\n")
    bystander.expect(r"\[ended with 0\]")
    assert "(raydbg)" not in bystander.plain()


def test_a_console_that_fails_is_not_opened_again(run, relay):
    terminal = run("work(1)\nprint('went on', flush=True)\n")
    terminal.expect(r"\(raydbg\) ")
    os.kill(os.tcgetpgrp(terminal.master), signal.SIGKILL)
    found = terminal.expect(r"stopped at train\.py:9 · raydbg attach (\S+)")
    settle(1.5)  # four looks
    assert not re.search(r"\(raydbg\) |stopped at", terminal.plain()[terminal.seen:])
    assert relay.http("POST", f"/v1/pauses/{found[1]}/continue").status == 200
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")


# Tells each time anew that its main thread sleeps: ^C before that, or in pydevd, pauses elsewhere or not at all.
WAITS = """\
work(1)
import threading

def tell(main, code, line, looks=0):
    while True:
        frame = sys._current_frames()[main]
        looks = looks + 1 if frame.f_code is code and frame.f_lineno == line else 0
        if looks == 3:
            print('waits', flush=True)
        time.sleep(0.01)

line = open(__file__).read().splitlines().index('    time.sleep(600)') + 1
teller = threading.Thread(target=tell, args=(threading.main_thread().ident, sys._getframe().f_code, line), daemon=True)
teller.pydev_do_not_trace = teller.is_pydev_daemon_thread = True
teller.start()
try:
    time.sleep(600)
except KeyboardInterrupt:
    print('interrupted', flush=True)
    sys.exit(5)
"""
ASKED = r"raydbg: \^C pauses the program; \^C once more ends it"


def test_an_interrupt_is_the_consoles_while_it_is_open(run):
    terminal = run("work(1)\nprint('went on', flush=True)\n")
    terminal.expect(r"\(raydbg\) ")
    terminal.type("\x03")
    terminal.type("p n + 10\r")
    terminal.expect(r"11\r\n")
    terminal.leave_console("c\r")
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")


def test_an_interrupt_pauses_the_program_and_two_end_it(run, relay):
    terminal = run(WAITS)
    terminal.leave_console("c\r")
    terminal.expect("waits")
    terminal.type("\x03")
    terminal.expect(ASKED)
    terminal.expect(r"train\.py:\d+ in <module>")
    terminal.expect(r"→ \d+ +time\.sleep\(600\)")
    terminal.expect(r"\(raydbg\) ")
    terminal.type("p 40 + 2\r")
    terminal.expect(r"\n42\r\n")
    terminal.leave_console("c\r")
    wait_until(lambda: relay.pauses() == [], lambda: str(relay.pauses()))
    terminal.expect("waits")
    relay.process.send_signal(signal.SIGSTOP)  # so that the pause is under way when the other comes
    try:
        terminal.type("\x03")
        terminal.expect(ASKED)
        terminal.type("\x03")
        terminal.expect("interrupted")
    finally:
        relay.process.send_signal(signal.SIGCONT)
    terminal.expect(r"\[ended with 5\]")


@pytest.mark.parametrize("program, code", [
    ("import signal\nsignal.signal(signal.SIGINT, lambda *_: sys.exit(6))\n", 6),  # its own handler
    ("import raydbg_agent\nraydbg_agent.agent.close()\n", 5),  # no relay
])
def test_an_interrupt_is_the_programs(run, program, code):
    terminal = run(program + WAITS.replace("work(1)", ""))
    terminal.expect("waits")
    terminal.type("\x03")
    terminal.expect(rf"\[ended with {code}\]")
    assert not re.search(ASKED, terminal.plain())


def test_without_the_console_an_interrupt_is_the_programs(run):
    terminal = run(WAITS.replace("work(1)", ""), "--detach")
    terminal.expect("waits")
    terminal.type("\x03")
    terminal.expect(r"\[ended with 5\]")


def test_a_console_is_suspended_with_the_program(run):
    terminal = run("work(1)\nprint('went on', flush=True)\n")
    terminal.expect(r"\(raydbg\) ")
    terminal.type("\x1a")
    terminal.expect(r"\[suspended\]")
    assert terminal.marks_pastes() is False
    terminal.type("\n")
    wait_until(terminal.marks_pastes, "pastes are marked again")
    terminal.type("p n + 10\r")
    terminal.expect(r"11\r\n")
    terminal.type("c\r")
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")


@pytest.mark.parametrize("options", [{"detach": True}, {"shell": False}])
def test_without_a_console_it_says_how_to_attach(run, relay, options):
    terminal = run("work(1)\nprint('went on', flush=True)\n", *["--detach"] * options.pop("detach", False), **options)
    found = terminal.expect(r"stopped at train\.py:9 · raydbg attach (\S+)")
    settle(1)
    assert "(raydbg)" not in terminal.plain()
    relay.cli("attach", found[1], input="c\n", code=1)  # the program has ended
    terminal.expect("went on")
    assert terminal.end() == 0


# --- in the background ---


def test_a_stop_in_the_background_takes_no_terminal(run, relay, tmp_path):
    go = tmp_path / "go"
    terminal = run(f"print('begins', flush=True)\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
                   f"work(1)\nos.remove({str(go)!r})\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
                   "work(2)\nprint('went on', flush=True)\n")
    terminal.expect("begins")
    terminal.type("\x1a")
    terminal.expect(r"\[suspended\]")
    terminal.type("bg\n")
    terminal.expect(r"\[suspended\]")
    go.touch()
    found = terminal.expect(r"stopped at train\.py:9 · raydbg attach (\S+)")
    assert os.tcgetpgrp(terminal.master) == terminal.pid
    terminal.type("\n")
    wait_until(lambda: os.tcgetpgrp(terminal.master) != terminal.pid, "the job has the terminal")
    assert relay.http("POST", f"/v1/pauses/{found[1]}/continue").status == 200
    wait_until(lambda: not go.exists(), "it goes on")
    go.touch()
    terminal.leave_console("c\r")
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")


def test_a_suspended_console_waits_for_the_terminal(run):
    terminal = run("work(1)\nprint('went on', flush=True)\n")
    terminal.expect(r"\(raydbg\) ")
    terminal.type("\x1a")
    terminal.expect(r"\[suspended\]")
    terminal.type("bg\n")
    terminal.expect(r"\[suspended\]")
    settle(0.5)  # some looks at the console
    assert os.tcgetpgrp(terminal.master) == terminal.pid
    terminal.type("\n")
    wait_until(lambda: os.tcgetpgrp(terminal.master) != terminal.pid, "the console has the terminal")
    terminal.type("p n + 10\r")
    terminal.expect(r"11\r\n")
    terminal.type("c\r")
    terminal.expect("went on")
    terminal.expect(r"\[ended with 0\]")


def directories(relay):
    return list((relay.state / "s/raydbg").glob("run-*"))


def test_a_suspended_console_ends_with_the_program(run, relay):
    terminal = run("work(1)\n")
    terminal.expect(r"\(raydbg\) ")
    terminal.type("\x1a")
    terminal.expect(r"\[suspended\]")
    terminal.type("eval kill %1; bg %1; wait %1\n")
    terminal.expect(r"\[ended with 143\]")
    assert directories(relay) == [] and relay.breakpoints()["breakpoints"] == []
    wait_until(lambda: relay.sessions() == [], lambda: str(relay.sessions()))


STOPS_IN_A_CHILD = """\
import subprocess
if len(sys.argv) == 1:
    subprocess.Popen([sys.executable, __file__, "child"])
    time.sleep(600)
work(1)
"""


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_signal_ends_a_console_whose_program_has_ended(run, relay):
    terminal = run(STOPS_IN_A_CHILD)
    terminal.expect(r"\(raydbg\) ")
    child = relay.stop()[0]["pid"]
    driver = parent_of(child)
    job = parent_of(driver)
    os.kill(driver, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{driver}").exists(), "the driver has ended")
    settle()  # until its parent knows
    assert not terminal.ended()
    os.kill(job, signal.SIGTERM)
    terminal.expect(r"\[ended with 137\]")
    assert relay.http("POST", f"/v1/pauses/{child}@127.0.0.1/continue").status == 200


def test_a_console_that_ends_in_the_background_takes_no_terminal(run, relay):
    terminal = run("work(1)\nprint('went on', flush=True)\n")
    terminal.expect(r"\(raydbg\) ")
    console = os.tcgetpgrp(terminal.master)
    pause, = relay.stop()
    terminal.type("\x1a")
    terminal.expect(r"\[suspended\]")
    terminal.type("bg\n")
    terminal.expect(r"\[suspended\]")
    os.kill(console, signal.SIGKILL)
    wait_until(lambda: [p["state"] for p in relay.pauses()] == ["held"], lambda: str(relay.pauses()))
    assert relay.http("POST", f"/v1/pauses/{pause['pid']}@127.0.0.1/continue").status == 200
    terminal.expect("went on")
    assert os.tcgetpgrp(terminal.master) == terminal.pid
    terminal.type("wait\n")
    terminal.expect(r"\[ended with 0\]")
