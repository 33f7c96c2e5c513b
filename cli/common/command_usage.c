#include "cli/common/command_usage.h"

#include "base/text.h"
#include "cli/common/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 92,  /* of the help */
    COLUMN = 26, /* where the help of an option begins */
};

/* Names in an error may come from the cluster: makes them printable. */
static void print_line(const char *before, const char *text)
{
    char *clean = text_printable(text, strlen(text), "");
    fprintf(stderr, "%s%s\n", before, clean);
    free(clean);
}

int command_fail(const struct err *err)
{
    print_line("raydbg: ", err->what);
    if (err->why[0])
        print_line("  ", err->why);
    if (err->hint[0])
        print_line("  ", err->hint);
    return err->code ? (int)err->code : ERR_FAILED;
}

int command_usage(const struct command_text *command, const char *format, ...)
{
    va_list args;
    fputs("raydbg: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (command)
        fprintf(stderr, "\nusage: raydbg %s\n  raydbg %s --help tells the rest\n",
                command->synopsis, command->name);
    else
        fputs("\n  raydbg help lists the commands\n", stderr);
    return ERR_USAGE;
}

/* --- help --- */

static void add_spaces(struct buf *out, size_t count)
{
    buf_printf(out, "%*s", (int)count, "");
}

/* A digit, such as that of an exit code, stays in one line with the word after it. */
static size_t word_length(const char *text)
{
    size_t len = strcspn(text, " \n");
    if (len == 1 && *text >= '0' && *text <= '9' && text[1] == ' ')
        len += 1 + strcspn(text + 2, " \n");
    return len;
}

/* Appends one paragraph: words up to `end`. */
static void fill_paragraph(struct buf *out, const char *text, const char *end, size_t at,
                           size_t indent, size_t width)
{
    bool first = true;
    while (text < end) {
        size_t len = word_length(text);
        if (!first && at + 1 + len > width) {
            buf_add_string(out, "\n");
            add_spaces(out, indent);
            at = indent;
            first = true;
        }
        if (!first)
            buf_add_string(out, " ");
        buf_add(out, text, len);
        at += len + !first;
        first = false;
        text += len + strspn(text + len, " ");
    }
    buf_add_string(out, "\n");
}

void command_fill(struct buf *out, const char *text, size_t at, size_t indent, size_t width)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (*text == ' ') {
            add_spaces(out, indent - at);
            buf_add(out, text, len);
            buf_add_string(out, "\n");
        } else if (len) {
            fill_paragraph(out, text, text + len, at, indent, width);
        } else {
            buf_add_string(out, "\n");
        }
        text += len + (text[len] == '\n');
        at = indent;
        if (*text && *text != '\n' && *text != ' ')
            add_spaces(out, indent);
    }
}

static void add_row(struct buf *out, const struct option_row *row)
{
    size_t start = out->len;
    if (!row->name) {
        buf_add_string(out, "\n");
        command_fill(out, row->help, 0, 0, WIDTH);
        return;
    }
    buf_add_string(out, "  ");
    options_label(out, row);
    size_t at = out->len - start;
    if (at + 2 > COLUMN) {
        buf_add_string(out, "\n");
        at = 0;
    }
    add_spaces(out, COLUMN - at);
    command_fill(out, row->help, COLUMN, COLUMN, WIDTH);
}

static void add_part(struct buf *out, const char *text)
{
    if (!text)
        return;
    buf_add_string(out, "\n");
    command_fill(out, text, 0, 0, WIDTH);
}

static void add_details(struct buf *out, const struct command_text *command)
{
    static const char exits[] = "exit codes: ";
    add_part(out, command->intro);
    if (!command->option_count || command->options[0].name)
        buf_add_string(out, "\n");
    for (size_t i = 0; i < command->option_count; i++)
        add_row(out, &command->options[i]);
    add_row(out, &options_help_row);
    add_part(out, command->notes);
    add_part(out, command->examples);
    if (!command->exits)
        return;
    buf_printf(out, "\n%s", exits);
    command_fill(out, command->exits, sizeof exits - 1, sizeof exits - 1, WIDTH);
}

int command_help(const struct command_text *command, bool whole)
{
    struct buf out = {0};
    buf_printf(&out, "raydbg %s: %s\n\nusage: raydbg %s\n", command->name, command->summary,
               command->synopsis);
    if (whole)
        add_details(&out, command);
    else if (command->option_count || command->intro)
        buf_printf(&out, "\nraydbg %s --help tells the rest\n", command->name);
    fputs(out.data, stdout);
    buf_free(&out);
    return ERR_NONE;
}
