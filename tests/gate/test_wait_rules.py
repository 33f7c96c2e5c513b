"""The rules for waits notice what they are for, and leave the rest alone."""

from pathlib import Path

import pytest
import wait_rules


@pytest.mark.parametrize("line", [
    "time.sleep(1)", "client.response(seq, timeout=5)", "process.wait(10)", "thread.join(2)", "sock.settimeout(0.5)",
    "assert time.monotonic() - began < 5", "assert 1 < time.perf_counter() - began < 5", "assert 5 > time.monotonic() - began",
    "assert done and time.monotonic() - began <= 5", "subprocess.run(argv, timeout=60)",
    "client.wait_event('stopped', None, 20)", "driver.wait_for('^READY', 180)", "client.stopped(30)"])
def test_a_clock_in_python_is_found(line):
    assert [number for number, _ in wait_rules.find(Path("test_x.py"), f"import time\n{line}\n")] == [2]


@pytest.mark.parametrize("line", [
    "settle(1)", "client.response(seq, timeout=limit())", "process.wait()", "process.wait(limit())", "', '.join(words)",
    "assert time.monotonic() - began > 5", "assert 5 <= time.monotonic() - began", "sock.settimeout(None)", "text = 'time.sleep(1)'",
    "wait_until(find, 'it is there')", "driver.wait_for('^READY', limit(180))", "wait_for(find, 3)", "assert time.monotonic() < deadline", "time.sleep(1)  # timed: why"])
def test_other_lines_are_not(line):
    assert wait_rules.find(Path("test_x.py"), f"import time\n{line}\n") == []


@pytest.mark.parametrize("name, line, found", [
    ("x.c", "    usleep(1000);", True), ("x.h", "    nanosleep(&it, NULL);", True), ("x.c", "/* usleep(1) */", False),
    ("x.c", "    usleep(1000); /* timed: why */", False), ("x.test.ts", "  await page.waitForTimeout(100);", True),
    ("x.test.ts", "  await row.waitFor({timeout: 5_000});", True), ("x.test.ts", "  await row.waitFor({timeout: limit()});", False),
    ("x.test.ts", "  setTimeout(look, 100);", True),
    ("x.c", "    sleepy(1);", False)])
def test_c_and_typescript(name, line, found):
    assert bool(wait_rules.find(Path(name), line)) is found


def test_the_list_only_shrinks(tmp_path, monkeypatch, capsys):
    tests = tmp_path / "tests"
    tests.mkdir()
    file, allowed = tests / "test_a.py", tmp_path / "allowed.toml"
    monkeypatch.setattr(wait_rules, "ROOT", tmp_path)
    monkeypatch.setattr(wait_rules, "ALLOWED", allowed)
    file.write_text("import time\ntime.sleep(1)\ntime.sleep(2)\n")
    for text, code, says in (("", 1, "test_a.py:2: time.sleep"), ('"tests/test_a.py" = 2\n', 0, ""),
                             ('"tests/test_a.py" = 3\n', 1, "2 are left, 3 in"), ('"tests/test_a.py" = 2\n"tests/b.py" = 1\n', 1, "b.py")):
        allowed.write_text(text)
        assert wait_rules.main([]) == code
        assert says in capsys.readouterr().out


def test_all_tests_keep_them():
    assert wait_rules.main([]) == 0
