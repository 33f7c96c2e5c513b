#include "cli/command.h"
#include "cli/doctor_ask.h"
#include "cli/doctor_judge.h"
#include "cli/doctor_report.h"
#include "cli/options.h"
#include "cli/relay_options.h"
#include "cli/terminal.h"

#include "base/text.h"

#include <stdio.h>
#include <unistd.h>

const char cmd_doctor_synopsis[] = "doctor [--address A] [--relay R] [--format F]";

const char cmd_doctor_details[] =
    "Looks at everything that debugging needs, in three seconds at most, and says what is\n"
    "wrong and what to do: the cluster, its nodes, the relay, the workers' debuggers and whether\n"
    "their ports can be reached from here, this environment. It changes and disturbs nothing.\n"
    "\n"
    "  --address A   the cluster: HOST:PORT of the GCS, or http://HOST:8265 of the dashboard;\n"
    "                else RAY_ADDRESS, else the cluster that runs on this machine\n"
    "  --format F    text (default), json: an array of {check, status, what, why, hint},\n"
    "                status is ok, warning or problem, null is nothing\n" RELAY_OPTION_HELP "\n"
    "  raydbg doctor --format json | jq -r '.[] | select(.status == \"problem\") | .what'\n"
    "\n"
    "exit codes: 0 no problem, 1 a problem, 2 wrong usage, 5 no cluster, or no way to it\n";

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
    const char *given = NULL, *format = "text";
    bool done;
    int operands;
    struct relay_wish wish = {.wanted = true};
    const struct option_spec specs[] = {
        {"address", 'a', OPTION_STRING, NULL, &given},
        {"format", 'f', OPTION_STRING, NULL, &format},
        RELAY_OPTION_SPECS(wish),
    };
    if (!options_parse("doctor", specs, sizeof specs / sizeof *specs, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage("doctor", "'%s' is no option: doctor takes no names", argv[1]);
    if (!text_equal(format, "text") && !text_equal(format, "json"))
        return command_usage("doctor", "--format is text or json, not '%s'", format);
    return run(given, &wish, text_equal(format, "json"));
}
