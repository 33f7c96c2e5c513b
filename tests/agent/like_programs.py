"""Programs for test_like_debugpy.py: `like_programs.py FUNCTION` listens, says `PORT n`, waits for a client, and runs it."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

if sys.argv[1] == "slow":
    os.environ["PYDEVD_INTERRUPT_THREAD_TIMEOUT"] = "0.5"

import debugpy  # noqa: E402


def walk():
    total = 0
    for n in range(4):
        total += n  # line: walk-add
    return total  # line: walk-return


def caught():
    try:
        raise KeyError("gone")  # line: caught-raise
    except KeyError:
        return "caught"


def library():
    try:
        json.loads("{")
    except ValueError:
        return "caught"


def uncaught():
    raise ValueError("boom")  # line: uncaught-raise


def textless():
    raise AssertionError


def threads():
    def run(number):
        return number + 1  # line: threads-run
    pool = [threading.Thread(target=run, args=(number,), name=f"run-{number}") for number in range(2)]
    for one in pool:
        one.start()
        one.join()


def ticks():
    """Another thread ticks, and a variable takes a while to show."""
    class Slow:
        def __repr__(self):
            time.sleep(4)
            return "slow"

    def tick():
        while True:
            seen.append(1)
            time.sleep(0.01)
    seen, slow = [], Slow()
    threading.Thread(target=tick, daemon=True).start()
    while len(seen) < 10:
        time.sleep(0.01)
    return type(slow).__name__  # line: ticks-return


def slow():
    class Slow:
        def __repr__(self):
            time.sleep(1.5)
            return "slow"
    one = Slow()
    return type(one).__name__  # line: slow-return


def sourceless():
    exec(compile("import debugpy\ndebugpy.breakpoint()\nnumber = 7\n", "<made>", "exec"), {})


def template():
    import jinja2

    page = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent)).get_template("like_page.html")
    return page.render(name="bob", boom=uncaught)


def django_page():
    import django
    from django.conf import settings
    from django.template.loader import get_template

    settings.configure(TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [Path(__file__).parent]}])
    django.setup()
    return get_template("like_django.html").render({"name": "bob", "boom": uncaught})


def flask_page():
    import flask

    app = flask.Flask("like", template_folder=Path(__file__).parent)
    app.testing = True  # an error reaches the client

    @app.route("/")
    def index():
        return flask.render_template("like_page.html", name="bob", boom=uncaught)

    return app.test_client().get("/").status


def child():
    return subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, check=True, timeout=60).stdout


if __name__ == "__main__":
    print("PORT", debugpy.listen(("127.0.0.1", 0))[1], flush=True)
    debugpy.wait_for_client()
    print("RESULT", globals()[sys.argv[1]](), flush=True)
