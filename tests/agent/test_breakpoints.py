"""Breakpoints that could never hit, on several versions of debugpy: a real debugpy, and no Ray."""

import pytest
from debugpy_session import TASKS, task_line

# The name makes code of its own: pydevd on Python 3.12 takes equal code of two files for one.
MODULE = "def run(number):\n    number += 1; name = {name!r}\n    return number\n"


class Names:
    """Modules that the worker has under one name and a client knows under another. `asked`: the client's, by module."""

    def __init__(self, directory):
        self.directory, self.asked, self.imported = directory, {}, []
        for when in ("before", "after"):
            self.add_link(when)
            self.add_linked(when)
            self.add_dots(when)
            for there in (True, False):
                self.add_copy(when, "working_dir", there)
                self.add_copy(when, "py_modules", there)

    def write(self, *parts):
        file = self.directory.joinpath(*parts)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(MODULE.format(name=file.stem))
        return file

    def take(self, name, asked, file):
        self.asked[name] = asked
        if file.parent not in self.imported:
            self.imported.append(file.parent)

    def add_link(self, when):
        """The client's path goes through a link to the directory."""
        name = f"link_{when}"
        file = self.write("real", f"{name}.py")
        link = self.directory / "link"
        if not link.is_symlink():
            link.symlink_to(file.parent)
        self.take(name, link / file.name, file)

    def add_linked(self, when):
        """The worker's path goes through one."""
        name = f"linked_{when}"
        file = self.write("home", f"{name}.py")
        link = self.directory / "alias"
        if not link.is_symlink():
            link.symlink_to(file.parent)
        self.take(name, file, link / file.name)

    def add_dots(self, when):
        name = f"dots_{when}"
        file = self.write("plain", f"{name}.py")
        self.take(name, f"{file.parent}/../plain/./{file.name}", file)

    def add_copy(self, when, kind, there):
        """Ray's copy; the original is on this machine or on another."""
        name = f"{kind}_{'here' if there else 'elsewhere'}_{when}"
        original = self.write("project", "code", f"{name}.py")
        copy = self.write("session", "runtime_resources", f"{kind}_files", "_ray_pkg_0", "code", f"{name}.py")
        if not there:
            original.unlink()
        self.take(name, original, copy)


def test_a_path_is_the_file_that_the_worker_has(debugpy_attach, tmp_path):
    names = Names(tmp_path)
    session = debugpy_attach("imported", IMPORT_FROM=":".join(map(str, names.imported)))
    for asked in names.asked.values():
        assert session.set_breakpoints(asked, [2])["breakpoints"][0]["verified"], asked
    for name in sorted(names.asked):
        session.resume(session.thread)
        session.stopped()
        top = session.top()
        assert (top["name"], top["line"]) == ("run", 2) and top["source"]["path"].endswith(f"/{name}.py"), session.text()
    assert session.finish() == f"RESULT {2 * len(names.asked)}"
    session.disconnect()


def test_a_file_that_is_not_the_original_is_not_taken_for_it(debugpy_attach, tmp_path):
    names = Names(tmp_path)
    for name in ("working_dir_here_before", "py_modules_here_after"):
        names.asked[name].write_text(names.asked[name].read_text() + "# another\n")
    session = debugpy_attach("imported", IMPORT_FROM=":".join(map(str, names.imported)))
    for name in ("working_dir_here_before", "py_modules_here_after"):
        session.set_breakpoints(names.asked[name], [2])
    nowhere = session.set_breakpoints(tmp_path / "project/nowhere.py", [2])["breakpoints"][0]
    assert not nowhere["verified"] and "does not exist" in nowhere["message"], nowhere
    assert session.finish() == f"RESULT {2 * len(names.asked)}"
    session.disconnect()


def test_two_names_of_a_file_have_a_set_each(debugpy_attach, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(TASKS.parent)
    session = debugpy_attach("walk")
    session.set_breakpoints(TASKS, [task_line("walk-after")])
    session.set_breakpoints(link / TASKS.name, [task_line("walk-loop"), task_line("walk-return")])
    session.set_breakpoints(link / TASKS.name, [task_line("walk-return")])
    for marker in ("walk-after", "walk-return"):
        session.resume(session.thread)
        session.stopped()
        assert session.at("walk", marker)["source"]["path"] == str(TASKS)
    assert session.finish() == "RESULT 13"
    session.disconnect()


def test_a_condition_that_fails_is_said_once(debugpy_attach):
    failing = {"walk-loop": ("missing.attr", "NameError: name 'missing' is not defined"),
               "walk-after": ("1 / (number - 7)", "ZeroDivisionError"),
               "walk-return": ("number >", "SyntaxError")}
    session = debugpy_attach("walk")
    points = [{"line": task_line(marker), "condition": condition} for marker, (condition, _) in failing.items()]
    session.set_breakpoints(TASKS, points)
    session.set_breakpoints(TASKS, points)  # the same locations again: nothing new
    assert session.finish() == "RESULT 13"
    session.wait_event("output", lambda body: "(number >)" in body["output"])  # the last of them
    session.disconnect()
    said = [event["body"]["output"] for event in session.events("output") if "condition" in event["body"]["output"]]
    assert len(said) == len(failing), said
    for marker, (condition, why) in failing.items():
        text = next(one for one in said if f"({condition})" in one)
        assert text.startswith(f"raydbg: the condition of the breakpoint at {TASKS}:{task_line(marker)} failed"), text
        assert why in text, text


def test_a_name_in_a_comprehension_is_said(debugpy_attach):
    """Python looks for it among the globals."""
    session = debugpy_attach("walk")
    session.set_breakpoints(TASKS, [{"line": task_line("walk-after"), "condition": "any(n == number for n in [7])"}])
    assert session.finish() == "RESULT 13"
    said = session.wait_event("output", lambda body: "condition" in body["output"])["body"]["output"]
    session.disconnect()
    assert "(any(n == number for n in [7])): NameError: name 'number' is not defined" in said, said
    assert len([event for event in session.events("output") if "condition" in event["body"]["output"]]) == 1


@pytest.mark.parametrize("condition, stops", [("number > 0", True), ("number > 100", False), ("[n for n in [1]] == [1]", True)])
def test_a_condition_that_holds_stops(debugpy_attach, condition, stops):
    session = debugpy_attach("walk")
    session.set_breakpoints(TASKS, [{"line": task_line("walk-after"), "condition": condition}])
    session.resume(session.thread)
    if stops:
        session.stopped()
        session.at("walk", "walk-after")
        session.resume(session.thread)
    assert session.worker.outcome() == "RESULT 13"
    session.disconnect()
