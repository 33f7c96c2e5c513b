#include "relay/pause/agent_facts.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/driver_name.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t at, bytes;
} ids[] = {
    {"task_id", offsetof(struct pause, task_id), ID_TASK_BYTES},
    {"actor_id", offsetof(struct pause, actor_id), ID_ACTOR_BYTES},
    {"job_id", offsetof(struct pause, job_id), ID_JOB_BYTES},
    {"node_id", offsetof(struct pause, node_id), ID_UNIQUE_BYTES},
    {"worker_id", offsetof(struct pause, worker_id), ID_UNIQUE_BYTES},
};

static const struct {
    const char *name;
    size_t at;
} texts[] = {
    {"task_name", offsetof(struct pause, task_name)},
    {"actor_class", offsetof(struct pause, actor_class)},
    {"actor_name", offsetof(struct pause, actor_name)},
    {"node_ip", offsetof(struct pause, node_ip)},
};

enum { NAME_MOST = 1000 };

static void read_id(struct pause *pause, size_t i, const char *json, struct span facts)
{
    uint8_t bytes[ID_UNIQUE_BYTES];
    char *text = scan_string_at(json, facts, ids[i].name);
    if (text && text_unhex(text, bytes, ids[i].bytes))
        text_hex(bytes, ids[i].bytes, (char *)pause + ids[i].at);
    free(text);
}

static void read_text(struct pause *pause, size_t i, const char *json, struct span facts)
{
    char **field = (char **)((char *)pause + texts[i].at);
    char *text = scan_string_at(json, facts, texts[i].name);
    if (text && *text && strlen(text) <= NAME_MOST) {
        free(*field);
        *field = text;
        return;
    }
    free(text);
}

static void read_breakpoint(struct pause *pause, const char *json, struct span facts)
{
    char *uuid = scan_string_at(json, facts, "breakpoint");
    if (!text_copy(pause->breakpoint, sizeof pause->breakpoint, uuid ? uuid : ""))
        pause->breakpoint[0] = '\0';
    free(uuid);
}

static void name_driver(struct pause *pause, const char *json, struct span facts)
{
    char *role = scan_string_at(json, facts, "role");
    char *program = scan_string_at(json, facts, "program");
    if (text_equal(role, "driver")) {
        free(pause->task_name);
        pause->task_name = driver_name(program);
    }
    free(role);
    free(program);
}

void agent_facts_read(struct pause *pause, const char *json, struct span facts)
{
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        read_id(pause, i, json, facts);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        read_text(pause, i, json, facts);
    read_breakpoint(pause, json, facts);
    scan_integer_at(json, facts, "pid", &pause->pid);
    name_driver(pause, json, facts);
}

bool agent_facts_unhex(struct pause *pause, const char *repr)
{
    size_t len = repr ? strlen(repr) : 0;
    struct scan scan;
    struct span facts;
    if (len < 2 || len % 2 || repr[0] != '\'' || repr[len - 1] != '\'')
        return false;
    char *hex = mem_string_n(repr + 1, len - 2);
    char *json = mem_alloc(len / 2);
    bool good = text_unhex(hex, (uint8_t *)json, len / 2 - 1);
    scan_init(&scan, json, len / 2 - 1);
    good = good && scan_value(&scan, &facts) && scan_end(&scan) && json[facts.at] == '{';
    if (good)
        agent_facts_read(pause, json, facts);
    free(json);
    free(hex);
    return good;
}
