/* `raydbg list`: prints the pauses as a table, JSON or YAML. */
#ifndef RAYDBG_CLI_PAUSES_LIST_OUTPUT_H
#define RAYDBG_CLI_PAUSES_LIST_OUTPUT_H

#include "base/buf.h"
#include "cli/pauses/pause_select.h"
#include "cli/pauses/pause_source.h"

#include <stdio.h>

enum list_format { LIST_TABLE, LIST_JSON, LIST_YAML };

struct list_request {
    struct pause_select select;
    enum list_format format;
    bool watch;
};

/* Prints the pauses, a table with a footer, to stdout; the text for an empty list to stderr. */
void list_print(const struct pause_source *origin, const struct list_request *request);
/* Appends the table of `shown`, which the request has selected from the origin's pauses, and its
 * footer, or the text for an empty list. */
void list_screen(const struct pause_source *origin, const struct list_request *request,
                 const struct pause_list *shown, struct buf *out);
/* Writes and flushes; false if the reader is gone. */
bool list_put(FILE *stream, const struct buf *text);

#endif
