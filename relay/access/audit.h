/* The audit log: one JSON line for each client action on a pause. It never contains a variable's
 * value or a token. */
#ifndef RAYDBG_RELAY_ACCESS_AUDIT_H
#define RAYDBG_RELAY_ACCESS_AUDIT_H

#include "base/err.h"

struct audit;

/* The key of a NULL string is left out. A string longer than 1,024 bytes is cut; bytes that are not
 * UTF-8 become U+FFFD; characters that a terminal would act on are escaped. */
struct audit_entry {
    const char *action; /* "connect", "attach", "evaluate", "refused", … */
    const char *peer;   /* "127.0.0.1:50212", "unix" */
    const char *role;   /* "driver", "observer" */
    const char *client; /* the client's own name for itself */
    const char *task;   /* its name */
    const char *pause;  /* the pause's id */
    const char *detail; /* one clause */
};

/* Appends to the file `path`, which is created with mode 0600 (an existing one is set to it);
 * "none" writes nothing. A file that is not regular (a pipe), or is in /dev (/dev/stderr) or
 * /proc/self/fd, is written to as it is. NULL with `err` set if the file cannot be opened, is a
 * symbolic link, is another user's or has two names. */
struct audit *audit_open(const char *path, struct err *err);
void audit_close(struct audit **audit);

/* Adds the time (UTC, ms) and writes the line with one system call. A file that would become larger
 * than 10 MiB is first renamed to PATH.1, by one of the relays that write to it. A new file is
 * begun then, and also if the file was removed. A failed write logs one warning until a write
 * succeeds again. NULL writes nothing. */
void audit_write(struct audit *audit, const struct audit_entry *entry);

#endif
