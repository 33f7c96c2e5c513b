/* The program's log: each call writes one line to stderr, with a '?' for every control
 * character (text_is_control()): a part may come from a debuggee. The default level is warn.
 * Never log a token, a message body or a variable's value. */
#ifndef RAYDBG_BASE_LOG_H
#define RAYDBG_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Sets the level to the value of RAYDBG_LOG: error, warn, info or debug. False for any other. */
bool log_set_level(const char *name);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
