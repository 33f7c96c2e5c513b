/* One pass over a message, as it comes: may it hold anything to annotate or to be seen, and which
 * references does it hand out? Not parsed: in a string the quotes around a key would be escaped.
 * Pure. */
#ifndef RAYDBG_RELAY_ANNOTATE_LOOK_H
#define RAYDBG_RELAY_ANNOTATE_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANNOTATE_RUNS = 16 };

/* All zero is a new one. */
struct annotate_look {
    size_t at;    /* all in front of this was looked at */
    bool applies; /* as annotate_applies(): nothing more is looked at, and the runs do not count */
    bool scattered; /* there are more runs */
    size_t run_count;
    struct annotate_run {
        int64_t first, last; /* each the one before and one more, in the message's order */
    } runs[ANNOTATE_RUNS];
};

/* `json` is the message up to `len`, more of it each time, wherever it is; `whole`: there is no
 * more. */
void annotate_look_on(struct annotate_look *look, const char *json, size_t len, bool whole);

#endif
