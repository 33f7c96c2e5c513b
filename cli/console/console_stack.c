/* The stack of the selected thread, and the sources of its frames. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/ray_path.h"
#include "base/text.h"
#include "cli/console/console_parse.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FIRST_FRAMES hold nearly every stack; ALL_FRAMES is for `where` in a deep recursion. */
enum { FIRST_FRAMES = 64, ALL_FRAMES = 2000, LIST_SPAN = 11 };

void stack_clear(struct console *console)
{
    for (size_t i = 0; i < console->frame_count; i++) {
        free(console->frames[i].name);
        free(console->frames[i].path);
    }
    free(console->frames);
    console->frames = NULL;
    console->frame_count = console->frame = 0;
    console->list_next = 0;
}

static struct stack_frame read_frame(struct json json)
{
    char *path = json_string(json, "source/path");
    char *name = json_string(json, "name");
    struct stack_frame frame = {
        .id = json_integer(json, "id", -1),
        .name = name ? name : mem_string("?"),
        .path = path ? path : mem_string(""),
        .line = json_integer(json, "line", 0),
        .source_reference = json_integer(json, "source/sourceReference", 0),
        .subtle = json_string_is(json, "presentationHint", "subtle"),
    };
    frame.ray = frame.subtle && ray_path_is_frame(frame.path, frame.name);
    return frame;
}

static int load(struct console *console, int levels, struct err *err)
{
    char arguments[128];
    struct reply reply;
    snprintf(arguments, sizeof arguments,
             "{\"threadId\":%" PRId64 ",\"startFrame\":0,\"levels\":%d}", console->thread, levels);
    if (dap_client_request(console->debuggee, "stackTrace", arguments, &reply, err) != 0)
        return -1;
    stack_clear(console);
    struct json list = json_get(reply.body, "stackFrames"), element;
    size_t cursor = 0, count = 0;
    while (json_each(list, &cursor, &element))
        count++;
    console->frames = mem_array(count + 1, sizeof *console->frames);
    for (cursor = 0; json_each(list, &cursor, &element);)
        console->frames[console->frame_count++] = read_frame(element);
    int64_t total = json_integer(reply.body, "totalFrames", (int64_t)count);
    console->frames_all = total <= (int64_t)count || levels == ALL_FRAMES;
    reply_clear(&reply);
    return count ? 0 : err_set(err, ERR_FAILED, "the thread has no Python frames");
}

int stack_load(struct console *console, struct err *err)
{
    return load(console, FIRST_FRAMES, err);
}

/* Loads all frames. Frame ids do not change while the thread is stopped, so the selection stays. */
static int load_all(struct console *console)
{
    struct err err;
    size_t frame = console->frame;
    int64_t list_next = console->list_next;
    if (console->frames_all)
        return 0;
    if (load(console, ALL_FRAMES, &err) != 0)
        return console_fail(console, &err);
    console->frame = frame < console->frame_count ? frame : 0;
    console->list_next = list_next;
    return 0;
}

const struct stack_frame *stack_selected(const struct console *console)
{
    return console->frame < console->frame_count ? &console->frames[console->frame] : NULL;
}

int stack_need(struct console *console)
{
    struct err err;
    if (stack_selected(console) || stack_load(console, &err) == 0)
        return 0;
    return console_fail(console, &err);
}

/* --- sources --- */

void stack_clear_sources(struct console *console)
{
    for (size_t i = 0; i < console->source_count; i++) {
        free(console->sources[i].path);
        source_clear(&console->sources[i].source);
    }
    free(console->sources);
    console->sources = NULL;
    console->source_count = 0;
}

static char *by_reference(struct console *console, const struct stack_frame *frame)
{
    struct buf arguments = {0};
    struct reply reply;
    struct err err;
    buf_printf(&arguments,
               "{\"sourceReference\":%" PRId64 ",\"source\":{\"path\":", frame->source_reference);
    message_quote(&arguments, frame->path);
    buf_printf(&arguments, ",\"sourceReference\":%" PRId64 "}}", frame->source_reference);
    char *text = NULL;
    if (dap_client_request(console->debuggee, "source", arguments.data, &reply, &err) == 0)
        text = json_string(reply.body, "content");
    reply_clear(&reply);
    buf_free(&arguments);
    return text;
}

/* debugpy answers `source` only for files with a sourceReference; linecache has the others. */
static char *by_linecache(struct console *console, const struct stack_frame *frame)
{
    struct buf expression = {0};
    buf_add_string(&expression, "''.join(__import__('linecache').getlines(");
    message_quote(&expression, frame->path);
    buf_add_string(&expression, "))");
    char *text = value_of_process(console, expression.data);
    buf_free(&expression);
    return text;
}

/* Reads the file of the same path on this machine, unless its size shows that it is a changed
 * copy. */
static char *local_file(struct console *console, const struct stack_frame *frame)
{
    int64_t size, theirs = -1;
    char *text = source_read_file(frame->path, &size);
    if (!text)
        return NULL;
    struct buf expression = {0};
    buf_add_string(&expression, "__import__('os').stat(");
    message_quote(&expression, frame->path);
    buf_add_string(&expression, ").st_size");
    char *answer = value_of_process(console, expression.data);
    buf_free(&expression);
    bool same = !answer || !text_to_int(answer, 0, INT64_MAX, &theirs) || theirs == size;
    free(answer);
    if (!same) {
        free(text);
        text = NULL;
    }
    return text;
}

static char *fetch(struct console *console, const struct stack_frame *frame)
{
    char *text = NULL;
    if (frame->source_reference > 0)
        text = by_reference(console, frame);
    if (!text && *frame->path)
        text = local_file(console, frame);
    if (!text && *frame->path)
        text = by_linecache(console, frame);
    if (text && !*text) {
        free(text);
        text = NULL;
    }
    return text;
}

const struct source *stack_source(struct console *console, const struct stack_frame *frame)
{
    for (size_t i = 0; i < console->source_count; i++) {
        const struct known_source *known = &console->sources[i];
        if (known->reference == frame->source_reference && text_equal(known->path, frame->path))
            return known->there ? &known->source : NULL;
    }
    char *text = fetch(console, frame);
    console->sources =
        mem_resize(console->sources, console->source_count + 1, sizeof *console->sources);
    struct known_source *known = &console->sources[console->source_count++];
    *known = (struct known_source){
        .path = mem_string(frame->path),
        .reference = frame->source_reference,
        .there = text != NULL,
    };
    if (text)
        source_set(&known->source, text);
    return known->there ? &known->source : NULL;
}

const struct source *stack_source_at(struct console *console, const char *path)
{
    for (size_t i = 0; i < console->frame_count; i++)
        if (text_equal(console->frames[i].path, path))
            return stack_source(console, &console->frames[i]);
    struct stack_frame frame = {.path = mem_string(path)};
    const struct source *source = stack_source(console, &frame);
    free(frame.path);
    return source;
}

/* --- printing --- */

static char *location_of(struct console *console, const struct stack_frame *frame)
{
    char *name = text_printable(frame->name, strlen(frame->name), "");
    char *path = *frame->path ? console_format_path(&console->style, frame->path, console->cwd)
                              : mem_string("?");
    char *location = mem_format("%s:%" PRId64 " in %s", path, frame->line, name);
    free(name);
    free(path);
    return location;
}

void stack_print_location(struct console *console, const struct stack_frame *frame,
                          const char *note)
{
    struct buf out = {0};
    char *location = location_of(console, frame);
    buf_add_string(&out, "  ");
    console_format_tinted(&out, &console->style, TINT_BOLD, location);
    if (!text_empty(note)) {
        buf_add_string(&out, console_format_dot(&console->style));
        buf_add_string(&out, note);
    }
    buf_add_string(&out, "\n");
    console_write(console, &out);
    free(location);
}

void stack_print_lines(struct console *console, const struct stack_frame *frame, int64_t first,
                       int64_t last)
{
    const struct source *source = stack_source(console, frame);
    struct buf out = {0};
    if (!source || !source_line(source, frame->line ? frame->line : first)) {
        console_format_tinted(&out, &console->style, TINT_DIM, "    (source not available)");
        buf_add_string(&out, "\n");
        console_write(console, &out);
        return;
    }
    if (first < 1)
        first = 1;
    if (last > (int64_t)source->count)
        last = (int64_t)source->count;
    for (int64_t i = first; i <= last; i++)
        console_format_source_line(&out, &console->style, i, console_format_digits(last),
                                   source_line(source, i), i == frame->line);
    console_write(console, &out);
}

static void print_in_stack(struct console *console, size_t index, int width)
{
    const struct stack_frame *frame = &console->frames[index];
    const struct source *source = frame->subtle ? NULL : stack_source(console, frame);
    const char *text = source ? source_line(source, frame->line) : NULL;
    bool selected = index == console->frame;
    char *location = location_of(console, frame);
    struct buf out = {0};
    enum tint tint = selected ? TINT_MARK : frame->subtle ? TINT_DIM : TINT_PLAIN;
    if (tint != TINT_PLAIN)
        console_format_tint(&out, &console->style, tint);
    buf_printf(&out, "  %s ",
               selected              ? console_format_arrow(&console->style)
               : console->style.utf8 ? " "
                                     : "  ");
    buf_add_string(&out, location);
    if (text) {
        int used = (int)console_format_characters(location, strlen(location));
        buf_printf(&out, "%*s", width > used ? width - used + 2 : 2, "");
        int room = console->style.columns - 8 - (width > used ? width : used);
        console_format_one_line(&out, &console->style, text + strspn(text, " \t"),
                                room > 20 ? room : 20);
    }
    if (tint != TINT_PLAIN)
        console_format_tint(&out, &console->style, TINT_PLAIN);
    buf_add_string(&out, "\n");
    console_write(console, &out);
    free(location);
}

/* The width of the column of locations, so that the source lines beside them align. */
static int location_width(struct console *console, bool all)
{
    enum { WIDEST = 44 };
    int width = 0;
    for (size_t i = 0; i < console->frame_count; i++) {
        char *location = location_of(console, &console->frames[i]);
        int wide = (int)console_format_characters(location, strlen(location));
        if (wide > width && wide <= WIDEST && (all || !console->frames[i].ray))
            width = wide;
        free(location);
    }
    return width;
}

/* Counts frames, from `index` to newer ones, that are Ray's and not selected. */
static size_t ray_run(const struct console *console, size_t index)
{
    size_t count = 0;
    while (count <= index && console->frames[index - count].ray && index - count != console->frame)
        count++;
    return count;
}

int console_verb_where(struct console *console, char *argument)
{
    bool all = text_equal(argument, "--all");
    if (*argument && !all)
        return console_error(console, "where: '%s' is not --all", argument);
    if (load_all(console) != 0)
        return -1;
    int width = location_width(console, all);
    for (size_t i = console->frame_count; i-- > 0;) {
        size_t hidden = all ? 0 : ray_run(console, i);
        if (hidden) {
            struct buf out = {0};
            console_format_tint(&out, &console->style, TINT_DIM);
            buf_printf(&out, "  %s %s %zu frame%s of Ray (where --all)",
                       console->style.utf8 ? " " : "  ", console_format_ellipsis(&console->style),
                       hidden, hidden == 1 ? "" : "s");
            console_format_tint(&out, &console->style, TINT_PLAIN);
            buf_add_string(&out, "\n");
            console_write(console, &out);
            i -= hidden - 1;
        } else {
            print_in_stack(console, i, width);
        }
    }
    return 0;
}

static int move(struct console *console, const char *argument, int direction)
{
    int64_t steps = 1;
    if (*argument && !text_to_int(argument, 1, INT32_MAX, &steps))
        return console_error(console, "'%s' is no number of frames", argument);
    if (direction > 0 && console->frame + (size_t)steps >= console->frame_count &&
        load_all(console) != 0)
        return -1;
    size_t last = console->frame_count - 1;
    if (console->frame == (direction > 0 ? last : 0))
        return console_error(console, direction > 0 ? "this is the oldest frame"
                                                    : "this is the newest frame");
    size_t room = direction > 0 ? last - console->frame : console->frame;
    size_t by = (size_t)steps < room ? (size_t)steps : room;
    console->frame = direction > 0 ? console->frame + by : console->frame - by;
    console->list_next = 0;
    const struct stack_frame *frame = stack_selected(console);
    stack_print_location(console, frame, NULL);
    stack_print_lines(console, frame, frame->line, frame->line);
    return 0;
}

int console_verb_up(struct console *console, char *argument)
{
    return move(console, argument, 1);
}

int console_verb_down(struct console *console, char *argument)
{
    return move(console, argument, -1);
}

/* "list FUNCTION": shows its source, in any file. */
static int list_function(struct console *console, const char *name)
{
    struct breakpoint found = {.function = mem_string(name)};
    struct err err;
    int result = location_function(console, &found, &err);
    const struct stack_frame *selected = stack_selected(console);
    bool here = text_equal(selected->path, found.path);
    struct stack_frame frame = {.path = found.path, .line = here ? selected->line : 0};
    if (result == 0) {
        const struct source *source = stack_source_at(console, found.path);
        int64_t first = found.line, last = found.line;
        if (source)
            source_function(source, found.line, name, &first, &last);
        if (last > first + LIST_SPAN - 1)
            last = first + LIST_SPAN - 1;
        stack_print_lines(console, &frame, first, last);
    }
    free(found.path);
    free(found.function);
    return result == 0 ? 0 : console_fail(console, &err);
}

int console_verb_list(struct console *console, char *argument)
{
    const struct stack_frame *frame = stack_selected(console);
    const struct source *source = stack_source(console, frame);
    int64_t first = frame->line > LIST_SPAN / 2 ? frame->line - LIST_SPAN / 2 : 1;
    int64_t last = first + LIST_SPAN - 1;
    if (!*argument && console->list_next) {
        first = console->list_next;
        last = first + LIST_SPAN - 1;
    } else if (*argument && !text_equal(argument, ".") &&
               !parse_range(argument, LIST_SPAN, &first, &last)) {
        return list_function(console, argument);
    }
    if (source && first > (int64_t)source->count)
        return console_error(console, "the file has %zu lines", source->count);
    stack_print_lines(console, frame, first, last);
    console->list_next = last + 1;
    return 0;
}

int console_verb_longlist(struct console *console, char *argument)
{
    (void)argument;
    const struct stack_frame *frame = stack_selected(console);
    const struct source *source = stack_source(console, frame);
    int64_t first = 0, last = 0;
    if (source)
        source_function(source, frame->line, frame->name, &first, &last);
    stack_print_lines(console, frame, first, last);
    console->list_next = last + 1;
    return 0;
}
