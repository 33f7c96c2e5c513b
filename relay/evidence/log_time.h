/* The time at the beginning of a line of a log, as Ray's processes and Python's logging write it:
 * in the local time of their node, which is taken to be this machine's. Pure, except for the zone.
 */
#ifndef RAYDBG_RELAY_EVIDENCE_LOG_TIME_H
#define RAYDBG_RELAY_EVIDENCE_LOG_TIME_H

#include <stddef.h>
#include <stdint.h>

/* "[2026-11-22 07:36:06,315 E 301 301] …" or "2026-11-22 07:36:06,315\tINFO …", with a space or a
 * T, a comma or a dot, or without milliseconds: ms since the epoch; 0 for any other line. */
int64_t log_time_of(const char *line, size_t len);
/* The same of a whole text, without brackets: "2026-11-22 07:36:06" or "07:36:06", which is on the
 * day of `now_ms`, "07:36" as well. 0 if it is none. */
int64_t log_time_parse(const char *text, int64_t now_ms);
/* "07:36:06.315". Returns `out`. */
#define LOG_TIME_TEXT 20
char *log_time_text(int64_t ms, char out[LOG_TIME_TEXT]);

#endif
