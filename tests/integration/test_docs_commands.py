"""The commands of README and docs, run as they are printed, in a shell, on a real two-node Ray with paused tasks."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest
from cluster import wait_for
from docs_commands import block_commands

# Commands that are not run here, and why. Each exists, with its options: tests/conversations/test_docs_commands.py.
NOT_RUN = {
    "tools/demo": "starts a Ray of its own; the demo has no test but its own end",
    "tools/test": "this is a part of it",
    r"tools/bench.*": "takes minutes; its parts are tested by tests/conversations/test_load.py",
    r"tools/vsix\b.*": "the stages packages and vscode make the packages of the extension",
    r"tools/(portable|wheel|deb|image|release)\b.*": "takes minutes; the stage packages makes and installs them",
    r"pip install (--upgrade )?raydbg-bridge": "changes this Python; tests/packages/test_wheel.py runs it in one of its own",
    r"raydbg list --relay 127\.0\.0\.1:4713 .*": "needs the relay that systemd started",
    r"raydbg completions fish .*": "writes where fish looks; tests/conversations/test_completions.py loads it",
    r"code --(un)?install-extension .*": "the stage vscode installs the extension in a real VS Code",
    r"raydbg why load": "a task that has crashed; tests/integration/test_why.py has such tasks",
    r"raydbg why call_one": "a deadlock; tests/integration/test_deadlocks.py has one",
    r"raydbg logs (square --attempt|load --around).*": "a task that was retried, or has crashed; tests/integration/test_logs.py has both",
    r"raydbg (stack|profile)\b.*": "needs the operator's switch, which is off by default; tests/integration/test_stack.py has it on",
    r"raydbg (run|break|env) .*": "needs a program of the reader's; tests/integration/test_run.py and test_env.py run one",
}

# What is of the documentation's own cluster, and what it is on this one.
HERE = {
    r"\bc8ef\b": "{square}",
    r"5865@10\.0\.0\.9": "{trainer}",
    r"10\.0\.0\.9": "127.0.0.2",
    r"60s": "1s",
    r"--task train": "--task square",
    r"--tls-cert … --tls-key …": "--tls-cert {state}/raydbg/relay-cert.pem --tls-key {state}/raydbg/relay-key.pem",
    r"https://head\.example\.org:4713 --relay-fingerprint SHA256:…": "https://127.0.0.1:4713 --relay-fingerprint {fingerprint}",
}

# Commands that go on until they are ended, and what they say first.
ENDLESS = {
    "raydbg list --watch": r"square",
    "raydbg list --watch --format json": r'"event":\s?"live"',
    "raydbg relay": r"listens on 127\.0\.0\.1:4713",
    r"raydbg relay --listen 0\.0\.0\.0:4713 .*": r"listens on 0\.0\.0\.0:4713",
}
ON_A_TERMINAL = re.compile(r"raydbg memory --top.*")
TASKS = ("square", "actor", "on_b")


class Shell:
    """Runs commands in the cluster, from a directory and with a state of their own."""

    def __init__(self, cluster, directory):
        self.cluster = cluster
        self.directory = directory
        (directory / "bin").mkdir()
        (directory / "bin/raydbg").symlink_to(cluster.raydbg_path)
        self.env = {"PATH": f"{directory}/bin:{cluster.env['PATH']}", "XDG_STATE_HOME": str(directory / "state"),
                    "RAY_ADDRESS": cluster.head(), "TERM": "xterm", "LANG": "C.UTF-8"}
        self.here = {"state": self.env["XDG_STATE_HOME"], "fingerprint": ""}
        self.relay = None

    def text(self, command):
        """The command for this cluster."""
        for pattern, replacement in HERE.items():
            command = re.sub(pattern, replacement.format(**self.here), command)
        return command

    def run(self, command):
        """Exit code and output."""
        done = self.cluster.run(["bash", "-o", "pipefail", "-c", command], env=self.env, cwd=self.directory, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def start(self, command, says):
        """Starts it, waits until it has said this; the process."""
        log = self.directory / "endless.log"
        with log.open("wb") as output:
            process = self.cluster.popen(["bash", "-c", f"exec {command}"], env=self.env, cwd=self.directory,
                                         stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        wait_for(lambda: re.search(says, log.read_text(errors="replace")) or process.poll() is not None,
                 lambda: f"{says} from {command}:\n{log.read_text(errors='replace')}")
        return process, log

    def end_relay(self, release=False):
        """What it holds stays held for the next one, unless `release`: then its keeper ends, too."""
        if self.relay and release:
            self.run("raydbg release --all")
        if self.relay:
            self.relay.send_signal(signal.SIGTERM)
            self.relay.wait(20)
        self.relay = None

    def prepare(self):
        """All of TASKS are paused, and known by their ids."""
        names = {row["task_name"] for row in self.rows()}
        if not {"square", "Trainer.step", "on_b"} <= names:
            self.cluster.stop_drivers()
            self.cluster.driver("pauses.py", *TASKS)
            self.cluster.wait_paused(len(TASKS))
        for row in self.rows():
            if row["task_name"] == "square":
                self.here["square"] = row["task_id"][:6]
            elif row["actor_name"] == "bob":
                self.here["trainer"] = f"{row['pid']}@{row['node_ip']}"

    def rows(self):
        done = self.cluster.run(["raydbg", "list", "--format", "json"], env=self.env, check=True)
        return json.loads(done.stdout)


def ends_on_a_terminal(shell, command):
    """Exit code and output of a program that is quit once it has drawn something."""
    master, slave = pty.openpty()
    process = shell.cluster.popen(["bash", "-c", f"exec {command}"], env=shell.env, cwd=shell.directory, stdin=slave,
                                  stdout=slave, stderr=slave)
    os.close(slave)
    os.set_blocking(master, False)
    said, asked = b"", False
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError, OSError):
            said += os.read(master, 65536)
        if not asked and b"counting" in said:
            os.write(master, b"q")
            asked = True
        time.sleep(0.02)
    if process.poll() is None:
        process.kill()
    os.close(master)
    return process.wait(20), said.decode(errors="replace")


def run(shell, line):
    """What is wrong with this command, or None."""
    command = shell.text(line.text)
    says = next((says for pattern, says in ENDLESS.items() if re.fullmatch(pattern, line.text)), None)
    if says:
        if line.text.startswith("raydbg relay"):
            shell.end_relay()
        process, log = shell.start(command, says)
        if not re.search(says, log.read_text(errors="replace")):
            return f"ended with {process.wait(20)}: {log.read_text(errors='replace')}"
        if line.text.startswith("raydbg relay"):
            shell.relay = process
            return None
        process.send_signal(signal.SIGINT)
        code, said = process.wait(20), log.read_text(errors="replace")
        return None if code in (0, 130) else f"ended with {code}: {said}"
    code, said = ends_on_a_terminal(shell, command) if ON_A_TERMINAL.fullmatch(line.text) else shell.run(command)
    if found := re.search(r"SHA256:[0-9A-Fa-f]{64}", said):
        shell.here["fingerprint"] = found[0]
    return None if code == 0 else f"({command}) ended with {code}: {said}"


def test_commands_work_as_printed(cluster, tmp_path):
    shell = Shell(cluster, tmp_path)
    wrong, done = [], set()
    shell.relay, _ = shell.start("raydbg relay", "ready")  # so that leaving a console leaves its task where it is
    try:
        for line in block_commands():
            text = line.text.removeprefix("exec ")
            if any(re.fullmatch(pattern, text) for pattern in NOT_RUN) or text in done:
                continue
            done.add(text)
            shell.prepare()
            if problem := run(shell, line):
                wrong.append(f"{line}\n    {problem}")
    finally:
        shell.end_relay(release=True)
    assert not wrong, "\n".join(wrong)
    assert len(done) > 25


@pytest.mark.parametrize("pattern", [*NOT_RUN, *HERE, *ENDLESS])
def test_the_tables_are_about_something(pattern):
    """No exception outlives its command."""
    assert any(re.search(pattern, line.text) for line in block_commands()), pattern
