/* The shape that a JSON value must have, where the receiver does not check it itself. Pure. */
#ifndef RAYDBG_DAP_SHAPE_H
#define RAYDBG_DAP_SHAPE_H

#include "dap/scan.h"

#include <stdbool.h>

struct shape {
    enum {
        SHAPE_FLAG,
        SHAPE_INTEGER,
        SHAPE_NUMBER,
        SHAPE_TEXT,
        SHAPE_FILLED, /* text that is not empty */
        SHAPE_PATH,   /* the same without NUL and without halves of a character */
        SHAPE_WORD,
        SHAPE_EXACT_WORD,
        SHAPE_LIST,
        SHAPE_OBJECT,
        SHAPE_INTEGER_OR_OBJECT,
    } kind;
    bool nullable;               /* null fits, too */
    const char *const *words;    /* of a word: up to NULL; case counts in an exact one only */
    const struct shape *element; /* of a list */
    const struct shape_member
        *members; /* of an object: up to a NULL name; others may be anything */
};

struct shape_member {
    const char *name;
    const struct shape *shape;
    bool required;
};

/* `value` is a span that scan_value() has accepted. */
bool shape_fits(const struct shape *shape, const char *json, struct span value);

#endif
