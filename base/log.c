#include "base/log.h"

#include "base/text.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"error", "warn", "info", "debug"};
static enum log_level threshold = LOG_LEVEL_WARN;

bool log_set_level(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            threshold = (enum log_level)i;
            return true;
        }
    }
    return false;
}

static bool is_enabled(enum log_level level)
{
    return level <= threshold;
}

void log_line(enum log_level level, const char *format, ...)
{
    if (!is_enabled(level))
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *printable = text_printable(text, strlen(text), "");
    fprintf(stderr, "raydbg: %s: %s\n", names[level], printable);
    free(printable);
}
