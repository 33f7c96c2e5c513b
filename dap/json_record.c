#include "dap/json_record.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000, US = 1000000 };

/* --- writing --- */

char *json_number(char *at, int64_t number)
{
    char digits[JSON_DIGITS], *first = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        *--first = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (number < 0)
        *--first = '-';
    size_t len = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, len);
    return at + len;
}

void json_put_text(struct buf *out, const char *text)
{
    if (text_empty(text))
        buf_add(out, "null", 4);
    else
        message_quote(out, text);
}

static void begin_member(struct buf *out, const char *name)
{
    invariant(out->len);
    buf_printf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name);
}

void json_member_text(struct buf *out, const char *name, const char *text)
{
    begin_member(out, name);
    json_put_text(out, text);
}

void json_member_number(struct buf *out, const char *name, int64_t number)
{
    begin_member(out, name);
    if (number < 0)
        buf_add(out, "null", 4);
    else
        buf_printf(out, "%" PRId64, number);
}

static void put_fraction(struct buf *out, int64_t number, int64_t parts, int digits)
{
    buf_printf(out, "%" PRId64 ".%0*" PRId64, number / parts, digits, number % parts);
}

void json_put_seconds(struct buf *out, int64_t ms)
{
    if (ms > 0)
        put_fraction(out, ms, MS, 3);
    else
        buf_add(out, "null", 4);
}

static void write_field(const struct json_field *field, const void *at, struct buf *out)
{
    int64_t number;
    char digits[JSON_DIGITS];
    switch (field->kind) {
    case JSON_TEXT:
        json_put_text(out, *(char *const *)at);
        return;
    case JSON_WORD:
    case JSON_HEX:
        json_put_text(out, at);
        return;
    case JSON_BOOL:
        buf_add_string(out, *(const bool *)at ? "true" : "false");
        return;
    case JSON_SECONDS:
        put_fraction(out, (int64_t)(*(const double *)at * (double)US + 0.5), US, 6);
        return;
    case JSON_MS:
        json_put_seconds(out, *(const int64_t *)at);
        return;
    case JSON_INT:
        number = *(const int *)at;
        break;
    case JSON_PORT:
        number = *(const uint16_t *)at;
        break;
    case JSON_INDEX:
        number = (int64_t) * (const size_t *)at;
        break;
    default:
        number = *(const int64_t *)at;
    }
    if (field->kind == JSON_COUNT && number < 0)
        buf_add_string(out, "null");
    else
        buf_add(out, digits, (size_t)(json_number(digits, number) - digits));
}

void json_record_write(const struct json_table *table, const void *record, struct buf *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct json_field *field = &table->fields[i];
        buf_add_string(out, i ? ",\"" : "\"");
        buf_add_string(out, field->name);
        buf_add(out, "\":", 2);
        write_field(field, (const char *)record + field->offset, out);
    }
}

/* --- reading --- */

/* Reads a number >= 0 in units of 1 / `parts`; it may have one decimal per zero of `parts`. */
static bool read_fraction(const char *text, struct span value, int64_t parts, int64_t *out)
{
    int64_t whole;
    const char *end = text + value.at + value.len;
    const char *dot = memchr(text + value.at, '.', value.len);
    struct span digits = {value.at, dot ? (size_t)(dot - text) - value.at : value.len};
    if (!scan_integer(text, digits, &whole) || whole < 0 || whole >= INT64_MAX / parts)
        return false;
    *out = whole * parts;
    for (const char *at = dot ? dot + 1 : end; at < end; at++) {
        parts /= 10;
        if (*at < '0' || *at > '9' || !parts)
            return false;
        *out += (*at - '0') * parts;
    }
    return true;
}

static bool is_hex(const char *text, size_t len)
{
    return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

static bool read_array(const struct json_field *field, const char *text, struct span value,
                       char *out)
{
    char *string = scan_string(text, value);
    bool good = string && (field->kind == JSON_HEX ? is_hex(string, field->size - 1)
                                                   : strlen(string) < field->size);
    if (good)
        text_copy(out, field->size, string);
    free(string);
    return good;
}

static bool read_integer(const struct json_field *field, const char *text, struct span value,
                         void *at)
{
    int64_t number;
    if (!scan_integer(text, value, &number))
        return false;
    switch (field->kind) {
    case JSON_INT:
        *(int *)at = (int)number;
        return number >= INT32_MIN && number <= INT32_MAX;
    case JSON_PORT:
        *(uint16_t *)at = (uint16_t)number;
        return number >= 0 && number <= UINT16_MAX;
    case JSON_INDEX:
        *(size_t *)at = (size_t)number;
        return number >= 0;
    default:
        *(int64_t *)at = number;
        return field->kind == JSON_NUMBER || number >= 0;
    }
}

static bool read_null(const struct json_field *field, void *at)
{
    switch (field->kind) {
    case JSON_TEXT:
        *(char **)at = mem_string("");
        return true;
    case JSON_COUNT:
        *(int64_t *)at = -1;
        return true;
    default: /* the field is already zero */
        return field->kind == JSON_WORD || field->kind == JSON_HEX || field->kind == JSON_MS;
    }
}

static bool read_field(const struct json_field *field, const char *text, struct span value,
                       void *at)
{
    int64_t number;
    if (text[value.at] == 'n')
        return read_null(field, at);
    switch (field->kind) {
    case JSON_TEXT:
        return (*(char **)at = scan_string(text, value)) != NULL;
    case JSON_WORD:
    case JSON_HEX:
        return read_array(field, text, value, at);
    case JSON_BOOL:
        return scan_boolean(text, value, at);
    case JSON_MS:
        return read_fraction(text, value, MS, at);
    case JSON_SECONDS:
        if (!read_fraction(text, value, US, &number))
            return false;
        *(double *)at = (double)number / (double)US;
        return true;
    default:
        return read_integer(field, text, value, at);
    }
}

/* Members mostly come in the table's order, so the field behind the last one is tried first. */
static size_t find_field(const struct json_table *table, size_t next, const char *text,
                         struct span key)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t at = (next + i) % table->count;
        if (scan_key_is(text, key, table->fields[at].name))
            return at;
    }
    return table->count;
}

int json_record_read(const struct json_table *table, const char *text, struct span object,
                     void *record, struct err *err)
{
    struct span key, value;
    uint64_t seen = 0;
    size_t cursor = 0, next = 0;
    if (text[object.at] != '{')
        return err_set(err, ERR_FAILED, "there is something else than an object");
    while (scan_member(text, object, &cursor, &key, &value)) {
        size_t at = find_field(table, next, text, key);
        if (at == table->count)
            continue;
        const struct json_field *field = &table->fields[at];
        if (seen >> at & 1)
            return err_set(err, ERR_FAILED, "\"%s\" is there twice", field->name);
        if (!read_field(field, text, value, (char *)record + field->offset))
            return err_set(err, ERR_FAILED, "\"%s\" is not what it should be", field->name);
        seen |= UINT64_C(1) << at;
        next = at + 1;
    }
    for (size_t i = 0; i < table->count; i++)
        if (!(seen >> i & 1) && !table->fields[i].optional)
            return err_set(err, ERR_FAILED, "\"%s\" is missing", table->fields[i].name);
    return 0;
}
