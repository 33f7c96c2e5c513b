/* pdb's aliases: names for commands; %1 to %9 and %* are replaced by the words after the name.
 * Pure. */
#ifndef RAYDBG_CLI_TEXT_CONSOLE_ALIAS_H
#define RAYDBG_CLI_TEXT_CONSOLE_ALIAS_H

#include <stdbool.h>
#include <stddef.h>

struct alias {
    char *name, *command;
};

/* All zero is empty. */
struct aliases {
    struct alias *items;
    size_t count;
};

/* Replaces an alias of the same name. */
void aliases_set(struct aliases *aliases, const char *name, const char *command);
bool aliases_remove(struct aliases *aliases, const char *name);
/* NULL if there is none. */
const struct alias *aliases_find(const struct aliases *aliases, const char *name, size_t len);
/* Expands `line`; the caller frees the result. NULL if the first word is not an alias. The result
 * may begin with an alias again. */
char *aliases_expand(const struct aliases *aliases, const char *line);
void aliases_clear(struct aliases *aliases);

#endif
