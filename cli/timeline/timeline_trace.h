/* Writes a timeline as a trace in the Trace Event Format (JSON), which Perfetto and
 * chrome://tracing read. */
#ifndef RAYDBG_CLI_TIMELINE_TIMELINE_TRACE_H
#define RAYDBG_CLI_TIMELINE_TIMELINE_TRACE_H

#include "relay/timeline/timeline.h"

#include <stdio.h>

/* Writes event by event: 100,000 tasks are never one text in memory. An error of the stream is the
 * caller's to detect (ferror()). `cluster` is its address. */
void timeline_trace_write(const struct timeline *timeline, const struct why_records *records,
                          const char *cluster, FILE *out);

#endif
