"""A process with raydbg's agent in it, without Ray: `PYTHON agent_program.py CONFIG`, then a command a line on stdin.

With $NO_AGENT it has none, for a comparison; then `work`, `spin`, `start` and `exit` are there.

    start           starts the agent
    work N          runs work(N), and prints its result
    many N THREADS  runs work() N times on each of so many threads, and prints the seconds of all
    block N WORDS   runs work(N) and is then in a read, without a line between them, until the words have come
    want            has pydevd here from now on, and prints whether that is so
    enter N         runs work(N) as a task, whose first line is watched
    fail N          raises in the frame of lose(N), as a task that fails
    doze            sleeps, and prints that; what ends it is ^C, and it prints that it has come
    spin N          prints the seconds of N calls, on this thread
    heard           prints the variable of that name, which an evaluation sets
    fork N          runs work(N) in a forked child, which ends when its agent has heard of the relay; prints its result
    buffer WORDS    prints the words, but leaves them in the buffer of a stdout that has one
    threads         prints the names of the threads
    active          prints whether pydevd is there, and the trace function
    traced          prints what makes this thread's calls slow
    imported        prints the modules that the agent's start has imported
    set             prints the breakpoints that pydevd has: line, condition and expression to log
    check ARGUMENTS prints check(*ARGUMENTS), with x = 3 and d = {"k": "v"} in the frame
    do CODE         executes the JSON string CODE, in which `agent` is the agent's module, and prints its `answer`, or what it raised
    exit N
"""

import ctypes
import json
import marshal
import os
import sys
import threading
import time
import types
from importlib.util import MAGIC_NUMBER
from pathlib import Path


def work(n):
    doubled = n * 2  # line: work
    return doubled + 1


def block(n, words):
    return work(n), os.read(sys.stdin.fileno(), len(words) + 1)


def small(n):
    return n


def lose(n):
    lost = n * 3
    raise ValueError(lost)  # line: lose


def many(count, threads):
    begun = time.monotonic()
    running = [threading.Thread(target=lambda: [work(n) for n in range(count)]) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return time.monotonic() - begun


def enter(agent, n):
    with agent.entering(work.__code__, ()):
        return work(n)


def fail(agent, n):
    try:
        lose(n)
    except ValueError as error:
        agent.stop_at_failure(sys.exc_info())
        return error


def doze(why):
    try:
        print("DOZES", why, flush=True)  # in no frame but this: ^C may come at once
        time.sleep(10_000)
    except KeyboardInterrupt:
        return "interrupted"


def fork(agent, n):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    result = work(n)
    agent.agent.settled.wait()
    os._exit(result)


def spin(count):
    begun = time.thread_time()
    for n in range(count):
        small(n)
    return time.thread_time() - begun


def evaluates_frames():
    """Whether another function than Python's own evaluates frames."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    api._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
    own = ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    return api._PyInterpreterState_GetEvalFrameFunc(api.PyInterpreterState_Get()) != own


def traced_threads():
    """Python 3.9's count, which makes the calls of all threads slower; later ones have none."""
    if sys.version_info >= (3, 10):
        return 0
    interpreter = ctypes.pythonapi.PyInterpreterState_Get
    interpreter.restype = ctypes.c_void_p
    limit, count = (ctypes.c_int * 2).from_address(interpreter() + 64)  # .ceval.recursion_limit and .tracing_possible
    assert limit == sys.getrecursionlimit()
    return count


def tracing():
    """What debuggers have a thread run at each call or line: a trace function, a frame evaluator, or events."""
    monitoring = getattr(sys, "monitoring", None)
    tools = [tool for tool in range(6) if monitoring and monitoring.get_tool(tool)]
    return [*(["a trace function"] if sys.gettrace() else []), *(["a frame evaluator"] if evaluates_frames() else []),
            *(["a count of traced threads"] if traced_threads() else []),
            *(f"events of {monitoring.get_tool(tool)}" for tool in tools
              if monitoring.get_events(tool) or monitoring.get_local_events(tool, small.__code__))]


def do(agent, code):
    names = {"agent": agent, "answer": None}
    try:
        exec(code, names)
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)
    return names["answer"]


def breakpoints():
    pydevd = sys.modules.get("pydevd")
    files = pydevd.get_global_debugger().breakpoints.values() if pydevd else ()
    return json.dumps([(b.line, b.condition, b.expression) for lines in files for b in list(lines.values())])


def tell(*words):
    """In one write, as print()'s several would mix with what another thread says on stderr."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


PARTS = ("agent", "agent_debugger", "agent_threads", "agent_tls", "agent_stops")  # as cmake/worker-agent.cmake


def import_as_agent():
    """What the agent imports, a worker of Ray's has anyway."""
    for part in PARTS:
        for line in (Path(__file__).resolve().parents[2] / f"relay/worker_agent/{part}.py").read_text().splitlines():
            if line.startswith(("import ", "from ")):
                exec(line, {})


def pack_agent():
    """As a driver does for its workers."""
    root, hook = Path(__file__).resolve().parents[2], types.ModuleType("raydbg_run")
    exec((root / "relay/worker_agent/run_hook.py").read_text(), hook.__dict__)
    source = "".join((root / f"relay/worker_agent/{name}.py").read_text() for name in PARTS)
    return hook.pack_agent(source + f"\n\nRAY_PATHS = (\n{(root / 'base/ray_path_list.h').read_text()})\n")


def load_agent():
    """As a worker does: $AGENT_CODE is the file of what pack_agent() has made with this Python."""
    packed = Path(os.environ["AGENT_CODE"]).read_bytes() if "AGENT_CODE" in os.environ else pack_agent()
    import_as_agent()
    module = types.ModuleType("raydbg_agent")
    module.loading = time.monotonic()
    for code in marshal.loads(packed[len(MAGIC_NUMBER):]):
        exec(code, module.__dict__)
    module.loading = time.monotonic() - module.loading
    sys.modules["raydbg_agent"] = module
    return module


def start_agent():
    agent = load_agent()
    agent.WORD_S = float(os.environ.get("WORD_S", agent.WORD_S))
    agent.HOLD_MOST_S = float(os.environ.get("HOLD_S") or os.environ.get("WORD_S", agent.HOLD_MOST_S))
    agent.AGAIN_S = tuple(map(float, os.environ["AGAIN_S"].split())) if "AGAIN_S" in os.environ else agent.AGAIN_S
    agent.ANSWER_S = float(os.environ.get("ANSWER_S", agent.ANSWER_S))
    agent.known = set(sys.modules)
    begun = time.monotonic()
    agent.start(json.loads(Path(sys.argv[1]).read_text()))
    tell("STARTED", round(agent.loading + time.monotonic() - begun, 4))
    return agent


def main():
    if "NO_AGENT" in os.environ:
        import_as_agent()
        agent = tell("STARTED", 0)
    else:
        agent = start_agent()
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "work":
            tell("RESULT", work(int(rest)))
        elif command == "many":
            tell("MANY", many(*map(int, rest.split())))
        elif command == "block":
            number, words = rest.split(" ", 1)
            done = block(int(number), words)
            tell("RESULT", done[0])
        elif command == "want":
            tell("WANTED", agent.want_debugger() is None)
        elif command == "enter":
            tell("RESULT", enter(agent, int(rest)))
        elif command == "fail":
            tell("FAILED", fail(agent, int(rest)))
        elif command == "doze":
            tell("WOKEN", doze("a while"))
        elif command == "fork":
            tell("FORKED", fork(agent, int(rest)))
        elif command == "start":
            agent = start_agent()
        elif command == "buffer":
            print(rest)
        elif command == "spin":
            tell("SPUN", spin(int(rest)))
        elif command == "heard":
            tell("HEARD", globals().get("heard"))
        elif command == "threads":
            tell("THREADS", *sorted(thread.name.replace(" ", "-") for thread in threading.enumerate()))
        elif command == "imported":
            tell("IMPORTED", sorted(set(sys.modules) - agent.known))
        elif command == "active":
            tell("ACTIVE", agent.debugger.active, sys.gettrace())
        elif command == "traced":
            tell("TRACED", tracing())
        elif command == "set":
            tell("SET", breakpoints())
        elif command == "check":
            x, d = 3, {"k": "v"}  # noqa: F841, for the conditions
            tell("CHECKED", agent.check(*json.loads(rest), globals(), locals()))
        elif command == "do":
            tell("DONE", do(agent, json.loads(rest)))
        elif command == "exit":
            sys.exit(int(rest))


if __name__ == "__main__":
    main()
