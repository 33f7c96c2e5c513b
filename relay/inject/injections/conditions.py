# pydevd passes a breakpoint whose condition fails: in silence for a NameError, with a traceback at each hit for another
# exception, and an exit would end the task. Here the first failure of a condition is reported with its exception, once for a
# location; one that would end the task stops it. A KeyboardInterrupt passes, because ray.cancel() sends it.
import traceback
import pydevd
from _pydevd_bundle.pydevd_api import PyDevdAPI
told = set()
def describe(error):
    return ''.join(traceback.format_exception_only(type(error), error)).strip()
def tell(py_db, breakpoint, frame, error):
    location = '%s:%s' % (getattr(getattr(frame, 'f_code', None), 'co_filename', '?'), getattr(breakpoint, 'line', '?'))
    if (location, breakpoint.condition) in told:
        return
    told.add((location, breakpoint.condition))
    text = 'raydbg: the condition of the breakpoint at %s failed (%s): %s\n' % (location, breakpoint.condition, describe(error))
    py_db.writer.add_command(py_db.cmd_factory.make_warning_message(text))
def handle_breakpoint_condition(self, info, breakpoint, frame):
    try:
        if breakpoint.handle_hit_condition(frame):
            return True
        return bool(breakpoint.condition) and eval(breakpoint.condition, frame.f_globals, frame.f_locals)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        tell(self, breakpoint, frame, error)
        if isinstance(error, Exception) and isinstance(error, self.skip_suspend_on_breakpoint_exception):
            return False
        text = 'Condition:\n%s\n\nError:\n%s' % (breakpoint.condition, describe(error))
        info.conditional_breakpoint_exception = (text, [])
        return True
pydevd.PyDB.handle_breakpoint_condition = handle_breakpoint_condition
