#include "relay/annotate/annotate_row.h"

#include "dap/bytes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_LONGEST = 18 };
static const struct field_name {
    const char *name;
    enum annotate_field field;
} field_names[FIELD_LONGEST + 1][2] = {
    /* Indexed by length; at most two names have the same. */
    [4] = {{"name", FIELD_NAME}, {"type", FIELD_TYPE}},
    [5] = {{"value", FIELD_VALUE}},
    [6] = {{"result", FIELD_RESULT}},
    [12] = {{"evaluateName", FIELD_EVALUATE_NAME}},
    [16] = {{"presentationHint", FIELD_HINT}},
    [18] = {{"variablesReference", FIELD_REFERENCE}},
};

const char *annotate_row_unescape(const struct annotate_row *row, enum annotate_field field,
                                  struct buf *scratch, size_t *len)
{
    char *copy = scan_string(row->text, row->fields[field]);
    buf_clear(scratch, 1 << 16);
    buf_add_string(scratch, copy);
    free(copy);
    *len = scratch->len;
    return scratch->data;
}

static inline uint64_t eight_at(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

static inline uint32_t four_at(const char *text)
{
    uint32_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

/* Compares 4 to 24 bytes, some of them twice. */
enum { LEAST_COMPARED = 4 };
static inline bool is_same_name(const char *a, const char *b, size_t len)
{
    if (len < 8)
        return four_at(a) == four_at(b) && four_at(a + len - 4) == four_at(b + len - 4);
    return eight_at(a) == eight_at(b) && eight_at(a + len - 8) == eight_at(b + len - 8) &&
           (len <= 16 || eight_at(a + 8) == eight_at(b + 8));
}

static bool is_field(const struct annotate_row *row, struct span key, bool escaped,
                     const char *name)
{
    return escaped ? scan_key_is(row->text, key, name)
                   : is_same_name(row->text + key.at + 1, name, key.len - 2);
}

/* The field that the key names, or FIELDS. */
static enum annotate_field field_of(const struct annotate_row *row, struct span key, bool escaped)
{
    size_t from = key.len - 2, to = from;
    if (escaped)
        from = 0;
    if (to > FIELD_LONGEST)
        to = FIELD_LONGEST; /* an escaped key is longer than its name */
    for (size_t len = from; len <= to; len++)
        for (size_t i = 0; i < 2 && field_names[len][i].name; i++)
            if (is_field(row, key, escaped, field_names[len][i].name))
                return field_names[len][i].field;
    return FIELDS;
}

/* Reads a value of any kind; returns the offset after it, or 0 if it is malformed. */
static size_t any_end(const struct annotate_row *row, size_t at)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, row->text, row->end);
    scan.at = at;
    scan.inside = row->inside;
    return scan_value(&scan, &value) ? scan.at : 0;
}

/* The same for the string whose quote is at `at`. */
static inline size_t string_end(const struct annotate_row *row, size_t at, bool *escaped)
{
    size_t end = bytes_plain_end(row->text, at + 1, row->end);
    *escaped = end == row->end || row->text[end] != '"';
    return *escaped ? any_end(row, at) : end + 1;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The same for a value that is no string: mostly a reference. If it is a number of few digits, sets
 * *number, else leaves it. */
static inline size_t other_end(const struct annotate_row *row, size_t at, int64_t *number)
{
    enum { DIGITS_MOST = 18 };
    size_t end = at, most = row->end - at > DIGITS_MOST ? at + DIGITS_MOST : row->end;
    int64_t value = 0;
    if (at < row->end && row->text[at] == '0')
        end++; /* no digit follows a leading zero */
    else
        for (; end < most && is_digit(row->text[end]); end++)
            value = 10 * value + (row->text[end] - '0');
    bool whole = end > at && end < row->end && (row->text[end] == '}' || row->text[end] == ',');
    if (!whole)
        return any_end(row, at);
    *number = value;
    return end;
}

/* True if the row before had the key at `at` in the same place. */
static inline bool is_known(const struct annotate_row *row, size_t at,
                            const struct annotate_key *key)
{
    return key->len && row->end - at >= sizeof key->text &&
           is_same_name(row->text + at, key->text, key->len);
}

static void key_note(struct annotate_key *key, const char *text, size_t len,
                     enum annotate_field field)
{
    key->len = 0;
    if (len < LEAST_COMPARED || len > sizeof key->text)
        return;
    memcpy(key->text, text, len);
    key->len = (uint8_t)len;
    key->field = field;
}

/* Reads the key at `at` up to its value; returns the value's offset, or 0 if it is malformed. */
static size_t key_read(const struct annotate_row *row, size_t at, struct annotate_key *known,
                       enum annotate_field *field)
{
    struct span key = {at, 0};
    bool escaped;
    if (at >= row->end || row->text[at] != '"')
        return 0;
    at = string_end(row, at, &escaped);
    if (!at)
        return 0;
    key.len = at - key.at;
    at = bytes_space_end(row->text, at, row->end);
    if (at == row->end || row->text[at] != ':')
        return 0;
    at = bytes_space_end(row->text, at + 1, row->end);
    *field = field_of(row, key, escaped);
    key_note(known, row->text + key.at, at - key.at, *field);
    return at;
}

/* Reads one member; returns the offset after it, or 0 if it is malformed. */
static inline size_t member_read(struct annotate_row *row, size_t at, struct annotate_key *known)
{
    enum annotate_field field = known->field;
    bool escaped = false;
    at = is_known(row, at, known) ? bytes_space_end(row->text, at + known->len, row->end)
                                  : key_read(row, at, known, &field);
    if (!at)
        return 0;
    struct span value = {at, 0};
    int64_t number = -1;
    at = at < row->end && row->text[at] == '"' ? string_end(row, at, &escaped)
                                               : other_end(row, at, &number);
    if (!at)
        return 0;
    value.len = at - value.at;
    if (field < FIELDS) {
        row->fields[field] = value;
        row->escaped[field] = escaped;
        row->numbers[field] = number;
    }
    row->last = at;
    return at;
}

size_t annotate_row_read(struct annotate_row *row, size_t at)
{
    size_t index = 0;
    row->last = ++at;
    for (size_t i = 0; i < FIELDS; i++)
        row->fields[i].len = 0;
    at = bytes_space_end(row->text, at, row->end);
    if (at < row->end && row->text[at] == '}')
        return at + 1;
    while ((at = member_read(row, at, &row->keys[index]))) {
        index += index + 1 < ANNOTATE_KEYS;
        at = bytes_space_end(row->text, at, row->end);
        if (at == row->end || row->text[at] != ',')
            break;
        at = bytes_space_end(row->text, at + 1, row->end);
    }
    return at && at < row->end && row->text[at] == '}' ? at + 1 : 0;
}
