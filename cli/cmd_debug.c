#include "base/mem.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/relay_options.h"
#include "cli/common/table.h"
#include "cli/common/terminal.h"
#include "cli/console/console.h"
#include "cli/pauses/pause_source_wait.h"
#include "relay/debuggee/closer.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct debug_request {
    const char *address;
    struct relay_wish wish;
    bool verbose;
};

static const struct option_row option_rows[] = {
    {"address", 'a', OPTION_STRING, offsetof(struct debug_request, address), .value = "ADDRESS",
     .help = "the cluster: HOST:PORT of its GCS, or http://HOST:8265"},
    {"verbose", 'v', OPTION_FLAG, offsetof(struct debug_request, verbose), .help = "ids, too"},
    RELAY_OPTION_ROWS(struct debug_request, wish),
};

const struct command_text cmd_debug_text = {
    .name = "debug",
    .summary = "pick a paused task from a list, as `ray debug` does",
    .synopsis = "debug [--address ADDRESS] [-v] [OPTION]...",
    .intro = "For who is used to `ray debug`: the same list, newest first, the same question, the "
             "same prompt. The debugger is raydbg's console, for tasks that wait in pdb or in "
             "debugpy.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "An empty line asks anew; q or ^D ends it.",
    .exits = "0 done, 2 usage, 4 not allowed, 5 not reachable",
};

/* Copies of the pauses that are shown: no connection stays open while the user thinks. */
struct menu {
    struct pause *items; /* newest first */
    size_t count;
};

static void menu_clear(struct menu *menu)
{
    for (size_t i = 0; i < menu->count; i++)
        pause_clear(&menu->items[i]);
    free(menu->items);
    *menu = (struct menu){0};
}

static int by_age(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    return (one->since_ms < two->since_ms) - (one->since_ms > two->since_ms);
}

static void menu_fill(struct menu *menu, const struct pause_list *list)
{
    menu->items = mem_array(list->count + 1, sizeof *menu->items);
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == PAUSE_WAITING || list->items[i].state == PAUSE_HELD)
            pause_copy(&menu->items[menu->count++], &list->items[i]);
    if (menu->count)
        qsort(menu->items, menu->count, sizeof *menu->items, by_age);
}

static int menu_ask(struct menu *menu, const struct relay_choice *choice)
{
    struct err err;
    struct cluster *cluster = NULL;
    struct pause_source *origin = NULL;
    if (choice->found != RELAY_NONE)
        origin = pause_source_of_relay(choice->loop, &choice->relay);
    else if ((cluster = cluster_create(choice->loop, &choice->cluster, &err)))
        origin = pause_source_of_cluster(cluster);
    int code = ERR_NONE;
    if (origin && pause_source_wait(choice->loop, origin, NULL, NULL, &err) == 0)
        menu_fill(menu, pause_source_pauses(origin));
    else
        code = command_fail(&err);
    pause_source_destroy(&origin);
    cluster_destroy(&cluster);
    return code;
}

static int menu_read(struct menu *menu, const struct debug_request *request)
{
    struct relay_choice choice = {0};
    struct err err;
    int code = relay_choose(&choice, &request->wish, request->address, true, &err) == 0
                   ? menu_ask(menu, &choice)
                   : command_fail(&err);
    relay_choice_clear(&choice);
    return code;
}

/* --- the list --- */

static void cell_time(struct table *table, int64_t ms)
{
    char text[32] = "";
    time_t seconds = (time_t)(ms / 1000);
    struct tm when;
    if (ms && gmtime_r(&seconds, &when))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &when);
    table_cell(table, text);
}

static void cell_format(struct table *table, char *text)
{
    table_cell(table, text);
    free(text);
}

static void menu_print(const struct menu *menu, bool verbose)
{
    static const struct table_column columns[] = {
        {"index", false, false},          {"timestamp", false, false}, {"Ray task", false, true},
        {"filename:lineno", false, true}, {"Task ID", false, false},   {"Worker ID", false, false},
        {"Actor ID", false, false},       {"Node ID", false, false},
    };
    struct table *table = table_create(columns, verbose ? 8 : 4);
    struct buf out = {0};
    for (size_t i = 0; i < menu->count; i++) {
        const struct pause *pause = &menu->items[i];
        cell_format(table, mem_format("%zu", i));
        cell_time(table, pause->since_ms);
        cell_format(table, mem_format("ray::%s", pause->task_name ? pause->task_name : "?"));
        cell_format(table, pause->file ? mem_format("%s:%lld", pause->file, (long long)pause->line)
                                       : mem_string(""));
        if (!verbose)
            continue;
        table_cell(table, pause->task_id);
        table_cell(table, pause->worker_id);
        table_cell(table, pause->actor_id);
        table_cell(table, pause->node_id);
    }
    table_render(table, terminal_table_columns(stdout), terminal_colour(stdout), terminal_utf8(),
                 &out);
    printf("Active breakpoints:\n%s", out.data ? out.data : "");
    buf_free(&out);
    table_free(&table);
}

/* Reads byte by byte: in a pipe, the bytes after the line belong to the console. False at the
 * end. */
static bool read_line(char *out, size_t size)
{
    size_t len = 0;
    char c;
    ssize_t got;
    while ((got = read(STDIN_FILENO, &c, 1)) == 1 || (got < 0 && errno == EINTR)) {
        if (got == 1 && c == '\n')
            break;
        if (got == 1 && len + 1 < size)
            out[len++] = c;
    }
    out[len] = '\0';
    return got == 1 || len > 0;
}

/* The caller frees. Ray <= 2.34 gives no ids. */
static char *task_of(const struct pause *pause)
{
    if (*pause->task_id)
        return mem_string(pause->task_id);
    if (pause->pid && pause->node_ip)
        return mem_format("%lld@%s", (long long)pause->pid, pause->node_ip);
    return mem_string(pause->task_name);
}

static void debug_one(const struct menu *menu, const struct debug_request *request,
                      const char *answer)
{
    int64_t index;
    if (!menu->count || !text_to_int(answer, 0, (int64_t)menu->count - 1, &index)) {
        fprintf(stderr, "raydbg: there is no breakpoint %s\n", answer);
        return;
    }
    char *task = task_of(&menu->items[index]);
    attach_one(task, request->address, &request->wish, "(Pdb) ");
    free(task);
}

static int run(const struct debug_request *request)
{
    char answer[64];
    int code = ERR_NONE;
    for (bool more = true; more && code == ERR_NONE;) {
        struct menu menu = {0};
        code = menu_read(&menu, request);
        if (code == ERR_NONE) {
            menu_print(&menu, request->verbose);
            printf("Enter breakpoint index or press enter to refresh: ");
            fflush(stdout);
            more = read_line(answer, sizeof answer) && !text_equal(answer, "q");
            if (!more || !isatty(STDIN_FILENO))
                putchar('\n');
            if (more && *answer)
                debug_one(&menu, request, answer);
            more = more && !console_end_asked();
        }
        menu_clear(&menu);
    }
    return code;
}

int cmd_debug(int argc, char **argv)
{
    struct debug_request request = {.wish = {.wanted = true}};
    bool done;
    int operands;
    if (!options_parse(&cmd_debug_text, &request, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage(&cmd_debug_text, "it takes no '%s'", argv[1]);
    closer_start(); /* before run() starts threads */
    return run(&request);
}
