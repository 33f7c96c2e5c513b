/* The lines of several logs that were written at one moment, in the order of their times. Pure. */
#ifndef RAYDBG_RELAY_EVIDENCE_LOG_MOMENT_H
#define RAYDBG_RELAY_EVIDENCE_LOG_MOMENT_H

#include "relay/evidence/log_reader.h"

struct log_moment;

/* From options->from_ms to to_ms. */
struct log_moment *log_moment_create(const struct log_reader_options *options);
/* Takes the lines of one log that have a time of the moment, each with those without a time that
 * follow it. If its process died in the moment, its last lines without a time are of then. */
void log_moment_add(struct log_moment *moment, const char *prefix, const char *text, size_t len,
                    int64_t died_ms);
/* Appends "07:36:06.315  PREFIX LINE" for each. */
void log_moment_show(struct log_moment *moment, struct buf *out);
void log_moment_free(struct log_moment **moment);

#endif
