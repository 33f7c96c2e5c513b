#include "relay/stack/thread_names.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <stdlib.h>
#include <string.h>

/* ray/_private/gc_collect_manager.py: the thread collects garbage and runs no task. */
static const char ray_own[] = "PythonGCThread";
/* Lib/threading.py's name for a thread that Python did not start, such as one of a Ray actor's
 * pool. */
static const char dummy[] = "Dummy-";

static bool is_ray_own(const char *json, struct span name, struct span id,
                       const struct thread_names *names)
{
    int64_t thread = 0;
    return !names->all && name.len && scan_string_is(json, name, ray_own) &&
           !(id.len && scan_integer(json, id, &thread) && thread == names->stopped);
}

char *thread_label(const char *name)
{
    return text_starts(name, dummy) ? mem_format("thread-%s", name + strlen(dummy))
                                    : mem_string(name);
}

/* The new name, or NULL if the thread keeps its name. */
static char *rename_thread(const char *name, const struct thread_names *names)
{
    if (text_equal(name, "MainThread"))
        return mem_string(names->task);
    if (!names->pool || !name || !text_starts(name, dummy))
        return NULL;
    return mem_format("%s thread-%s", names->pool, name + strlen(dummy));
}

/* Appends one thread's object, after a comma if it is not the first (`any`). Leaves out Ray's own
 * thread. True if the result differs from the original. */
static bool add_thread(const char *json, struct span item, const struct thread_names *names,
                       struct buf *out, bool *any)
{
    struct span name = {0}, id = {0};
    scan_find(json, item, "id", &id);
    if (!scan_find(json, item, "name", &name))
        name = (struct span){0};
    if (is_ray_own(json, name, id, names))
        return true;
    buf_add_string(out, *any ? ", " : "");
    *any = true;
    char *own = name.len ? scan_string(json, name) : NULL, *shown = rename_thread(own, names);
    free(own);
    if (!shown) {
        buf_add(out, json + item.at, item.len);
        return false;
    }
    buf_add(out, json + item.at, name.at - item.at);
    message_quote(out, shown);
    buf_add(out, json + name.at + name.len, item.at + item.len - name.at - name.len);
    free(shown);
    return true;
}

bool thread_names_edit(const char *json, size_t len, const struct envelope *response,
                       const struct thread_names *names, struct buf *out)
{
    struct span list, item;
    struct buf made = {0};
    size_t cursor = 0;
    bool any = false, edited = false;
    if (!response->success || !response->body.len ||
        !scan_find(json, response->body, "threads", &list) || json[list.at] != '[')
        return false;
    buf_add(&made, json, list.at + 1);
    while (scan_element(json, list, &cursor, &item))
        edited |= add_thread(json, item, names, &made, &any);
    size_t end = list.at + list.len - 1;
    buf_add(&made, json + end, len - end);
    if (edited)
        buf_add(out, made.data, made.len);
    buf_free(&made);
    return edited;
}
