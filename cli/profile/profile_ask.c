#include "cli/profile/profile_ask.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/output_file.h"
#include "cli/common/relay_options.h"
#include "cli/common/signals.h"
#include "cli/common/terminal.h"
#include "cli/profile/profile_export.h"
#include "cli/profile/profile_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    const struct profile_request *request;
    struct progress *progress;
    struct process_request *reading;
    bool done, waits; /* waits: for memray, in spite of ^C */
    int code;
};

/* "3 processes on 2 nodes, 594 samples in 2 s; of Ray's own code left out: 12 (--full)" */
static void add_head(const struct run *run, const struct process_answer *answer,
                     const struct cpu_profile *profile, struct buf *out)
{
    struct buf done = {0};
    buf_printf(&done, ", %" PRIu64 " samples in %u s", profile->samples,
               run->request->query.stacks.seconds);
    if (profile->left_out)
        buf_printf(&done, "; samples of Ray's own code left out: %" PRIu64 " (--full)",
                   profile->left_out);
    process_answer_head(answer, done.data, out);
    buf_free(&done);
}

static void add_table(const struct run *run, const struct process_answer *answer,
                      const struct cpu_profile *profile, struct buf *out)
{
    bool is_stdout = text_equal(run->request->output, "-");
    const struct profile_text_style style = {is_stdout && terminal_colour(stdout), terminal_utf8(),
                                             terminal_table_columns(stdout)};
    add_head(run, answer, profile, out);
    profile_text_table(profile, &style, out);
}

static void add_export(const struct run *run, const struct cpu_profile *profile, struct buf *out)
{
    const char *name = run->request->query.select.name;
    char *printable = name ? text_printable(name, strlen(name), "") : NULL;
    char *title = mem_format("raydbg profile%s%s: %" PRIu64 " samples of %zu processes in %u s",
                             name ? " " : "", name ? printable : "", profile->samples,
                             profile->nodes[0].processes, run->request->query.stacks.seconds);
    if (run->request->format == PROFILE_SPEEDSCOPE)
        profile_export_speedscope(profile, title, out);
    else if (run->request->format == PROFILE_SVG)
        profile_export_svg(profile, title, out);
    else
        profile_export_folded(profile, out);
    free(title);
    free(printable);
}

/* Prints the notes of a table, and where the file can be opened. */
static void say_written(const struct run *run, const struct process_answer *answer,
                        const struct cpu_profile *profile)
{
    static const char *const viewers[] = {
        [PROFILE_SPEEDSCOPE] = "open it in https://www.speedscope.app",
        [PROFILE_SVG] = "open it in a browser",
        [PROFILE_FOLDED] = "each line is a stack and its samples",
    };
    struct buf note = {0};
    add_head(run, answer, profile, &note);
    process_list_text(&profile->processes, &note);
    if (!text_equal(run->request->output, "-"))
        buf_printf(&note, "%s: %s\n", run->request->output, viewers[run->request->format]);
    fputs(note.data, stderr);
    buf_free(&note);
}

static int write_profile(const struct run *run, const struct process_answer *answer,
                         const struct cpu_profile *profile)
{
    const struct profile_request *request = run->request;
    struct buf out = {0};
    FILE *file = output_file_open(request->output);
    if (!file)
        return ERR_FAILED;
    if (request->format == PROFILE_TABLE)
        add_table(run, answer, profile, &out);
    else if (request->format == PROFILE_JSON)
        profile_text_json(profile, request->query.stacks.seconds, &out);
    else
        add_export(run, profile, &out);
    fwrite(out.data, 1, out.len, file);
    buf_free(&out);
    int code = output_file_close(file, request->output);
    if (code == ERR_NONE && request->format >= PROFILE_SPEEDSCOPE)
        say_written(run, answer, profile);
    return code;
}

static int fail_empty(const struct process_answer *answer, const struct cpu_profile *profile)
{
    struct err err;
    if (!answer->count) {
        err_set(&err, ERR_NOT_FOUND, "no process runs anything");
        err_hint(&err, "--all profiles processes that run nothing, too");
        return command_fail(&err);
    }
    if (answer->count > 1) {
        struct buf reasons = {0};
        process_list_text(&profile->processes, &reasons);
        fputs(reasons.data, stderr);
        buf_free(&reasons);
    }
    process_list_problem(&profile->processes, "profile", &err);
    return command_fail(&err);
}

static int write_memory(const struct run *run, const struct process_answer *answer)
{
    const struct process_stack *item = answer->items;
    const char *output = run->request->output;
    if (item->warning) {
        char *words = text_printable(item->warning, strlen(item->warning), "\n");
        fprintf(stderr, "raydbg: memray may still be in the process: %s\n", words);
        free(words);
    }
    if (!item->text) {
        struct process_list list = {.records = answer->records};
        struct err err;
        process_list_fail(process_list_add(&list, item->worker), item->problem);
        process_list_problem(&list, "memory profile", &err);
        process_list_clear(&list);
        return command_fail(&err);
    }
    FILE *file = output_file_open(output);
    if (!file)
        return ERR_FAILED;
    fputs(item->text, file);
    int code = output_file_close(file, output);
    if (code == ERR_NONE && !text_equal(output, "-"))
        fprintf(stderr, "%s: open it in a browser\n", output);
    return code;
}

static int write_cpu(const struct run *run, const struct process_answer *answer)
{
    struct cpu_profile *profile = cpu_profile_create(answer->records, run->request->full);
    for (size_t i = 0; i < answer->count; i++)
        cpu_profile_add(profile, answer->items[i].worker, answer->items[i].text,
                        answer->items[i].problem);
    int code = profile->samples ? write_profile(run, answer, profile) : fail_empty(answer, profile);
    cpu_profile_destroy(&profile);
    return code;
}

static void on_step(void *arg, const char *note)
{
    struct run *run = arg;
    progress_stop(&run->progress);
    run->progress = progress_start(note);
}

static void on_end(void *arg, const struct err *err, const struct process_answer *answer)
{
    struct run *run = arg;
    progress_stop(&run->progress);
    run->done = true;
    run->code = err                                 ? command_fail(err)
                : run->request->query.stacks.memory ? write_memory(run, answer)
                                                    : write_cpu(run, answer);
}

static void on_signal(void *arg)
{
    struct run *run = arg;
    bool stays = run->request->query.stacks.memory && process_request_is_sent(run->reading);
    progress_stop(&run->progress);
    if (stays && !run->waits) {
        run->waits = true;
        fputs("waiting until memray has left the process; ^C again leaves it there\n", stderr);
        return;
    }
    run->code = EXIT_INTERRUPTED;
    run->done = true;
}

int profile_ask(const struct profile_request *request)
{
    static const struct process_request_calls calls = {on_step, on_end};
    const struct relay_wish no_relay = {0};
    struct relay_choice choice;
    struct run run = {.request = request};
    struct cluster *cluster = NULL;
    struct err err;
    if (!output_file_check(request->output))
        return ERR_FAILED;
    signals_block(); /* before a thread begins that would take them */
    if (relay_choose(&choice, &no_relay, request->address, true, &err) == 0)
        cluster = cluster_create(choice.loop, &choice.cluster, &err);
    if (cluster)
        run.reading = process_request_begin(cluster, &request->query, &calls, &run, &err);
    if (run.reading) {
        struct signals *signals = signals_start(choice.loop, on_signal, &run);
        loop_run_until(choice.loop, &run.done, -1);
        signals_stop(&signals);
    } else {
        run.code = command_fail(&err);
    }
    process_request_free(&run.reading);
    cluster_destroy(&cluster);
    relay_choice_clear(&choice);
    return run.code;
}
