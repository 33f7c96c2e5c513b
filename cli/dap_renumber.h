/* A relay's requests to the client that had to be given another number. Pure. */
#ifndef RAYDBG_CLI_DAP_RENUMBER_H
#define RAYDBG_CLI_DAP_RENUMBER_H

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

/* The client has the request `original` under this seq. */
void renumber_note(struct renumber *renumber, int64_t seq, int64_t original);
/* Appends the client's response with the number that the relay waits for. False: it is that number
 * already. */
bool renumber_restore(struct renumber *renumber, const char *json, size_t len,
                      const struct envelope *response, struct buf *out);
void renumber_clear(struct renumber *renumber);

#endif
