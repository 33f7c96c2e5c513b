/* One row of a debugger's variables, read member by member: for annotate.c. Pure. */
#ifndef RAYDBG_RELAY_ANNOTATE_ROW_H
#define RAYDBG_RELAY_ANNOTATE_ROW_H

#include "base/buf.h"
#include "dap/scan.h"

#include <stdbool.h>
#include <stddef.h>

enum annotate_field {
    FIELD_NAME,
    FIELD_VALUE,
    FIELD_RESULT,
    FIELD_TYPE,
    FIELD_EVALUATE_NAME,
    FIELD_REFERENCE,
    FIELD_HINT,
    FIELDS,
};

/* One variable, or the body of another response than `variables`. */
struct annotate_row {
    const char *text;
    size_t end;                 /* of the text */
    struct span fields[FIELDS]; /* the last of each name; length 0: there is none */
    bool escaped[FIELDS];       /* a string with a backslash in it */
    size_t last;                /* behind its last member */
};

/* Reads the object that stands at `at`; returns what is behind it. `row` has text and end; the text
 * was scanned before: no value ends behind it, and what stands there is as it should be. */
size_t annotate_row_read(struct annotate_row *row, size_t at);
bool annotate_row_has_string(const struct annotate_row *row, enum annotate_field field);
/* The unescaped content of a string: the text's own bytes, or `scratch`. */
const char *annotate_row_content(const struct annotate_row *row, enum annotate_field field,
                                 struct buf *scratch, size_t *len);
/* The same, NUL-terminated; "" for what is no string. */
const char *annotate_row_string(const struct annotate_row *row, enum annotate_field field,
                                struct buf *scratch);

#endif
