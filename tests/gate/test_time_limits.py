"""The page of time limits notices what it lacks, and what has changed."""

import pytest
from time_limits import problems

SOURCES = {"relay/a.c": "enum { WAIT_MS = 2000, PACE_MS = 50, COUNT = 3 };\n", "relay/a.h": "#define LIFE_MS 30000\n",
           "relay/a.py": "AGAIN_S = (5.0, 8.0)\n"}
PAGE = """| `WAIT_MS` | relay/a.c | 2000 | said |
| `LIFE_MS` | relay/a.h | 30000 | said |

* relay/a.c: `PACE_MS`
* relay/a.py: `AGAIN_S`
"""


def test_a_page_that_is_whole():
    assert list(problems(PAGE, SOURCES)) == []


@pytest.mark.parametrize("page, sources, found", [
    (PAGE.replace("| `LIFE_MS`", "| `LIVE_MS`"), {}, ["relay/a.h: LIFE_MS is not in docs/time-limits.md",
                                                     "docs/time-limits.md: LIVE_MS of relay/a.h is not 30000"]),
    (PAGE.replace("2000", "200"), {}, ["docs/time-limits.md: WAIT_MS of relay/a.c is not 200"]),
    (PAGE + "* relay/a.c: `WAIT_MS`\n", {}, ["docs/time-limits.md: WAIT_MS of relay/a.c is there twice"]),
    (PAGE + "* relay/b.c: `OLD_MS`\n", {}, ["docs/time-limits.md: relay/b.c has no OLD_MS"]),
    (PAGE, {"relay/b.c": "enum { NEW_MS = 1 };"}, ["relay/b.c: NEW_MS is not in docs/time-limits.md"]),
])
def test_what_is_wrong_is_found(page, sources, found):
    assert list(problems(page, {**SOURCES, **sources})) == found
