/* The events of a task's inner session. */
#include "relay/many/many_state.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/splice.h"

#include <stdlib.h>

/* At most one `important` output in this time, for all tasks: an editor shows each as a notice that
 * covers something. */
enum { LOUD_MS = 2000 };

static void on_initialized(struct many_task *task, const char *json, size_t len,
                           const struct envelope *event)
{
    (void)json, (void)len, (void)event;
    task->many->task_ops->ready(task);
}

static void on_terminated(struct many_task *task, const char *json, size_t len,
                          const struct envelope *event)
{
    (void)json, (void)len, (void)event;
    if (task->state != MANY_LEAVING)
        task->many->task_ops->ended(task, NULL);
}

static void ignore(struct many_task *task, const char *json, size_t len,
                   const struct envelope *event)
{
    (void)task, (void)json, (void)len, (void)event;
}

static void on_continued(struct many_task *task, const char *json, size_t len,
                         const struct envelope *event)
{
    (void)len;
    many_thread_on_continued(task, json, event);
}

static void on_thread(struct many_task *task, const char *json, size_t len,
                      const struct envelope *event)
{
    (void)len;
    many_thread_on_thread(task, json, event);
}

static void on_capabilities(struct many_task *task, const char *json, size_t len,
                            const struct envelope *event)
{
    struct span at;
    (void)len;
    if (!event->body.len || !scan_find(json, event->body, "capabilities", &at))
        return;
    intern_drop(&task->capabilities);
    task->capabilities = intern_get(json + at.at, at.len);
    if (task->state == MANY_RUNNING)
        many_capabilities_tell(task->many);
}

static void on_breakpoint(struct many_task *task, const char *json, size_t len,
                          const struct envelope *event)
{
    (void)len;
    many_breakpoints_event(task->many->sets, task, json, event);
}

static void on_module(struct many_task *task, const char *json, size_t len,
                      const struct envelope *event)
{
    (void)len;
    many_modules_event(task->many->modules, task, json, event);
}

static void on_role(struct many_task *task, const char *json, size_t len,
                    const struct envelope *event)
{
    (void)len;
    free(task->role);
    task->role = mem_string_n(json + event->body.at, event->body.len);
    bool drove = task->drives;
    task->drives = session_drives(task->inner);
    many_tell_role(task->many);
    if (drove && !task->drives)
        task->many->hooks->yielded(task->many->verbs, task);
    if (task->drives && !drove && task->state == MANY_RUNNING)
        many_breakpoints_arm(task->many->sets, task); /* sets made as an observer count now */
    if (task->drives && !drove)
        many_breakpoints_drive(task->many->sets);
}

static void on_output(struct many_task *task, const char *json, size_t len,
                      const struct envelope *event)
{
    struct many *many = task->many;
    struct span category = {0};
    struct buf quiet = {0};
    if (event->body.len)
        scan_find(json, event->body, "category", &category);
    bool own = category.len && scan_string_is(json, category, "console");
    bool loud = category.len && scan_string_is(json, category, "important");
    if (task->state == MANY_LEAVING && own)
        return; /* each task has a goodbye: the client gets one for all */
    if (loud && loop_now_us() - many->loud_us < (int64_t)LOUD_MS * 1000) {
        struct edit edit = {category, "\"console\"", sizeof "\"console\"" - 1};
        splice_apply(json, len, &edit, 1, &quiet);
        client_pass_edited(many->client, &quiet, 0);
        buf_free(&quiet);
        return;
    }
    if (loud)
        many->loud_us = loop_now_us();
    many_pass_out(task, 0, 0, json, len, event);
}

static const struct {
    const char *event;
    void (*handle)(struct many_task *task, const char *json, size_t len,
                   const struct envelope *event);
} handlers[] = {
    {"initialized", on_initialized},
    {"terminated", on_terminated},
    {"exited", ignore},  /* one task of many */
    {"process", ignore}, /* a client has room for one */
    {"stopped", many_thread_on_stopped},
    {"continued", on_continued},
    {"thread", on_thread},
    {"capabilities", on_capabilities},
    {"breakpoint", on_breakpoint},
    {"module", on_module},
    {"progressStart", many_progress_on_event},
    {"progressUpdate", many_progress_on_event},
    {"progressEnd", many_progress_on_event},
    {"raydbg/role", on_role},
    {"output", on_output},
};

void many_on_event(struct many_task *task, const char *json, size_t len,
                   const struct envelope *event)
{
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (text_equal(event->name, handlers[i].event)) {
            handlers[i].handle(task, json, len, event);
            return;
        }
    }
    many_pass_out(task, 0, 0, json, len, event);
}
