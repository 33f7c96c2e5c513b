# CPython before 3.13 keeps a copy of a function's variables once somebody has read them (frame.f_locals), until the function
# returns; and each evaluation, and each list of variables, reads them. What the program drops after that, such as a tensor or
# an ObjectRef, would live on. So when a stopped thread goes on, its copies are emptied. A trace function of sys.settrace()
# writes the copy of its own frame back when it returns, so that one is emptied only where pydevd traces by its own C function,
# which does not. A copy that the program holds, too, is that of its own locals(): it stays.
# An expression that fails leaves its traceback, which has all variables, in a cycle with the frames of pydevd that hold it:
# those are cleared when the command that evaluates has ended.
import sys, threading
import pydevd, pydevd_tracing
from _pydevd_bundle import pydevd_constants, pydevd_vars
from _pydevd_bundle.pydevd_comm import InternalThreadCommand
from _pydevd_bundle.pydevd_dont_trace_files import DONT_TRACE, PYDEV_FILE
OWN, KEPT = 3, ('__pydevd_ret_val_dict', '_pydev_stop_at_break')
OPTIMIZED = 1
monitored = getattr(pydevd_constants, 'PYDEVD_USE_SYS_MONITORING', False)
to_threads = pydevd_tracing.set_trace_to_threads
def set_trace_to_threads(function, thread_idents=None, create_dummy_thread=True):
    result = to_threads(function, thread_idents=thread_idents, create_dummy_thread=create_dummy_thread)
    if thread_idents == [threading.get_ident()]:
        threading.current_thread()._raydbg_traced_in_c = result == 0 and function is not None
    return result
DONT_TRACE[set_trace_to_threads.__code__.co_filename] = PYDEV_FILE  # it goes on when the thread is traced
pydevd_tracing.set_trace_to_threads = set_trace_to_threads
def empty(frame):
    copy = frame.f_locals
    if sys.getrefcount(copy) > OWN:
        return
    kept = {name: copy[name] for name in KEPT if name in copy}
    copy.clear()
    copy.update(kept)
def empty_all(frame):
    if not (monitored or getattr(threading.current_thread(), '_raydbg_traced_in_c', False)):
        frame = frame.f_back
    while frame is not None:
        if frame.f_code.co_flags & OPTIMIZED:
            empty(frame)
        frame = frame.f_back
wait = pydevd.PyDB.do_wait_suspend
def do_wait_suspend(self, thread, frame, *given, **named):
    try:
        return wait(self, thread, frame, *given, **named)
    finally:
        empty_all(frame)
if sys.version_info < (3, 13):
    pydevd.PyDB.do_wait_suspend = do_wait_suspend
local = threading.local()
evaluate = pydevd_vars.eval_in_context
def eval_in_context(*given, **named):
    result = evaluate(*given, **named)
    if isinstance(result, pydevd_vars.ExceptionOnEvaluate) and result.tb is not None:
        vars(local).setdefault('failed', []).append(result.tb.tb_frame)
    return result
pydevd_vars.eval_in_context = eval_in_context
def clear(frame):
    while frame is not None:
        try:
            frame.clear()
        except RuntimeError:
            return
        frame = frame.f_back
do_it = InternalThreadCommand.do_it
def clearing(self, py_db):
    try:
        do_it(self, py_db)
    finally:
        failed = vars(local).get('failed', ())
        while failed:
            clear(failed.pop())
InternalThreadCommand.do_it = clearing
