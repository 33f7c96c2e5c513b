"""Draws single-line faults in the project's C sources: the same ones for the same seed and the same sources."""

import random
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Tokens, roles, limits, snapshots and the keeper: at least half of the faults.
GUARDED = ("relay/access/*.c relay/keeper/*.c relay/hub/roles.c relay/hub/hub_save.c relay/hub/hub_snapshot.c "
           "relay/hub/hub_table_keeper.c relay/hub/hub_log.c relay/port/http_access.c relay/port/listener*.c "
           "relay/port/request_header.c relay/debuggee/request_guards.c relay/debuggee/debugpy_arguments.c dap/rules.c "
           "dap/frame.c proto/token*.c relay/locate/relay_registration.c relay/locate/relay_trust*.c").split()
SOURCES = "base/*.c dap/*.c proto/*.c relay/*/*.c cli/*.c cli/*/*.c".split()

# A fault in these changes what is logged, how long something takes, or where a fault of our own ends the process.
NOT_TRIED = re.compile(r"^\s*(log_\w+|invariant\w*|metrics_\w+|static_assert|assert)\s*\(|_(MS|US|S|NS)\b|_ms\b|_us\b|^\s*#")
STATEMENT = re.compile(r"^(\s+)(?!return\b|goto\b|break\b|continue\b|else\b)[a-z_][\w>.\-\[\]*]*(\(.*\)| [-+|&]?= .*|\+\+|--);$")
CONDITION = re.compile(r"^(\s*(?:\} )?(?:else )?if \()(.*)(\)(?: \{)?)$")
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
FUNCTION = re.compile(r"^(?:static )?(?:inline )?(void|bool|int|size_t|int64_t) \w+\(.*\)$")
RETURNS = {"void": "return;", "bool": "return false;", "int": "return 0;", "size_t": "return 0;", "int64_t": "return 0;"}


@dataclass(frozen=True)
class Fault:
    path: str
    line: int  # from 1
    operator: str
    before: str
    after: str
    above: str  # the line above

    @property
    def name(self):
        return f"{self.path}:{self.line} {self.operator}"


def blank(text):
    """The source with comments and the insides of literals as spaces, so that no operator is found there."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", spaces, text, flags=re.S)


def balanced(text):
    return text.count("(") == text.count(")") and "{" not in text


def replaced(line, match, by):
    return line[:match.start()] + by + line[match.end():]


def of_line(lines, bare, number):
    """(operator, after) for each fault of a line; `bare` are the lines without comments and literals."""
    line, code = lines[number], bare[number]
    condition = CONDITION.match(code)
    if condition and balanced(condition[2]):
        inner = line[condition.start(2):condition.end(2)]
        yield "negate", f"{condition[1]}!({inner}){line[condition.start(3):]}"
    before = bare[number - 1].rstrip() if number else ""
    if STATEMENT.match(code) and balanced(code) and re.search(r"[;{}]$", before):
        yield "drop", re.match(r"\s*", line)[0] + ";"
    for found in re.finditer(r"(?<=[\w)\]] )(<=|>=|==|!=|<|>)(?= [\w(*&'\"!-])", code):
        yield f"compare {found[0]}", replaced(line, found, COMPARISONS[found[0]])
    for found in re.finditer(r" (&&|\|\|)(?= |$)", code):
        yield f"join {found[1]}", replaced(line, found, " ||" if found[1] == "&&" else " &&")
    for found in re.finditer(r"(?<![\w.\"])\d+(?=[,;)\] ]|$)", code):
        value = int(found[0])
        yield f"constant {value}", replaced(line, found, str(value + 1 if value < 2 else value - 1))
    opens = FUNCTION.match(before) if code == "{" else None
    if opens:
        yield "return early", "{ " + RETURNS[opens[1]]


def of_file(path):
    lines = (ROOT / path).read_text().splitlines()
    bare = blank("\n".join(lines)).split("\n")
    for number in range(len(lines)):
        if NOT_TRIED.search(bare[number]):
            continue
        for operator, after in of_line(lines, bare, number):
            yield Fault(path, number + 1, operator, lines[number], after, lines[number - 1] if number else "")


def files(patterns):
    return sorted({str(found.relative_to(ROOT)) for pattern in patterns for found in ROOT.glob(pattern)})


def some(random_numbers, paths, count):
    """Of files, then of an operator, then of a line, so that long files and frequent operators do not take all."""
    chosen = {}
    while len(chosen) < count:
        path = random_numbers.choice(paths)
        kinds = {}
        for fault in of_file(path):
            kinds.setdefault(fault.operator.partition(" ")[0], []).append(fault)
        if kinds:
            fault = random_numbers.choice(kinds[random_numbers.choice(sorted(kinds))])
            chosen.setdefault((fault.path, fault.line), fault)
    return list(chosen.values())


def draw(seed, count):
    numbers = random.Random(seed)
    guarded = files(GUARDED)
    others = [path for path in files(SOURCES) if path not in guarded]
    half = (count + 1) // 2
    first, second = some(numbers, guarded, half), some(numbers, others, count - half)
    return [fault for pair in zip(first, second) for fault in pair] + first[len(second):]
