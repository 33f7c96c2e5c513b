/* `objects`: shows what Ray knows of the worker's object references. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 20, ASKING_TRIES = 50 };

static int ask_rows(struct console *console, int64_t reference, const char *page,
                    struct reply *reply, struct err *err)
{
    char *arguments = mem_format("{\"variablesReference\":%" PRId64 "%s}", reference, page);
    int result = dap_client_request(console->debuggee, "variables", arguments, reply, err);
    free(arguments);
    return result;
}

/* Repeats the request until the facts are known. Each response waits a little for the worker, which
 * has 2 s. */
static int wait_known(struct console *console, struct err *err)
{
    for (int i = 0; i < ASKING_TRIES; i++) {
        struct reply reply;
        if (dap_client_request(console->debuggee, "raydbg/objects", "{\"count\":1}", &reply, err) !=
            0)
            return -1;
        bool asking = json_string_is(reply.body, "state", "asking");
        reply_clear(&reply);
        if (!asking)
            break;
    }
    return 0;
}

/* Requests the locals: only then does the session know which variables hold references. */
static int learn_names(struct console *console, struct err *err)
{
    struct reply reply;
    int64_t locals;
    if (value_scope(console, "Locals", &locals, err) != 0 ||
        ask_rows(console, locals, "", &reply, err) != 0)
        return -1;
    reply_clear(&reply);
    return 0;
}

static int list(struct console *console, int64_t count, struct err *err)
{
    char page[64];
    struct reply reply;
    int64_t scope;
    if (wait_known(console, err) != 0 || learn_names(console, err) != 0 ||
        value_scope(console, "Object store", &scope, err) != 0 ||
        ask_rows(console, scope, ",\"filter\":\"named\"", &reply, err) != 0)
        return -1;
    values_print(console, json_get(reply.body, "variables"));
    reply_clear(&reply);
    snprintf(page, sizeof page, ",\"filter\":\"indexed\",\"count\":%" PRId64, count);
    if (ask_rows(console, scope, page, &reply, err) != 0)
        return -1;
    if (values_print(console, json_get(reply.body, "variables")) == (size_t)count)
        console_note(console, "the largest; objects N shows N of them");
    reply_clear(&reply);
    return 0;
}

/* Prints the rows that the relay puts in front of debugpy's own. */
static int print_known(struct console *console, struct json rows, struct err *err)
{
    struct json row;
    size_t cursor = 0, first = rows.at.at, end = 0;
    while (json_each(rows, &cursor, &row) &&
           json_string_is(row, "presentationHint/kind", "virtual"))
        end = row.at.at + row.at.len;
    if (!end)
        return err_set(err, ERR_USAGE, "objects: this is no ObjectRef, or nothing is known of it");
    char *array = mem_format("%.*s]", (int)(end - first), rows.text + first);
    values_print(console, (struct json){array, {0, end - first + 1}});
    free(array);
    return 0;
}

static int describe(struct console *console, const char *expression, struct err *err)
{
    struct reply reply;
    if (wait_known(console, err) != 0 ||
        value_evaluate(console, expression, "watch", false, &reply, err) != 0)
        return -1;
    int64_t reference = json_integer(reply.body, "variablesReference", 0);
    reply_clear(&reply);
    if (!reference)
        return err_set(err, ERR_USAGE, "objects: this is no ObjectRef");
    if (ask_rows(console, reference, "", &reply, err) != 0)
        return -1;
    int result = print_known(console, json_get(reply.body, "variables"), err);
    reply_clear(&reply);
    return result;
}

int console_verb_objects(struct console *console, char *argument)
{
    struct err err;
    int64_t count = SHOWN;
    bool listed = !*argument || text_to_int(argument, 1, 1000000, &count);
    int result = listed ? list(console, count, &err) : describe(console, argument, &err);
    return result == 0 ? 0 : console_fail(console, &err);
}
