"""The rule for forks notices what it is for, and leaves the rest alone."""

import fork_rules
import pytest


@pytest.mark.parametrize("line", ["pid = os.fork()", "pid, terminal = pty.fork()", "subprocess.Popen(argv, preexec_fn=os.setsid)"])
def test_a_fork_is_found(line):
    assert [number for number, _ in fork_rules.find(f"import os\n{line}\n")] == [2]


@pytest.mark.parametrize("line", ["PROGRAM = 'os.fork()'", "pty.openpty()", "subprocess.Popen(argv, start_new_session=True)", "road.fork()"])
def test_other_lines_are_not(line):
    assert list(fork_rules.find(f"import os\n{line}\n")) == []


def test_all_tests_keep_it():
    assert fork_rules.main() == 0
