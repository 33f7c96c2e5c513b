#include "dap/shape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_one_of(const struct shape *shape, const char *json, struct span value)
{
    int (*compare)(const char *, const char *) =
        shape->kind == SHAPE_EXACT_WORD ? strcmp : strcasecmp;
    char *given = scan_string(json, value);
    bool found = false;
    for (const char *const *word = shape->words; given && *word && !found; word++)
        found = compare(given, *word) == 0;
    free(given);
    return found;
}

/* scan_string() gives U+FFFD for what no path has. */
static bool is_path(const char *json, struct span value)
{
    char *given = scan_string(json, value);
    bool good = given && *given && !strstr(given, "\xEF\xBF\xBD");
    free(given);
    return good;
}

static bool members_fit(const struct shape_member *members, const char *json, struct span object)
{
    struct span key, value;
    size_t cursor = 0;
    if (json[object.at] != '{')
        return false;
    while (members && scan_member(json, object, &cursor, &key, &value))
        for (const struct shape_member *member = members; member->name; member++)
            if (scan_key_is(json, key, member->name) && !shape_fits(member->shape, json, value))
                return false;
    for (const struct shape_member *member = members; member && member->name; member++)
        if (member->required && !scan_find(json, object, member->name, &value))
            return false;
    return true;
}

static bool elements_fit(const struct shape *shape, const char *json, struct span list)
{
    struct span element;
    size_t cursor = 0;
    if (json[list.at] != '[')
        return false;
    while (shape && scan_element(json, list, &cursor, &element))
        if (!shape_fits(shape, json, element))
            return false;
    return true;
}

/* Every value that is no number begins with one of these. */
static bool is_number(const char *json, struct span value)
{
    return !strchr("\"{[tfn", json[value.at]);
}

bool shape_fits(const struct shape *shape, const char *json, struct span value)
{
    bool truth;
    int64_t whole;
    if (shape->nullable && json[value.at] == 'n')
        return true;
    switch (shape->kind) {
    case SHAPE_FLAG:
        return scan_boolean(json, value, &truth);
    case SHAPE_INTEGER:
        return scan_integer(json, value, &whole);
    case SHAPE_NUMBER:
        return is_number(json, value);
    case SHAPE_TEXT:
        return json[value.at] == '"';
    case SHAPE_FILLED:
        return json[value.at] == '"' && value.len > 2;
    case SHAPE_PATH:
        return is_path(json, value);
    case SHAPE_WORD:
    case SHAPE_EXACT_WORD:
        return is_one_of(shape, json, value);
    case SHAPE_LIST:
        return elements_fit(shape->element, json, value);
    case SHAPE_OBJECT:
        return members_fit(shape->members, json, value);
    case SHAPE_INTEGER_OR_OBJECT:
        return scan_integer(json, value, &whole) || members_fit(shape->members, json, value);
    }
    return false;
}
