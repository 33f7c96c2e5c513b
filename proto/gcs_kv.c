#include "proto/gcs_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/reply.h"

#include <stdlib.h>

/* Gets all entries of a namespace with a prefix: by one call for the keys, then one for each value,
 * all at once. */
struct gcs_kv_scan {
    int pending; /* calls, for the keys or for a value, that have not been answered */
    struct gcs_kv *entries;
    size_t count;
    struct err err; /* the first error */
    /* Runs the caller's callback; `err` is NULL on success. */
    void (*tell)(struct gcs_kv_scan *scan, const struct err *err);
    union {
        gcs_pdbs_fn pdbs;
        gcs_kv_fn entries;
    } fn;
    void *arg;
};

static void scan_free(struct gcs_kv_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        free(scan->entries[i].key);
        free(scan->entries[i].value);
    }
    free(scan->entries);
    free(scan);
}

void gcs_kv_scan_drop(struct gcs_kv_scan *scan)
{
    if (--scan->pending == 0)
        scan_free(scan);
}

static void scan_end(struct gcs_kv_scan *scan)
{
    scan->tell(scan, scan->err.code ? &scan->err : NULL);
    scan_free(scan);
}

/* --- all entries with a prefix --- */

/* Leaves out an entry that was deleted meanwhile. */
static void on_value(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct gcs_kv_scan *scan = call->scan;
    struct err err;
    char *value = NULL;
    size_t len;
    if (!gcs_call_answered(reply, &err) ||
        reply_kv_get(reply->bytes, reply->len, &value, &len, &err)) {
        if (!scan->err.code)
            scan->err = err;
    } else if (value) {
        scan->entries[scan->count++] = (struct gcs_kv){call->key, value, len};
        call->key = NULL;
    }
    if (--scan->pending == 0)
        scan_end(scan);
}

static void ask_value(struct gcs_call *from, char *key)
{
    struct gcs_call *call = gcs_call_new(from->gcs, on_value, from->inflight.arg);
    struct buf request = {0};
    call->scan = from->scan;
    call->key = key;
    call->scan->pending++;
    request_kv_get(from->space, key, &request);
    gcs_call_send_bulk(call, call->gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVGet",
                       &request);
}

static void on_keys(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct gcs_kv_scan *scan = call->scan;
    char **keys = NULL;
    size_t count = 0;
    if (!gcs_call_answered(reply, &scan->err) ||
        reply_kv_keys(reply->bytes, reply->len, &keys, &count, &scan->err))
        count = 0;
    scan->entries = mem_array(count, sizeof *scan->entries);
    for (size_t i = 0; i < count; i++)
        ask_value(call, keys[i]);
    free(keys);
    if (--scan->pending == 0)
        scan_end(scan);
}

static struct gcs_kv_scan *scan_start(struct gcs *gcs, const char *space, const char *prefix,
                                      void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_keys, arg);
    struct buf request = {0};
    call->scan = mem_alloc(sizeof *call->scan);
    call->scan->pending = 1;
    call->scan->arg = arg;
    call->space = mem_string(space);
    request_kv_keys(space, prefix, &request);
    gcs_call_send(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVKeys", &request);
    return call->scan;
}

static void tell_entries(struct gcs_kv_scan *scan, const struct err *err)
{
    scan->fn.entries(scan->arg, err, scan->entries, err ? 0 : scan->count);
}

void gcs_kv_get_all(struct gcs *gcs, const char *space, const char *prefix, gcs_kv_fn fn, void *arg)
{
    struct gcs_kv_scan *scan = scan_start(gcs, space, prefix, arg);
    scan->tell = tell_entries;
    scan->fn.entries = fn;
}

/* Leaves out other keys, and values that are not JSON. */
static void tell_pdbs(struct gcs_kv_scan *scan, const struct err *err)
{
    if (err) {
        scan->fn.pdbs(scan->arg, err, NULL, 0);
        return;
    }
    struct ray_pdb *pdbs = mem_array(scan->count, sizeof *pdbs);
    size_t count = 0;
    char uuid[33];
    for (size_t i = 0; i < scan->count; i++) {
        const struct gcs_kv *entry = &scan->entries[i];
        if (kv_parse_pdb_key(entry->key, uuid) &&
            reply_pdb(entry->value, entry->len, &pdbs[count], NULL) == 0)
            text_copy(pdbs[count++].uuid, sizeof pdbs->uuid, uuid);
    }
    scan->fn.pdbs(scan->arg, NULL, pdbs, count);
}

void gcs_pdbs(struct gcs *gcs, gcs_pdbs_fn fn, void *arg)
{
    struct gcs_kv_scan *scan = scan_start(gcs, "ray_pdb", "RAY_PDB_", arg);
    scan->tell = tell_pdbs;
    scan->fn.pdbs = fn;
}

/* --- one entry --- */

static void on_put(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err;
    bool good = gcs_call_answered(reply, &err) && reply_kv_put(reply->bytes, reply->len, &err) == 0;
    call->fn.done(call->inflight.arg, good ? NULL : &err);
}

void gcs_kv_put(struct gcs *gcs, const char *space, const char *key, const char *value,
                bool overwrite, gcs_done_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_put, arg);
    struct buf request = {0};
    call->fn.done = fn;
    request_kv_put(space, key, value, overwrite, &request);
    gcs_call_send(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVPut", &request);
}

static void on_del(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err;
    bool good = gcs_call_answered(reply, &err) && reply_kv_del(reply->bytes, reply->len, &err) == 0;
    call->fn.done(call->inflight.arg, good ? NULL : &err);
}

void gcs_kv_del(struct gcs *gcs, const char *space, const char *key, gcs_done_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_del, arg);
    struct buf request = {0};
    call->fn.done = fn;
    request_kv_del(space, key, &request);
    gcs_call_send(call, gcs->channel, "/ray.rpc.InternalKVGcsService/InternalKVDel", &request);
}
