#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    if (!err)
        return -1;
    err->code = code;
    err->why[0] = err->hint[0] = '\0';
    va_list args;
    va_start(args, format);
    vsnprintf(err->what, sizeof err->what, format, args);
    va_end(args);
    return -1;
}

int err_why(struct err *err, const char *format, ...)
{
    if (!err)
        return -1;
    va_list args;
    va_start(args, format);
    vsnprintf(err->why, sizeof err->why, format, args);
    va_end(args);
    return -1;
}

int err_hint(struct err *err, const char *format, ...)
{
    if (!err)
        return -1;
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return -1;
}

void err_line(const struct err *err, char *out, unsigned long size)
{
    snprintf(out, size, "%s%s%s%s%s%s", err->what, err->why[0] ? ": " : "", err->why,
             err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
}
