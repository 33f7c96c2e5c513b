#include "cli/memory/memory_wait.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/terminal.h"
#include "cli/memory/memory_sites.h"
#include "relay/sweep/sweep_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Each name is a call to the GCS, some 0.3 ms. A thousand owners give locations in about as many
 * calls. */
enum { NAMES_BRIEF = 200, NAMES_MOST = 5000, LOCATIONS_MOST = 20000 };

struct answer {
    struct object_sweep *sweep;
    struct err err;
    bool done;
};

static void on_sweep(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct answer *answer = arg;
    if (err)
        answer->err = *err;
    answer->sweep = sweep;
    answer->done = true;
}

static int ask(struct loop *loop, struct memory_source *source, struct object_sweep **out,
               struct err *err)
{
    struct answer answer = {0};
    memory_source_ask(source, on_sweep, &answer);
    loop_run_until(loop, &answer.done, -1);
    *out = answer.sweep;
    if (answer.err.code)
        *err = answer.err;
    return answer.err.code ? -1 : 0;
}

/* --- details --- */

static int by_position(const void *a, const void *b)
{
    const struct object_row *const *one = a, *const *two = b;
    return *one < *two ? -1 : *one > *two;
}

/* The first `limit` rows of the report, but only one of those whose objects' ids share their first
 * `same` bytes. The caller frees. */
static const struct object_row **pick(const struct object_report *report, size_t limit, size_t same,
                                      size_t *count)
{
    size_t some = report->rows < limit ? report->rows : limit, kept = 0;
    const struct object_row **rows = mem_array(some + 1, sizeof(void *));
    for (size_t i = 0; i < some; i++)
        rows[i] = report->all[i];
    if (some)
        qsort(rows, some, sizeof(void *), by_position);
    for (size_t i = 0; i < some; i++)
        if (!kept || memcmp(&rows[i]->ref->id, &rows[kept - 1]->ref->id, same) != 0)
            rows[kept++] = rows[i];
    *count = kept;
    return rows;
}

static void detail(struct loop *loop, struct memory_source *source, struct object_sweep *sweep,
                   const struct object_report *report, size_t limit, enum memory_detail what)
{
    struct answer answer = {0};
    size_t count, same = what == MEMORY_NAMES ? ID_TASK_BYTES : ID_OBJECT_BYTES;
    const struct object_row **rows = pick(report, limit, same, &count);
    memory_source_detail(source, sweep, rows, count, what, on_sweep, &answer);
    loop_run_until(loop, &answer.done, -1);
    free(rows);
}

/* Filters, --task, groups by task and ages need the names before rows can be chosen. */
static bool needs_all_names(const struct sweep_query *query)
{
    return query->filter || query->task || query->group_by == OBJECT_BY_TASK ||
           query->sort_by == OBJECT_SORT_AGE;
}

static bool shows_names(const struct memory_request *request, const struct object_sweep *sweep)
{
    if (request->diff)
        return false;
    if (request->format != MEMORY_TABLE && !request->why_full)
        return true;
    return request->grouped || request->locations || !memory_has_call_sites(sweep);
}

/* --- the worker of a task --- */

static bool is_called(const char *wanted, const char *task_id, const char *name)
{
    return text_equal(wanted, name) ||
           (*task_id && strncasecmp(task_id, wanted, strlen(wanted)) == 0);
}

/* True if the task has not ended: its result has a row before it ends, with the status that its
 * owner knows. */
static bool is_pending(const struct object_sweep *sweep, const struct ray_task *task)
{
    struct object_id id = {.bytes = {[ID_TASK_BYTES] = 1}};
    size_t count, first;
    if (!text_unhex(task->task_id, id.bytes, ID_TASK_BYTES))
        return false;
    first = object_sweep_rows_of(sweep, &id, &count);
    for (size_t i = first; i < first + count; i++) {
        uint8_t status = (uint8_t)sweep->rows[i].ref->status;
        if (status != RAY_TASK_NIL && status != RAY_TASK_FINISHED && status != RAY_TASK_FAILED)
            return true;
    }
    return false;
}

static void on_pauses(void *arg, const struct err *err)
{
    (void)err; /* no pause is known then */
    *(bool *)arg = true;
}

/* Finds the worker of a paused task, which may have no result that is pending. */
static const char *find_paused(struct loop *loop, struct memory_source *source, const char *task)
{
    struct pause_source *origin = memory_source_origin(source);
    bool done = false;
    pause_source_refresh(origin, on_pauses, &done);
    loop_run_until(loop, &done, -1);
    const struct pause_list *pauses = pause_source_pauses(origin);
    for (size_t i = 0; i < pauses->count; i++)
        if (is_called(task, pauses->items[i].task_id, pauses->items[i].task_name))
            return pauses->items[i].worker_id;
    return "";
}

static void find_worker(struct loop *loop, struct memory_source *source,
                        struct memory_request *request, const struct object_sweep *sweep)
{
    const char *worker_id = "";
    for (size_t i = 0; i < sweep->task_count && !*worker_id; i++) {
        const struct ray_task *task = &sweep->tasks[i];
        if (is_called(request->query.task, task->task_id, task->name) && is_pending(sweep, task))
            worker_id = task->worker_id;
    }
    if (!*worker_id)
        worker_id = find_paused(loop, source, request->query.task);
    text_copy(request->task_worker, sizeof request->task_worker, worker_id);
    request->query.task_worker = *worker_id ? request->task_worker : NULL;
}

/* --- all of it --- */

/* All rows in one order, without groups; without the filters, too, unless `filtered`. */
static struct object_report *rank(const struct sweep_query *query, const struct object_sweep *sweep,
                                  bool filtered)
{
    struct sweep_query flat = *query;
    flat.group_by = OBJECT_BY_NOTHING;
    if (!filtered)
        flat.filter = flat.task = flat.task_worker = NULL;
    return sweep_query_run(&flat, sweep);
}

static void ask_details(struct loop *loop, struct memory_source *source,
                        struct memory_request *request, bool brief, struct object_sweep *sweep)
{
    const struct sweep_query *query = &request->query;
    bool all = needs_all_names(query);
    if (all || shows_names(request, sweep)) {
        struct object_report *report = rank(query, sweep, !all);
        detail(loop, source, sweep, report, brief && !all ? NAMES_BRIEF : NAMES_MOST, MEMORY_NAMES);
        object_report_free(&report);
    }
    if (query->task)
        find_worker(loop, source, request, sweep);
    if (request->locations || request->why_full) {
        struct object_report *report = rank(query, sweep, true);
        detail(loop, source, sweep, report, LOCATIONS_MOST, MEMORY_LOCATIONS);
        object_report_free(&report);
    }
}

int memory_wait(struct loop *loop, struct memory_source *source, struct memory_request *request,
                bool brief, struct object_sweep **out, struct err *err)
{
    char text[600];
    snprintf(text, sizeof text, "asking %s who refers to what ...", memory_source_name(source));
    struct progress *progress = progress_start(text);
    int result = ask(loop, source, out, err);
    if (result == 0 && !request->stats_only && (*out)->row_count)
        ask_details(loop, source, request, brief, *out);
    progress_stop(&progress);
    return result;
}

void memory_wait_ms(struct loop *loop, int64_t ms)
{
    const bool never = false;
    char text[80];
    snprintf(text, sizeof text, "waiting %.0f s for a second look ...", (double)ms / 1000);
    struct progress *progress = progress_start(text);
    loop_run_until(loop, &never, ms);
    progress_stop(&progress);
}

/* --- files --- */

static bool read_all(FILE *file, struct buf *out)
{
    enum { CHUNK = 1 << 16 };
    size_t got;
    do {
        got = fread(buf_reserve(out, CHUNK), 1, CHUNK, file);
        out->len += got;
    } while (got);
    return !ferror(file);
}

int memory_wait_file(const char *path, struct object_sweep **out, struct err *err)
{
    struct buf text = {0};
    FILE *file = fopen(path, "re");
    if (!file || !read_all(file, &text)) {
        err_set(err, ERR_NOT_FOUND, "cannot read %s", path);
        err_why(err, "%s", strerror(errno));
        err_hint(err, "--diff takes what --format json has printed, or a time such as 10s");
    } else {
        *out = sweep_json_read(text.data ? text.data : "", text.len, err);
        if (!*out)
            err_hint(err, "%s has to be what --format json has printed", path);
    }
    if (file)
        fclose(file);
    buf_free(&text);
    return *out ? 0 : -1;
}
