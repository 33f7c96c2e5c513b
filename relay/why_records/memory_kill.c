#include "relay/why_records/memory_kill.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USERS = 3, CHOSEN = 3 };

/* Adds the line that begins with `words`, as it is. */
static void tell_line(const char *text, const char *words, struct why_report *report)
{
    const char *at = strstr(text, words);
    if (!at)
        return;
    char *line = why_first_words(at);
    why_list_add(&report->details, "%s", line);
    free(line);
}

/* The number behind `words`; -1 if there is none. */
static double number_after(const char *text, const char *words)
{
    const char *at = text ? strstr(text, words) : NULL;
    char *end;
    if (!at)
        return -1;
    at += strlen(words);
    double number = strtod(at, &end);
    return end == at ? -1 : number;
}

/* Objects that a process refers to, and those that no process refers to but that are still there.
 */
static void tell_store(const char *text, struct why_report *report)
{
    const char *store = strstr(text, "Object store memory usage: [");
    double in_use = number_after(store, "- bytes in use: ");
    double evictable = number_after(store, "- bytes evictable: ");
    if (in_use < 0 || evictable < 0)
        why_list_add(&report->unknown,
                     "how much of the node's memory objects in the store had: this "
                     "version of Ray does not say");
    else
        why_list_add(&report->details,
                     "objects in the store had %.2f GB, all else is the memory of processes",
                     (in_use + evictable) / 1e9);
}

/* "Selected to kill: (Task: …, task name=f, …, pid=933, actual memory used=5.01GB, …)" */
static void tell_chosen(const char *text, struct why_report *report)
{
    static const char words[] = "Selected to kill: (", name_words[] = "name=";
    struct buf out = {0};
    int count = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) {
        const char *name = strstr(at, name_words);
        if (!name || strcspn(at, "\n") < (size_t)(name - at) || ++count > CHOSEN)
            continue;
        double pid = number_after(at, "pid="), size = number_after(at, "memory used=");
        name += sizeof name_words - 1;
        buf_printf(&out, "%s%.*s", count > 1 ? ", " : "", (int)strcspn(name, ",)\n"), name);
        if (pid > 0 && size >= 0)
            buf_printf(&out, " (pid %.0f, %.2f GB)", pid, size);
    }
    if (count)
        why_list_add(&report->details, "Ray chose %s%s", out.data, count > CHOSEN ? ", …" : "");
    buf_free(&out);
}

/* The lines below "PID MEM(GB) COMMAND", the largest first. */
static void tell_users(const char *text, struct why_report *report)
{
    static const char words[] = "Top 10 memory users:", title[] = "COMMAND";
    const char *at = strstr(text, words);
    struct buf out = {0};
    at = at ? strstr(at, title) : NULL;
    for (int i = 0; at && i < USERS; i++) {
        char *end;
        at += strcspn(at, "\n");
        long pid = strtol(at, &end, 10);
        double size = end == at ? -1 : strtod(end, &end);
        if (pid <= 0 || size < 0)
            break;
        end += strspn(end, "\t ");
        buf_printf(&out, "%s%.*s (pid %ld) %.2f GB", i ? ", " : "", (int)strcspn(end, "\n"), end,
                   pid, size);
        at = end;
    }
    if (out.len)
        why_list_add(&report->details, "most of the memory had: %s", out.data);
    buf_free(&out);
}

void memory_kill_tell(const char *text, struct why_report *report)
{
    if (!strstr(text, "Memory on the node"))
        return;
    tell_line(text, "Memory on the node", report);
    tell_line(text, "OOM kill reason", report);
    tell_store(text, report);
    tell_chosen(text, report);
    tell_users(text, report);
}
