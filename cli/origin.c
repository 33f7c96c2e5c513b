#include "cli/origin.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/relay_pauses.h"

#include <stdlib.h>

/* A relay that has not looked at its cluster for long asks each worker that waits: 10,000 take it
 * ten seconds. */
enum { DEADLINE_MS = 30000 };

/* Either a cluster, or a relay with what it said last. */
struct origin {
    struct cluster *cluster;
    struct loop *loop;
    const struct relay_address *relay;
    char *relay_name;
    struct relay_pauses said;
    struct http_get *get;
    cluster_done_fn fn;
    void *arg;
};

struct origin *origin_of_cluster(struct cluster *cluster)
{
    struct origin *origin = mem_alloc(sizeof *origin);
    origin->cluster = cluster;
    return origin;
}

struct origin *origin_of_relay(struct loop *loop, const struct relay_address *relay)
{
    struct origin *origin = mem_alloc(sizeof *origin);
    origin->loop = loop;
    origin->relay = relay;
    origin->relay_name = relay_address_short(relay);
    return origin;
}

void origin_destroy(struct origin **origin)
{
    struct origin *it = *origin;
    if (!it)
        return;
    *origin = NULL;
    if (it->cluster)
        cluster_refresh_cancel(it->cluster, it);
    http_cancel(&it->get);
    relay_pauses_clear(&it->said);
    free(it->relay_name);
    free(it);
}

static void on_cluster(void *arg, const struct err *err)
{
    struct origin *origin = arg;
    origin->fn(origin->arg, err);
}

static void on_relay(void *arg, const struct http_reply *reply)
{
    struct origin *origin = arg;
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

void origin_refresh(struct origin *origin, cluster_done_fn fn, void *arg)
{
    origin->fn = fn;
    origin->arg = arg;
    if (origin->cluster)
        cluster_refresh(origin->cluster, on_cluster, origin);
    else
        origin->get = relay_address_request(origin->relay, origin->loop, "GET", "/v1/pauses",
                                            DEADLINE_MS, on_relay, origin);
}

int64_t origin_rest_ms(const struct origin *origin)
{
    return origin->cluster ? cluster_rest_ms(origin->cluster) : 0;
}

const struct pause_list *origin_pauses(const struct origin *origin)
{
    return origin->cluster ? cluster_pauses(origin->cluster) : &origin->said.pauses;
}

const struct cluster_facts *origin_facts(const struct origin *origin)
{
    return origin->cluster ? cluster_facts(origin->cluster) : &origin->said.facts;
}

const char *origin_cluster(const struct origin *origin)
{
    return origin->cluster ? cluster_address(origin->cluster)->text : origin->said.cluster;
}

bool origin_names_pending(const struct origin *origin)
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

const char *origin_relay(const struct origin *origin)
{
    return origin->relay_name;
}

const char *origin_name(const struct origin *origin)
{
    return origin->cluster ? cluster_address(origin->cluster)->text : origin->relay_name;
}
