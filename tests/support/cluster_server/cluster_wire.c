#include "cluster_wire.h"

#include <string.h>

struct bytes {
    const uint8_t *at;
    size_t len;
};

static bool read_varint(struct bytes *in, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; in->len && shift < 64; shift += 7) {
        uint8_t byte = *in->at++;
        in->len--;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Steps over a field's value; `value` is what a length-delimited one has, `number` a varint. */
static bool read_field(struct bytes *in, uint64_t *field, struct bytes *value, uint64_t *number)
{
    uint64_t tag, len = 0;
    if (!read_varint(in, &tag))
        return false;
    *field = tag >> 3;
    *number = 0;
    if ((tag & 7) == 0)
        return read_varint(in, number);
    if ((tag & 7) == 2 && !read_varint(in, &len))
        return false;
    if ((tag & 7) == 1)
        len = 8;
    else if ((tag & 7) == 5)
        len = 4;
    if (len > in->len)
        return false;
    *value = (struct bytes){in->at, len};
    in->at += len;
    in->len -= len;
    return true;
}

/* The first value of a field: bytes, or a number. */
static bool find(struct bytes in, uint64_t wanted, struct bytes *value, uint64_t *number)
{
    uint64_t field;
    while (read_field(&in, &field, value, number))
        if (field == wanted)
            return true;
    *value = (struct bytes){0};
    *number = 0;
    return false;
}

static struct bytes bytes_at(struct bytes in, uint64_t field)
{
    struct bytes value;
    uint64_t number;
    find(in, field, &value, &number);
    return value;
}

static bool is_set(struct bytes in, uint64_t field)
{
    struct bytes value;
    uint64_t number;
    return find(in, field, &value, &number) && number;
}

/* --- keys --- */

static bool key_none(const uint8_t *bytes, size_t len, struct buf *out)
{
    (void)bytes, (void)len, (void)out;
    return true;
}

static bool key_first(const uint8_t *bytes, size_t len, struct buf *out)
{
    struct bytes id = bytes_at((struct bytes){bytes, len}, 1);
    buf_add(out, id.at, id.len);
    return false;
}

/* Writes, which are forgotten. */
static bool key_ignored(const uint8_t *bytes, size_t len, struct buf *out)
{
    (void)bytes, (void)len, (void)out;
    return false;
}

static bool key_kv(const uint8_t *bytes, size_t len, struct buf *out)
{
    struct bytes in = {bytes, len}, space = bytes_at(in, 2), key = bytes_at(in, 1);
    buf_add(out, space.at, space.len);
    buf_add(out, "/", 1);
    buf_add(out, key.at, key.len);
    return false;
}

/* GetAllWorkerInfoRequest.filters: exist_paused_threads = 1, is_alive = 2. */
static bool key_workers(const uint8_t *bytes, size_t len, struct buf *out)
{
    struct bytes filters = bytes_at((struct bytes){bytes, len}, 2);
    if (is_set(filters, 1))
        buf_add_string(out, "paused");
    else if (is_set(filters, 2))
        buf_add_string(out, "alive");
    return true;
}

/* GetTaskEventsRequest.filters.task_filters = 2 {value = 2}: the only one with an index. */
static bool key_task(const uint8_t *bytes, size_t len, struct buf *out)
{
    struct bytes filters = bytes_at((struct bytes){bytes, len}, 4);
    struct bytes id = bytes_at(bytes_at(filters, 2), 2);
    buf_add(out, id.at, id.len);
    return id.len == 0;
}

const struct cluster_method cluster_methods[] = {
    {"GetAllActorInfo", key_none},      {"GetAllJobInfo", key_none},
    {"GetAllNodeInfo", key_none},       {"GetAllWorkerInfo", key_workers},
    {"GetActorInfo", key_first},        {"GetCoreWorkerStats", key_first},
    {"GetTaskEvents", key_task},        {"InternalKVGet", key_kv},
    {"InternalKVKeys", key_kv},         {"GetWorkerInfo", key_first},
    {"InternalKVPut", key_ignored},     {"InternalKVDel", key_ignored},
    {"GetAllPlacementGroup", key_none}, {"GetClusterResourceState", key_none},
};
const size_t cluster_method_count = sizeof cluster_methods / sizeof *cluster_methods;

const struct cluster_method *cluster_method(const char *path, size_t len)
{
    for (size_t i = 0; i < cluster_method_count; i++) {
        size_t own = strlen(cluster_methods[i].name);
        if (len > own && path[len - own - 1] == '/' &&
            memcmp(path + len - own, cluster_methods[i].name, own) == 0)
            return &cluster_methods[i];
    }
    return NULL;
}
