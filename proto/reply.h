/* Decodes the replies of the GCS and of a core worker into records. Pure: any bytes give an error
 * or records, never a crash. All return 0, or -1 with `err` set and nothing to free. An id of a
 * wrong length becomes "", and so does a nil id (all 0xFF). */
#ifndef RAYDBG_PROTO_REPLY_H
#define RAYDBG_PROTO_REPLY_H

#include "base/err.h"
#include "proto/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int reply_workers(const uint8_t *bytes, size_t len, struct ray_worker **out, size_t *count,
                  struct err *err);
/* Only the latest attempt of each task. The numbers of the states depend on the version. */
int reply_tasks(const uint8_t *bytes, size_t len, struct ray_version version, struct ray_task **out,
                size_t *count, struct err *err);
int reply_actors(const uint8_t *bytes, size_t len, struct ray_actor **out, size_t *count,
                 struct err *err);
int reply_nodes(const uint8_t *bytes, size_t len, struct ray_node **out, size_t *count,
                struct err *err);
int reply_jobs(const uint8_t *bytes, size_t len, struct ray_job **out, size_t *count,
               struct err *err);
int reply_worker_stats(const uint8_t *bytes, size_t len, struct ray_worker_stats *out,
                       struct err *err);
int reply_worker_is_dead(const uint8_t *bytes, size_t len, bool *dead, struct err *err);

/* *value is NUL-terminated, and NULL if there is no such key; the caller frees it. */
int reply_kv_get(const uint8_t *bytes, size_t len, char **value, size_t *value_len,
                 struct err *err);
int reply_kv_put(const uint8_t *bytes, size_t len, struct err *err);
/* A missing key is not an error. */
int reply_kv_del(const uint8_t *bytes, size_t len, struct err *err);
/* *keys is an array of strings; the caller frees the strings and the array. */
int reply_kv_keys(const uint8_t *bytes, size_t len, char ***keys, size_t *count, struct err *err);

/* Parses CLUSTER_METADATA's JSON. The caller frees the strings, which are "" if missing. */
int reply_version(const char *json, size_t len, struct ray_version *version, char **ray_version,
                  char **python_version, struct err *err);
/* True if `key` is RAY_PDB_ and 32 hex digits, which go to `uuid`. RAY_PDB_CONTINUE_… is not. */
bool kv_parse_pdb_key(const char *key, char uuid[33]);
/* Parses an entry's JSON. `out` is cleared first; free its strings with ray_pdbs_free(). */
int reply_pdb(const char *json, size_t len, struct ray_pdb *out, struct err *err);

#endif
