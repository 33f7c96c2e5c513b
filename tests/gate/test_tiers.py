"""What each tier has: no test is in none, whatever the rules."""

import datetime

import flakes
import pytest
import tiers

TESTS = [(f"tests/integration/test_{name}.py::test_{n}", tiers.FIRST_CLUSTER if name != "old" else "(4, '')")
         for name in ("list", "attach", "memory", "relay", "old") for n in range(5)]


def suite(**table):
    return tiers.Suite("integration", table)


def names(chosen):
    return {id.split("test_")[1].split(".")[0] for id, _ in chosen}


def test_the_default_tier_has_what_the_rules_say():
    rules = suite(default=["test_list", "test_old", "test_relay"], full=["test_relay"], clusters=True, smoke=["test_old.py::test_1$"])
    chosen = rules.select(TESTS, "default")
    assert names(chosen) == {"list", "old"}
    assert [id for id, _ in chosen if "old" in id] == ["tests/integration/test_old.py::test_1"]


def test_each_test_is_in_the_default_tier_or_in_one_slice():
    rules = suite(default=["test_list"], clusters=True)
    default = rules.select(TESTS, "default")
    slices = [rules.select(TESTS, "default", n) - default for n in range(tiers.SLICES)]
    assert set().union(default, *slices) == set(TESTS) == rules.select(TESTS, "full")
    assert sum(map(len, slices)) == len(TESTS) - len(default)
    assert rules.left_out(TESTS) == []


def test_a_group_is_in_one_slice():
    rules = suite(default=[], clusters=True)
    for name in ("attach", "old"):
        assert len({n for n in range(tiers.SLICES) if name in names(rules.select(TESTS, "default", n))}) == 1


def test_slices_are_even():
    tests = [(f"tests/conversations/test_{n}.py::test", None) for n in range(60)]
    sizes = [len(suite(default=[]).select(tests, "default", n)) for n in range(tiers.SLICES)]
    assert sizes == [60 // tiers.SLICES] * tiers.SLICES
    rules = suite(default=[], seconds={"tests/conversations/test_7.py": 50})
    slices = [rules.select(tests, "default", n) for n in range(tiers.SLICES)]
    assert [len(chosen) for chosen in slices if tests[7] in chosen] == [1]


def test_a_part_of_a_file_can_be_a_group():
    tests = [(f"tests/agent/test_a.py::test_{n}[{python}]", None) for n in range(3) for python in ("3.9", "3.11", "3.13")]
    rules = tiers.Suite("agent", {"full": [r"3\.(9|13)"], "group": r"3\.\d+"})
    assert len(rules.select(tests, "default")) == 3
    assert len(rules.spread(tests)) == 3


def test_a_test_that_is_left_out_is_found(monkeypatch):
    rules = suite(default=["test_list"])
    whole = rules.select
    lost = TESTS[7]
    monkeypatch.setattr(rules, "select", lambda *arguments: whole(*arguments) - {lost})
    assert rules.left_out(TESTS) == [lost]


def test_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="unknown keys: slow"):
        suite(slow=["x"])


def test_the_rules_are_sound():
    assert {"conversations", "agent", "integration", "vscode", "gate"} <= set(tiers.load())


# --- the list of flaky tests ---

TODAY = datetime.date(2026, 11, 25)
LISTED = {"id": "tests/gate/test_tiers.py::test_slices_are_even", "cause": "machine", "reason": "planted", "until": TODAY}


def test_a_sound_list():
    assert flakes.problems([LISTED] * flakes.LIMIT, TODAY) == []
    assert flakes.problems(flakes.entries(), datetime.date.today()) == []


@pytest.mark.parametrize(("change", "problem"), [
    ({"id": "tests/gate/test_tiers.py::test_of_no_such_name"}, "no such test"),
    ({"id": "tests/gate/test_none.py::test_slices_are_even"}, "no such test"),
    ({"id": "test_no_such_unit_test"}, "no such test"),
    ({"cause": "unknown"}, "the cause 'unknown'"),
    ({"cause": "product race"}, "the cause 'product race'"),
    ({"reason": ""}, "no reason"),
    ({"until": None}, "no date"),
    ({"until": TODAY - datetime.timedelta(1)}, "listed until"),
])
def test_a_list_with_a_fault(change, problem):
    [found] = flakes.problems([{**LISTED, **change}], TODAY)
    assert problem in found


def test_a_ninth_entry():
    assert "9 entries" in flakes.problems([LISTED] * 9, TODAY)[0]


@pytest.mark.parametrize(("count", "ci", "listed", "code"), [
    (0, False, False, 0), (1, False, False, 7), (1, False, True, 0), (3, True, False, 0), (4, True, False, 1)])
def test_what_flakes_cost(tmp_path, monkeypatch, count, ci, listed, code):
    monkeypatch.setattr(flakes, "entries", lambda: [{"id": f"test_{n}"} for n in range(count)] if listed else [])
    run = flakes.reruns.Run(tmp_path)
    for n in range(count):
        run.add("flakes.jsonl", {"stage": "unit", "id": f"test_{n}", "line": "planted", "load": 1.5, "pressure": 10})
    assert flakes.summary(tmp_path, ci) == code


def test_the_summary_says_what_failed(tmp_path, capsys):
    failure = flakes.reruns.Failure("test_wrong", "1 == 2", load=1.5)
    flakes.reruns.Run(tmp_path).note_failed("unit", failure, "failed again, alone: 1 == 2")
    assert flakes.summary(tmp_path, ci=True) == 0
    assert capsys.readouterr().out == "failed test_wrong: 1 == 2 (failed again, alone: 1 == 2), load 1.5\n"
