/* Writes records as JSON objects and reads them back, by tables that map members to fields. Reading
 * is strict: each member of the table must be present, unless it is optional, and must have its
 * type; other members are skipped. Pure. */
#ifndef RAYDBG_DAP_JSON_RECORD_H
#define RAYDBG_DAP_JSON_RECORD_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"

enum json_kind {
    JSON_TEXT,    /* char *, allocated; "" (and NULL) is null */
    JSON_WORD,    /* char[]; "" is null; a text that does not fit is an error */
    JSON_HEX,     /* char[], filled by lower-case hex digits; "" is null */
    JSON_COUNT,   /* int64_t >= 0; -1 is null */
    JSON_NUMBER,  /* int64_t */
    JSON_INT,     /* int */
    JSON_PORT,    /* uint16_t */
    JSON_INDEX,   /* size_t */
    JSON_BOOL,    /* bool */
    JSON_MS,      /* int64_t in ms, written in seconds; 0 is null */
    JSON_SECONDS, /* double >= 0 and < 9e12, to the microsecond */
};

struct json_field {
    const char *name;
    enum json_kind kind;
    size_t offset;
    size_t size; /* of a char[], with its NUL */
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

/* Appends all members, without braces: `"a":1,"b":null`. */
void json_record_write(const struct json_table *table, const void *record, struct buf *out);
/* Fills the record. The caller sets it to zero before, except optional members that default to
 * something else. On an error the caller also frees the texts that were already read, and `err`
 * names the member. */
int json_record_read(const struct json_table *table, const char *text, struct span object,
                     void *record, struct err *err);

void json_put_text(struct buf *out, const char *text); /* null if it is NULL or "" */
/* A member of an object, with a comma before it unless it is the first: null for a text that is
 * NULL or "", and for a number below 0. */
void json_member_text(struct buf *out, const char *name, const char *text);
void json_member_number(struct buf *out, const char *name, int64_t number);
/* A time of that many ms, in seconds with three decimals; null unless above 0. */
void json_put_seconds(struct buf *out, int64_t ms);
/* Writes the number, at most JSON_DIGITS bytes without a NUL, and returns its end. */
enum { JSON_DIGITS = 20 };
char *json_number(char *at, int64_t number);

#endif
