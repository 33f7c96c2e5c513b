#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/quantity.h"
#include "cli/common/relay_options.h"
#include "cli/common/terminal.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "relay/cluster/cluster.h"
#include "relay/evidence/evidence.h"
#include "relay/evidence/log_reader.h"
#include "relay/evidence/log_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct logs_words {
    const char *address, *tail, *grep, *since, *within, *attempt;
    bool follow, out, err, around;
};

static const struct option_row option_rows[] = {
    GCS_OPTION_ROW(struct logs_words, address),
    {"follow", 'F', OPTION_FLAG, offsetof(struct logs_words, follow),
     .help = "go on as the files grow, and over restarts and retries, until ^C"},
    {"tail", 'n', OPTION_STRING, offsetof(struct logs_words, tail), .value = "N",
     .help = "only the last N lines of each file"},
    {"since", 's', OPTION_STRING, offsetof(struct logs_words, since), .value = "TIME",
     .samples = "10m 1h 07:36",
     .help = "leave out what was written before: 10m ago, or at 07:36 or '2026-11-22 07:36:06'. A "
             "line without a time is as old as the line before it"},
    {"attempt", 0, OPTION_STRING, offsetof(struct logs_words, attempt), .value = "N",
     .help = "of a task that was retried: the Nth attempt, instead of the last"},
    {"around", 0, OPTION_FLAG, offsetof(struct logs_words, around),
     .help = "the last words of everybody on its node around its end: processes, raylet, GCS"},
    {"within", 0, OPTION_STRING, offsetof(struct logs_words, within), .value = "TIME",
     .samples = "5s 1m", .help = "with --around: so long before and behind; 5s by default"},
    {"grep", 'g', OPTION_STRING, offsetof(struct logs_words, grep), .value = "RE",
     .help = "only lines that match an extended regular expression"},
    {"out", 0, OPTION_FLAG, offsetof(struct logs_words, out), .help = "only the standard output"},
    {"err", 0, OPTION_FLAG, offsetof(struct logs_words, err), .help = "only the standard error"},
};

const struct command_text cmd_logs_text = {
    .name = "logs",
    .summary = "show what a task, actor, process or node has written",
    .synopsis = "logs NAME... [--address A] [--follow] [--tail N] [--since TIME] [--attempt N]\n"
                "             [--grep RE] [--out | --err] [--around [--within TIME]]",
    .intro = "Shows the output of a task, an actor, a process (PID@NODE), a submitted job, the "
             "raylet of a node "
             "(raylet@NODE) or the GCS (gcs), from the node where it ran. NAME is its name, or its "
             "id's beginning.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "Of several files each line has a prefix. One file, such as that of --out, comes with "
             "the bytes that "
             "it has; on a terminal control characters are shown as '?'. The logs of a dead node "
             "cannot be read. Times in logs are the local time of their node, and are taken to be "
             "this machine's: set TZ if they are not.",
    .examples = "  raydbg logs train_step --tail 20\n"
                "  raydbg logs Trainer --follow\n"
                "  raydbg logs train_step --around --within 10s\n"
                "  raydbg logs train_step --err > train_step.err\n"
                "  raydbg logs raylet@10.0.0.7 gcs --grep ' [EW] '",
    .exits = "0 done, 1 a log cannot be read, 2 wrong usage, 3 nothing has this name or it has no "
             "log, 4 not "
             "allowed (token), 5 cluster or node unreachable",
    .operand = WORD_TASK,
};

/* One run. With --follow the cluster is asked again for later attempts and processes. */
struct query {
    struct loop *loop;
    struct cluster *cluster;
    char **names;
    char **ids; /* by name: of the subject that it meant first; NULL of Ray's own logs */
    size_t count;
    struct log_choice *choices;
    struct log_reader_options options;
    int64_t attempt;   /* of a task: 1 is the first; 0: the last */
    int64_t within_ms; /* of --around; 0: without */
    struct node_logs *logs;
    struct log_reader *reader;
    struct evidence *evidence;
    struct timer *again;
    struct err err;
    bool asked, done;
};

enum { ASK_AGAIN_MS = 2000 };

static const char *id_of(const struct why_subject *subject)
{
    switch (subject->kind) {
    case WHY_TASK:
        return subject->attempt->task_id;
    case WHY_ACTOR:
        return subject->actor->actor_id;
    default:
        return NULL;
    }
}

/* Makes the attempt that was asked for the subject. */
static int choose_attempt(const struct why_records *records, int64_t number,
                          struct why_subject *subject, struct err *err)
{
    const struct ray_attempt *it = subject->attempt;
    if (!number)
        return 0;
    if (!it)
        return err_set(err, ERR_NOT_FOUND, "only a task has attempts");
    while (it > records->attempts && it->attempt != number - 1 &&
           text_equal(it[-1].task_id, it->task_id))
        it--;
    if (it->attempt != number - 1)
        return err_set(err, ERR_NOT_FOUND, "%s has %d attempts, as far as Ray knows", it->name,
                       subject->attempt->attempt + 1);
    subject->attempt = it;
    return 0;
}

/* To follow a task or an actor that runs in no process now is to wait for one. */
static int choose_log(struct query *query, const struct why_records *records,
                      const struct why_subject *subject, size_t index)
{
    struct log_choice *choice = &query->choices[index];
    if (log_choice_make(records, query->names[index], subject, choice, &query->err) == 0)
        return 0;
    if (!query->options.follow || !query->ids[index])
        return -1;
    query->err = (struct err){0};
    choice->note =
        mem_format("%s runs in no process now: its log follows when it does", query->names[index]);
    return 0;
}

static int choose_one(struct query *query, const struct why_records *records, size_t index)
{
    struct why_subject subject = {0};
    const char *name = query->names[index], *id = query->ids[index];
    int64_t at_ms;
    if (!log_choice_is_ray(name) &&
        why_subject_find(records, id ? id : name, &subject, &query->err) != 0)
        return -1;
    if (!id && !log_choice_is_ray(name) && id_of(&subject))
        query->ids[index] = mem_string(id_of(&subject));
    if (choose_attempt(records, query->attempt, &subject, &query->err) != 0)
        return -1;
    if (!query->within_ms)
        return choose_log(query, records, &subject, index);
    if (log_choice_is_ray(name))
        return err_set(&query->err, ERR_USAGE, "--around is of something that ends, not of %s",
                       name);
    if (log_choice_around(records, &subject, query->within_ms, &query->choices[index], &at_ms,
                          &query->err) != 0)
        return -1;
    query->options.from_ms = at_ms - query->within_ms;
    query->options.to_ms = at_ms + query->within_ms;
    return 0;
}

static void choose(struct query *query, const struct why_records *records)
{
    for (size_t i = 0; i < query->count && !query->err.code; i++) {
        log_choice_clear(&query->choices[i]);
        choose_one(query, records, i);
    }
}

static void on_evidence(void *arg, const struct err *err, const struct why_records *records,
                        const struct why_subject *subject)
{
    struct query *query = arg;
    (void)subject;
    query->asked = true;
    query->err = (struct err){0};
    if (err)
        query->err = *err;
    else
        choose(query, records);
    if (!query->reader)
        return;
    if (!query->err.code)
        log_reader_add(query->reader, query->choices, query->count);
    query->err = (struct err){0}; /* of a later look: the next one may do better */
}

/* The headings are for the reader, not for a program that reads stdout. */
static void show_headings(const struct query *query)
{
    for (size_t i = 0; i < query->count; i++) {
        const char *texts[] = {query->choices[i].heading, query->choices[i].note};
        for (size_t k = 0; k < 2; k++) {
            if (!texts[k])
                continue;
            char *printable = text_printable(texts[k], strlen(texts[k]), "");
            fprintf(stderr, "%s\n", printable);
            free(printable);
        }
    }
}

/* Ends when nobody reads on, `| head`, or when nothing can be written: main says so then. */
static void on_text(void *arg, const char *bytes, size_t len)
{
    struct query *query = arg;
    if (fwrite(bytes, 1, len, stdout) != len || fflush(stdout) != 0)
        query->done = true;
}

static void on_end(void *arg, const struct err *err)
{
    struct query *query = arg;
    query->done = true;
    query->err = err ? *err : (struct err){0};
}

static void ask(struct query *query)
{
    const struct evidence_query wanted = {.tables_only = true};
    query->asked = false;
    query->evidence = evidence_ask(query->cluster, &wanted, on_evidence, query, &query->err);
}

/* Later attempts and processes. A look whose choices are still being listed is not disturbed. */
static void look_again(void *arg)
{
    struct query *query = arg;
    query->again = timer_start(query->loop, ASK_AGAIN_MS, look_again, query);
    if (!query->asked || !log_reader_has_listed(query->reader))
        return;
    evidence_free(&query->evidence);
    ask(query);
}

static int read_logs(struct query *query)
{
    static const struct log_reader_calls calls = {on_text, on_end};
    show_headings(query);
    query->logs = node_logs_create(query->cluster);
    query->reader = log_reader_create(query->loop, query->logs, &query->options, &calls, query);
    log_reader_add(query->reader, query->choices, query->count);
    if (query->options.follow)
        query->again = timer_start(query->loop, ASK_AGAIN_MS, look_again, query);
    loop_run_until(query->loop, &query->done, -1);
    timer_cancel(&query->again);
    log_reader_destroy(&query->reader);
    node_logs_destroy(&query->logs);
    return query->err.code ? command_fail(&query->err) : ERR_NONE;
}

static int look_up(struct query *query)
{
    ask(query);
    if (query->evidence) {
        struct progress *progress = progress_start("asking the cluster for its processes ...");
        loop_run_until(query->loop, &query->asked, -1);
        progress_stop(&progress);
    }
    int code = query->err.code ? command_fail(&query->err) : read_logs(query);
    evidence_free(&query->evidence);
    return code;
}

static int run(const struct logs_words *words, struct query *query)
{
    const struct relay_wish no_relay = {0};
    struct relay_choice choice;
    struct err err;
    int code;
    if (relay_choose(&choice, &no_relay, words->address, true, &err) != 0) {
        code = command_fail(&err);
    } else {
        query->loop = choice.loop;
        query->cluster = cluster_create(choice.loop, &choice.cluster, &err);
        query->choices = mem_array(query->count, sizeof *query->choices);
        query->ids = mem_array(query->count, sizeof *query->ids);
        code = query->cluster ? look_up(query) : command_fail(&err);
        for (size_t i = 0; i < query->count; i++) {
            log_choice_clear(&query->choices[i]);
            free(query->ids[i]);
        }
        free(query->choices);
        free(query->ids);
        cluster_destroy(&query->cluster);
    }
    relay_choice_clear(&choice);
    return code;
}

/* "10m" ago, or a time of day. */
static bool read_since(const char *text, int64_t *ms)
{
    int64_t ago, now = wall_clock_ms();
    if (quantity_duration(text, &ago))
        *ms = now - ago;
    else
        *ms = log_time_parse(text, now);
    return *ms > 0;
}

static int read_grep(const char *pattern, struct log_reader_options *options, regex_t *grep)
{
    char why[200];
    int failed = regcomp(grep, pattern, REG_EXTENDED | REG_NOSUB);
    if (failed) {
        regerror(failed, grep, why, sizeof why);
        return command_usage(&cmd_logs_text, "--grep: %s in '%s'", why, pattern);
    }
    options->grep = grep;
    return ERR_NONE;
}

static int read_around(const struct logs_words *words, int operands, int64_t *within_ms)
{
    if (!words->around)
        return words->within ? command_usage(&cmd_logs_text, "--within belongs to --around")
                             : ERR_NONE;
    if (words->follow || words->tail || words->since || operands != 1)
        return command_usage(&cmd_logs_text,
                             "--around takes one name, and neither --follow, --tail nor --since");
    if (!quantity_duration(words->within ? words->within : "5s", within_ms) || !*within_ms)
        return command_usage(&cmd_logs_text, "--within is a time such as 5s, not '%s'",
                             words->within);
    return ERR_NONE;
}

static int read_words(const struct logs_words *words, int operands, struct query *query,
                      regex_t *grep)
{
    struct log_reader_options *options = &query->options;
    int64_t tail = -1;
    if (words->tail && !text_to_int(words->tail, 1, 1000000, &tail))
        return command_usage(&cmd_logs_text, "--tail is a number of lines, not '%s'", words->tail);
    if (words->attempt && !text_to_int(words->attempt, 1, 1000000, &query->attempt))
        return command_usage(&cmd_logs_text, "--attempt is a number from 1 on, not '%s'",
                             words->attempt);
    if (words->out && words->err)
        return command_usage(&cmd_logs_text, "--out and --err exclude each other: leave both away");
    if (words->since && !read_since(words->since, &options->since_ms))
        return command_usage(&cmd_logs_text,
                             "--since is a time such as 10m, 07:36 or '2026-11-22 07:36:06', not "
                             "'%s'",
                             words->since);
    options->tail = (int32_t)tail;
    options->follow = words->follow;
    options->stream = words->out ? "out" : words->err ? "err" : NULL;
    options->names = operands > 1 || words->around;
    options->terminal = isatty(STDOUT_FILENO);
    options->colour = terminal_colour(stdout);
    int code = read_around(words, operands, &query->within_ms);
    return code != ERR_NONE || !words->grep ? code : read_grep(words->grep, options, grep);
}

int cmd_logs(int argc, char **argv)
{
    struct logs_words words = {0};
    struct query query = {0};
    regex_t grep;
    bool done;
    int operands;
    if (!options_parse(&cmd_logs_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (!operands)
        return command_usage(&cmd_logs_text,
                             "whose logs? `raydbg why` lists what failed and what waits");
    int code = read_words(&words, operands, &query, &grep);
    if (code == ERR_NONE) {
        query.names = argv + 1;
        query.count = (size_t)operands;
        code = run(&words, &query);
    }
    if (query.options.grep)
        regfree(&grep);
    return code;
}
