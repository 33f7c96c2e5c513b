#include "cli/dap/dap_renumber.h"

#include "base/mem.h"
#include "dap/splice.h"

#include <stdlib.h>

void renumber_note(struct renumber *renumber, int64_t seq, int64_t original)
{
    struct renumbered *request = mem_alloc(sizeof *request);
    *request = (struct renumbered){renumber->first, seq, original};
    renumber->first = request;
}

bool renumber_restore(struct renumber *renumber, const char *json, size_t len,
                      const struct envelope *response, struct buf *out)
{
    for (struct renumbered **at = &renumber->first; *at; at = &(*at)->next) {
        struct renumbered *request = *at;
        if (request->seq != response->request_seq)
            continue;
        splice_seq(json, len, response, response->seq, request->original, out);
        *at = request->next;
        free(request);
        return true;
    }
    return false;
}

void renumber_clear(struct renumber *renumber)
{
    while (renumber->first) {
        struct renumbered *request = renumber->first;
        renumber->first = request->next;
        free(request);
    }
}
