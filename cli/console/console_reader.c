/* Reads whole commands: a verb's line, a line of Python, or a block of several lines. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console/console_names.h"
#include "cli/console/console_parse.h"
#include "cli/text/console_block.h"

#include <stdlib.h>
#include <string.h>

/* True if a verb or a group of tasks takes the line. */
static bool is_verb_line(const struct console *console, const char *line)
{
    struct command_line command;
    if (strchr(" \t", *line))
        return false;
    if (console->options->many && group_line_kind(line) != GROUP_NONE)
        return true;
    command_line_read(&command, line);
    bool verb = command.verb != NULL;
    command_line_clear(&command);
    return verb;
}

/* If each of several lines that came at once is a verb's, queues them and returns true. Else they
 * are a block of Python, of which no line is a command. */
static bool queue_verbs(struct console *console, const char *text)
{
    size_t count = 0;
    char *copy = mem_string(text), *rest = copy;
    bool verbs = !console->interacting;
    for (char *line; verbs && (line = strsep(&rest, "\n"));)
        if (!block_is_blank(line))
            verbs = is_verb_line(console, line);
    free(copy);
    if (!verbs)
        return false;
    char **lines = NULL;
    copy = rest = mem_string(text);
    for (char *line; (line = strsep(&rest, "\n"));) {
        lines = mem_resize(lines, count + 1, sizeof *lines);
        lines[count++] = line;
    }
    while (count)
        queue_put_first(&console->queue, lines[--count]);
    free(lines);
    free(copy);
    return true;
}

/* Tells whether a typed line needs more lines. A verb's expression may continue within its
 * brackets; the lines of other verbs are complete. */
static enum block_state state_of(struct console *console, const char *line, bool pasted)
{
    struct command_line command;
    if (console->interacting || pasted)
        return pasted ? block_state_pasted(line) : block_state(line);
    if (console->options->many && group_line_kind(line) != GROUP_NONE)
        return BLOCK_WHOLE;
    command_line_read(&command, line);
    enum block_state state = block_state(command.argument);
    if (command.verb && (state == BLOCK_BODY || !(command.verb->flags & VERB_EXPRESSION)))
        state = BLOCK_WHOLE;
    command_line_clear(&command);
    return state;
}

/* Reads lines until the block in `text` is complete. False if the user gave up with ^C or ^D on a
 * terminal; the end of a pipe ends the block. */
static bool read_rest(struct console *console, struct buf *text, enum block_state state)
{
    while (state != BLOCK_WHOLE) {
        const char *line;
        bool was_empty;
        enum input_status status = input_next_further(console->input, "... ", &line, &was_empty);
        if (status != INPUT_LINE)
            return status == INPUT_END && !console->interactive;
        bool blank = block_is_blank(line);
        buf_add_string(text, "\n");
        buf_add_string(text, line);
        if (block_state(text->data) == BLOCK_OPEN)
            state = BLOCK_OPEN;
        else if (state == BLOCK_OPEN)
            state = block_state(text->data);
        if (state == BLOCK_BODY && blank)
            state = BLOCK_WHOLE;
    }
    return true;
}

/* Makes a command of a line from the terminal or a pipe, and the lines that complete it. False if
 * the user gave it up. */
static bool take_line(struct console *console, const char *line, struct console_line *out)
{
    struct buf text = {0};
    bool pasted = strchr(line, '\n') != NULL;
    buf_add_string(&text, line);
    buf_reserve(&text, 1);
    out->block = pasted || console->interacting;
    if (input_has_more(console->input)) {
        enum block_state state = state_of(console, line, pasted);
        out->block = out->block || state == BLOCK_BODY;
        if (!read_rest(console, &text, state)) {
            buf_free(&text);
            return false;
        }
    }
    out->text = strchr(text.data, '\n') ? block_dedent(text.data) : mem_string(text.data);
    if (console->interactive)
        input_remember(console->input, out->text);
    buf_free(&text);
    return true;
}

/* True for indented lines, the rest of a block that an empty line has cut, if they are not
 * commands: on a terminal, where they may be pasted, and after a block. */
static bool is_rest_of_block(const struct console *console, const char *line)
{
    return strchr(" \t", *line) && !block_is_blank(line) &&
           (console->interactive || console->after_block);
}

void reader_interrupt(struct console *console)
{
    if (!console->queue.count)
        return;
    queue_clear(&console->queue);
    console_note(console, "interrupted");
}

enum input_status reader_next(struct console *console, struct console_line *out, bool *was_empty)
{
    const char *line;
    if (console->queue.count && input_interrupted())
        reader_interrupt(console);
    *out = (struct console_line){.text = queue_take(&console->queue)};
    *was_empty = false;
    if (out->text)
        return INPUT_LINE;
    enum input_status status = input_next(console->input, &line, was_empty);
    if (status != INPUT_LINE)
        return status;
    if (strchr(line, '\n') && queue_verbs(console, line)) {
        if (console->interactive)
            input_remember(console->input, line);
        out->text = queue_take(&console->queue);
        return INPUT_LINE;
    }
    bool rest = is_rest_of_block(console, line);
    if (!take_line(console, line, out))
        return INPUT_CLEARED;
    out->block = out->block || rest;
    if (!block_is_blank(out->text))
        console->after_block = out->block;
    return INPUT_LINE;
}
