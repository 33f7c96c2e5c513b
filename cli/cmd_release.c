/* `raydbg release`, `raydbg continue` and `raydbg hold`: one POST to the relay for each
 * task, which it answers when that is done. */
#include "cli/commands.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/options.h"
#include "cli/common/relay_ask.h"
#include "cli/common/relay_options.h"
#include "cli/pauses/relay_pauses.h"
#include "relay/pause/pause_json.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct release_words {
    const char *address, *format;
    bool all;
    struct relay_wish wish;
};

/* The first row is for `release` alone. */
static const struct option_row option_rows[] = {
    {"all", 'A', OPTION_FLAG, offsetof(struct release_words, all),
     .help = "every task that the relay holds"},
    {"format", 'f', OPTION_STRING, offsetof(struct release_words, format), .value = "F",
     .words = "table json", .help = "table (default: a line each), json"},
    {"address", 'a', OPTION_STRING, offsetof(struct release_words, address), .value = "ADDRESS",
     .help = "the cluster whose relay is meant"},
    RELAY_OPTION_ROWS(struct release_words, wish),
};
enum { OPTIONS = sizeof option_rows / sizeof *option_rows };

#define TASK_HELP "TASK is what raydbg attach takes: a task id or its beginning, a name, PID@NODE."
#define EXITS                                                                                      \
    "0 done, 1 the relay could not, 2 wrong usage, 3 no such task or several, 4 not allowed, 5 "   \
    "no "                                                                                          \
    "relay, or it cannot be reached"

const struct command_text cmd_release_text = {
    .name = "release",
    .summary = "let tasks go on that the relay holds",
    .synopsis = "release TASK... | --all [--relay R] [--format F]",
    .intro = "Lets tasks go on that a relay holds; the relay forgets them, and so do its "
             "clients. " TASK_HELP,
    .options = option_rows,
    .option_count = OPTIONS,
    .exits = EXITS,
    .operand = WORD_TASK,
};

const struct command_text cmd_hold_text = {
    .name = "hold",
    .summary = "have the relay attach to a paused task and keep it",
    .synopsis = "hold TASK... [--relay R] [--format F]",
    .intro = "Has the relay attach to tasks that wait, and keep them stopped: raydbg list shows "
             "where then. " TASK_HELP,
    .options = option_rows + 1,
    .option_count = OPTIONS - 1,
    .exits = EXITS,
    .operand = WORD_TASK,
};

const struct command_text cmd_continue_text = {
    .name = "continue",
    .summary = "let a stopped task run on, with the relay still attached",
    .synopsis = "continue TASK... [--relay R] [--format F]",
    .intro = "Lets stopped tasks run on; the relay stays attached, and so do its clients: the next "
             "breakpoint() or exception holds them again. " TASK_HELP,
    .options = option_rows + 1,
    .option_count = OPTIONS - 1,
    .exits = EXITS,
    .operand = WORD_TASK,
};

/* One of the commands, and how it reports success. */
struct deed {
    const struct command_text *command; /* its name is the last part of the request's path */
    const char *done;                   /* "square (c2668a) on … is released" */
};

static const struct deed release = {&cmd_release_text, "goes on"};
static const struct deed resume = {&cmd_continue_text, "runs on"};
static const struct deed hold = {&cmd_hold_text, "is held"};

struct call {
    struct loop *loop;
    const struct relay_address *relay;
    const struct deed *deed;
    bool json;
    struct buf out; /* JSON: the pauses so far */
    int code;
};

/* --- one task --- */

static void show(struct call *call, const struct pause *pause)
{
    char title[256];
    if (call->json) {
        buf_add_string(&call->out, call->out.len ? ",\n " : "[\n ");
        pause_json(pause, &call->out);
        return;
    }
    pause_title(pause, title, sizeof title);
    char *clean = text_printable(title, strlen(title), "");
    printf("%s %s\n", clean, call->deed->done);
    free(clean);
}

static char *path_of(const struct deed *deed, const char *task)
{
    struct buf path = {0};
    buf_add_string(&path, "/v1/pauses/");
    relay_ask_add_name(&path, task);
    buf_printf(&path, "/%s", deed->command->name);
    return path.data;
}

static void on_answer(void *arg, size_t index, const struct buf *body, const struct err *err)
{
    struct call *call = arg;
    struct pause pause = {0};
    struct err own = *err;
    (void)index;
    if (body && relay_pause_parse(&pause, body->data ? body->data : "", body->len, &own) == 0) {
        show(call, &pause);
    } else {
        int code = command_fail(&own);
        call->code = call->code ? call->code : code;
    }
    pause_clear(&pause);
}

/* --- many --- */

/* A worker without a task is identified by pid and node, one that the cluster does not know by its
 * endpoint. */
static char *name_of(const struct pause *pause)
{
    if (*pause->task_id)
        return mem_string(pause->task_id);
    if (pause->node_ip)
        return mem_format("%lld@%s", (long long)pause->pid, pause->node_ip);
    return mem_format("%s:%u", pause->host ? pause->host : "", (unsigned)pause->port);
}

static void act(struct call *call, char *const *tasks, size_t count)
{
    char **paths = mem_array(count ? count : 1, sizeof *paths);
    for (size_t i = 0; i < count; i++)
        paths[i] = path_of(call->deed, tasks[i]);
    relay_ask_each(call->loop, call->relay, paths, count, on_answer, call);
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

static void act_on_held(struct call *call)
{
    struct buf body = {0};
    struct relay_pauses said = {0};
    struct err err;
    size_t held = 0;
    if (relay_ask(call->loop, call->relay, "GET", "/v1/pauses", NULL, &body, &err) != 0 ||
        relay_pauses_parse(&said, body.data ? body.data : "", body.len, &err) != 0)
        call->code = command_fail(&err);
    char **names = mem_array(said.pauses.count ? said.pauses.count : 1, sizeof *names);
    for (size_t i = 0; i < said.pauses.count; i++) {
        const struct pause *pause = &said.pauses.items[i];
        if (pause->state == PAUSE_HELD || pause->held_ms) /* an idle worker may be held, too */
            names[held++] = name_of(pause);
    }
    act(call, names, held);
    if (call->code == ERR_NONE && held == 0)
        fputs("The relay holds no task.\n", stderr);
    for (size_t i = 0; i < held; i++)
        free(names[i]);
    free(names);
    relay_pauses_clear(&said);
    buf_free(&body);
}

/* Returns the exit code: of the first task with which it failed. */
static int act_on_all(struct call *call, size_t count, char *const *tasks)
{
    if (count)
        act(call, tasks, count);
    else
        act_on_held(call);
    if (call->json)
        printf("%s\n]\n", call->out.len ? call->out.data : "[");
    buf_free(&call->out);
    return call->code;
}

/* --- the commands --- */

static int run(const struct deed *deed, int argc, char **argv)
{
    struct release_words words = {.format = "table", .wish = {.wanted = true}};
    struct relay_choice choice;
    struct err err;
    bool done = false;
    int operands, code;
    if (!options_parse(deed->command, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (words.all ? operands > 0 : operands == 0)
        return command_usage(deed->command,
                             words.all ? "--all and TASK exclude each other" : "which TASK?");
    struct call call = {.deed = deed, .json = text_equal(words.format, "json")};
    if (relay_choose(&choice, &words.wish, words.address, false, &err) != 0) {
        code = command_fail(&err);
    } else if (choice.found == RELAY_NONE) {
        code = relay_is_missing();
    } else {
        call.loop = choice.loop;
        call.relay = &choice.relay;
        code = act_on_all(&call, (size_t)operands, argv + 1);
    }
    relay_choice_clear(&choice);
    return code;
}

int cmd_release(int argc, char **argv)
{
    return run(&release, argc, argv);
}

int cmd_continue(int argc, char **argv)
{
    return run(&resume, argc, argv);
}

int cmd_hold(int argc, char **argv)
{
    return run(&hold, argc, argv);
}
