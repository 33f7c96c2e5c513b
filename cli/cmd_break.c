/* `raydbg break`: the relay's breakpoints by file. */
#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/relay_ask.h"
#include "cli/common/relay_options.h"
#include "cli/run/break_ask.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/scan.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct break_words {
    const char *address, *format;
    bool list, clear, all;
    struct break_wish wish;
    struct relay_wish relay;
};

static const struct option_row option_rows[] = {
    BREAK_OPTION_ROWS(struct break_words, wish),
    {"list", 'l', OPTION_FLAG, offsetof(struct break_words, list),
     .help = "show the breakpoints, and how many processes are there to reach one"},
    {"clear", 0, OPTION_FLAG, offsetof(struct break_words, clear),
     .help = "remove the breakpoints at FILE:LINE, or with these numbers"},
    {"all", 'A', OPTION_FLAG, offsetof(struct break_words, all),
     .help = "with --clear: every breakpoint"},
    {"format", 'f', OPTION_STRING, offsetof(struct break_words, format), .value = "F",
     .words = "table json", .help = "of --list: table (default), json"},
    {"address", 'a', OPTION_STRING, offsetof(struct break_words, address), .value = "ADDRESS",
     .help = "the cluster whose relay is meant"},
    RELAY_OPTION_ROWS(struct break_words, relay),
};

const struct command_text cmd_break_text = {
    .name = "break",
    .summary = "set breakpoints by file, in all processes of raydbg run",
    .synopsis = "break FILE:LINE... [--if EXPR] [--hit N | --first] [--skip N] [--stop-all]\n"
                "             [--log TEXT] [--task GLOB] [--rank N] [--node NODE]\n"
                "       raydbg break --list | --clear FILE:LINE|NUMBER... | --clear --all",
    .intro = "Breakpoints by file belong to the relay: they reach the driver and the workers of "
             "every job that raydbg run has started, and those that come later. A task that "
             "reaches one waits; raydbg list shows it.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes =
        "Hits are counted by the relay, over all processes: each hit that --hit, --skip, "
        "--first or --stop-all counts asks it, which takes the task 0.2 ms or more. A rank is what "
        "RANK or WORLD_RANK is set to (Ray Train does so for PyTorch), else a variable or "
        "attribute of self called rank.",
    .examples = "  raydbg break train.py:57 --if 'loss != loss' --first\n"
                "  raydbg break train.py:60 --log 'step {step}: {loss}' --task 'Trainer.*'",
    .exits = "0 done, 1 the relay could not, 2 wrong usage, 3 no such file or breakpoint, 4 not "
             "allowed, 5 no relay, or it cannot be reached",
    .operand = WORD_FILE,
};

struct call {
    struct loop *loop;
    const struct relay_address *relay;
    const struct break_words *words;
};

/* --- --list --- */

static void show_text(const char *json, struct span item, const char *name, const char *before)
{
    char *text = scan_string_at(json, item, name);
    char *clean = text ? text_printable(text, strlen(text), "") : NULL;
    if (clean)
        printf("%s%s", before, clean);
    free(clean);
    free(text);
}

static void show_number(const char *json, struct span item, const char *name, const char *before)
{
    int64_t number;
    if (scan_integer_at(json, item, name, &number))
        printf("%s%" PRId64, before, number);
}

static void show_flag(const char *json, struct span item, const char *name, const char *words)
{
    bool set = false;
    scan_boolean_at(json, item, name, &set);
    fputs(set ? words : "", stdout);
}

static void show_row(const char *json, struct span item)
{
    int64_t id = 0, line = 0;
    struct span run;
    scan_integer_at(json, item, "id", &id);
    scan_integer_at(json, item, "line", &line);
    printf("%3" PRId64 "  ", id);
    show_text(json, item, "file", "");
    printf(":%" PRId64, line);
    show_text(json, item, "if", "  if ");
    show_text(json, item, "task", "  in ");
    show_number(json, item, "rank", "  rank ");
    show_text(json, item, "node", "  on ");
    show_text(json, item, "log", "  log ");
    show_number(json, item, "hit", "  at hit ");
    show_number(json, item, "skip", "  after ");
    show_flag(json, item, "first", "  at the first hit");
    show_flag(json, item, "stop_all", "  stops all tasks");
    if (scan_path(json, item, "run", &run))
        fputs("  until its run ends", stdout);
    show_number(json, item, "hits", "  · hits: ");
    show_flag(json, item, "spent", ", no further one stops");
    putchar('\n');
    show_text(json, item, "problem", "     its condition fails: ");
    if (scan_path(json, item, "problem", &item))
        putchar('\n');
}

static void show(const char *json, struct span all)
{
    struct span list, item;
    size_t cursor = 0;
    int64_t connected = 0, debugged = 0;
    bool any = false;
    if (scan_find(json, all, "breakpoints", &list))
        for (; scan_element(json, list, &cursor, &item); any = true)
            show_row(json, item);
    if (!any)
        puts("There are no breakpoints by file.");
    scan_integer_at(json, all, "processes/connected", &connected);
    scan_integer_at(json, all, "processes/debugged", &debugged);
    printf("%" PRId64 " process%s of raydbg run: %" PRId64 " with a debugger, the others at full "
           "speed\n",
           connected, connected == 1 ? "" : "es", debugged);
    show_text(json, all, "processes/problem", "one cannot be debugged: ");
    if (scan_path(json, all, "processes/problem", &item) && json[item.at] == '"')
        putchar('\n');
}

static int ask(const struct call *call, struct buf *body, struct span *all)
{
    struct err err;
    struct scan scan;
    if (relay_ask(call->loop, call->relay, "GET", "/v1/breakpoints", NULL, body, &err) != 0)
        return command_fail(&err);
    scan_init(&scan, body->data ? body->data : "", body->len);
    if (scan_value(&scan, all))
        return ERR_NONE;
    err_set(&err, ERR_FAILED, "the relay's answer is not JSON");
    return command_fail(&err);
}

/* With --list the breakpoints, and in any case what limits them. */
static int show_all(const struct call *call)
{
    struct buf body = {0};
    struct span all = {0};
    int code = ask(call, &body, &all);
    if (code == ERR_NONE) {
        if (call->words->list && text_equal(call->words->format, "json"))
            fwrite(body.data, 1, body.len, stdout);
        else if (call->words->list)
            show(body.data, all);
        break_say_price(body.data, all);
        break_say_away(body.data, all);
    }
    buf_free(&body);
    return code;
}

/* --- --clear --- */

/* A breakpoint that is asked for: its number, or FILE:LINE, at which there may be one of each run.
 */
struct wanted {
    int64_t number, line;
    char *file; /* NULL: `number` counts */
};

static bool is_wanted(const struct wanted *wanted, const char *json, struct span item, int64_t *id)
{
    int64_t line = 0;
    char *file = scan_string_at(json, item, "file");
    scan_integer_at(json, item, "id", id);
    scan_integer_at(json, item, "line", &line);
    bool found = wanted->file ? line == wanted->line && text_equal(file, wanted->file)
                              : *id == wanted->number;
    free(file);
    return found;
}

/* `all` is the relay's answer. */
static int clear_named(const struct call *call, const char *json, struct span all, const char *name,
                       struct err *err)
{
    struct span items, item;
    size_t cursor = 0, cleared = 0;
    struct wanted wanted = {0};
    if (!text_to_int(name, 1, INT64_MAX, &wanted.number) &&
        break_location(name, &wanted.file, &wanted.line, err) != 0)
        return -1;
    int rc = 0;
    bool any = scan_find(json, all, "breakpoints", &items);
    while (rc == 0 && any && scan_element(json, items, &cursor, &item)) {
        int64_t id = 0;
        if (!is_wanted(&wanted, json, item, &id))
            continue;
        rc = break_clear(call->loop, call->relay, id, err);
        cleared++;
    }
    free(wanted.file);
    if (rc != 0 || cleared)
        return rc;
    err_set(err, ERR_NOT_FOUND, "there is no breakpoint '%s'", name);
    return err_hint(err, "raydbg break --list shows them");
}

static int clear_all(const struct call *call)
{
    struct buf body = {0};
    struct err err;
    int rc = relay_ask(call->loop, call->relay, "POST", "/v1/breakpoints/clear", NULL, &body, &err);
    buf_free(&body);
    return rc == 0 ? ERR_NONE : command_fail(&err);
}

static int clear(const struct call *call, int count, char **names)
{
    struct buf body = {0};
    struct span all = {0};
    struct err err;
    int code = ask(call, &body, &all);
    for (int i = 0; code == ERR_NONE && i < count; i++)
        if (clear_named(call, body.data, all, names[i], &err) != 0)
            code = command_fail(&err);
    buf_free(&body);
    return code;
}

/* --- */

static int set(const struct call *call, int count, char **locations)
{
    struct err err;
    for (int i = 0; i < count; i++) {
        int64_t id;
        if (break_set(call->loop, call->relay, &call->words->wish, locations[i], &id, &err) != 0)
            return command_fail(&err);
        printf("breakpoint %" PRId64 " at %s\n", id, locations[i]);
    }
    return show_all(call);
}

static int act(const struct call *call, int count, char **operands)
{
    if (call->words->list)
        return show_all(call);
    if (call->words->all)
        return clear_all(call);
    return call->words->clear ? clear(call, count, operands) : set(call, count, operands);
}

static const char *misuse(const struct break_words *words, int operands)
{
    if (words->list && (words->clear || operands))
        return "--list takes no FILE:LINE";
    if (words->all && (!words->clear || operands))
        return "--all goes with --clear, without FILE:LINE";
    return !words->list && !words->all && !operands ? "which FILE:LINE?" : NULL;
}

int cmd_break(int argc, char **argv)
{
    struct break_words words = {.format = "table", .relay = {.wanted = true}};
    struct relay_choice choice;
    struct err err;
    bool done = false;
    int operands, code;
    if (!options_parse(&cmd_break_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (misuse(&words, operands))
        return command_usage(&cmd_break_text, "%s", misuse(&words, operands));
    if (relay_choose(&choice, &words.relay, words.address, false, &err) != 0) {
        code = command_fail(&err);
    } else if (choice.found == RELAY_NONE) {
        code = relay_is_missing();
    } else {
        struct call call = {choice.loop, &choice.relay, &words};
        code = act(&call, operands, argv + 1);
    }
    relay_choice_clear(&choice);
    return code;
}
