/* What an earlier relay has left of a pause since its snapshot: an input is a row of records (an
 * operation, a length, and as many bytes), then how much the connection has taken. Whatever stands
 * there, what is read is whole, and what is left of a request is a part of it. */
#include "fuzz.h"

#include "dap/scan.h"
#include "relay/hub/hub_log.h"

static const char stop[] =
    "{\"version\": 1, \"generation\": 3, \"held_since\": 1, \"kept\": false, \"torn\": false, "
    "\"pause\": {\"endpoint\": \"h:1\", \"state\": \"held\", \"debugger\": \"debugpy\"}, "
    "\"capabilities\": null, \"events\": [], \"clearing\": []}";

enum { RECORDS_MAX = 64 };

/* `end` is where a request ends that others follow. */
static void add_record(struct buf *log, const struct hub_snapshot *snapshot, uint8_t operation,
                       const char *bytes, size_t len, int64_t *end)
{
    int64_t at = 0;
    memcpy(&at, bytes, len < sizeof at ? len : sizeof at);
    switch (operation % 7) {
    case 0:
        hub_log_whole(snapshot, log);
        break;
    case 1:
        hub_log_news(snapshot, log);
        break;
    case 2:
        hub_log_sets(bytes, len, log);
        break;
    case 3:
        hub_log_request(at, bytes, len / 2, bytes + len / 2, len - len / 2, log);
        break;
    case 4:
        hub_log_request(*end, bytes, len, "", 0, log);
        *end += (int64_t)len;
        break;
    case 5:
        hub_log_unread(bytes, len, log);
        break;
    default:
        buf_add(log, bytes, len);
    }
}

static void check_rest(struct hub_log *log, int64_t written)
{
    bool found = hub_log_rest(log, written);
    size_t end = log->records.at + log->records.len;
    check(end <= log->requests.len);
    check(!log->rest.len || found);
    check(!log->rest.len == !log->records.len);
    if (log->rest.len) {
        check(log->rest.len < log->records.len);
        check(log->rest.data[log->rest.len - 1] == log->requests.data[end - 1]);
    }
}

static void check_log(const char *bytes, size_t len, int64_t written)
{
    struct hub_log log;
    struct buf again = {0};
    if (!hub_log_read(&log, bytes, len))
        return;
    check(log.snapshot.pause.host && log.snapshot.clearing[0] == '[');
    check_rest(&log, written);
    hub_log_whole(&log.snapshot, &again);
    hub_log_clear(&log);
    check(hub_log_read(&log, again.data, again.len));
    check(!log.requests.len);
    hub_log_clear(&log);
    buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hub_snapshot snapshot;
    struct buf log = {0};
    int64_t written = 0, end = 0;
    char *bytes = copy_exact(data, size);
    size_t at = 0;
    check(hub_snapshot_read(&snapshot, stop, sizeof stop - 1));
    for (int i = 0; i < RECORDS_MAX && size - at > 2; i++) {
        uint8_t operation = (uint8_t)bytes[at];
        size_t len = (uint8_t)bytes[at + 1];
        at += 2;
        if (len > size - at)
            len = size - at;
        add_record(&log, &snapshot, operation, bytes + at, len, &end);
        at += len;
    }
    memcpy(&written, bytes + at, size - at < sizeof written ? size - at : sizeof written);
    char *exact = copy_exact((const uint8_t *)log.data, log.len);
    check_log(exact, log.len, written);
    check_log(exact, log.len - log.len % 7, (int64_t)log.len / 2);
    free(exact);
    free(bytes);
    buf_free(&log);
    hub_snapshot_clear(&snapshot);
    return 0;
}
