"""Verdicts on failed tests: what fails and then passes twice, alone and in new processes, is flaky; all else has failed.

Not run again: what a race of the product, or a fault of memory, would show as (hard_text, hard_exception), and all of a stage
with more failures than STAGE_LIMIT or of a run with more than RUN_LIMIT.
"""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

PASSES = 2
STAGE_LIMIT = 8
RUN_LIMIT = 12

HARD_TEXTS = {
    "a sanitizer's report": r"(Address|Leak|Thread|Memory|UndefinedBehavior)Sanitizer\b|\bruntime error: ",
    "a signal": r"raydbg ended with -\d|Test failed with exception: |\*\*\*Exception|worker '\w+' crashed"
                r"|died with <Signals\.SIG(SEGV|ABRT|BUS|FPE|ILL)",
    "a double answer": r"was answered \d+ times",
    "a lost pause": r"the pause is lost|pauses?: [1-9]\d* lost",
    "a process that was left": r"processes? (was|were) left|left-over process",
}


def hard_text(text):
    """Why a failure with this text is not run again, or None."""
    return next((reason for reason, pattern in HARD_TEXTS.items() if re.search(pattern, text)), None)


def hard_exception(error, seen=()):
    """Why a failure by this exception, or by what led to it, is not run again: a class of it is called Hard. Or None."""
    if error is None or error in seen:
        return None
    if any(kind.__name__ == "Hard" for kind in type(error).__mro__):
        return next(iter(str(error).splitlines()), type(error).__name__)[:200]
    causes = [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]
    return next((reason for cause in causes if (reason := hard_exception(cause, (*seen, error)))), None)


def machine():
    """How busy the machine is."""
    row = {"load": round(os.getloadavg()[0], 1)}
    try:
        pressure = re.search(r"some avg10=([\d.]+)", Path("/proc/pressure/cpu").read_text())
        row["pressure"] = float(pressure.group(1))
    except (OSError, AttributeError):
        pass
    return row


@dataclass
class Failure:
    id: str
    line: str
    hard: str | None = None
    load: float = 0
    pressure: float = 0
    when: str = "call"


@dataclass
class Verdict:
    flaky: list = field(default_factory=list)  # of Failure
    failed: list = field(default_factory=list)  # pairs of Failure and why it was not, or not successfully, run again


def merge(rows):
    """One Failure for each test, of rows as a Recorder writes them: hard if one is, else the first."""
    merged = {}
    for row in rows:
        failure = Failure(**row)
        known = merged.setdefault(failure.id, failure)
        known.hard = known.hard or failure.hard
    return list(merged.values())


class Run:
    """What the stages of a run share: a directory with reruns.jsonl, flakes.jsonl and failed.jsonl."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def rows(self, name):
        path = self.directory / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def add(self, name, row):
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / name).open("a") as file:
            file.write(json.dumps(row) + "\n")

    def note_failed(self, stage, failure, reason):
        self.add("failed.jsonl", {"stage": stage, "reason": reason, **failure.__dict__})

    def judge(self, stage, failures, rerun):
        """`rerun(ids, attempt)` runs these alone, in new processes: a list of Failures, or None if that itself failed."""
        verdict = Verdict()
        soft = [failure for failure in failures if not failure.hard]
        verdict.failed += [(failure, f"not run again: {failure.hard}") for failure in failures if failure.hard]
        why = self.refusal(len(failures))
        if why:
            verdict.failed += [(failure, f"not run again: {why}") for failure in soft]
            return verdict
        for failure in soft:
            self.add("reruns.jsonl", {"stage": stage, "id": failure.id})
        for attempt in range(1, PASSES + 1):
            if not soft:
                break
            again = rerun([failure.id for failure in soft], attempt)
            if again is None:
                verdict.failed += [(failure, f"rerun {attempt} did not come to an end") for failure in soft]
                soft = []
                break
            failed = {failure.id: failure for failure in again}
            verdict.failed += [(failure, f"failed again, alone: {failed[failure.id].line}") for failure in soft if failure.id in failed]
            soft = [failure for failure in soft if failure.id not in failed]
        verdict.flaky = soft
        for failure in soft:
            self.add("flakes.jsonl", {"stage": stage, **failure.__dict__})
        return verdict

    def refusal(self, count):
        """Why none of `count` failures is run again, or None."""
        before = len(self.rows("reruns.jsonl"))
        if count > STAGE_LIMIT:
            return f"more than {STAGE_LIMIT} tests of this stage failed"
        if before + count > RUN_LIMIT:
            return f"more than {RUN_LIMIT} tests of this run failed"
        return None
