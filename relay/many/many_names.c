/* The names of threads: what distinguishes the task, and the debuggee's own name of the thread. */
#include "relay/many/many_state.h"

#include "base/text.h"
#include "relay/pause/task_label.h"
#include "relay/stack/thread_names.h"

#include <stdlib.h>

enum { LABEL_MS = 5000 };

static void name_thread(const struct many_task *task, struct many_thread *thread)
{
    const char *label = task->thread_count > 1 ? thread->label : NULL;
    char *name = task_label(task->many->attach->thread_name, &task->pause, task->rank, label);
    bool news = thread->listed && !text_equal(name, thread->name);
    free(thread->name);
    thread->name = name;
    if (news)
        many_stop_renamed(task->many);
}

void many_names_renew(struct many_task *task)
{
    for (size_t i = 0; i < task->thread_count; i++)
        name_thread(task, &task->threads[i]);
}

static void read_labels(struct many_task *task, const char *json, const struct envelope *response)
{
    struct span list, item, at;
    size_t cursor = 0;
    int64_t own;
    if (!response || !response->body.len || !scan_find(json, response->body, "threads", &list) ||
        json[list.at] != '[')
        return;
    while (scan_element(json, list, &cursor, &item)) {
        struct many_thread *thread =
            scan_integer_at(json, item, "id", &own) ? many_thread_find(task, own) : NULL;
        if (!thread || !scan_find(json, item, "name", &at))
            continue;
        char *name = scan_string(json, at);
        free(thread->label);
        thread->label = name ? thread_label(name) : NULL;
        free(name);
    }
    many_names_renew(task);
}

static void ask_labels(struct many_task *task);

static void on_labels(void *arg, struct many_task *task, const char *json, size_t len,
                      const struct envelope *response)
{
    bool again = task->labels_due && response;
    (void)arg, (void)len;
    task->labels_asked = task->labels_due = false;
    read_labels(task, json, response);
    if (again)
        ask_labels(task);
}

/* One question at a time: a pool's hundreds of threads may stop at once. */
static void ask_labels(struct many_task *task)
{
    task->labels_due = task->labels_asked;
    if (task->labels_asked)
        return;
    task->labels_asked = true;
    many_ask(task, "threads", NULL, LABEL_MS, on_labels, NULL);
}

void many_names_add(struct many_task *task, struct many_thread *thread)
{
    name_thread(task, thread);
    if (task->thread_count > 1) /* the debuggee's names matter from the second thread on */
        ask_labels(task);
}
