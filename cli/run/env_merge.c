#include "cli/run/env_merge.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/worker_agent/hook_entry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 1 << 20 };

static const char hook_field[] = "worker_process_setup_hook";

/* --- reading --- */

static char *read_file(const char *path, struct err *err)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        err_set(err, ERR_USAGE, "--merge: %s cannot be read", path);
        err_why(err, "%s", strerror(errno));
        err_hint(err, "--merge takes a file, or the JSON itself: --merge '{\"env_vars\": {…}}'");
        return NULL;
    }
    char *text = mem_alloc(TEXT_MOST + 1);
    size_t len = fread(text, 1, TEXT_MOST, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

static cJSON *parse(const char *text, struct err *err)
{
    char *file = NULL;
    if (text[strspn(text, " \t\r\n")] != '{' && !(text = file = read_file(text, err)))
        return NULL;
    cJSON *runtime_env = cJSON_ParseWithOpts(text, NULL, true);
    free(file);
    if (cJSON_IsObject(runtime_env))
        return runtime_env;
    cJSON_Delete(runtime_env);
    err_set(err, ERR_USAGE, "--merge: that is no runtime_env");
    err_why(err, "a runtime_env is one JSON object");
    return NULL;
}

/* --- conflicts --- */

static int hook_conflict(struct err *err, const char *why)
{
    err_set(err, ERR_FAILED, "the job's own setup hook cannot run after raydbg's");
    return err_why(err, "%s", why);
}

static int take_own_hook(cJSON *runtime_env, char **own, struct err *err)
{
    const cJSON *hook = cJSON_GetObjectItemCaseSensitive(runtime_env, hook_field);
    if (!hook || cJSON_IsNull(hook))
        return 0;
    const char *name = cJSON_GetStringValue(hook);
    if (!name || !strchr(name, '.')) {
        hook_conflict(err, "worker_process_setup_hook is no \"module.function\"");
        return err_hint(err, "name the function so, as Ray itself demands in JSON");
    }
    if (text_starts(name, HOOK_ENTRY_NAME)) {
        hook_conflict(err, "it is a function that another driver has exported");
        return err_hint(err, "name it as \"module.function\" instead");
    }
    *own = mem_string(name);
    cJSON_DeleteItemFromObjectCaseSensitive(runtime_env, hook_field);
    return 0;
}

static int check_env_vars(cJSON *runtime_env, struct err *err)
{
    cJSON *all = cJSON_GetObjectItemCaseSensitive(runtime_env, "env_vars");
    if (cJSON_IsNull(all))
        cJSON_DeleteItemFromObjectCaseSensitive(runtime_env, "env_vars");
    else if (all && !cJSON_IsObject(all))
        return err_set(err, ERR_USAGE, "--merge: env_vars is not an object");
    else if (all) {
        const cJSON *hook = cJSON_GetObjectItemCaseSensitive(all, HOOK_ENTRY_VARIABLE);
        const char *name = cJSON_GetStringValue(hook);
        if (hook && !(name && hook_entry_is_ours(name))) {
            hook_conflict(err, "env_vars has " HOOK_ENTRY_VARIABLE ", which is Ray's own");
            return err_hint(err, "give the hook as worker_process_setup_hook, \"module.function\"");
        }
    }
    return 0;
}

cJSON *env_merge_read(const char *text, char **own, struct err *err)
{
    cJSON *runtime_env = text ? parse(text, err) : cJSON_CreateObject();
    *own = NULL;
    if (runtime_env && take_own_hook(runtime_env, own, err) == 0 &&
        check_env_vars(runtime_env, err) == 0)
        return runtime_env;
    cJSON_Delete(runtime_env);
    free(*own);
    *own = NULL;
    return NULL;
}

void env_merge_add_hook(cJSON *runtime_env, const char *name)
{
    cJSON *all = cJSON_GetObjectItemCaseSensitive(runtime_env, "env_vars");
    if (!all)
        all = cJSON_AddObjectToObject(runtime_env, "env_vars");
    cJSON_DeleteItemFromObjectCaseSensitive(all, HOOK_ENTRY_VARIABLE);
    cJSON_AddStringToObject(all, HOOK_ENTRY_VARIABLE, name);
}

/* --- debugpy --- */

static bool names_debugpy(const cJSON *runtime_env, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(runtime_env, field);
    char *text = item ? cJSON_PrintUnformatted(item) : NULL;
    bool names = text && strstr(text, "debugpy");
    cJSON_free(text);
    return names;
}

int env_merge_check_debugpy(const cJSON *runtime_env, bool absent, struct err *err)
{
    static const char *const fields[] = {"pip",       "uv",        "conda",
                                         "image_uri", "container", "py_executable"};
    /* A conda environment that is described here begins empty; the others that install something
     * have the packages of the workers' Python, too. What an image has is not known here. */
    const cJSON *conda = cJSON_GetObjectItemCaseSensitive(runtime_env, "conda");
    bool own_python = cJSON_IsObject(conda);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (names_debugpy(runtime_env, fields[i]))
            return 0;
        if (i > 1 && !own_python && cJSON_HasObjectItem(runtime_env, fields[i]))
            absent = false;
    }
    if (own_python) {
        err_set(err, ERR_FAILED, "the job's workers would have no debugpy");
        err_why(err, "its conda environment does not have it");
        return err_hint(err, "add \"debugpy>=1.8.0\" to its dependencies");
    }
    if (!absent)
        return 0;
    err_set(err, ERR_FAILED, "the job's workers would have no debugpy");
    err_why(err, "Ray's Python on this machine has none, and the runtime_env brings none");
    return err_hint(err, "raydbg env --merge '{\"pip\": [\"debugpy>=1.8.0\"]}', or install it on "
                         "every node");
}
