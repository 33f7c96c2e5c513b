/* Decodes the replies of the GCS's key-value store, and the JSON that raydbg reads from it. */
#include "proto/reply.h"

#include "base/mem.h"
#include "base/text.h"
#include "gcs.pb-c.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* Ray's StatusCode; the same in 2.9.3 and 2.60.0 (measured with a missing key). */
enum { STATUS_NOT_FOUND = 17 };

static int malformed(struct err *err)
{
    err_set(err, ERR_FAILED, "the cluster's answer could not be read");
    return err_hint(err, "is this a Ray cluster of version 2.9 or later?");
}

static int refused(const RayWire__GcsStatus *status, struct err *err)
{
    char *words = text_printable(status->message, strlen(status->message), "");
    err_set(err, ERR_FAILED, "the GCS's key-value store gave no answer");
    err_why(err, "%s (status %d)", words, status->code);
    free(words);
    return -1;
}

int reply_kv_get(const uint8_t *bytes, size_t len, char **value, size_t *value_len, struct err *err)
{
    *value = NULL;
    *value_len = 0;
    RayWire__InternalKVGetReply *reply = ray_wire__internal_kvget_reply__unpack(NULL, len, bytes);
    if (!reply)
        return malformed(err);
    int code = reply->status ? reply->status->code : 0;
    int failed = code && code != STATUS_NOT_FOUND ? refused(reply->status, err) : 0;
    if (!code) {
        *value = mem_string_n((const char *)reply->value.data, reply->value.len);
        *value_len = reply->value.len;
    }
    ray_wire__internal_kvget_reply__free_unpacked(reply, NULL);
    return failed;
}

int reply_kv_keys(const uint8_t *bytes, size_t len, char ***keys, size_t *count, struct err *err)
{
    RayWire__InternalKVKeysReply *reply = ray_wire__internal_kvkeys_reply__unpack(NULL, len, bytes);
    if (!reply)
        return malformed(err);
    int code = reply->status ? reply->status->code : 0;
    int failed = code && code != STATUS_NOT_FOUND ? refused(reply->status, err) : 0;
    if (!failed) {
        *count = reply->n_results;
        *keys = mem_array(*count, sizeof **keys);
        for (size_t i = 0; i < *count; i++)
            (*keys)[i] = mem_string_n((const char *)reply->results[i].data, reply->results[i].len);
    }
    ray_wire__internal_kvkeys_reply__free_unpacked(reply, NULL);
    return failed;
}

int reply_kv_put(const uint8_t *bytes, size_t len, struct err *err)
{
    RayWire__InternalKVPutReply *reply = ray_wire__internal_kvput_reply__unpack(NULL, len, bytes);
    if (!reply)
        return malformed(err);
    int failed = reply->status && reply->status->code ? refused(reply->status, err) : 0;
    ray_wire__internal_kvput_reply__free_unpacked(reply, NULL);
    return failed;
}

int reply_kv_del(const uint8_t *bytes, size_t len, struct err *err)
{
    RayWire__InternalKVDelReply *reply = ray_wire__internal_kvdel_reply__unpack(NULL, len, bytes);
    if (!reply)
        return malformed(err);
    int code = reply->status ? reply->status->code : 0;
    int failed = code && code != STATUS_NOT_FOUND ? refused(reply->status, err) : 0;
    ray_wire__internal_kvdel_reply__free_unpacked(reply, NULL);
    return failed;
}

/* --- JSON --- */

/* A copy of a string member, "" if it is missing or null. */
static char *string_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return mem_string(text ? text : "");
}

/* A hex id of exactly `len` bytes in lower case; "" otherwise. */
static void id_of(const cJSON *object, const char *name, char *out, size_t len)
{
    uint8_t binary[ID_UNIQUE_BYTES];
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    *out = '\0';
    if (text && text_unhex(text, binary, len))
        text_hex(binary, len, out);
}

/* 0 if the member is not a number, or out of range. */
static int64_t number_of(const cJSON *object, const char *name, double scale)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    double number = cJSON_IsNumber(item) ? item->valuedouble * scale : 0;
    return number >= 0 && number < 9e15 ? (int64_t)number : 0;
}

static cJSON *parse_object(const char *json, size_t len)
{
    cJSON *object = cJSON_ParseWithLength(json, len);
    if (cJSON_IsObject(object))
        return object;
    cJSON_Delete(object);
    return NULL;
}

int reply_version(const char *json, size_t len, struct ray_version *version, char **ray_version,
                  char **python_version, struct err *err)
{
    cJSON *object = parse_object(json, len);
    if (!object) {
        err_set(err, ERR_FAILED, "the cluster's metadata could not be read");
        return err_why(err, "CLUSTER_METADATA in the GCS is no JSON object");
    }
    *ray_version = string_of(object, "ray_version");
    *python_version = string_of(object, "python_version");
    ray_version_parse(*ray_version, version);
    cJSON_Delete(object);
    return 0;
}

bool kv_parse_pdb_key(const char *key, char uuid[33])
{
    static const char prefix[] = "RAY_PDB_";
    uint8_t binary[16];
    if (!text_starts(key, prefix) || !text_unhex(key + strlen(prefix), binary, sizeof binary))
        return false;
    return text_copy(uuid, 33, key + strlen(prefix));
}

int reply_pdb(const char *json, size_t len, struct ray_pdb *out, struct err *err)
{
    *out = (struct ray_pdb){0};
    cJSON *object = parse_object(json, len);
    if (!object)
        return err_set(err, ERR_FAILED, "an entry of Ray's legacy debugger could not be read");
    id_of(object, "job_id", out->job_id, ID_JOB_BYTES);
    id_of(object, "node_id", out->node_id, ID_UNIQUE_BYTES);
    id_of(object, "worker_id", out->worker_id, ID_UNIQUE_BYTES);
    id_of(object, "actor_id", out->actor_id, ID_ACTOR_BYTES);
    id_of(object, "task_id", out->task_id, ID_TASK_BYTES);
    out->address = string_of(object, "pdb_address");
    out->proctitle = string_of(object, "proctitle");
    out->file = string_of(object, "filename");
    out->traceback = string_of(object, "traceback");
    out->line = number_of(object, "lineno", 1);
    out->since_ms = number_of(object, "timestamp", 1000);
    cJSON_Delete(object);
    return 0;
}
