"""Decides whether a thread stops: conditions of breakpoints, first lines of tasks, failures, and ^C.

Executed in the module of agent.py. check() and is_first_line() are called by pydevd, in its trace function on the user's
thread; the wrappers of watch_calls() run on that thread, too.
"""

import dis
import fnmatch

# --- which processes and tasks are meant ---


def matches(glob):
    """True if the glob names the task on this thread, the function in it, its actor's class, or its actor."""
    facts = task_facts()
    names = [facts.get(name, "") for name in ("task_name", "actor_class", "actor_name")]
    names.append(names[0].rpartition(".")[2])
    return any(name and fnmatch.fnmatchcase(name, glob) for name in names)


def rank_of(names):
    """The rank of this process, or of the actor in a frame with these locals, as a number; None: it has none. It is the one
    that lists show: see rank_expression in relay/stack/rank.c."""
    own = names.get("self")
    plain = hasattr(type(own), "__dict__") and type(own).__getattribute__ is object.__getattribute__
    attributes = getattr(own, "__dict__", {}) if plain else {}
    for value in (os.environ.get("RANK"), os.environ.get("WORLD_RANK"), names.get("rank"), attributes.get("rank")):
        if type(value) is int or (type(value) is str and value.isdigit()):
            return int(value)
    return None


def is_on(node):
    """True for a worker of the node with this address, or with an id that begins like this."""
    return agent.hello.get("node_id", "").startswith(node) or agent.hello.get("node_ip") == node


def is_selected(names):
    """True if --task, --rank and --node of `raydbg run` mean the task on this thread."""
    config = agent.config
    return ((not config.get("node") or agent.hello["role"] == "worker" and is_on(config["node"]))
            and ("rank" not in config or rank_of(names) == config["rank"])
            and (not config.get("task") or matches(config["task"])))


# --- breakpoints ---

told = set()
told_lock = threading.RLock()


def check(number, glob, rank, condition, log, counted, space, names):
    """The condition of breakpoint `number`, in the frame with these globals and locals: true if the thread is to stop.
    `rank` -1 is any. Only the relay can count the hits of all processes: it is asked about each that counts."""
    try:
        if is_first_line():
            return True
        if glob and not matches(glob):
            return False
        if rank >= 0 and rank_of(names) != rank:
            return False
        if condition and not eval(condition, space, names):  # the user's own expression, in the user's own frame
            return False
        if counted and not agent.ask(event="hit", breakpoint=number, logs=bool(log)):
            return False
        if log:
            print(eval(compile_log(log), space, names), flush=True)
            return False
    except Exception as error:
        tell_once(number, "%s: %s" % (type(error).__name__, error))
        return False
    return True


def compile_log(log):
    """The text of a log point, with its {expressions}. The literal is a raw one: a backslash in the text is printed, and repr() would
    escape quotes in the expressions, too. The quotes and backslashes that the text ends in would not let the literal end: they
    are in one of their own. repr() is for a text that has no raw literal, such as one with \\r, which no source has."""
    begin = log.rstrip("'\"\\")
    quotes = [quote for quote in ('"""', "'''") if quote not in begin and "\r" not in begin]
    for literal in ["rf" + quote + begin + quote + repr(log[len(begin):]) for quote in quotes]:
        with contextlib.suppress(SyntaxError, ValueError):
            return compile(literal, "<string>", "eval")
    return compile("f" + repr(log), "<string>", "eval")


def renew_lock():
    """In a forked child, where no thread will give it back."""
    global told_lock
    told_lock = threading.RLock()


def tell_once(number, error):
    """A breakpoint whose condition fails does not stop, and says so once in this process."""
    with told_lock:
        if (number, error) in told or len(told) > 1000:
            return
        told.add((number, error))
    agent.tell(event="problem", breakpoint=number, error=error[:500])


# --- the first line of each task ---

placed = set()  # the codes at whose first lines pydevd has a breakpoint
passed = set()  # the codes whose first lines have passed without one, which was said
entered = threading.local()  # code: what this thread is about to enter


def first_line_of(code):
    """The line of the first statement; that of `def` if there is no other."""
    lines = (line for _, line in dis.findlinestarts(code) if line is not None and line != code.co_firstlineno)
    return next(lines, code.co_firstlineno)


def wait_for_start():
    """Until pydevd stops the threads here, or does not start in time; not without a relay that starts it."""
    until = time.monotonic() + START_MOST_S
    while agent.debuggable is None and agent.wanted and agent.sock is not None and not agent.deaf:
        if time.monotonic() > until:
            agent.debuggable = False  # the next task need not wait
        time.sleep(0.02)


def place_first_line(code):
    """True if threads stop at the first line of this code. Each time that they do not, the reason may have gone at the next."""
    wait_for_start()
    if code in placed and agent.debuggable:
        return True
    if agent.ask(event="first_line", file=os.path.abspath(code.co_filename), line=first_line_of(code)):
        placed.add(code)
        return True
    if code not in passed and agent.sock is not None and not agent.deaf:
        passed.add(code)
        print("raydbg: %s does not stop at its first line: the relay has not set the breakpoint in this process yet"
              % code.co_name, file=sys.stderr, flush=True)
    return False


@contextlib.contextmanager
def entering(code, arguments):
    """The function with this code is called next, on this thread, and stops at its first line."""
    try:
        if is_selected({"self": arguments[0]} if arguments else {}):
            entered.code = code if place_first_line(code) else None
    except Exception as error:
        agent.problem = error
    try:
        yield
    finally:
        entered.code = None


def is_first_line():
    """The condition of the breakpoint there: true once, where a task begins, and not where its function is called else."""
    code, frame = getattr(entered, "code", None), sys._getframe()
    while code is not None and frame is not None:
        if frame.f_code is code:
            entered.code = None
            return True
        frame = frame.f_back
    return False


def is_rays(code):
    """True for Ray's own code, here, or that came by value from a driver whose Ray is in another place. RAY_PATHS is the
    list that the relay has, too: cmake/worker-agent.cmake appends it."""
    name = code.co_filename
    return name.startswith(os.path.dirname(sys.modules["ray"].__file__) + "/") or any(path in "/" + name for path in RAY_PATHS)


def stopping(function):
    """The user's function, which stops at its first line; of the same kind, which Ray looks at."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if not inspect.isfunction(function) or code is None or is_rays(code):
        return function
    if inspect.iscoroutinefunction(function):
        async def enter(*arguments, **named):
            with entering(code, arguments):
                return await function(*arguments, **named)
    elif inspect.isasyncgenfunction(function):
        async def enter(*arguments, **named):
            with entering(code, arguments):
                async for item in function(*arguments, **named):
                    yield item
    elif inspect.isgeneratorfunction(function):
        def enter(*arguments, **named):
            with entering(code, arguments):
                return (yield from function(*arguments, **named))
    else:
        def enter(*arguments, **named):
            with entering(code, arguments):
                return function(*arguments, **named)
    return functools.wraps(function)(enter)


def stop_at_first_lines():
    """Actors' methods are wrapped when their class is loaded, functions when they are looked up for the first time."""
    manager = sys.modules["ray"]._private.function_manager.FunctionActorManager
    make, look_up = manager._make_actor_method_executor, manager.get_execution_info
    ready = {}

    @functools.wraps(make)
    def make_executor(self, name, method, *more, **named):
        return make(self, name, stopping(method), *more, **named)

    @functools.wraps(look_up)
    def get_execution_info(self, *arguments, **named):
        info = look_up(self, *arguments, **named)
        if hasattr(info.function, "method"):  # an actor's
            return info
        if info.function not in ready:
            ready[info.function] = stopping(info.function)
        return info._replace(function=ready[info.function])

    manager._make_actor_method_executor = make_executor
    manager.get_execution_info = get_execution_info


# --- failures ---

START_MOST_S = 60.0  # for pydevd to start where a task has failed or begins, while the relay is there


def want_debugger():
    """Has pydevd in this process until unwant_debugger(). None, or the reason why that cannot be."""
    before, failed, until = agent.connected, agent.failed, time.monotonic() + START_MOST_S
    with told_lock:
        agent.wanted += 1
    if agent.ask(event="wanted", wanted=True):
        return None
    while agent.connected == before:
        if agent.sock is None or agent.deaf:
            return "there is no relay that answers"
        if agent.failed > failed:
            return "this process cannot be debugged"
        if time.monotonic() > until:
            return "its debugger did not start within %d s" % START_MOST_S
        time.sleep(0.02)
    return None


def unwant_debugger():
    with told_lock:
        agent.wanted -= 1
    if not agent.wanted:
        agent.tell(event="wanted", wanted=False)


def say_no_post_mortem(why):
    print("raydbg: no post mortem of this failure: %s" % why, file=sys.stderr, flush=True)


def stop_at_failure(error):
    """Stops this thread where the exception was raised, if its task is meant; the frames are still there."""
    try:
        names = next((frame.f_locals for frame, _ in traceback.walk_tb(error[2]) if rank_of(frame.f_locals) is not None), {})
        if not is_selected(names):
            return
        try:
            why_not = want_debugger()
            if why_not is None:
                debugger.stop_at(error)
            else:
                say_no_post_mortem(why_not)
        finally:
            unwant_debugger()
    except Exception as problem:
        agent.problem = problem
        say_no_post_mortem("%s: %s" % (type(problem).__name__, problem))


watched = []  # True: failures are


def are_failures_stopped():
    """True if --post-mortem is on, or an editor's filter is now."""
    return bool(agent.config.get("post_mortem")) or agent.failures


def watch_failures():
    """In a worker, Ray itself asks whether there is a post mortem (the second name: before 2.39), and begins it. In a driver
    the interpreter says what nobody has caught. Where Ray's inside has changed, tasks fail as without this."""
    if watched:
        return
    watched.append(True)
    if agent.hello["role"] == "worker":
        with contextlib.suppress(AttributeError, ImportError):
            watch_failures_of_tasks(importlib.import_module("ray.util.rpdb"))
        return
    show = sys.excepthook

    def excepthook(kind, error, trace):
        if issubclass(kind, Exception) and are_failures_stopped():
            stop_at_failure((kind, error, trace))
        show(kind, error, trace)

    sys.excepthook = excepthook


def watch_failures_of_tasks(of_ray):
    post_mortem = of_ray._post_mortem

    def stop():
        error = sys.exc_info()
        if not are_failures_stopped():
            post_mortem()
        elif error[0] is None:  # Ray 2.9.3, of a generator that streams
            say_no_post_mortem("this version of Ray does not tell what was raised")
        else:
            stop_at_failure(error)

    for name in ("_is_ray_debugger_post_mortem_enabled", "_is_ray_debugger_enabled"):
        enabled = getattr(of_ray, name, None)
        if enabled is not None:
            setattr(of_ray, name, lambda enabled=enabled: are_failures_stopped() or enabled())
    of_ray._post_mortem = stop


# --- the other tasks, where one has stopped for all ---

PAUSE_LOOKS_S = 0.05, 0.5  # between two looks at a thread that is to stop, or has: at first, and at last


def is_library(code):
    """True for a module of Python's own, or one that is installed."""
    name = code.co_filename
    return name.startswith(os.path.dirname(os.__file__) + "/") or "-packages/" in name or name.startswith("<frozen ")


def is_debuggers(code):
    return "/_vendored/pydevd/" in code.co_filename or code.co_filename.startswith("<raydbg")


def task_on(frame):
    """"runs" if Ray has called what is at work there, "stopped" if the debugger or this module is at work above it, or None. A
    thread that Python has begun is the user's own, or one of Ray's: there a task is a coroutine, and only what is in no
    library tells it from Ray's own work."""
    codes = [found.f_code for found, _ in traceback.walk_stack(frame)][::-1]
    begun_by_python = codes[0].co_filename == threading.__file__
    called, task = not begun_by_python, None
    for code in codes:
        if is_rays(code):
            called = True
        elif is_debuggers(code):
            task = task and "stopped"
        elif called and task is None and not (begun_by_python and is_library(code)):
            task = "runs"
    return task


def find_tasks():
    """The threads that run tasks, and are not stopped. pydevd knows none that has no object in `threading` yet."""
    threads = [(threading._active.get(ident), frame) for ident, frame in sys._current_frames().items()]
    return [thread for thread, frame in threads if thread is not None and not getattr(thread, "pydev_do_not_trace", False)
            and task_on(frame) == "runs"]


def is_to_stop(thread):
    """False for one that does not run a task any more. A stop that it has not come to would be one in Ray's next task."""
    from _pydevd_bundle.pydevd_constants import STATE_SUSPEND

    frame, state = sys._current_frames().get(thread.ident), thread.additional_info
    if frame is None or state is None:
        return False
    if task_on(frame) is None:
        forget_stop(state)
    return state.pydev_state == STATE_SUSPEND


def pause_tasks():
    """Stops what runs here, where it is, and keeps pydevd until all of it goes on."""
    silence_tracing()
    try:
        threads = find_tasks() if debugger.active and agent.hello["role"] == "worker" else []
        for thread in threads:
            debugger.suspend(thread)
        wait_s, most_s = PAUSE_LOOKS_S
        while threads and debugger.active:
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, most_s)
            threads = [thread for thread in threads if is_to_stop(thread)]
    except Exception as error:
        agent.problem = error
    finally:
        unwant_debugger()


# --- ^C ---

def is_in_debugger(frame):
    """True if the debugger or this module is at work there, or keeps the thread stopped."""
    return any(is_debuggers(found.f_code) for found, _ in traceback.walk_stack(frame))


def users_frame(frame):
    """The frame of the user's that waits in ray.get() or the like; this one if there is none."""
    found = frame
    while found is not None and "ray" in sys.modules and is_rays(found.f_code):
        found = found.f_back
    return found or frame


def pause_at(frame):
    """Stops this thread in the frame; returns when it goes on. False if that cannot be."""
    if agent.sock is None or agent.deaf or is_in_debugger(frame):
        return False
    os.write(2, b"raydbg: ^C pauses the program; ^C once more ends it\n")
    wanted = True
    try:
        if want_debugger() is not None:
            return False
        wanted = False
        debugger.stop_here(users_frame(frame), unwant_debugger)
        return True
    except Exception as error:
        agent.problem = error
        return False
    finally:
        if wanted:
            unwant_debugger()


def find_runner(frame):
    """The local variables of the asyncio.Runner.run() at work there, or none: before Python 3.11, and where the debugger or this
    module is at work above it."""
    run = getattr(getattr(sys.modules.get("asyncio.runners"), "Runner", None), "run", None)
    for found, _ in traceback.walk_stack(frame):
        if is_debuggers(found.f_code):
            break
        if found.f_code is getattr(run, "__code__", None):
            return found.f_locals
    return {}


def interrupt_program(number, frame):
    """asyncio.run() sets its own handler, which cancels the main task, only in place of Python's own: it is called here."""
    names = find_runner(frame)
    cancel = getattr(names.get("self"), "_on_sigint", None)
    if cancel is None or "task" not in names:
        signal.default_int_handler(number, frame)
    else:
        cancel(number, frame, names["task"])


def on_interrupt(number, frame):
    """The first ^C pauses the main thread. The program gets one that comes meanwhile, and any for which there is no relay."""
    with contextlib.suppress(KeyboardInterrupt):  # ^C in pause_at() ends that
        if pause_at(frame):
            return
    interrupt_program(number, frame)


def pause_at_interrupts():
    """Unless the program has a handler of its own: one that it sets later replaces this one."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, on_interrupt)


def watch_calls(config):
    """For --pause-all, --post-mortem and the console of `raydbg run`. Where Ray's inside has changed, tasks run as without
    them."""
    with contextlib.suppress(AttributeError, ImportError):
        if config.get("post_mortem"):
            watch_failures()
        if config.get("pause_all") and config["role"] == "worker":
            stop_at_first_lines()
        if config.get("interrupt_pauses") and config["role"] == "driver":
            pause_at_interrupts()
