# A child that is made with os.fork() has its parent's tracing, and what is left of a step: it would stop at the line after, in
# a debugger that has no connection, and its parent would wait for it. Its breakpoint() would wait for a client that no list
# shows. Unless children are debugged, the child drops all of that, and passes its breakpoint() with a line on stderr. In a
# process of `raydbg run` the agent has taken pydevd's tool out already: its hook runs first, and the parent may have no pydevd.
import builtins, os, sys, threading
from pydevd_tracing import TracingFunctionHolder
from _pydev_bundle import pydev_monkey
from _pydevd_bundle import pydevd_constants
parent = os.getpid()
def pass_by(*_, **__):
    frame = sys._getframe(1)
    text = 'raydbg: %s:%d: a breakpoint() in a forked child (pid %d of %d) is passed: it has no debugger of its own\n'
    sys.stderr.write(text % (frame.f_code.co_filename, frame.f_lineno, os.getpid(), parent))
    sys.stderr.flush()
def after_fork():
    if pydev_monkey._get_apply_arg_patching():
        return
    if getattr(pydevd_constants, 'PYDEVD_USE_SYS_MONITORING', False):
        if sys.monitoring.get_tool(sys.monitoring.DEBUGGER_ID) == 'pydevd':
            sys.monitoring.set_events(sys.monitoring.DEBUGGER_ID, 0)
    else:
        (TracingFunctionHolder._original_tracing or sys.settrace)(None)
    frame = sys._getframe()
    while frame is not None:
        frame.f_trace = None
        frame = frame.f_back
    threading.current_thread().additional_info = None
    sys.breakpointhook = builtins.breakpoint = pass_by
    rpdb = sys.modules.get('ray.util.rpdb')
    if rpdb is not None:
        rpdb.set_trace = pass_by
os.register_at_fork(after_in_child=after_fork)
