/* The program's log: one line a call, to stderr, off by default but for warnings.
 * Never log a token, a message body or a variable's value. */
#ifndef RAYDBG_BASE_LOG_H
#define RAYDBG_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* RAYDBG_LOG (error, warn, info, debug) sets the level; any other value is an error. */
bool log_set_level(const char *name);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
