/* One pass over a message, as it comes: finds if it may hold anything to annotate or for `seen`,
 * and which variablesReferences it has. It needs no parser: in a string the quotes around a key
 * would be escaped. Pure. */
#ifndef RAYDBG_RELAY_ANNOTATE_ANNOTATE_SCAN_H
#define RAYDBG_RELAY_ANNOTATE_ANNOTATE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANNOTATE_RUNS = 16 };

/* All zero is a new one. */
struct annotate_scan {
    size_t at;    /* the scan goes on here */
    bool applies; /* as annotate_applies(); once true, the scan ends and the runs are incomplete */
    bool scattered; /* there are more runs */
    size_t run_count;
    struct annotate_run {
        int64_t first, last; /* each is one above the one before, in the message's order */
    } runs[ANNOTATE_RUNS];
};

/* Goes on with the scan. `json` is the message up to `len`, more with each call, and may have
 * moved; `whole`: the message ends there. */
void annotate_scan_on(struct annotate_scan *look, const char *json, size_t len, bool whole);

#endif
