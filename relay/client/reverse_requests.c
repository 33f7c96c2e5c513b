#include "relay/client/reverse_requests.h"

#include "base/mem.h"

#include <stdlib.h>

struct reverse_request {
    struct reverse_request *next;
    int64_t seq;
    reverse_request_fn fn;
    void *arg;
};

void reverse_requests_add(struct reverse_requests *requests, int64_t seq, reverse_request_fn fn,
                          void *arg)
{
    struct reverse_request *request = mem_alloc(sizeof *request);
    *request = (struct reverse_request){.next = requests->first, .seq = seq, .fn = fn, .arg = arg};
    requests->first = request;
}

bool reverse_requests_answer(struct reverse_requests *requests, const char *json,
                             const struct envelope *response)
{
    struct reverse_request **at = &requests->first;
    while (*at && (*at)->seq != response->request_seq)
        at = &(*at)->next;
    if (!*at)
        return false;
    struct reverse_request request = **at;
    free(*at);
    *at = request.next;
    char *why = response->success ? NULL : scan_string(json, response->message);
    request.fn(request.arg, response->success, response->success || why ? why : "");
    free(why);
    return true;
}

void reverse_requests_drop(struct reverse_requests *requests, const void *arg)
{
    for (struct reverse_request **at = &requests->first; *at;) {
        struct reverse_request *request = *at;
        if (arg && request->arg != arg) {
            at = &request->next;
            continue;
        }
        *at = request->next;
        free(request);
    }
}
