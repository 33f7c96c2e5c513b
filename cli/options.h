/* Command-line options of one command, from one table (as git and wg do). */
#ifndef RAYDBG_CLI_OPTIONS_H
#define RAYDBG_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum option_kind { OPTION_FLAG, OPTION_STRING, OPTION_LIST };

/* How often an OPTION_LIST may be given. */
enum { OPTION_LIST_MAX = 16 };

struct option_spec {
    const char *name; /* long name without dashes */
    char letter;      /* or 0 */
    enum option_kind kind;
    bool *flag; /* OPTION_FLAG: set to true, or to false by "no-" in the name */
    /* OPTION_STRING: points into argv. OPTION_LIST: an array of OPTION_LIST_MAX + 1, NULL behind
     * the last. */
    const char **value;
};

/* Parses argv[1…]: "--name value", "--name=value", "-x value", "--" ends options; operands may
 * stand between options and are moved to argv[1…*operands]. A "--no-x" row sets its flag to false.
 * -h and --help print help and set *done. An unknown option prints a usage error (with the nearest
 * name, if one is near) and returns false. */
bool options_parse(const char *command, const struct option_spec *specs, size_t count, int argc,
                   char **argv, int *operands, bool *done);

#endif
