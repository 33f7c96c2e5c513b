/* Records as JSON objects and back, by tables that say which member is which field. The reading is
 * strict: each member of the table must be there (but for optional ones) with its type; others are
 * skipped. Pure. */
#ifndef RAYDBG_RELAY_JSON_FIELDS_H
#define RAYDBG_RELAY_JSON_FIELDS_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"

enum json_kind {
    JSON_TEXT,    /* char *, allocated; "" (and NULL) is null */
    JSON_WORD,    /* char[]; "" is null; what does not fit is refused */
    JSON_HEX,     /* char[], lower-case digits that fill it; "" is null */
    JSON_COUNT,   /* int64_t from 0; -1 is null */
    JSON_NUMBER,  /* int64_t */
    JSON_INT,     /* int */
    JSON_PORT,    /* uint16_t */
    JSON_INDEX,   /* size_t */
    JSON_BOOL,    /* bool */
    JSON_MS,      /* int64_t in ms, written in seconds; 0 is null */
    JSON_SECONDS, /* double from 0, to the microsecond */
};

struct json_field {
    const char *name;
    enum json_kind kind;
    size_t offset;
    size_t size; /* of an array */
    bool optional;
};

#define JSON_FIELD(type, member, name, kind)                                                       \
    {                                                                                              \
        name, kind, offsetof(type, member), sizeof(((type *)NULL)->member), false                  \
    }
#define JSON_OPTIONAL_FIELD(type, member, name, kind)                                              \
    {                                                                                              \
        name, kind, offsetof(type, member), sizeof(((type *)NULL)->member), true                   \
    }

struct json_table {
    const struct json_field *fields;
    size_t count; /* at most 64 */
};

#define JSON_TABLE(fields)                                                                         \
    {                                                                                              \
        fields, sizeof fields / sizeof *fields                                                     \
    }

/* Appends `"a":1,"b":null`, without braces, all members. */
void json_fields_write(const struct json_table *table, const void *record, struct buf *out);
/* Fills the record, which is all zero before but for what optional members are without their being
 * there. What was read before a fault is the caller's to free
 * all the same. `err` names the member. */
int json_fields_read(const struct json_table *table, const char *text, struct span object,
                     void *record, struct err *err);

void json_put_text(struct buf *out, const char *text); /* null if it is NULL or "" */
/* Writes at most JSON_DIGITS bytes, no NUL, and gives their end. */
enum { JSON_DIGITS = 20 };
char *json_number(char *at, int64_t number);

#endif
