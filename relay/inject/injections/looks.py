# A property, a __repr__() or a hover's expression that does not return would end the session: debugpy's adapter waits for the
# answer, and then answers no request. pydevd interrupts evaluations only ($PYDEVD_INTERRUPT_THREAD_TIMEOUT), and with
# stopAllThreadsOnSuspend a look of 3 s lets the other threads go. Here nothing is let go, and each look has a limit: what takes
# longer is interrupted and shown as such, beside the rest. A thread that cannot be interrupted, because it waits in native
# code, is answered for; and as it takes no further request, each of those gets an answer that says so. The main thread is
# interrupted by SIGURG, which wakes it from a sleep, too, and has no effect where it has no handler: Ray blocks SIGINT in its
# workers, and uses KeyboardInterrupt to cancel a task.
# An exception that is under way to another thread is waited for and caught: what CPython 3.11 keeps of one that is withdrawn
# makes each thread stay for ever in the first traced function that it enters.
# None is raised where pydevd takes or gives back a lock in Python code: the lock would stay taken, and each thread that prints
# or sends something would wait for it. So that is left to the next attempt, unless the thread seems to wait there.
# numpy shows six elements of each dimension, which are ten million of nine: an array of many dimensions shows fewer.
import ctypes, signal, sys, threading, time
import pydevd
from _pydevd_bundle import pydevd_api, pydevd_comm, pydevd_constants
from _pydevd_bundle.pydevd_comm_constants import CMD_RETURN
from _pydevd_bundle.pydevd_constants import ForkSafeLock, get_current_thread_id
from _pydevd_bundle.pydevd_daemon_thread import PyDBDaemonThread
from _pydevd_bundle.pydevd_net_command import NetCommand
from _pydevd_bundle.pydevd_safe_repr import SafeRepr
from _pydevd_bundle.pydevd_suspended_frames import _AbstractVariable
given = getattr(pydevd_constants, 'PYDEVD_INTERRUPT_THREAD_TIMEOUT', -1)
VALUE_S = given if given > 0 else 3.0
LOOK_S, AGAIN_S, LEFT_S, TICK_S = 4 * VALUE_S, 0.25, VALUE_S + 2, 0.1
WHY = 'raydbg: not shown, because it takes more than %g s' % VALUE_S
STUCK = 'raydbg: a look at this thread does not return and cannot be interrupted: it waits in native code'
main, SIGNAL = threading.main_thread().ident, signal.SIGURG
LOCKING = {one.__code__ for one in (pydevd_comm.WriterThread.add_command, ForkSafeLock.__enter__, ForkSafeLock.__exit__)}
class Attempts:
    """To raise an exception in a thread. `held`: those in a row that were left to the next one."""
    HELD = 8
    def __init__(self):
        self.held = 0
    def is_held(self, frame):
        while frame is not None and frame.f_code not in LOCKING:
            frame = frame.f_back
        self.held = self.held + 1 if frame is not None else 0
        return 0 < self.held <= self.HELD
pydevd_comm.raydbg_attempts = Attempts
class Cut(BaseException):
    def __init__(self, text=WHY):
        super().__init__(text)
class Look:
    """What a thread does for a request, or for a value only. `due`: when it is interrupted next."""
    def __init__(self, py_db, request):
        self.py_db, self.request, self.ident = py_db, request, threading.get_ident()
        self.thread_id = get_current_thread_id(threading.current_thread())
        self.since, self.cuts, self.cut_since, self.answered = time.monotonic(), 0, None, False
        self.attempts = Attempts()
        self.due, self.before = self.since + VALUE_S, signal.getsignal(SIGNAL) if self.ident == main else None
    def renew(self):
        now = time.monotonic()
        self.due, self.cut_since = max(now + AGAIN_S, min(now + VALUE_S, self.since + LOOK_S)), None
    def interrupt(self):
        if self.before is not None:
            signal.pthread_kill(main, SIGNAL)
        elif not self.attempts.is_held(sys._current_frames().get(self.ident)):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(Cut))
    def check(self, now):
        if self.due > now:
            return
        self.cuts, self.due, self.cut_since = self.cuts + 1, now + AGAIN_S, self.cut_since or now
        self.interrupt()
        if now - self.cut_since > LEFT_S and self.request is not None and not self.answered:
            self.answered = True
            stuck[self.thread_id] = self
            self.py_db.writer.add_command(refusal(self.request, STUCK))
    def on_signal(self, number, frame):
        if self.cuts:
            if self.attempts.is_held(frame):
                return
            raise Cut
        if callable(self.before):
            self.before(number, frame)
    def __enter__(self):
        if self.before is not None:
            signal.signal(SIGNAL, self.on_signal)
        watch(self)
        return self
    def leave(self):
        with lock:
            looks.pop(self.ident, None)
            stuck.pop(self.thread_id, None)
        if self.before is not None:
            signal.signal(SIGNAL, self.before)
        elif self.cuts:
            self.interrupt()
            while True:
                pass
    def __exit__(self, *error):
        while True:
            try:
                return self.leave()
            except Cut:
                self.cuts = 0
looks, stuck, lock, begun, watches = {}, {}, threading.Lock(), threading.Event(), []
class Watch(PyDBDaemonThread):
    def _on_run(self):
        while not self._kill_received:
            begun.wait(1)
            time.sleep(TICK_S)
            with lock:
                if not looks:
                    begun.clear()
                for look in list(looks.values()):
                    look.check(time.monotonic())
def watch(look):
    if not watches or not watches[0].is_alive():
        watches[:] = [Watch(look.py_db)]
        watches[0].start()
    with lock:
        looks[look.ident] = look
        if not begun.is_set():
            begun.set()
def refusal(request, text):
    return NetCommand(CMD_RETURN, 0, dict(type='response', request_seq=request.seq, command=request.command,
                      success=False, message=text), is_json=True)
class Writer:
    def __init__(self, look):
        self.look = look
    def add_command(self, command):
        late = False
        if (command.as_dict or {}).get('type') == 'response':
            with lock:
                late, self.look.answered = self.look.answered, True
        if not late:
            self.look.py_db.writer.add_command(command)
class Answering:
    """The debugger for the function that answers: an answer is not sent if the request has one already."""
    def __init__(self, look):
        vars(self).update(look=look, writer=Writer(look))
    def __getattr__(self, name):
        return getattr(self.look.py_db, name)
    def __setattr__(self, name, value):
        setattr(self.look.py_db, name, value)
def limited(function, is_look):
    def call(py_db, request, *rest):
        if not is_look(request):
            return function(py_db, request, *rest)
        look = Look(py_db, request)
        try:
            with look:
                function(Answering(look), request, *rest)
        except Cut:
            if not look.answered:
                py_db.writer.add_command(refusal(request, WHY))
    return call
def cut_data(variable, data):
    row = dict(data or dict(name=variable.name, type=type(variable.value).__name__), value='<%s>' % WHY)
    row.setdefault('variablesReference', variable.get_variable_reference())
    return row
var_data = _AbstractVariable.get_var_data
def get_value(variable, look, *given, **named):
    look.renew()
    cuts, data = look.cuts, None
    try:
        data = var_data(variable, *given, **named)
    except Cut:
        pass
    return data if look.cuts == cuts and data is not None else cut_data(variable, data)
def get_var_data(self, *given, **named):
    look = looks.get(threading.get_ident())
    if look is not None:
        return get_value(self, look, *given, **named)
    with Look(self.py_db, None) as look:
        return get_value(self, look, *given, **named)
_AbstractVariable.get_var_data = get_var_data
pydevd_api.internal_get_variable_json = limited(pydevd_comm.internal_get_variable_json, lambda request: True)
pydevd_api.internal_evaluate_expression_json = limited(
    pydevd_comm.internal_evaluate_expression_json, lambda request: request.arguments.context == 'hover')
if hasattr(pydevd_comm, 'PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT'):
    pydevd_comm.PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT = -1
post = pydevd.PyDB.post_internal_command
def post_internal_command(self, command, thread_id):
    parts = (*(getattr(command, 'args', None) or ()), *(getattr(command, 'kwargs', None) or {}).values())
    request = next((one for one in parts if getattr(one, 'type', None) == 'request'), None)
    if thread_id in stuck and request is not None:
        self.writer.add_command(refusal(request, STUCK))
    else:
        post(self, command, thread_id)
pydevd.PyDB.post_internal_command = post_internal_command
MOST_ELEMENTS = 2000
def shown(shape, edge):
    count = 1
    for length in shape:
        count *= min(length, edge)
    return count
other = SafeRepr._repr_other
def _repr_other(self, value, level):
    numpy = sys.modules.get('numpy')
    if numpy is None or not issubclass(type(value), getattr(numpy, 'ndarray', ())) or shown(value.shape, 6) <= MOST_ELEMENTS:
        yield from other(self, value, level)
    elif shown(value.shape, 2) <= MOST_ELEMENTS:
        with numpy.printoptions(edgeitems=1, threshold=0):
            yield from list(other(self, value, level))
    else:
        yield '<%s of %s, dtype %s: too many dimensions to show>' % (type(value).__name__, value.shape, value.dtype)
SafeRepr._repr_other = _repr_other
