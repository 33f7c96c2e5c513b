/* Which types of values are of interest, and which messages may have any of them. */
#include "relay/annotate_parts.h"

#include "dap/bytes.h"

#include <string.h>

/* Of numpy, pandas, polars and pyarrow; pyarrow's arrays have names that end with "Array". */
static const char *const array_types[] = {"ndarray",      "DataFrame",   "Series", "Table",
                                          "ChunkedArray", "RecordBatch", "memmap", "recarray"};
static const char *const arrow_elements[] = {
    "Null",       "Boolean",   "Int8",          "Int16",      "Int32",      "Int64",
    "UInt8",      "UInt16",    "UInt32",        "UInt64",     "HalfFloat",  "Float",
    "Double",     "String",    "LargeString",   "StringView", "Binary",     "LargeBinary",
    "BinaryView", "List",      "LargeList",     "Map",        "Struct",     "FixedSizeBinary",
    "Union",      "Timestamp", "Dictionary",    "Date32",     "Date64",     "FixedSizeList",
    "Time32",     "Time64",    "Duration",      "Decimal128", "Decimal256", "Extension",
    "Numeric",    "Integer",   "FloatingPoint", "",
};

static bool is_type(const char *type, size_t len, const char *expected)
{
    return len == strlen(expected) && memcmp(type, expected, len) == 0;
}

static bool is_one_of(const char *name, size_t len, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_type(name, len, names[i]))
            return true;
    return false;
}

static bool is_array_type(const char *type, size_t len)
{
    const char *dot = memrchr(type, '.', len);
    if (dot) {
        len -= (size_t)(dot + 1 - type);
        type = dot + 1;
    }
    if (len < 5)
        return false;
    if (is_one_of(type, len, array_types, sizeof array_types / sizeof *array_types))
        return true;
    return memcmp(type + len - 5, "Array", 5) == 0 &&
           is_one_of(type, len - 5, arrow_elements, sizeof arrow_elements / sizeof *arrow_elements);
}

bool annotate_type_kind(const char *type, size_t len, enum annotate_kind *kind, bool *plain)
{
    if (is_type(type, len, "ObjectRef"))
        *kind = ANNOTATE_REF;
    else if (is_type(type, len, "ActorHandle"))
        *kind = ANNOTATE_ACTOR;
    else if (annotate_refs_type(type, len, plain))
        *kind = ANNOTATE_CONTAINER;
    else if (is_array_type(type, len))
        *kind = ANNOTATE_ARRAY;
    else
        return false;
    return true;
}

/* --- a cheap look --- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static size_t skip_space(const char *text, size_t at, size_t end)
{
    while (at < end && is_space(text[at]))
        at++;
    return at;
}

/* `at` is behind the key "type". */
static bool type_applies(const char *json, size_t at, size_t len)
{
    at = skip_space(json, at, len);
    if (at == len || json[at] != ':')
        return false;
    at = skip_space(json, at + 1, len);
    if (at == len || json[at] != '"')
        return false;
    const char *name = json + at + 1, *quote = memchr(name, '"', len - at - 1);
    if (!quote)
        return false;
    size_t name_len = (size_t)(quote - name);
    return is_type(name, name_len, "ActorHandle") || is_array_type(name, name_len);
}

bool annotate_applies(const char *json, size_t len)
{
    static const char ref[] = "ObjectRef(", key[] = "\"type\"";
    if (bytes_find(json, 0, len, ref, sizeof ref - 1) < len)
        return true;
    for (size_t at = 0; (at = bytes_find(json, at, len, key, sizeof key - 1)) < len;) {
        at += sizeof key - 1;
        if (type_applies(json, at, len))
            return true;
    }
    return false;
}
