/* Command-line options of one command, from its table (as git and wg do). */
#ifndef RAYDBG_CLI_COMMON_OPTIONS_H
#define RAYDBG_CLI_COMMON_OPTIONS_H

#include "base/buf.h"
#include "cli/common/command_text.h"

#include <stdbool.h>
#include <stddef.h>

/* The row of --address where only a GCS can answer; `type` is the command's struct. */
#define GCS_OPTION_ROW(type, field)                                                                \
    {                                                                                              \
        "address", 'a', OPTION_STRING, offsetof(type, field),                                      \
            .value = "ADDRESS",                                                                    \
            .help =                                                                                \
                "the cluster: HOST:PORT of the GCS; else RAY_ADDRESS, else the cluster that runs " \
                "on this machine"                                                                  \
    }

/* The row of -h and --help, which every command takes. */
extern const struct option_row options_help_row;

/* The values of an option that may be repeated; all zero is empty. They point into argv. */
struct option_list {
    const char **items; /* the owner frees the array */
    size_t count;
};

/* Parses argv[1…] into the fields of the command's struct `into`: "--name value", "--name=value",
 * "-x value", "--" ends options. Operands may come between options (unless the first is a program,
 * see command_text.runs) and are moved to argv[1…*operands]. -h and --help print help and set
 * *done. Returns false after a usage error: an unknown option (with the nearest name, if one is
 * near), a value that is missing, none of the row's words, or given too often. */
bool options_parse(const struct command_text *command, void *into, int argc, char **argv,
                   int *operands, bool *done);

/* Appends an option as the help shows it: "-w, --watch" or "    --node N". */
void options_label(struct buf *out, const struct option_row *row);

#endif
