#include "proto/object_client.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/inflight.h"
#include "proto/object_reply.h"
#include "proto/request.h"

#include <stdlib.h>
#include <string.h>

/* One object_client_locations(). It asks an owner in parts, a few at once, so that no answer keeps
 * the owner busy for long. Ray <= 2.10 takes one object at a time. */
struct batch {
    struct rpc_channel *channel;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    struct ray_object_location *locations;
    size_t count, next; /* of locations; how many of them were asked for */
    size_t pending;     /* parts that were asked for and not answered */
    struct err err;     /* the first error */
};

struct call {
    struct inflight inflight;
    struct object_client *client;
    void (*handle)(struct call *call, const struct rpc_reply *reply);
    union {
        object_worker_fn worker;
        object_node_fn node;
        object_locations_fn locations;
    } fn;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* the worker that must answer; "": any */
    struct batch *batch;                      /* the batch that this call asks a part of, or NULL */
    size_t first, count;                      /* the part: a range of the batch's locations */
};

struct object_client {
    struct rpc *rpc;
    int64_t deadline_ms;
    struct ray_version version;
    struct inflight *calls;
};

enum { PART = 1000, PARTS_AT_ONCE = 16 };

struct object_client *object_client_create(struct rpc *rpc, int64_t deadline_ms)
{
    struct object_client *client = mem_alloc(sizeof *client);
    client->rpc = rpc;
    client->deadline_ms = deadline_ms;
    return client;
}

void object_client_set_version(struct object_client *client, struct ray_version version)
{
    client->version = version;
}

void object_client_destroy(struct object_client **client)
{
    struct object_client *it = *client;
    if (!it)
        return;
    *client = NULL;
    inflight_drop_all(&it->calls);
    free(it);
}

void object_client_forget(struct object_client *client, const void *arg)
{
    inflight_drop(&client->calls, arg);
}

/* --- calls --- */

static struct call *call_new(struct object_client *client,
                             void (*handle)(struct call *, const struct rpc_reply *), void *arg)
{
    struct call *call = mem_alloc(sizeof *call);
    inflight_add(&client->calls, &call->inflight, arg);
    call->client = client;
    call->handle = handle;
    return call;
}

static void batch_free(struct batch *batch)
{
    ray_object_locations_free(batch->locations, batch->count);
    free(batch);
}

static void on_reply(void *arg, const struct rpc_reply *reply)
{
    struct call *call = arg;
    if (inflight_end(&call->inflight))
        call->handle(call, reply);
    else if (call->batch && --call->batch->pending == 0)
        batch_free(call->batch);
    free(call);
}

/* Sends the call; frees the contents of `request`. */
static void ask(struct call *call, struct rpc_channel *channel, const char *method,
                struct buf *request)
{
    rpc_call(channel, method, (const uint8_t *)request->data, request->len,
             call->client->deadline_ms, on_reply, call);
    buf_free(request);
}

static bool answered(const struct rpc_reply *reply, const char *hint, struct err *err)
{
    *err = reply->err ? *reply->err : (struct err){0};
    if (reply->err && err->code == ERR_UNREACHABLE && !*err->hint)
        err_hint(err, "%s", hint);
    return !reply->err;
}

static const char worker_hint[] = "the worker may be gone, or its port cannot be reached from here";
static const char raylet_hint[] = "the node may be gone, or its port cannot be reached from here";

/* --- a worker --- */

static bool is_expected(const struct call *call, struct ray_worker_objects *worker, struct err *err)
{
    if (!*call->worker_id || strcmp(worker->worker_id, call->worker_id) == 0)
        return true;
    err_set(err, ERR_NOT_FOUND, "worker %.8s is gone", call->worker_id);
    err_why(err, "another worker (pid %lld) answers at its port", (long long)worker->pid);
    ray_worker_objects_clear(worker);
    return false;
}

static void on_worker(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_worker_objects worker;
    bool good =
        answered(reply, worker_hint, &err) &&
        object_reply_worker(reply->bytes, reply->len, call->client->version, &worker, &err) == 0 &&
        is_expected(call, &worker, &err);
    call->fn.worker(call->inflight.arg, good ? NULL : &err, good ? &worker : NULL);
}

void object_client_worker(struct object_client *client, const char *address, const char *worker_id,
                          object_worker_fn fn, void *arg)
{
    struct call *call = call_new(client, on_worker, arg);
    struct buf request = {0};
    struct err err = {0};
    uint8_t binary[ID_UNIQUE_BYTES];
    call->fn.worker = fn;
    if (request_worker_objects(worker_id, &request, &err)) {
        rpc_refuse(client->rpc, &err, on_reply, call);
        return;
    }
    if (text_unhex(worker_id, binary, sizeof binary))
        text_hex(binary, sizeof binary, call->worker_id); /* from upper case, too */
    ask(call, rpc_channel(client->rpc, address), "/ray.rpc.CoreWorkerService/GetCoreWorkerStats",
        &request);
}

/* --- a node --- */

static void on_node(struct call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_node_objects node;
    bool good =
        answered(reply, raylet_hint, &err) &&
        object_reply_node(reply->bytes, reply->len, call->client->version, &node, &err) == 0;
    call->fn.node(call->inflight.arg, good ? NULL : &err, good ? &node : NULL);
}

void object_client_node(struct object_client *client, const char *address, bool with_refs,
                        object_node_fn fn, void *arg)
{
    struct call *call = call_new(client, on_node, arg);
    struct buf request = {0};
    call->fn.node = fn;
    request_node_stats(with_refs, &request);
    ask(call, rpc_channel(client->rpc, address), "/ray.rpc.NodeManagerService/GetNodeStats",
        &request);
}

/* --- locations --- */

static void ask_part(struct object_client *client, struct batch *batch, object_locations_fn fn,
                     void *arg);

static void tell_locations(struct call *call)
{
    struct batch *batch = call->batch;
    if (batch->err.code) {
        call->fn.locations(call->inflight.arg, &batch->err, NULL, 0);
    } else {
        struct ray_object_location *locations = batch->locations;
        batch->locations = NULL;
        call->fn.locations(call->inflight.arg, NULL, locations, batch->count);
    }
    batch_free(batch);
}

static void on_part(struct call *call, const struct rpc_reply *reply)
{
    struct batch *batch = call->batch;
    struct err err;
    bool good = answered(reply, worker_hint, &err) &&
                object_reply_locations(reply->bytes, reply->len, &batch->locations[call->first],
                                       call->count, &err) == 0;
    if (!good && batch->count && !batch->err.code)
        batch->err = err;
    if (!batch->err.code && batch->next < batch->count)
        ask_part(call->client, batch, call->fn.locations, call->inflight.arg);
    if (--batch->pending == 0)
        tell_locations(call);
}

/* Asks for the next objects. For an empty batch it sends nothing; the callback still runs. */
static void ask_part(struct object_client *client, struct batch *batch, object_locations_fn fn,
                     void *arg)
{
    enum locations_form form = locations_form_of(client->version);
    size_t left = batch->count - batch->next, most = form == LOCATIONS_FORM_V1 ? 1 : PART;
    struct call *call = call_new(client, on_part, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.locations = fn;
    call->batch = batch;
    call->first = batch->next;
    call->count = left < most ? left : most;
    batch->next += call->count;
    batch->pending++;
    if (!batch->count) /* on_part() takes it for success */
        err_set(&err, ERR_USAGE, "no object was asked for");
    struct object_id *ids = mem_array(call->count, sizeof *ids);
    for (size_t i = 0; i < call->count; i++)
        ids[i] = batch->locations[call->first + i].id;
    if (!batch->count ||
        request_locations(form, batch->worker_id, ids, call->count, &request, &err))
        rpc_refuse(client->rpc, &err, on_reply, call);
    else
        ask(call, batch->channel, "/ray.rpc.CoreWorkerService/GetObjectLocationsOwner", &request);
    free(ids);
}

void object_client_locations(struct object_client *client, const char *address,
                             const char *worker_id, const struct object_id *ids, size_t count,
                             object_locations_fn fn, void *arg)
{
    struct batch *batch = mem_alloc(sizeof *batch);
    batch->channel = rpc_channel(client->rpc, address);
    if (!text_copy(batch->worker_id, sizeof batch->worker_id, worker_id))
        *batch->worker_id = '\0'; /* too long for an id: request_locations() refuses "" */
    batch->locations = mem_array(count, sizeof *batch->locations);
    batch->count = count;
    for (size_t i = 0; i < count; i++)
        batch->locations[i].id = ids[i];
    do
        ask_part(client, batch, fn, arg);
    while (batch->next < count && batch->pending < PARTS_AT_ONCE);
}
