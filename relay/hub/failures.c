#include "relay/hub/failures.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/io/loop.h"

#include <stdlib.h>

struct failure {
    struct failure *next, **link;
    char *host;
    uint16_t port;
    int64_t until_us;
    char *problem; /* NULL: lost */
};

void failures_add(struct failures *failures, const struct pause *pause, int64_t ms,
                  const char *problem)
{
    struct failure *failure = mem_alloc(sizeof *failure);
    *failure = (struct failure){.next = failures->first,
                                .link = &failures->first,
                                .host = mem_string(pause->host),
                                .port = pause->port,
                                .until_us = loop_now_us() + ms * 1000,
                                .problem = mem_string(problem)};
    if (failure->next)
        failure->next->link = &failure->next;
    failures->first = failure;
    hash_index_add(&failures->endpoint_index, pause_endpoint_hash(failure->host, failure->port),
                   (uintptr_t)failure);
}

static void forget(struct failures *failures, struct failure *failure)
{
    hash_index_remove(&failures->endpoint_index, pause_endpoint_hash(failure->host, failure->port),
                      (uintptr_t)failure);
    *failure->link = failure->next;
    if (failure->next)
        failure->next->link = failure->link;
    free(failure->host);
    free(failure->problem);
    free(failure);
}

/* The note of this pause with a problem, or the one without. */
static struct failure *find(const struct failures *failures, const struct pause *pause,
                            bool has_problem)
{
    size_t cursor = 0;
    uintptr_t item;
    uint64_t hash = pause_endpoint_hash(pause->host, pause->port);
    while (hash_index_next(&failures->endpoint_index, hash, &cursor, &item)) {
        struct failure *failure = (struct failure *)item;
        if (!failure->problem != has_problem && failure->port == pause->port &&
            text_equal(failure->host, pause->host))
            return failure;
    }
    return NULL;
}

const char *failures_problem(const struct failures *failures, const struct pause *pause)
{
    const struct failure *failure = find(failures, pause, true);
    return failure ? failure->problem : NULL;
}

bool failures_any_lost(const struct failures *failures)
{
    for (const struct failure *at = failures->first; at; at = at->next)
        if (!at->problem)
            return true;
    return false;
}

bool failures_take_lost(struct failures *failures, const struct pause *pause)
{
    struct failure *lost = find(failures, pause, false);
    if (lost)
        forget(failures, lost);
    return lost != NULL;
}

void failures_expire(struct failures *failures)
{
    for (struct failure *at = failures->first, *next; at; at = next) {
        next = at->next;
        if (at->until_us <= loop_now_us())
            forget(failures, at);
    }
}

void failures_clear(struct failures *failures)
{
    while (failures->first)
        forget(failures, failures->first);
    hash_index_clear(&failures->endpoint_index);
}
