#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/origin_ask.h"
#include "cli/relay_options.h"
#include "cli/terminal.h"
#include "relay/address.h"
#include "relay/closer.h"
#include "relay/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char cmd_attach_synopsis[] = "attach [TASK... | --all] [-e COMMAND]... [OPTION]...";
const char cmd_attach_details[] =
    "TASK is a task id or its beginning, a task name, an actor id, class or name, or PID@NODE;\n"
    "raydbg list shows them. Without TASK: the one task that is paused. Several, or a pattern "
    "such\n"
    "as 'Trainer.*', are debugged at one prompt, and those that pause later with them:\n"
    "      --all               all paused tasks\n"
    "      --job J, --actor A, --node N   only those of a job, an actor or class, a node\n"
    "\n"
    "  -e, --command COMMAND   run this instead of what is typed; may be repeated\n"
    "      --echo              print each command before it runs, as if it was typed\n"
    "      --strict            the first command that fails ends it, with exit code 1\n"
    "      --map REMOTE=LOCAL  where the worker's files are on this machine; may be repeated\n"
    "      --kill              end the worker when the console is left\n"
    "  -q, --quiet             no header, none of what the task prints\n"
    "      --format json       tables (threads, compare, ...) as JSON\n"
    "      --address ADDRESS   the cluster: HOST:PORT of its GCS, or http://HOST:8265\n"
    "      --connect HOST:PORT a debugpy adapter itself: nothing is asked of the cluster\n"
    "      --no-tune           leave the worker's sockets and timers alone: slower steps\n"
    "\n"
    "With a relay, which keeps the task stopped where it is when the console is left:\n"
    "      --observe           look only: another client drives\n"
    "      --take-over         drive, although another client does\n"
    "      --let-go            let the task go on when the console is left\n" RELAY_OPTION_HELP "\n"
    "On a terminal it is a console with pdb's commands; help lists them, ^C pauses the task, ^D\n"
    "leaves it running. Without a terminal it runs the lines of stdin and prints plain text.\n"
    "Without a relay the task goes on whenever the console is left, unless --kill was given.\n"
    "\n"
    "  raydbg attach square\n"
    "  raydbg attach 'Trainer.*' -e 'compare loss' -e 'all continue'\n"
    "  printf 'break train.py:41, loss > 9\\nc\\np loss\\n' | raydbg attach Trainer.step\n"
    "\n"
    "exit codes: 0 done, 1 the worker died or --strict, 2 usage, 3 no such task or several,\n"
    "            4 not allowed, 5 not reachable\n";

/* What the command line says. The lists hold pointers into argv, or copies (maps). */
struct request {
    const char *task; /* of one */
    const char *address;
    const char *connect;
    const char *prompt;
    const char *job, *actor, *node, *format;
    bool all;
    bool is_many;
    struct pause_filter many;
    struct relay_wish wish;
    bool tune, kill, strict, quiet, echo, observe, take_over, let_go;
    const char **commands;
    size_t command_count;
    struct path_map *maps;
    size_t map_count;
};

static void free_request(struct request *request)
{
    for (size_t i = 0; i < request->map_count; i++) {
        free(request->maps[i].remote);
        free(request->maps[i].local);
    }
    free(request->maps);
    free(request->commands);
    pause_filter_clear(&request->many);
}

/* --- options --- */

static char *without_slash(const char *text, size_t len)
{
    while (len > 1 && text[len - 1] == '/')
        len--;
    return mem_string_n(text, len);
}

static int add_map(struct request *request, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return command_usage("attach", "--map takes REMOTE=LOCAL, not '%s'", text);
    request->maps = mem_resize(request->maps, request->map_count + 1, sizeof *request->maps);
    request->maps[request->map_count++] = (struct path_map){
        .remote = without_slash(text, (size_t)(equals - text)),
        .local = without_slash(equals + 1, strlen(equals + 1)),
    };
    return 0;
}

static int add_command(struct request *request, const char *text)
{
    request->commands =
        mem_resize(request->commands, request->command_count + 1, sizeof *request->commands);
    request->commands[request->command_count++] = text;
    return 0;
}

static const struct {
    const char *name;
    const char *letter;
    int (*add)(struct request *request, const char *text);
} repeated[] = {
    {"--command", "-e", add_command},
    {"--map", NULL, add_map},
};

/* The options that may stand several times are taken out of argv; gives the new argc, or -1. */
static int take_repeated(struct request *request, int argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        size_t row = 0, rows = sizeof repeated / sizeof *repeated, len = 0;
        if (text_equal(argv[i], "--")) {
            while (i < argc)
                argv[kept++] = argv[i++];
            break;
        }
        for (; row < rows; row++) {
            len = strlen(repeated[row].name);
            if (text_equal(argv[i], repeated[row].letter) ||
                (text_starts(argv[i], repeated[row].name) && strchr("=", argv[i][len])))
                break;
        }
        if (row == rows) {
            argv[kept++] = argv[i];
            continue;
        }
        const char *value = argv[i][1] == '-' && argv[i][len] ? argv[i] + len + 1 : argv[++i];
        if (!value || i >= argc) {
            command_usage("attach", "%s needs a value", repeated[row].name);
            return -1;
        }
        if (repeated[row].add(request, value) != 0)
            return -1;
    }
    argv[kept] = NULL;
    return kept;
}

/* One TASK that is no pattern is one task; anything else is all that match. */
static int read_tasks(struct request *request, char **tasks, int count)
{
    struct pause_filter *many = &request->many;
    bool filtered = request->job || request->actor || request->node;
    if (request->all && count)
        return command_usage("attach", "--all is all tasks: '%s' is one too many", tasks[0]);
    request->is_many =
        request->all || filtered || count > 1 || (count == 1 && pause_filter_is_glob(tasks[0]));
    if (request->is_many && request->connect)
        return command_usage("attach", "--connect goes to one adapter: no other task is known");
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

/* 0; or -1 with the exit code in *code, which may be 0 after --help. */
static int read_options(struct request *request, int argc, char **argv, int *code)
{
    const struct option_spec specs[] = {
        {"address", 0, OPTION_STRING, NULL, &request->address},
        {"connect", 0, OPTION_STRING, NULL, &request->connect},
        {"no-tune", 0, OPTION_FLAG, &request->tune, NULL},
        {"kill", 0, OPTION_FLAG, &request->kill, NULL},
        {"strict", 0, OPTION_FLAG, &request->strict, NULL},
        {"echo", 0, OPTION_FLAG, &request->echo, NULL},
        {"quiet", 'q', OPTION_FLAG, &request->quiet, NULL},
        {"observe", 0, OPTION_FLAG, &request->observe, NULL},
        {"take-over", 0, OPTION_FLAG, &request->take_over, NULL},
        {"let-go", 0, OPTION_FLAG, &request->let_go, NULL},
        {"all", 0, OPTION_FLAG, &request->all, NULL},
        {"job", 0, OPTION_STRING, NULL, &request->job},
        {"actor", 0, OPTION_STRING, NULL, &request->actor},
        {"node", 0, OPTION_STRING, NULL, &request->node},
        {"format", 0, OPTION_STRING, NULL, &request->format},
        RELAY_OPTION_SPECS(request->wish),
    };
    int operands = 0;
    bool done = false;
    request->tune = request->wish.wanted = true;
    *code = ERR_USAGE;
    argc = take_repeated(request, argc, argv);
    if (argc < 0 ||
        !options_parse("attach", specs, sizeof specs / sizeof *specs, argc, argv, &operands, &done))
        return -1;
    if (done) {
        *code = ERR_NONE;
        return -1;
    }
    if (request->format && !text_equal(request->format, "text") &&
        !text_equal(request->format, "json")) {
        command_usage("attach", "--format is text or json, not '%s'", request->format);
        return -1;
    }
    if (read_tasks(request, argv + 1, operands) != 0)
        return -1;
    if (request->connect && request->wish.address) {
        command_usage("attach", "--connect goes to an adapter itself: --relay is no use then");
        return -1;
    }
    return 0;
}

/* --- which pause --- */

static void print_candidates(FILE *stream, const struct pause_list *list, const size_t *matches,
                             size_t count, bool numbered)
{
    for (size_t i = 0; i < count; i++) {
        char id[ID_TEXT(ID_UNIQUE_BYTES)], title[256];
        const struct pause *pause = &list->items[matches[i]];
        pause_short_id(list, matches[i], id);
        pause_title(pause, title, sizeof title);
        char *clean = text_printable(title, strlen(title), "");
        if (numbered)
            fprintf(stream, "  %zu  %s  %s\n", i + 1, clean, pause_state_name(pause->state));
        else
            fprintf(stream, "  %-12s %s  %s\n", id, clean, pause_state_name(pause->state));
        free(clean);
    }
}

/* Asks on the terminal; gives the index within `matches`, or -1. */
static int64_t ask_which(const struct pause_list *list, const size_t *matches, size_t count)
{
    char answer[64];
    int64_t number;
    print_candidates(stdout, list, matches, count, true);
    for (;;) {
        printf("which? [1-%zu] ", count);
        fflush(stdout);
        if (!fgets(answer, sizeof answer, stdin))
            return -1;
        answer[strcspn(answer, "\r\n")] = '\0';
        if (!*answer || text_equal(answer, "q"))
            return -1;
        if (text_to_int(answer, 1, (int64_t)count, &number))
            return number - 1;
    }
}

static int none_found(const struct request *request, const struct pause_list *list)
{
    struct err err;
    size_t others = 0;
    char what[200];
    for (size_t i = 0; i < list->count; i++)
        others += list->items[i].state == PAUSE_WAITING || list->items[i].state == PAUSE_HELD;
    pause_filter_describe(&request->many, what, sizeof what);
    if (request->task || !text_equal(what, "*"))
        err_set(&err, ERR_NOT_FOUND, "no paused task is named '%s'",
                request->task ? request->task : what);
    else
        err_set(&err, ERR_NOT_FOUND, "no task is paused");
    if (others)
        err_why(&err, "%zu other%s paused", others, others == 1 ? " is" : "s are");
    err_hint(&err, "raydbg list shows what is paused");
    return command_fail(&err);
}

/* Gives the index in the list, or -1 with the exit code in *code. */
static int64_t choose(const struct request *request, const struct pause_list *list,
                      const size_t *matches, size_t count, int *code)
{
    struct err err;
    if (count == 1)
        return (int64_t)matches[0];
    *code = ERR_NOT_FOUND;
    if (count == 0) {
        *code = none_found(request, list);
        return -1;
    }
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !request->command_count) {
        int64_t chosen = ask_which(list, matches, count);
        return chosen < 0 ? -1 : (int64_t)matches[chosen];
    }
    if (request->task)
        err_set(&err, ERR_NOT_FOUND, "'%s' is %zu paused tasks:", request->task, count);
    else
        err_set(&err, ERR_NOT_FOUND, "%zu tasks are paused: which?", count);
    *code = command_fail(&err);
    print_candidates(stderr, list, matches, count, false);
    fputs("  give more of the id, or PID@NODE; --all attaches to all\n", stderr);
    return -1;
}

/* As an attach over DAP that names no task. */
static void every_waiting(const struct pause_list *list, size_t **matches, size_t *count)
{
    *matches = mem_array(list->count + 1, sizeof **matches);
    *count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == PAUSE_WAITING || list->items[i].state == PAUSE_HELD)
            (*matches)[(*count)++] = i;
}

/* --- the whole --- */

static size_t count_many(const struct request *request, const struct pause_list *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += (list->items[i].state == PAUSE_WAITING || list->items[i].state == PAUSE_HELD) &&
                 pause_filter_matches(&request->many, &list->items[i]);
    return count;
}

/* TASK is found: it need not wait for the names of others. */
static bool is_found(void *arg, const struct pause_list *list)
{
    const struct request *request = arg;
    size_t *matches = NULL, count = 0;
    if (request->is_many)
        count = count_many(request, list);
    else if (request->task)
        pause_find(list, request->task, &matches, &count);
    free(matches);
    return count > 0;
}

static int find_pause(const struct request *request, const struct origin *origin,
                      struct pause *pause)
{
    const struct pause_list *list = origin_pauses(origin);
    size_t *matches = NULL, count = 0;
    int code = ERR_NONE;
    if (request->is_many)
        return count_many(request, list) ? ERR_NONE : none_found(request, list);
    if (request->task)
        pause_find(list, request->task, &matches, &count);
    else
        every_waiting(list, &matches, &count);
    int64_t index = choose(request, list, matches, count, &code);
    free(matches);
    if (index < 0)
        return code;
    pause_copy(pause, &list->items[index]);
    struct err err;
    if (reach_check(pause, &err) != 0)
        return command_fail(&err);
    return ERR_NONE;
}

static int run_on_cluster(struct console_options *options, struct request *request,
                          const struct address *address)
{
    struct loop *loop = options->session.loop;
    struct pause pause = {0};
    struct err err;
    struct cluster *cluster = cluster_create(loop, address, &err);
    if (!cluster)
        return command_fail(&err);
    struct origin *origin = origin_of_cluster(cluster);
    int code = origin_ask(loop, origin, is_found, request, &err) == 0
                   ? find_pause(request, origin, &pause)
                   : command_fail(&err);
    if (code == ERR_NONE) {
        options->session.cluster = cluster;
        options->session.pause = options->pause = request->is_many ? NULL : &pause;
        options->origin = origin;
        code = console_run(options);
        options->session.pause = options->pause = NULL;
    }
    pause_clear(&pause);
    origin_destroy(&origin);
    cluster_destroy(&cluster);
    return code;
}

/* What the relay is to attach to: the words of the user, unless there was something to choose. The
 * caller frees. */
static char *task_of(const struct request *request, const struct origin *origin,
                     const struct pause *pause)
{
    size_t *matches = NULL, count = 0;
    if (request->task)
        pause_find(origin_pauses(origin), request->task, &matches, &count);
    free(matches);
    if (count == 1)
        return mem_string(request->task);
    return *pause->task_id ? mem_string(pause->task_id)
                           : mem_format("%lld@%s", (long long)pause->pid, pause->node_ip);
}

static int run_on_relay(struct console_options *options, struct request *request,
                        const struct relay_address *relay)
{
    struct loop *loop = options->session.loop;
    struct pause pause = {0};
    struct err err;
    struct origin *origin = origin_of_relay(loop, relay);
    int code = origin_ask(loop, origin, is_found, request, &err) == 0
                   ? find_pause(request, origin, &pause)
                   : command_fail(&err);
    if (code == ERR_NONE) {
        char *task = request->is_many ? NULL : task_of(request, origin, &pause);
        options->relay = relay;
        options->origin = origin;
        options->pause = request->is_many ? NULL : &pause;
        options->session.task = task;
        code = console_run(options);
        options->pause = NULL;
        options->session.task = NULL;
        free(task);
    }
    pause_clear(&pause);
    origin_destroy(&origin);
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
            return command_usage("attach", "--observe and --take-over need a relay: there is none");
        return run_on_cluster(options, request, &choice->cluster);
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
        .commands = request->commands,
        .command_count = request->command_count,
        .maps = request->maps,
        .map_count = request->map_count,
        .many = request->is_many ? &request->many : NULL,
        .prompt = request->prompt,
        .json = text_equal(request->format, "json"),
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
