"""`raydbg dap` on a terminal: typed by hand, or behind `ssh -t` or `docker exec -it`."""

import os
import pty
import re
import select
import subprocess
import tty
from contextlib import contextmanager

import pytest
import sanitizers
from dap_client import frame
from relay_under_test import raydbg_path
from waits import limit

INITIALIZE = {"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "raydbg"}}


@contextmanager
def dap_on_a_terminal(*arguments, raw=False):
    """The process, and the terminal's other end."""
    master, slave = pty.openpty()
    if raw:
        tty.setraw(slave)
    process = subprocess.Popen([raydbg_path(), "dap", *arguments], stdin=slave, stdout=slave, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **sanitizers.ENV, "RAY_ADDRESS": "127.0.0.1:1"})
    os.close(slave)
    yield process, master
    process.kill()
    process.wait(limit())
    process.stderr.close()
    os.close(master)


@pytest.mark.parametrize("arguments", [[], ["square"], ["--connect", "127.0.0.1:1"], ["--relay", "127.0.0.1:1"]])
def test_a_terminal_in_line_mode_is_refused(arguments):
    """Each message would wait for its line's end, for ever; DAP has none."""
    with dap_on_a_terminal(*arguments) as (process, master):
        os.write(master, frame(INITIALIZE))
        _, said = process.communicate(timeout=limit())
        sanitizers.check(process.returncode, said)
    what, hint = said.splitlines()
    assert process.returncode == 2 and what.startswith("raydbg: stdin is a terminal"), said
    assert "raydbg attach" in hint and "ssh" in hint and "without -t" in hint


def test_a_raw_terminal_is_a_pipe(adapter):
    with dap_on_a_terminal("--connect", adapter.address, raw=True) as (_, master):
        os.write(master, frame(INITIALIZE))
        answered = b""
        while not re.search(rb'"command":\s*"initialize".*}$', answered):
            assert select.select([master], [], [], limit())[0], answered
            answered += os.read(master, 65536)
        assert answered.startswith(b"Content-Length: ") and re.search(rb'"success":\s*true', answered), answered
