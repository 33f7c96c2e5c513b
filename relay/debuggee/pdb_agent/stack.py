"""Frames and exceptions as DAP has them."""

import linecache
import os
import traceback


class StackFrame:
    """A frame and the line in it: for one of a traceback that is not where the frame stands."""

    def __init__(self, frame, line, name):
        self.frame = frame
        self.line = line
        self.name = name


def function_name(code):
    return getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2]


def stack_of_frame(frame):
    return [StackFrame(one, one.f_lineno, function_name(one.f_code)) for one in callers(frame) if not is_own(one)]


def stack_of_traceback(trace):
    stack = []
    while trace is not None:
        stack.append(StackFrame(trace.tb_frame, trace.tb_lineno, function_name(trace.tb_frame.f_code)))
        trace = trace.tb_next
    return stack[::-1]


def next_exception(error):
    """What the traceback module would show above it."""
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def chain_of(error):
    chain, seen = [], set()
    while error is not None and id(error) not in seen and len(chain) < 20:
        chain.append(error)
        seen.add(id(error))
        error = next_exception(error)
    return chain


def stack_of_exception(error, trace):
    """The raising frame first, down to the worker's own; then those of the exceptions that led to it."""
    stack = stack_of_traceback(trace)
    if stack:
        stack += stack_of_frame(stack[-1].frame)[1:]
    for earlier in chain_of(error)[1:]:
        for one in stack_of_traceback(earlier.__traceback__):
            one.name = "[Chained Exc: %s] %s" % (value_text(str_of(earlier), 200).strip("'\""), one.name)
            stack.append(one)
    return stack


def str_of(error):
    try:
        return str(error)
    except BaseException as failure:
        return describe_failure(failure)


def full_name(kind):
    module = getattr(kind, "__module__", None)
    return kind.__qualname__ if module in (None, "builtins", "__main__") else "%s.%s" % (module, kind.__qualname__)


def exception_details(chain):
    error = chain[0]
    try:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except BaseException as failure:
        text = describe_failure(failure)
    details = {"message": str_of(error)[:REPL_LIMIT], "typeName": type(error).__name__,
               "fullTypeName": full_name(type(error)), "stackTrace": text[-REPL_LIMIT:]}
    if len(chain) > 1:
        details["innerException"] = [exception_details(chain[1:])]
    return details


class Sources:
    """Files that are not on the worker's disk, but whose text Python has: by number."""

    def __init__(self, paths):
        self.paths = paths
        self.names = []

    def describe(self, name):
        path = self.paths.canonical(name)
        if os.path.exists(path):
            return {"name": os.path.basename(path), "path": self.paths.to_client(path)}
        fields = {"name": os.path.basename(name) or name, "path": self.paths.to_client(name)}
        if linecache.getlines(name):
            if name not in self.names:
                self.names.append(name)
            fields["sourceReference"] = self.names.index(name) + 1
        return fields

    def text(self, arguments):
        source = arguments.get("source") or {}
        number = arguments.get("sourceReference") or source.get("sourceReference") or 0
        if 0 < number <= len(self.names):
            name = self.names[number - 1]
        else:
            name = self.paths.to_worker(source.get("path") or "")
        lines = linecache.getlines(name)
        if not lines:
            raise Refused("the worker has no source of that")
        return "".join(lines)
