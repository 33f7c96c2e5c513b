/* Reads what a native crash leaves at the end of a process's standard error (Ray's and Python's
 * handlers). */
#ifndef RAYDBG_RELAY_WHY_RECORDS_CRASH_LOG_H
#define RAYDBG_RELAY_WHY_RECORDS_CRASH_LOG_H

#include <stdbool.h>
#include <stddef.h>

struct crash_log {
    char signal[16];   /* "SIGSEGV" */
    const char *stack; /* within the text: Python's stack; NULL if there is none */
    /* Of an abort the line before it, within the text, which often says why: "free(): invalid
     * pointer", "  what():  CUDA error". NULL if there is none, and of other signals. */
    const char *reason;
    size_t reason_len;
};

/* False if the text has no crash. Of several the last one counts. */
bool crash_log_read(const char *text, struct crash_log *out);

#endif
