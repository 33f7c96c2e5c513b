#include "cli/memory/memory_source.h"

#include "base/mem.h"
#include "relay/locate/relay_call.h"
#include "relay/sweep/sweep_json.h"

#include <stdlib.h>

enum { DEADLINE_MS = 30000 };

/* The details that are asked for, and their sweep. */
struct detail {
    struct object_sweep *sweep;
    const struct object_row *const *rows;
    size_t count;
    enum memory_detail what;
};

struct memory_source {
    struct loop *loop;
    struct cluster *cluster; /* NULL: `relay` is set */
    const struct relay_address *relay;
    char *relay_name;
    struct relay_call *get;
    struct timer *timer;
    struct detail detail;
    struct pause_source *origin; /* made on first use */
    object_sweep_fn fn;
    void *arg;
};

struct memory_source *memory_source_of_cluster(struct loop *loop, struct cluster *cluster)
{
    struct memory_source *source = mem_alloc(sizeof *source);
    source->loop = loop;
    source->cluster = cluster;
    return source;
}

struct memory_source *memory_source_of_relay(struct loop *loop, const struct relay_address *relay)
{
    struct memory_source *source = mem_alloc(sizeof *source);
    source->loop = loop;
    source->relay = relay;
    source->relay_name = relay_address_short(relay);
    return source;
}

void memory_source_destroy(struct memory_source **source)
{
    struct memory_source *it = *source;
    if (!it)
        return;
    *source = NULL;
    pause_source_destroy(&it->origin);
    if (it->cluster)
        object_sweep_cancel(it->cluster, it);
    relay_call_cancel(&it->get);
    timer_cancel(&it->timer);
    free(it->relay_name);
    free(it);
}

const char *memory_source_name(const struct memory_source *source)
{
    return source->cluster ? cluster_address(source->cluster)->text : source->relay_name;
}

struct pause_source *memory_source_origin(struct memory_source *source)
{
    if (!source->origin)
        source->origin = source->cluster ? pause_source_of_cluster(source->cluster)
                                         : pause_source_of_relay(source->loop, source->relay);
    return source->origin;
}

/* --- a sweep --- */

static void on_sweep(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct memory_source *source = arg;
    source->fn(source->arg, err, sweep);
}

static void on_relay(void *arg, const struct http_reply *reply)
{
    struct memory_source *source = arg;
    struct object_sweep *sweep = NULL;
    struct err err;
    source->get = NULL;
    if (relay_address_reply(source->relay, reply, &err) == 0)
        sweep = sweep_json_read(reply->body, reply->len, &err);
    source->fn(source->arg, sweep ? NULL : &err, sweep);
}

void memory_source_ask(struct memory_source *source, object_sweep_fn fn, void *arg)
{
    source->fn = fn;
    source->arg = arg;
    if (source->cluster)
        object_sweep_take(source->cluster, on_sweep, source);
    else
        source->get = relay_call(source->relay, source->loop, "GET", "/v1/objects", NULL,
                                 DEADLINE_MS, on_relay, source);
}

/* --- details --- */

static void detailed(void *arg)
{
    struct memory_source *source = arg;
    source->timer = NULL;
    source->fn(source->arg, NULL, source->detail.sweep);
}

static void on_detailed(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct memory_source *source = arg;
    (void)err;
    source->fn(source->arg, NULL, sweep);
}

static void on_named(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct memory_source *source = arg;
    const struct detail *detail = &source->detail;
    (void)err;
    if (detail->what != MEMORY_NAMES)
        object_sweep_locate(source->cluster, sweep, detail->rows, detail->count, on_detailed,
                            source);
    else
        on_detailed(source, NULL, sweep);
}

void memory_source_detail(struct memory_source *source, struct object_sweep *sweep,
                          const struct object_row *const *rows, size_t count,
                          enum memory_detail what, object_sweep_fn fn, void *arg)
{
    source->fn = fn;
    source->arg = arg;
    source->detail = (struct detail){sweep, rows, count, what};
    if (source->cluster && count && what == MEMORY_LOCATIONS)
        object_sweep_locate(source->cluster, sweep, rows, count, on_detailed, source);
    else if (source->cluster && count)
        object_sweep_name_tasks(source->cluster, sweep, rows, count, on_named, source);
    else /* a relay's sweep has all that the relay knows */
        source->timer = timer_start(source->loop, 0, detailed, source);
}
