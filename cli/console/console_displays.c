/* `display`: expressions that are shown at a stop if their value has changed. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void show_display(struct console *console, struct display *display)
{
    struct reply reply;
    struct err err;
    char *text;
    if (value_evaluate(console, display->expression, "watch", false, &reply, &err) == 0)
        text = json_string(reply.body, "result");
    else
        text = mem_format("*** %s", err.what);
    reply_clear(&reply);
    if (!text || text_equal(text, display->last)) {
        free(text);
        return;
    }
    char *value = mem_string(text);
    struct buf out = {0};
    console_format_flatten(value);
    char *expression = text_printable(display->expression, strlen(display->expression), "");
    buf_printf(&out, "  %s: ", expression);
    console_format_one_line(&out, &console->style, value, console->style.columns - 4);
    if (display->last) {
        char *last = mem_string(display->last);
        console_format_flatten(last);
        console_format_tint(&out, &console->style, TINT_DIM);
        buf_add_string(&out, "  [was: ");
        console_format_one_line(&out, &console->style, last, 30);
        buf_add_string(&out, "]");
        console_format_tint(&out, &console->style, TINT_PLAIN);
        free(last);
    }
    buf_add_string(&out, "\n");
    console_write(console, &out);
    free(expression);
    free(value);
    free(display->last);
    display->last = text;
}

void displays_show(struct console *console)
{
    for (size_t i = 0; i < console->display_count && !console->gave_up; i++)
        show_display(console, &console->displays[i]);
}

static void remove_display(struct console *console, size_t index)
{
    free(console->displays[index].expression);
    free(console->displays[index].last);
    console->display_count--;
    memmove(&console->displays[index], &console->displays[index + 1],
            (console->display_count - index) * sizeof *console->displays);
}

void displays_clear(struct console *console)
{
    while (console->display_count)
        remove_display(console, console->display_count - 1);
    free(console->displays);
    console->displays = NULL;
}

int console_verb_display(struct console *console, char *argument)
{
    if (!*argument) {
        for (size_t i = 0; i < console->display_count; i++)
            console_print(console, "  %s\n", console->displays[i].expression);
        if (!console->display_count)
            console_note(console, "nothing is displayed: display EXPR");
        return 0;
    }
    console->displays =
        mem_resize(console->displays, console->display_count + 1, sizeof *console->displays);
    struct display *display = &console->displays[console->display_count++];
    *display = (struct display){.expression = mem_string(argument)};
    if (console->thread)
        show_display(console, display);
    return 0;
}

int console_verb_undisplay(struct console *console, char *argument)
{
    if (!*argument) {
        displays_clear(console);
        return 0;
    }
    for (size_t i = 0; i < console->display_count; i++) {
        if (text_equal(console->displays[i].expression, argument)) {
            remove_display(console, i);
            return 0;
        }
    }
    return console_error(console, "'%s' is not displayed", argument);
}
