# For the time of an expression of a debug console, pydevd puts an object of its own in the place of sys.stdout and sys.stderr, and
# drops it then. print() and others hold no reference to what they write to (CPython before 3.12.10 and 3.13.3, gh-130163): a thread
# that prints just then ends the process. So each stream has one such object, which stays. A program that changes its streams
# again and again keeps so many of them, and no more. One that an expression's interrupt has left as if it were writing would write
# no more.
from collections import deque
from _pydevd_bundle import pydevd_io
Redirector, Messages = pydevd_io.IORedirector, pydevd_io.RedirectToPyDBIoMessages
kept = deque(maxlen=64)
def is_alike(messages, others):
    return type(messages) is type(others) is Messages and (messages._out_ctx, messages._on_write) == (others._out_ctx, others._on_write)
def IORedirector(original, new_redirect, wrap_buffer=False):
    for redirector in kept:
        redirector._writing = False
        if redirector._redirect_to[0] is original and is_alike(redirector._redirect_to[1], new_redirect):
            return redirector
    redirector = Redirector(original, new_redirect, wrap_buffer)
    kept.append(redirector)
    return redirector
pydevd_io.IORedirector = IORedirector
