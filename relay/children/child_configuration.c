#include "relay/children/child_configuration.h"

#include "base/buf.h"
#include "base/mem.h"
#include "dap/message.h"
#include "relay/pause/task_label.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* True if a child does not get this member: the parent's own, where to attach to, and an editor's
 * settings around a session. */
static bool is_own(const char *json, struct span key)
{
    static const char *const names[] = {
        "name",       "task",    "tasks",        "job",          "actor",         "node",
        "mode",       "ticket",  "maxSessions",  "token",        "preLaunchTask", "postDebugTask",
        "type",       "request", "restart",      "presentation", "compounds",     "threadName",
        "allThreads", "eager",   "preserveFocus"};
    if (key.len > 3 && json[key.at + 1] == '_' && json[key.at + 2] == '_')
        return true; /* "__sessionId" */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (scan_key_is(json, key, names[i]))
            return true;
    return false;
}

char *child_configuration_common(const char *json, struct span arguments)
{
    struct buf out = {0};
    struct span key, value;
    size_t cursor = 0;
    if (scan_find(json, arguments, "type", &value) && json[value.at] == '"')
        buf_printf(&out, "\"type\":%.*s,", (int)value.len, json + value.at);
    else
        buf_add_string(&out, "\"type\":\"raydbg\",");
    buf_add_string(&out, "\"request\":\"attach\",");
    while (scan_member(json, arguments, &cursor, &key, &value))
        if (!is_own(json, key))
            buf_printf(&out, "%.*s:%.*s,", (int)key.len, json + key.at, (int)value.len,
                       json + value.at);
    return buf_take(&out);
}

/* A task's name comes from the cluster: an editor must not expand a "${" in it. */
char *child_configuration_name(const char *format, const struct pause *pause)
{
    char *name = task_label(format, pause, NULL, NULL);
    for (char *at = name; (at = strstr(at, "${"));)
        *at = '_';
    return name;
}

/* The TASK that `raydbg attach` takes for this pause, for the editor's own use. */
static char *child_task(const struct pause *pause)
{
    if (*pause->task_id && !pause->ambiguous)
        return mem_string(pause->task_id);
    return mem_format("%" PRId64 "@%s", pause->pid, pause->node_ip ? pause->node_ip : "");
}

char *child_configuration_start(const char *common, const char *format, const struct pause *pause,
                                const char *ticket)
{
    struct buf out = {0};
    char *name = child_configuration_name(format, pause), *task = child_task(pause);
    buf_printf(&out, "{\"request\":\"attach\",\"configuration\":{%s\"name\":", common);
    message_quote(&out, name);
    buf_add_string(&out, ",\"task\":");
    message_quote(&out, task);
    buf_printf(&out, ",\"ticket\":\"%s\"}}", ticket);
    free(name);
    free(task);
    return buf_take(&out);
}
