"""Looking never lets go: `raydbg attach` without a relay starts one, which ends by itself."""

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import sanitizers
from dap_client import DapClient
from fake_adapter import FakeAdapter
from fake_ray import FakeRay
from held_task import assert_held
from relay_under_test import raydbg_path
from terminal import Terminal
from waits import hard, limit, wait_until

STARTED = re.compile(r"^raydbg: started relay (127\.0\.0\.1:\d+), ", re.MULTILINE)


class Home:
    """A user: a state directory, and the relays and keepers that were started for it."""

    def __init__(self, path, ray, clock):
        self.path, self.ray, self.clock, self.pids = path, ray, clock, set()

    def env(self, **more):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDBG_"))}
        return {**clean, "HOME": str(self.path), "XDG_STATE_HOME": str(self.path), "TERM": "xterm", "LANG": "C.UTF-8",
                "RAY_ADDRESS": self.ray.address, **sanitizers.ENV, **self.clock.env, **more}

    def popen(self, *arguments, env=None, **options):
        return subprocess.Popen([raydbg_path(), *arguments], env=self.env(**(env or {})),
                                **{"text": True, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                   **options})

    def run(self, *arguments, input=None, code=0, **env):
        options = {"stdin": subprocess.PIPE} if input is not None else {}
        process = self.popen(*arguments, env=env, **options)
        process.out, process.err = process.communicate(input, timeout=limit())
        sanitizers.check(process.returncode, process.err)
        assert process.returncode == code, (process.returncode, process.out, process.err)
        self.relays()
        return process

    def relays(self):
        """The pids of the relays that are registered."""
        found = []
        for path in (self.path / "raydbg").glob("relay*.json"):
            with contextlib.suppress(OSError, ValueError):
                found.append(json.loads(path.read_text())["pid"])
        self.pids.update(found)
        return [pid for pid in found if Path(f"/proc/{pid}").exists()]

    def keepers(self):
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and Path(f"/proc/{entry}/cmdline").read_bytes().startswith(
                        f"raydbg-keeper {self.path}/".encode()):
                    found.append(int(entry))
        return found

    def wait_alone(self):
        """Nothing of the relay is left, which ends some seconds after its last client."""
        self.clock.pass_time(10)
        with hard():
            wait_until(lambda: not self.relays() and not self.keepers(), "the relay ends by itself")
        assert not list((self.path / "raydbg").glob("relay*.json"))

    def close(self):
        self.relays()
        for pid in [*self.pids, *self.keepers()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for log in (self.path / "raydbg").glob("*.log"):
            sanitizers.check_text(log.read_text(errors="replace"))


@pytest.fixture
def home(ray, tmp_path, clock):
    home = Home(tmp_path, ray, clock)
    yield home
    home.close()


def wait_released(adapter):
    wait_until(lambda: adapter.requests("continue") or adapter.requests("disconnect")
               or adapter.connection().ended.is_set(), f"a release ({adapter.commands()})")


def state(home):
    rows = json.loads(home.run("list", "--format", "json").out)
    return [(row["task_name"], row["state"]) for row in rows]


# --- looking ---


@pytest.mark.parametrize("way", ["-e", "pipe"])
def test_a_look_leaves_the_task_stopped(adapter, home, way):
    def look():
        if way == "-e":
            return home.run("attach", "work", "-e", "where", "-e", "locals")
        return home.run("attach", "work", input="where\nlocals\n")
    first = look()
    assert "app.py:8" in first.out and "stays held by relay" in first.out + first.err
    assert len(first.err.splitlines()) <= 2 and STARTED.search(first.err), first.err
    assert_held(adapter)
    assert state(home) == [("work", "held")]
    second = look()
    assert "app.py:8" in second.out and not STARTED.search(second.err)
    assert_held(adapter)
    assert len(home.relays()) == 1
    home.run("release", "work")
    wait_released(adapter)


def test_quit_lets_go(adapter, home):
    home.run("attach", "work", "-e", "where")
    assert_held(adapter)
    home.run("attach", "work", input="where\nquit\n")
    wait_released(adapter)
    home.wait_alone()


def test_a_task_that_continues_is_not_held(adapter, home):
    process = home.popen("attach", "work", "-e", "c")
    wait_until(lambda: adapter.requests("continue"), "it goes on")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=limit())
    wait_until(lambda: adapter.requests("disconnect"), "the relay leaves it")


def test_let_go(adapter, home):
    home.run("attach", "work", "--let-go", "-e", "where")
    wait_released(adapter)


def test_detach_leaves_the_task_stopped(adapter, home):
    home.run("attach", "work", input="detach\n")
    assert_held(adapter)


@pytest.mark.parametrize("options, env", [(["--no-relay"], {}), ([], {"RAYDBG_START_RELAY": "0"})])
def test_without_a_relay_the_task_goes_on(adapter, home, options, env):
    done = home.run("attach", "work", *options, "-e", "where", **env)
    assert not done.err and "work goes on" in done.out
    wait_released(adapter)
    assert not home.relays() and not home.keepers()


def test_nothing_is_started_for_a_task_that_is_not_there(home):
    home.run("attach", "nosuch", code=3)
    assert not home.relays()


# --- clients that do not say goodbye ---


@pytest.fixture
def console(home):
    terminal = Terminal(functools.partial(home.popen, "attach", "work", start_new_session=True))
    terminal.expect(r"\(raydbg\) ")
    yield terminal
    terminal.hang_up()


def test_a_closed_terminal_leaves_the_task_stopped(adapter, home, console):
    console.hang_up()
    assert state(home) == [("work", "held")]
    assert_held(adapter)


@pytest.mark.parametrize("keys", ["\x04", "quit\r"])
def test_leaving_a_terminal_lets_go(adapter, home, console, keys):
    console.type(keys)
    wait_released(adapter)
    console.process.wait(limit())


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_client_that_dies_leaves_the_task_stopped(adapter, home, sig):
    process = home.popen("attach", "work", stdin=subprocess.PIPE)
    process.stdin.write("where\n")
    process.stdin.flush()
    assert "work" in process.stdout.readline()
    process.send_signal(sig)
    process.communicate(timeout=limit())
    wait_until(lambda: state(home) == [("work", "held")], "the relay notices")
    assert_held(adapter)


# --- the relay ---


def test_of_two_at_once_one_starts_it(adapter, home):
    both = [home.popen("attach", "work", "-e", "where") for _ in range(4)]
    said = [process.communicate(timeout=limit()) for process in both]
    assert [process.returncode for process in both] == [0] * 4, said
    assert all("app.py:8" in out for out, _ in said), said
    assert sum(bool(STARTED.search(err)) for _, err in said) == 1, said
    assert len(home.relays()) == 1
    assert_held(adapter)


def test_a_relay_that_was_killed_is_replaced_and_nothing_is_lost(adapter, home):
    home.run("attach", "work", "-e", "where")
    os.kill(home.relays()[0], signal.SIGKILL)
    done = home.run("attach", "work", "-e", "where")
    assert STARTED.search(done.err) and "app.py:8" in done.out
    assert_held(adapter)
    assert len(adapter.connections) == 1


def test_where_none_can_be_started_the_task_goes_on(adapter, home):
    done = home.run("attach", "work", "-e", "where", XDG_STATE_HOME="/proc/nowhere")
    assert "/proc/nowhere" in done.err and "goes on" in done.err and "app.py:8" in done.out
    wait_released(adapter)


def test_each_cluster_has_its_own(adapter, home):
    home.run("attach", "work", "-e", "where")
    with FakeAdapter() as other, FakeRay(other.port) as ray:
        done = home.run("attach", "work", "-e", "where", RAY_ADDRESS=ray.address)
        assert STARTED.search(done.err)
        assert_held(other)
        assert len(home.relays()) == 2
        home.run("release", "--all", RAY_ADDRESS=ray.address)
        wait_released(other)
    assert_held(adapter)


# --- an editor ---


def join(home, arguments, *options):
    process = home.popen("dap", *options, stdin=subprocess.PIPE, text=False)
    client = DapClient.over_process(process, name="editor")
    client.initialize()
    client.attach(arguments)
    client.stopped()
    return client


@pytest.fixture
def editor(home):
    """`raydbg dap` that has attached to the task, as an editor starts it."""
    client = join(home, {"task": "work"})
    home.relays()
    yield client
    client.close(check=False)
    client.transport.process.kill()
    assert not client.transport.process.stderr.read()  # an editor would take it for an error


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM, "end of stdin"])
def test_an_editor_that_dies_leaves_the_task_stopped(adapter, home, editor, way):
    if way == "end of stdin":
        editor.transport.process.stdin.close()
    else:
        editor.transport.process.send_signal(way)
    wait_until(lambda: state(home) == [("work", "held")], "the relay notices")
    assert_held(adapter)


def test_an_editors_stop_lets_go(adapter, home, editor):
    editor.disconnect()
    wait_released(adapter)
    home.wait_alone()


def test_an_editor_may_name_a_debugger_and_end_a_worker(adapter, home):
    """The relay is its user's own: it takes what `raydbg dap` by itself takes."""
    client = join(home, {"connect": f"127.0.0.1:{adapter.port}", "kill": True})
    client.ok("disconnect", {"terminateDebuggee": True})
    client.close(check=False)
    wait_until(lambda: any("terminateDebuggee" in str(r) for r in adapter.requests("disconnect")), "its end")
    assert not client.transport.process.stderr.read()  # an editor would take it for an error


def test_an_editor_without_a_relay(adapter, home):
    client = join(home, {"task": "work"}, "--no-relay")
    client.transport.process.stdin.close()
    wait_released(adapter)
    client.close(check=False)
    assert not client.transport.process.stderr.read() and not home.relays()
