/* Decodes the GCS's replies about failures and resources. Pure; conventions as in reply.h. */
#ifndef RAYDBG_PROTO_FAILURE_REPLY_H
#define RAYDBG_PROTO_FAILURE_REPLY_H

#include "base/err.h"
#include "proto/failure_records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All attempts of GetTaskEvents, with the oldest attempt of a task first, and each one's timing if
 * `timed`. `dropped` is the number of state changes that the GCS no longer has. */
int failure_reply_attempts(const uint8_t *bytes, size_t len, struct ray_version version, bool timed,
                           struct ray_attempt **out, size_t *count, int64_t *dropped,
                           struct err *err);
int failure_reply_groups(const uint8_t *bytes, size_t len, struct ray_version version,
                         struct ray_group **out, size_t *count, struct err *err);
int failure_reply_resources(const uint8_t *bytes, size_t len, struct ray_resource_state *out,
                            struct err *err);

#endif
