#include "relay/pause/task_label.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/job_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct words {
    const struct pause *pause;
    const char *rank, *thread;
    char pid[24], job[ID_TEXT(ID_JOB_BYTES)];
};

const char *task_label_task(const struct pause *pause)
{
    return pause->task_name ? pause->task_name : pause->actor_class ? pause->actor_class : "task";
}

static const char *word(const struct words *words, const char *name, size_t len)
{
    const struct {
        const char *name, *value;
    } all[] = {
        {"rank", words->rank},
        {"task", task_label_task(words->pause)},
        {"actor", words->pause->actor_name},
        {"class", words->pause->actor_class},
        {"node", words->pause->node_ip},
        {"host", words->pause->node_name},
        {"pid", words->pid},
        {"thread", words->thread},
        {"job", words->job},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == len && strncmp(name, all[i].name, len) == 0)
            return all[i].value ? all[i].value : "";
    return NULL;
}

/* Reduces several blanks to one, and removes those at the ends. */
static char *squeeze(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++)
        if (*at != ' ' || (to > text && to[-1] != ' '))
            *to++ = *at;
    if (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
    return text;
}

char *task_label(const char *format, const struct pause *pause, const char *rank,
                 const char *thread)
{
    struct words words = {.pause = pause, .rank = rank, .thread = thread};
    struct buf out = {0};
    snprintf(words.pid, sizeof words.pid, "%lld", (long long)pause->pid);
    job_id_brief(pause->job_id, words.job);
    if (!format)
        format = rank                             ? "rank {rank} {thread} {task} {node} pid {pid}"
                 : !text_empty(pause->actor_name) ? "{actor} {thread} {task} {node} pid {pid}"
                                                  : "pid {pid} {thread} {task} {node}";
    for (const char *at = format; *at;) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        const char *value = end ? word(&words, at + 1, (size_t)(end - at) - 1) : NULL;
        if (value)
            buf_add_string(&out, value);
        else
            buf_add(&out, at, 1);
        at = value ? end + 1 : at + 1;
    }
    buf_add_string(&out, "");
    char *raw = buf_take(&out);
    char *shown = text_printable(raw ? raw : "", raw ? strlen(raw) : 0, "");
    free(raw);
    return squeeze(shown);
}
