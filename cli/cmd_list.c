#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/quantity.h"
#include "cli/common/relay_options.h"
#include "cli/common/signals.h"
#include "cli/common/terminal.h"
#include "cli/pauses/pause_source_wait.h"
#include "cli/pauses/pause_watch.h"
#include "cli/why/task_list.h"
#include "cli/why/why_ask.h"

#include "base/text.h"
#include "cli/pauses/pause_select.h"
#include "relay/cluster/cluster.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct list_words {
    const char *address, *format, *state, *sort, *since;
    bool failed, running;
    struct list_request request;
    struct relay_wish wish;
};

static const struct option_row option_rows[] = {
    {"address", 'a', OPTION_STRING, offsetof(struct list_words, address), .value = "ADDRESS",
     .help = "the cluster: HOST:PORT of the GCS, or http://HOST:8265 of the dashboard; else "
             "RAY_ADDRESS, else the cluster that runs on this machine"},
    {"all", 'A', OPTION_FLAG, offsetof(struct list_words, request.select.all),
     .help = "also workers whose debugger is open but that run nothing"},
    {"job", 0, OPTION_STRING, offsetof(struct list_words, request.select.job), .value = "J",
     .help = "only those of a job"},
    {"node", 0, OPTION_STRING, offsetof(struct list_words, request.select.node), .value = "N",
     .help = "only those on a node: its ip, host name or id"},
    {"actor", 0, OPTION_STRING, offsetof(struct list_words, request.select.actor), .value = "A",
     .help = "only those of an actor: its id, class or name"},
    {"state", 0, OPTION_STRING, offsetof(struct list_words, state), .value = "S",
     .words = "waiting attached held idle",
     .help = "only those in a state: waiting (a thread waits for a client), attached (a task runs "
             "with its debugger open: a client is attached, or was), held (a relay keeps it) or "
             "idle"},
    {"sort", 0, OPTION_STRING, offsetof(struct list_words, sort), .value = "K",
     .words = "node age name state job pid",
     .help = "the order: node (default), age, name, state, job, pid"},
    {"watch", 'w', OPTION_FLAG, offsetof(struct list_words, request.watch),
     .help = "go on: redraws on a terminal, else a JSON line for each change; with --format json "
             "lines say, too, when the cluster is away and live again"},
    {"format", 'f', OPTION_STRING, offsetof(struct list_words, format), .value = "F",
     .words = "table json yaml", .help = "table (default), json, yaml"},
    {.help = "Instead of the paused tasks, with --address, --job, --node and --format only:"},
    {"failed", 0, OPTION_FLAG, offsetof(struct list_words, failed),
     .help = "the tasks that failed within --since, and why"},
    {"running", 0, OPTION_FLAG, offsetof(struct list_words, running),
     .help = "the tasks that run, and what they wait for"},
    {"since", 0, OPTION_STRING, offsetof(struct list_words, since), .value = "TIME",
     .samples = "10m 1h 1d", .help = "with --failed: a time such as 10m; 1h by default"},
    {.help = "A relay also knows where a task stopped that it holds, why, and who is attached:"},
    RELAY_OPTION_ROWS(struct list_words, wish),
};

const struct command_text cmd_list_text = {
    .name = "list",
    .summary = "show every paused task of the cluster",
    .synopsis =
        "list [--address A] [--relay R] [--all] [--job J] [--node N] [--actor A] [--state S]\n"
        "             [--sort K] [--watch] [--format F] [--failed [--since TIME] | --running]",
    .intro = "Shows every worker of the cluster that waits in a debugger, and what it was running.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "AGE counts from the start of the task (debugpy), or from its breakpoint (pdb). JSON "
             "is an array of objects; what is not known is null.",
    .examples = "  raydbg list --actor Trainer --format json | jq -r '.[].task_id'",
    .exits = "0 done (nothing paused is done too), 2 wrong usage, 4 not allowed (token), 5 cluster "
             "or relay unreachable",
};

static const struct {
    const char *name;
    enum list_format format;
} formats[] = {{"table", LIST_TABLE}, {"json", LIST_JSON}, {"yaml", LIST_YAML}};

static enum list_format format_of(const char *name)
{
    size_t i = 0;
    while (!text_equal(name, formats[i].name))
        i++;
    return formats[i].format;
}

static int show_once(struct loop *loop, struct pause_source *origin,
                     const struct list_request *request)
{
    struct err err;
    if (pause_source_wait(loop, origin, NULL, NULL, &err) != 0)
        return command_fail(&err);
    list_print(origin, request);
    return ERR_NONE;
}

static int run_chosen(struct relay_choice *choice, const struct relay_wish *wish, const char *given,
                      const struct list_request *request)
{
    struct err err;
    if (request->watch)
        return pause_watch(choice, wish, given, request);
    struct pause_source *origin = pause_source_of_choice(choice, &err);
    if (!origin)
        return command_fail(&err);
    int code = show_once(choice->loop, origin, request);
    pause_source_destroy(&origin);
    return code;
}

static int run(const char *given, const struct relay_wish *wish, const struct list_request *request)
{
    if (request->watch)
        signals_block(); /* ^C ends the watch cleanly from the start */
    struct relay_choice choice;
    struct err err;
    int code = relay_choose(&choice, wish, given, true, &err) == 0
                   ? run_chosen(&choice, wish, given, request)
                   : command_fail(&err);
    relay_choice_clear(&choice);
    return code;
}

/* --- tasks that failed, or run --- */

struct task_list {
    struct task_list_select select;
    bool json;
    struct err err; /* code 0: the tasks are shown */
};

/* Prints to stderr what an array of rows has no place for. */
static void warn_of_gaps(const struct why_records *records)
{
    const struct why_style style = {.utf8 = terminal_utf8()};
    struct buf gaps = {0};
    why_output_gaps(records, &style, &gaps);
    if (gaps.len)
        fwrite(gaps.data, 1, gaps.len, stderr);
    buf_free(&gaps);
}

static void show_tasks(void *arg, const char *cluster, const struct why_records *records,
                       const struct why_subject *subject, struct buf *out)
{
    struct task_list *list = arg;
    const struct why_style style = {terminal_colour(stdout), terminal_utf8(),
                                    terminal_table_columns(stdout)};
    (void)subject;
    if (records->problems[WHY_ATTEMPTS].code) {
        list->err = records->problems[WHY_ATTEMPTS];
    } else if (list->json) {
        task_list_json(records, &list->select, out);
        warn_of_gaps(records);
    } else {
        task_list_table(records, &list->select, cluster, &style, out);
    }
}

static bool names_relay(const struct relay_wish *wish)
{
    return !wish->wanted || wish->address || wish->token_file || wish->ca || wish->fingerprint ||
           wish->cert || wish->key;
}

static int list_tasks(const struct list_words *words)
{
    const struct list_request *request = &words->request;
    struct task_list list = {
        .select = {words->failed, request->select.job, request->select.node},
        .json = text_equal(words->format, "json"),
    };
    const char *since = words->since ? words->since : "1h";
    struct evidence_query query = {.tables_only = words->running};
    if (words->failed && words->running)
        return command_usage(&cmd_list_text, "--failed and --running exclude each other");
    if (request->watch || request->select.all || request->select.actor || words->state ||
        words->sort || request->format == LIST_YAML || names_relay(&words->wish))
        return command_usage(
            &cmd_list_text, "--failed and --running take --job, --node and --format table or json");
    if (!quantity_duration(since, &query.within_ms))
        return command_usage(&cmd_list_text, "--since is a time such as 10m, not '%s'", since);
    int code = why_ask(words->address, &query, NULL, show_tasks, &list);
    return list.err.code ? command_fail(&list.err) : code;
}

int cmd_list(int argc, char **argv)
{
    struct list_words words = {.format = "table", .wish = {.wanted = true}};
    bool done;
    int operands;
    if (!options_parse(&cmd_list_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage(&cmd_list_text, "'%s' is no option: list takes no names", argv[1]);
    words.request.format = format_of(words.format);
    if (words.since && !words.failed)
        return command_usage(&cmd_list_text, "--since goes with --failed");
    if (words.failed || words.running)
        return list_tasks(&words);
    pause_select_sort(&words.request.select, words.sort ? words.sort : "node");
    if (words.state)
        pause_select_state(&words.request.select, words.state);
    return run(words.address, &words.wish, &words.request);
}
