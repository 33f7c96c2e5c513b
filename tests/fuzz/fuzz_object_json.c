/* A sweep of the object stores, from a file of `--diff` or from a relay: what is read is written
 * and read again as the same. */
#include "fuzz.h"

#include "relay/sweep/sweep_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct buf once = {0}, twice = {0};
    char *json = copy_exact(data, size);
    struct object_sweep *sweep = sweep_json_read(json, size, &err);
    check(sweep || err.what[0]);
    if (sweep) {
        sweep_json_write(sweep, &once);
        struct object_sweep *again = sweep_json_read(once.data, once.len, &err);
        check(again);
        sweep_json_write(again, &twice);
        check(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
        object_sweep_free(&again);
        object_sweep_free(&sweep);
    }
    buf_free(&once);
    buf_free(&twice);
    free(json);
    return 0;
}
