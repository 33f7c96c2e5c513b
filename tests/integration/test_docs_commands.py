"""The commands of README and docs, run as they are printed, in a shell, on a real two-node Ray with paused tasks."""

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess

import pytest
from cluster import PROGRAMS, ClusterTimeout, Spec, wait_for
from docs_commands import block_commands, transcript
from waits import limit

# Commands that are not run here, and why. Those of raydbg and of tools/ exist, with their options:
# tests/conversations/test_docs_commands.py.
NOT_RUN = {
    "tools/demo": "starts a Ray of its own; test_demo.py runs it",
    "tools/test": "this is a part of it",
    r"tools/bench.*": "takes minutes; its parts are tested by tests/conversations/test_load.py",
    r"tools/vsix\b.*": "the stages packages and vscode make the packages of the extension",
    r"tools/(portable|wheel|deb|image|release)\b.*": "takes minutes; the stage packages makes and installs them",
    r"pip install (--upgrade )?raydbg-bridge": "changes this Python; tests/packages/test_wheel.py runs it in one of its own",
    r"raydbg list --relay 127\.0\.0\.1:4713 .*": "needs the relay that systemd started",
    r"raydbg completions fish .*": "writes where fish looks; tests/conversations/test_completions.py loads it",
    r"ray job submit .*\.whl.*": "needs the wheel; tests/packages/test_in_cluster.py submits such jobs",
    r"ray job submit .*debugpy.*": "fetches debugpy from an index; test_doctor.py has a job with this runtime_env",
    r"source <\(raydbg completions zsh\)": "this shell is bash; tests/conversations/test_completions.py loads it in zsh",
    r"code --(un)?install-extension .*": "the stage vscode installs the extension in a real VS Code",
    r"apt install .*|systemctl .*|adduser .*|editor .*": "changes this machine; tests/packages/test_deb.py does it in a root of its own",
    r"podman .*": "needs podman; tests/packages/test_image.py runs the image",
    r"buildah .*": "pushes to a registry",
    r"git commit .*": "commits",
    r"RAY_DASHBOARD_ENABLE_PROFILING=1 ray start --head \.\.\.": "starts a Ray; the cluster of OF_TOLD is started like this",
    r"raydbg profile --memory .*": "traces a process with gdb and memray; tests/conversations/test_profile.py has what it says",
}

# What is of the documentation's own cluster, and what it is on this one.
HERE = {
    r"\bc8ef\b": "{square}",
    r"5865@10\.0\.0\.9": "{trainer}",
    r"762@10\.0\.0\.7": "{train_step}",
    r"10\.0\.0\.9": "127.0.0.2",
    r"60s": "1s",
    r"/etc/raydbg/token": "{state}/raydbg/token",
    r"--task train": "--task square",
    r"~/\.local/state\b": "{state}",
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

# Commands on a terminal: what they show when keys are typed, and those keys where the page prints none.
ON_A_TERMINAL = {
    r"raydbg memory --top.*": (b"counting", "q"),
    r"raydbg run --break .*": (b"(raydbg) ", "continue\r"),
}

# Without a terminal a run says where to attach, and waits: in the task, then in the driver.
STOPS = {r"raydbg run --post-mortem .*": r"stopped by an exception at train\.py:(?:57|38) · raydbg attach (\S+)"}

# What a command has in its environment, and with which code it ends, if not 0.
ENVIRONMENT = {r"raydbg run --post-mortem .*": {"TRAIN_FAILS": "1"}}
EXIT = {r"raydbg run --post-mortem .*": 1}

# About what programs/printed/told.py runs, in a cluster whose operator allows looks into processes.
OF_TOLD = re.compile(r"raydbg (stack|profile)\b.*|raydbg why (load|call_one)|raydbg logs (square --attempt|load --around).*")
PROFILING = Spec(env=(("RAY_DASHBOARD_ENABLE_PROFILING", "1"),))

TASKS = ("square", "actor", "on_b")
PRINTED = PROGRAMS / "printed"
# The files of the reader's own. Ray runs a submitted job where it was started.
FILES = ("app.py", "train.py")


def of(table, text, default=None):
    """What the table has for this command."""
    return next((value for pattern, value in table.items() if re.fullmatch(pattern, text)), default)


class Shell:
    """Runs commands in the cluster, from a directory and with a home of their own."""

    def __init__(self, cluster, directory):
        self.cluster = cluster
        self.directory = directory
        for name in ("bin", "home/.config/fish/completions"):
            (directory / name).mkdir(parents=True)
        (directory / "bin/raydbg").symlink_to(cluster.raydbg_path)
        (directory / "runtime_env.json").write_text('{"pip": ["torch"], "env_vars": {"SEED": "7"}}')
        for name in FILES:
            shutil.copy(PRINTED / name, directory)
            shutil.copy(PRINTED / name, cluster.directory)
        self.env = {"PATH": f"{directory}/bin:{cluster.env['PATH']}", "XDG_STATE_HOME": str(directory / "state"),
                    "HOME": str(directory / "home"), "RAY_ADDRESS": cluster.head(), "TERM": "xterm", "LANG": "C.UTF-8"}
        self.here = {"state": self.env["XDG_STATE_HOME"], "fingerprint": ""}
        self.relay, self.page = None, ""
        self.last_job = False  # TASKS are in the job that was submitted last

    def text(self, command):
        """The command for this cluster."""
        for pattern, replacement in HERE.items():
            command = re.sub(pattern, lambda _, text=replacement: text.format(**self.here), command)
        return command

    def environment(self, command):
        return {**self.env, **of(ENVIRONMENT, command, {})}

    def run(self, command):
        """Exit code and output."""
        done = self.cluster.run(["bash", "-o", "pipefail", "-c", command], env=self.environment(command), cwd=self.directory,
                                timeout=limit(120))
        return done.returncode, done.stdout + done.stderr

    def start(self, command, says):
        """Starts it, and waits until it has said this; the process, and its output."""
        log = self.directory / "endless.log"
        with log.open("wb") as output:
            process = self.cluster.popen(["bash", "-c", f"exec {command}"], env=self.environment(command), cwd=self.directory,
                                         stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        try:
            wait_for(lambda: re.search(says, log.read_text(errors="replace")) or process.poll() is not None,
                     lambda: f"{says} from {command}:\n{log.read_text(errors='replace')}")
        except ClusterTimeout:
            process.terminate()  # what it has started would be in the way of the next command
            raise
        return process, log

    def start_relay(self, command="raydbg relay"):
        self.end_relay()
        self.relay, log = self.start(command, of(ENDLESS, command))
        assert self.relay.poll() is None, log.read_text(errors="replace")

    def end_relay(self, release=False):
        """What it holds stays held for the next one, unless `release`: then its keeper ends, too."""
        if self.relay and release:
            self.run("raydbg release --all")
        if self.relay:
            self.relay.send_signal(signal.SIGTERM)
            self.relay.wait(limit())
        self.relay = None

    def open(self, page):
        """Each page begins with a relay on loopback, so that leaving a console leaves its task where it is."""
        if page != self.page:
            self.page = page
            self.start_relay()

    def prepare_job(self):
        """A job of a command's own: it has no breakpoint of an earlier command, and is now the cluster's last job."""
        code, said = self.run("raydbg break --clear --all")
        assert code == 0, said
        self.last_job = False

    def prepare(self):
        """All of TASKS are paused, known by their ids, and in the cluster's last job."""
        names = {row["task_name"] for row in self.rows()}
        if not self.last_job or not {"square", "Trainer.step", "on_b"} <= names:
            self.last_job = True
            self.cluster.stop_drivers()
            self.cluster.driver("pauses.py", *TASKS)
            self.cluster.wait_paused(len(TASKS), limit(120))
        for row in self.rows():
            if row["task_name"] == "square":
                self.here["square"] = row["task_id"][:6]
            elif row["actor_name"] == "bob":
                self.here["trainer"] = f"{row['pid']}@{row['node_ip']}"

    def rows(self):
        done = self.cluster.run(["raydbg", "list", "--format", "json"], env=self.env, check=True)
        return json.loads(done.stdout)

    def close(self):
        self.end_relay(release=True)
        for name in FILES:
            (self.cluster.directory / name).unlink()


def plain(said):
    """As a reader reads it: without colours, and with one blank where there are several."""
    text = re.sub(r"\033\[[0-9;?]*[@-~]", "", said.decode(errors="replace"))
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def run_on_a_terminal(shell, command, shows, keys):
    """Exit code and output of a command for which these keys are typed: each when it has shown this once more."""
    master, slave = pty.openpty()
    process = shell.cluster.popen(["setsid", "--ctty", "--wait", "bash", "-c", f"set -m; {command}\nexit $?"], env=shell.environment(command),
                                  cwd=shell.directory, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    os.set_blocking(master, False)
    said, typed = b"", 0

    def look():
        nonlocal said, typed
        ended = process.poll() is not None
        with contextlib.suppress(BlockingIOError, OSError):
            while data := os.read(master, 65536):
                said += data
        if typed < len(keys) and said.count(shows) > typed:
            os.write(master, keys[typed].encode())
            typed += 1
        return ended
    try:
        wait_for(look, lambda: f"{command} ends:\n{plain(said)}", most=limit(180))
    finally:
        process.kill()
        os.close(master)
    return process.wait(limit()), plain(said)


def run_through_stops(shell, command, says):
    """Exit code and output of a program whose stops go on as soon as they are told: its task's, then its driver's."""
    process, log = shell.start(command, says)
    gone_on = []

    def look():
        ended = process.poll() is not None
        for found in re.finditer(says, log.read_text(errors="replace")):
            if found[1] not in gone_on:
                gone_on.append(found[1])
                code, said = shell.run(f"raydbg continue {found[1]}")
                assert code == 0, said
        return ended
    try:
        wait_for(look, lambda: f"{command} ends:\n{log.read_text(errors='replace')}", most=limit(180))
    finally:
        process.terminate()
    return (process.wait(limit()) if len(gone_on) == 2 else -1), log.read_text(errors="replace")


def run_endless(shell, command, says):
    process, log = shell.start(command, says)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        code = process.wait(limit())
        return 0 if code in (0, 130) else code, log.read_text(errors="replace")
    return -1, log.read_text(errors="replace")


def run_line(shell, line, text):
    """Exit code and output."""
    command, below = shell.text(text), transcript(line)
    if text.startswith("raydbg relay") and of(ENDLESS, text):
        shell.start_relay(command)
        return 0, ""
    if says := of(ENDLESS, text):
        return run_endless(shell, command, says)
    if says := of(STOPS, text):
        return run_through_stops(shell, command, says)
    if terminal := of(ON_A_TERMINAL, text):
        shows, typed = terminal
        printed = [each.removeprefix("(raydbg) ") + "\r" for each in below if each.startswith("(raydbg) ")]
        return run_on_a_terminal(shell, command, shows, printed or [typed])
    return shell.run(command)


def missing(line, said):
    """What a page prints below a run, its first line aside, which has pids, and is not shown."""
    printed = [" ".join(each.split()) for each in transcript(line)[1:] if not each.startswith("(raydbg)")]
    return [each for each in printed if each not in said.splitlines()]


def run(shell, line, text):
    """What is wrong with this command, or None."""
    code, said = run_line(shell, line, text)
    if found := re.search(r"SHA256:[0-9A-Fa-f]{64}", said):
        shell.here["fingerprint"] = found[0]
    if code != of(EXIT, text, 0):
        return f"({shell.text(text)}) ended with {code}: {said}"
    if "PYDEV DEBUGGER WARNING" in said:
        return f"({shell.text(text)}) shows what is pydevd's own: {said}"
    if of(ON_A_TERMINAL, text) and (left := missing(line, said)):
        return f"({shell.text(text)}) did not show {left}: {said}"
    return None


def run_all(shell, lines, before):
    """What is wrong with each, and how many were run: each once, and again with what else is typed."""
    wrong, done = [], set()
    for line in lines:
        text = line.text.removeprefix("exec ")
        once = text, tuple(each for each in transcript(line) if each.startswith("(raydbg) "))
        if once in done or of(NOT_RUN, text):
            continue
        done.add(once)
        try:
            before(line)
            problem = run(shell, line, text)
        except ClusterTimeout as error:
            problem = error
        if problem:
            wrong.append(f"{line}\n    {problem}")
    assert not wrong, "\n".join(wrong)
    return len(done)


def test_commands_work_as_printed(cluster, tmp_path):
    shell = Shell(cluster, tmp_path)

    def before(line):
        shell.open(line.page)
        if line.text.startswith(("raydbg run", "ray job")):
            shell.prepare_job()
        elif not line.text.startswith("raydbg break"):
            shell.prepare()
    try:
        assert run_all(shell, [line for line in block_commands() if not OF_TOLD.fullmatch(line.text)], before) > 60
    finally:
        shell.close()


@pytest.mark.parametrize("spec", [PROFILING], ids=["profiling"])
def test_commands_about_what_runs_and_what_has_failed(cluster_factory, spec, tmp_path):
    cluster = cluster_factory(spec)
    shell = Shell(cluster, tmp_path)
    cluster.driver(PRINTED / "told.py", env={"RAY_ADDRESS": cluster.head(), "TRIES": str(tmp_path / "tries")}).wait_for("^READY")
    [row] = [row for row in cluster.api("/api/v0/tasks") if row["name"] == "train_step"]
    [address] = [node["node_ip"] for node in cluster.api("/api/v0/nodes") if node["node_id"] == row["node_id"]]
    shell.here["train_step"] = f"{row['worker_pid']}@{address}"
    try:
        assert run_all(shell, [line for line in block_commands() if OF_TOLD.fullmatch(line.text)], lambda line: None) > 10
    finally:
        shell.close()


@pytest.mark.parametrize("pattern", [*NOT_RUN, *HERE, *ENDLESS, *ON_A_TERMINAL, *STOPS, *ENVIRONMENT, *EXIT])
def test_the_tables_are_about_something(pattern):
    """No exception outlives its command."""
    assert any(re.search(pattern, line.text) for line in block_commands()), pattern
