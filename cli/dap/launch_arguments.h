/* The arguments of a client's `launch`: what to run, and the `attach` that it becomes. Pure. */
#ifndef RAYDBG_CLI_DAP_LAUNCH_ARGUMENTS_H
#define RAYDBG_CLI_DAP_LAUNCH_ARGUMENTS_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"

#include <stdbool.h>
#include <stddef.h>

enum launch_console { LAUNCH_INTEGRATED, LAUNCH_EXTERNAL, LAUNCH_INTERNAL };

/* Strings are owned. */
struct launch_arguments {
    char **command; /* the Python, the program, its arguments; ends with NULL */
    size_t count;
    char *title; /* "train.py" */
    char *cwd;   /* or NULL */
    char *env;   /* a JSON object of strings and nulls, or NULL */
    enum launch_console console;
    bool post_mortem; /* what fails stops where the exception was raised */
};

/* An error names the argument that is wrong or missing. */
int launch_arguments_read(struct launch_arguments *out, const char *json, struct span arguments,
                          struct err *err);
void launch_arguments_clear(struct launch_arguments *arguments);

/* Appends the arguments of the reverse request runInTerminal, which runs `raydbg run --session
 * SOCKET`; `raydbg` is the program's path, `cwd` the directory if the launch names none. */
void launch_arguments_terminal(const struct launch_arguments *arguments, const char *raydbg,
                               const char *socket, const char *cwd, struct buf *out);
/* Appends the arguments of the `attach` to all processes of the run: the members that are not about
 * the program, byte for byte, and those that choose the tasks. */
void launch_arguments_attach(const char *json, struct span arguments, const char *run,
                             struct buf *out);

#endif
