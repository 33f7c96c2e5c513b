#include "relay/inject.h"

#include "base/buf.h"

/* The worker's writer sends a message's header and body by two sends: Nagle's algorithm holds the
 * second for the first's delayed ACK, 44 ms. Not once: the socket may be a new one. */
static const char nodelay[] = "import pydevd, socket\n"
                              "writer = pydevd.get_global_debugger().writer\n"
                              "writer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n";

/* A stopped thread sleeps in PyDB._do_wait_suspend() until its event is set, at most 0.2 s. What
 * lets it run calls _update_stepping_info(info), whose loops reuse the name `info`: it sets the
 * event of whichever thread comes last in a set. So set all of them: one that is woken for
 * nothing goes back to sleep. debugpy 1.8.0 and 1.8.5 have no events, and poll. */
static const char wake[] =
    "import pydevd\n"
    "from _pydevd_bundle import pydevd_api, pydevd_comm\n"
    "def waking(function):\n"
    "    def call(*args, **named):\n"
    "        try:\n"
    "            return function(*args, **named)\n"
    "        finally:\n"
    "            events = getattr(pydevd.get_global_debugger(), '_thread_events', {})\n"
    "            for event in list(events.values()):\n"
    "                event.set()\n"
    "    return call\n"
    "for owner, name in ((pydevd_api, 'internal_step_in_thread'),\n"
    "                    (pydevd_api, 'internal_smart_step_into'),\n"
    "                    (pydevd_api, 'resume_threads'),\n"
    "                    (pydevd_comm.InternalSetNextStatementThread, 'do_it')):\n"
    "    setattr(owner, name, waking(getattr(owner, name)))\n";

/* Where one thread's stop stops all (debugpy before stopAllThreadsOnSuspend; newer if told so),
 * pydevd tells one stop and answers `continue` when a thread has noticed it. A thread that stops
 * just then stops the others anew before they notice: the answer never comes; or the stop is not
 * told, because it was asked for before the one that was; or two threads that stop at once each
 * take the other for one of those that stop along, and neither is told. So: a thread keeps its own
 * reason; what stops after all were let go, or for its own reason, is told; a thread that goes on
 * while others stand is told alone; and `continue` is answered in any case, followed by the stop
 * that is true if nobody got away. */
static const char all_stop[] =
    "import threading, time\n"
    "import pydevd\n"
    "from _pydevd_bundle import pydevd_thread_lifecycle as lifecycle\n"
    "from _pydevd_bundle.pydevd_comm_constants import CMD_RETURN, CMD_THREAD_SUSPEND\n"
    "from _pydevd_bundle.pydevd_constants import STATE_SUSPEND, get_thread_id\n"
    "from _pydevd_bundle.pydevd_net_command import NetCommand\n"
    "from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor\n"
    "behavior = pydevd.AbstractSingleNotificationBehavior\n"
    "suspend, mark = behavior.on_thread_suspend, lifecycle.mark_thread_suspended\n"
    "resume = PyDevJsonCommandProcessor.on_continue_request\n"
    "resumed = behavior.on_thread_resume\n"
    "def is_stopped(thread):\n"
    "    info = getattr(thread, 'additional_info', None)\n"
    "    return info is not None and info.pydev_state == STATE_SUSPEND\n"
    "def has_own_stop(thread):\n"
    "    reason = getattr(thread, 'stop_reason', None)\n"
    "    return is_stopped(thread) and reason not in (None, CMD_THREAD_SUSPEND)\n"
    "def on_thread_suspend(self, thread_id, thread, stop_reason):\n"
    "    if (stop_reason != CMD_THREAD_SUSPEND\n"
    "            or self._suspend_time_request <= self._last_resume_notification_time):\n"
    "        self.increment_suspend_time()\n"
    "    return suspend(self, thread_id, thread, stop_reason)\n"
    "def on_thread_resume(self, thread_id, thread):\n"
    "    py_db, held = self._py_db(), self._suspended_thread_id_to_thread\n"
    "    with self._lock:\n"
    "        others = [one for one in held.values() if one is not thread and is_stopped(one)]\n"
    "        if others and py_db is not None:\n"
    "            held.pop(thread_id, None)\n"
    "    if not others or py_db is None:\n"
    "        return resumed(self, thread_id, thread)\n"
    "    told = py_db.cmd_factory.make_thread_resume_single_notification(thread_id)\n"
    "    event = dict(told.as_dict, body=dict(told.as_dict['body'], allThreadsContinued=False))\n"
    "    py_db.writer.add_command(NetCommand(told.id, 0, event, is_json=True))\n"
    "def mark_thread_suspended(thread, stop_reason, **more):\n"
    "    if (stop_reason == CMD_THREAD_SUSPEND and has_own_stop(thread)\n"
    "            and pydevd.get_global_debugger().multi_threads_single_notification):\n"
    "        return thread.additional_info\n"
    "    return mark(thread, stop_reason, **more)\n"
    "def on_continue_request(self, py_db, request):\n"
    "    if not py_db.multi_threads_single_notification:\n"
    "        return resume(self, py_db, request)\n"
    "    single = py_db.threads_suspended_single_notification\n"
    "    told, until = single._last_suspend_notification_time, time.monotonic() + 0.2\n"
    "    self.api.request_resume_thread('*')\n"
    "    while single._last_resume_notification_time < told and time.monotonic() < until:\n"
    "        time.sleep(0.002)\n"
    "    answer = NetCommand(CMD_RETURN, 0, dict(type='response', request_seq=request.seq,\n"
    "                        command='continue', success=True,\n"
    "                        body={'allThreadsContinued': True}), is_json=True)\n"
    "    stopped = [] if single._last_resume_notification_time >= told else sorted(\n"
    "        filter(is_stopped, threading.enumerate()), key=has_own_stop)\n"
    "    if not stopped:\n"
    "        return answer\n"
    "    py_db.writer.add_command(answer)\n"
    "    return py_db.cmd_factory.make_thread_suspend_single_notification(\n"
    "        py_db, get_thread_id(stopped[-1]), stopped[-1], stopped[-1].stop_reason)\n"
    "behavior.on_thread_suspend = on_thread_suspend\n"
    "behavior.on_thread_resume = on_thread_resume\n"
    "lifecycle.mark_thread_suspended = mark_thread_suspended\n"
    "PyDevJsonCommandProcessor.on_continue_request = on_continue_request\n";

/* An exception in a request's handler (`{"line": null}` in setBreakpoints does it) ends pydevd's
 * reader thread, and with it the debugging of this worker. A request without a handler is never
 * answered, nor exceptionInfo for a running thread; and the adapter, which waits for that answer,
 * then answers nobody. Here each of them gets an answer. */
static const char guard[] =
    "from _pydevd_bundle.pydevd_comm_constants import CMD_RETURN\n"
    "from _pydevd_bundle.pydevd_constants import STATE_SUSPEND\n"
    "from _pydevd_bundle.pydevd_net_command import NetCommand\n"
    "from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor\n"
    "from _pydevd_bundle.pydevd_thread_lifecycle import pydevd_find_thread_by_id\n"
    "def answer(request, success, **more):\n"
    "    return NetCommand(CMD_RETURN, 0, dict(more, type='response', request_seq=request.seq,\n"
    "                      command=request.command, success=success), is_json=True)\n"
    "def is_stopped(thread):\n"
    "    info = getattr(thread, 'additional_info', None)\n"
    "    return info is not None and info.pydev_state == STATE_SUSPEND\n"
    "def never_answered(request):\n"
    "    if request.command == 'exceptionInfo':\n"
    "        if not is_stopped(pydevd_find_thread_by_id(request.arguments.threadId)):\n"
    "            return answer(request, False, message='the thread is not stopped')\n"
    "    return None\n"
    "def guarded(handler):\n"
    "    def handle(self, py_db, request):\n"
    "        try:\n"
    "            return never_answered(request) or handler(self, py_db, request)\n"
    "        except Exception as error:\n"
    "            message = '%s: %s' % (type(error).__name__, error)\n"
    "            return answer(request, False, message=message)\n"
    "    return handle\n"
    "def is_handler(name):\n"
    "    return name.startswith('on_') and name.endswith('_request')\n"
    "def without_handler(self, name):\n"
    "    if not is_handler(name):\n"
    "        raise AttributeError(name)\n"
    "    return lambda py_db, request: answer(\n"
    "        request, False, message='debugpy does not support ' + request.command)\n"
    "for name in filter(is_handler, dir(PyDevJsonCommandProcessor)):\n"
    "    setattr(PyDevJsonCommandProcessor, name,\n"
    "            guarded(getattr(PyDevJsonCommandProcessor, name)))\n"
    "PyDevJsonCommandProcessor.__getattr__ = without_handler\n";

/* A worker's first breakpoint() goes user -> ray.util.rpdb.set_trace -> ray.util.debugpy.set_trace,
 * which then makes itself the hook, so that later ones go user -> ray.util.debugpy.set_trace. It
 * asks pydevd to stop as its own frame returns. With sys.settrace (<= 3.11) that is the user's
 * frame at the breakpoint() line in the long way, one line later in the short one; with
 * sys.monitoring (3.12+) the frame above in both. So: always the long way; who came the short way
 * before this was in place gets one frame more; and on 3.12+ ask for the stop when rpdb's frame
 * returns. Every stop is then in the user's frame, at the breakpoint() line. A `next` over the line
 * stops after it anyway and would otherwise stop twice. */
static const char breakpoint_hook[] =
    "import builtins, sys, threading\n"
    "import pydevd\n"
    "from _pydevd_bundle.pydevd_comm_constants import CMD_STEP_OVER, CMD_STEP_OVER_MY_CODE\n"
    "ray_debugpy = sys.modules['ray.util.debugpy']\n"
    "rpdb = sys.modules['ray.util.rpdb']\n"
    "def take_hooks():\n"
    "    sys.__breakpointhook__ = sys.breakpointhook = builtins.breakpoint = rpdb.set_trace\n"
    "def is_stepping_over(frame):\n"
    "    info = getattr(threading.current_thread(), 'additional_info', None)\n"
    "    return (info is not None and info.pydev_step_stop is frame\n"
    "            and info.pydev_step_cmd in (CMD_STEP_OVER, CMD_STEP_OVER_MY_CODE))\n"
    "def stop():\n"
    "    frame = sys._getframe(1)\n"
    "    above = frame.f_back\n"
    "    long_way = above.f_globals.get('__name__') == 'ray.util.rpdb'\n"
    "    if is_stepping_over(above.f_back if long_way else above):\n"
    "        return\n"
    "    if sys.version_info >= (3, 12):\n"
    "        frame = above if long_way else frame\n"
    "    elif not long_way:\n"
    "        frame = sys._getframe()\n"
    "    pydevd.settrace(stop_at_frame=frame)\n"
    "ray_debugpy._debugpy_breakpoint = stop\n"
    "ray_debugpy._override_breakpoint_hooks = take_hooks\n"
    "take_hooks()\n";

/* ray.get() opens a pdb when a result says that somebody steps out of the task that made it
 * (relay/remote_call.h). Here the thread stops in debugpy, which is attached already, where the
 * program called ray.get(): as the outermost of Ray's own frames returns. */
static const char get_hook[] =
    "import sys\n"
    "rpdb = sys.modules['ray.util.rpdb']\n"
    "original = rpdb._connect_ray_pdb\n"
    "def is_ray(frame):\n"
    "    return str(frame.f_globals.get('__name__')).startswith('ray.')\n"
    "class Returned:\n"
    "    def set_trace(self, frame=None):\n"
    "        import pydevd\n"
    "        inner, frame = sys._getframe(), sys._getframe(1)\n"
    "        while is_ray(frame) and frame.f_back is not None:\n"
    "            inner, frame = frame, frame.f_back\n"
    "        pydevd.settrace(stop_at_frame=inner)\n"
    "def connect(*arguments, **named):\n"
    "    debugpy = sys.modules.get('debugpy')\n"
    "    if debugpy is not None and debugpy.is_client_connected():\n"
    "        return Returned()\n"
    "    return original(*arguments, **named)\n"
    "rpdb._connect_ray_pdb = connect\n";

/* Ray's _debugpy_excepthook() calls stop_on_unhandled_exception() outside of any tracing callback.
 * With sys.monitoring the thread is still traced, and stops in debugpy's own use of contextlib
 * instead. pydevd's own trigger_exception_handler() (1.8.22) suspends the tracing just so. */
static const char postmortem[] =
    "import pydevd\n"
    "from _pydevd_sys_monitoring import pydevd_sys_monitoring as monitoring\n"
    "suspend = getattr(monitoring, 'suspend_current_thread_tracing', monitoring.stop_monitoring)\n"
    "resume = getattr(monitoring, 'resume_current_thread_tracing', monitoring.start_monitoring)\n"
    "debugger = pydevd.get_global_debugger()\n"
    "original = debugger.stop_on_unhandled_exception\n"
    "def stop(*args):\n"
    "    suspend()\n"
    "    try:\n"
    "        return original(*args)\n"
    "    finally:\n"
    "        resume()\n"
    "debugger.stop_on_unhandled_exception = stop\n";

/* A child process that debugpy follows waits until a client attaches to it. */
static const char no_sub_process[] =
    "import pydevd\n"
    "from _pydev_bundle import pydev_monkey\n"
    "pydevd.__dict__.setdefault('_raydbg_patching', pydev_monkey._get_apply_arg_patching)\n"
    "pydev_monkey._get_apply_arg_patching = lambda: False\n";

static const char sub_process[] =
    "import pydevd\n"
    "from _pydev_bundle import pydev_monkey\n"
    "if hasattr(pydevd, '_raydbg_patching'):\n"
    "    pydev_monkey._get_apply_arg_patching = pydevd._raydbg_patching\n";

static const struct injection table[] = {
    {"nodelay",
     "answers leave at once",
     "pydevd_comm.py: WriterThread sends header, then body",
     nodelay,
     {3, 0},
     {4, 0},
     INJECT_TUNE,
     false},
    {"wake",
     "a step starts at once",
     "pydevd_additional_thread_info_regular.py: _update_stepping_info shadows `info`",
     wake,
     {3, 0},
     {4, 0},
     INJECT_TUNE,
     true},
    {"all-stop",
     "no stop and no answer is lost where one thread's stop stops all",
     "pydevd.py: AbstractSingleNotificationBehavior, set_suspend(); on_continue_request()",
     all_stop,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"guard",
     "every request gets an answer",
     "pydevd_process_net_command_json.py: process_net_command_json; pydevd_comm.py: ReaderThread",
     guard,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"breakpoint",
     "breakpoint() stops in the user's frame, at its own line",
     "ray/util/debugpy.py: _override_breakpoint_hooks, _debugpy_breakpoint",
     breakpoint_hook,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"get",
     "a step out of a remote task stops in ray.get()",
     "ray/_private/worker.py: get",
     get_hook,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"postmortem",
     "post mortem stops at the raising line",
     "ray/util/debugpy.py: _debugpy_excepthook; pydevd.py: trigger_exception_handler",
     postmortem,
     {3, 12},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"no-subprocess",
     "child processes run undebugged",
     "pydev_monkey.py: _get_apply_arg_patching; children wait for a client",
     no_sub_process,
     {3, 0},
     {4, 0},
     INJECT_NO_SUB_PROCESS,
     false},
    {"subprocess",
     "child processes are debugged",
     "takes no-subprocess back",
     sub_process,
     {3, 0},
     {4, 0},
     INJECT_SUB_PROCESS,
     false},
};

/* run([(name, low, high, once, source), ...]) -> the answer. `pydevd._raydbg` remembers what was
 * done. The answer is None where evaluate_expression() itself prints a value (<= 1.8.6). */
static const char runner[] =
    "import sys\n"
    "def is_printed():\n"
    "    from inspect import unwrap\n"
    "    from _pydevd_bundle.pydevd_vars import evaluate_expression\n"
    "    return 'stdout' in unwrap(evaluate_expression).__code__.co_names\n"
    "def run_one(done, name, once, source):\n"
    "    if once and name in done:\n"
    "        return name + '='\n"
    "    try:\n"
    "        exec(compile(source, '<raydbg ' + name + '>', 'exec'), {'__name__': 'raydbg'})\n"
    "    except Exception as error:\n"
    "        return '%s!%r' % (name, error)\n"
    "    done.add(name)\n"
    "    return name\n"
    "def run(steps):\n"
    "    import pydevd\n"
    "    done = pydevd.__dict__.setdefault('_raydbg', set())\n"
    "    said = [run_one(done, name, once, source) for name, low, high, once, source in steps\n"
    "            if low <= sys.version_info[:2] < high]\n"
    "    if is_printed():\n"
    "        return None\n"
    "    versions = '%d.%d.%d' % sys.version_info[:3]\n"
    "    version = getattr(sys.modules.get('debugpy'), '__version__', '?')\n"
    "    return '%s/%s %s' % (versions, version, ','.join(said))\n";

const struct injection *inject_table(size_t *count)
{
    *count = sizeof table / sizeof *table;
    return table;
}

static bool is_wanted(enum inject_when when, const struct inject_options *options)
{
    if (options->only_tune && when != INJECT_TUNE)
        return false;
    switch (when) {
    case INJECT_ALWAYS:
        return true;
    case INJECT_TUNE:
        return options->tune;
    case INJECT_SUB_PROCESS:
        return options->sub_process;
    case INJECT_NO_SUB_PROCESS:
        return !options->sub_process;
    }
    return false;
}

/* Adds `text` as a Python string literal. */
static void add_literal(struct buf *out, const char *text)
{
    buf_add_string(out, "'");
    for (; *text; text++) {
        if (*text == '\n')
            buf_add_string(out, "\\n");
        else if (*text == '\'' || *text == '\\')
            buf_printf(out, "\\%c", *text);
        else
            buf_add(out, text, 1);
    }
    buf_add_string(out, "'");
}

static void add_step(struct buf *out, const struct injection *step)
{
    buf_printf(out, "('%s',(%d,%d),(%d,%d),%s,", step->name, step->low.major, step->low.minor,
               step->high.major, step->high.minor, step->once ? "True" : "False");
    add_literal(out, step->source);
    buf_add_string(out, "),");
}

char *inject_expression(const struct inject_options *options)
{
    struct buf out = {0};
    buf_add_string(&out, "(lambda n:(exec(n['runner'],n),n['run'](n['steps']))[1])({'runner':");
    add_literal(&out, runner);
    buf_add_string(&out, ",'steps':[");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_wanted(table[i].when, options))
            add_step(&out, &table[i]);
    buf_add_string(&out, "]})");
    return buf_take(&out);
}
