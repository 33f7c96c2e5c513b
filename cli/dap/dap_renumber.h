/* The relay's requests to the client that were sent under another seq. Pure. */
#ifndef RAYDBG_CLI_DAP_DAP_RENUMBER_H
#define RAYDBG_CLI_DAP_DAP_RENUMBER_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct renumbered {
    struct renumbered *next;
    int64_t seq, original;
};

/* All zero is valid and empty. */
struct renumber {
    struct renumbered *first;
};

/* The client knows the request `original` by this seq. */
void renumber_note(struct renumber *renumber, int64_t seq, int64_t original);
/* Appends the client's response with the request_seq that the relay expects. False if it has that
 * already. */
bool renumber_restore(struct renumber *renumber, const char *json, size_t len,
                      const struct envelope *response, struct buf *out);
void renumber_clear(struct renumber *renumber);

#endif
