"""Source breakpoints, and which files are which."""

import dis
import os
import re
import tokenize

HIT = re.compile(r"\s*(>=|<=|>|<|==|=|%)?\s*(\d+)\s*$")


class Paths:
    """The client's paths and the worker's, by `pathMappings`; what a code object's file name means."""

    def __init__(self):
        self.mappings = []
        self.known = {}

    def set_mappings(self, mappings):
        pairs = [(m.get("localRoot"), m.get("remoteRoot")) for m in mappings if isinstance(m, dict)]
        self.mappings = [(a.rstrip("/\\"), b.rstrip("/")) for a, b in pairs
                         if isinstance(a, str) and isinstance(b, str) and b != "."]

    @staticmethod
    def replace_root(path, root, other):
        rest = path[len(root):]
        if path.startswith(root) and (not rest or rest[0] in "/\\"):
            return other + rest
        return None

    def to_worker(self, path):
        for client, worker in self.mappings:
            mapped = self.replace_root(path, client, worker)
            if mapped is not None:
                return mapped.replace("\\", "/")
        return path

    def to_client(self, path):
        for client, worker in self.mappings:
            mapped = self.replace_root(path, worker, client)
            if mapped is not None:
                return mapped
        return path

    def canonical(self, name):
        """A code object's file name as an absolute path; one that names no file stays."""
        path = self.known.get(name)
        if path is None:
            path = name if name.startswith("<") else os.path.realpath(name)
            if not os.path.exists(path):
                path = name
            self.known[name] = path
        return path

    def same(self, name, path):
        """Whether a code object of file `name` is one of the file `path`. Ray pickles a driver's functions with the
        name that the driver was started by: it may be relative to a directory that the worker does not know."""
        canonical = self.canonical(name)
        if os.path.isabs(canonical):
            return canonical == path
        return not name.startswith("<") and (path == name or path.endswith("/" + name.lstrip("./")))


def code_lines(code, lines):
    lines.update(line for _, line in dis.findlinestarts(code) if line)
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            code_lines(constant, lines)


def lines_of_file(path):
    """The lines that have code; None if the source is not here, or cannot be compiled."""
    try:
        with tokenize.open(path) as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, UnicodeError):
        return None
    lines = set()
    code_lines(code, lines)
    return lines


class Breakpoint:
    def __init__(self, number, wanted):
        self.number = number
        self.line = wanted["line"]
        self.condition = wanted.get("condition") or None
        self.hit_condition = wanted.get("hitCondition") or None
        self.message = wanted.get("logMessage") or None
        self.hits = 0
        self.problem = None
        if self.hit_condition is not None and not HIT.match(str(self.hit_condition)):
            self.problem = "the hit condition is not a number, nor one of >= <= > < == % with one"

    def inherit(self, other):
        """The same breakpoint, set again with others of its file, goes on counting."""
        if (self.line, self.condition, self.hit_condition) == (other.line, other.condition, other.hit_condition):
            self.hits, self.number = other.hits, other.number

    def counts(self):
        if self.hit_condition is None:
            return True
        sign, number = HIT.match(str(self.hit_condition)).groups()
        number = int(number)
        return {">=": self.hits >= number, "<=": self.hits <= number, ">": self.hits > number,
                "<": self.hits < number, "%": number and self.hits % number == 0}.get(sign, self.hits == number)

    def answer(self, path):
        fields = {"id": self.number, "verified": self.problem is None, "line": self.line, "source": {"path": path}}
        if self.problem is not None:
            fields["message"] = self.problem
        return fields


class Breakpoints:
    def __init__(self, paths):
        self.paths = paths
        self.files = {}  # path -> {line: Breakpoint}
        self.by_name = {}  # a code object's file name -> the same, or None; a cache
        self.last = -1

    def __bool__(self):
        return bool(self.files)

    def set(self, client_path, wanted):
        """Replaces a file's breakpoints; the answers, in their order."""
        path = os.path.realpath(self.paths.to_worker(client_path))
        lines = lines_of_file(path) if wanted else None
        before, now, answers = self.files.get(path, {}), {}, []
        for one in wanted:
            self.last += 1
            breakpoint_ = Breakpoint(self.last, one)
            self.adjust_line(breakpoint_, lines)
            if breakpoint_.line in before:
                breakpoint_.inherit(before[breakpoint_.line])
            if breakpoint_.problem is None:
                now[breakpoint_.line] = breakpoint_
            answers.append(breakpoint_.answer(client_path))
        files = {**self.files, path: now}
        if not now:
            del files[path]
        self.files, self.by_name = files, {}
        return answers

    @staticmethod
    def adjust_line(breakpoint_, lines):
        """On a line with no code: on the next that has some."""
        if lines is None or breakpoint_.line in lines:
            return
        later = [line for line in lines if line > breakpoint_.line]
        if later:
            breakpoint_.line = min(later)
        else:
            breakpoint_.problem = "no code is on this line, nor below"

    def in_file(self, name):
        """The breakpoints of a code object's file by line, or None."""
        try:
            return self.by_name[name]
        except KeyError:
            found = [lines for path, lines in self.files.items() if self.paths.same(name, path)]
            self.by_name[name] = found[0] if found else None
            return self.by_name[name]
