/* Aliases, the commands of breakpoints, and `interact`. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console/console_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- alias --- */

static int print_alias(struct console *console, const struct alias *alias)
{
    char *name = text_printable(alias->name, strlen(alias->name), "");
    char *command = text_printable(alias->command, strlen(alias->command), "");
    console_print(console, "  %s = %s\n", name, command);
    free(name);
    free(command);
    return 0;
}

int console_verb_alias(struct console *console, char *argument)
{
    const struct aliases *aliases = &console->aliases;
    if (!*argument) {
        for (size_t i = 0; i < aliases->count; i++)
            print_alias(console, &aliases->items[i]);
        if (!aliases->count)
            console_note(console, "no aliases: alias NAME COMMAND");
        return 0;
    }
    const char *name = parse_word(&argument);
    const char *command = parse_strip(argument);
    if (*command) {
        aliases_set(&console->aliases, name, command);
        return 0;
    }
    const struct alias *alias = aliases_find(aliases, name, strlen(name));
    return alias ? print_alias(console, alias) : console_error(console, "'%s' is no alias", name);
}

int console_verb_unalias(struct console *console, char *argument)
{
    if (!aliases_remove(&console->aliases, argument))
        return console_error(console, "'%s' is no alias: alias lists them", argument);
    return 0;
}

/* --- commands --- */

/* Reads the lines up to "end", each with its line end; NULL after ^C. The caller frees. */
static char *read_commands(struct console *console)
{
    struct buf out = {0};
    const char *line;
    bool was_empty;
    enum input_status status;
    buf_reserve(&out, 1);
    while ((status = input_next_further(console->input, "(com) ", &line, &was_empty)) ==
           INPUT_LINE) {
        char *copy = mem_string(line);
        const char *text = parse_strip(copy);
        bool end = text_equal(text, "end");
        if (!end && *text)
            buf_printf(&out, "%s\n", text);
        free(copy);
        if (end)
            break;
    }
    buf_add(&out, "", 1);
    if (status == INPUT_CLEARED)
        buf_free(&out);
    return status == INPUT_CLEARED ? NULL : buf_take(&out);
}

int console_verb_commands(struct console *console, char *argument)
{
    int64_t number = console->last_number;
    if (*argument && !text_to_int(argument, 1, INT32_MAX, &number))
        return console_error(console, "'%s' is no breakpoint's number: break lists them", argument);
    if (!breakpoints_has(console, number))
        return console_error(console, "there is no breakpoint %d: break lists them", (int)number);
    if (console->interactive)
        console_note(console, "a command a line, run when breakpoint %d stops; end ends them",
                     (int)number);
    char *commands = read_commands(console);
    if (commands)
        breakpoints_set_commands(console, number, commands);
    free(commands);
    return 0;
}

/* True if the command lets the task run. */
static bool resumes(const char *text)
{
    struct command_line line;
    command_line_read(&line, text);
    bool yes = line.verb && line.verb->flags & VERB_RESUMES;
    command_line_clear(&line);
    return yes;
}

void scripts_queue(struct console *console, const char *commands)
{
    char *copy = mem_string(commands), *rest = copy, **lines = NULL;
    size_t count = 0;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        if (!*line || text_equal(line, "silent"))
            continue;
        lines = mem_resize(lines, count + 1, sizeof *lines);
        lines[count++] = line;
        if (resumes(line))
            break;
    }
    while (count)
        queue_put_first(&console->queue, lines[--count]);
    free(lines);
    free(copy);
}

bool scripts_silent(const char *commands)
{
    return text_equal(commands, "silent") || text_starts(commands ? commands : "", "silent\n");
}

/* --- interact --- */

int console_verb_interact(struct console *console, char *argument)
{
    (void)argument;
    console->interacting = true;
    input_set_prompt(console->input, ">>> ");
    if (console->interactive)
        console_note(console, "Python in this frame, no verbs; ^D or exit() comes back");
    return 0;
}

void scripts_stop_interacting(struct console *console)
{
    console->interacting = false;
    free(console->prompt); /* many_prompt() makes a new one */
    console->prompt = NULL;
    input_set_prompt(console->input,
                     console->options->prompt ? console->options->prompt : "(raydbg) ");
}

static bool calls(const char *text, const char *name)
{
    size_t len = strlen(name);
    if (!text_starts(text, name))
        return false;
    text += len + strspn(text + len, " ");
    return *text == '(' && text[1 + strspn(text + 1, " ")] == ')';
}

bool scripts_is_exit(const char *text)
{
    return calls(text, "exit") || calls(text, "quit");
}
