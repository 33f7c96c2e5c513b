#include "cli/client/dap_values.h"

#include <string.h>

struct json json_get(struct json object, const char *path)
{
    struct json found = {.text = object.text};
    bool there = object.at.len && scan_path(object.text, object.at, path, &found.at);
    if (!there || (found.at.len == 4 && memcmp(object.text + found.at.at, "null", 4) == 0))
        found.at.len = 0;
    return found;
}

bool json_present(struct json value)
{
    return value.at.len > 0;
}

char *json_string(struct json object, const char *path)
{
    struct json value = json_get(object, path);
    return value.at.len ? scan_string(value.text, value.at) : NULL;
}

int64_t json_integer(struct json object, const char *path, int64_t otherwise)
{
    struct json value = json_get(object, path);
    int64_t number;
    return value.at.len && scan_integer(value.text, value.at, &number) ? number : otherwise;
}

bool json_boolean(struct json object, const char *path, bool otherwise)
{
    struct json value = json_get(object, path);
    bool truth;
    return value.at.len && scan_boolean(value.text, value.at, &truth) ? truth : otherwise;
}

bool json_string_is(struct json object, const char *path, const char *expected)
{
    struct json value = json_get(object, path);
    return value.at.len && scan_string_is(value.text, value.at, expected);
}

bool json_each(struct json array, size_t *cursor, struct json *element)
{
    element->text = array.text;
    return array.at.len && scan_element(array.text, array.at, cursor, &element->at);
}
