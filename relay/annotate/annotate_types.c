/* The kinds of values, by the names of their types. */
#include "relay/annotate/annotate_state.h"

#include <string.h>

/* From numpy, pandas, polars and pyarrow; the names of pyarrow's arrays end with "Array". */
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

bool annotate_type_is_array(const char *type, size_t len)
{
    if (len < 5)
        return false;
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
    else if (annotate_type_is_array(type, len))
        *kind = ANNOTATE_ARRAY;
    else
        return false;
    return true;
}
