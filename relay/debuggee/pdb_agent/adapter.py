"""DAP over the debugger's socket: a thread reads; what needs a stopped thread is done by that thread."""

import json
import os
import queue
import select
import socket
import sys
import threading

THREAD_ID = 1
# How late the end of the task may be noticed: soon behind a request, for a job may end with its task, and its workers.
POLL_MS = (4, 8, 16, 32, 64, 125, 250)
CALL_OVER = "raydbg: the actor's call has ended\n"  # cli/console/console.c reads it
AT_RETURN = "returns"  # the text of a stop, which cli/console/console_run.c reads
LIMITS = {"repl": REPL_LIMIT, "clipboard": CLIPBOARD_LIMIT}

CAPABILITIES = {
    "supportsConfigurationDoneRequest": True, "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True, "supportsLogPoints": True, "supportsEvaluateForHovers": True,
    "supportsSetVariable": True, "supportsSetExpression": True, "supportsCompletionsRequest": True,
    "supportsExceptionInfoRequest": True, "supportsDelayedStackTraceLoading": True,
    "supportsClipboardContext": True, "supportsTerminateDebuggee": True, "supportsTerminateRequest": True,
    "supportsFunctionBreakpoints": False, "supportsGotoTargetsRequest": False, "supportsModulesRequest": False,
    "supportsStepInTargetsRequest": True, "supportsExceptionOptions": False, "supportsDebuggerProperties": False,
    "exceptionBreakpointFilters": [{
        "filter": "uncaught", "label": "Uncaught Exceptions", "default": True,
        "description": "Break when an exception leaves the task's own code."}]}


class Refused(Exception):
    """The request is answered with success: false and this text."""


class Stop:
    """Where the thread stands. `frame` is where it goes on from; `stack` what a client is shown; `returned` the value
    that the task is about to return, in a tuple."""

    def __init__(self, frame, reason, error=None, trace=None, hit=None, returned=None, steps=True):
        self.frame = frame
        self.reason = reason
        self.error = error
        self.hit = hit
        self.returned = returned
        self.enters = False  # a function is called: its first line is to come
        self.steps = steps  # False: nothing is left to step in, and a step lets the task go on
        self.stack = stack_of_frame(frame) if error is None else stack_of_exception(error, trace)
        self.frames = {}


class Adapter:
    def __init__(self, connection, on_end):
        self.connection = connection
        self.on_end = on_end  # called once, in whatever thread notices; undoes what was patched
        self.pid = os.getpid()
        self.paths = Paths()
        self.sources = Sources(self.paths)
        self.breakpoints = Breakpoints(self.paths)
        self.tracer = Tracer(self.breakpoints, self.pause, self.say)
        self.thread = threading.current_thread()
        self.references = References()
        self.inbox = queue.SimpleQueue()
        self.turn = threading.RLock()  # whose turn it is to answer: the reader's or the stopped thread's
        self.sending = threading.Lock()
        self.seq = 0
        self.next_frame = 0
        self.stop = None
        self.going = False
        self.mode = None  # how: None is `continue`
        self.told = False  # the client has been told of this stop
        self.configured = False
        self.ended = False
        self.leaving = False
        self.task = None  # the outermost frame of the task, while it runs
        self.is_actor = False
        self.shown = None  # the last exception that was shown

    # --- the wire ---

    def send(self, message):
        """A socket that fails is noticed by the reader, too."""
        with self.sending:
            self.seq += 1
            message["seq"] = self.seq
            body = json.dumps(message).encode()
            try:
                self.connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            except OSError:
                pass

    def event(self, name, body=None):
        message = {"type": "event", "event": name}
        if body is not None:
            message["body"] = body
        self.send(message)

    def say(self, text, category="stdout"):
        self.event("output", {"category": category, "output": text})

    def messages(self):
        """Whatever is read until the relay is gone; None now and then, if nothing comes."""
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        data = b""
        polls = 0
        while True:
            head, mark, rest = data.partition(b"\r\n\r\n")
            length = int(head.rpartition(b":")[2]) if mark else 0
            if mark and len(rest) >= length:
                data = rest[length:]
                yield json.loads(rest[:length].decode("utf-8", "surrogatepass"))
                continue
            if not poll.poll(POLL_MS[min(polls, len(POLL_MS) - 1)]):
                polls += 1
                yield None
                continue
            polls = 0
            more = self.connection.recv(65536)
            if not more:
                return
            data += more

    def read_all(self):
        """The reader's thread. Whatever ends it, the task goes on."""
        try:
            for message in self.messages():
                if message is None:
                    self.look_at_task()
                elif self.leaving:
                    break
                else:
                    self.deliver(message)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        finally:
            self.end()

    def end(self):
        with self.turn:
            if self.ended:
                return
            self.ended = True
            self.tracer.off = True
            self.on_end()
            self.inbox.put(None)
            self.task = None
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.connection.close()

    def deliver(self, message):
        with self.turn:
            if self.stop is not None:
                self.inbox.put(message)
            else:
                self.answer(message)

    def answer(self, message):
        """Answers a request; a handler gives the body, or what is to be done behind the answer."""
        response = {"type": "response", "request_seq": message.get("seq", 0), "command": message.get("command"),
                    "success": True}
        behind = None
        arguments = message.get("arguments")
        try:
            handler = getattr(self, "on_" + str(message.get("command")), None)
            if handler is None:
                raise Refused("Ray's pdb debugger does not support '%s'" % message.get("command"))
            body = handler(arguments if isinstance(arguments, dict) else {})
            if callable(body):
                behind, body = body, None
            if body is not None:
                response["body"] = body
        except BaseException as error:
            text = str(error) if isinstance(error, Refused) else describe_failure(error)
            response.update(success=False, message=text, body={"error": {"id": 1, "format": text}})
        self.send(response)
        if behind:
            behind()

    # --- stopping and going on ---

    def pause(self, frame, reason, error=None, hit=None, returned=None):
        """From the debugged thread, in a trace function: `error` is (type, value, traceback)."""
        if error is None:
            self.wait(Stop(frame, reason, hit=hit, returned=returned, steps=returned is None))
            return
        kind, value, trace = error
        if value is None or isinstance(value, BaseException) is False:
            value = kind(*value) if isinstance(value, tuple) else kind(value)  # Python < 3.12, rarely
        self.shown = value
        self.wait(Stop(frame, reason, value, trace, steps=False))

    def wait(self, stop):
        """Until a client lets the thread go on. An exception that the worker raises meanwhile, such as the one of
        ray.cancel(), leaves from here into the task."""
        if self.ended or self.stop is not None:
            return
        before = sys.gettrace()
        sys.settrace(None)
        try:
            with self.turn:
                self.stop, self.going, self.mode = stop, False, None
                self.tell_stop()
            while not self.going:
                message = self.inbox.get()
                if message is None or self.ended:
                    break
                self.answer(message)
        finally:
            self.resume(stop, before)

    def enter(self, frame):
        """From a trace function, for a call: the first stop is at the function's first line."""
        with self.turn:
            self.task = task_frame(frame)
            self.tracer.plan(frame, "next")
            self.tracer.line = 0
            self.tracer.start(None)

    def resume(self, stop, before):
        """`before` traced the thread until it stopped: it goes on if it is somebody else's."""
        with self.turn:
            self.stop, self.told = None, False
            self.references.clear()
            mode = self.mode if stop.steps else None
            if not self.going and not self.ended:
                self.event("continued", {"threadId": THREAD_ID, "allThreadsContinued": True})
            self.task = None if self.ended else task_frame(stop.frame)
            self.tracer.plan(stop.frame, mode)
            while not self.inbox.empty():
                message = self.inbox.get()
                if message is not None:
                    self.answer(message)
            returned = stop.returned is not None  # nothing but Ray's own code is left of the task
            stop.stack = stop.frames = stop.error = stop.returned = None  # they keep what the task's locals hold
            if self.ended:
                self.tracer.plan(stop.frame, None)
            elif returned:
                self.tell_end()
            self.tracer.start(before)

    def tell_stop(self):
        if not self.configured or self.stop is None or self.told:
            return
        self.told = True
        body = {"reason": self.stop.reason, "threadId": THREAD_ID, "allThreadsStopped": False,
                "preserveFocusHint": False}
        if self.stop.error is not None:
            body["text"] = type(self.stop.error).__name__
            body["description"] = str_of(self.stop.error)[:1000]
        if self.stop.returned is not None:
            body["text"] = AT_RETURN
            body["description"] = "Paused at the return"
        if self.stop.hit is not None:
            body["hitBreakpointIds"] = [self.stop.hit.number]
        self.event("stopped", body)

    def look_at_task(self):
        """While the thread runs: a task that has ended ends the session; the worker may get another at once.

        An actor's session goes on with its next call.
        """
        if self.stop is None:
            self.shown = None  # its traceback holds frames, and post mortem would have come by now
        task = self.task
        if task is None:
            return
        frame = sys._current_frames().get(self.thread.ident)
        if any(one is task for one in callers(frame)):
            return
        with self.turn:
            if self.stop is None and self.task is task:
                self.tell_end()

    def tell_end(self):
        self.task = None
        if self.is_actor:
            self.event("output", {"category": "console", "output": CALL_OVER})
        else:
            self.event("terminated")

    def stopped(self):
        if self.stop is None:
            raise Refused("the task runs: Ray's pdb debugger can be asked only while it is stopped")
        return self.stop

    def go(self, mode):
        self.stopped()

        def start():
            self.mode, self.going = mode, True
        return start

    # --- requests: the session ---

    def on_initialize(self, arguments):
        return CAPABILITIES

    def on_attach(self, arguments):
        mappings = arguments.get("pathMappings")
        if isinstance(mappings, list):
            self.paths.set_mappings(mappings)
        self.event("initialized")

    def on_configurationDone(self, arguments):
        def tell():
            self.configured = True
            self.event("thread", {"reason": "started", "threadId": THREAD_ID})
            self.tell_stop()
        return tell

    def on_disconnect(self, arguments):
        def leave():
            if arguments.get("terminateDebuggee"):
                os._exit(1)
            self.leaving = self.going = True
            self.tracer.off = True
            self.end()
        return leave

    def on_threads(self, arguments):
        return {"threads": [{"id": THREAD_ID, "name": self.thread.name}]}

    def on_pause(self, arguments):
        raise Refused("a task in Ray's pdb debugger cannot be paused: it stops at breakpoints only")

    # --- requests: breakpoints ---

    def on_setBreakpoints(self, arguments):
        path = (arguments.get("source") or {}).get("path")
        if not isinstance(path, str) or not path:
            raise Refused("breakpoints need a source with a path")
        wanted = [one for one in arguments.get("breakpoints") or [] if isinstance(one.get("line"), int)]
        answers = self.breakpoints.set(path, wanted)
        if self.stop is None and self.configured:
            self.reach(answers)
        return {"breakpoints": answers}

    def reach(self, answers):
        """The task runs: what it traces already can be told of more."""
        frame = sys._current_frames().get(self.thread.ident)
        if self.tracer.active:
            self.tracer.reach(frame)
            return
        for answer in answers:
            answer.update(verified=False, message="the task runs untraced: this takes effect after its next stop")

    def on_setExceptionBreakpoints(self, arguments):
        filters = arguments.get("filters") or []
        self.tracer.uncaught = "uncaught" in filters
        return {"breakpoints": [{"verified": name == "uncaught"} for name in filters]}

    def on_setFunctionBreakpoints(self, arguments):
        return {"breakpoints": [{"verified": False, "message": "Ray's pdb debugger has no function breakpoints"}
                                for _ in arguments.get("breakpoints") or []]}

    # --- requests: running ---

    def on_continue(self, arguments):
        return self.go(None)

    def on_next(self, arguments):
        return self.go("next")

    def on_stepIn(self, arguments):
        return self.go("stepIn")

    def on_stepOut(self, arguments):
        return self.go("stepOut")

    # --- requests: looking ---

    def on_stackTrace(self, arguments):
        stop = self.stopped()
        start, levels = arguments.get("startFrame") or 0, arguments.get("levels") or 0
        frames = []
        for index, shown in enumerate(stop.stack):
            if index < start or (levels and index >= start + levels):
                continue
            frames.append(self.describe_frame(stop, shown))
        return {"stackFrames": frames, "totalFrames": len(stop.stack)}

    def describe_frame(self, stop, shown):
        number = getattr(shown, "number", None)
        if number is None:
            self.next_frame += 1
            number = shown.number = self.next_frame
            stop.frames[number] = shown.frame
        fields = {"id": number, "name": shown.name, "line": shown.line or 0, "column": 1,
                  "source": self.sources.describe(shown.frame.f_code.co_filename)}
        if is_ray(shown.frame):
            fields["presentationHint"] = "subtle"
        return fields

    def frame(self, arguments):
        """The frame that the request names; without a name, the one on top."""
        stop = self.stopped()
        number = arguments.get("frameId")
        if number is None:
            return stop.stack[0].frame
        if number not in stop.frames:
            raise Refused("there is no such frame, or not any more")
        return stop.frames[number]

    def on_scopes(self, arguments):
        frame = self.frame(arguments)
        returned = self.stop.returned if frame is self.stop.frame else None
        scopes = [{"name": "Locals", "presentationHint": "locals", "expensive": False,
                   "variablesReference": self.references.add(Space(frame, True, returned))}]
        if frame.f_locals is not frame.f_globals:
            scopes.append({"name": "Globals", "expensive": False,
                           "variablesReference": self.references.add(Space(frame, False))})
        return {"scopes": scopes}

    def opened(self, arguments):
        self.stopped()
        children = self.references.open.get(arguments.get("variablesReference"))
        if children is None:
            raise Refused("there is no such variable, or not any more")
        return children

    def on_variables(self, arguments):
        children = self.opened(arguments)
        rows = children.rows(arguments.get("start") or 0, arguments.get("count") or 0, arguments.get("filter"))
        return {"variables": [self.references.variable(row) for row in rows]}

    def evaluate(self, source, arguments):
        frame = self.frame(arguments)
        code, has_value = compile_source(source)
        if not has_value and arguments.get("context") in ("watch", "hover"):
            raise Refused("this is a statement: only an expression has a value")
        if arguments.get("context") == "repl":
            with Diverted(self.say):
                return run_code(code, frame), has_value
        return run_code(code, frame), has_value

    def on_evaluate(self, arguments):
        source = arguments.get("expression")
        if not isinstance(source, str) or not source.strip():
            return {"result": "", "variablesReference": 0}
        context = arguments.get("context")
        value, has_value = self.evaluate(source, arguments)
        if not has_value or (value is None and context == "repl"):
            return {"result": "", "variablesReference": 0}
        expression = source.strip() if source.strip().isidentifier() else "(%s)" % source.strip()
        fields = self.references.describe(value, expression, LIMITS.get(context, ROW_LIMIT))
        raw = context == "clipboard" or (arguments.get("format") or {}).get("rawString")
        if raw and isinstance(value, str):
            fields["value"] = value[:CLIPBOARD_LIMIT]
        fields["result"] = fields.pop("value")
        return fields

    def on_setVariable(self, arguments):
        children, name = self.opened(arguments), arguments.get("name")
        frame = children.frame if isinstance(children, Space) else self.stopped().stack[0].frame
        value = run_code(compile(str(arguments.get("value")).strip(), SOURCE_NAME, "eval"), frame)
        children.assign(name, value)
        return self.references.describe(value)

    def on_setExpression(self, arguments):
        frame, target = self.frame(arguments), str(arguments.get("expression")).strip()
        run_code(compile("%s = (%s)" % (target, arguments.get("value")), SOURCE_NAME, "exec"), frame)
        return self.references.describe(run_code(compile(target, SOURCE_NAME, "eval"), frame), target)

    def on_completions(self, arguments):
        return {"targets": complete(str(arguments.get("text") or ""), arguments.get("column") or 1,
                                    self.frame(arguments))}

    def on_exceptionInfo(self, arguments):
        error = self.stopped().error
        if error is None:
            raise Refused("the task did not stop at an exception")
        details = exception_details(chain_of(error))
        return {"exceptionId": details["fullTypeName"], "description": details["message"],
                "breakMode": "unhandled", "details": details}

    def on_source(self, arguments):
        return {"content": self.sources.text(arguments), "mimeType": "text/x-python"}
