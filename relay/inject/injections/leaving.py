# A thread that is between its breakpoint() and its stop when the client leaves would stop all the same; and where one thread's
# stop stops all, the others with it. Nobody is there then to let them go on, and Ray counts them as paused no more. So nothing
# stops from a client's `disconnect` to the next one's `attach`. The lock is for a stop that is just stopping the others.
#
# pydevd lets the threads go that wait for a client by an event, which each of them polls. `disconnect` clears that: who has not
# polled it since the `configurationDone` would wait for a client after that one.
import sys
import pydevd
from _pydev_bundle._pydev_saved_modules import threading
from _pydevd_bundle.pydevd_additional_thread_info import set_additional_thread_info
from _pydevd_bundle.pydevd_api import PyDevdAPI
from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor
from _pydevd_bundle.pydevd_thread_lifecycle import internal_run_thread
left, lock = [], threading.Lock()
waiting = pydevd.PyDB.block_until_configuration_done.__code__
disconnect, attach = PyDevdAPI.request_disconnect, PyDevJsonCommandProcessor.on_attach_request
def end_waits():
    for frame in sys._current_frames().values():
        while frame and frame.f_code is not waiting:
            frame = frame.f_back
        if frame:
            frame.f_locals['cancel'].set()
def request_disconnect(self, py_db, *given, **named):
    with lock:
        left.append(True)
    if py_db.is_attached():
        end_waits()
    return disconnect(self, py_db, *given, **named)
def on_attach_request(self, py_db, request):
    left.clear()
    return attach(self, py_db, request)
suspend, wait = pydevd.PyDB.set_suspend, pydevd.PyDB.do_wait_suspend
def set_suspend(self, *given, **named):
    with lock:
        if not left:
            suspend(self, *given, **named)
def do_wait_suspend(self, thread, *given, **named):
    if left:
        internal_run_thread(thread, set_additional_thread_info=set_additional_thread_info)
    else:
        wait(self, thread, *given, **named)
PyDevdAPI.request_disconnect = request_disconnect
PyDevJsonCommandProcessor.on_attach_request = on_attach_request
pydevd.PyDB.set_suspend = set_suspend
pydevd.PyDB.do_wait_suspend = do_wait_suspend
