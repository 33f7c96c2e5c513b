#include "cli/dap/dap_pending.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

void pending_add(struct pending_requests *pending, const struct envelope *request)
{
    struct pending_request *added = mem_alloc(sizeof *added);
    added->seq = request->seq;
    text_copy(added->command, sizeof added->command, request->name);
    added->next = pending->newest;
    pending->newest = added;
}

void pending_remove(struct pending_requests *pending, int64_t seq)
{
    struct pending_request **at = &pending->newest;
    while (*at && (*at)->seq != seq)
        at = &(*at)->next;
    if (!*at)
        return;
    struct pending_request *removed = *at;
    *at = removed->next;
    free(removed);
}

struct pending_request *pending_take(struct pending_requests *pending)
{
    struct pending_request *oldest = NULL;
    while (pending->newest) {
        struct pending_request *request = pending->newest;
        pending->newest = request->next;
        request->next = oldest;
        oldest = request;
    }
    return oldest;
}

void pending_answer(struct pending_requests *pending, struct client *client, const struct err *err)
{
    struct pending_request *request = pending_take(pending);
    while (request) {
        struct pending_request *next = request->next;
        if (text_equal(request->command, "disconnect"))
            client_respond(client, request->seq, request->command, NULL);
        else
            client_fail(client, request->seq, request->command, err);
        free(request);
        request = next;
    }
}

void pending_clear(struct pending_requests *pending)
{
    while (pending->newest)
        pending_remove(pending, pending->newest->seq);
}
