#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/relay_options.h"
#include "cli/console/console.h"
#include "cli/pauses/attach_pick.h"
#include "cli/relay/relay_own.h"
#include "dap/message.h"
#include "relay/cluster/cluster_address.h"
#include "relay/debuggee/closer.h"
#include "relay/pause/pause_reach.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parsed command line. All texts are argv's. */
struct request {
    const char *task; /* not for many; NULL: the only one */
    const char *address;
    const char *connect;
    const char *prompt;
    const char *job, *actor, *node, *format;
    bool all, wait;
    bool is_many;
    struct pause_filter many;
    struct relay_wish wish;
    bool tune, kill, one_stop, strict, quiet, echo, observe, take_over, let_go;
    struct option_list commands, map_texts;
    struct buf maps; /* "pathMappings": a JSON array */
};

static const struct option_row option_rows[] = {
    {"all", 0, OPTION_FLAG, offsetof(struct request, all), .help = "all paused tasks"},
    {"job", 0, OPTION_STRING, offsetof(struct request, job), .value = "J",
     .help = "only those of a job"},
    {"actor", 0, OPTION_STRING, offsetof(struct request, actor), .value = "A",
     .help = "only those of an actor or a class"},
    {"node", 0, OPTION_STRING, offsetof(struct request, node), .value = "N",
     .help = "only those on a node"},
    {"wait", 'w', OPTION_FLAG, offsetof(struct request, wait),
     .help = "wait until one pauses that is meant"},
    {"command", 'e', OPTION_LIST, offsetof(struct request, commands), .value = "COMMAND",
     .help = "run this instead of what is typed; may be repeated"},
    {"echo", 0, OPTION_FLAG, offsetof(struct request, echo),
     .help = "print each command before it runs, as if it was typed"},
    {"one-stop", 0, OPTION_FLAG, offsetof(struct request, one_stop),
     .help = "continue leaves the console: the task stops again where it reaches a breakpoint"},
    {"strict", 0, OPTION_FLAG, offsetof(struct request, strict),
     .help = "the first command that fails ends it, with exit code 1"},
    {"map", 0, OPTION_LIST, offsetof(struct request, map_texts), .value = "REMOTE=LOCAL",
     .help = "where the worker's files are on this machine; may be repeated"},
    {"kill", 0, OPTION_FLAG, offsetof(struct request, kill),
     .help = "end the worker when the console is left"},
    {"quiet", 'q', OPTION_FLAG, offsetof(struct request, quiet),
     .help = "no header, none of what the task prints"},
    {"format", 0, OPTION_STRING, offsetof(struct request, format), .value = "F",
     .words = "text json", .help = "text (default); json: tables (threads, compare, ...) as JSON"},
    {"address", 0, OPTION_STRING, offsetof(struct request, address), .value = "ADDRESS",
     .help = "the cluster: HOST:PORT of its GCS, or http://HOST:8265"},
    {"connect", 0, OPTION_STRING, offsetof(struct request, connect), .value = "HOST:PORT",
     .help = "a debugpy adapter itself: nothing is asked of the cluster"},
    {"no-tune", 0, OPTION_FLAG, offsetof(struct request, tune),
     .help = "leave the worker's sockets and timers alone: slower steps"},
    {.help = "Looking never lets go: after -e, at the end of stdin, when the terminal is closed or "
             "this process dies, the task is still stopped where it was. A relay sees to that: one "
             "that runs, or one that is started here, and ends by itself when it holds nothing. "
             "quit and ^D let the task go on, unless the relay was started by hand; detach does "
             "not. With --no-relay it goes on whenever the console is left; RAYDBG_START_RELAY=0 "
             "uses a relay, but starts none."},
    {"observe", 0, OPTION_FLAG, offsetof(struct request, observe),
     .help = "look only: another client drives"},
    {"take-over", 0, OPTION_FLAG, offsetof(struct request, take_over),
     .help = "drive, although another client does"},
    {"let-go", 0, OPTION_FLAG, offsetof(struct request, let_go),
     .help = "let the task go on however the console is left"},
    RELAY_OPTION_ROWS(struct request, wish),
};

const struct command_text cmd_attach_text = {
    .name = "attach",
    .summary = "debug a paused task in this terminal",
    .synopsis = "attach [TASK... | --all] [-e COMMAND]... [OPTION]...",
    .intro = "TASK is a task id or its beginning, a task name, an actor id, class or name, or "
             "PID@NODE; raydbg list shows them. Without TASK: the one task that is paused. "
             "Several, or a pattern such as 'Trainer.*', are debugged at one prompt, and those "
             "that pause later with them.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "On a terminal it is a console with pdb's commands; help lists them, ^C pauses the "
             "task. Without a terminal it runs the lines of stdin and prints plain text.",
    .examples = "  raydbg attach square\n"
                "  raydbg attach 'Trainer.*' -e 'compare loss' -e 'all continue'\n"
                "  printf 'break train.py:41, loss > 9\\nc\\np loss\\n' | raydbg attach "
                "Trainer.step",
    .exits = "0 done, 1 the worker died or --strict, 2 usage, 3 no such task or several, 4 not "
             "allowed, 5 not reachable, 6 --one-stop, and not left by continue",
    .operand = WORD_TASK,
};

static void free_request(struct request *request)
{
    buf_free(&request->maps);
    free(request->map_texts.items);
    free(request->commands.items);
    pause_filter_clear(&request->many);
}

/* --- options --- */

static void add_root(struct buf *out, const char *text, size_t len)
{
    while (len > 1 && text[len - 1] == '/')
        len--;
    char *root = mem_string_n(text, len);
    message_quote(out, root);
    free(root);
}

static int add_map(struct request *request, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return command_usage(&cmd_attach_text, "--map takes REMOTE=LOCAL, not '%s'", text);
    struct buf *maps = &request->maps;
    if (maps->len)
        maps->len--; /* the array goes on */
    buf_printf(maps, "%s{\"remoteRoot\":", maps->len ? "," : "[");
    add_root(maps, text, (size_t)(equals - text));
    buf_add_string(maps, ",\"localRoot\":");
    add_root(maps, equals + 1, strlen(equals + 1));
    buf_add_string(maps, "}]");
    return 0;
}

/* No TASK, or one TASK that is not a pattern, means one task; anything else means all that
 * match. */
static int read_tasks(struct request *request, char **tasks, int count)
{
    struct pause_filter *many = &request->many;
    bool filtered = request->job || request->actor || request->node;
    if (request->all && count)
        return command_usage(&cmd_attach_text, "--all is all tasks: '%s' is one too many",
                             tasks[0]);
    request->is_many =
        request->all || filtered || count > 1 || (count == 1 && pause_filter_is_glob(tasks[0]));
    if (request->wait && request->connect)
        return command_usage(&cmd_attach_text,
                             "--connect goes to one adapter: there is no --wait for it");
    if (request->is_many && request->connect)
        return command_usage(&cmd_attach_text,
                             "--connect goes to one adapter: no other task is known");
    if (!request->is_many) {
        request->task = count ? tasks[0] : NULL;
        return 0;
    }
    for (int i = 0; i < count; i++)
        pause_filter_add(many, tasks[i]);
    many->job = mem_string(request->job);
    many->actor = mem_string(request->actor);
    many->node = mem_string(request->node);
    return 0;
}

/* Returns 0, or -1 with the exit code in *code, which may be 0 after --help. */
static int read_options(struct request *request, int argc, char **argv, int *code)
{
    int operands = 0;
    bool done = false;
    request->tune = request->wish.wanted = true;
    *code = ERR_USAGE;
    if (!options_parse(&cmd_attach_text, request, argc, argv, &operands, &done))
        return -1;
    if (done) {
        *code = ERR_NONE;
        return -1;
    }
    for (size_t i = 0; i < request->map_texts.count; i++)
        if (add_map(request, request->map_texts.items[i]) != 0)
            return -1;
    if (read_tasks(request, argv + 1, operands) != 0)
        return -1;
    if (request->connect && request->wish.address) {
        command_usage(&cmd_attach_text,
                      "--connect goes to an adapter itself: --relay is no use then");
        return -1;
    }
    return 0;
}

/* --- run --- */

static int pick(struct request *request, struct loop *loop, struct pause_source *origin,
                struct pause *pause)
{
    const struct attach_pick pick = {
        .task = request->task,
        .many = request->is_many ? &request->many : NULL,
        .may_ask = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !request->commands.count,
        .wait = request->wait,
    };
    return attach_pick(loop, origin, &pick, pause);
}

/* pick() for a connection from this machine: a relay elsewhere judges its own reach. */
static int pick_reachable(struct request *request, struct loop *loop, struct pause_source *origin,
                          struct pause *pause)
{
    struct err err;
    int code = pick(request, loop, origin, pause);
    if (code != ERR_NONE || request->is_many || pause_reach_check(pause, &err) == 0 ||
        pause_reach_is_early(pause))
        return code;
    return command_fail(&err);
}

/* The task for the relay to attach to: the user's words if they name exactly one pause, else the id
 * or PID@NODE of the chosen one. The caller frees. */
static char *task_of(const struct request *request, const struct pause_source *origin,
                     const struct pause *pause)
{
    size_t *matches = NULL, count = 0;
    if (request->task)
        pause_find(pause_source_pauses(origin), request->task, &matches, &count);
    free(matches);
    if (count == 1)
        return mem_string(request->task);
    return *pause->task_id ? mem_string(pause->task_id)
                           : mem_format("%lld@%s", (long long)pause->pid, pause->node_ip);
}

static int run_through(struct console_options *options, struct request *request,
                       const struct relay_address *relay, struct pause_source *origin,
                       struct pause *pause)
{
    char *task = request->is_many ? NULL : task_of(request, origin, pause);
    options->relay = relay;
    options->origin = origin;
    options->pause = request->is_many ? NULL : pause;
    options->session.task = task;
    int code = console_run(options);
    options->relay = NULL;
    options->origin = NULL;
    options->pause = NULL;
    options->session.task = NULL;
    free(task);
    return code;
}

static int run_in_process(struct console_options *options, struct request *request,
                          struct cluster *cluster, struct pause_source *origin, struct pause *pause)
{
    options->session.cluster = cluster;
    options->session.pause = options->pause = request->is_many ? NULL : pause;
    options->origin = origin;
    int code = console_run(options);
    options->session.pause = options->pause = NULL;
    return code;
}

static int run_on_cluster(struct console_options *options, struct request *request,
                          const struct relay_choice *choice)
{
    struct pause pause = {0};
    struct relay_address own = {0};
    struct err err;
    struct cluster *cluster = cluster_create(choice->loop, &choice->cluster, &err);
    if (!cluster)
        return command_fail(&err);
    struct pause_source *origin = pause_source_of_cluster(cluster);
    int code = pick_reachable(request, choice->loop, origin, &pause);
    if (code == ERR_NONE &&
        relay_own_use(&own, choice->loop, &request->wish, &choice->cluster,
                      &(struct relay_own_options){.left = "the console is left"}))
        code = run_through(options, request, &own, origin, &pause);
    else if (code == ERR_NONE)
        code = run_in_process(options, request, cluster, origin, &pause);
    relay_address_clear(&own);
    pause_clear(&pause);
    pause_source_destroy(&origin);
    cluster_destroy(&cluster);
    return code;
}

static int run_on_relay(struct console_options *options, struct request *request,
                        const struct relay_address *relay)
{
    struct loop *loop = options->session.loop;
    struct pause pause = {0};
    struct pause_source *origin = pause_source_of_relay(loop, relay);
    int code = pick(request, loop, origin, &pause);
    if (code == ERR_NONE)
        code = run_through(options, request, relay, origin, &pause);
    pause_clear(&pause);
    pause_source_destroy(&origin);
    return code;
}

static int run_chosen(struct console_options *options, struct request *request,
                      const struct relay_choice *choice)
{
    options->session.loop = choice->loop;
    if (request->connect)
        return console_run(options);
    if (choice->found == RELAY_NONE) {
        if (request->observe || request->take_over)
            return command_usage(&cmd_attach_text,
                                 "--observe and --take-over need a relay: there is none");
        return run_on_cluster(options, request, choice);
    }
    return run_on_relay(options, request, &choice->relay);
}

static int run(struct request *request)
{
    struct console_options options = {
        .session = {.address = request->address,
                    .connect = request->connect,
                    .tune = request->tune,
                    .kill = request->kill},
        .commands = request->commands.items,
        .command_count = request->commands.count,
        .maps = request->maps.data,
        .many = request->is_many ? &request->many : NULL,
        .prompt = request->prompt,
        .json = text_equal(request->format, "json"),
        .one_stop = request->one_stop,
        .strict = request->strict,
        .echo = request->echo,
        .quiet = request->quiet,
        .observe = request->observe,
        .take_over = request->take_over,
        .let_go = request->let_go,
    };
    struct relay_choice choice = {0};
    struct err err;
    int code;
    closer_start();
    if (request->connect)
        choice.loop = loop_create(false, &err);
    if (request->connect ? !choice.loop
                         : relay_choose(&choice, &request->wish, request->address, true, &err) != 0)
        code = command_fail(&err);
    else
        code = run_chosen(&options, request, &choice);
    relay_choice_clear(&choice);
    return code;
}

int cmd_attach(int argc, char **argv)
{
    struct request request = {0};
    int code;
    if (read_options(&request, argc, argv, &code) == 0)
        code = run(&request);
    free_request(&request);
    return code;
}

int attach_one(const char *task, const char *address, const struct relay_wish *wish,
               const char *prompt)
{
    struct request request = {
        .task = task, .address = address, .wish = *wish, .prompt = prompt, .tune = true};
    return run(&request);
}
