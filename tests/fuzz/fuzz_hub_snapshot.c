/* What an earlier relay has left of a pause: packed bytes, or (if they begin with '{') the text
 * within. What is read is written and read again as the same. */
#include "fuzz.h"

#include "base/text.h"
#include "dap/scan.h"
#include "relay/hub/hub_snapshot.h"

static bool is_json(const char *text)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, text, strlen(text));
    return scan_value(&scan, &value) && scan_end(&scan);
}

static void check_whole(const struct hub_snapshot *snapshot)
{
    check(snapshot->events && snapshot->events[0] == '[');
    check(snapshot->clearing && snapshot->clearing[0] == '[');
    check(snapshot->pause.host);
    /* A raw NUL in a string of the snapshot ends the C string within the string. */
    if (strlen(snapshot->events) > 1 && is_json(snapshot->events))
        check(snapshot->events[strlen(snapshot->events) - 1] == ']');
}

static void check_again(const struct hub_snapshot *snapshot)
{
    struct buf once = {0}, twice = {0}, packed = {0};
    struct hub_snapshot again, unpacked;
    hub_snapshot_write(snapshot, &once);
    check(hub_snapshot_read(&again, once.data, once.len));
    check_whole(&again);
    hub_snapshot_write(&again, &twice);
    check(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    hub_snapshot_pack(snapshot, &packed);
    check(hub_snapshot_unpack(&unpacked, packed.data, packed.len));
    check(text_equal(unpacked.clearing, again.clearing));
    hub_snapshot_clear(&again);
    hub_snapshot_clear(&unpacked);
    buf_free(&once);
    buf_free(&twice);
    buf_free(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hub_snapshot snapshot;
    char *bytes = copy_exact(data, size);
    bool good = size && bytes[0] == '{' ? hub_snapshot_read(&snapshot, bytes, size)
                                        : hub_snapshot_unpack(&snapshot, bytes, size);
    if (good) {
        check_whole(&snapshot);
        check_again(&snapshot);
        hub_snapshot_clear(&snapshot);
    }
    free(bytes);
    return 0;
}
