/* Breakpoints, under the console's own numbers. A change sends debugpy all breakpoints of that
 * file. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console/console_parse.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- requests to debugpy --- */

static bool in_group(const struct breakpoint *breakpoint, const char *path)
{
    return breakpoint->enabled && text_equal(breakpoint->path, path);
}

static char *group_arguments(const struct console *console, const char *path)
{
    struct buf out = {0};
    const char *separator = "";
    buf_add_string(&out, "{");
    if (path) {
        buf_add_string(&out, "\"source\":{\"path\":");
        message_quote(&out, path);
        buf_add_string(&out, "},");
    }
    buf_add_string(&out, "\"breakpoints\":[");
    for (size_t i = 0; i < console->breakpoint_count; i++) {
        const struct breakpoint *it = &console->breakpoints[i];
        if (!in_group(it, path))
            continue;
        buf_printf(&out, "%s{", separator);
        if (path)
            buf_printf(&out, "\"line\":%" PRId64, it->line);
        else
            buf_add_string(&out, "\"name\":");
        if (!path)
            message_quote(&out, it->function);
        if (it->condition) {
            buf_add_string(&out, ",\"condition\":");
            message_quote(&out, it->condition);
        }
        if (it->ignored)
            buf_printf(&out, ",\"hitCondition\":\">%" PRId64 "\"", it->ignored);
        buf_add_string(&out, "}");
        separator = ",";
    }
    buf_add_string(&out, "]}");
    return buf_take(&out);
}

static void take_answer(struct breakpoint *breakpoint, struct json json)
{
    breakpoint->id = json_integer(json, "id", breakpoint->id);
    breakpoint->verified = json_boolean(json, "verified", false);
    if (breakpoint->path)
        breakpoint->line = json_integer(json, "line", breakpoint->line);
    free(breakpoint->message);
    breakpoint->message = json_string(json, "message");
}

/* Sets all breakpoints of a file, or with NULL all function breakpoints. */
static int tell(struct console *console, const char *path, struct err *err)
{
    struct reply reply;
    char *arguments = group_arguments(console, path);
    int result =
        dap_client_request(console->debuggee, path ? "setBreakpoints" : "setFunctionBreakpoints",
                           arguments, &reply, err);
    free(arguments);
    if (result != 0)
        return -1;
    struct json list = json_get(reply.body, "breakpoints"), element;
    size_t cursor = 0;
    for (size_t i = 0; i < console->breakpoint_count; i++)
        if (in_group(&console->breakpoints[i], path) && json_each(list, &cursor, &element))
            take_answer(&console->breakpoints[i], element);
    reply_clear(&reply);
    return 0;
}

void breakpoints_event(struct console *console, struct json json)
{
    int64_t id = json_integer(json, "id", -1);
    for (size_t i = 0; i < console->breakpoint_count; i++)
        if (console->breakpoints[i].id == id)
            take_answer(&console->breakpoints[i], json);
}

/* --- the list --- */

static void clear_breakpoint(struct breakpoint *breakpoint)
{
    free(breakpoint->path);
    free(breakpoint->function);
    free(breakpoint->condition);
    free(breakpoint->message);
    free(breakpoint->commands);
    *breakpoint = (struct breakpoint){0};
}

void breakpoints_clear(struct console *console)
{
    for (size_t i = 0; i < console->breakpoint_count; i++)
        clear_breakpoint(&console->breakpoints[i]);
    free(console->breakpoints);
    console->breakpoints = NULL;
    console->breakpoint_count = 0;
}

static struct breakpoint *find(struct console *console, int64_t number)
{
    for (size_t i = 0; i < console->breakpoint_count; i++)
        if (console->breakpoints[i].number == number && !console->breakpoints[i].hidden)
            return &console->breakpoints[i];
    return NULL;
}

/* Takes ownership of the strings in `fresh`. */
static struct breakpoint *append(struct console *console, const struct breakpoint *fresh)
{
    size_t count = console->breakpoint_count + 1;
    console->breakpoints = mem_resize(console->breakpoints, count, sizeof *console->breakpoints);
    console->breakpoint_count = count;
    struct breakpoint *breakpoint = &console->breakpoints[count - 1];
    *breakpoint = *fresh;
    breakpoint->enabled = true;
    breakpoint->id = -1;
    return breakpoint;
}

/* Removes the breakpoint here and in debugpy. */
static int drop(struct console *console, struct breakpoint *breakpoint, struct err *err)
{
    char *path = mem_string(breakpoint->path);
    size_t index = (size_t)(breakpoint - console->breakpoints);
    clear_breakpoint(breakpoint);
    console->breakpoint_count--;
    memmove(breakpoint, breakpoint + 1, (console->breakpoint_count - index) * sizeof *breakpoint);
    int result = tell(console, path, err);
    free(path);
    return result;
}

static char *location_text(struct console *console, const struct breakpoint *breakpoint)
{
    if (!breakpoint->path)
        return mem_format("%s()", breakpoint->function);
    char *path = console_format_path(&console->style, breakpoint->path, console->cwd);
    char *text = mem_format("%s:%" PRId64, path, breakpoint->line);
    free(path);
    return text;
}

static void print_breakpoint(struct console *console, const struct breakpoint *breakpoint)
{
    char *location = location_text(console, breakpoint);
    struct buf out = {0};
    buf_printf(&out, "  %2d  %s%s%s", breakpoint->number, location,
               breakpoint->temporary ? "  once" : "", breakpoint->enabled ? "" : "  disabled");
    if (breakpoint->condition)
        buf_printf(&out, "  if %s", breakpoint->condition);
    if (breakpoint->ignored)
        buf_printf(&out, "  passed %" PRId64 " time%s", breakpoint->ignored,
                   breakpoint->ignored == 1 ? "" : "s");
    if (breakpoint->commands)
        buf_add_string(&out, "  with commands");
    if (breakpoint->enabled && !breakpoint->verified) {
        buf_add_string(&out, console_format_dot(&console->style));
        console_format_one_line(
            &out, &console->style,
            text_empty(breakpoint->message) ? "not verified" : breakpoint->message, 60);
    }
    buf_add_string(&out, "\n");
    console_write(console, &out);
    free(location);
}

static int list(struct console *console)
{
    bool any = false;
    for (size_t i = 0; i < console->breakpoint_count; i++) {
        if (!console->breakpoints[i].hidden) {
            print_breakpoint(console, &console->breakpoints[i]);
            any = true;
        }
    }
    if (!any)
        console_note(console, "no breakpoints: break [FILE:]LINE or break FUNCTION");
    return 0;
}

/* --- verbs --- */

/* True for a line after the file's end, which debugpy would move to the last line of a function. */
static bool is_beyond(struct console *console, const struct breakpoint *fresh, struct err *err)
{
    const struct source *source =
        fresh->path && console->thread ? stack_source_at(console, fresh->path) : NULL;
    if (!source || fresh->line <= (int64_t)source->count)
        return false;
    err_set(err, ERR_NOT_FOUND, "%s has %zu lines", fresh->path, source->count);
    return true;
}

/* Sets a breakpoint and prints its location. Takes ownership of the strings in `fresh`. */
static int add(struct console *console, struct breakpoint *fresh)
{
    struct err err;
    int64_t line = fresh->line;
    if (is_beyond(console, fresh, &err)) {
        clear_breakpoint(fresh);
        return console_fail(console, &err);
    }
    fresh->number = ++console->last_number;
    char *path = mem_string(append(console, fresh)->path);
    int result = tell(console, path, &err);
    free(path);
    struct breakpoint *breakpoint = find(console, console->last_number);
    if (!breakpoint)
        return -1;
    if (result != 0) {
        struct err ignored;
        drop(console, breakpoint, &ignored);
        return console_fail(console, &err);
    }
    print_breakpoint(console, breakpoint);
    if (breakpoint->path && breakpoint->line != line)
        console_note(console, "line %" PRId64 " has no code: moved to line %" PRId64, line,
                     breakpoint->line);
    return 0;
}

static int set(struct console *console, const char *argument, bool temporary)
{
    struct location location;
    struct breakpoint fresh = {.temporary = temporary};
    struct err err;
    if (location_read(&location, argument, &err) != 0)
        return console_fail(console, &err);
    int result = location_find(console, &location, &fresh, &err);
    location_clear(&location);
    if (result != 0) {
        clear_breakpoint(&fresh);
        return console_fail(console, &err);
    }
    return add(console, &fresh);
}

int console_verb_break(struct console *console, char *argument)
{
    return *argument ? set(console, argument, false) : list(console);
}

int console_verb_tbreak(struct console *console, char *argument)
{
    return *argument ? set(console, argument, true) : list(console);
}

static struct breakpoint *take_number(struct console *console, char **argument)
{
    int64_t number;
    const char *word = parse_word(argument);
    if (!text_to_int(word, 1, INT32_MAX, &number)) {
        console_error(console, "'%s' is no breakpoint's number: break lists them", word);
        return NULL;
    }
    struct breakpoint *breakpoint = find(console, number);
    if (!breakpoint)
        console_error(console, "there is no breakpoint %" PRId64 ": break lists them", number);
    return breakpoint;
}

static int retell(struct console *console, const struct breakpoint *breakpoint)
{
    struct err err;
    int number = breakpoint->number;
    char *path = mem_string(breakpoint->path);
    int result = tell(console, path, &err);
    free(path);
    if (result != 0)
        return console_fail(console, &err);
    print_breakpoint(console, find(console, number));
    return 0;
}

int console_verb_condition(struct console *console, char *argument)
{
    struct breakpoint *breakpoint = take_number(console, &argument);
    if (!breakpoint)
        return -1;
    argument = parse_strip(argument);
    free(breakpoint->condition);
    breakpoint->condition = *argument ? mem_string(argument) : NULL;
    return retell(console, breakpoint);
}

int console_verb_ignore(struct console *console, char *argument)
{
    int64_t count = 0;
    struct breakpoint *breakpoint = take_number(console, &argument);
    if (!breakpoint)
        return -1;
    argument = parse_strip(argument);
    if (*argument && !text_to_int(argument, 0, INT32_MAX, &count))
        return console_error(console, "ignore: '%s' is no number of times", argument);
    breakpoint->ignored = count;
    return retell(console, breakpoint);
}

static int switch_all(struct console *console, char *argument, bool enabled)
{
    do {
        struct breakpoint *breakpoint = take_number(console, &argument);
        if (!breakpoint)
            return -1;
        breakpoint->enabled = enabled;
        if (retell(console, breakpoint) != 0)
            return -1;
    } while (*parse_strip(argument));
    return 0;
}

int console_verb_enable(struct console *console, char *argument)
{
    return switch_all(console, argument, true);
}

int console_verb_disable(struct console *console, char *argument)
{
    return switch_all(console, argument, false);
}

static int clear_all(struct console *console)
{
    size_t count = console->breakpoint_count;
    struct err err;
    while (console->breakpoint_count)
        if (drop(console, &console->breakpoints[console->breakpoint_count - 1], &err) != 0)
            return console_fail(console, &err);
    console_note(console, "%zu breakpoint%s removed", count, count == 1 ? "" : "s");
    return 0;
}

/* "clear [FILE:]LINE" removes all breakpoints on that line. */
static int clear_line(struct console *console, const char *argument)
{
    struct location location;
    struct breakpoint wanted = {0};
    struct err err;
    bool any = false;
    if (location_read(&location, argument, &err) != 0)
        return console_fail(console, &err);
    int result = location_find(console, &location, &wanted, &err);
    location_clear(&location);
    for (size_t i = console->breakpoint_count; result == 0 && i-- > 0;) {
        struct breakpoint *it = &console->breakpoints[i];
        if (it->line == wanted.line && text_equal(it->path, wanted.path)) {
            any = true;
            result = drop(console, it, &err);
        }
    }
    clear_breakpoint(&wanted);
    if (result != 0)
        return console_fail(console, &err);
    return any ? 0 : console_error(console, "there is no breakpoint at %s", argument);
}

int console_verb_clear(struct console *console, char *argument)
{
    struct err err;
    if (!*argument)
        return clear_all(console);
    if (strchr(argument, ':'))
        return clear_line(console, argument);
    do {
        struct breakpoint *breakpoint = take_number(console, &argument);
        if (!breakpoint)
            return -1;
        if (drop(console, breakpoint, &err) != 0)
            return console_fail(console, &err);
    } while (*parse_strip(argument));
    return 0;
}

/* --- stops --- */

static bool is_at(const struct breakpoint *breakpoint, const struct stack_frame *frame)
{
    if (!breakpoint->enabled)
        return false;
    if (!breakpoint->path)
        return text_equal(breakpoint->function, frame->name);
    return breakpoint->line == frame->line && text_equal(breakpoint->path, frame->path);
}

bool breakpoints_has(struct console *console, int64_t number)
{
    return find(console, number) != NULL;
}

void breakpoints_set_commands(struct console *console, int64_t number, const char *commands)
{
    struct breakpoint *breakpoint = find(console, number);
    free(breakpoint->commands);
    breakpoint->commands = *commands ? mem_string(commands) : NULL;
}

int breakpoints_hit(struct console *console, const struct stack_frame *frame, char **commands)
{
    int number = 0;
    struct err err;
    *commands = NULL;
    for (size_t i = console->breakpoint_count; i-- > 0;) {
        struct breakpoint *it = &console->breakpoints[i];
        if (!is_at(it, frame) || it->hidden)
            continue;
        number = it->number;
        free(*commands);
        *commands = mem_string(it->commands);
        if (it->temporary)
            drop(console, it, &err);
    }
    return number;
}

int breakpoints_add_hidden(struct console *console, const char *path, int64_t line)
{
    struct err err;
    struct breakpoint fresh = {.path = mem_string(path), .line = line, .hidden = true};
    append(console, &fresh);
    char *copy = mem_string(path);
    int result = tell(console, copy, &err);
    free(copy);
    return result == 0 ? 0 : console_fail(console, &err);
}

void breakpoints_remove_hidden(struct console *console)
{
    struct err err;
    for (size_t i = console->breakpoint_count; i-- > 0;)
        if (console->breakpoints[i].hidden)
            drop(console, &console->breakpoints[i], &err);
}
