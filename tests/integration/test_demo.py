"""tools/demo, whole, and the wrapper that a user types into after --keep."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cluster import ROOT
from terminal import Terminal
from waits import limit

WRAPPER = ROOT / "tools/demo.d/wrapper"

COUNTS_INTERRUPTS = """
import os, signal
interrupts = 0
def count(*_):
    global interrupts
    interrupts += 1
    os.write(1, b"interrupt %d\\n" % interrupts)  # print() may be at work
usual = signal.signal(signal.SIGINT, count) == signal.default_int_handler
wakes, wake = os.pipe()  # a signal that comes right before signal.pause() would leave it waiting
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
print("ready", usual, sorted(os.environ), flush=True)
while interrupts < 2:
    os.read(wakes, 1)
raise SystemExit(7)
"""


@pytest.fixture
def namespace():
    """A process in namespaces as tools/demo makes them."""
    user = [] if os.getuid() == 0 else ["-r"]
    outer = subprocess.Popen(["unshare", *user, "-n", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c",
                              "echo ready; exec sleep 600"], stdout=subprocess.PIPE, text=True)
    assert outer.stdout.readline() == "ready\n"
    yield Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().strip()
    outer.kill()
    outer.wait(limit())
    outer.stdout.close()


def test_an_interrupt_reaches_the_program_alone(namespace, tmp_path):
    program, script = tmp_path / "program.py", tmp_path / "raydbg"
    program.write_text(COUNTS_INTERRUPTS)
    user = [] if os.getuid() == 0 else ["-U", "--preserve-credentials"]
    made = subprocess.run([WRAPPER, namespace, *user, "--", "LANG=C.UTF-8", "HOME=a b", sys.executable], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    script.write_text(made.stdout)
    script.chmod(0o755)
    terminal = Terminal(functools.partial(subprocess.Popen, ["setsid", "--ctty", script, program]))
    terminal.expect(r"ready True \['HOME', 'LANG")
    for number in 1, 2:
        terminal.type("\x03")
        terminal.expect(f"interrupt {number}")
    assert terminal.end() == 7
    terminal.close()


def run_demo():
    """What tools/demo prints. On SIGTERM it ends what it has started, which SIGKILL would leave."""
    demo = subprocess.Popen([ROOT / "tools/demo"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text, _ = demo.communicate(timeout=limit(300))
    except subprocess.TimeoutExpired:
        demo.terminate()
        text, _ = demo.communicate(timeout=limit())
        raise AssertionError(f"tools/demo did not end:\n{text}") from None
    assert demo.returncode == 0, text
    return text


def test_the_demo_shows_what_it_says():
    """Above all at its end: what has gone on is not in the list any more, which Ray reports up to a second later."""
    text = run_demo()
    said, _, end = text.partition("# nothing is paused any more, and the program has gone on to its end\n")
    assert end.lstrip().startswith("$ raydbg list\nNo task is paused"), text
    assert re.findall(r"^(\S+) (?:->|failed:)", end, re.M) == ["square", "Trainer.step", "load"], text
    assert len(re.findall(r"^\$ raydbg attach ", said, re.M)) == 4, text
    [first, *_] = re.findall(r"^\$ raydbg (.*)", said, re.M)
    assert re.fullmatch(r"run --break plain\.py:\d+ -- python plain\.py", first), "the unedited program comes first: " + text
