/* The program that `raydbg run` starts for its command line. */
#ifndef RAYDBG_CLI_RUN_RUN_PROGRAM_H
#define RAYDBG_CLI_RUN_RUN_PROGRAM_H

#include "base/err.h"

#include <stddef.h>

/* The arguments of the process, with a NULL behind them: the words themselves. If the first is a
 * Python file that is no program (it is not executable, or has no directory, so that a shell would
 * look for it in PATH), the `python` of PATH comes before it, or else its `python3`. The caller
 * frees the array; the strings are borrowed. NULL with `err` set: there is no python. */
char **run_program_command(char **words, size_t count, struct err *err);

#endif
