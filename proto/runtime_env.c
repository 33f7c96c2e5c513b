#include "proto/runtime_env.h"

#include "base/text.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <strings.h>

/* Fields whose workers do not see the packages of the node's Ray. */
static const char *const own[] = {"conda", "image_uri", "container", "py_executable"};

/* True for "debugpy", "debugpy>=1.8.0", "debugpy @ URL" and the path or URL of its wheel. */
static bool is_debugpy(const char *requirement)
{
    static const char name[] = "debugpy";
    const char *slash = text_ends(requirement, ".whl") ? strrchr(requirement, '/') : NULL;
    const char *start = slash ? slash + 1 : requirement + strspn(requirement, " \t");
    if (strncasecmp(start, name, strlen(name)) != 0)
        return false;
    char after = start[strlen(name)];
    return after == '-' ? text_ends(start, ".whl") : !after || strchr(" \t=<>!~;[@", after);
}

static bool list_has_debugpy(const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && is_debugpy(item->valuestring))
            return true;
        if (cJSON_IsObject(item) && list_has_debugpy(cJSON_GetObjectItemCaseSensitive(item, "pip")))
            return true; /* an element of conda's dependencies */
    }
    return false;
}

/* `field` is a list of requirements, or an object that has one as its member `member`. */
static bool field_has_debugpy(const cJSON *root, const char *field, const char *member)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(root, field);
    if (cJSON_IsObject(value))
        value = cJSON_GetObjectItemCaseSensitive(value, member);
    return cJSON_IsArray(value) && list_has_debugpy(value);
}

static enum runtime_packages packages_of(const cJSON *root)
{
    if (field_has_debugpy(root, "pip", "packages") || field_has_debugpy(root, "uv", "packages") ||
        field_has_debugpy(root, "conda", "dependencies"))
        return RUNTIME_PACKAGES_DEBUGPY;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (cJSON_GetObjectItemCaseSensitive(root, own[i]))
            return RUNTIME_PACKAGES_OWN;
    return RUNTIME_PACKAGES_NODE;
}

enum runtime_packages runtime_env_packages(const char *text)
{
    if (text_empty(text) || text_equal(text, "{}"))
        return RUNTIME_PACKAGES_NODE;
    cJSON *root = cJSON_Parse(text);
    enum runtime_packages packages =
        cJSON_IsObject(root) ? packages_of(root) : RUNTIME_PACKAGES_UNKNOWN;
    cJSON_Delete(root);
    return packages;
}
