#include "cli/commands.h"
#include "cli/common/command_usage.h"
#include "cli/common/options.h"
#include "cli/common/output_file.h"
#include "cli/common/relay_ask.h"
#include "cli/common/terminal.h"
#include "cli/timeline/timeline_history.h"
#include "cli/timeline/timeline_picture.h"
#include "cli/timeline/timeline_trace.h"
#include "cli/why/why_ask.h"

#include "base/text.h"
#include "proto/job_id.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

struct timeline_words {
    const char *address, *output, *job;
    struct relay_page history; /* an older relay has no such page */
    int code;                  /* of the whole command */
};

static const struct option_row option_rows[] = {
    GCS_OPTION_ROW(struct timeline_words, address),
    {"output", 'o', OPTION_STRING, offsetof(struct timeline_words, output), .value = "FILE",
     .word = WORD_FILE,
     .help = "write a trace for Perfetto or chrome://tracing; - is standard output"},
    {"job", 0, OPTION_STRING, offsetof(struct timeline_words, job), .value = "J",
     .help = "only the tasks of a job, such as 03"},
};

const struct command_text cmd_timeline_text = {
    .name = "timeline",
    .summary = "show when each task waited and ran, and where",
    .synopsis = "timeline [-o FILE] [--job J] [--address A]",
    .intro = "Shows when each task waited, ran and failed, and in which process: as a picture, or "
             "with -o as a trace that Perfetto (https://ui.perfetto.dev) and chrome://tracing "
             "open.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes =
        "Tasks that wait, run or have failed are in it as well as finished ones; and when each "
        "was paused, if a relay runs here and has held it. The spans of "
        "ray.get are in it if RAY_PROFILING=1 was set in the workers. No code runs in a worker "
        "for it.",
    .examples = "  raydbg timeline\n"
                "  raydbg timeline -o trace.json --job 01\n"
                "  raydbg timeline -o - | gzip > trace.json.gz",
    .exits = "0 done, 1 the file cannot be written, 2 wrong usage, 3 no such job, 4 not allowed "
             "(token), 5 cluster unreachable",
};

static void add_notes(const struct timeline *timeline, const struct why_records *records,
                      struct buf *out)
{
    if (records->dropped)
        buf_printf(out, "not in it: %" PRId64 " state changes that Ray has dropped\n",
                   records->dropped);
    if (timeline->left_out)
        buf_printf(out, "not in it: %zu waits beyond the first %d at a time\n", timeline->left_out,
                   TIMELINE_WAIT_LANES);
}

static int show_trace(const struct timeline_words *words, const struct timeline *timeline,
                      const struct why_records *records, const char *cluster)
{
    struct buf note = {0};
    FILE *file = output_file_open(words->output);
    if (!file)
        return ERR_FAILED;
    timeline_trace_write(timeline, records, cluster, file);
    int code = output_file_close(file, words->output);
    if (code == ERR_NONE) {
        buf_printf(&note, "%s: ", words->output);
        timeline_summary(timeline, terminal_utf8(), &note);
        buf_add_string(&note, "open it in https://ui.perfetto.dev or chrome://tracing\n");
        add_notes(timeline, records, &note);
        fputs(note.data, stderr);
    }
    buf_free(&note);
    return code;
}

static int check_job(const struct timeline_words *words, const struct timeline *timeline,
                     const struct why_records *records)
{
    struct err err;
    if (!words->job || timeline->count)
        return ERR_NONE;
    for (size_t i = 0; i < records->job_count; i++)
        if (job_id_is(records->jobs[i].job_id, words->job))
            return ERR_NONE;
    err_set(&err, ERR_NOT_FOUND, "there is no job '%s'", words->job);
    err_hint(&err, "raydbg why shows the jobs of what fails and waits");
    return command_fail(&err);
}

static void show(void *arg, const char *cluster, const struct why_records *records,
                 const struct why_subject *subject, struct buf *out)
{
    struct timeline_words *words = arg;
    (void)subject;
    if (records->problems[WHY_ATTEMPTS].code) { /* the file of before is kept */
        words->code = command_fail(&records->problems[WHY_ATTEMPTS]);
        return;
    }
    const struct timeline_style style = {terminal_colour(stdout), terminal_utf8(),
                                         terminal_columns(stdout), terminal_rows(stdout)};
    struct timeline_history *history =
        timeline_history_read(words->history.body.data, words->history.body.len);
    struct timeline timeline;
    timeline_make(records, words->job, timeline_history_pauses(history), &timeline);
    words->code = check_job(words, &timeline, records);
    if (words->code == ERR_NONE && words->output) {
        words->code = show_trace(words, &timeline, records, cluster);
    } else if (words->code == ERR_NONE) {
        timeline_picture(&timeline, &style, out);
        add_notes(&timeline, records, out);
    }
    timeline_clear(&timeline);
    timeline_history_free(&history);
}

int cmd_timeline(int argc, char **argv)
{
    static const struct evidence_query query = {.tables_only = true, .timing = true};
    struct timeline_words words = {.history.path = "/v1/pauses/history"};
    bool done;
    int operands;
    if (!options_parse(&cmd_timeline_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage(&cmd_timeline_text, "timeline takes no name, only options");
    int code = why_ask(words.address, &query, &words.history, show, &words);
    buf_free(&words.history.body);
    return code ? code : words.code;
}
