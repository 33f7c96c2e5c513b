"""The list of codes in docs/why.md notices what it lacks, and what no report has."""

import pytest
from why_codes import problems

SOURCES = {
    "relay/why/why_a.c": 'why_report_cause(\n    report, "starting", "its %s", a);\nwhy_report_cause(report, end.code, "%s", end.words);\n'
                         'why_report_cause(report, running ? "running" : "idle", "it is");\n',
    "relay/why/why_resources.c": '    {"QUEUED", "group_waits", "Ray has not begun"},\n',
    "relay/why_records/process_end.c": '    {NULL, "job has finished", ORDINARY, "job_over", "its job had ended"},\n'
                                       '    {"SYSTEM_ERROR", "", 0, "process_lost",\n     "its process died"},\n',
}
PAGE = """With JSON it is an object: `kind code`.
`code` is stable, so that a program can use it: `starting`, `running`, `idle`,
`group_waits`, `job_over`, `process_lost` and, for rarer errors, Ray's own name, such as `TASK_CANCELLED`. A row's `state` is …
"""


def test_a_list_that_is_whole():
    assert list(problems(PAGE, SOURCES)) == []


@pytest.mark.parametrize("page, sources, found", [
    (PAGE.replace("`idle`,", ""), {}, ["docs/why.md: the code idle is not in the list"]),
    (PAGE.replace("`job_over`, ", ""), {}, ["docs/why.md: the code job_over is not in the list"]),
    (PAGE.replace("`group_waits`", "`group_weights`"), {}, ["docs/why.md: the code group_waits is not in the list",
                                                           "docs/why.md: no report has the code group_weights"]),
    (PAGE.replace("`idle`", "`idle`, `idle`"), {}, ["docs/why.md: the code idle is there twice"]),
    (PAGE, {"relay/why/why_b.c": 'why_report_cause(report, "new_one", "it");'}, ["docs/why.md: the code new_one is not in the list"]),
    (PAGE, {"relay/why/why_b.c": 'why_report_cause(report, rows[i].code, "it");'},
     ["relay/why/why_b.c: why_report_cause() takes its code from rows[i].code, which tests/gate/why_codes.py does not know"]),
    (PAGE.replace("`group_waits`, ", ""), {"relay/why/why_resources.c": ""}, ["relay/why/why_resources.c: it has no table of codes"]),
])
def test_what_is_wrong_is_found(page, sources, found):
    assert list(problems(page, {**SOURCES, **sources})) == found
