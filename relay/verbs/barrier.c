#include "relay/verbs/barrier.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>

enum state { MISSING, ARRIVED, GONE };

struct task_state {
    enum state state;
    char *what; /* missing: what the task does; gone: why; or NULL */
};

struct barrier {
    char *name;
    struct task_list tasks;
    struct task_state *states; /* one for each of `tasks` */
};

struct barrier *barrier_create(const char *location)
{
    struct barrier *barrier = mem_alloc(sizeof *barrier);
    barrier->name = mem_string(location);
    return barrier;
}

void barrier_destroy(struct barrier **barrier)
{
    struct barrier *it = *barrier;
    if (!it)
        return;
    for (size_t i = 0; i < it->tasks.count; i++)
        free(it->states[i].what);
    free(it->states);
    task_list_clear(&it->tasks);
    free(it->name);
    free(it);
    *barrier = NULL;
}

void barrier_expect(struct barrier *barrier, const struct task_list_item *who)
{
    size_t at = task_list_add(&barrier->tasks, who->thread, who->rank, who->name);
    barrier->states = mem_resize(barrier->states, at + 1, sizeof *barrier->states);
    barrier->states[at] = (struct task_state){MISSING, NULL};
}

static struct task_state *find(const struct barrier *barrier, int64_t thread)
{
    for (size_t i = 0; i < barrier->tasks.count; i++)
        if (barrier->tasks.items[i].thread == thread)
            return &barrier->states[i];
    return NULL;
}

static void set(struct task_state *task, enum state state, const char *what)
{
    char *copy = mem_string(what);
    free(task->what);
    *task = (struct task_state){state, copy};
}

bool barrier_arrive(struct barrier *barrier, int64_t thread)
{
    struct task_state *task = find(barrier, thread);
    if (!task || task->state != MISSING)
        return false;
    set(task, ARRIVED, NULL);
    return true;
}

void barrier_note(struct barrier *barrier, int64_t thread, const char *what)
{
    struct task_state *task = find(barrier, thread);
    if (task && task->state == MISSING)
        set(task, MISSING, what);
}

bool barrier_leave(struct barrier *barrier, int64_t thread, const char *why)
{
    struct task_state *task = find(barrier, thread);
    if (!task || task->state == GONE)
        return false;
    set(task, GONE, why);
    return true;
}

static bool is(const struct barrier *barrier, int64_t thread, enum state state)
{
    const struct task_state *task = find(barrier, thread);
    return task && task->state == state;
}

bool barrier_expects(const struct barrier *barrier, int64_t thread)
{
    return is(barrier, thread, MISSING);
}

bool barrier_holds(const struct barrier *barrier, int64_t thread)
{
    return is(barrier, thread, ARRIVED);
}

static size_t count(const struct barrier *barrier, enum state state)
{
    size_t sum = 0;
    for (size_t i = 0; i < barrier->tasks.count; i++)
        sum += barrier->states[i].state == state;
    return sum;
}

bool barrier_complete(const struct barrier *barrier)
{
    return count(barrier, MISSING) == 0;
}

size_t barrier_arrived(const struct barrier *barrier)
{
    return count(barrier, ARRIVED);
}

static struct task_set members(const struct barrier *barrier, enum state state)
{
    struct task_set set = {0};
    for (size_t i = 0; i < barrier->tasks.count; i++)
        if (barrier->states[i].state == state)
            task_set_add(&set, i);
    task_set_sort(&barrier->tasks, &set);
    return set;
}

/* Up to FEW tasks are named one by one, each with what it does; more are written as one set. */
static void add_named(const struct barrier *barrier, enum state state, const char *title,
                      struct buf *out)
{
    enum { FEW = 4, NAMES = 6 };
    struct task_set set = members(barrier, state);
    if (set.count)
        buf_add_string(out, title);
    if (set.count > FEW)
        task_set_text(&barrier->tasks, &set, NAMES, out);
    for (size_t i = 0; i < set.count && set.count <= FEW; i++) {
        const char *what = barrier->states[set.items[i]].what;
        buf_add_string(out, i ? "; " : "");
        buf_add_string(out, barrier->tasks.items[set.items[i]].name);
        if (!text_empty(what))
            buf_printf(out, " (%s)", what);
    }
    task_set_clear(&set);
}

void barrier_text(const struct barrier *barrier, struct buf *out)
{
    size_t here = barrier_arrived(barrier);
    buf_printf(out, "barrier %s: %zu of %zu", barrier->name, here,
               barrier->tasks.count - count(barrier, GONE));
    add_named(barrier, MISSING, ", missing: ", out);
    add_named(barrier, GONE, "; no longer waited for: ", out);
}

static void add_list(const struct barrier *barrier, enum state state, const char *key,
                     struct buf *out)
{
    struct task_set set = members(barrier, state);
    buf_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < set.count; i++) {
        const struct task_list_item *who = &barrier->tasks.items[set.items[i]];
        const char *what = barrier->states[set.items[i]].what;
        buf_printf(out, "%s{\"threadId\":%" PRId64 ",\"name\":", i ? "," : "", who->thread);
        message_quote(out, who->name);
        buf_add_string(out, ",\"what\":");
        message_quote(out, what ? what : "");
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]");
    task_set_clear(&set);
}

void barrier_json(const struct barrier *barrier, struct buf *out)
{
    struct task_set here = members(barrier, ARRIVED);
    buf_add_string(out, "{\"place\":");
    message_quote(out, barrier->name);
    buf_add_string(out, ",\"arrived\":");
    task_set_json(&barrier->tasks, &here, out);
    add_list(barrier, MISSING, "missing", out);
    add_list(barrier, GONE, "gone", out);
    buf_printf(out, ",\"complete\":%s}", barrier_complete(barrier) ? "true" : "false");
    task_set_clear(&here);
}
