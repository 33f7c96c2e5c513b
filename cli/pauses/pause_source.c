#include "cli/pauses/pause_source.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/pauses/relay_pauses.h"
#include "relay/locate/relay_call.h"

#include <stdlib.h>

/* A relay that has not refreshed for long asks each worker that waits: 10,000 take ten seconds. */
enum { DEADLINE_MS = 30000 };

/* Either a cluster, or a relay with its last response. */
struct pause_source {
    struct cluster *cluster, *own; /* `own`: made here; or NULL */
    struct loop *loop;
    const struct relay_address *relay;
    char *relay_name;
    struct relay_pauses said;
    struct relay_call *get;
    cluster_done_fn fn;
    void *arg;
};

struct pause_source *pause_source_of_cluster(struct cluster *cluster)
{
    struct pause_source *origin = mem_alloc(sizeof *origin);
    origin->cluster = cluster;
    return origin;
}

struct pause_source *pause_source_of_relay(struct loop *loop, const struct relay_address *relay)
{
    struct pause_source *origin = mem_alloc(sizeof *origin);
    origin->loop = loop;
    origin->relay = relay;
    origin->relay_name = relay_address_short(relay);
    return origin;
}

struct pause_source *pause_source_of_choice(const struct relay_choice *choice, struct err *err)
{
    if (choice->found != RELAY_NONE)
        return pause_source_of_relay(choice->loop, &choice->relay);
    struct cluster *cluster = cluster_create(choice->loop, &choice->cluster, err);
    if (!cluster)
        return NULL;
    struct pause_source *origin = pause_source_of_cluster(cluster);
    origin->own = cluster;
    return origin;
}

void pause_source_destroy(struct pause_source **origin)
{
    struct pause_source *it = *origin;
    if (!it)
        return;
    *origin = NULL;
    if (it->cluster)
        cluster_refresh_cancel(it->cluster, it);
    cluster_destroy(&it->own);
    relay_call_cancel(&it->get);
    relay_pauses_clear(&it->said);
    free(it->relay_name);
    free(it);
}

static void on_cluster(void *arg, const struct err *err)
{
    struct pause_source *origin = arg;
    origin->fn(origin->arg, err);
}

static void on_relay(void *arg, const struct http_reply *reply)
{
    struct pause_source *origin = arg;
    struct relay_pauses said;
    struct err err;
    origin->get = NULL;
    if (relay_address_reply(origin->relay, reply, &err) != 0 ||
        relay_pauses_parse(&said, reply->body, reply->len, &err) != 0) {
        origin->fn(origin->arg, &err);
        return;
    }
    relay_pauses_clear(&origin->said);
    origin->said = said;
    origin->fn(origin->arg, NULL);
}

void pause_source_refresh(struct pause_source *origin, cluster_done_fn fn, void *arg)
{
    origin->fn = fn;
    origin->arg = arg;
    if (origin->cluster)
        cluster_refresh(origin->cluster, on_cluster, origin);
    else
        origin->get = relay_call(origin->relay, origin->loop, "GET", "/v1/pauses", NULL,
                                 DEADLINE_MS, on_relay, origin);
}

int64_t pause_source_rest_ms(const struct pause_source *origin)
{
    return origin->cluster ? cluster_rest_ms(origin->cluster) : 0;
}

const struct pause_list *pause_source_pauses(const struct pause_source *origin)
{
    return origin->cluster ? cluster_pauses(origin->cluster) : &origin->said.pauses;
}

const struct cluster_facts *pause_source_facts(const struct pause_source *origin)
{
    return origin->cluster ? cluster_facts(origin->cluster) : &origin->said.facts;
}

const char *pause_source_cluster(const struct pause_source *origin)
{
    return origin->cluster ? cluster_address(origin->cluster)->text : origin->said.cluster;
}

bool pause_source_names_pending(const struct pause_source *origin)
{
    if (origin->cluster)
        return cluster_names_pending(origin->cluster);
    for (size_t i = 0; i < origin->said.pauses.count; i++) {
        const struct pause *pause = &origin->said.pauses.items[i];
        if (pause->state == PAUSE_WAITING && !pause->task_name && !pause->actor_class)
            return true;
    }
    return false;
}

const char *pause_source_relay(const struct pause_source *origin)
{
    return origin->relay_name;
}

const char *pause_source_name(const struct pause_source *origin)
{
    return origin->cluster ? cluster_address(origin->cluster)->text : origin->relay_name;
}
