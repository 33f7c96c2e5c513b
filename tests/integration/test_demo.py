"""tools/demo's wrapper: what a user types into the cluster that --keep leaves."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from cluster import wait_for

WRAPPER = Path(__file__).resolve().parents[2] / "tools/demo.d/wrapper"

COUNTS_INTERRUPTS = """
import os, signal
interrupts = 0
def count(*_):
    global interrupts
    interrupts += 1
    print("interrupt", interrupts, flush=True)
usual = signal.signal(signal.SIGINT, count) == signal.default_int_handler
print("ready", usual, sorted(os.environ), flush=True)
while interrupts < 2:
    signal.pause()
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
    outer.wait(10)
    outer.stdout.close()


def test_an_interrupt_reaches_the_program_alone(namespace, tmp_path):
    program, script = tmp_path / "program.py", tmp_path / "raydbg"
    program.write_text(COUNTS_INTERRUPTS)
    user = [] if os.getuid() == 0 else ["-U", "--preserve-credentials"]
    made = subprocess.run([WRAPPER, namespace, *user, "--", "LANG=C.UTF-8", "HOME=a b", sys.executable], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    script.write_text(made.stdout)
    script.chmod(0o755)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(script, [script, program])
    os.set_blocking(terminal, False)
    text = ""

    def seen(pattern):
        nonlocal text
        try:
            text += os.read(terminal, 4096).decode()
        except OSError:
            pass
        return pattern in text
    wait_for(lambda: seen("ready True ['HOME', 'LANG"), lambda: text)
    for number in 1, 2:
        os.write(terminal, b"\x03")
        wait_for(lambda: seen(f"interrupt {number}"), lambda: text)  # noqa: B023
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    os.close(terminal)
