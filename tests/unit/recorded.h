/* What real clusters answered: data/ray-<version>-<what>.bin, each one gRPC reply. The cluster had
 * one paused task `square`, one paused method `Trainer.step` of the actor "bob", and a crashed
 * worker. */
#ifndef RAYDBG_TESTS_RECORDED_H
#define RAYDBG_TESTS_RECORDED_H

#include "cmocka_prelude.h"
#include "test_data.h"

#include "base/buf.h"

#include <stdio.h>

/* `name` is "2.60.0-workers". */
static inline struct buf load(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/ray-%s.bin", test_data, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct buf bytes = {0};
    size_t got = fread(buf_reserve(&bytes, 1 << 18), 1, 1 << 18, file);
    bytes.len = got;
    fclose(file);
    assert_true(got > 0);
    return bytes;
}

#define BYTES(buf) (const uint8_t *)(buf).data, (buf).len

#endif
