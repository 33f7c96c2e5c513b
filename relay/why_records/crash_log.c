#include "relay/why_records/crash_log.h"

#include "base/text.h"

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

bool crash_log_read(const char *text, struct crash_log *out)
{
    *out = (struct crash_log){0};
    if (!read_ray(text, out) && !read_python(text, out))
        return false;
    out->stack = last_of(text, "Stack (most recent call first):");
    return true;
}
