"""pydevd in this process: started and configured for the relay, used by what stops a thread, and taken out again.

Executed in the module of agent.py. Only connect() imports debugpy. The functions behind the class keep Ray, a pydevd that has
ended and the threads of this process from disturbing each other.
"""

import functools
import inspect
import traceback

DIAL_S = 10.0  # for pydevd's connection with TLS, as pydevd itself has for one without; only the agent's own threads wait
RECURSION_LIMIT_AT, TRACING_POSSIBLE_AT = 64, 68  # bytes, in CPython 3.9's PyInterpreterState: .ceval's first two int
CONFIGURED_LOOKS_S = 0.02  # between two looks whether pydevd is configured, or has ended


class Ended(Exception):
    """pydevd has ended before it was configured."""


class Debugger:
    """pydevd in this process: connected to the relay, or not there at all. Another's, such as Ray's, is left alone."""

    def __init__(self):
        self.own = None  # the PyDB that connect() has made
        self.connecting = threading.Lock()
        self.exchanging = threading.Lock()  # the PyDB that pydevd has as the global one is made, or taken out
        self.original = self.copy = None  # a directory that clients name, and its copy in which this process runs

    @property
    def active(self):
        return self.own is not None

    def connect(self, config, token):
        """True when the relay has configured pydevd; False if its connection has ended before that, or disconnect() was called
        meanwhile. Raises if there is no debugpy, or another debugger. Waits for ever for a silent relay: call it on a thread of
        its own."""
        with self.connecting:  # a former call that disconnect() lets go has cleaned up then
            import_debugger()
            guard_pydevd()
            share_with_ray()
            stop_late_tracing()
            traces.find()
            try:
                own = self.start(config, token)
            except Exception:
                self.disconnect()  # a PyDB that could not dial, in which Ray's breakpoint() would wait for ever
                raise
            if self.own is own and not own.pydb_disposed:
                return True
            self.own = None
            self.take_out(own)  # again, if it has begun to trace the threads since disconnect()
            return False

    def start(self, config, token):
        """The PyDB, which is configured, or has ended."""
        debugpy, pydevd = sys.modules["debugpy"], sys.modules["pydevd"]
        dial, made = pydevd.start_client, []

        def start_client(host, port):
            pydevd.start_client = dial
            own = self.own = pydevd.get_global_debugger()  # PyDB() is that before it dials
            making.close()
            own.wait_for_ready_to_run = lambda: self.wait_until_configured(own)
            made.append(own)
            if config.get("fingerprint"):
                sock = secure(connect_to(host, port, DIAL_S), config["fingerprint"], CUT_S)
            else:
                sock = dial(host, port)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(b"raydbg pydevd 1 %s\n" % token.encode())
            return sock

        with contextlib.ExitStack() as making, contextlib.suppress(Ended):
            making.enter_context(self.exchanging)
            making.callback(setattr, pydevd, "start_client", dial)
            if pydevd.get_global_debugger() is None:  # else debugpy would use that one, and not dial
                self.map_paths()
                debugpy.configure(subProcess=False)
                pydevd.start_client = start_client
                debugpy.connect((config["host"], config["port"]))
        if not made:
            raise RuntimeError("another debugger is open in this process, such as Ray's own at a breakpoint()")
        return made[0]

    def wait_until_configured(self, own):
        """In place of PyDB.wait_for_ready_to_run(), whose caller has a lock that each settrace() needs, and then traces the
        threads: raises Ended where that would wait for ever."""
        while not own.ready_to_run:
            if self.own is not own or own.pydb_disposed:
                raise Ended
            own.process_internal_commands()
            own._py_db_command_thread_event.clear()
            own._py_db_command_thread_event.wait(CONFIGURED_LOOKS_S)

    def map_paths(self):
        """Breakpoints and stacks have the paths of the original, and those of all other files as they are. pydevd has all
        files of the directory under the name of the copy: also the functions of the driver's own file, which come by value
        and have the name of the original in their code."""
        if not self.original or not self.copy:
            return
        files = sys.modules["pydevd_file_utils"]
        files.setup_client_server_paths([(self.original + "/", self.copy + "/"), ("/", "/")])

        def map_copy(name_file):
            def name_copy(filename, *more):
                if filename.startswith(self.original + "/"):
                    filename = self.copy + filename[len(self.original):]
                return name_file(filename, *more)

            return name_copy

        replace_once(files, "_abs_and_canonical_path", map_copy)

    def tidy(self):
        """Takes out what is left of a pydevd whose connection has ended. One that a relay's keeper holds stays."""
        if self.active and sys.modules["pydevd"].get_global_debugger() is not self.own:
            self.disconnect()

    def trace_this_thread(self):
        own = self.own
        if own is not None and own.ready_to_run:
            own.enable_tracing()

    def stop_at(self, error):
        """Stops this thread, with the frames in which the exception was raised."""
        found, thread = self.own, threading.current_thread()
        frames = [frame for frame, _ in traceback.walk_tb(error[2])]
        info = found.set_additional_thread_info(thread)
        info.is_tracing += 1
        info.pydev_message = error[0].__name__
        try:
            with untraced_thread():
                found.do_stop_on_unhandled_exception(thread, frames[-1], {id(frame): frame for frame in frames}, error)
        finally:
            info.is_tracing -= 1

    def stop_here(self, frame, then):
        """Stops this thread, which is in this frame, or in one that the frame has called. Calls then() when it goes on, and
        before a step of the client's can see it."""
        found, thread = self.own, threading.current_thread()
        info = found.set_additional_thread_info(thread)
        info.is_tracing += 1
        try:
            with untraced_thread():
                self.suspend(thread)
                found.do_wait_suspend(thread, frame, "line", None)
        finally:
            then()
            info.is_tracing -= 1

    def suspend(self, thread):
        """Has the thread stop at its next line, as `pause` does."""
        constants = importlib.import_module("_pydevd_bundle.pydevd_comm_constants")
        self.own.set_suspend(thread, constants.CMD_THREAD_SUSPEND, is_pause=True)

    def disconnect(self):
        """Takes pydevd out of all threads, so that they have their full speed again and connect() works again."""
        own, self.own = self.own, None
        if own is not None:
            self.take_out(own)

    def take_out(self, own):
        """On the agent's threads, and on each of the user's that waits in a pydevd that has ended, while another may start."""
        from _pydevd_bundle.pydevd_constants import GlobalDebuggerHolder

        with self.exchanging:
            if GlobalDebuggerHolder.global_dbg not in (None, own):
                return  # it has ended, and what traces the threads now is another's
            pydevd = sys.modules["pydevd"]
            pydevd.stoptrace()
            untrace_threads()
            GlobalDebuggerHolder.global_dbg = None
            pydevd.SetupHolder.setup = None
            for thread in threading.enumerate():
                renew_state(thread)

    def forget(self):
        """In a forked child: takes out its parent's pydevd, which has no thread here. The connection stays the parent's. A thread
        that is in connect() there holds locks."""
        self.connecting, self.exchanging = threading.Lock(), threading.Lock()
        traces.forget()
        importing.close()
        constants = sys.modules.get("_pydevd_bundle.pydevd_constants")
        if constants is not None:
            constants.after_fork()
        own, self.own = self.own, None
        if own is None:
            return
        from _pydevd_bundle.pydevd_constants import GlobalDebuggerHolder

        if GlobalDebuggerHolder.global_dbg not in (None, own):
            return
        pydevd, GlobalDebuggerHolder.global_dbg = sys.modules["pydevd"], None
        own.pydb_disposed = True
        # It would flush the streams, and the parent writes what they hold, too. This thread is the only one here.
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
            pydevd.stoptrace()  # of this thread; without a global debugger it ends none
        pydevd.SetupHolder.setup = None
        renew_state(threading.current_thread())
        for thread in own.reader, own.writer:
            if getattr(thread, "sock", None) is not None:
                thread.sock.close()


def replace_once(owner, name, replace):
    """Puts what `replace` makes of a function of another's in its place, unless that was done before."""
    function = getattr(owner, name)
    if not hasattr(function, "raydbg"):
        replaced = replace(function)
        replaced.raydbg = True
        setattr(owner, name, replaced)


importing = contextlib.ExitStack()  # restores what import_debugger() has changed; a child may be forked meanwhile


def import_debugger():
    """The import takes seconds against a thread that does not give the GIL away, hence the switch interval. pydevd's
    warning about frozen modules would be the only trace of a debugger in the program's output. One call at a time: a second
    would restore what the first has set."""
    name = "PYDEVD_DISABLE_FILE_VALIDATION"
    with importing:
        importing.callback(sys.setswitchinterval, sys.getswitchinterval())
        if name in os.environ:
            importing.callback(os.environ.__setitem__, name, os.environ[name])
        else:
            importing.callback(os.environ.pop, name, None)
        sys.setswitchinterval(1e-4)
        os.environ[name] = "1"
        importlib.import_module("debugpy.server")
        importlib.import_module("pydevd")


@contextlib.contextmanager
def untraced_thread():
    """With sys.monitoring, pydevd would trace its own functions here, and stop in them: see inject_postmortem in
    relay/inject/inject_source.c."""
    from _pydevd_bundle import pydevd_constants

    if not getattr(pydevd_constants, "PYDEVD_USE_SYS_MONITORING", False):
        yield
        return
    from _pydevd_sys_monitoring import pydevd_sys_monitoring

    pydevd_sys_monitoring.start_monitoring()  # a thread without an event so far has nothing to stop
    pydevd_sys_monitoring.stop_monitoring()
    try:
        yield
    finally:
        pydevd_sys_monitoring.start_monitoring()


class TraceCount:
    """Python 3.9's count of the threads that have a trace function: while it is not 0, the calls of all threads take a tenth
    longer. pydevd counts each settrace() of its own as one more thread, and does not take that back ("Hack to increase
    _Py_TracingPossible" in pydevd_tracing.py). Later Pythons have a flag in each thread instead."""

    def __init__(self):
        self.changing = threading.Lock()
        self.count = None  # an int in the interpreter's memory

    def find(self):
        """Call it on a thread without a trace function. Nothing is found where the memory is not as in CPython 3.9."""
        if self.count is not None or sys.version_info[:2] != (3, 9):
            return
        import ctypes

        interpreter, settrace = ctypes.PyDLL(None).PyInterpreterState_Get, find_settrace()
        interpreter.restype = ctypes.c_void_p
        limit, count = (ctypes.c_int.from_address(interpreter() + at) for at in (RECURSION_LIMIT_AT, TRACING_POSSIBLE_AT))
        seen = []
        for function in None, lambda *_: None, None:
            settrace(function)
            seen.append(count.value)
        if limit.value == sys.getrecursionlimit() and seen == [seen[0], seen[0] + 1, seen[0]]:
            self.count = count

    def set(self, number):
        with self.changing:
            if self.count is not None:
                self.count.value = number

    def untrace_this_thread(self, settrace):
        """Leaves the count as it is: nobody waits for the threads that come here late before it is set to 0."""
        with self.changing:
            settrace(None)
            if self.count is not None:
                self.count.value += 1

    def forget(self):
        """In a forked child, whose only thread is this one."""
        self.changing = threading.Lock()
        self.set(sys.gettrace() is not None)


traces = TraceCount()


def find_settrace():
    """Python's own: pydevd's complains where others use it."""
    import pydevd_tracing

    return pydevd_tracing.TracingFunctionHolder._original_tracing or sys.settrace


def untrace_threads():
    """Before Python 3.12, each thread has a trace function of its own, which costs time at each call. A thread takes its
    own away at its next call."""
    import pydevd_tracing

    def untrace(_frame, _event, _arg):
        traces.untrace_this_thread(find_settrace())

    pydevd_tracing.restore_sys_set_trace_func()
    if sys.version_info < (3, 12):
        pydevd_tracing.set_trace_to_threads(untrace, create_dummy_thread=False)
        traces.set(0)


def stop_late_tracing():
    """A frame in which a client has stepped has pydevd's trace function also when that pydevd has ended: before Python 3.12,
    the frame's next line would have it trace the thread again."""
    def late(enable):
        def enable_tracing(self, *arguments, **named):
            enable(self, *arguments, **named)
            if self.pydb_disposed:  # is so before untrace_threads(): one of the two comes last
                self.disable_tracing()

        return enable_tracing

    if sys.version_info < (3, 12):
        replace_once(sys.modules["pydevd"].PyDB, "enable_tracing", late)


def renew_state(thread):
    """Takes out what a pydevd that has ended has left in its state of a thread. With sys.monitoring that must stay the same
    object: pydevd's callbacks keep it in a store of the thread's own, and would not see the steps of the next pydevd."""
    state = getattr(thread, "additional_info", None)
    if state is not None and sys.version_info < (3, 12):
        thread.additional_info = None
    elif state is not None:
        state.pydev_notify_kill = False
        forget_stop(state)


def forget_stop(state):
    """The thread with this state is neither to stop nor to step."""
    from _pydevd_bundle.pydevd_constants import STATE_RUN

    state.pydev_state = STATE_RUN
    state.pydev_step_cmd = state.pydev_original_step_cmd = -1
    state.pydev_step_stop = None


def trace_pool_threads():
    """The threads of a threaded actor begin in C++, where pydevd does not see them begin: before Python 3.12 each must be
    traced from within, at its next call."""
    manager = sys.modules["ray"]._private.function_manager.FunctionActorManager
    make = manager._make_actor_method_executor

    def make_executor(self, *arguments, **named):
        execute = make(self, *arguments, **named)
        if inspect.iscoroutinefunction(execute):
            return execute

        @functools.wraps(execute)
        def traced(*arguments, **named):
            if debugger.active and sys.gettrace() is None:
                debugger.trace_this_thread()
            return execute(*arguments, **named)

        return traced

    if sys.version_info < (3, 12):
        manager._make_actor_method_executor = functools.wraps(make)(make_executor)


called = threading.local()  # by: the uuid of the last of Ray's breakpoints on this thread, that of a step for one


def share_with_ray():
    """Ray opens debuggers of its own: an adapter at breakpoint() and at the beginning of a task that a step enters, and a pdb in
    ray.get() where a step comes out of the task that has made the result. A process that has pydevd stops in that."""
    for module, name, share in (("ray.util.debugpy", "_ensure_debugger_port_open_thread_safe", share_breakpoint),
                                ("ray.util.rpdb", "_connect_ray_pdb", share_get)):
        of_ray = sys.modules.get(module)
        if getattr(of_ray, name, None) is not None:
            replace_once(of_ray, name, share)


def wait_for_debugger():
    """True once pydevd is configured; False if there is none. One whose connection has ended, or which the relay has left, is
    none: what waits in it waits for ever, and what stops in it raises."""
    while debugger.active:
        own = debugger.own
        if own is not None and own.is_attached() and not own.pydb_disposed:
            return True
        with contextlib.suppress(Exception):
            debugger.tidy()
        time.sleep(CONFIGURED_LOOKS_S)
    return False


def share_breakpoint(opened):
    def ensure_debugger():
        called.by = sys._getframe(1).f_locals.get("breakpoint_uuid")
        if not wait_for_debugger():
            opened()

    return ensure_debugger


def share_get(opened):
    def connect_pdb(*arguments, **named):
        if not wait_for_debugger():
            return opened(*arguments, **named)
        called.by = (named.get("breakpoint_uuid") or "").encode()
        return StopInCaller()

    return connect_pdb


class StopInCaller:
    """Stands for a pdb of Ray's: stops at the program's call of ray.get(), when the outermost of Ray's own frames returns."""

    def set_trace(self, frame=None):
        import pydevd

        inner, frame = sys._getframe(), sys._getframe(1)
        while is_rays(frame.f_code) and frame.f_back is not None:
            inner, frame = frame, frame.f_back
        pydevd.settrace(stop_at_frame=inner)


debugger = Debugger()
