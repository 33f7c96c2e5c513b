/* What debuggees are at, as they say by progress events. One that is gone does not say that it has
 * come to an end, and an editor would show it for ever. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <stdlib.h>

struct multi_progress {
    struct multi_progress *next;
    char *id; /* the debuggee's */
};

static struct multi_progress **find(struct multi_target *target, const char *id)
{
    struct multi_progress **at = &target->progress;
    while (*at && !text_equal((*at)->id, id))
        at = &(*at)->next;
    return at;
}

static void forget(struct multi_progress **at)
{
    struct multi_progress *it = *at;
    if (!it)
        return;
    *at = it->next;
    free(it->id);
    free(it);
}

void multi_progress_on_event(struct multi_target *target, const char *json, size_t len,
                             const struct envelope *event)
{
    struct span at;
    char *id = event->body.len && scan_find(json, event->body, "progressId", &at)
                   ? scan_string(json, at)
                   : NULL;
    if (!id)
        return;
    struct multi_progress **known = find(target, id);
    if (text_equal(event->name, "progressEnd")) {
        forget(known);
    } else if (text_equal(event->name, "progressStart") && !*known) {
        *known = mem_alloc(sizeof **known);
        (*known)->id = mem_string(id);
    }
    free(id);
    multi_pass_out(target, 0, 0, json, len, event);
}

static void tell_end(struct multi_target *target, const char *id)
{
    struct buf body = {0}, message = {0};
    struct envelope event;
    const char *problem;
    buf_add_string(&body, "{\"progressId\":");
    message_quote(&body, id);
    buf_add_string(&body, "}");
    message_event(&message, 0, "progressEnd", body.data);
    if (envelope_read(&event, message.data, message.len, &problem) == 0)
        multi_pass_out(target, 0, 0, message.data, message.len, &event);
    buf_free(&body);
    buf_free(&message);
}

void multi_progress_end(struct multi_target *target)
{
    while (target->progress) {
        struct multi_progress *first = target->progress;
        target->progress = first->next;
        tell_end(target, first->id);
        forget(&first);
    }
}
