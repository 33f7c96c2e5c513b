/* `raydbg release`, `raydbg continue` and `raydbg hold`: one POST to the relay for each task. */
#include "cli/command.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/relay_ask.h"
#include "cli/relay_options.h"
#include "cli/relay_pauses.h"
#include "relay/pause_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char cmd_release_synopsis[] = "release TASK... | --all [--relay R] [--format F]";
const char cmd_release_details[] =
    "Lets tasks go on that a relay holds; the relay forgets them, and so do its clients.\n"
    "TASK is what raydbg attach takes: a task id or its beginning, a name, PID@NODE.\n"
    "\n"
    "  --all                   every task that the relay holds\n"
    "  --format F              table (default: a line each), json\n"
    "  --address ADDRESS       the cluster whose relay is meant\n" RELAY_OPTION_HELP "\n"
    "exit codes: 0 done, 1 the relay could not, 2 wrong usage, 3 no such task or several,\n"
    "            4 not allowed, 5 no relay, or it cannot be reached\n";

const char cmd_hold_synopsis[] = "hold TASK... [--relay R] [--format F]";
const char cmd_hold_details[] =
    "Has the relay attach to tasks that wait, and keep them stopped: raydbg list shows where "
    "then.\n"
    "TASK is what raydbg attach takes: a task id or its beginning, a name, PID@NODE.\n"
    "\n"
    "  --format F              table (default: a line each), json\n"
    "  --address ADDRESS       the cluster whose relay is meant\n" RELAY_OPTION_HELP "\n"
    "exit codes: 0 done, 1 the relay could not, 2 wrong usage, 3 no such task or several,\n"
    "            4 not allowed, 5 no relay, or it cannot be reached\n";

const char cmd_continue_synopsis[] = "continue TASK... [--relay R] [--format F]";
const char cmd_continue_details[] =
    "Lets stopped tasks run on; the relay stays attached, and so do its clients: the next\n"
    "breakpoint() or exception holds them again.\n"
    "TASK is what raydbg attach takes: a task id or its beginning, a name, PID@NODE.\n"
    "\n"
    "  --format F              table (default: a line each), json\n"
    "  --address ADDRESS       the cluster whose relay is meant\n" RELAY_OPTION_HELP "\n"
    "exit codes: 0 done, 1 the relay could not, 2 wrong usage, 3 no such task or several,\n"
    "            4 not allowed, 5 no relay, or it cannot be reached\n";

/* What one command does, and how it says so. */
struct deed {
    const char *name; /* the command's, and the last part of the path */
    const char *done; /* "square (c2668a) on … is released" */
};

static const struct deed release = {"release", "goes on"};
static const struct deed resume = {"continue", "runs on"};
static const struct deed hold = {"hold", "is held"};

struct call {
    struct loop *loop;
    const struct relay_address *relay;
    const struct deed *deed;
    bool json;
    struct buf out; /* of JSON: the pauses so far */
};

/* --- one task --- */

/* RFC 3986: all but the unreserved. */
static void add_encoded(struct buf *out, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (const char *c = text; *c; c++)
        buf_printf(out, strchr(plain, *c) ? "%c" : "%%%02X", (unsigned char)*c);
}

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

/* Gives the exit code. */
static int act(struct call *call, const char *task)
{
    struct buf path = {0}, body = {0};
    struct pause pause = {0};
    struct err err;
    buf_add_string(&path, "/v1/pauses/");
    add_encoded(&path, task);
    buf_printf(&path, "/%s", call->deed->name);
    int failed = relay_ask(call->loop, call->relay, "POST", path.data, &body, &err);
    if (!failed)
        failed = relay_pause_parse(&pause, body.data ? body.data : "", body.len, &err);
    int code = failed ? command_fail(&err) : ERR_NONE;
    if (!failed)
        show(call, &pause);
    pause_clear(&pause);
    buf_free(&path);
    buf_free(&body);
    return code;
}

/* --- many --- */

/* Who has no task is known by its place. */
static char *name_of(const struct pause *pause)
{
    return *pause->task_id
               ? mem_string(pause->task_id)
               : mem_format("%lld@%s", (long long)pause->pid, pause->node_ip ? pause->node_ip : "");
}

static int act_on_held(struct call *call)
{
    struct buf body = {0};
    struct relay_pauses said = {0};
    struct err err;
    int code = ERR_NONE;
    size_t held = 0;
    if (relay_ask(call->loop, call->relay, "GET", "/v1/pauses", &body, &err) != 0 ||
        relay_pauses_parse(&said, body.data ? body.data : "", body.len, &err) != 0)
        code = command_fail(&err);
    for (size_t i = 0; i < said.pauses.count; i++) {
        const struct pause *pause = &said.pauses.items[i];
        if (pause->state != PAUSE_HELD && !pause->held_ms) /* an idle worker may be held, too */
            continue;
        held++;
        char *name = name_of(pause);
        int this = act(call, name);
        code = code ? code : this;
        free(name);
    }
    if (code == ERR_NONE && held == 0)
        fputs("The relay holds no task.\n", stderr);
    relay_pauses_clear(&said);
    buf_free(&body);
    return code;
}

static int act_on_all(struct call *call, int count, char **tasks)
{
    int code = count ? ERR_NONE : act_on_held(call);
    for (int i = 0; i < count; i++) {
        int this = act(call, tasks[i]);
        code = code ? code : this;
    }
    if (call->json)
        printf("%s\n", call->out.len ? call->out.data : "[");
    if (call->json)
        puts("]");
    buf_free(&call->out);
    return code;
}

/* --- the commands --- */

static int run(const struct deed *deed, bool may_all, int argc, char **argv)
{
    const char *address = NULL, *format = "table";
    struct relay_wish wish = {.wanted = true};
    struct relay_choice choice;
    struct err err;
    bool all = false, done = false;
    int operands, code;
    const struct option_spec specs[] = {
        {"address", 'a', OPTION_STRING, NULL, &address},
        {"format", 'f', OPTION_STRING, NULL, &format},
        RELAY_OPTION_SPECS(wish),
        {"all", 'A', OPTION_FLAG, &all, NULL}, /* the last: not every command has it */
    };
    size_t rows = sizeof specs / sizeof *specs - (may_all ? 0 : 1);
    if (!options_parse(deed->name, specs, rows, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (all ? operands > 0 : operands == 0)
        return command_usage(deed->name, all ? "--all and TASK exclude each other" : "which TASK?");
    if (!text_equal(format, "table") && !text_equal(format, "json"))
        return command_usage(deed->name, "--format is table or json, not '%s'", format);
    struct call call = {.deed = deed, .json = text_equal(format, "json")};
    if (relay_choose(&choice, &wish, address, false, &err) != 0) {
        code = command_fail(&err);
    } else if (choice.found == RELAY_NONE) {
        code = relay_is_missing();
    } else {
        call.loop = choice.loop;
        call.relay = &choice.relay;
        code = act_on_all(&call, operands, argv + 1);
    }
    relay_choice_clear(&choice);
    return code;
}

int cmd_release(int argc, char **argv)
{
    return run(&release, true, argc, argv);
}

int cmd_continue(int argc, char **argv)
{
    return run(&resume, false, argc, argv);
}

int cmd_hold(int argc, char **argv)
{
    return run(&hold, false, argc, argv);
}
