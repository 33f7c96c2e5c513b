#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/quantity.h"
#include "cli/common/terminal.h"
#include "cli/why/why_ask.h"
#include "cli/why/why_output.h"

#include "base/text.h"
#include "relay/why/why_json.h"

#include <stddef.h>
#include <stdio.h>

struct why_words {
    const char *address, *format, *since;
};

static const struct option_row option_rows[] = {
    GCS_OPTION_ROW(struct why_words, address),
    {"since", 0, OPTION_STRING, offsetof(struct why_words, since), .value = "TIME",
     .samples = "10m 1h 1d",
     .help = "without a name: what failed within this time, such as 10m; 1h by default"},
    {"format", 'f', OPTION_STRING, offsetof(struct why_words, format), .value = "F",
     .words = "text json", .help = "text (default), json"},
};

const struct command_text cmd_why_text = {
    .name = "why",
    .summary = "say why something failed, died or waits",
    .synopsis = "why [NAME] [--address A] [--since TIME] [--format F]",
    .intro =
        "Says why a task, an actor, a process (PID@NODE), a node, a job, a placement group or an "
        "object failed, died or waits, and what Ray does next. NAME is its name, or its id's "
        "beginning. Without NAME: what waits now, and what failed lately.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes =
        "What is not known is said to be unknown, with what is missing. Nothing in the cluster is "
        "disturbed: no code runs in a worker for it.",
    .examples = "  raydbg why\n"
                "  raydbg why train_step\n"
                "  raydbg why 762@10.0.0.7\n"
                "  raydbg why Trainer --format json | jq -r .code",
    .exits =
        "0 done, 2 wrong usage, 3 nothing has this name or several have, 4 not allowed (token), 5 "
        "cluster unreachable",
    .operand = WORD_TASK,
};

static void show_report(const struct why_words *words, const struct why_records *records,
                        const struct why_subject *subject, struct buf *out)
{
    const struct why_style style = {terminal_colour(stdout), terminal_utf8(),
                                    terminal_columns(stdout)};
    struct why_report report = {0};
    why_judge(records, subject, &report);
    if (text_equal(words->format, "json"))
        why_json_report(&report, out);
    else
        why_output_report(&report, &style, out);
    why_report_clear(&report);
}

static void show(void *arg, const char *cluster, const struct why_records *records,
                 const struct why_subject *subject, struct buf *out)
{
    const struct why_words *words = arg;
    const struct why_style style = {terminal_colour(stdout), terminal_utf8(),
                                    terminal_table_columns(stdout)};
    struct why_overview overview;
    if (subject) {
        show_report(words, records, subject, out);
        return;
    }
    why_overview_make(records, &overview);
    if (text_equal(words->format, "json"))
        why_json_overview(records, &overview, out);
    else
        why_output_overview(records, &overview, cluster, &style, out);
    why_overview_clear(&overview);
}

int cmd_why(int argc, char **argv)
{
    struct why_words words = {.format = "text", .since = "1h"};
    int64_t within_ms;
    bool done;
    int operands;
    if (!options_parse(&cmd_why_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands > 1)
        return command_usage(&cmd_why_text, "why takes one name, not %d", operands);
    if (operands && !*argv[1])
        return command_usage(&cmd_why_text, "the name is empty");
    if (!quantity_duration(words.since, &within_ms))
        return command_usage(&cmd_why_text, "--since is a time such as 10m, not '%s'", words.since);
    const struct evidence_query query = {
        .name = operands ? argv[1] : NULL, .within_ms = within_ms, .looks_twice = true};
    return why_ask(words.address, &query, NULL, show, &words);
}
