/* The relay's HTTP for the cluster's objects. One sweep at a time: calls that come while it is
 * taken get the same one. */
#include "relay/server/relay_state.h"

#include "base/mem.h"
#include "relay/sweep/sweep_json.h"
#include "relay/sweep/sweep_query.h"

#include <stdlib.h>

/* Details are asked for the largest references only, so that a look at a large cluster stays a
 * matter of some 100 ms. */
enum { DETAILED = 500 };

struct objects_wait {
    struct objects_wait *next;
    struct http_call *call;
};

/* Answers all calls that wait; later ones get a new sweep. */
static void finish(struct relay *relay, int status, const struct err *err)
{
    struct objects_wait *wait = relay->objects_waits;
    struct buf json = {0};
    relay->objects_waits = NULL;
    if (!err)
        sweep_json_write(relay->objects, &json);
    while (wait) {
        struct objects_wait *next = wait->next;
        if (err)
            relay_answer_error(wait->call, status, err);
        else
            http_call_answer(wait->call, status, "application/json", json.data, json.len);
        free(wait);
        wait = next;
    }
    buf_free(&json);
    object_report_free(&relay->objects_report);
    object_sweep_free(&relay->objects);
}

static size_t detailed(const struct object_report *report)
{
    return report->rows < DETAILED ? report->rows : DETAILED;
}

static void on_named(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct relay *relay = relay_checked(arg);
    (void)err, (void)sweep;
    finish(relay, 200, NULL);
}

static void on_located(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct relay *relay = relay_checked(arg);
    const struct object_report *report = relay->objects_report;
    (void)err;
    object_sweep_name_tasks(relay->options.cluster, sweep, report->all, detailed(report), on_named,
                            relay);
}

static void on_sweep(void *arg, const struct err *err, struct object_sweep *sweep)
{
    static const struct sweep_query largest = {.sort_by = OBJECT_SORT_SIZE};
    struct relay *relay = relay_checked(arg);
    if (err) {
        finish(relay, err->code == ERR_USAGE ? 409 : 502, err);
        return;
    }
    relay->objects = sweep;
    relay->objects_report = sweep_query_run(&largest, sweep);
    object_sweep_locate(relay->options.cluster, sweep, relay->objects_report->all,
                        detailed(relay->objects_report), on_located, relay);
}

void relay_get_objects(struct relay *relay, struct http_call *call)
{
    bool first = !relay->objects_waits;
    if (!relay->options.cluster) {
        relay_refuse(call, 409, "this relay has no cluster", "start it with --address HOST:6379");
        return;
    }
    struct objects_wait *wait = mem_alloc(sizeof *wait);
    *wait = (struct objects_wait){relay->objects_waits, call};
    relay->objects_waits = wait;
    if (first)
        object_sweep_take(relay->options.cluster, on_sweep, relay);
}

void relay_objects_stop(struct relay *relay)
{
    struct err err;
    if (!relay->objects_waits)
        return;
    object_sweep_cancel(relay->options.cluster, relay);
    err_set(&err, ERR_UNREACHABLE, "the relay is ending");
    finish(relay, 503, &err);
}
