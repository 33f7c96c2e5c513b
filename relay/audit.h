/* The audit log: who did what to which pause, a JSON line each. Never a value or a token. */
#ifndef RAYDBG_RELAY_AUDIT_H
#define RAYDBG_RELAY_AUDIT_H

#include "base/err.h"

struct audit;

/* Strings may be NULL: the key is left out. What is longer than 1,024 bytes is cut; what is not
 * UTF-8 becomes U+FFFD. */
struct audit_entry {
    const char *action; /* "connect", "attach", "evaluate", "refused", … */
    const char *peer;   /* "127.0.0.1:50212", "unix" */
    const char *role;   /* "driver", "observer" */
    const char *client; /* what it calls itself */
    const char *task;   /* its name */
    const char *pause;  /* the pause's id */
    const char *detail; /* one clause */
};

/* Appends to the file `path`, which is made with mode 0600 (and set to it); "none" writes nothing.
 * What is no plain file (/dev/stderr, a pipe) is written to as it is. NULL with `err` set if it
 * cannot be opened. */
struct audit *audit_open(const char *path, struct err *err);
void audit_close(struct audit **audit);

/* Adds the time (UTC, ms) and writes the line with one system call. A file that would become
 * larger than 10 MiB is renamed to PATH.1 before, and a new one begun, as it is when somebody has
 * removed it. A disk that fails is warned of once, until it works again. NULL writes nothing. */
void audit_write(struct audit *audit, const struct audit_entry *entry);

#endif
