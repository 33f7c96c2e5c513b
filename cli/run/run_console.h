/* The console of `raydbg run`: a `raydbg attach` that has the run's terminal while something is
 * stopped. The program is in the background of the terminal meanwhile: it can print, and it waits
 * if it reads. */
#ifndef RAYDBG_CLI_RUN_RUN_CONSOLE_H
#define RAYDBG_CLI_RUN_RUN_CONSOLE_H

#include "relay/io/loop.h"
#include "relay/locate/relay_find.h"
#include "relay/pause/pause.h"

struct run_console;

/* True if a shell has given this process a terminal, for input and output. */
bool run_console_is_possible(void);

/* NULL unless that is so. `wish` names the token's file, `relay` the relay, which may have been
 * found by its registration, and what to trust at it; both are borrowed. */
struct run_console *run_console_create(struct loop *loop, const struct relay_wish *wish,
                                       const struct relay_address *relay);
/* A console that is open is left to itself, and the terminal with it: wait for its end first. */
void run_console_destroy(struct run_console **console);

/* False with NULL, and while one is open, or the shell has the terminal: `raydbg run` is in the
 * background. */
bool run_console_may_open(const struct run_console *console);
/* Opens the console of this pause; it may open. False, with `err`, if it cannot be started. */
bool run_console_open(struct run_console *console, const struct pause *pause, struct err *err);
/* False with NULL, and once the console has ended and the program has the terminal again. */
bool run_console_is_open(const struct run_console *console);
/* True if an open one is stopped while the shell has the terminal: only the shell's user can let it
 * go on. */
bool run_console_is_suspended(const struct run_console *console);
/* Asks the open one to end, which happens later; one that is suspended is killed. */
void run_console_hang_up(const struct run_console *console);
/* How the last one ended; not with NULL. */
enum run_console_end {
    RUN_CONSOLE_CONTINUED, /* by letting the task go on from its stop */
    RUN_CONSOLE_LEFT,      /* otherwise, by the user */
    RUN_CONSOLE_FAILED,    /* it could not attach, or died: another one would, too */
};
enum run_console_end run_console_end(const struct run_console *console);

#endif
