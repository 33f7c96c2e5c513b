/* Reads a DAP message's values in place, by dap/scan: a lone surrogate or a NUL in a worker's
 * string, where a tree parser fails or cuts the string, costs at most one character. */
#ifndef RAYDBG_CLI_CLIENT_DAP_VALUES_H
#define RAYDBG_CLI_CLIENT_DAP_VALUES_H

#include "dap/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* A value within a borrowed text; at.len 0: no value. */
struct json {
    const char *text;
    struct span at;
};

/* The value at a path of keys ("source/path"); no value if it is missing or null. */
struct json json_get(struct json object, const char *path);
bool json_present(struct json value);
/* The caller frees; NULL if the value is not a string. */
char *json_string(struct json object, const char *path);
int64_t json_integer(struct json object, const char *path, int64_t otherwise);
bool json_boolean(struct json object, const char *path, bool otherwise);
bool json_string_is(struct json object, const char *path, const char *expected);
/* Iterates over an array; start with *cursor = 0. */
bool json_each(struct json array, size_t *cursor, struct json *element);

#endif
