#include "relay/client/reverse_requests.h"

#include "base/mem.h"

#include <stdlib.h>

struct ask {
    struct ask *next;
    int64_t seq;
    ask_fn fn;
    void *arg;
};

void reverse_requests_add(struct reverse_requests *asks, int64_t seq, ask_fn fn, void *arg)
{
    struct ask *ask = mem_alloc(sizeof *ask);
    *ask = (struct ask){.next = asks->first, .seq = seq, .fn = fn, .arg = arg};
    asks->first = ask;
}

bool reverse_requests_answer(struct reverse_requests *asks, const char *json,
                             const struct envelope *response)
{
    struct ask **at = &asks->first;
    while (*at && (*at)->seq != response->request_seq)
        at = &(*at)->next;
    if (!*at)
        return false;
    struct ask ask = **at;
    free(*at);
    *at = ask.next;
    char *why = response->success ? NULL : scan_string(json, response->message);
    ask.fn(ask.arg, response->success, response->success || why ? why : "");
    free(why);
    return true;
}

void reverse_requests_drop(struct reverse_requests *asks, const void *arg)
{
    for (struct ask **at = &asks->first; *at;) {
        struct ask *ask = *at;
        if (arg && ask->arg != arg) {
            at = &ask->next;
            continue;
        }
        *at = ask->next;
        free(ask);
    }
}
