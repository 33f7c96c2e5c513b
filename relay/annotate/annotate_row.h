/* One row of a debugger's variables, read member by member: for annotate.c. Pure. */
#ifndef RAYDBG_RELAY_ANNOTATE_ANNOTATE_ROW_H
#define RAYDBG_RELAY_ANNOTATE_ANNOTATE_ROW_H

#include "base/buf.h"
#include "dap/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The bytes of a key as they stand in a row, from its quote to its value: `"type": `. */
struct annotate_key {
    char text[24];
    uint8_t len; /* 0: none is known */
    enum annotate_field field;
};
/* Members of a row whose keys are remembered: debugpy's rows have four to six. */
enum { ANNOTATE_KEYS = 8 };

/* One variable, or the body of another response than `variables`. */
struct annotate_row {
    const char *text;
    size_t end;                 /* of the text */
    size_t inside;              /* containers around the row's members: they count as depth */
    struct span fields[FIELDS]; /* the last of each name; length 0: absent */
    bool escaped[FIELDS];       /* the value is a string with a backslash in it */
    int64_t numbers[FIELDS];    /* the value if it is written in 1 to 18 digits; else -1 */
    size_t last;                /* the offset after the last member */
    /* The keys that the row before had, in their order: a debugger's rows are made alike, so that
     * one comparison reads a key. */
    struct annotate_key keys[ANNOTATE_KEYS];
};

/* Reads the object at `at`; returns the offset after it, or 0 if it is malformed: the text need not
 * be checked. `row` has text, end and inside, and is all zero else, or as the row before left it.
 */
size_t annotate_row_read(struct annotate_row *row, size_t at);
static inline bool annotate_row_has_string(const struct annotate_row *row,
                                           enum annotate_field field)
{
    struct span value = row->fields[field];
    return value.len >= 2 && row->text[value.at] == '"';
}

/* The unescaped content of a string: the text's own bytes, or `scratch`. */
const char *annotate_row_unescape(const struct annotate_row *row, enum annotate_field field,
                                  struct buf *scratch, size_t *len);
static inline const char *annotate_row_content(const struct annotate_row *row,
                                               enum annotate_field field, struct buf *scratch,
                                               size_t *len)
{
    struct span value = row->fields[field];
    *len = value.len - 2;
    return row->escaped[field] ? annotate_row_unescape(row, field, scratch, len)
                               : row->text + value.at + 1;
}

#endif
