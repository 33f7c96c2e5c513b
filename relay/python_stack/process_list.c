#include "relay/python_stack/process_list.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/json_record.h"
#include "relay/python_stack/python_dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* By worker, then in the order of the records. */
static int compare_running(const void *left, const void *right)
{
    const struct ray_attempt *a = *(const struct ray_attempt *const *)left;
    const struct ray_attempt *b = *(const struct ray_attempt *const *)right;
    int order = strcmp(a->worker_id, b->worker_id);
    return order ? order : (a > b) - (a < b);
}

/* Once for all processes: 10,000 of them must not be compared with 100,000 attempts each. */
static void index_running(struct process_list *list)
{
    const struct why_records *records = list->records;
    if (list->indexed)
        return;
    list->indexed = true;
    list->running = mem_array(records->attempt_count, sizeof(void *));
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (it->type != RAY_DRIVER_TASK && why_records_is_running(records, it))
            list->running[list->running_count++] = it;
    }
    if (list->running_count)
        qsort(list->running, list->running_count, sizeof(void *), compare_running);
}

/* The position of the first attempt that runs in this worker or in a later one. */
static size_t first_of(const struct process_list *list, const char *worker_id)
{
    size_t from = 0, to = list->running_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(list->running[middle]->worker_id, worker_id) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void set_attempts(struct process_list *list, struct process_item *item)
{
    const char *worker_id = item->worker->worker_id;
    for (size_t i = first_of(list, worker_id);
         i < list->running_count && text_equal(list->running[i]->worker_id, worker_id); i++) {
        if (item->attempt_count < PROCESS_ATTEMPTS)
            item->attempts[item->attempt_count] = list->running[i];
        item->attempt_count++;
    }
}

struct process_item *process_list_add(struct process_list *list, const struct ray_worker *worker)
{
    list->items = mem_resize(list->items, list->count + 1, sizeof *list->items);
    struct process_item *item = &list->items[list->count++];
    *item = (struct process_item){.worker = worker};
    index_running(list);
    set_attempts(list, item);
    return item;
}

void process_list_clear(struct process_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].words);
    free(list->items);
    free((void *)list->running);
    *list = (struct process_list){0};
}

/* The agent puts the command line in front of what py-spy has written. */
static const char *own_words(const char *problem)
{
    static const char mark[] = "=== stderr ===\n";
    const char *at = strstr(problem, mark);
    return at ? at + sizeof mark - 1 : problem;
}

void process_list_fail(struct process_item *item, const char *problem)
{
    struct python_dump_problem known = python_dump_problem(problem);
    const char *words = own_words(problem);
    item->reason = known.what;
    item->hint = known.hint;
    if (known.what)
        return;
    item->words = text_printable(words, strcspn(words, "\n"), "");
    item->reason = item->words;
}

size_t process_list_read(const struct process_list *list)
{
    size_t read = 0;
    for (size_t i = 0; i < list->count; i++)
        read += list->items[i].is_read;
    return read;
}

int process_list_problem(const struct process_list *list, const char *what, struct err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct process_item *item = &list->items[i];
        if (!item->reason)
            continue;
        err_set(err, ERR_FAILED, "no %s of process %" PRId64 "@%s", what, item->worker->pid,
                why_records_ip(list->records, item->worker->node_id));
        err_why(err, "%s", item->reason);
        return item->hint ? err_hint(err, "%s", item->hint) : -1;
    }
    return 0;
}

/* The processes with the reason of the first of them, in one line. */
static void add_reason(const struct process_list *list, size_t first, struct buf *out)
{
    enum { NAMES = 4 };
    const struct process_item *like = &list->items[first];
    size_t count = 0;
    for (size_t i = 0; i < first; i++)
        if (text_equal(list->items[i].reason, like->reason))
            return; /* it has its line */
    for (size_t i = first; i < list->count; i++)
        count += text_equal(list->items[i].reason, like->reason);
    buf_printf(out, "  not shown: %zu process%s, %s:", count, count == 1 ? "" : "es", like->reason);
    count = 0;
    for (size_t i = first; i < list->count && count < NAMES; i++)
        if (text_equal(list->items[i].reason, like->reason)) {
            const struct ray_worker *worker = list->items[i].worker;
            buf_printf(out, "%s %" PRId64 "@%s", count++ ? "," : "", worker->pid,
                       why_records_ip(list->records, worker->node_id));
        }
    buf_add_string(out, count == NAMES ? ", ...\n" : "\n");
    if (like->hint)
        buf_printf(out, "    %s\n", like->hint);
}

void process_list_text(const struct process_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].reason)
            add_reason(list, i, out);
}

void process_list_json(const struct process_list *list, const struct process_item *item,
                       struct buf *out)
{
    const struct ray_worker *worker = item->worker;
    buf_printf(out, "\"pid\":%" PRId64, worker->pid);
    json_member_text(out, "node_id", worker->node_id);
    json_member_text(out, "node_ip", why_records_ip(list->records, worker->node_id));
    json_member_text(out, "worker_id", worker->worker_id);
    buf_printf(out, ",\"is_driver\":%s,\"paused\":%s", worker->is_driver ? "true" : "false",
               worker->paused_threads > 0 ? "true" : "false");
    buf_add_string(out, ",\"tasks\":[");
    for (size_t i = 0; i < item->attempt_count && i < PROCESS_ATTEMPTS; i++) {
        buf_printf(out, "%s{\"task_id\":\"%s\"", i ? "," : "", item->attempts[i]->task_id);
        json_member_text(out, "task_name", item->attempts[i]->name);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]");
    json_member_text(out, "not_shown", item->reason);
}
