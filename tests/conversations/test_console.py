"""The console's verbs on a real debugpy, without Ray: `raydbg attach --connect`."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
import sanitizers
from relay_under_test import raydbg_path
from waits import limit, settle

PROGRAM = Path(__file__).parent / "programs/console.py"


def line_of(mark):
    """The number of the program's line that this comment marks."""
    return 1 + next(i for i, line in enumerate(PROGRAM.read_text().splitlines()) if f"line: {mark}" in line)


class Program:
    """console.py under debugpy, which waits for a client."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-Xfrozen_modules=off", PROGRAM], stdout=subprocess.PIPE, text=True)
        self.address = f"127.0.0.1:{self.process.stdout.readline().strip()}"

    def attach(self, *commands, options=(), code=0):
        """Runs these lines as a pipe gives them; the ended process."""
        done = subprocess.run([raydbg_path(), "attach", "--connect", self.address, "--no-relay", "--quiet", *options],
                              input="".join(f"{c}\n" for c in commands), text=True, capture_output=True, timeout=limit(),
                              env={**os.environ, **sanitizers.ENV})
        sanitizers.check(done.returncode, done.stderr)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def close(self):
        self.process.kill()
        self.process.wait(limit())
        self.process.stdout.close()


@pytest.fixture(scope="module")
def program():
    running = Program()
    yield running
    running.close()


def test_p_shows_the_whole_repr(program):
    nested = repr({"a": {"b": {"c": {"d": list(range(100))}}}})
    done = program.attach("p nested", "p items", "p x, 'é'", "p 'z' * 1990 + 'é' * 30", "p --all 'z' * 3000", "p nosuch", "locals", "help p")
    out = done.stdout.splitlines()
    assert nested in out and repr(list(range(100))) in out and "(3, 'é')" in out
    assert "'" + "z" * 1990 + "é" * 9 in out and "… 22 more characters: p --all 'z' * 1990 + 'é' * 30" in out, out
    assert repr("z" * 3000) in out and "cut at 2000 characters" in done.stdout
    assert "*** NameError: name 'nosuch' is not defined" in done.stderr
    assert re.search(r"^\[p --all NAME shows all of a value that ends in …\]$", done.stderr, re.M), done.stderr


def test_breakpoints_are_where_they_say(program):
    last, comment = len(PROGRAM.read_text().splitlines()), line_of("comment")
    done = program.attach("break nosuch", f"b {last + 900}", f"b {comment}", f"b {line_of('last')} if x == 3",
                          "tbreak power if number == 3, True", "clear 1", "c", "c")
    assert "there is no function 'nosuch' in this frame or the task's code" in done.stderr, done.stderr
    assert f"console.py has {last} lines" in done.stderr
    assert f"[line {comment} has no code: moved to line {comment - 2}]" in done.stderr
    assert re.search(rf":{line_of('last')}  if x == 3$", done.stdout, re.M), done.stdout
    assert re.search(rf":{line_of('power')}  once  if number == 3, True$", done.stdout, re.M), done.stdout
    assert re.search(rf"{line_of('power')} in power · breakpoint 3$", done.stdout, re.M), done.stdout
    assert re.search(rf"{line_of('last')} in square · breakpoint 2$", done.stdout, re.M), done.stdout


def test_a_name_that_is_no_function_is_an_error(program):
    """A class's body, too: it has run already, so a breakpoint there never stops."""
    done = program.attach("break Shape", "tbreak len", "break PORT", "break Shape.nosuch", "break power", "break")
    assert "'Shape' is a class, which has no line to stop at" in done.stderr and "break CLASS.METHOD" in done.stderr, done.stderr
    assert "'len' is not written in Python" in done.stderr and "'PORT' is no function" in done.stderr, done.stderr
    assert "there is no function 'Shape.nosuch'" in done.stderr
    assert re.findall(r"^ +(\d+)  .*:(\d+)$", done.stdout, re.M) == [("1", str(line_of("power")))] * 2, done.stdout


def test_all_names_of_a_file_are_one_file(program, tmp_path):
    """What is set by one name is cleared by another, and known where it stops."""
    link, real = tmp_path / "link", PROGRAM.parent
    link.symlink_to(real)
    power, last, add = line_of("power"), line_of("last"), line_of("add")
    for name in (f"{link}/console.py", f"{real}/../programs/console.py"):
        done = program.attach(f"break {name}:{power}", f"clear {PROGRAM}:{power}", f"tbreak {name}:{last}", f"b {name}:{add}",
                              f"clear {name}:{add}", "c", "break")
        assert done.stderr.count("***") == 0, done.stderr
        assert re.search(rf"{last} in square · breakpoint 2$", done.stdout, re.M), done.stdout
        assert "no breakpoints" in done.stderr, done.stderr


def test_a_mapped_name_is_the_same_file():
    mapped, power, last = Program(), line_of("power"), line_of("last")  # debugpy keeps a mapping
    done = mapped.attach(f"break /mapped/console.py:{power}", f"clear console.py:{power}", f"tbreak {PROGRAM}:{last}", "c", "break",
                         options=("--map", f"{PROGRAM.parent}=/mapped"))
    mapped.close()
    assert re.search(rf"/mapped/console.py:{last} in square · breakpoint 2$", done.stdout, re.M), done.stdout
    assert "***" not in done.stderr and "no breakpoints" in done.stderr, done.stderr


def test_a_condition_that_fails_is_said(program):
    done = program.attach(f"b {line_of('add')}, missing > 1", "c")
    assert done.stderr.count("NameError: name 'missing' is not defined") == 1, done.stderr


def test_list_shows_a_function(program):
    done = program.attach("list helper", "l power", "l nosuch")
    assert re.search(r"^ +\d+ +def helper\(values, scale\):$", done.stdout, re.M), done.stdout
    assert re.search(r"^ +\d+ +def power\(number\):$", done.stdout, re.M), done.stdout
    assert "there is no function 'nosuch'" in done.stderr


def test_commands_of_a_breakpoint(program):
    done = program.attach("b power", "commands", "silent", "p number + 40", "continue", "p 'never'", "end",
                          f"b {line_of('last')}", "commands 2", "p total + 1", "end", "c", "p 'typed'")
    assert re.search(r"^43$.*in square.*^9901\n'typed'$", done.stdout, re.M | re.S) and "never" not in done.stdout, done.stdout
    assert "in power" not in done.stdout
    done = program.attach("b power", "commands 2", "commands x")
    assert "there is no breakpoint 2" in done.stderr and "'x' is no breakpoint's number" in done.stderr


def test_ignore_passes_a_breakpoint(program):
    done = program.attach(f"b {line_of('add')}", "ignore 1 5", "c", "p value", "ignore 1", "c", "p value", "ignore 1 x")
    assert re.search(r"passed 5 times$.*^5$.*^6$", done.stdout, re.M | re.S), done.stdout
    assert "'x' is no number of times" in done.stderr


def test_jump_runs_another_line_next(program):
    done = program.attach("n", "y = 100", f"jump {line_of('first')}", "n", "p y", "jump 1", "jump x")
    assert re.search(rf"→ +{line_of('first')} .*^9$", done.stdout, re.M | re.S), done.stdout
    assert "line 1 comes before the current code block" in done.stderr and "'x' is no line number" in done.stderr


def test_retval_shows_what_was_returned(program):
    done = program.attach("retval", "n", "n", "rv")
    assert "no function has returned here yet" in done.stderr
    assert re.search(r"^  helper +9900 · int$", done.stdout, re.M), done.stdout


def test_profile_shows_which_functions_took_the_time(program):
    done = program.attach("profile next", "profile", "n", "profile next")
    rows = [line.split(None, 3) for line in done.stdout.splitlines()]
    titles = rows.index(["CALLS", "SELF", "ms", "TOTAL ms  FUNCTION"])
    named = {row[3]: (int(row[0]), float(row[1]), float(row[2])) for row in rows[titles + 1:] if len(row) == 4 and row[0].isdigit()}
    area = next(value for name, value in named.items() if re.fullmatch(r"console\.py:\d+ area", name))
    rest = next(value for name, value in named.items() if re.fullmatch(r"console\.py:\d+ rest", name))
    sleep = named["<built-in method time.sleep>"]
    assert area[0] == rest[0] == sleep[0] == 1 and area[2] >= rest[2] >= sleep[2] >= 20 and rest[1] < rest[2], named
    assert not any("pydevd" in name or "debugpy" in name for name in named), named
    assert "'profile next', 'profile return' or 'profile continue'" in done.stderr
    assert "[no function took as much as 0.05 ms]" in done.stderr, done.stderr


def test_aliases(program):
    done = program.attach("alias pv p %1 + 1, '%*'", "pv x y", "alias twice pv %1 ;; pv items[%1]", "twice 2", "alias", "unalias pv",
                          "pv x", "alias pv", "alias me me")
    assert re.search(r"^\(4, 'x y'\)\n\(3, '2'\)\n\(3, 'items\[2\]'\)$", done.stdout, re.M), done.stdout
    assert "  pv = p %1 + 1, '%*'" in done.stdout
    assert "SyntaxError" in done.stderr and "'pv' is no alias" in done.stderr


def test_interact_reads_python_alone(program):
    done = program.attach("interact", "n = 5", "c = n", "n", "c + 1", "quit()", "p c", "exit()", "quit()", "p 'here'")
    assert re.search(r"^5\n6\n5\n'here'\n", done.stdout, re.M), done.stdout
    assert done.stderr.count("quit leaves the console") == 2


def test_an_array_of_many_dimensions_is_cut(program):
    """numpy shows six of each, and of nine dimensions ten million: `locals` would take a quarter of a minute, each time."""
    done = program.attach("import numpy", "cube = numpy.zeros((5,) * 9, 'u1')", "many = numpy.zeros((2,) * 16, 'u1')",
                          "few = numpy.arange(6).reshape(2, 3)", "cube", "many", "few", "[cube]")
    assert re.search(r"^array\(\[+0, \.\.\., 0\],$", done.stdout, re.M), done.stdout[:3000]
    assert "<ndarray of (2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2), dtype uint8: too many dimensions to show>" in done.stdout
    assert "array([[0, 1, 2],\n       [3, 4, 5]])" in done.stdout, done.stdout[-500:]


def test_exceptions_need_a_post_mortem(program):
    assert "this thread did not stop at an exception" in program.attach("exceptions").stderr


@pytest.mark.parametrize("expression", ["__import__('os')._exit(3)", "__import__('os').kill(__import__('os').getpid(), 9)"])
@pytest.mark.parametrize("command", ["p {}", "pp {}", "{}", "display {}", "!{}"])
def test_a_worker_that_dies_in_an_expression_is_said_once(command, expression):
    dying = Program()
    done = dying.attach(command.format(expression), "p 1", "where", "locals", "continue", "break 3")
    dying.close()
    assert done.stderr == "the debuggee ended, or closed the connection\n", done
    assert done.stdout.count("\n") <= 7, done.stdout


def test_pydevds_word_on_an_ended_worker_is_not_shown(adapter):
    def say(connection, request):
        for name in "SystemExit", "ValueError":
            connection.event("output", {"category": "console", "output": f"<class '{name}'> raised from within the callback set in "
                                        f"sys.settrace.\nDebugging will be disabled for this thread (<{name}>).\n"})
        connection.respond(request, {"result": "2", "type": "int", "variablesReference": 0})
    adapter.on["evaluate"] = say
    done = subprocess.run([raydbg_path(), "attach", "--connect", adapter.address, "-e", "x"], text=True, capture_output=True,
                          timeout=limit(), env={**os.environ, **sanitizers.ENV})
    sanitizers.check(done.returncode, done.stderr)
    assert "SystemExit" not in done.stderr + done.stdout and "ValueError" in done.stderr, done.stderr


def test_what_the_console_asks_for_itself_has_no_frame(adapter, tmp_path):
    """An evaluation in a frame of the user's keeps its variables alive. What a name means is known in a frame only."""
    program = tmp_path / "app.py"
    program.write_text("one = 1\n" * 20)
    def stack(connection, request):
        connection.respond(request, {"stackFrames": [{"id": 3, "name": "square", "line": 8, "column": 1,
                                                      "source": {"path": str(program), "sourceReference": 0}}]})
    adapter.on["stackTrace"] = stack
    subprocess.run([raydbg_path(), "attach", "--connect", adapter.address, "--no-relay", "--quiet"], text=True,
                   input=f"list\nwhere\nbreak 3\nbreak {program}:4\nbreak elsewhere.py:5\nclear 1\nlocals\nnext\np 5\nbreak square\n",
                   capture_output=True, timeout=limit(), env={**os.environ, **sanitizers.ENV}, check=True)
    asked = [request["arguments"] for request in adapter.requests("evaluate")]
    framed = [one["expression"] for one in asked if "frameId" in one]
    assert all("(5" in one or "square" in one for one in framed) and len(framed) >= 2, framed
    free = [one["expression"] for one in asked if "frameId" not in one]
    for own in "st_size", "_raydbg_name_of", "modules.values()":
        assert any(own in one for one in free), (own, free)


def test_an_interrupt_while_attaching_is_130():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = subprocess.Popen([raydbg_path(), "attach", "--connect", "127.0.0.1:%d" % silent.getsockname()[1]],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **sanitizers.ENV})
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=limit())
        assert process.returncode == 130 and "interrupted" in err, (process.returncode, err)


@contextlib.contextmanager
def on_a_terminal(program, options=("--quiet",), shells=None):
    """The console on a terminal of its own: its process, the terminal, and read_until(words…). `shells`: a list, which gets
    the terminal's open file as the shell has it."""
    master, slave = pty.openpty()
    process = subprocess.Popen(["setsid", "--ctty", raydbg_path(), "attach", "--connect", program.address, "--no-relay", *options],
                               stdin=slave, stdout=slave, stderr=slave,
                               env={**os.environ, **sanitizers.ENV, "TERM": "xterm"})
    if shells is not None:
        shells.append(os.dup(slave))
    os.close(slave)

    def read_until(*words, most=1 << 30):
        """What comes until one of them is there. A word may lie across two reads."""
        text, last = b"", 4096 + max(map(len, words))
        while not any(word in text[-last:] for word in words) and len(text) < most:
            assert select.select([master], [], [], limit())[0], text[-300:]
            text += os.read(master, 4096)
        return text

    with open(master, "rb+", buffering=0):
        read_until(b"(raydbg) ")
        yield process, master, read_until


def detach(process, master, read_until):
    """Leaves the console, and reads what it still writes."""
    os.write(master, b"detach\r")
    with contextlib.suppress(OSError):  # its end
        read_until(b"\0")
    assert process.wait(limit()) == 0


def test_what_the_console_reads_stays_blocking(program):
    """A script goes on to read the same pipe; a shell, the same terminal."""
    reader, writer = os.pipe()
    with open(reader, "rb"), open(writer, "wb", buffering=0) as script:
        process = subprocess.Popen([raydbg_path(), "attach", "--connect", program.address, "--no-relay"], stdin=reader,
                                   stdout=subprocess.PIPE, env={**os.environ, **sanitizers.ENV})
        with process.stdout as out:
            for _ in range(50):
                script.write(b"p 6 * 7\n")
                shown = b""
                while b"42" not in shown:
                    assert os.get_blocking(reader)
                    if select.select([out], [], [], 0)[0]:
                        assert (more := os.read(out.fileno(), 4096)), shown
                        shown += more
            script.write(b"detach\nthe next program's line\n")
            assert process.wait(limit()) == 0
        assert os.get_blocking(reader)
    shells = []
    with on_a_terminal(program, shells=shells) as (process, master, _):
        assert os.get_blocking(shells[0])
        os.write(master, b"detach\r")
        assert process.wait(limit()) == 0
        assert os.get_blocking(shells[0])
    os.close(shells[0])


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_has_colours(program, monkeypatch, no_color):
    """Unless $NO_COLOR says no. A pipe never has any: test_attach.py looks at each script's output."""
    monkeypatch.setenv("NO_COLOR", no_color)
    with on_a_terminal(program) as (process, master, read_until):
        os.write(master, b"list\r")
        shown = read_until(b"(raydbg) ")
        assert bool(re.search(rb"\x1b\[35m(def|for|if|import|return)\x1b\[0m", shown)) is not bool(no_color), shown
        os.write(master, b"detach\r")
        assert process.wait(limit()) == 0


def test_a_completion_may_take_a_while(program):
    """On a busy node it does; a Tab that shows nothing reads as a name that is not there."""
    with on_a_terminal(program) as (process, master, read_until):
        os.write(master, b"import time; slow = type('Slow', (), {'__dir__': lambda self: time.sleep(0.7) or ['attribute']})()\r")
        read_until(b"(raydbg) ")
        os.write(master, b"p slow.att\t")
        for _ in range(10):
            if b"ribute" in read_until(b"ribute", b"\a"):
                break
            os.write(master, b"\t")  # a busy machine takes longer than the console waits, which beeps then
        else:
            raise AssertionError("there is no completion")
        os.write(master, b"\x15detach\r")
        assert process.wait(limit()) == 0


def test_an_interrupt_ends_a_long_output(program):
    """What the terminal has not taken when ^C comes is not shown."""
    with on_a_terminal(program) as (process, master, read_until):
        os.write(master, b"p --all 'z' * 9000000\r")
        settle()  # the terminal is full, and takes no more
        read_until(b"\0", most=100_000)
        os.write(master, b"\x03")
        rest = read_until(b"(raydbg) ")
        assert len(rest) < 200_000 and b"[interrupted]" in rest, (len(rest), rest[-300:])
        os.write(master, b"p 6 * 7\r")
        assert b"42" in read_until(b"(raydbg) ")
        os.write(master, b"p --all 'z' * 30000 + 'end'\r")
        assert b"zend'" in read_until(b"(raydbg) ")
        detach(process, master, read_until)


def test_what_is_printed_before_a_value_stands_before_it(program):
    """Also without a line end: an interrupted print() has none."""
    with on_a_terminal(program, options=()) as (process, master, read_until):
        os.write(master, b"p __import__('sys').stdout.write('half a' + ' line')\r")
        assert b"half a line\r\nNone\r\n" in read_until(b"(raydbg) ")
        detach(process, master, read_until)


@pytest.mark.parametrize("body", ["print('x' * 60)", "pass"])
def test_an_interrupt_ends_what_is_evaluated(body):
    """Else what it prints would go on, and the next expression would wait for it."""
    endless = Program()
    reader = threading.Thread(target=lambda: [*endless.process.stdout], daemon=True)
    reader.start()
    with on_a_terminal(endless, options=()) as (process, master, read_until):
        os.write(master, f"while True: {body}\r\r".encode())
        read_until(b"stops waiting")
        os.write(master, b"\x03")
        read_until(b"*** interrupted")
        os.write(master, b"p 6 * 7\r")
        read_until(b"42\r")  # behind what was printed until then
        os.write(master, b"p 'the' + ' end'\r")
        assert b"x" * 60 not in read_until(b"the end")
        detach(process, master, read_until)
    endless.process.kill()
    reader.join(limit())
    endless.close()


def test_an_interrupt_ends_the_whole_command(adapter):
    """Not just the request that it waits for: what follows is not asked, and what was pasted behind it does not run."""
    silent, asked = [], []

    def on_evaluate(connection, request):
        if silent and request["arguments"]["expression"] in ("a", "b"):
            asked.append((request["arguments"]["expression"], connection, request))
        else:
            adapter.on_evaluate(connection, request)

    def on_cancel(connection, request):
        _, evaluates, evaluate = asked[-1]
        evaluates.respond(evaluate, success=False, message="interrupted")
        connection.respond(request)

    adapter.on.update(evaluate=on_evaluate, cancel=on_cancel)
    with on_a_terminal(adapter) as (process, master, read_until):
        for expression in (b"a", b"b"):
            os.write(master, b"display " + expression + b"\r")
            read_until(b"(raydbg) ")
        silent.append(1)
        for commands in (b"next\r", b"\x1b[200~next\nnext\x1b[201~\r"):
            os.write(master, commands)
            read_until(b"stops waiting")
            os.write(master, b"\x03")
            read_until(b"(raydbg) ")
        assert [expression for expression, *_ in asked] == ["a", "a"]
        assert sum(one.message.get("command") == "next" for one in adapter.received) == 2
        silent.clear()
        os.write(master, b"p b\r")
        assert b"2" in read_until(b"(raydbg) ")
        detach(process, master, read_until)


LOOKS = ("where", "up", "down", "list", "list 1,3", "list f", "longlist", "args", "locals", "globals", "p x", "pp x", "whatis x", "x + 1",
         "source f", "until", "until 99", "jump 9")


def test_a_stack_that_cannot_be_loaded(adapter):
    """The thread stands, and what looks at its frames says why it cannot; once they come, it can."""
    fails = []

    def on_next(connection, request):
        fails.append(1)
        adapter.on_next(connection, request)

    def on_stack(connection, request):
        if fails:
            connection.respond(request, success=False, message="the worker is busy")
        else:
            adapter.on_stackTrace(connection, request)

    adapter.on.update(next=on_next, stackTrace=on_stack)
    with on_a_terminal(adapter) as (process, master, read_until):
        for verb in ("next", *LOOKS):
            os.write(master, verb.encode() + b"\r")
            assert b"the worker is busy" in read_until(b"(raydbg) "), verb
        fails.clear()
        os.write(master, b"where\r")
        assert b"the worker is busy" not in read_until(b"(raydbg) ")
        os.write(master, b"detach\r")
        assert process.wait(limit()) == 0


def test_the_goodbye_after_a_signal_may_take_a_while(adapter, gate):
    """On a busy machine it does, and the user is told what becomes of the task."""
    adapter.on["disconnect"] = held = gate(adapter.on["disconnect"])
    with on_a_terminal(adapter) as (process, master, read_until):
        process.terminate()
        held.wait_reached()
        settle()  # longer than the console looks for a signal
        assert process.poll() is None
        held.open()
        read_until(b"the task goes on")
        assert process.wait(limit()) == 1


def test_a_goodbye_without_an_answer(adapter, gate):
    adapter.on["disconnect"] = held = gate(adapter.on["disconnect"])
    with on_a_terminal(adapter) as (process, master, read_until):
        os.write(master, b"detach\r")
        held.wait_reached()
        os.write(master, b"\x03")
        read_until(b"the debugger has not answered yet: the task goes on once it has")
        assert process.wait(limit()) == 130
        held.open()


def test_a_terminal_that_is_resized(program):
    """Its width counts when something is shown, not when the console began."""
    with on_a_terminal(program) as (process, master, read_until):
        os.write(master, b"wide = 'w' * 90\r")
        read_until(b"(raydbg) ")
        for columns, whole in (60, False), (160, True), (80, False):
            fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            os.write(master, b"locals\r")
            assert (b"w" * 90 in read_until(b"(raydbg) ")) is whole, columns
        os.write(master, b"detach\r")
        assert process.wait(limit()) == 0
