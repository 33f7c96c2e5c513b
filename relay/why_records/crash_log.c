#include "relay/why_records/crash_log.h"

#include "base/text.h"
#include "relay/why_records/log_marker.h"

#include <ctype.h>
#include <string.h>

static const char *last_of(const char *text, const char *needle)
{
    const char *found = NULL;
    for (const char *at = strstr(text, needle); at; at = strstr(at + 1, needle))
        found = at;
    return found;
}

/* Python's own handler, which names no signal. */
static const struct {
    const char *words, *signal;
} fatal[] = {
    {"Fatal Python error: Segmentation fault", "SIGSEGV"},
    {"Fatal Python error: Aborted", "SIGABRT"},
    {"Fatal Python error: Bus error", "SIGBUS"},
    {"Fatal Python error: Illegal instruction", "SIGILL"},
    {"Fatal Python error: Floating", "SIGFPE"},
    {"Fatal Python error: ", "SIGABRT"},
};

/* "*** SIGSEGV received at time=1795332838 on cpu 0 ***" */
static bool read_ray(const char *text, struct crash_log *out)
{
    const char *at = last_of(text, "*** SIG");
    size_t len = 0;
    if (!at)
        return false;
    at += strlen("*** ");
    while (isupper((unsigned char)at[len]) && len + 1 < sizeof out->signal)
        len++;
    if (!text_starts(at + len, " received"))
        return false;
    memcpy(out->signal, at, len);
    out->signal[len] = '\0';
    return true;
}

static bool read_python(const char *text, struct crash_log *out)
{
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (strstr(text, fatal[i].words))
            return text_copy(out->signal, sizeof out->signal, fatal[i].signal);
    return false;
}

/* Finds the last line before the first report of the signal. */
static void read_reason(const char *text, struct crash_log *out)
{
    const char *end = strstr(text, "*** SIG");
    if (!end)
        end = strstr(text, "Fatal Python error: ");
    for (const char *line = text; line < end; line += strcspn(line, "\n") + 1) {
        size_t len = strcspn(line, "\n");
        if (line + len >= end)
            break;
        if (log_marker_is(line, len))
            out->reason = NULL; /* what came before is another task's */
        else if (strspn(line, " \t") < len) {
            out->reason = line;
            out->reason_len = len;
        }
    }
}

bool crash_log_read(const char *text, struct crash_log *out)
{
    *out = (struct crash_log){0};
    if (!read_ray(text, out) && !read_python(text, out))
        return false;
    out->stack = last_of(text, "Stack (most recent call first):");
    if (strcmp(out->signal, "SIGABRT") == 0)
        read_reason(text, out);
    return true;
}
