"""The trace functions of the one thread that is debugged: where to stop, and no more tracing than that needs."""

import dis
import os
import sys
import threading

COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
LEAVING = ("RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR", "INSTRUMENTED_RETURN_VALUE")
YIELDING = ("YIELD_VALUE", "YIELD_FROM", "SEND", "INSTRUMENTED_YIELD_VALUE", "RESUME")

# What leaves a frame without being a failure.
EXPECTED = (StopIteration, StopAsyncIteration, GeneratorExit, SystemExit)


def is_own(frame):
    return frame.f_globals is globals()


def is_ray(frame):
    """Ray's machinery, which steps pass by, as Ray's own pdb does."""
    name = frame.f_globals.get("__name__")
    if isinstance(name, str) and (name == "ray" or name.startswith("ray.")):
        return True
    return frame.f_code.co_filename.endswith("/ray/_private/workers/default_worker.py")


def is_user(frame):
    return not is_own(frame) and not is_ray(frame)


def callers(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back


def outermost_user(frame):
    found = None
    for one in callers(frame):
        if is_user(one):
            found = one
    return found


def task_frame(frame):
    """The outermost frame of what the worker was asked to run; the worker's own loop is below it."""
    found = frame
    for one in callers(frame):
        if is_ray(one) and one.f_code.co_name == "main_loop":
            break
        found = one
    return found


def last_operation(frame):
    code, at = frame.f_code.co_code, frame.f_lasti
    return dis.opname[code[at]] if 0 <= at < len(code) else ""


def is_unwinding(frame, value):
    """At a `return` event: an exception leaves the frame."""
    return value is None and last_operation(frame) not in LEAVING + YIELDING


class Tracer:
    """`stop(frame, reason, …)` is called in the thread, and returns when it may go on."""

    def __init__(self, breakpoints, stop, log):
        self.breakpoints = breakpoints
        self.stop = stop
        self.log = log
        self.thread = threading.get_ident()
        self.pid = os.getpid()
        self.uncaught = False
        self.mode = None  # "next", "stepIn", "stepOut", or None
        self.frame = None  # which the step is about
        self.line = 0  # where in it the step began: an inlined comprehension comes back there
        self.outer = None  # whose exceptions nobody catches
        self.raised = None  # what was seen in it last
        self.off = False
        self.active = False

    # --- on and off ---

    def clear_frames(self, frame):
        """An f_trace that is somebody else's is left alone."""
        for one in callers(frame):
            if getattr(one.f_trace, "__self__", None) is self:
                one.f_trace = None

    def set_frame(self, frame):
        frame.f_trace = self.on_event
        frame.f_trace_lines = True

    def plan(self, frame, mode):
        """What is traced when the stopped thread runs on from `frame`; start() begins it."""
        self.clear_frames(frame)
        self.mode, self.frame, self.line = mode, frame if mode else None, frame.f_lineno
        self.outer = outermost_user(frame) if self.uncaught and not self.off else None
        self.raised = None
        if self.off or not (mode or self.uncaught or self.breakpoints):
            self.end()
            return
        for one in callers(frame):
            if is_user(one) and (mode or one is self.outer or self.breakpoints.in_file(one.f_code.co_filename)):
                self.set_frame(one)
        self.active = True

    def start(self, before):
        """The last that the agent does in the thread: whatever it called now would be traced, too."""
        if self.active:
            sys.settrace(self.on_call)
        elif getattr(before, "__self__", None) is not self:
            sys.settrace(before)

    def end(self):
        """From the thread itself: nothing is traced any more."""
        self.mode = self.frame = self.outer = self.raised = None
        self.active = False
        if getattr(sys.gettrace(), "__self__", None) is self:
            sys.settrace(None)

    def reach(self, frame):
        """From another thread, while this one is traced: breakpoints that were set now hold in what runs already."""
        for one in callers(frame):
            if is_user(one) and one.f_trace is None and self.breakpoints.in_file(one.f_code.co_filename):
                self.set_frame(one)

    # --- events ---

    def is_foreign(self):
        """A forked child has the trace functions, but not the thread that talks to the relay."""
        return self.off or sys.is_finalizing() or threading.get_ident() != self.thread or os.getpid() != self.pid

    def contain(self, frame):
        """A fault of the agent's own: what it raised would be raised in the task."""
        self.off = True
        frame.f_trace = None
        sys.settrace(None)

    def on_call(self, frame, event, value):
        try:
            return self.choose(frame) if event == "call" else None
        except Exception:
            self.contain(frame)

    def on_event(self, frame, event, value):
        try:
            self.look(frame, event, value)
        except Exception:
            self.contain(frame)

    def choose(self, frame):
        """Who traces a frame that begins."""
        if self.is_foreign():
            sys.settrace(None)
            return None
        if is_own(frame):
            return None
        code = frame.f_code
        if self.breakpoints and self.breakpoints.in_file(code.co_filename):
            return self.on_event
        if self.mode == "stepIn" and is_user(frame) and code.co_name not in COMPREHENSIONS:
            return self.on_event
        if self.uncaught and self.outer is None and is_user(frame):
            self.outer, self.raised = frame, None
            return self.on_event
        return None

    def look(self, frame, event, value):
        if self.is_foreign():
            frame.f_trace = None
            sys.settrace(None)
        elif event == "line":
            self.on_line(frame)
        elif event == "return":
            self.on_return(frame, value)
        elif event == "exception" and frame is self.outer:
            self.raised = value

    def on_line(self, frame):
        lines = self.breakpoints.in_file(frame.f_code.co_filename) if self.breakpoints else None
        breakpoint_ = lines.get(frame.f_lineno) if lines else None
        if breakpoint_ is not None and self.is_hit(breakpoint_, frame):
            self.stop(frame, "breakpoint", hit=breakpoint_)
        elif frame is self.frame and frame.f_lineno == self.line:
            return
        elif self.mode == "next" and frame is self.frame:
            self.stop(frame, "step")
        elif self.mode == "stepIn" and is_user(frame) and frame.f_code.co_name not in COMPREHENSIONS:
            self.stop(frame, "step")

    def is_hit(self, breakpoint_, frame):
        if breakpoint_.condition is not None:
            try:
                if not run_code(compile(breakpoint_.condition.strip(), SOURCE_NAME, "eval"), frame):
                    return False
            except BaseException as error:
                self.log("the condition of the breakpoint at line %d failed: %s\n"
                         % (breakpoint_.line, describe_failure(error)), "important")
        breakpoint_.hits += 1
        if not breakpoint_.counts():
            return False
        if breakpoint_.message is None:
            return True
        self.log(fill_message(breakpoint_.message, frame) + "\n", "console")
        return False

    def on_return(self, frame, value):
        unwinding = is_unwinding(frame, value)
        if frame is self.outer and last_operation(frame) not in YIELDING:
            raised, self.outer, self.raised = self.raised, None, None
            if unwinding and raised is not None and self.uncaught and not issubclass(raised[0], EXPECTED):
                self.stop(frame, "exception", error=raised)
                return
        if self.mode and frame is self.frame:
            self.leave(frame, unwinding, value)
        elif self.mode == "stepIn" and frame.f_back is not None and not unwinding and self.is_landing(frame.f_back):
            self.leave(frame, unwinding, value)

    def is_landing(self, frame):
        return is_user(frame) and frame.f_code.co_name not in COMPREHENSIONS

    def leave(self, frame, unwinding, value):
        """The frame that the step is about ends: the step ends in its caller, where it stands; with an exception under
        way, at whatever line of the caller comes next. The outermost one's ends at its return, as pdb's own does."""
        if self.mode != "stepOut" and last_operation(frame) in YIELDING:
            return
        back = frame.f_back
        while back is not None and not self.is_landing(back):
            back = back.f_back
        if back is None:
            steps, self.mode, self.frame = self.mode != "stepOut", None, None
            if steps and not unwinding:
                self.stop(frame, "step", returned=(value,))
            elif not self.uncaught and not self.breakpoints:
                self.end()
        elif unwinding:
            self.mode, self.frame, self.line = "next", back, 0
        else:
            self.stop(back, "step")
