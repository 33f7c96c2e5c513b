/* `raydbg attach`'s console: pdb's verbs on one debuggee. */
#ifndef RAYDBG_CLI_CONSOLE_H
#define RAYDBG_CLI_CONSOLE_H

#include "base/err.h"
#include "cli/origin.h"
#include "relay/pause_filter.h"
#include "relay/relay_address.h"
#include "relay/session.h"

#include <stdbool.h>
#include <stddef.h>

/* "REMOTE=LOCAL" of --map, split. */
struct path_map {
    char *remote;
    char *local;
};

/* All borrowed until console_run() returns. */
struct console_options {
    struct session_options session;
    const struct relay_address *relay; /* NULL: the session is in this process */
    struct origin *origin;             /* who can say whether the task still runs, or NULL */
    const struct pause *pause;         /* what is attached to, if it is known, or NULL */
    const struct pause_filter *many;   /* all that match are; NULL: one task */
    bool observe, take_over, let_go;   /* with a relay: what `attach` asks for */
    const char *const *commands;       /* -e, in order; none: stdin */
    size_t command_count;
    const struct path_map *maps;
    size_t map_count;
    const char *prompt; /* NULL: "(raydbg) ", or of many which one */
    bool strict;        /* the first command that fails ends it */
    bool echo;          /* print each command before it runs, as if it was typed */
    bool quiet;         /* no header, none of the task's output */
    bool json;          /* tables are JSON */
};

/* Attaches, runs commands until they or the task end, leaves. Returns the exit code; what went
 * wrong is printed. */
int console_run(const struct console_options *options);

#endif
