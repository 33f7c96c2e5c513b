/* Reads the status with which each of the GCS's answers begins. Pure. */
#ifndef RAYDBG_PROTO_REPLY_STATUS_H
#define RAYDBG_PROTO_REPLY_STATUS_H

#include "base/err.h"
#include "gcs.pb-c.h"

/* Sets the error for malformed bytes, for which protobuf-c returns NULL; `what` is what the answer
 * is about. Returns -1. */
int reply_status_malformed(const char *what, struct err *err);
/* 0, or -1 with the GCS's own words if it refused to answer; an answer without a status is good. */
int reply_status_check(const RayWire__GcsStatus *status, const char *what, struct err *err);

#endif
