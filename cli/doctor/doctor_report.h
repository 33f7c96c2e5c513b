/* The report of `raydbg doctor`: a list of checks, each with a verdict and a hint. Pure. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_REPORT_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_REPORT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum doctor_status { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_PROBLEM };
const char *doctor_status_name(enum doctor_status status); /* "ok", "warning", "problem" */

struct doctor_check {
    const char *name; /* static: "gcs", one of those in docs/doctor.md */
    enum doctor_status status;
    struct err words; /* what, why, hint; its code is not used */
};

/* All zero is an empty report. */
struct doctor_report {
    struct doctor_check *checks;
    size_t count;
    bool no_cluster; /* none was found, or it does not answer */
};

void doctor_report_clear(struct doctor_report *report);

/* Adds a check, for err_set(), err_why() and err_hint() to fill; valid until the next call. */
struct err *doctor_report_add(struct doctor_report *report, const char *name,
                              enum doctor_status status);

/* The exit code: 5 without a cluster, 1 with a problem, else 0. */
int doctor_report_code(const struct doctor_report *report);

/* Appends a line for each check, with its reason and hint below, and a summary. With `symbols`
 * (UTF-8) each verdict is a symbol, else a word. */
void doctor_report_text(const struct doctor_report *report, bool colour, bool symbols,
                        struct buf *out);
/* Appends an array of {"check","status","what","why","hint"}, one object per line; null:
 * nothing. */
void doctor_report_json(const struct doctor_report *report, struct buf *out);

#endif
