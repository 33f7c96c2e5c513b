/* The pages of `raydbg memory --top` on one object, on its owner, and its help. */
#include "cli/top/top_draw_parts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/top/top_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines of text, of which the page shows `room` from `skip` on. */
struct facts {
    struct top_page *page;
    size_t skip, room, count;
};

static struct facts facts_start(struct top_page *page, size_t skip, int lines, const char *title)
{
    top_page_add(page, TOP_PLAIN, " %s", title);
    top_page_fill(page, TOP_TITLE, true);
    top_page_end_line(page);
    return (struct facts){.page = page, .skip = skip, .room = (size_t)lines};
}

/* Counts a line; true if it shows. */
static bool next_line(struct facts *facts)
{
    size_t index = facts->count++;
    return index >= facts->skip && index - facts->skip < facts->room;
}

/* Frees `value`. */
static void fact(struct facts *facts, const char *label, char *value)
{
    enum { LABEL = 16 };
    if (next_line(facts)) {
        top_page_add(facts->page, TOP_PLAIN, " ");
        top_page_cell(facts->page, TOP_DIM, LABEL, false, label);
        top_page_add(facts->page, TOP_PLAIN, "%s", value);
        top_page_end_line(facts->page);
    }
    free(value);
}

static void text_line(struct facts *facts, enum top_attr attr, const char *text)
{
    if (!next_line(facts))
        return;
    top_page_add(facts->page, attr, " %s", text);
    top_page_end_line(facts->page);
}

/* --- an object --- */

static const char *node_name(const struct object_sweep *sweep, const char *node_id)
{
    for (size_t i = 0; i < sweep->node_count; i++)
        if (text_equal(sweep->nodes[i].node_id, node_id))
            return sweep->nodes[i].name;
    return node_id;
}

/* The row that knows most of the object: its owner's, else the first one. */
static const struct object_row *telling_row(const struct object_sweep *sweep, size_t first,
                                            size_t count)
{
    for (size_t i = first; i < first + count; i++)
        if (sweep->rows[i].owner == (int32_t)sweep->rows[i].process)
            return &sweep->rows[i];
    return &sweep->rows[first];
}

static int64_t size_of(const struct object_sweep *sweep, size_t first, size_t count)
{
    int64_t size = -1;
    for (size_t i = first; i < first + count; i++)
        if (sweep->rows[i].ref->size > size)
            size = sweep->rows[i].ref->size;
    return size;
}

static char *actor_text(const struct object_process *process)
{
    if (!process->worker->actor_id[0])
        return mem_string("none");
    const char *class = text_empty(process->actor_class) ? "actor" : process->actor_class;
    if (text_empty(process->actor_name))
        return mem_format("%s (%s)", class, process->worker->actor_id);
    return mem_format("%s \"%s\" (%s)", class, process->actor_name, process->worker->actor_id);
}

static char *process_text(const struct object_sweep *sweep, int32_t index)
{
    char *name = top_process_name(sweep, index);
    if (index < 0)
        return name;
    const struct object_process *process = &sweep->processes[index];
    char *actor = actor_text(process);
    char *text = process->worker->actor_id[0]
                     ? mem_format("%s, %s, actor %s", name, top_process_type(process), actor)
                     : mem_format("%s, %s", name, top_process_type(process));
    free(actor);
    free(name);
    return text;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted: the owner gives them in another order each time. */
static void add_copies(const struct object_sweep *sweep, const struct ray_object_location *location,
                       struct buf *out)
{
    const char **names = mem_array(location->node_count + 1, sizeof(char *));
    for (size_t i = 0; i < location->node_count; i++)
        names[i] = node_name(sweep, location->node_ids[i]);
    qsort(names, location->node_count, sizeof(char *), compare_names);
    for (size_t i = 0; i < location->node_count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", names[i]);
    free(names);
}

static char *locations_text(const struct top_model *model, const struct object_id *id)
{
    const struct ray_object_location *location =
        model->detail ? object_sweep_location(model->detail, id) : NULL;
    struct buf out = {0};
    if (!model->detail_asked)
        return mem_string("asking its owner");
    if (!location || !location->known)
        return mem_string("unknown: its owner did not tell");
    add_copies(model->sweep, location, &out);
    if (!text_empty(location->spilled_url))
        buf_printf(&out, "%sspilled to %s%s%s", out.len ? "; " : "", location->spilled_url,
                   location->spilled_node_id[0] ? " of " : "",
                   location->spilled_node_id[0] ? node_name(model->sweep, location->spilled_node_id)
                                                : "");
    if (out.len == 0)
        buf_add_string(&out, location->pending ? "none yet: it is being made"
                                               : "no store: in its owner's memory, or lost");
    return buf_take(&out);
}

/* The id of a put object does not contain its task, but its owner has put it. */
static char *creator_text(const struct top_model *model, const struct object_id *id, int32_t owner)
{
    char task_id[ID_TEXT(ID_TASK_BYTES)], actor[ID_TEXT(ID_ACTOR_BYTES)];
    const struct ray_task *task = model->detail ? object_sweep_task(model->detail, id) : NULL;
    object_id_task(id, task_id);
    if (!task)
        task = object_sweep_task(model->sweep, id);
    if (!task && object_id_is_actor_handle(id, actor))
        return mem_format("nobody: it is a handle of actor %s", actor);
    if (!task && object_id_is_put(id)) {
        char *name = top_process_name(model->sweep, owner);
        char *text = mem_format("ray.put in %s", name);
        free(name);
        return text;
    }
    if (!task)
        return mem_format("task %s", task_id);
    return mem_format("%s (task %s, pid %lld)", text_empty(task->name) ? "?" : task->name,
                      task->task_id, (long long)task->pid);
}

static void holder_title(struct facts *facts)
{
    text_line(facts, TOP_BOLD,
              "    PID  NODE            TYPE    REFERENCE              LOCAL  PENDING  PINNED  "
              "CALL SITE");
}

static void holder(struct facts *facts, const struct object_sweep *sweep,
                   const struct object_row *row)
{
    const struct object_process *process = &sweep->processes[row->process];
    const struct ray_object_ref *ref = row->ref;
    struct top_page *page = facts->page;
    if (!next_line(facts))
        return;
    top_page_add(page, TOP_PLAIN, " %7lld  ", (long long)process->worker->pid);
    top_page_cell(page, TOP_PLAIN, 16, false, sweep->nodes[process->node].name);
    top_page_cell(page, TOP_PLAIN, 8, false, top_process_type(process));
    top_page_cell(page, TOP_PLAIN, 22, false, object_reference_name(row->reference));
    top_page_add(page, TOP_PLAIN, "%6" PRId64 "  %7" PRId64 "  %6s  %s", ref->local, ref->submitted,
                 ref->pinned ? "yes" : "no", ref->call_site);
    top_page_end_line(page);
}

static void add_object(struct facts *facts, const struct top_model *model, size_t first,
                       size_t count)
{
    const struct object_sweep *sweep = model->sweep;
    const struct object_row *row = telling_row(sweep, first, count);
    const struct object_id *id = &row->ref->id;
    char hex[ID_TEXT(ID_OBJECT_BYTES)], size[MEMORY_SIZE_TEXT];
    bool owned = row->owner == (int32_t)row->process;
    object_id_hex(id, hex);
    byte_units_size(size_of(sweep, first, count), model->units, size);
    fact(facts, "object", mem_string(hex));
    fact(facts, "size", mem_string(size));
    fact(facts, "owner",
         row->owner < 0 ? mem_string("unknown: none of the processes that answered")
                        : process_text(sweep, row->owner));
    fact(facts, "status",
         owned ? mem_format("%s, attempt %d", ray_task_status_name(row->ref->status),
                            row->ref->attempt + 1)
               : mem_string("unknown: its owner tells"));
    fact(facts, "call site",
         mem_string(text_empty(row->ref->call_site)
                        ? "not recorded: set RAY_record_ref_creation_sites=1 before ray start"
                        : row->ref->call_site));
    fact(facts, "copies", locations_text(model, id));
    fact(facts, "created by", creator_text(model, id, row->owner));
    fact(facts, "contained in",
         mem_format("%" PRIu32 " object%s of that process", row->ref->contained_in,
                    row->ref->contained_in == 1 ? "" : "s"));
    text_line(facts, TOP_PLAIN, "");
    fact(facts, "referred to by", mem_format("%zu process%s", count, count == 1 ? "" : "es"));
    holder_title(facts);
    for (size_t i = first; i < first + count; i++)
        holder(facts, sweep, &sweep->rows[i]);
}

size_t top_draw_object(const struct top_model *model, struct top_page *page, int lines)
{
    const struct top_frame *frame = top_model_frame(model);
    struct facts facts = facts_start(page, frame->scroll, lines, "OBJECT");
    size_t count = 0;
    size_t first = object_sweep_rows_of(model->sweep, &frame->object, &count);
    if (count)
        add_object(&facts, model, first, count);
    else
        text_line(&facts, TOP_WARNING, "No process refers to this object any more.");
    return facts.count;
}

/* --- its owner --- */

static int32_t process_of(const struct object_sweep *sweep, const char *worker_id)
{
    for (size_t i = 0; i < sweep->process_count; i++)
        if (text_equal(sweep->processes[i].worker->worker_id, worker_id))
            return (int32_t)i;
    return -1;
}

static const struct pause *pause_of(const struct pause_list *pauses, const char *worker_id)
{
    for (size_t i = 0; pauses && i < pauses->count; i++)
        if (text_equal(pauses->items[i].worker_id, worker_id))
            return &pauses->items[i];
    return NULL;
}

static void add_pause(struct facts *facts, const struct pause *pause,
                      const struct object_node *node)
{
    if (pause->state == PAUSE_IDLE) {
        fact(facts, "task", mem_string("none: it is idle"));
        return;
    }
    fact(facts, "task", mem_string(pause->task_name ? pause->task_name : "unknown"));
    fact(facts, "debugger", mem_string(pause_state_name(pause->state)));
    if (pause->file)
        fact(facts, "stopped at",
             mem_format("%s:%lld%s%s", pause->file, (long long)pause->line,
                        pause->reason ? ", " : "", pause->reason ? pause->reason : ""));
    text_line(facts, TOP_PLAIN, "");
    if (!pause->file)
        text_line(facts, TOP_PLAIN,
                  "Where it stopped is known when a relay holds it, or somebody attaches.");
    char *how = mem_format("Its whole stack: raydbg attach %lld@%s -e where", (long long)pause->pid,
                           node->ip);
    text_line(facts, TOP_PLAIN, how);
    free(how);
}

static void add_owner(struct facts *facts, const struct top_model *model, int32_t index)
{
    const struct object_process *process = &model->sweep->processes[index];
    const struct object_node *node = &model->sweep->nodes[process->node];
    const struct pause *pause = pause_of(model->pauses, process->worker->worker_id);
    char owned[32] = "unknown";
    if (process->worker->owned >= 0)
        snprintf(owned, sizeof owned, "%" PRId64, process->worker->owned);
    fact(facts, "process",
         mem_format("pid %lld, %s", (long long)process->worker->pid, top_process_type(process)));
    fact(facts, "node", mem_format("%s (%s)", node->name, node->ip));
    fact(facts, "actor", actor_text(process));
    fact(facts, "job", mem_string(process->worker->job_id));
    fact(facts, "worker id", mem_string(process->worker->worker_id));
    fact(facts, "owns", mem_format("%s objects", owned));
    if (pause) {
        add_pause(facts, pause, node);
        return;
    }
    text_line(facts, TOP_PLAIN, "");
    text_line(facts, TOP_PLAIN,
              model->pauses ? "It is not stopped in a debugger, so where it runs cannot be told."
                            : "Asking whether it is stopped in a debugger.");
}

size_t top_draw_owner(const struct top_model *model, struct top_page *page, int lines)
{
    const struct top_frame *frame = top_model_frame(model);
    struct facts facts = facts_start(page, frame->scroll, lines, "OWNER");
    int32_t index = process_of(model->sweep, frame->worker_id);
    if (index >= 0)
        add_owner(&facts, model, index);
    else if (frame->worker_id[0])
        text_line(&facts, TOP_WARNING, "The process that owned it did not answer any more.");
    else
        text_line(&facts, TOP_WARNING,
                  "Its owner is not known: it has ended, or its node did not answer.");
    return facts.count;
}

/* --- help --- */

size_t top_draw_help(const struct top_model *model, struct top_page *page, int lines)
{
    static const char *const text[] = {
        "Up Down k j       choose a line             PgUp PgDn Home End  further",
        "Enter Right       into the chosen line: its call sites, their references, one object",
        "Left Backspace    back",
        "s                 of an object: who owns it, and where that process is stopped",
        "F3 /              filter: text in call site, kind, node, pid, class, task; Esc clears it",
        "F6 >              sort: s size, r refs, p pid, a age of the task that made it",
        "g                 group by node, call site, owner, task, actor, job, or nothing",
        "u                 units: auto, B, KB, MB, GB",
        "Space             pause; r looks at once",
        "+ -               look less, more often",
        "h F1              this            q F10 Ctrl-C  quit            Ctrl-Z  suspend",
        "",
        "An object's bytes count once in a group, its references each. GROWTH is since the first",
        "look; \"new\" is an object that was not there then. A node's bar is its store's used",
        "bytes of its capacity; created and spills are bytes per second, since the look before.",
    };
    struct facts facts = facts_start(page, model->help_scroll, lines, "HELP");
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        text_line(&facts, TOP_PLAIN, text[i]);
    return facts.count;
}
