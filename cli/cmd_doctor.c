#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/relay_options.h"
#include "cli/common/terminal.h"
#include "cli/doctor/doctor_ask.h"
#include "cli/doctor/doctor_judge.h"
#include "cli/doctor/doctor_report.h"

#include "base/text.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

struct doctor_words {
    const char *address, *format;
    struct relay_wish wish;
};

static const struct option_row option_rows[] = {
    {"address", 'a', OPTION_STRING, offsetof(struct doctor_words, address), .value = "ADDRESS",
     .help = "the cluster: HOST:PORT of the GCS, or http://HOST:8265 of the dashboard; else "
             "RAY_ADDRESS, else the cluster that runs on this machine"},
    {"format", 'f', OPTION_STRING, offsetof(struct doctor_words, format), .value = "F",
     .words = "text json",
     .help = "text (default), json: an array of {check, status, what, why, hint}, status is ok, "
             "warning or problem, null is nothing"},
    RELAY_OPTION_ROWS(struct doctor_words, wish),
};

const struct command_text cmd_doctor_text = {
    .name = "doctor",
    .summary = "check what debugging needs, and say what to do",
    .synopsis = "doctor [--address A] [--relay R] [--format F]",
    .intro = "Looks at everything that debugging needs, in three seconds at most, and says what is "
             "wrong and what to do: the cluster, its nodes, the relay, the workers' debuggers and "
             "whether their ports can be reached from here, this environment. It changes and "
             "disturbs nothing.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .examples = "  raydbg doctor --format json | jq -r '.[] | select(.status == \"problem\") | "
                ".what'",
    .exits = "0 no problem, 1 a problem, 2 wrong usage, 5 no cluster, or no way to it",
};

static void print(const struct doctor_report *report, bool json)
{
    struct buf out = {0};
    if (json)
        doctor_report_json(report, &out);
    else
        doctor_report_text(report, terminal_colour(stdout),
                           isatty(STDOUT_FILENO) && terminal_utf8(), &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_free(&out);
}

static int run(const char *given, const struct relay_wish *wish, bool json)
{
    struct doctor_facts facts = {0};
    struct doctor_report report = {0};
    struct err err;
    struct progress *progress = progress_start("looking at the cluster ...");
    int asked = doctor_ask(&facts, given, wish, &err);
    progress_stop(&progress);
    int code = ERR_FAILED;
    if (asked == 0) {
        doctor_judge(&facts, &report);
        print(&report, json);
        code = doctor_report_code(&report);
    } else {
        code = command_fail(&err);
    }
    doctor_report_clear(&report);
    doctor_facts_clear(&facts);
    return code;
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor_words words = {.format = "text", .wish = {.wanted = true}};
    bool done;
    int operands;
    if (!options_parse(&cmd_doctor_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage(&cmd_doctor_text, "'%s' is no option: doctor takes no names", argv[1]);
    return run(words.address, &words.wish, text_equal(words.format, "json"));
}
