#include "cli/help/command_man.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *meaning;
} variables[] = {
    {"RAYDBG_RELAY", "The address of the relay to use, where --relay is not given."},
    {"RAYDBG_TOKEN", "The relay's token, where no --token-file or --relay-token-file is given."},
    {"RAYDBG_OBSERVER_TOKEN", "The token of those who may only look, for raydbg relay."},
    {"RAYDBG_START_RELAY", "0: attach and dap use a relay that runs, but start none."},
    {"RAYDBG_PREFETCH", "0: raydbg dap asks the relay only what the editor asks, when it asks."},
    {"RAYDBG_LOG", "What is logged: error, warn, info or debug."},
    {"RAY_ADDRESS", "The cluster, where --address is not given."},
    {"RAY_API_SERVER_ADDRESS", "The cluster's dashboard, where there is no RAY_ADDRESS."},
    {"RAY_AUTH_MODE, RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, RAY_USE_TLS",
     "As in Ray: how the cluster knows its clients."},
    {"NO_COLOR", "Set: no colour."},
};

/* Servers' pages are in section 8. */
static int section(const struct command_text *command)
{
    return command && text_equal(command->name, "relay") ? 8 : 1;
}

/* --- roff --- */

/* Appends text in which nothing is a request or an escape; a dash is one that can be copied. */
static void add_text(struct buf *out, const char *text, size_t len)
{
    for (const char *end = text + len; text < end; text++) {
        if (*text == '\\')
            buf_add_string(out, "\\e");
        else if (*text == '-')
            buf_add_string(out, "\\-");
        else if ((*text == '.' || *text == '\'') && (!out->len || out->data[out->len - 1] == '\n'))
            buf_printf(out, "\\&%c", *text);
        else
            buf_add(out, text, 1);
    }
}

static void add_string(struct buf *out, const char *text)
{
    add_text(out, text, strlen(text));
}

/* Appends paragraphs; lines that begin with a space are shown as they are. */
static void add_paragraphs(struct buf *out, const char *text)
{
    bool verbatim = false;
    while (*text) {
        size_t len = strcspn(text, "\n");
        if ((*text == ' ') != verbatim)
            buf_add_string(out, verbatim ? ".EE\n.RE\n" : ".RS\n.EX\n");
        verbatim = *text == ' ';
        if (!len)
            buf_add_string(out, ".PP\n");
        add_text(out, verbatim ? text + 2 : text, verbatim ? len - 2 : len);
        if (len)
            buf_add_string(out, "\n");
        text += len + (text[len] == '\n');
    }
    if (verbatim)
        buf_add_string(out, ".EE\n.RE\n");
}

static void add_section(struct buf *out, const char *title, const char *text)
{
    if (!text)
        return;
    buf_printf(out, ".SH %s\n", title);
    add_paragraphs(out, text);
}

static void add_option(struct buf *out, const struct option_row *row)
{
    if (!row->name) {
        buf_add_string(out, ".PP\n");
        add_paragraphs(out, row->help);
        return;
    }
    buf_add_string(out, ".TP\n");
    if (row->letter)
        buf_printf(out, "\\fB\\-%c\\fR, ", row->letter);
    buf_add_string(out, "\\fB\\-\\-");
    add_string(out, row->name);
    buf_add_string(out, "\\fR");
    if (row->value) {
        buf_add_string(out, " \\fI");
        add_string(out, row->value);
        buf_add_string(out, "\\fR");
    }
    buf_add_string(out, "\n");
    add_paragraphs(out, row->help);
}

/* A line that is broken is continued with spaces, which the page does not show. */
static void add_synopsis(struct buf *out, const char *text)
{
    buf_add_string(out, ".SH SYNOPSIS\nraydbg ");
    while (*text) {
        size_t len = strcspn(text, "\n");
        add_text(out, text, len);
        text += len + strspn(text + len, "\n");
        const char *next = text + strspn(text, " ");
        bool another = text_starts(next, "raydbg ");
        if (*text)
            buf_add_string(out, another ? "\n.br\n" : " ");
        text = next;
    }
    buf_add_string(out, "\n");
}

static void add_head(struct buf *out, const struct command_text *command, const char *summary)
{
    buf_add_string(out, ".TH RAYDBG");
    if (command) {
        buf_add_string(out, "\\-");
        for (const char *c = command->name; *c; c++)
            buf_printf(out, "%c", *c - 'a' + 'A');
    }
    buf_printf(out, " %d \"\" \"raydbg " RAYDBG_VERSION "\"\n.nh\n.ad l\n.SH NAME\nraydbg",
               section(command));
    if (command)
        buf_printf(out, "\\-%s", command->name);
    buf_add_string(out, " \\- ");
    add_string(out, summary);
    buf_add_string(out, "\n");
}

/* --- pages --- */

static void add_see_also(struct buf *out, const struct command_table *table,
                         const struct command_text *but)
{
    buf_add_string(out, ".SH SEE ALSO\n");
    if (but)
        buf_add_string(out, ".BR raydbg (1)");
    for (size_t i = 0; i < table->count; i++)
        if (table->commands[i].text != but)
            buf_printf(out, "%s.BR raydbg\\-%s (%d)", i || but ? ",\n" : "",
                       table->commands[i].text->name, section(table->commands[i].text));
    buf_add_string(out, "\n");
}

static void add_command_page(struct buf *out, const struct command_table *table,
                             const struct command_text *command)
{
    add_head(out, command, command->summary);
    add_synopsis(out, command->synopsis);
    add_section(out, "DESCRIPTION", command->intro ? command->intro : command->summary);
    buf_add_string(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < command->option_count; i++)
        add_option(out, &command->options[i]);
    add_option(out, &options_help_row);
    add_section(out, "NOTES", command->notes);
    add_section(out, "EXAMPLES", command->examples);
    add_section(out, "EXIT STATUS", command->exits);
    add_see_also(out, table, command);
}

static void add_main_page(struct buf *out, const struct command_table *table)
{
    add_head(out, NULL, COMMAND_SUMMARY);
    buf_add_string(out, ".SH SYNOPSIS\nraydbg \\fICOMMAND\\fR ...\n.SH COMMANDS\n");
    for (size_t i = 0; i < table->count; i++) {
        buf_printf(out, ".TP\n\\fB%s\\fR\n", table->commands[i].text->name);
        add_paragraphs(out, table->commands[i].text->summary);
    }
    buf_add_string(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < table->option_count; i++)
        add_option(out, &table->options[i]);
    buf_add_string(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        buf_printf(out, ".TP\n\\fB%s\\fR\n", variables[i].name);
        add_paragraphs(out, variables[i].meaning);
    }
    add_section(out, "EXIT STATUS", COMMAND_EXITS);
    add_see_also(out, table, NULL);
}

static void add_page(struct buf *out, const struct command_table *table,
                     const struct command_text *command)
{
    if (command)
        add_command_page(out, table, command);
    else
        add_main_page(out, table);
}

static int write_page(const char *directory, const struct command_table *table,
                      const struct command_text *command, struct err *err)
{
    struct buf page = {0};
    char *path = mem_format("%s/raydbg%s%s.%d", directory, command ? "-" : "",
                            command ? command->name : "", section(command));
    FILE *file = fopen(path, "we");
    add_page(&page, table, command);
    bool written = file && fwrite(page.data, 1, page.len, file) == page.len;
    if (file && fclose(file) != 0)
        written = false;
    if (!written)
        err_set(err, ERR_FAILED, "cannot write %s: %s", path, strerror(errno));
    buf_free(&page);
    free(path);
    return written ? 0 : -1;
}

int command_man_write(const struct command_table *table, const char *directory, struct err *err)
{
    if (write_page(directory, table, NULL, err) != 0)
        return -1;
    for (size_t i = 0; i < table->count; i++)
        if (write_page(directory, table, table->commands[i].text, err) != 0)
            return -1;
    return 0;
}
