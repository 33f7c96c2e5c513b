#include "relay/breakpoints/file_breakpoint.h"

#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 4096, LINE_MOST = 10000000, COUNT_MOST = INT32_MAX };

static const struct {
    const char *name;
    size_t at;
} texts[] = {
    {"file", offsetof(struct file_breakpoint, file)},
    {"if", offsetof(struct file_breakpoint, condition)},
    {"log", offsetof(struct file_breakpoint, log)},
    {"task", offsetof(struct file_breakpoint, task)},
    {"node", offsetof(struct file_breakpoint, node)},
    {"run", offsetof(struct file_breakpoint, run)},
};
enum { TEXTS = sizeof texts / sizeof *texts };

/* Numbers with their least value, and the value that means none, which is not written. */
static const struct {
    const char *name;
    size_t at;
    int64_t none, least;
} numbers[] = {
    {"rank", offsetof(struct file_breakpoint, rank), -1, 0},
    {"hit", offsetof(struct file_breakpoint, hit), 0, 1},
    {"skip", offsetof(struct file_breakpoint, skip), 0, 1},
    {"hits", offsetof(struct file_breakpoint, hits), 0, 1},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static const struct {
    const char *name;
    size_t at;
} flags[] = {
    {"first", offsetof(struct file_breakpoint, first)},
    {"stop_all", offsetof(struct file_breakpoint, stop_all)},
};
enum { FLAGS = sizeof flags / sizeof *flags };

static void *member(const struct file_breakpoint *breakpoint, size_t at)
{
    return (char *)(uintptr_t)breakpoint + at;
}

static char **field(const struct file_breakpoint *breakpoint, size_t i)
{
    return member(breakpoint, texts[i].at);
}

static int64_t *number(const struct file_breakpoint *breakpoint, size_t i)
{
    return member(breakpoint, numbers[i].at);
}

static bool *flag(const struct file_breakpoint *breakpoint, size_t i)
{
    return member(breakpoint, flags[i].at);
}

void file_breakpoint_clear(struct file_breakpoint *breakpoint)
{
    for (size_t i = 0; i < TEXTS; i++)
        free(*field(breakpoint, i));
    free(breakpoint->problem);
    *breakpoint = (struct file_breakpoint){0};
}

static int check(const struct file_breakpoint *breakpoint, struct err *err)
{
    for (size_t i = 0; i < TEXTS; i++)
        if (*field(breakpoint, i) && strlen(*field(breakpoint, i)) > TEXT_MOST)
            return err_set(err, ERR_USAGE, "a breakpoint's \"%s\" has at most %d bytes",
                           texts[i].name, TEXT_MOST);
    if (!breakpoint->file || breakpoint->file[0] != '/')
        return err_set(err, ERR_USAGE, "a breakpoint needs the absolute path of a \"file\"");
    if (breakpoint->line < 1 || breakpoint->line > LINE_MOST)
        return err_set(err, ERR_USAGE, "a breakpoint needs a \"line\" from 1 on");
    for (size_t i = 0; i < NUMBERS; i++) {
        int64_t value = *number(breakpoint, i);
        if (value != numbers[i].none && (value < numbers[i].least || value > COUNT_MOST))
            return err_set(err, ERR_USAGE, "a breakpoint's \"%s\" is a number from %d on",
                           numbers[i].name, (int)numbers[i].least);
    }
    if (breakpoint->hit && breakpoint->first)
        return err_set(err, ERR_USAGE, "\"hit\" names the one hit that stops, as \"first\" does");
    if (breakpoint->log && breakpoint->stop_all)
        return err_set(err, ERR_USAGE, "\"stop_all\" needs a stop, and \"log\" makes none");
    return 0;
}

int file_breakpoint_read(struct file_breakpoint *out, const char *json, struct span object,
                         struct err *err)
{
    *out = (struct file_breakpoint){0};
    for (size_t i = 0; i < TEXTS; i++) {
        char *text = scan_string_at(json, object, texts[i].name);
        if (text_empty(text))
            free(text);
        else
            *field(out, i) = text;
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        *number(out, i) = numbers[i].none;
        scan_integer_at(json, object, numbers[i].name, number(out, i));
    }
    for (size_t i = 0; i < FLAGS; i++)
        scan_boolean_at(json, object, flags[i].name, flag(out, i));
    scan_integer_at(json, object, "line", &out->line);
    scan_integer_at(json, object, "id", &out->id);
    if (check(out, err) == 0)
        return 0;
    file_breakpoint_clear(out);
    return -1;
}

void file_breakpoint_json(const struct file_breakpoint *breakpoint, struct buf *out)
{
    buf_printf(out, "{\"id\":%" PRId64 ",\"line\":%" PRId64, breakpoint->id, breakpoint->line);
    for (size_t i = 0; i < TEXTS; i++) {
        if (!*field(breakpoint, i))
            continue;
        buf_printf(out, ",\"%s\":", texts[i].name);
        message_quote(out, *field(breakpoint, i));
    }
    for (size_t i = 0; i < NUMBERS; i++)
        if (*number(breakpoint, i) != numbers[i].none)
            buf_printf(out, ",\"%s\":%" PRId64, numbers[i].name, *number(breakpoint, i));
    for (size_t i = 0; i < FLAGS; i++)
        if (*flag(breakpoint, i))
            buf_printf(out, ",\"%s\":true", flags[i].name);
}

/* --- which processes, which hits --- */

static bool is_node(const struct breakpoint_node *node, const char *name)
{
    return !text_empty(node->node_id) &&
           (text_starts(node->node_id, name) || text_equal(node->node_ip, name));
}

bool file_breakpoint_reaches(const struct file_breakpoint *breakpoint,
                             const struct breakpoint_node *node)
{
    return (!breakpoint->node || is_node(node, breakpoint->node)) &&
           !file_breakpoint_is_spent(breakpoint);
}

bool file_breakpoint_is_counted(const struct file_breakpoint *breakpoint)
{
    return breakpoint->hit || breakpoint->skip || breakpoint->first || breakpoint->stop_all;
}

/* The only hit that stops, without those skipped; 0: each does. */
static int64_t only_hit(const struct file_breakpoint *breakpoint)
{
    return breakpoint->first ? 1 : breakpoint->hit;
}

bool file_breakpoint_count(struct file_breakpoint *breakpoint)
{
    int64_t only = only_hit(breakpoint), hit = ++breakpoint->hits - breakpoint->skip;
    return only ? hit == only : hit > 0;
}

bool file_breakpoint_is_spent(const struct file_breakpoint *breakpoint)
{
    int64_t only = only_hit(breakpoint);
    return only && breakpoint->hits - breakpoint->skip >= only;
}

/* --- DAP --- */

/* A JSON string is a Python literal, too. */
static void add_literal(struct buf *out, const char *text)
{
    message_quote(out, text ? text : "");
    buf_add_string(out, ",");
}

static bool is_checked(const struct file_breakpoint *breakpoint)
{
    return breakpoint->condition || breakpoint->log || breakpoint->task || breakpoint->rank >= 0 ||
           file_breakpoint_is_counted(breakpoint);
}

void file_breakpoint_dap(const struct file_breakpoint *breakpoint, struct buf *out)
{
    struct buf call = {0};
    buf_printf(out, "{\"line\":%" PRId64, breakpoint->line);
    if (is_checked(breakpoint)) {
        buf_printf(&call, "__import__('sys').modules['raydbg_agent'].check(%" PRId64 ",",
                   breakpoint->id);
        add_literal(&call, breakpoint->task);
        buf_printf(&call, "%" PRId64 ",", breakpoint->rank);
        add_literal(&call, breakpoint->condition);
        add_literal(&call, breakpoint->log);
        buf_printf(&call, "%s,globals(),locals())",
                   file_breakpoint_is_counted(breakpoint) ? "True" : "False");
        buf_add_string(out, ",\"condition\":");
        message_quote(out, call.data);
    }
    buf_add_string(out, "}");
    buf_free(&call);
}
