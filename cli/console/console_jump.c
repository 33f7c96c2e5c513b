/* `jump`: selects the line of the selected frame's function that runs next. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STOP_MS = 5000 };

/* Finds debugpy's id for the line; false if it has none. */
static bool find_target(struct console *console, int64_t line, int64_t *target, struct err *err)
{
    struct buf arguments = {0};
    struct reply reply;
    struct json element;
    size_t cursor = 0;
    buf_add_string(&arguments, "{\"source\":{\"path\":");
    message_quote(&arguments, stack_selected(console)->path);
    buf_printf(&arguments, "},\"line\":%" PRId64 "}", line);
    int result = dap_client_request(console->debuggee, "gotoTargets", arguments.data, &reply, err);
    buf_free(&arguments);
    if (result != 0)
        return false;
    bool found = json_each(json_get(reply.body, "targets"), &cursor, &element);
    if (found)
        *target = json_integer(element, "id", -1);
    else
        err_set(err, ERR_NOT_FOUND, "line %" PRId64 " is none that can run next", line);
    reply_clear(&reply);
    return found;
}

int console_verb_jump(struct console *console, char *argument)
{
    char arguments[96];
    struct err err;
    int64_t line, target, thread = console->thread;
    if (!text_to_int(argument, 1, INT32_MAX, &line))
        return console_error(console, "jump: '%s' is no line number", argument);
    if (console->frame != 0)
        return console_error(console, "jump: only the newest frame can: down goes there");
    if (!find_target(console, line, &target, &err))
        return console_fail(console, &err);
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 ",\"targetId\":%" PRId64 "}",
             thread, target);
    if (dap_client_request(console->debuggee, "goto", arguments, NULL, &err) != 0)
        return console_fail(console, &err);
    if (run_wait(console, STOP_MS) == WAIT_ENDED)
        return 0; /* the next turn of the loop at the prompt reports it */
    return stop_show(console, thread);
}
