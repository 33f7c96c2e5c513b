/* The console of `raydbg attach`: pdb's verbs on one debuggee. */
#ifndef RAYDBG_CLI_CONSOLE_CONSOLE_H
#define RAYDBG_CLI_CONSOLE_CONSOLE_H

#include "base/err.h"
#include "cli/pauses/pause_source.h"
#include "relay/locate/relay_address.h"
#include "relay/pause/pause_filter.h"
#include "relay/session/session.h"

#include <stdbool.h>
#include <stddef.h>

/* The exit code of a console for one stop that was left otherwise than by `continue`. */
enum { CONSOLE_LEFT = 6 };

/* All borrowed until console_run() returns. */
struct console_options {
    struct session_options session;
    const struct relay_address *relay; /* NULL: the session is in this process */
    struct pause_source *origin;       /* tells whether the task still runs; or NULL */
    const struct pause *pause;         /* the pause to attach to; NULL: unknown */
    const struct pause_filter *many;   /* attach to all that match; NULL: one task */
    bool observe, take_over, let_go;   /* with a relay: what `attach` asks for */
    const char *const *commands;       /* -e, in order; none: stdin */
    size_t command_count;
    const char *maps;   /* the attach argument "pathMappings"; or NULL */
    const char *prompt; /* NULL: "(raydbg) ", or with `many` the task's name */
    bool one_stop;      /* `continue` leaves: the task runs on without this console. Without it the
                         * exit code is CONSOLE_LEFT. */
    bool strict;        /* the first command that fails ends it */
    bool echo;          /* print each command before it runs, as if it was typed */
    bool quiet;         /* no header, none of the task's output */
    bool json;          /* tables are JSON */
};

/* Attaches, runs commands until they or the task end, and leaves. Prints errors and returns the
 * exit code. Catches signals meanwhile. */
int console_run(const struct console_options *options);
/* True if SIGTERM or SIGHUP has ended the last console: the program is to end, too. */
bool console_end_asked(void);

#endif
