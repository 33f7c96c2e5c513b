/* What a bad relay does to the answers that pass it: dapload has to notice each of these. */
#ifndef RAYDBG_LOAD_FAULT_H
#define RAYDBG_LOAD_FAULT_H

#include "base/buf.h"

#include <stdbool.h>

struct fault_kind;

struct fault {
    const struct fault_kind *kind; /* NULL: none */
    long every;                    /* of so many answers with a canned body, the last one suffers */
    long seen;
};

bool fault_find(const char *name, struct fault *out);
/* The names, for a usage text. */
const char *fault_names(void);
/* Takes the whole messages out of `in` and adds what becomes of them to `out`. `last` is the
 * connection's, empty at first. */
void fault_pass(struct fault *fault, struct buf *in, struct buf *last, struct buf *out);

#endif
