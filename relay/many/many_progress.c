/* The debuggees' progress reports. A debuggee that is gone does not end its reports, and an editor
 * would never take them away. */
#include "relay/many/many_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <stdlib.h>

struct many_progress {
    struct many_progress *next;
    char *id; /* the debuggee's */
};

static struct many_progress **find(struct many_task *task, const char *id)
{
    struct many_progress **at = &task->progress;
    while (*at && !text_equal((*at)->id, id))
        at = &(*at)->next;
    return at;
}

static void forget(struct many_progress **at)
{
    struct many_progress *it = *at;
    if (!it)
        return;
    *at = it->next;
    free(it->id);
    free(it);
}

void many_progress_on_event(struct many_task *task, const char *json, size_t len,
                            const struct envelope *event)
{
    char *id = scan_string_at(json, event->body, "progressId");
    if (!id)
        return;
    struct many_progress **known = find(task, id);
    if (text_equal(event->name, "progressEnd")) {
        forget(known);
    } else if (text_equal(event->name, "progressStart") && !*known) {
        *known = mem_alloc(sizeof **known);
        (*known)->id = mem_string(id);
    }
    free(id);
    many_pass_out(task, 0, 0, json, len, event);
}

static void tell_end(struct many_task *task, const char *id)
{
    struct buf body = {0}, message = {0};
    struct envelope event;
    const char *problem;
    buf_add_string(&body, "{\"progressId\":");
    message_quote(&body, id);
    buf_add_string(&body, "}");
    message_event(&message, 0, "progressEnd", body.data);
    if (envelope_read(&event, message.data, message.len, &problem) == 0)
        many_pass_out(task, 0, 0, message.data, message.len, &event);
    buf_free(&body);
    buf_free(&message);
}

void many_progress_end(struct many_task *task)
{
    while (task->progress) {
        struct many_progress *first = task->progress;
        task->progress = first->next;
        tell_end(task, first->id);
        forget(&first);
    }
}
