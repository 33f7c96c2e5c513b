#include "cli/doctor/doctor_report.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/json_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *symbol, *colour;
} statuses[] = {
    [DOCTOR_OK] = {"ok", "\u2713", "\033[32m"},
    [DOCTOR_WARNING] = {"warning", "!", "\033[33m"},
    [DOCTOR_PROBLEM] = {"problem", "\u2717", "\033[31m"},
};

const char *doctor_status_name(enum doctor_status status)
{
    return statuses[status].name;
}

void doctor_report_clear(struct doctor_report *report)
{
    free(report->checks);
    *report = (struct doctor_report){0};
}

struct err *doctor_report_add(struct doctor_report *report, const char *name,
                              enum doctor_status status)
{
    report->checks = mem_resize(report->checks, report->count + 1, sizeof *report->checks);
    struct doctor_check *check = &report->checks[report->count++];
    *check = (struct doctor_check){.name = name, .status = status};
    return &check->words;
}

static size_t count_of(const struct doctor_report *report, enum doctor_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        count += report->checks[i].status == status;
    return count;
}

int doctor_report_code(const struct doctor_report *report)
{
    if (report->no_cluster)
        return ERR_UNREACHABLE;
    return count_of(report, DOCTOR_PROBLEM) ? ERR_FAILED : ERR_NONE;
}

/* --- text --- */

/* Makes the text printable: some of it comes from the cluster. */
static void add_clean(struct buf *out, const char *text)
{
    text_add_printable(out, text, strlen(text), "");
}

static int name_width(const struct doctor_report *report)
{
    size_t width = 0;
    for (size_t i = 0; i < report->count; i++)
        if (strlen(report->checks[i].name) > width)
            width = strlen(report->checks[i].name);
    return (int)width;
}

static void add_below(struct buf *out, int indent, const char *text, bool colour)
{
    if (!text[0])
        return;
    buf_printf(out, "%*s%s", indent, "", colour ? "\033[2m" : "");
    add_clean(out, text);
    buf_printf(out, "%s\n", colour ? "\033[0m" : "");
}

static void add_count(struct buf *out, size_t count, const char *noun)
{
    buf_printf(out, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}

static void add_sum(const struct doctor_report *report, struct buf *out)
{
    size_t problems = count_of(report, DOCTOR_PROBLEM);
    size_t warnings = count_of(report, DOCTOR_WARNING);
    if (problems)
        add_count(out, problems, "problem");
    else
        buf_add_string(out, "no problem");
    if (warnings) {
        buf_add_string(out, ", ");
        add_count(out, warnings, "warning");
    }
    buf_add_string(out, problems ? "\n" : ": raydbg list shows what is paused\n");
}

void doctor_report_text(const struct doctor_report *report, bool colour, bool symbols,
                        struct buf *out)
{
    int verdict = symbols ? 1 : 7, width = name_width(report);
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_check *check = &report->checks[i];
        const char *word = symbols ? statuses[check->status].symbol : statuses[check->status].name;
        /* Each symbol is one column, whatever its bytes. */
        buf_printf(out, "%s%s%s%*s", colour ? statuses[check->status].colour : "", word,
                   colour ? "\033[0m" : "", symbols ? 0 : verdict - (int)strlen(word), "");
        buf_printf(out, "  %-*s  ", width, check->name);
        add_clean(out, check->words.what);
        buf_add_string(out, "\n");
        add_below(out, verdict + width + 4, check->words.why, colour);
        add_below(out, verdict + width + 4, check->words.hint, colour);
    }
    add_sum(report, out);
}

/* --- JSON --- */

static void add_member(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ", \"%s\": ", name);
    json_put_text(out, text);
}

void doctor_report_json(const struct doctor_report *report, struct buf *out)
{
    buf_add_string(out, "[");
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_check *check = &report->checks[i];
        buf_printf(out, "%s{\"check\": \"%s\", \"status\": \"%s\"", i ? ",\n " : "", check->name,
                   doctor_status_name(check->status));
        add_member(out, "what", check->words.what);
        add_member(out, "why", check->words.why);
        add_member(out, "hint", check->words.hint);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]\n");
}
