/* Completion: verbs from the table; expressions from debugpy, within a time that users do not
 * notice. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console/console_parse.h"
#include "dap/message.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A Tab that shows nothing reads as a name that is not there, and a busy node takes a second. */
enum { ANSWER_MS = 2000 };

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_' || (c & 0x80);
}

static void complete_verb(const char *word, size_t len, struct candidates *out)
{
    size_t count;
    const struct console_verb *verbs = console_verbs_all(&count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(verbs[i].name, word, len) == 0)
            candidates_add(out, verbs[i].name);
}

static char *ask_arguments(int64_t frame, const char *text)
{
    struct buf out = {0};
    buf_printf(&out, "{\"frameId\":%" PRId64 ",\"column\":%zu,\"text\":", frame,
               console_format_characters(text, strlen(text)) + 1);
    message_quote(&out, text);
    buf_add_string(&out, "}");
    return buf_take(&out);
}

/* `text` ends at the cursor; its last `typed` bytes are the name that is being typed. */
static void complete_expression(struct console *console, const char *text, size_t typed,
                                struct candidates *out)
{
    const struct stack_frame *frame = stack_selected(console);
    const char *start = text + strlen(text) - typed;
    struct reply reply;
    struct err err;
    if (!frame)
        return;
    char *arguments = ask_arguments(frame->id, text);
    int result = dap_client_request_within(console->debuggee, "completions", arguments, ANSWER_MS,
                                           &reply, &err);
    free(arguments);
    struct json list = json_get(reply.body, "targets"), element;
    for (size_t cursor = 0; result == 0 && json_each(list, &cursor, &element);) {
        char *word = json_string(element, "text");
        if (!word)
            word = json_string(element, "label");
        char *clean = word ? text_printable(word, strlen(word), "") : NULL;
        bool private = clean && *clean == '_' && *start != '_';
        if (clean && strncmp(clean, start, typed) == 0 && !private)
            candidates_add(out, clean);
        free(word);
        free(clean);
    }
    reply_clear(&reply);
}

void complete_line(void *arg, const char *line, size_t cursor, struct candidates *out)
{
    struct console *console = arg;
    struct command_line command;
    char *text = mem_string_n(line, cursor);
    size_t typed = 0;
    while (typed < cursor && is_word(text[cursor - typed - 1]))
        typed++;
    size_t blank = strspn(text, " \t");
    const char *word = text + cursor - typed;
    out->typed = typed;
    command_line_read(&command, text);
    if (blank + typed == cursor) { /* the first word: a verb, or Python */
        complete_verb(word, typed, out);
        if (console->options->many)
            many_complete(word, typed, out);
        if (typed)
            complete_expression(console, text + blank, typed, out);
    } else if (command.verb && text_equal(command.verb->name, "help")) {
        complete_verb(word, typed, out);
    } else {
        complete_expression(console, command.argument, typed, out);
    }
    command_line_clear(&command);
    free(text);
}
