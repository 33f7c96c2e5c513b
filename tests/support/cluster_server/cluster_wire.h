/* What a request asks for, as a key of the table of replies. */
#ifndef RAYDBG_TESTS_CLUSTER_WIRE_H
#define RAYDBG_TESTS_CLUSTER_WIRE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* One method that is served. */
struct cluster_method {
    const char *name;
    /* Writes the request's key. True if it is one that the real process looks through all of its
     * records for. */
    bool (*key)(const uint8_t *bytes, size_t len, struct buf *out);
};

/* NULL if the method is not served. `path` is "/ray.rpc.Service/Method". */
const struct cluster_method *cluster_method(const char *path, size_t len);
extern const struct cluster_method cluster_methods[];
extern const size_t cluster_method_count;

#endif
