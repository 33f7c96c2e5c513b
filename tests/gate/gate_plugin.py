"""A pytest plugin: takes the tests of a tier, says in a file which failed and how, and shows that no test is in no tier.

    pytest -p gate_plugin --tier default --slice 3 --gate-record FILE …
"""

import json
import os
import re
import time

import pytest
import reruns
import tiers


# What xdist's `--dist loadgroup` adds to a test's id: its group.
GROUP = re.compile(r"@[\w.-]+$")


def pytest_addoption(parser):
    group = parser.getgroup("gate")
    group.addoption("--suite", help="the table of tiers.toml that --tier and --part are of")
    group.addoption("--tier", choices=("default", "full"), help="only the tests of this tier")
    group.addoption("--slice", type=int, choices=range(tiers.SLICES), help="with --tier default: this twentieth of the others, too")
    group.addoption("--part", choices=("pool", "alone"), help="only the tests that run beside others, or only those that do not")
    group.addoption("--gate-record", metavar="FILE", help="a line of JSON for each failure")
    group.addoption("--gate-outcomes", metavar="FILE", help="with --gate-record: a line for each test that passed or was skipped")
    group.addoption("--gate-check", action="store_true", help="fail if a collected test is in no tier and no slice")


def pytest_configure(config):
    config.gate_start = time.monotonic()
    path = config.getoption("gate_record")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(path, config.getoption("suite"), config.getoption("gate_outcomes")), "gate-recorder")


@pytest.hookimpl(tryfirst=True)  # behind the conftests', before xdist's own, which changes ids
def pytest_collection_modifyitems(config, items):
    name, tier, part = (config.getoption(option) for option in ("suite", "tier", "part"))
    if not name:
        return
    suite = tiers.load()[name]
    tests = {item: (item.nodeid, getattr(item, "shared_cluster", None)) for item in items}
    if config.getoption("gate_check"):
        left = suite.left_out(list(tests.values()))
        if left:
            raise pytest.UsageError("no tier has these tests:\n" + "\n".join(id for id, _ in left))
    chosen = suite.select(list(tests.values()), tier or "full", config.getoption("slice"))
    kept = [item for item in items if tests[item] in chosen
            and (part is None or suite.matches("alone", item.nodeid) == (part == "alone"))]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and call.excinfo:
        reason = reruns.hard_exception(call.excinfo.value)
        if reason:
            report.user_properties.append(("gate-hard", reason))


class Recorder:
    """Writes what failed, and in the end what each test took, in the process that has all reports."""

    def __init__(self, path, suite, outcomes):
        self.path = path
        self.suite = suite
        self.outcomes = outcomes
        self.seconds = {}

    def pytest_sessionfinish(self):
        directory = os.environ.get("RAYDBG_TEST_ARTIFACTS")
        if directory and self.suite and self.seconds:
            os.makedirs(directory, exist_ok=True)
            lines = sorted(self.seconds.items(), key=lambda row: -row[1])
            with open(os.path.join(directory, f"seconds-{self.suite}.tsv"), "a") as file:
                file.writelines(f"{seconds:.2f}\t{id}\n" for id, seconds in lines)

    def pytest_runtest_logreport(self, report):
        id = GROUP.sub("", report.nodeid)
        self.seconds[id] = self.seconds.get(id, 0) + report.duration
        if report.failed:
            text = report.longreprtext + "".join(content for _, content in report.sections)
            hard = reruns.hard_text(text) or dict(report.user_properties).get("gate-hard")
            self.write(id, report.when, first_line(report), hard)
        elif self.outcomes and (report.skipped or report.when == "call"):
            with open(self.outcomes, "a") as file:
                file.write(f"{report.outcome} {id}\n")

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(report.nodeid, "collect", first_line(report), "it cannot be collected")

    def write(self, id, when, line, hard):
        row = {"id": id, "when": when, "line": line, "hard": hard, **reruns.machine()}
        with open(self.path, "a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())


def first_line(report):
    """The line that says what went wrong."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else report.longreprtext
    return next((line.strip() for line in text.splitlines() if line.strip()), "no text")[:300]
