#include "proto/inflight.h"

#include <stddef.h>

void inflight_add(struct inflight **list, struct inflight *call, void *arg)
{
    *call = (struct inflight){.next = *list, .link = list, .arg = arg};
    if (call->next)
        call->next->link = &call->next;
    *list = call;
}

bool inflight_end(struct inflight *call)
{
    if (!call->link)
        return false;
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    call->next = NULL;
    call->link = NULL;
    return true;
}

void inflight_drop(struct inflight **list, const void *arg)
{
    struct inflight *next;
    for (struct inflight *call = *list; call; call = next) {
        next = call->next;
        if (call->arg == arg)
            inflight_end(call);
    }
}

void inflight_drop_all(struct inflight **list)
{
    while (*list)
        inflight_end(*list);
}
