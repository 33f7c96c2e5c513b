/* Converts JSON to block-style YAML. A JSON string is a YAML scalar as it is. */
#include "cli/memory/memory_export.h"

#include "dap/scan.h"

struct yaml {
    const char *json;
    struct buf *out;
};

static void add_value(const struct yaml *yaml, struct span value, int depth, bool in_place);

static void indent(const struct yaml *yaml, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_add_string(yaml->out, "  ");
}

static char first(const struct yaml *yaml, struct span value)
{
    return yaml->json[value.at];
}

/* A JSON key, with its quotes, is a YAML key as it is. */
static void add_key(const struct yaml *yaml, struct span key)
{
    buf_add(yaml->out, yaml->json + key.at, key.len);
    buf_add_string(yaml->out, ":");
}

/* `in_place`: after a dash, where the first member needs no indent. */
static bool add_members(const struct yaml *yaml, struct span object, int depth, bool in_place)
{
    struct span key, value;
    bool any = false;
    for (size_t cursor = 0; scan_member(yaml->json, object, &cursor, &key, &value); any = true) {
        if (any || !in_place)
            indent(yaml, depth);
        add_key(yaml, key);
        add_value(yaml, value, depth + 1, false);
    }
    return any;
}

static bool add_elements(const struct yaml *yaml, struct span array, int depth)
{
    struct span value;
    bool any = false;
    for (size_t cursor = 0; scan_element(yaml->json, array, &cursor, &value); any = true) {
        indent(yaml, depth);
        buf_add_string(yaml->out, "-");
        add_value(yaml, value, depth + 1, true);
    }
    return any;
}

static bool is_empty(const struct yaml *yaml, struct span value)
{
    struct span key, inner;
    size_t cursor = 0;
    return first(yaml, value) == '{' ? !scan_member(yaml->json, value, &cursor, &key, &inner)
                                     : !scan_element(yaml->json, value, &cursor, &inner);
}

/* Adds a value after a key's colon or a dash. */
static void add_value(const struct yaml *yaml, struct span value, int depth, bool in_place)
{
    char kind = first(yaml, value);
    bool container = kind == '{' || kind == '[';
    if (container && !is_empty(yaml, value)) {
        bool here = kind == '{' && in_place;
        buf_add_string(yaml->out, here ? " " : "\n");
        if (kind == '{')
            add_members(yaml, value, depth, here);
        else
            add_elements(yaml, value, depth);
        return;
    }
    buf_add_string(yaml->out, " ");
    if (container)
        buf_add_string(yaml->out, kind == '{' ? "{}" : "[]");
    else
        buf_add(yaml->out, yaml->json + value.at, value.len);
    buf_add_string(yaml->out, "\n");
}

void memory_yaml(const char *json, size_t len, struct buf *out)
{
    const struct yaml yaml = {json, out};
    struct span root;
    struct scan scan;
    scan_init(&scan, json, len);
    if (!scan_value(&scan, &root) || !scan_end(&scan))
        return;
    if (first(&yaml, root) == '{')
        add_members(&yaml, root, 0, false);
    else if (first(&yaml, root) == '[')
        add_elements(&yaml, root, 0);
}
