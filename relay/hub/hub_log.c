#include "relay/hub/hub_log.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Each value is above a snapshot's largest length, with which the logs of earlier relays began. */
enum kind {
    WHOLE = 0x5244424C, /* "RDBL" */
    NEWS,
    SETS,
    REQUEST,
    UNREAD, /* an earlier version of the relay, which does not know it, skips it */
};

struct head {
    uint32_t kind;
    uint32_t len; /* bytes of what follows */
};

struct record {
    enum kind kind;
    struct span all, body;
};

static void add_head(enum kind kind, size_t len, struct buf *out)
{
    struct head head = {kind, (uint32_t)len};
    buf_add(out, &head, sizeof head);
}

static void add_snapshot(enum kind kind, const struct hub_snapshot *snapshot, struct buf *out)
{
    size_t at = out->len;
    add_head(kind, 0, out);
    hub_snapshot_pack(snapshot, out);
    struct head head = {kind, (uint32_t)(out->len - at - sizeof head)};
    memcpy(out->data + at, &head, sizeof head);
}

void hub_log_whole(const struct hub_snapshot *snapshot, struct buf *out)
{
    add_snapshot(WHOLE, snapshot, out);
}

void hub_log_news(const struct hub_snapshot *snapshot, struct buf *out)
{
    struct hub_snapshot news = *snapshot;
    news.clearing = (char *)(uintptr_t) "[]";
    add_snapshot(NEWS, &news, out);
}

void hub_log_sets(const char *json, size_t len, struct buf *out)
{
    add_head(SETS, len, out);
    buf_add(out, json, len);
}

void hub_log_request(int64_t at, const char *head, size_t head_len, const char *body,
                     size_t body_len, struct buf *out)
{
    add_head(REQUEST, sizeof at + head_len + body_len, out);
    buf_add(out, &at, sizeof at);
    buf_add(out, head, head_len);
    buf_add(out, body, body_len);
}

void hub_log_unread(const char *bytes, size_t len, struct buf *out)
{
    add_head(UNREAD, len, out);
    buf_add(out, bytes, len);
}

/* False after the last. */
static bool next_record(const char *bytes, size_t len, size_t *cursor, struct record *out)
{
    struct head head;
    if (len - *cursor < sizeof head)
        return false;
    memcpy(&head, bytes + *cursor, sizeof head);
    if (head.len > len - *cursor - sizeof head)
        return false;
    *out = (struct record){
        (enum kind)head.kind, {*cursor, sizeof head + head.len}, {*cursor + sizeof head, head.len}};
    *cursor += sizeof head + head.len;
    return true;
}

/* --- reading --- */

struct reading {
    struct record whole, news;
    struct buf sets;
};

static bool is_array(const char *text)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, text, strlen(text));
    return *text == '[' && scan_value(&scan, &value) && scan_end(&scan);
}

/* Adds `sets` to `clearing`, unless the result is no JSON: it would make the next snapshot
 * unreadable, and the pause counts more than its breakpoints. */
static void add_sets(struct hub_snapshot *snapshot, const struct buf *sets)
{
    size_t len = strlen(snapshot->clearing);
    while (len && snapshot->clearing[len - 1] != ']')
        len--;
    if (!sets->len || !len)
        return;
    bool any = strchr(snapshot->clearing, '{') != NULL;
    char *more = mem_format("%.*s%s%.*s]", (int)len - 1, snapshot->clearing, any ? "," : "",
                            (int)sets->len, sets->data);
    if (!is_array(more)) {
        log_warn("a relay before has left breakpoints that cannot be read: they stay set");
        free(more);
        return;
    }
    free(snapshot->clearing);
    snapshot->clearing = more;
}

static bool read_snapshot(struct hub_snapshot *out, const char *bytes, const struct reading *it)
{
    struct hub_snapshot news;
    if (!hub_snapshot_unpack(out, bytes + it->whole.body.at, it->whole.body.len))
        return false;
    if (it->news.kind && hub_snapshot_unpack(&news, bytes + it->news.body.at, it->news.body.len)) {
        char *none = news.clearing;
        news.clearing = out->clearing;
        out->clearing = none;
        hub_snapshot_clear(out);
        *out = news;
    }
    add_sets(out, &it->sets);
    return true;
}

bool hub_log_read(struct hub_log *out, const char *bytes, size_t len)
{
    struct reading it = {0};
    struct record record;
    size_t cursor = 0;
    *out = (struct hub_log){0};
    if (!next_record(bytes, len, &cursor, &it.whole) || it.whole.kind != WHOLE)
        return hub_snapshot_unpack(&out->snapshot, bytes, len);
    while (next_record(bytes, len, &cursor, &record)) {
        if (record.kind == NEWS) {
            it.news = record;
        } else if (record.kind == SETS) {
            if (it.sets.len)
                buf_add(&it.sets, ",", 1);
            buf_add(&it.sets, bytes + record.body.at, record.body.len);
        } else if (record.kind == REQUEST && record.body.len > sizeof(int64_t)) {
            buf_add(&out->requests, bytes + record.all.at, record.all.len);
        } else if (record.kind == UNREAD) {
            buf_clear(&out->unread, SIZE_MAX);
            buf_add(&out->unread, bytes + record.body.at, record.body.len);
        }
    }
    bool good = read_snapshot(&out->snapshot, bytes, &it);
    buf_free(&it.sets);
    if (!good)
        hub_log_clear(out);
    return good;
}

void hub_log_clear(struct hub_log *log)
{
    hub_snapshot_clear(&log->snapshot);
    buf_free(&log->unread);
    buf_free(&log->requests);
    buf_free(&log->rest);
}

/* Reads where the request begins and ends on its connection. False if no connection carries so many
 * bytes. */
static bool read_place(const struct hub_log *log, const struct record *it, int64_t *at,
                       int64_t *end)
{
    memcpy(at, log->requests.data + it->body.at, sizeof *at);
    if (*at < 0 || *at > INT64_MAX / 2)
        return false;
    *end = *at + (int64_t)(it->body.len - sizeof *at);
    return true;
}

static void add_rest(struct hub_log *log, const struct record *it, size_t gone)
{
    size_t before = sizeof(int64_t) + gone;
    buf_add(&log->rest, log->requests.data + it->body.at + before, it->body.len - before);
    if (!log->records.len)
        log->records.at = it->all.at;
    log->records.len = it->all.at + it->all.len - log->records.at;
}

bool hub_log_rest(struct hub_log *log, int64_t written)
{
    struct record it;
    size_t cursor = 0;
    int64_t at, end, last = INT64_MIN;
    bool between = log->requests.len == 0;
    buf_clear(&log->rest, SIZE_MAX);
    log->records = (struct span){0, 0};
    while (next_record(log->requests.data, log->requests.len, &cursor, &it)) {
        bool known = read_place(log, &it, &at, &end);
        /* Everything behind an unsent byte was queued, and has a record. */
        if (log->rest.len && (!known || at != last))
            break;
        if (!known)
            continue;
        last = end;
        between |= written == at || written == end;
        if (log->rest.len)
            add_rest(log, &it, 0);
        else if (written >= at && written < end)
            add_rest(log, &it, (size_t)(written - at));
    }
    /* Requests after the last one were too short to be sent in part. */
    return log->rest.len || between || written > last;
}
