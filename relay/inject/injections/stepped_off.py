# A step off the end of a task's code stops in what has called that: Ray's main_loop(), or the event loop of an actor. There is
# nothing of the user's to see, and for Ray the task ends only when the thread goes on. So it goes on at once, and says so in its
# `continued` event. A thread that was among Ray's frames before the step is on its way into a task: it stops as usual.
import sys
import pydevd
from _pydevd_bundle import pydevd_comm_constants as constants
from _pydevd_bundle import pydevd_thread_lifecycle as lifecycle
from _pydevd_bundle.pydevd_additional_thread_info import set_additional_thread_info
from _pydevd_bundle.pydevd_constants import STATE_SUSPEND, get_current_thread_id
from _pydevd_bundle.pydevd_net_command import NetCommand
from _pydevd_bundle.pydevd_utils import get_non_pydevd_threads
STEPS = {value for name, value in vars(constants).items() if name.startswith(("CMD_STEP_", "CMD_SMART_STEP_"))}
STEPS.discard(constants.CMD_STEP_CAUGHT_EXCEPTION)
CALLERS = ("ray.", "asyncio.", "concurrent.futures.", "threading.")
START = "/ray/_private/workers/default_worker.py"
wait = pydevd.PyDB.do_wait_suspend
def is_caller(frame):
    name = str(frame.f_globals.get("__name__")) + "."
    return name.startswith(CALLERS) or frame.f_code.co_filename.endswith(START)
def is_off(frame):
    if "ray" not in sys.modules:
        return False
    while frame is not None and is_caller(frame):
        frame = frame.f_back
    return frame is None
def was_stopped_along(thread):
    info = getattr(thread, "additional_info", None)
    return (info is not None and info.pydev_state == STATE_SUSPEND
            and getattr(thread, "stop_reason", None) == constants.CMD_THREAD_SUSPEND)
def go_on(py_db, thread):
    threads = [thread]
    if py_db.multi_threads_single_notification:
        threads += [one for one in get_non_pydevd_threads() if one is not thread and was_stopped_along(one)]
    for one in threads:
        lifecycle.internal_run_thread(one, set_additional_thread_info=set_additional_thread_info)
    told = py_db.cmd_factory.make_thread_resume_single_notification(get_current_thread_id(thread))
    body = dict(told.as_dict["body"], allThreadsContinued=False, raydbgSteppedOff=True)
    py_db.writer.add_command(NetCommand(told.id, 0, dict(told.as_dict, body=body), is_json=True))
def do_wait_suspend(self, thread, frame, *given, **named):
    off, info = is_off(frame), thread.additional_info  # which an agent that ends the debugger takes from the thread
    if off and getattr(thread, "_raydbg_steps_in_code", False) and thread.stop_reason in STEPS:
        go_on(self, thread)
    else:
        wait(self, thread, frame, *given, **named)
    thread._raydbg_steps_in_code = not off and info.pydev_step_cmd in STEPS
pydevd.PyDB.do_wait_suspend = do_wait_suspend
