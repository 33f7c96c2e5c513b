"""What is kept of a test that failed: the logs of its relays and clusters, and how busy the machine was.

It is in $RAYDBG_TEST_ARTIFACTS/evidence/TEST/ (default: artifacts/test in the tree), machine.txt and a directory for each
relay and cluster. A conftest calls register() in its pytest_configure; RelayProcess and Cluster report themselves here:

    watch(source)       a source that was made: all of it is copied, as long as its files are there
    use(source)         a source that outlives tests and has been used by this one
    remove_later(path)  a directory that is to go, after the report of the test was made
    save(source, why)   copies a source at once, whether the test fails or not
    note(text)          a line for the end of the whole run; nothing fails

A source has `evidence_files(since)`, pairs of a name and a path, the most telling first, and `secrets()`, texts that must
not be copied. Nothing in here makes a test fail, or hides that it did: what goes wrong becomes a line of the report.
"""

import contextlib
import os
import re
import shutil
import stat
import time
import weakref
import zlib
from pathlib import Path

import pytest
from waits import settle

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_OF_A_FILE = 200_000  # its end
MOST_OF_A_TEST = 20_000_000
MOST = 200_000_000
SECRET_FILE = re.compile(r"token|key|secret", re.IGNORECASE)
SECRET_MEMBER = re.compile(r'"(?:token|key|secret|password)"\s*:\s*"([^"]{8,})"', re.IGNORECASE)
# Whatever else looks like one: a relay's and a cluster's tokens have 64 hexadecimal digits, no id of Ray's has so many.
SECRET_TEXT = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
                         rb"|(?<![0-9A-Za-z])[0-9a-fA-F]{64,}|(?<=Bearer )[^\s\"']+"
                         rb"|(?<=TOKEN=)[^\s\"']+", re.DOTALL)
REMOVED = b"[removed]"


def top():
    return Path(os.environ.get("RAYDBG_TEST_ARTIFACTS") or ROOT / "artifacts/test") / "evidence"


def directory_name(test):
    """A file name for this test id; a long one keeps its end, where the parameters are."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", test.removeprefix("tests/")).strip("-.") or "test"
    return name if len(name) <= 150 else f"{zlib.crc32(test.encode()):08x}-{name[-140:]}"


def size_of(directory):
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


# --- what must not be copied ---

def secrets_in(directory):
    """What the files of a state directory that hold tokens and keys hold."""
    found = set()
    for path in Path(directory).rglob("*"):
        with contextlib.suppress(OSError):
            if not path.is_file() or path.stat().st_size > 100_000:
                continue
            if SECRET_FILE.search(path.name):
                found |= {line.strip() for line in path.read_text(errors="replace").splitlines()}
            if path.suffix == ".json":
                found |= set(SECRET_MEMBER.findall(path.read_text(errors="replace")))
    return {text for text in found if len(text) >= 8 and not text.startswith("-----")}


def clean(data, secrets):
    data = SECRET_TEXT.sub(REMOVED, data)
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        data = data.replace(secret.encode(), REMOVED)
    return data


def tail(path, most):
    """The last bytes of a regular file, from the beginning of a line on: a secret's half would not be noticed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - most))
        data = file.read(most)
    if length <= most:
        return data
    return b"[%d bytes before this are left out]\n" % (length - most) + data.partition(b"\n")[2]


def newer(paths, since):
    """Those files of `paths` that were written to after that time."""
    found = []
    for path in sorted(paths):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime >= since - 1:
                found.append(path)
    return found


# --- the machine ---

def read(path):
    try:
        return Path(path).read_text()
    except OSError as error:
        return f"{error}\n"


def stalled():
    """Microseconds in which something waited for the CPU, memory or I/O, since the machine's start."""
    found = {}
    for what in ("cpu", "memory", "io"):
        total = re.search(r"^some .*total=(\d+)", read(f"/proc/pressure/{what}"), re.MULTILINE)
        found[what] = int(total[1]) if total else 0
    return found


def processes():
    """By pid: seconds of CPU, resident bytes, and the program with its first argument; more could have a token in it."""
    found, tick, page = {}, os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError, IndexError):
            name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
            fields = rest.split()
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:2]
            words = [word[:100] for word in argv if word and "=" not in word]
            found[int(pid)] = ((int(fields[11]) + int(fields[12])) / tick, int(fields[21]) * page, " ".join(words) or f"[{name}]")
    return found


def busiest(seconds=0.3, most=15):
    before = processes()
    settle(seconds)
    rows = [((cpu - before[pid][0] if pid in before else cpu) / seconds, rss, pid, text)
            for pid, (cpu, rss, text) in processes().items()]
    return [f"{100 * cpu:5.0f} % {rss >> 20:6d} MB {pid:8d} {text}" for cpu, rss, pid, text in sorted(rows, reverse=True)[:most]]


def machine(since=None, before=None):
    """How busy the machine is, and was since then."""
    lines = [time.strftime("%Y-%m-%d %H:%M:%S %z"), f"loadavg {read('/proc/loadavg').strip()} on {os.cpu_count()} CPUs"]
    if since:
        took, now = time.time() - since, stalled()
        lines.append(f"the test has run for {took:.1f} s; in that time something waited for "
                     + ", ".join(f"{what} {(now[what] - before[what]) / 1e4 / max(took, 0.001):.0f} %" for what in now))
    for what in ("cpu", "memory", "io"):
        lines += [f"{what} {line}" for line in read(f"/proc/pressure/{what}").splitlines()]
    with contextlib.suppress(OSError):
        disk = shutil.disk_usage("/tmp")
        lines.append(f"/tmp: {disk.free >> 20} MB free of {disk.total >> 20}")
    lines += [line for line in read("/proc/meminfo").splitlines() if line.startswith(("Mem", "Swap"))]
    return "\n".join([*lines, "", "CPU, memory, pid, program:", *busiest(), ""])


# --- the tests of this process ---

class Recorder:
    """What the running test uses, and where its evidence goes."""

    def __init__(self):
        self.older = weakref.WeakSet()
        self.test = None
        self.notes = []
        self._clear()

    def _clear(self):
        self.recent, self.used, self.leaving, self.directory = [], [], [], None

    def begin(self, test):
        self._clear()
        self.test, self.since, self.before = test, time.time(), stalled()

    def end(self):
        for path in self.leaving:
            shutil.rmtree(path, ignore_errors=True)
        self.older.update(self.recent)
        self.test = None
        self._clear()

    def sources(self):
        """Each with its name."""
        found = list({id(source): source for source in (*self.recent, *self.used, *self.older)}.values())
        kinds = [type(source).__name__.lower().removesuffix("process") for source in found]
        return [(f"{kind}-{kinds[:n].count(kind) + 1}", source) for n, (kind, source) in enumerate(zip(kinds, found, strict=True))]

    def make_directory(self):
        """This test's directory, made when it is first needed: a rerun has one of its own."""
        if self.directory is None:
            parent, name = top(), directory_name(self.test)
            parent.mkdir(parents=True, exist_ok=True)
            for number in range(1, 1000):
                self.directory = parent / (name if number == 1 else f"{name}-{number}")
                with contextlib.suppress(FileExistsError):
                    self.directory.mkdir()
                    break
        return self.directory

    def copy(self, named, what):
        """Copies these sources and machine.txt; returns what there is to say of it, in lines."""
        said, directory = [], self.make_directory()
        room = min(MOST_OF_A_TEST - size_of(directory), MOST - size_of(top()))
        if room <= 0:
            said.append("no logs are copied: there are too many already (20 MB of a test, 200 MB in all)")
        for name, source in named if room > 0 else ():
            try:
                room = self._copy_source(directory / name, source, room, said)
            except Exception as error:
                said.append(f"{name}: {type(error).__name__}: {error}")
        text = "\n".join([f"{self.test}: {what}", machine(self.since, self.before), *said, ""])
        with (directory / "machine.txt").open("a") as file:
            file.write(text)
        return said

    def _copy_source(self, directory, source, room, said):
        secrets, left_out = source.secrets(), 0
        for name, path in source.evidence_files(self.since):
            try:
                data = clean(tail(path, MOST_OF_A_FILE), secrets)
                if not data:
                    continue
                if len(data) > room:
                    left_out += 1
                    continue
                directory.mkdir(exist_ok=True)
                (directory / name.replace("/", "-")).write_bytes(data)
                room -= len(data)
            except FileNotFoundError:
                pass  # of a process that just ended
            except OSError as error:
                said.append(f"{path}: {error}")
        if left_out:
            said.append(f"{directory.name}: {left_out} files are left out, there is no more room")
        return room


recorder = Recorder()


def watch(source):
    recorder.recent.append(source) if recorder.test else recorder.older.add(source)


def use(source):
    if recorder.test and not any(one is source for one in recorder.used):
        recorder.used.append(source)


def remove_later(path):
    if recorder.test:
        recorder.leaving.append(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def save(source, why):
    """Copies a source that is about to go."""
    if not recorder.test:
        return
    try:
        recorder.copy([(type(source).__name__.lower(), source)], why)
    except Exception as error:
        note(f"no evidence of {why}: {type(error).__name__}: {error}")


def note(text):
    recorder.notes.append(text)


class Plugin:
    """For pytest. Notes and the directories' names travel with the reports, as properties, out of xdist's processes."""

    def __init__(self):
        self.notes, self.directories = [], []

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        recorder.begin(item.nodeid)
        yield
        recorder.end()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        if report.failed:
            add_to(report, getattr(item, "funcargs", {}))
        if recorder.directory:
            report.user_properties.append(("evidence", str(recorder.directory)))
        while recorder.notes:
            report.user_properties.append(("note", recorder.notes.pop(0)))

    def pytest_runtest_logreport(self, report):
        for name, value in report.user_properties:
            if name == "note":
                self.notes.append(f"{report.nodeid}: {value}")
            elif name == "evidence" and value not in self.directories:
                self.directories.append(value)

    def pytest_terminal_summary(self, terminalreporter):
        if self.notes or self.directories:
            terminalreporter.section("notes and evidence")
        for line in self.notes:
            terminalreporter.line(line)
        if self.directories:
            terminalreporter.line(f"evidence of {len(self.directories)} tests: {top()}")


def add_to(report, arguments):
    """Copies what the failed test used, and says so in its report."""
    try:
        for value in arguments.values():
            if hasattr(value, "evidence_files"):
                use(value)
        said = recorder.copy(recorder.sources(), f"{report.when} failed")
        load = read("/proc/loadavg").split()
        report.sections.append(("evidence", "\n".join([f"{recorder.directory}; load {load[0]} on {os.cpu_count()} CPUs", *said])))
    except Exception as error:
        report.sections.append(("evidence", f"there is none: {type(error).__name__}: {error}"))


def register(config):
    """To be called in a conftest's pytest_configure; several may."""
    if not config.pluginmanager.has_plugin("raydbg-evidence"):
        config.pluginmanager.register(Plugin(), "raydbg-evidence")
