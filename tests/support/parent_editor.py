"""A client that starts child sessions, as VS Code does when it is asked to (DAP's startDebugging)."""

import threading

from waits import wait_until



MANY = {"tasks": "*", "mode": "sessions"}


class Child:
    """A session that the editor was asked to start."""

    def __init__(self, editor, request):
        self.editor, self.request = editor, request
        self.configuration = request["arguments"]["configuration"]
        self.name = self.configuration["name"]
        self.client = None

    def start(self):
        self.client = self.editor.relay.client(self.editor.kind, self.name)
        self.client.initialize(clientID="vscode", clientName="editor", supportsStartDebuggingRequest=True)
        self.client.attach(dict(self.configuration))
        self.editor.client.reply(self.request)
        self.client.stopped()
        return self


class Editor:
    """Does as VS Code: starts a session for each startDebugging, unless `lazy`; `willing` False refuses them."""

    def __init__(self, relay, kind="tcp", lazy=False, willing=True, **initialize):
        self.relay, self.kind, self.lazy, self.willing = relay, kind, lazy, willing
        self.children, self.asked, self.failures = [], [], []
        self.client = relay.client(kind, "parent")
        self.client.on_reverse_request = self.on_request
        self.client.initialize(clientID="vscode", clientName="editor",
                               **{"supportsStartDebuggingRequest": True, **initialize})

    def on_request(self, request):
        assert request["command"] == "startDebugging"
        child = Child(self, request)
        self.asked.append(child)
        if not self.willing:
            self.client.reply(request, success=False, message="the user said no")
        elif not self.lazy:
            threading.Thread(target=self._start, args=(child,), daemon=True).start()

    def _start(self, child):
        try:
            self.children.append(child.start())
        except AssertionError as error:
            self.failures.append(error)

    def attach(self, **arguments):
        self.client.attach(self.relay.attach_arguments(self.kind, **{**MANY, **arguments}))
        return self

    def wait_children(self, count):
        wait_until(lambda: len(self.children) >= count or self.failures,
                   lambda: f"{count} children ({[c.name for c in self.asked]})")
        assert not self.failures, self.failures
        return self.children

    def wait_asked(self, count):
        wait_until(lambda: len(self.asked) >= count, lambda: f"{count} are asked for, not {len(self.asked)}")
        return self.asked

    def said(self, text):
        return self.client.wait_event("output", lambda body: text in body["output"])["body"]["output"]
