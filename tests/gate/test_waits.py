"""Limits, and the failures that are never tried again."""

import pytest
import sanitizers
import waits
from dap_client import DapClient, DapError, DapViolation, frame
from waits import Hard, hard


class Scripted:
    """A transport whose peer says these messages."""

    def __init__(self, *said, trouble=None):
        self.said, self.trouble = [bytes(one) for one in said], trouble

    def read(self, size):
        return self.said.pop(0) if self.said else b""

    def write(self, data):
        pass

    def close(self):
        return self.trouble

    def close_read(self):
        pass


def response(seq):
    return frame({"seq": seq, "type": "response", "request_seq": seq, "command": "threads", "success": True})


def close(*said, requests=1, trouble=None):
    """What the check at a client's end raises."""
    client = DapClient(Scripted(*said, trouble=trouble))
    for _ in range(requests):
        client.send("threads")
    client.wait_end()
    with pytest.raises(DapError) as failure:
        client.close()
    return failure.value


@pytest.mark.parametrize("said", [(response(1), response(1)), (response(1), response(7)), (response(1), b"HTTP/1.1 200\r\n\r\n"),
                                  (response(1), frame({"type": "word"})), (response(1), b"Content-Length: 9\r\n\r\n{")])
def test_a_violation_of_dap_is_hard(said):
    assert isinstance(close(*said), DapViolation) and issubclass(DapViolation, Hard)


@pytest.mark.parametrize("said, trouble", [((), None), ((response(1),), "the process did not end")])
def test_what_did_not_come_in_time_is_not(said, trouble):
    assert not isinstance(close(*said, trouble=trouble), Hard)


@pytest.mark.parametrize("code, text", [(-11, ""), (-6, ""), (99, ""), (0, "ERROR: AddressSanitizer: x"), (-9, "runtime error: x")])
def test_a_report_and_a_crash_are_hard(code, text):
    with pytest.raises(Hard, match="raydbg ended with"):
        sanitizers.check(code, text)


@pytest.mark.parametrize("code", [None, -9, -15, -2])
def test_what_a_test_has_ended_is_not(code):
    with pytest.raises(AssertionError) as failure:
        sanitizers.check(code, "")
    assert not isinstance(failure.value, Hard)


def test_assertions_about_state_become_hard():
    with pytest.raises(Hard, match="word"), hard():
        raise AssertionError("word")
    with pytest.raises(Hard, match="not subscriptable"), hard():
        gone = None
        assert gone["held"]
    with pytest.raises(OSError), hard():
        raise OSError


@pytest.mark.parametrize("said, value", [(None, 1), ("", 1), ("2.5", 2.5), ("0", 1), ("100", 8), ("x", 1)])
def test_patience(monkeypatch, said, value):
    monkeypatch.delenv("RAYDBG_TEST_PATIENCE", raising=False)
    if said is not None:
        monkeypatch.setenv("RAYDBG_TEST_PATIENCE", said)
    assert waits.patience() == value and waits.limit(10, "/bin/true") == 10 * value


def test_a_sanitized_binary_has_double_the_time(monkeypatch, tmp_path):
    monkeypatch.delenv("RAYDBG_TEST_PATIENCE", raising=False)
    binary = tmp_path / "raydbg"
    binary.write_bytes(b"\x7fELF __asan_init")
    monkeypatch.setenv("RAYDBG", str(binary))
    assert waits.limit(10) == 20 and waits.limit(10, "/bin/true") == 10 and waits.limit(10, "/nowhere") == 10
