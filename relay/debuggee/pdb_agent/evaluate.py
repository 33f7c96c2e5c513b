"""Expressions and statements in a stopped frame."""

import re
import sys
import threading
import types

SOURCE_NAME = "<raydbg>"


def has_inner_code(code):
    return any(isinstance(item, types.CodeType) for item in code.co_consts)


def run_code(code, frame):
    """eval() of an expression's or exec() of a statement's code; either sees the locals in lambdas, too."""
    spaces, local = frame.f_globals, frame.f_locals
    if not has_inner_code(code) or local is spaces:
        result = eval(code, spaces, local)
    else:
        # A function that is made here looks for names in its globals only: those have both, then.
        merged = {**spaces, **local}
        before = dict(merged)
        result = eval(code, merged)
        merged.pop("__builtins__", None)
        for name, value in merged.items():
            if name not in before or before[name] is not value:
                local[name] = value
        for name in [name for name in local if name not in merged]:
            del local[name]
    write_back(frame, local)
    return result


def compile_source(source):
    """The code, and whether it has a value."""
    source = source.strip()
    try:
        return compile(source, SOURCE_NAME, "eval"), True
    except SyntaxError:
        return compile(source, SOURCE_NAME, "exec"), False


class Divert:
    """sys.stdout for one thread; all others keep the one that was."""

    def __init__(self, stream, write):
        self._stream = stream
        self._write = write
        self._thread = threading.get_ident()

    def write(self, text):
        if threading.get_ident() == self._thread:
            self._write(text)
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name):
        return getattr(self._stream, name)


class Diverted:
    """with Diverted(write): what this thread prints goes to `write`."""

    def __init__(self, write):
        self.write = write

    def __enter__(self):
        self.own = Divert(sys.stdout, self.write)
        sys.stdout = self.own

    def __exit__(self, *_):
        if sys.stdout is self.own:
            sys.stdout = self.own._stream


def complete(text, column, frame):
    """The completions of what stands before `column` (from 1), as DAP's targets."""
    before = text[:max(column - 1, 0)].rpartition("\n")[2]
    found = re.search(r"(?:([\w.\[\]'\"]+)\.)?(\w*)$", before)
    base, prefix = found.group(1), found.group(2)
    if base is None:
        import builtins
        import keyword
        names = {*frame.f_locals, *frame.f_globals, *dir(builtins), *keyword.kwlist}
    elif "(" in base:
        names = ()
    else:
        names = dir(eval(base, frame.f_globals, frame.f_locals))
    names = [name for name in names if isinstance(name, str) and name.startswith(prefix)]
    if not prefix.startswith("_"):
        names = [name for name in names if not name.startswith("_")]
    start = len(text[:max(column - 1, 0)]) - len(prefix)
    return [{"label": name, "start": start, "length": len(prefix)} for name in sorted(names)[:1000]]


def fill_message(message, frame):
    """A log point's text: {expressions} are replaced, {{ and }} are braces."""
    def replace(found):
        inside = found.group(1)
        if inside is None:
            return found.group(0)[0]
        try:
            value = run_code(compile(inside.strip(), SOURCE_NAME, "eval"), frame)
            return value if isinstance(value, str) else value_text(value)
        except BaseException as error:
            return "<%s>" % describe_failure(error)
    return re.sub(r"\{\{|\}\}|\{([^{}]*)\}", replace, message)
