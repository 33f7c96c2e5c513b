#include "relay/inject/inject_source.h"

/* The worker's writer sends a message's header and body with two sends: Nagle's algorithm holds the
 * second until the first's delayed ACK, 44 ms. This runs each time, because the socket may be a new
 * one. */
const char inject_nodelay[] = "import pydevd, socket\n"
                              "writer = pydevd.get_global_debugger().writer\n"
                              "writer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n";

/* A stopped thread sleeps in PyDB._do_wait_suspend() until its event is set, at most 0.2 s. The
 * functions that resume it call _update_stepping_info(info), whose loops reuse the name `info`: it
 * sets the event of the thread that comes last in a set. So all of them are set here: a thread that
 * is woken for nothing goes back to sleep. debugpy before 1.8.6 has no events: the thread sleeps 10
 * ms at a time, each request to it takes that long, and a step twice as long. It gets events
 * here. */
const char inject_wake[] =
    "import pydevd\n"
    "from _pydev_bundle._pydev_saved_modules import threading, time\n"
    "from _pydevd_bundle import pydevd_api, pydevd_comm\n"
    "POLL = 0.01\n"
    "class Time:\n"
    "    def __getattr__(self, name):\n"
    "        return getattr(time, name)\n"
    "    def sleep(self, seconds):\n"
    "        if seconds != POLL:\n"
    "            return time.sleep(seconds)\n"
    "        events = pydevd.get_global_debugger()._thread_events\n"
    "        event = events.setdefault(threading.get_ident(), threading.Event())\n"
    "        event.wait(seconds)\n"
    "        event.clear()\n"
    "def waking(function):\n"
    "    def call(*args, **named):\n"
    "        try:\n"
    "            return function(*args, **named)\n"
    "        finally:\n"
    "            for event in list(pydevd.get_global_debugger()._thread_events.values()):\n"
    "                event.set()\n"
    "    return call\n"
    "wakers = [(pydevd_api, 'internal_step_in_thread'),\n"
    "          (pydevd_api, 'internal_smart_step_into'),\n"
    "          (pydevd_api, 'resume_threads'),\n"
    "          (pydevd_comm.InternalSetNextStatementThread, 'do_it')]\n"
    "if not hasattr(pydevd.get_global_debugger(), '_thread_events'):\n"
    "    pydevd.PyDB._thread_events = {}\n"
    "    pydevd.time = Time()\n"
    "    wakers.append((pydevd.PyDB, 'post_internal_command'))\n"
    "for owner, name in wakers:\n"
    "    setattr(owner, name, waking(getattr(owner, name)))\n";

/* If one thread's stop stops all threads (debugpy before stopAllThreadsOnSuspend; newer if set so),
 * pydevd sends one `stopped` event, and answers `continue` when a thread has noticed it. There are
 * three races. A thread that stops just then stops the others again before they notice the
 * `continue`: pydevd never answers. A stop that was requested before the one that was sent: pydevd
 * does not send it. Two threads stop at once, and each counts as stopped along with the other:
 * pydevd sends neither. So here a thread keeps its own reason; a stop is sent if it comes after all
 * threads were resumed, or has its own reason; a thread that resumes while others are stopped gets
 * its own `continued`; and `continue` is always answered, followed by the current stop if no thread
 * resumed.
 *
 * A thread between its breakpoint() and its own stop is neither stopped along with another, ahead
 * of that, nor does it go on with the others, past that. It is in Ray's set_trace(), which has not
 * called stop() yet (`_raydbg_at` is the frame that has), or stop() has set `_raydbg_stops`. */
const char inject_all_stop[] =
    "import sys, threading, time\n"
    "import pydevd\n"
    "from _pydevd_bundle import pydevd_thread_lifecycle as lifecycle\n"
    "from _pydevd_bundle.pydevd_additional_thread_info import set_additional_thread_info\n"
    "from _pydevd_bundle.pydevd_comm_constants import CMD_RETURN, CMD_THREAD_SUSPEND\n"
    "from _pydevd_bundle.pydevd_constants import STATE_SUSPEND, get_thread_id\n"
    "from _pydevd_bundle.pydevd_net_command import NetCommand\n"
    "from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor\n"
    "behavior = pydevd.AbstractSingleNotificationBehavior\n"
    "suspend, mark = behavior.on_thread_suspend, lifecycle.mark_thread_suspended\n"
    "resume = PyDevJsonCommandProcessor.on_continue_request\n"
    "resumed, run = behavior.on_thread_resume, lifecycle.internal_run_thread\n"
    "counting = threading.Lock()\n"
    "def is_stopped(thread):\n"
    "    info = getattr(thread, 'additional_info', None)\n"
    "    return info is not None and info.pydev_state == STATE_SUSPEND\n"
    "def has_own_stop(thread):\n"
    "    reason = getattr(thread, 'stop_reason', None)\n"
    "    return is_stopped(thread) and reason not in (None, CMD_THREAD_SUSPEND)\n"
    "def is_stopping(thread):\n"
    "    if getattr(thread, '_raydbg_stops', False):\n"
    "        return True\n"
    "    if is_stopped(thread):\n"
    "        return False\n"
    "    frame = sys._current_frames().get(thread.ident)\n"
    "    while frame is not None:\n"
    "        if (frame.f_code.co_name == 'set_trace'\n"
    "                and frame.f_globals.get('__name__') == 'ray.util.debugpy'):\n"
    "            return id(frame) != getattr(thread, '_raydbg_at', None)\n"
    "        frame = frame.f_back\n"
    "    return False\n"
    "def internal_run_thread(thread, *given, **named):\n"
    "    if not is_stopping(thread):\n"
    "        run(thread, *given, **named)\n"
    "def on_thread_suspend(self, thread_id, thread, stop_reason):\n"
    "    with counting:\n"
    "        if (stop_reason != CMD_THREAD_SUSPEND\n"
    "                or self._suspend_time_request <= self._last_resume_notification_time):\n"
    "            self.increment_suspend_time()\n"
    "        return suspend(self, thread_id, thread, stop_reason)\n"
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
    "    if (stop_reason == CMD_THREAD_SUSPEND and (has_own_stop(thread) or is_stopping(thread))\n"
    "            and pydevd.get_global_debugger().multi_threads_single_notification):\n"
    "        return set_additional_thread_info(thread)\n"
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
    "lifecycle.internal_run_thread = internal_run_thread\n"
    "PyDevJsonCommandProcessor.on_continue_request = on_continue_request\n";

/* An exception in a request's handler (`{"line": null}` in setBreakpoints does it) ends pydevd's
 * reader thread, and with it the debugging of this worker. pydevd never answers a request without a
 * handler, nor exceptionInfo for a running thread; the adapter waits for that answer, and then
 * answers no request. The same holds for an expression that raises SystemExit or GeneratorExit,
 * which the stopped thread drops unanswered. A failure of `completions` is reported in pydevd's
 * older protocol, which the adapter takes for no answer. Here each of them gets an answer. */
const char inject_guard[] =
    "import collections, traceback, types\n"
    "import pydevd\n"
    "from _pydevd_bundle.pydevd_comm import InternalThreadCommand\n"
    "from _pydevd_bundle.pydevd_comm_constants import CMD_RETURN\n"
    "from _pydevd_bundle.pydevd_constants import STATE_SUSPEND\n"
    "from _pydevd_bundle.pydevd_net_command import NetCommand\n"
    "from _pydevd_bundle.pydevd_net_command_factory_json import NetCommandFactoryJson\n"
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
    "asked = collections.deque(maxlen=256)\n"
    "def guarded(handler):\n"
    "    def handle(self, py_db, request):\n"
    "        asked.append((request.seq, request.command))\n"
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
    "PyDevJsonCommandProcessor.__getattr__ = without_handler\n"
    "error_message = NetCommandFactoryJson.make_error_message\n"
    "def make_error_message(self, seq, text):\n"
    "    command = dict(asked).get(seq)\n"
    "    if command is None:\n"
    "        return error_message(self, seq, text)\n"
    "    request = types.SimpleNamespace(seq=seq, command=command)\n"
    "    return answer(request, False, message=text.strip().rpartition('\\n')[2])\n"
    "NetCommandFactoryJson.make_error_message = make_error_message\n"
    "def describe(error):\n"
    "    text = ''.join(traceback.format_exception_only(type(error), error)).strip()\n"
    "    if isinstance(error, Exception):\n"
    "        return text\n"
    "    text += '\\nThe expression raised it; the task is still stopped.'\n"
    "    if isinstance(error, SystemExit):\n"
    "        text += ' To end its worker process: __import__(\"os\")._exit(1)'\n"
    "    return text\n"
    "def request_of(command):\n"
    "    given = (*getattr(command, 'args', ()), *getattr(command, 'kwargs', {}).values())\n"
    "    return next((one for one in given if getattr(one, 'type', None) == 'request'), None)\n"
    "do_it = InternalThreadCommand.do_it\n"
    "def answering(self, py_db):\n"
    "    request = request_of(self)\n"
    "    try:\n"
    "        do_it(self, py_db)\n"
    "    except BaseException as error:\n"
    "        text = describe(error)\n"
    "        if request is None:\n"
    "            raise\n"
    "        body = {'result': text, 'variablesReference': 0}\n"
    "        more = {'body': body} if request.command == 'evaluate' else {}\n"
    "        py_db.writer.add_command(answer(request, False, message=text, **more))\n"
    "InternalThreadCommand.do_it = answering\n";

/* debugpy's adapter reads no message above 0xFFFFFF bytes (common/messaging.py: MAX_BODY_SIZE).
 * After one from the worker it reads nothing more: it answers no request, and no goodbye reaches
 * it. So a longer message is cut here: its strings, the longest first. If that is not enough, an
 * answer becomes a failure, and an event a line of output. A `stopped` event, which the relay keeps
 * and sends to each client, has a lower limit. */
const char inject_limit[] =
    "import json\n"
    "from _pydevd_bundle.pydevd_net_command import NetCommand\n"
    "MOST, MOST_OF_A_STOP, LEAST = 0xFFFFFF, 0xFFFF, 256\n"
    "NOTE = '... (raydbg: cut at %d of %d characters: %s)'\n"
    "WHY = 'a message to the debugger has at most %d bytes; evaluate a slice for the rest'\n"
    "def cut(value, length, why):\n"
    "    if isinstance(value, str):\n"
    "        if len(value) <= length:\n"
    "            return value\n"
    "        return value[:length] + NOTE % (length, len(value), why)\n"
    "    if isinstance(value, dict):\n"
    "        return {key: cut(one, length, why) for key, one in value.items()}\n"
    "    if isinstance(value, (list, tuple)):\n"
    "        return [cut(one, length, why) for one in value]\n"
    "    return value\n"
    "def encode(message):\n"
    "    return json.dumps(message, default=str).encode()\n"
    "def refuse(message, size, most):\n"
    "    text = 'raydbg: %s has %d bytes; a message to the debugger has at most %d' % (\n"
    "        'the answer' if message.get('type') == 'response' else 'an event', size, most)\n"
    "    if message.get('type') == 'response':\n"
    "        kept = ('type', 'seq', 'request_seq', 'command', 'pydevd_cmd_id')\n"
    "        less = {name: message[name] for name in kept if name in message}\n"
    "        return dict(less, success=False, message=text + ': ask for less')\n"
    "    return dict(type='event', seq=message.get('seq', 0), event='output',\n"
    "                body={'category': 'important', 'output': text + '\\n'})\n"
    "def fit(message, size, most, why):\n"
    "    length = most\n"
    "    while length > LEAST:\n"
    "        length //= 2\n"
    "        less = encode(cut(message, length, why))\n"
    "        if len(less) <= most:\n"
    "            return less\n"
    "    return encode(refuse(message, size, most))\n"
    "send = NetCommand.send\n"
    "def send_cut(self, sock):\n"
    "    message, size = self.as_dict, len(self._as_bytes)\n"
    "    if message is not None and size > MOST_OF_A_STOP:\n"
    "        if message.get('event') == 'stopped':\n"
    "            why = 'the exception itself, in the frame that raised it, has the rest'\n"
    "            self._as_bytes = fit(message, size, MOST_OF_A_STOP, why)\n"
    "        elif size > MOST:\n"
    "            self._as_bytes = fit(message, size, MOST, WHY % MOST)\n"
    "    send(self, sock)\n"
    "NetCommand.send = send_cut\n";

/* A worker's first breakpoint() goes user -> ray.util.rpdb.set_trace -> ray.util.debugpy.set_trace
 * (the long way). The latter then makes itself the hook, so that later ones go user ->
 * ray.util.debugpy.set_trace (the short way). It asks pydevd to stop when its own frame returns.
 * With sys.settrace the stop is in the user's frame: at the breakpoint() line the long way, one
 * line later the short way. With sys.monitoring (3.12+, debugpy 1.8.6+) it is in the frame above,
 * both ways. So the hook is always the long way here; a thread that came the short way before this
 * was in place gets one more frame; and with sys.monitoring the stop is for the return of rpdb's
 * frame. Every stop is then in the user's frame, at the breakpoint() line. A `next` over the line
 * stops after it anyway; without is_stepping_over() it would stop twice.
 *
 * set_trace()'s return value is removed: with showReturnValue it would be the first of the user's
 * locals. Ray's log message on stderr that a client is connected is filtered out: it would be the
 * first, red line of the client's console. */
const char inject_breakpoint_hook[] =
    "import builtins, sys, threading\n"
    "import pydevd\n"
    "from _pydevd_bundle.pydevd_comm_constants import CMD_STEP_OVER, CMD_STEP_OVER_MY_CODE\n"
    "from _pydevd_bundle import pydevd_constants\n"
    "monitored = getattr(pydevd_constants, 'PYDEVD_USE_SYS_MONITORING', False)\n"
    "ray_debugpy = sys.modules['ray.util.debugpy']\n"
    "rpdb = sys.modules['ray.util.rpdb']\n"
    "def take_hooks():\n"
    "    sys.__breakpointhook__ = sys.breakpointhook = builtins.breakpoint = rpdb.set_trace\n"
    "def is_stepping_over(frame):\n"
    "    info = getattr(threading.current_thread(), 'additional_info', None)\n"
    "    return (info is not None and info.pydev_step_stop is frame\n"
    "            and info.pydev_step_cmd in (CMD_STEP_OVER, CMD_STEP_OVER_MY_CODE))\n"
    "local = threading.local()\n"
    "wait_suspend = pydevd.PyDB.do_wait_suspend\n"
    "def do_wait_suspend(self, thread, frame, *args, **named):\n"
    "    if frame is getattr(local, 'frame', None):\n"
    "        frame.f_locals.get('__pydevd_ret_val_dict', {}).pop('set_trace', None)\n"
    "    local.frame = None\n"
    "    thread._raydbg_stops = False\n"
    "    return wait_suspend(self, thread, frame, *args, **named)\n"
    "pydevd.PyDB.do_wait_suspend = do_wait_suspend\n"
    "ray_debugpy.log.addFilter(lambda record: record.msg != 'Debugger client is connected')\n"
    "def stop():\n"
    "    frame = caller = sys._getframe(1)\n"
    "    above = frame.f_back\n"
    "    long_way = above.f_globals.get('__name__') == 'ray.util.rpdb'\n"
    "    local.frame = above.f_back if long_way else above\n"
    "    if is_stepping_over(local.frame):\n"
    "        local.frame = None\n"
    "        return\n"
    "    if monitored:\n"
    "        frame = above if long_way else frame\n"
    "    elif not long_way:\n"
    "        frame = sys._getframe()\n"
    "    thread = threading.current_thread()\n"
    "    thread._raydbg_at, thread._raydbg_stops = id(caller), True\n"
    "    pydevd.settrace(stop_at_frame=frame)\n"
    "ray_debugpy._debugpy_breakpoint = stop\n"
    "ray_debugpy._override_breakpoint_hooks = take_hooks\n"
    "take_hooks()\n";

/* ray.get() opens a pdb if a result says that a client steps out of the task that made it
 * (relay/session/remote_call.h). Here the thread stops in debugpy instead, which is attached
 * already, at the program's call of ray.get(): when the outermost of Ray's own frames returns. */
const char inject_get_hook[] =
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
 * With sys.monitoring the thread is still traced there, and stops in debugpy's own use of
 * contextlib instead. So tracing is suspended here, as pydevd's own trigger_exception_handler()
 * (1.8.22) does. A thread that had no event yet has no record either: stop_monitoring() then does
 * nothing, and the first event makes a record that is traced. So start_monitoring() makes one
 * before. debugpy before 1.8.6 uses sys.settrace, which has no such problem; but on Python 3.13 it
 * ends the stop with an exception of its own, which would fail the task. This runs each time,
 * because each PyDB has the function as an attribute of its own, which hides one of the class. */
const char inject_postmortem[] =
    "import pydevd\n"
    "from _pydevd_bundle import pydevd_constants\n"
    "monitored = getattr(pydevd_constants, 'PYDEVD_USE_SYS_MONITORING', False)\n"
    "if monitored:\n"
    "    from _pydevd_sys_monitoring import pydevd_sys_monitoring as monitoring\n"
    "debugger = pydevd.get_global_debugger()\n"
    "original = debugger.stop_on_unhandled_exception\n"
    "removing = getattr(pydevd, 'remove_exception_from_frame', None)\n"
    "remove = getattr(removing, 'raydbg', removing)\n"
    "def stop(*args):\n"
    "    monitoring.start_monitoring()\n"
    "    monitoring.stop_monitoring()\n"
    "    try:\n"
    "        return original(*args)\n"
    "    finally:\n"
    "        monitoring.start_monitoring()\n"
    "def remove_exception_from_frame(frame):\n"
    "    try:\n"
    "        remove(frame)\n"
    "    except AttributeError:\n"
    "        frame.f_locals['__exception__'] = None\n"
    "remove_exception_from_frame.raydbg, stop.raydbg = remove, original\n"
    "pydevd.remove_exception_from_frame = remove_exception_from_frame\n"
    "if monitored and not hasattr(original, 'raydbg'):\n"
    "    debugger.stop_on_unhandled_exception = stop\n";

/* debugpy's adapter probes its client's machine after 1 s of silence, 5 times in 15 s, and lets the
 * task go if the network was cut for so long. The adapter is a process beside the worker, found by
 * the other end of the worker's own connection; the kernel lends its sockets (pidfd_getfd, Linux
 * 5.6) to a process that may trace it. Its connections to clients get a quarter of an hour; the
 * kernel gives unacknowledged data about as long. There is still a limit, because a client's
 * machine that is lost must not keep other clients from the worker. */
const char inject_keepalive[] =
    "import ctypes, os, socket\n"
    "import pydevd\n"
    "GETFD, IDLE, COUNT = 438, 60, 14\n"
    "def inode_of_other_end(sock):\n"
    "    def text(address):\n"
    "        host = socket.inet_pton(sock.family, address[0])\n"
    "        words = [host[at:at + 4][::-1].hex().upper() for at in range(0, len(host), 4)]\n"
    "        return '%s:%04X' % (''.join(words), address[1])\n"
    "    ends = [text(sock.getpeername()), text(sock.getsockname())]\n"
    "    is_ipv6 = sock.family == socket.AF_INET6\n"
    "    with open('/proc/net/tcp6' if is_ipv6 else '/proc/net/tcp') as rows:\n"
    "        return next(row[9] for row in map(str.split, rows) if row[1:3] == ends)\n"
    "def descriptors(pid):\n"
    "    for name in os.listdir('/proc/%s/fd' % pid):\n"
    "        try:\n"
    "            yield int(name), os.readlink('/proc/%s/fd/%s' % (pid, name))\n"
    "        except OSError:\n"
    "            pass\n"
    "def has(pid, link):\n"
    "    try:\n"
    "        with open('/proc/%s/cmdline' % pid, 'rb') as line:\n"
    "            return b'debugpy' in line.read() and link in dict(descriptors(pid)).values()\n"
    "    except OSError:\n"
    "        return False\n"
    "def borrow(pidfd, number):\n"
    "    libc = ctypes.CDLL(None, use_errno=True)\n"
    "    fd = libc.syscall(GETFD, pidfd, number, 0)\n"
    "    if fd < 0:\n"
    "        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n"
    "    return socket.socket(fileno=fd)\n"
    "def lengthen(sock):\n"
    "    if sock.family not in (socket.AF_INET, socket.AF_INET6):\n"
    "        return 0\n"
    "    try:\n"
    "        sock.getpeername()\n"
    "    except OSError:\n"
    "        return 0\n"
    "    for option, value in ((socket.TCP_KEEPIDLE, IDLE), (socket.TCP_KEEPINTVL, IDLE),\n"
    "                          (socket.TCP_KEEPCNT, COUNT)):\n"
    "        sock.setsockopt(socket.IPPROTO_TCP, option, value)\n"
    "    return 1\n"
    "link = 'socket:[%s]' % inode_of_other_end(pydevd.get_global_debugger().writer.sock)\n"
    "adapter = next(pid for pid in os.listdir('/proc') if pid.isdigit() and has(pid, link))\n"
    "facts['adapter'], count = adapter, 0\n"
    "pidfd = os.pidfd_open(int(adapter))\n"
    "try:\n"
    "    for number, to in descriptors(adapter):\n"
    "        if to.startswith('socket:') and to != link:\n"
    "            with borrow(pidfd, number) as sock:\n"
    "                count += lengthen(sock)\n"
    "finally:\n"
    "    os.close(pidfd)\n"
    "if count:\n"
    "    facts['cut'] = '%ds' % (IDLE * (COUNT + 1))\n";

/* A child process that debugpy follows waits until a client attaches to it, so debugpy's patching
 * is switched off. */
const char inject_no_sub_process[] =
    "import pydevd\n"
    "from _pydev_bundle import pydev_monkey\n"
    "pydevd.__dict__.setdefault('_raydbg_patching', pydev_monkey._get_apply_arg_patching)\n"
    "pydev_monkey._get_apply_arg_patching = lambda: False\n";

const char inject_sub_process[] =
    "import pydevd\n"
    "from _pydev_bundle import pydev_monkey\n"
    "if hasattr(pydevd, '_raydbg_patching'):\n"
    "    pydev_monkey._get_apply_arg_patching = pydevd._raydbg_patching\n";
