#include "relay/hub_snapshot.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/scan.h"
#include "relay/pause_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { VERSION = 1, MAX_TEXT = 16 * 1024 * 1024 };

/* The body of an answer may be empty, which alone is no JSON. */
static void put_json(struct buf *out, const char *name, const char *json)
{
    buf_printf(out, ",\"%s\":", name);
    buf_add_string(out, text_empty(json) ? "null" : json);
}

void hub_snapshot_write(const struct hub_snapshot *snapshot, struct buf *out)
{
    buf_printf(out, "{\"version\":%d,\"generation\":%" PRId64 ",\"held_since\":%" PRId64, VERSION,
               snapshot->generation, snapshot->held_since_ms);
    buf_printf(out, ",\"kept\":%s,\"torn\":%s,\"pause\":", snapshot->kept ? "true" : "false",
               snapshot->torn ? "true" : "false");
    pause_json(&snapshot->pause, out);
    put_json(out, "capabilities", snapshot->capabilities);
    put_json(out, "events", snapshot->events);
    put_json(out, "clearing", snapshot->clearing);
    buf_add_string(out, "}");
}

static bool get_integer(const char *text, struct span all, const char *name, int64_t *out)
{
    struct span value;
    return scan_find(text, all, name, &value) && scan_integer(text, value, out);
}

static bool get_flag(const char *text, struct span all, const char *name, bool *out)
{
    struct span value;
    return scan_find(text, all, name, &value) && scan_boolean(text, value, out);
}

/* NULL for null. */
static bool get_json(const char *text, struct span all, const char *name, char **out)
{
    struct span value;
    if (!scan_find(text, all, name, &value))
        return false;
    if (text[value.at] != 'n')
        *out = mem_string_n(text + value.at, value.len);
    return true;
}

static bool get_array(const char *text, struct span all, const char *name, char **out)
{
    return get_json(text, all, name, out) && *out && **out == '[';
}

bool hub_snapshot_read(struct hub_snapshot *out, const char *text, size_t len)
{
    struct scan scan;
    struct span all, pause;
    int64_t version;
    *out = (struct hub_snapshot){0};
    scan_init(&scan, text, len);
    if (!scan_value(&scan, &all) || !get_integer(text, all, "version", &version) ||
        version != VERSION)
        return false;
    bool good =
        scan_find(text, all, "pause", &pause) && pause_json_read(&out->pause, text, pause) &&
        get_integer(text, all, "generation", &out->generation) &&
        get_integer(text, all, "held_since", &out->held_since_ms) &&
        get_flag(text, all, "kept", &out->kept) && get_flag(text, all, "torn", &out->torn) &&
        get_json(text, all, "capabilities", &out->capabilities) &&
        get_array(text, all, "events", &out->events) &&
        get_array(text, all, "clearing", &out->clearing);
    if (!good)
        hub_snapshot_clear(out);
    return good;
}

void hub_snapshot_clear(struct hub_snapshot *snapshot)
{
    pause_clear(&snapshot->pause);
    free(snapshot->capabilities);
    free(snapshot->events);
    free(snapshot->clearing);
    *snapshot = (struct hub_snapshot){0};
}

/* As compress2(), with tables for a text of a few KiB: to clear the 256 KiB that it takes would be
 * most of the work, and there is a snapshot at each stop, before the clients are told of that. */
static void deflate_small(const struct buf *text, struct buf *out)
{
    enum { WINDOW_BITS = 12, MEM_LEVEL = 5 };
    z_stream stream = {.next_in = (Bytef *)text->data, .avail_in = (uInt)text->len};
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    uLong room = deflateBound(&stream, text->len);
    stream.next_out = (Bytef *)buf_reserve(out, room);
    stream.avail_out = (uInt)room;
    if (deflate(&stream, Z_FINISH) == Z_STREAM_END)
        out->len += stream.total_out;
    deflateEnd(&stream);
}

void hub_snapshot_pack(const struct hub_snapshot *snapshot, struct buf *out)
{
    struct buf text = {0};
    hub_snapshot_write(snapshot, &text);
    uint32_t plain = (uint32_t)text.len;
    buf_add(out, &plain, sizeof plain);
    deflate_small(&text, out);
    buf_free(&text);
}

bool hub_snapshot_unpack(struct hub_snapshot *out, const char *bytes, size_t len)
{
    uint32_t plain = 0;
    *out = (struct hub_snapshot){0};
    if (len <= sizeof plain)
        return false;
    memcpy(&plain, bytes, sizeof plain);
    if (plain == 0 || plain > MAX_TEXT)
        return false;
    char *text = mem_alloc(plain + 1);
    uLongf got = plain;
    bool good = uncompress((Bytef *)text, &got, (const Bytef *)bytes + sizeof plain,
                           len - sizeof plain) == Z_OK &&
                got == plain && hub_snapshot_read(out, text, plain);
    free(text);
    return good;
}
