#include "relay/python_stack/live_stacks.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/json_record.h"
#include "relay/python_stack/process_list.h"
#include "relay/python_stack/python_dump.h"
#include "relay/python_stack/thread_frames.h"
#include "relay/verbs/stack_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct live_dump {
    struct python_dump dump;
    size_t shown; /* threads in the tree */
};

struct live_stacks {
    struct process_list processes;
    struct live_dump *dumps; /* of the process at the same position */
    bool full;
    struct stack_tree *tree;
    size_t threads;
};

struct live_stacks *live_stacks_create(const struct why_records *records, bool full)
{
    struct live_stacks *stacks = mem_alloc(sizeof *stacks);
    stacks->processes.records = records;
    stacks->full = full;
    stacks->tree = stack_tree_create(full);
    return stacks;
}

void live_stacks_destroy(struct live_stacks **stacks)
{
    struct live_stacks *it = *stacks;
    if (!it)
        return;
    *stacks = NULL;
    for (size_t i = 0; i < it->processes.count; i++)
        python_dump_clear(&it->dumps[i].dump);
    free(it->dumps);
    process_list_clear(&it->processes);
    stack_tree_destroy(&it->tree);
    free(it);
}

/* --- names --- */

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* True if the thread is in this attempt's function. */
static bool is_in(const struct python_thread *thread, const struct ray_attempt *attempt)
{
    for (size_t i = 0; i < thread->count; i++)
        if (text_equal(last_part(thread->frames[i].function), last_part(attempt->name)))
            return true;
    return false;
}

/* The attempt that the thread runs; NULL if there is none, or if there are several. */
static const struct ray_attempt *attempt_of(const struct process_item *process,
                                            const struct python_thread *thread)
{
    const struct ray_attempt *found = NULL;
    if (process->attempt_count == 1)
        return process->attempts[0];
    for (size_t i = 0; i < process->attempt_count && i < PROCESS_ATTEMPTS; i++) {
        if (!is_in(thread, process->attempts[i]))
            continue;
        if (found && !text_equal(found->name, process->attempts[i]->name))
            return NULL;
        found = process->attempts[i];
    }
    return found;
}

/* The task of the thread, as Ray's table has it, or else as the process's title has it, which is up
 * to a second ahead of the table. */
static char *label_of(const struct live_stacks *stacks, size_t index,
                      const struct python_thread *thread)
{
    static const char title_prefix[] = "ray::";
    const struct ray_worker *worker = stacks->processes.items[index].worker;
    const struct ray_attempt *attempt = attempt_of(&stacks->processes.items[index], thread);
    const char *ip = why_records_ip(stacks->processes.records, worker->node_id), *name = "worker";
    const char *title = stacks->dumps[index].dump.title;
    if (worker->is_driver)
        name = "driver";
    else if (attempt)
        name = attempt->name;
    else if (text_starts(title, title_prefix))
        name = title + strlen(title_prefix);
    bool is_main = !thread->name || text_equal(thread->name, "MainThread");
    char *label =
        mem_format("%s pid %" PRId64 "@%s%s%s%s", name, worker->pid, ip, is_main ? "" : " thread ",
                   is_main ? "" : thread->name, worker->paused_threads > 0 ? " (paused)" : "");
    char *printable = text_printable(label, strlen(label), ""); /* names are the program's */
    free(label);
    return printable;
}

/* --- adding --- */

static void add_thread(struct live_stacks *stacks, size_t index, const struct python_thread *thread)
{
    struct thread_frames frames = thread_frames_of(thread);
    struct buf json = {0};
    stacks->threads++; /* its id, shown or not */
    if (!thread->count || (!frames.has_users && !stacks->full))
        return;
    char *label = label_of(stacks, index, thread);
    const struct task_list_item who = {(int64_t)stacks->threads, -1, label};
    thread_frames_json(thread, &frames, stacks->full, &json);
    stacks->dumps[index].shown +=
        stack_tree_add(stacks->tree, &who, false, json.data, (struct span){0, json.len});
    free(label);
    buf_free(&json);
}

/* True for the thread of an async actor's event loop. Ray names it; uvloop, which Ray takes where
 * it is installed, has no frames. */
static bool is_event_loop(const struct python_thread *thread)
{
    bool found = thread->name && text_starts(thread->name, "AsyncIO Thread");
    for (size_t i = 0; i < thread->count && !found; i++)
        found = text_starts(thread->frames[i].file, "asyncio/");
    return found;
}

static bool has_event_loop(const struct python_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        if (is_event_loop(&dump->threads[i]))
            return true;
    return false;
}

static const char *reason_of(const struct process_item *process, const struct live_dump *dump)
{
    if (dump->shown)
        return NULL;
    if (process->attempt_count && has_event_loop(&dump->dump))
        return "calls of an async actor: a coroutine that waits has no stack";
    return process->attempt_count ? "a task runs, but no code of the program's: Ray gets its "
                                    "arguments, or stores its result"
                                  : "idle: it runs no task";
}

void live_stacks_add(struct live_stacks *stacks, const struct ray_worker *worker, const char *text,
                     const char *problem)
{
    size_t index = stacks->processes.count;
    struct process_item *process = process_list_add(&stacks->processes, worker);
    stacks->dumps = mem_resize(stacks->dumps, index + 1, sizeof *stacks->dumps);
    struct live_dump *dump = &stacks->dumps[index];
    *dump = (struct live_dump){0};
    process->is_read = text && python_dump_read(text, &dump->dump);
    if (!process->is_read) {
        process_list_fail(process, text ? "its text is not one of py-spy's" : problem);
        return;
    }
    for (size_t i = 0; i < dump->dump.count; i++)
        add_thread(stacks, index, &dump->dump.threads[i]);
    process->reason = reason_of(process, dump);
}

size_t live_stacks_count(const struct live_stacks *stacks)
{
    return stacks->processes.count;
}

size_t live_stacks_read(const struct live_stacks *stacks)
{
    return process_list_read(&stacks->processes);
}

int live_stacks_problem(const struct live_stacks *stacks, struct err *err)
{
    return process_list_problem(&stacks->processes, "stack", err);
}

/* --- text --- */

void live_stacks_text(struct live_stacks *stacks, struct buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < stacks->processes.count; i++)
        shown += stacks->dumps[i].shown;
    if (shown)
        stack_tree_text(stacks->tree, out);
    process_list_text(&stacks->processes, out);
}

/* --- JSON --- */

static void add_threads(const struct python_dump *dump, size_t *id, struct buf *out)
{
    buf_add_string(out, ",\"threads\":[");
    for (size_t i = 0; i < dump->count; i++) {
        const struct python_thread *thread = &dump->threads[i];
        struct thread_frames frames = thread_frames_of(thread);
        buf_printf(out, "%s{\"threadId\":%zu,\"os_id\":%" PRId64, i ? "," : "", ++*id, thread->id);
        json_member_text(out, "name", thread->name);
        buf_printf(out, ",\"active\":%s,\"gil\":%s", thread->is_active ? "true" : "false",
                   thread->has_gil ? "true" : "false");
        json_member_text(out, "waits_in", frames.waits_in);
        buf_add_string(out, ",\"frames\":[");
        for (size_t k = 0; k < thread->count; k++) {
            buf_printf(out, "%s{\"line\":%" PRId64, k ? "," : "", thread->frames[k].line);
            json_member_text(out, "name", thread->frames[k].function);
            json_member_text(out, "file", thread->frames[k].file);
            buf_printf(out, ",\"folded\":%s}",
                       thread_frames_is_folded(thread, &frames, k) ? "true" : "false");
        }
        buf_add_string(out, "]}");
    }
    buf_add_string(out, "]");
}

void live_stacks_json(struct live_stacks *stacks, struct buf *out)
{
    size_t id = 0;
    buf_add_string(out, "{\"processes\":[");
    for (size_t i = 0; i < stacks->processes.count; i++) {
        buf_add_string(out, i ? ",{" : "{");
        process_list_json(&stacks->processes, &stacks->processes.items[i], out);
        json_member_text(out, "title", stacks->dumps[i].dump.title);
        add_threads(&stacks->dumps[i].dump, &id, out);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "],\"tree\":");
    stack_tree_json(stacks->tree, out);
    buf_add_string(out, "}\n");
}
