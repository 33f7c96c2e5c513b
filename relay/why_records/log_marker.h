/* The lines that Ray writes into a worker's log by itself: ":job_id:01000000", ":task_name:f",
 * ":actor_name:A". */
#ifndef RAYDBG_RELAY_WHY_RECORDS_LOG_MARKER_H
#define RAYDBG_RELAY_WHY_RECORDS_LOG_MARKER_H

#include <stdbool.h>
#include <stddef.h>

/* The beginning of the line that names the task of the lines behind it. */
extern const char log_marker_task[];
bool log_marker_is(const char *line, size_t len);

#endif
