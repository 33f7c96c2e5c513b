/* Source texts as lines. Pure. */
#ifndef RAYDBG_CLI_TEXT_CONSOLE_SOURCE_H
#define RAYDBG_CLI_TEXT_CONSOLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lines are numbered from 1, without their ends. All zero is an empty text. */
struct source {
    char *text;
    const char **lines;
    size_t count;
};

/* Takes ownership of `text` (allocated) and changes it. */
void source_set(struct source *source, char *text);
void source_clear(struct source *source);
/* NULL out of range. */
const char *source_line(const struct source *source, int64_t number);

/* The lines of the Python function `name` around `line`, decorators included; the whole text for
 * "<module>" or if no function is found. */
void source_function(const struct source *source, int64_t line, const char *name, int64_t *first,
                     int64_t *last);

/* Reads a whole regular file of at most 16 MiB; NULL on failure. The caller frees. */
char *source_read_file(const char *path, int64_t *size);

#endif
