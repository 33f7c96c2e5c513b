"""The threads of the agent's and of pydevd's in this process: how they begin, and what their work costs.

Executed in the module of agent.py.
"""

import atexit
import functools
import signal

LAST_STARTS_S = 1.0  # for the threads that begin when the interpreter ends
FAULTS = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP}


class Starts:
    """Of the agent's and pydevd's threads: none begins while the interpreter ends. CPython 3.9 and 3.10 free the state of a thread
    that has not taken it yet, and the process crashes."""

    def __init__(self):
        self.over = False
        self.forget()

    def forget(self):
        """In a forked child, where no other thread is."""
        self.under_way = 0
        self.changing = threading.Condition()  # nobody has it while a thread begins: that may begin another, or wait for one

    def guard(self, start):
        """The function, which returns when its thread runs; it does nothing when the interpreter ends."""
        @functools.wraps(start)
        def guarded(*arguments, **named):
            with self.changing:
                if self.over:
                    return None
                self.under_way += 1
            try:
                return start(*arguments, **named)
            finally:
                with self.changing:
                    self.under_way -= 1
                    self.changing.notify_all()

        return guarded

    def end(self):
        """For atexit, which calls the first of its functions last: the program's own can still be debugged."""
        with self.changing:
            self.over = True
            self.changing.wait_for(lambda: not self.under_way, LAST_STARTS_S)


starts = Starts()


@starts.guard
def start_thread(name, work, *arguments):
    """Starts a thread of the agent's with all signals blocked except its own FAULTS. The threads that it starts, pydevd's among
    them, inherit that. A program that blocks a signal, for sigwait(), blocks it in its own threads only: the kernel would deliver
    the signal to the agent's thread, and its default action would end the process."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - FAULTS)
        threading.Thread(target=work, args=arguments, name=name, daemon=True).start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def silence_tracing():
    """This thread is none of the user's: pydevd leaves it out of stacks and breakpoints."""
    thread = threading.current_thread()
    thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True


def starved_s():
    """How long the debugger's threads have been ready to run without a CPU: Ray's workers are nice. 0 if Linux does not count."""
    waited = 0
    for thread in list(threading._active.values()):  # pydevd takes its threads out of enumerate()
        if getattr(thread, "is_pydev_daemon_thread", False):
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open("/proc/self/task/%d/schedstat" % thread.native_id, encoding="ascii") as file:
                    waited += int(file.read().split()[1])
    return waited / 1e9


def guard_pydevd():
    """pydevd begins threads of its own, also to set the trace function of each thread."""
    daemon_threads = importlib.import_module("_pydevd_bundle.pydevd_daemon_thread")
    replace_once(daemon_threads.PyDBDaemonThread, "start", starts.guard)
    replace_once(sys.modules["pydevd_tracing"], "set_trace_to_threads", starts.guard)
