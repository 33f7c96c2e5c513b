/* `why`, `logs` and `stack`: the cause of a wait or a failure, what a task has written, and where
 * live tasks are, by way of the relay or from the cluster itself. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/relay_ask.h"
#include "cli/common/terminal.h"
#include "cli/why/why_output.h"
#include "relay/evidence/evidence.h"
#include "relay/evidence/log_reader.h"
#include "relay/evidence/stack_request.h"
#include "relay/why/why_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAIL = 50, ANSWER_MS = 30000, READ_BYTES = 8 << 20 /* of each file */ };

/* A look at the cluster for a verb. */
struct query {
    struct console *console;
    const char *name;
    struct buf *out;
    struct err err;
    bool asked, done;
    struct log_choice choice;
    struct why_report report;
    bool of_logs;
};

/* The name that was given, or that of the console's own task; NULL if there is none. */
static char *name_of(const struct console *console, const char *argument)
{
    const struct pause *pause = console->options->pause;
    if (*argument)
        return mem_string(argument);
    if (!pause || console->options->many)
        return NULL;
    if (*pause->task_id)
        return mem_string(pause->task_id);
    return pause->node_ip ? mem_format("%lld@%s", (long long)pause->pid, pause->node_ip) : NULL;
}

/* --- by way of the relay --- */

static int ask_relay(struct console *console, const char *prefix, const char *name,
                     struct buf *body, struct err *err)
{
    struct buf path = {0};
    buf_add_string(&path, prefix);
    relay_ask_add_name(&path, name);
    int result =
        relay_ask(console->loop, console->options->relay, "GET", path.data, NULL, body, err);
    buf_free(&path);
    return result;
}

/* --- from the cluster --- */

static void on_evidence(void *arg, const struct err *err, const struct why_records *records,
                        const struct why_subject *subject)
{
    struct query *query = arg;
    query->asked = true;
    if (err)
        query->err = *err;
    else if (query->of_logs)
        log_choice_make(records, query->name, subject, &query->choice, &query->err);
    else
        why_judge(records, subject, &query->report);
}

static void on_log_text(void *arg, const char *bytes, size_t len)
{
    const struct query *query = arg;
    buf_add(query->out, bytes, len);
}

static void on_log_end(void *arg, const struct err *err)
{
    struct query *query = arg;
    query->done = true;
    if (err)
        query->err = *err;
}

static void read_logs(struct query *query, struct cluster *cluster)
{
    static const struct log_reader_calls calls = {on_log_text, on_log_end};
    const struct log_reader_options options = {.tail = TAIL, .most_bytes = READ_BYTES};
    struct node_logs *logs = node_logs_create(cluster);
    struct log_reader *reader =
        log_reader_create(query->console->loop, logs, &options, &calls, query);
    log_reader_add(reader, &query->choice, 1);
    if (!loop_run_until(query->console->loop, &query->done, ANSWER_MS))
        err_set(&query->err, ERR_UNREACHABLE, "the node does not give its logs");
    log_reader_destroy(&reader);
    node_logs_destroy(&logs);
    log_choice_clear(&query->choice);
}

/* Sets `out` to the task at which this console has stopped: the cluster does not know that it is.
 * The number of such tasks, 0 or 1. The strings are borrowed. */
static size_t own_pause(const struct console *console, struct pause *out)
{
    static char driver[] = "this console", reason[] = "stopped";
    const struct pause *pause = console->options->pause;
    if (!pause || !console->thread || console->options->many)
        return 0;
    *out = *pause;
    out->state = PAUSE_HELD;
    out->driver = driver;
    out->reason = reason;
    return 1;
}

static int ask_cluster(struct query *query, struct err *err)
{
    struct cluster *cluster = query->console->options->session.cluster;
    bool of_ray = query->of_logs && log_choice_is_ray(query->name);
    struct pause own;
    struct pause_list stopped = {&own, own_pause(query->console, &own)};
    const struct evidence_query wanted = {.name = of_ray ? NULL : query->name,
                                          .tables_only = query->of_logs,
                                          .pauses = &stopped,
                                          .looks_twice = true};
    if (!cluster)
        return err_set(err, ERR_USAGE, "this console has no cluster to ask");
    struct evidence *evidence = evidence_ask(cluster, &wanted, on_evidence, query, &query->err);
    if (evidence && !loop_run_until(query->console->loop, &query->asked, ANSWER_MS))
        err_set(&query->err, ERR_UNREACHABLE, "the cluster does not answer");
    if (!query->err.code && query->of_logs)
        read_logs(query, cluster);
    evidence_free(&evidence);
    *err = query->err;
    return err->code ? -1 : 0;
}

/* --- the verbs --- */

static int learn_report(struct console *console, const char *name, struct why_report *report,
                        struct err *err)
{
    struct query query = {.console = console, .name = name};
    struct buf body = {0};
    int result;
    if (!console->options->relay) {
        result = ask_cluster(&query, err);
        *report = query.report;
        return result;
    }
    result = ask_relay(console, "/v1/why/", name, &body, err);
    buf_add(&body, "", 1);
    if (result == 0 && !why_json_read(body.data, report))
        result = err_set(err, ERR_FAILED, "the relay's answer could not be read");
    buf_free(&body);
    return result;
}

int console_verb_why(struct console *console, char *argument)
{
    const struct why_style style = {terminal_colour(stdout), terminal_utf8(),
                                    terminal_columns(stdout)};
    struct why_report report = {0};
    struct buf out = {0};
    struct err err;
    char *name = name_of(console, argument);
    if (!name)
        return console_error(console, "why: of what? give a name, such as why train_step");
    int result = learn_report(console, name, &report, &err);
    free(name);
    if (result == 0)
        why_output_report(&report, &style, &out);
    why_report_clear(&report);
    if (result != 0)
        return console_fail(console, &err);
    console_write(console, &out);
    return 0;
}

/* The last lines, made fit for a terminal. */
static void print_tail(struct console *console, const struct buf *text)
{
    const struct log_lines_options options = {.terminal = true};
    struct log_lines lines = {.options = options};
    struct buf out = {0};
    size_t from = text->len, count = 0;
    while (from > 0 && (text->data[from - 1] != '\n' || from == text->len || ++count < TAIL))
        from--;
    if (text->len)
        log_lines_add(&lines, text->data + from, text->len - from, &out);
    log_lines_end(&lines, &out);
    if (out.len && out.data[out.len - 1] != '\n')
        buf_add_string(&out, "\n");
    if (!out.len)
        console_note(console, "it has written nothing");
    console_write(console, &out);
}

int console_verb_logs(struct console *console, char *argument)
{
    struct buf text = {0};
    struct err err;
    char *name = name_of(console, argument);
    if (!name)
        return console_error(console, "logs: of what? give a name, such as logs train_step");
    struct query query = {.console = console, .name = name, .out = &text, .of_logs = true};
    int result = console->options->relay ? ask_relay(console, "/v1/logs/", name, &text, &err)
                                         : ask_cluster(&query, &err);
    if (result == 0)
        print_tail(console, &text);
    buf_free(&text);
    free(name);
    return result == 0 ? 0 : console_fail(console, &err);
}

/* --- stack --- */

static void on_stacks(void *arg, const struct err *err, const struct stack_answer *answer)
{
    struct query *query = arg;
    query->done = true;
    if (err)
        query->err = *err;
    else
        stack_answer_text(answer, query->out);
}

static int look_at_stacks(struct query *query, struct err *err)
{
    static const struct stack_request_calls calls = {.on_end = on_stacks};
    struct cluster *cluster = query->console->options->session.cluster;
    const struct stack_query wanted = {.select = {.name = query->name}};
    if (!cluster)
        return err_set(err, ERR_USAGE, "this console has no cluster to ask");
    struct stack_request *asked = stack_request_begin(cluster, &wanted, &calls, query, err);
    if (!asked)
        return -1;
    if (!loop_run_until(query->console->loop, &query->done, ANSWER_MS))
        err_set(&query->err, ERR_UNREACHABLE, "the nodes do not give the stacks");
    stack_request_free(&asked);
    *err = query->err;
    return err->code ? -1 : 0;
}

int console_verb_stack(struct console *console, char *argument)
{
    struct buf text = {0};
    struct err err;
    struct query query = {.console = console, .name = *argument ? argument : NULL, .out = &text};
    int result = !console->options->relay ? look_at_stacks(&query, &err)
                 : *argument ? ask_relay(console, "/v1/stack.txt/", argument, &text, &err)
                             : ask_relay(console, "/v1/stack.txt", "", &text, &err);
    if (result == 0)
        console_write(console, &text);
    buf_free(&text);
    return result == 0 ? 0 : console_fail(console, &err);
}
