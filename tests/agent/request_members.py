"""Each request that reaches debugpy, with arguments that it can digest, and each of its members to replace."""

# Values of every JSON type; which of them are wrong depends on the member.
VALUES = {"null": None, "a number": 7, "a negative number": -3, "a fraction": 1.5, "a large number": 1 << 70, "a string": "x",
          "an empty string": "", "half a character": "\ud800", "a NUL": "a\0b", "true": True, "a list": [], "a list of numbers": [7],
          "a list of nulls": [None], "a list of strings": ["x"], "a list of lists": [[]], "a list of objects": [{}],
          "an object": {}, "an object with a list": {"x": []}}


def requests(thread, frame, scope, path):
    """{command: [arguments]} for a worker that is stopped there. Every member of DAP's schema, and of pydevd's, is in them."""
    source = {"path": path, "name": "x.py", "sourceReference": 0}
    text_format = {"hex": False, "rawString": False}
    steps = {"threadId": thread, "singleThread": False, "granularity": "line"}
    return {
        "completions": [{"text": "num", "column": 4, "line": 1, "frameId": frame}],
        "evaluate": [{"expression": "number", "context": context, "frameId": frame, "format": text_format, "line": 1, "column": 1,
                      "source": source} for context in ("repl", "watch", "hover", "clipboard", "variables")]
        + [{"expression": "1", "context": "repl"}],
        "exceptionInfo": [{"threadId": thread}],
        "gotoTargets": [{"source": source, "line": 3, "column": 1}],
        "goto": [{"threadId": thread, "targetId": 99}],
        "modules": [{"startModule": 0, "moduleCount": 1}],
        "scopes": [{"frameId": frame}],
        "setBreakpoints": [{"source": source, "lines": [1], "sourceModified": False, "breakpoints": [
            {"line": 3, "column": 1, "condition": "0", "hitCondition": "3", "logMessage": "x", "mode": "x"}]}],
        "setDebuggerProperty": [{"ideOS": "UNIX", "dontTraceStartPatterns": ["/nowhere"], "dontTraceEndPatterns": ["nowhere.py"],
                                 "skipSuspendOnBreakpointException": ["ValueError"],
                                 "skipPrintBreakpointException": ["ValueError"], "multiThreadsSingleNotification": False}],
        "setExceptionBreakpoints": [{"filters": ["uncaught"], "filterOptions": [{"filterId": "uncaught", "condition": "0"}],
                                     "exceptionOptions": [{"path": [{"negate": False, "names": ["Python Exceptions"]},
                                                                    {"negate": False, "names": ["ValueError"]}],
                                                           "breakMode": "never"}]}],
        "setExpression": [{"frameId": frame, "expression": "number", "value": "7", "format": text_format}],
        "setFunctionBreakpoints": [{"breakpoints": [{"name": "nowhere", "condition": "0", "hitCondition": "3"}]}],
        "setPydevdSourceMap": [{"source": source, "pydevdSourceMaps": [
            {"line": 1, "endLine": 2, "runtimeLine": 1, "runtimeSource": {"path": "<x>"}}]}],
        "setVariable": [{"variablesReference": scope, "name": "number", "value": "7", "format": text_format}],
        "source": [{"source": source, "sourceReference": 0}],
        "stackTrace": [{"threadId": thread, "startFrame": 0, "levels": 1, "format": {
            name: False for name in ("hex", "parameters", "parameterTypes", "parameterNames", "parameterValues", "line", "module",
                                     "includeAll")}}],
        "stepInTargets": [{"frameId": frame}],
        "threads": [{}],
        "variables": [{"variablesReference": scope, "filter": "named", "start": 0, "count": 1, "format": text_format}],
        "debugpySystemInfo": [{}],
        "pydevdSystemInfo": [{}],
        "pause": [{"threadId": thread}],
        "next": [steps],
        "stepIn": [{**steps, "targetId": 99}],
        "stepOut": [steps],
        "continue": [{"threadId": thread, "singleThread": False}],
    }


def paths(value, path=()):
    """The paths of all members, and of all elements, and () for the arguments as a whole."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from paths(one, (*path, key))


def replaced(value, path, by):
    if not path:
        return by
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


def without(value, path):
    copy = value.copy()
    if len(path) == 1:
        copy.pop(path[0])
    else:
        copy[path[0]] = without(value[path[0]], path[1:])
    return copy


def variants(arguments):
    """(path, what, arguments): each member by each value, and left out."""
    for path in paths(arguments):
        for what, value in VALUES.items():
            yield path, what, replaced(arguments, path, value)
        if path:
            yield path, "left out", without(arguments, path)
