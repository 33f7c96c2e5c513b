/* A job's id as people write it. Ray: JobID is 4 bytes, a little-endian count, so that "01000000"
 * is the first job of a cluster and "00010000" the 256th. */
#ifndef RAYDBG_PROTO_JOB_ID_H
#define RAYDBG_PROTO_JOB_ID_H

#include "proto/records.h"

#include <stdbool.h>

/* The id in short, as Ray's own tools count jobs: "01000000" is "01", "0a010000" is "0a01". Returns
 * `out`. */
char *job_id_brief(const char *job_id, char out[ID_TEXT(ID_JOB_BYTES)]);
/* True if `text` is this job's id, in full or in short. */
bool job_id_is(const char *job_id, const char *text);

#endif
