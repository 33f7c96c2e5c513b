#include "relay/worker_agent/hook_entry.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/worker_agent/agent_sources.h"

#include <cjson/cJSON.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

static const char key_start[] = "RaydbgSetupHook:";

static char *encode(const char *text, size_t len)
{
    char *out = mem_alloc(4 * ((len + 2) / 3) + 1);
    EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
    return out;
}

char *hook_entry_key(const char *key_id)
{
    return mem_format("%s%s", key_start, key_id);
}

char *hook_entry_name(const char *key)
{
    char *code = encode(key, strlen(key)), *name = mem_format("%s%s", HOOK_ENTRY_NAME, code);
    free(code);
    return name;
}

bool hook_entry_is_ours(const char *name)
{
    /* Of the 16 characters only the first 15 have codes of their own. */
    char *start = encode(key_start, sizeof key_start - 2);
    bool ours =
        text_starts(name, HOOK_ENTRY_NAME) && text_starts(name + strlen(HOOK_ENTRY_NAME), start);
    free(start);
    return ours;
}

/* --- the entry --- */

/* The argument of job_hook.py, in base64. */
static char *make_payload(const struct agent_files_config *config, const char *own)
{
    cJSON *payload = cJSON_CreateObject();
    cJSON *values = cJSON_AddObjectToObject(payload, "config");
    cJSON_AddStringToObject(values, "host", config->host);
    cJSON_AddNumberToObject(values, "port", config->port);
    cJSON_AddStringToObject(values, "fingerprint", config->fingerprint);
    cJSON_AddStringToObject(values, "key_id", config->key_id);
    cJSON_AddStringToObject(values, "key", config->key);
    if (config->root)
        cJSON_AddStringToObject(values, "root", config->root);
    cJSON_AddStringToObject(payload, "hook", worker_agent_job_hook);
    cJSON_AddStringToObject(payload, "run_hook", worker_agent_run_hook);
    cJSON_AddStringToObject(payload, "site_hook", worker_agent_site_hook);
    cJSON_AddStringToObject(payload, "agent", worker_agent_agent);
    if (own)
        cJSON_AddStringToObject(payload, "own", own);
    char *json = cJSON_PrintUnformatted(payload), *code = encode(json, strlen(json));
    cJSON_Delete(payload);
    explicit_bzero(json, strlen(json));
    cJSON_free(json);
    return code;
}

/* Appends a unicode string of pickle's protocol 0, which ends with the line; `text` has no
 * backslash. */
static void add_string(struct buf *out, const char *text)
{
    buf_add_string(out, "V");
    for (; *text; text++)
        if (*text == '\n')
            buf_add_string(out, "\\u000a");
        else
            buf_add(out, text, 1);
    buf_add_string(out, "\n");
}

/* functools.partial(exec, SOURCE, {"__name__": "raydbg_job_hook"}) */
static void add_function(struct buf *out, const char *payload)
{
    char *source = mem_format("import base64, json; p = json.loads(base64.b64decode('%s')); "
                              "exec(compile(p['hook'], '<raydbg hook>', 'exec'), globals()); "
                              "setup(p)",
                              payload);
    buf_add_string(out, "cfunctools\npartial\n(cbuiltins\nexec\n");
    add_string(out, source);
    buf_add_string(out, "(dV__name__\nVraydbg_job_hook\nstR.");
    explicit_bzero(source, strlen(source));
    free(source);
}

/* Ray's record of an exported function: a dict, with the function pickled to bytes. */
char *hook_entry_make(const struct agent_files_config *config, const char *own)
{
    static const char *const absent[] = {"job_id", "function_id", "module", "max_calls"};
    struct buf function = {0}, entry = {0};
    char *payload = make_payload(config, own);
    add_function(&function, payload);
    buf_add_string(&entry, "(d");
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        buf_printf(&entry, "V%s\nNs", absent[i]);
    buf_add_string(&entry, "Vfunction_name\nVraydbg\nsVfunction\nc_codecs\nencode\n(");
    add_string(&entry, function.data);
    buf_add_string(&entry, "Vlatin1\ntRs.");
    explicit_bzero(payload, strlen(payload));
    explicit_bzero(function.data, function.len);
    free(payload);
    buf_free(&function);
    return buf_take(&entry);
}
