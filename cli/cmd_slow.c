#include "cli/commands.h"
#include "cli/common/command_usage.h"
#include "cli/common/options.h"
#include "cli/common/quantity.h"
#include "cli/common/terminal.h"
#include "cli/slow/slow_output.h"
#include "cli/why/why_ask.h"

#include "base/text.h"

#include <stddef.h>
#include <stdio.h>

struct slow_words {
    const char *address, *format, *job, *since;
    const char *name;
    int64_t within_ms;
    int code; /* of the whole command */
};

static const struct option_row option_rows[] = {
    GCS_OPTION_ROW(struct slow_words, address),
    {"job", 0, OPTION_STRING, offsetof(struct slow_words, job), .value = "J",
     .help = "a job, such as 03; by default the one that has submitted a task last"},
    {"since", 0, OPTION_STRING, offsetof(struct slow_words, since), .value = "TIME",
     .samples = "10m 1h 1d", .help = "only what ran or waited within this time, such as 10m"},
    {"format", 'f', OPTION_STRING, offsetof(struct slow_words, format), .value = "F",
     .words = "text json", .help = "text (default), json"},
};

const struct command_text cmd_slow_text = {
    .name = "slow",
    .summary = "say why a job is slow, and what to do",
    .synopsis = "slow [NAME] [--job J] [--since TIME] [--address A] [--format F]",
    .intro = "Says which tasks of a job make it slow, why, with the figures, and what to do: tasks "
             "that are too small, ray.get in a loop, one actor for all calls, one long task at the "
             "end, waits for a node, slow starts of processes. NAME, which may be a glob, is that "
             "of tasks.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "It says only what it is sure of, and nothing that costs less than a hundredth of the "
             "time. No code runs in a worker for it.",
    .examples = "  raydbg slow\n"
                "  raydbg slow --job 01 'load_*'\n"
                "  raydbg slow --format json | jq -r '.findings[].code'",
    .exits = "0 done, 2 wrong usage, 3 no such job, or no task of such a name, 4 not allowed "
             "(token), 5 cluster unreachable",
};

static void show(void *arg, const char *cluster, const struct why_records *records,
                 const struct why_subject *subject, struct buf *out)
{
    struct slow_words *words = arg;
    const struct slow_style style = {terminal_colour(stdout), terminal_utf8()};
    const struct slow_query query = {
        .job = words->job,
        .name = words->name,
        .since_us = words->within_ms ? (records->now_ms - words->within_ms) * 1000 : 0};
    struct slow_report report;
    struct err err;
    (void)cluster, (void)subject;
    if (records->problems[WHY_ATTEMPTS].code) {
        words->code = command_fail(&records->problems[WHY_ATTEMPTS]);
        return;
    }
    if (slow_make(records, &query, &report, &err) != 0) {
        words->code = command_fail(&err);
        return;
    }
    if (text_equal(words->format, "json"))
        slow_output_json(&report, out);
    else
        slow_output_text(&report, &style, out);
    slow_clear(&report);
}

int cmd_slow(int argc, char **argv)
{
    static const struct evidence_query query = {.tables_only = true, .timing = true};
    struct slow_words words = {.format = "text"};
    bool done;
    int operands;
    if (!options_parse(&cmd_slow_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands > 1)
        return command_usage(&cmd_slow_text, "slow takes one name, not %d", operands);
    words.name = operands ? argv[1] : NULL;
    if (words.since && !quantity_duration(words.since, &words.within_ms))
        return command_usage(&cmd_slow_text, "--since is a time such as 10m, not '%s'",
                             words.since);
    int code = why_ask(words.address, &query, NULL, show, &words);
    return code ? code : words.code;
}
