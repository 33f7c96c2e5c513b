"""Takes the place of the pdb that runs the statement which brought this here, and gives it back at the end.

TOKEN, in this namespace, is what the relay waits for: an answer of b"\\x02" + TOKEN + b"\\x03", and DAP from there on,
or b"\\x02" + TOKEN + b"!reason\\x03", and pdb is as it was.
"""

import os
import pdb
import socket
import sys
import threading

KEEPALIVE = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60000))


def find_pdb():
    """The pdb on this thread's stack: Ray's own note of it is one for all threads."""
    for frame in callers(sys._getframe()):
        owner = frame.f_locals.get("self") if frame.f_code.co_name == "default" else None
        if isinstance(owner, pdb.Pdb) and hasattr(owner, "handle"):
            return owner, frame
    raise RuntimeError("this is not Ray's pdb")


def tune(connection):
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_NODELAY", 1), *KEEPALIVE):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


# --- later breakpoints of the same thread come to the same session ---

class Hooks:
    """Stands in for functions of rpdb's while any thread has an adapter."""

    NAME = "_raydbg"
    REPLACED = ("set_trace", "_post_mortem", "_connect_ray_pdb")

    def __init__(self, module):
        self.module = module
        self.originals = {name: getattr(module, name) for name in self.REPLACED if hasattr(module, name)}
        self.adapters = {}

    @classmethod
    def add(cls, module, adapter):
        hooks = module.__dict__.get(cls.NAME)
        if hooks is None:
            hooks = cls(module)
            setattr(module, cls.NAME, hooks)
            for name in hooks.originals:
                setattr(module, name, getattr(hooks, name.lstrip("_")))
        hooks.adapters[threading.get_ident()] = adapter
        return hooks

    def remove(self, adapter):
        for thread, one in list(self.adapters.items()):
            if one is adapter:
                del self.adapters[thread]
        if not self.adapters and self.module.__dict__.get(self.NAME) is self:
            for name, original in self.originals.items():
                setattr(self.module, name, original)
            delattr(self.module, self.NAME)

    def adapter(self):
        adapter = self.adapters.get(threading.get_ident())
        return adapter if adapter and not adapter.ended and adapter.pid == os.getpid() else None

    def set_trace(self, breakpoint_uuid=None):
        adapter, caller = self.adapter(), sys._getframe(1)
        if adapter is not None:
            adapter.wait(Stop(caller, "breakpoint"))
            return
        worker = sys.modules["ray"]._private.worker.global_worker
        if worker.debugger_breakpoint != b"":
            return
        # What Ray's own would do, at the same depth of the stack: its entry tells where the caller is.
        self.originals["_connect_ray_pdb"](
            host=None, port=None, patch_stdstreams=False, quiet=None,
            breakpoint_uuid=breakpoint_uuid.decode() if breakpoint_uuid else None,
            debugger_external=worker.ray_debugger_external).set_trace(frame=caller)

    def connect_ray_pdb(self, *arguments, **named):
        """ray.get() calls this itself, for a result that says so: somebody steps out of the task that made it."""
        adapter = self.adapter()
        return self.originals["_connect_ray_pdb"](*arguments, **named) if adapter is None else Returned(adapter)

    def post_mortem(self):
        adapter, error = self.adapter(), sys.exc_info()[1]
        if adapter is None:
            self.originals["_post_mortem"]()
        elif error is not None and error is not adapter.shown:
            adapter.wait(Stop(sys._getframe(1), "exception", error, error.__traceback__, steps=False))


class Returned:
    """What ray.get() takes for a pdb: its set_trace() stops where the program calls ray.get()."""

    def __init__(self, adapter):
        self.adapter = adapter

    def set_trace(self, frame=None):
        caller = next(filter(is_user, callers(sys._getframe(1))), frame)
        self.adapter.wait(Stop(caller, "step"))


# --- the first stop, which pdb has made ---

def stop_of(owner):
    """Where pdb stands: at a line, or, in post mortem, at a traceback."""
    error = sys.exc_info()[1]
    for frame in callers(sys._getframe()):
        code = frame.f_code
        if code.co_name == "post_mortem" and frame.f_locals.get("self") is owner:
            return Stop(frame.f_back, "exception", error, frame.f_locals["t"], steps=False)
        if code.co_name in ("user_line", "user_return", "user_opcode", "user_call") \
                and frame.f_locals.get("self") is owner:
            stop = Stop(frame.f_locals["frame"], "breakpoint")
            stop.enters = code.co_name == "user_call" and is_user(stop.frame)
            return stop
    raise RuntimeError("this pdb stopped in a way that is not known")


def forget_traces(owner, frame):
    """set_trace() has left pdb's trace function in every frame."""
    for one in callers(frame):
        if getattr(one.f_trace, "__self__", None) is owner:
            one.f_trace = None
            if hasattr(one, "f_trace_opcodes"):
                one.f_trace_opcodes = False
    getattr(owner, "frame_trace_lines_opcodes", {}).clear()
    owner.botframe = owner.stopframe = owner.returnframe = None
    owner.trace_dispatch = None  # what its trace functions return for the frame that they were called for


class Elsewhere:
    """What Ray's wrapper of the socket becomes. While pdb runs a statement it is sys.stdout for all threads: what one
    of them prints must not break into a message, and is the program's."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text, *_):
        if self.stream is not None:
            self.stream.write(text)

    def writelines(self, lines, *_):
        for line in lines:
            self.write(line)


def is_actor():
    try:
        return bool(sys.modules["ray"].get_runtime_context().get_actor_id())
    except BaseException:
        return False


def give_back(handle, hooks, adapter):
    """Without pdb itself, which holds the frames that it stopped in."""
    hooks.remove(adapter)
    try:
        handle.close()
    except (OSError, ValueError):
        pass


def install(token):
    owner, frame = find_pdb()
    stop = stop_of(owner)
    handle = owner.handle
    connection = handle.connection
    tune(connection)
    adapter = Adapter(connection, lambda: give_back(handle, hooks, adapter))
    adapter.is_actor = is_actor()
    hooks = Hooks.add(sys.modules[type(owner).__module__], adapter)
    elsewhere = Elsewhere(frame.f_locals.get("save_stdout"))

    def take_over():
        """In the place of pdb's forget(), the last thing of an interaction."""
        del owner.forget, owner.postcmd
        type(owner).forget(owner)
        sys.settrace(None)
        forget_traces(owner, stop.frame)
        type(owner).active_instance = None
        if stop.enters:
            adapter.enter(stop.frame)
        else:
            adapter.wait(stop)

    owner.postcmd = lambda stop, line: True  # ends the command loop
    owner.forget = take_over
    handle.write, handle.writelines = elsewhere.write, elsewhere.writelines
    try:
        connection.sendall(b"\x02" + token.encode() + b"\x03")
    except OSError:
        pass  # the relay is gone already: the reader meets that, too
    threading.Thread(target=adapter.read_all, name="raydbg", daemon=True).start()


def begin(token):
    try:
        install(token)
    except BaseException as error:
        find_pdb()[0].handle.connection.sendall(
            b"\x02" + token.encode() + b"!" + ascii(describe_failure(error)).encode() + b"\x03")


begin(TOKEN)  # noqa: F821
