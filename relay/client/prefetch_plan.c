#include "relay/client/prefetch_plan.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/same.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { IDS = 64, LOOKED_AT = 512, ARGUMENTS = 1024 };
enum { GUESSED = 1, MOST = 3, LEAST = -3 };

/* The requests that can be prefetched: the argument that is an id, and where in the response the
 * ids for other requests are. */
static const struct shape {
    const char *command, *hole;   /* `hole` NULL: it has no id */
    const char *list, *id, *name; /* in the response; `list` NULL: no ids; `name` NULL: by index */
} shapes[] = {
    {"threads", NULL, NULL, NULL, NULL},
    {"stackTrace", "threadId", "stackFrames", "id", NULL},
    {"scopes", "frameId", "scopes", "variablesReference", "name"},
    {"variables", "variablesReference", "variables", "variablesReference", "name"},
};
enum { THREADS, STACK, SCOPES, VARIABLES, SHAPES };

/* An id in a response. */
struct found {
    int64_t id;
    uint64_t key; /* its name's hash, or its index */
    bool expensive;
};

struct plan_step {
    const struct shape *shape;
    struct plan_step *parent; /* its response has the id; NULL: no id, or the thread's */
    uint64_t key;             /* of the id; with `first` the first that is not expensive */
    bool first;
    char *before, *after; /* the arguments around the id, or all of them; `before` NULL: none */
    int score;            /* the step is prefetched while this is above 0 */
    bool dropped;
    /* Since the last stop: */
    int64_t number; /* of the prefetched request */
    bool prefetch, used, asked;
    struct found *found; /* the response's ids, IDS at most; NULL before */
    size_t found_count;
};

struct plan {
    struct plan_step *steps[PLAN_STEPS];
    size_t count;
    int64_t thread;
    bool stopped; /* at least once */
};

/* --- steps --- */

static void step_free(struct plan_step *step)
{
    free(step->before);
    free(step->after);
    free(step->found);
    free(step);
}

static struct plan_step *add(struct plan *plan, int shape, struct plan_step *parent,
                             const char *before, const char *after)
{
    if (plan->count == PLAN_STEPS)
        return NULL;
    struct plan_step *step = mem_alloc(sizeof *step);
    *step = (struct plan_step){.shape = &shapes[shape],
                               .parent = parent,
                               .first = parent != NULL,
                               .before = mem_string(before),
                               .after = mem_string(after),
                               .score = GUESSED};
    plan->steps[plan->count++] = step;
    return step;
}

struct plan *plan_create(bool guess)
{
    struct plan *plan = mem_alloc(sizeof *plan);
    if (!guess)
        return plan;
    add(plan, THREADS, NULL, NULL, NULL);
    struct plan_step *stack =
        add(plan, STACK, NULL, "{\"threadId\":", ",\"startFrame\":0,\"levels\":1}");
    struct plan_step *scopes = add(plan, SCOPES, stack, "{\"frameId\":", "}");
    scopes->first = false; /* key 0: the top frame */
    add(plan, VARIABLES, scopes, "{\"variablesReference\":", "}");
    return plan;
}

void plan_destroy(struct plan **plan)
{
    struct plan *it = *plan;
    if (!it)
        return;
    *plan = NULL;
    for (size_t i = 0; i < it->count; i++)
        step_free(it->steps[i]);
    free(it);
}

/* --- a stop --- */

static void judge_step(struct plan_step *step)
{
    if (step->prefetch)
        step->score += step->used ? 1 : -2;
    else if (step->asked)
        step->score++;
    else
        step->score--;
    if (step->score > MOST)
        step->score = MOST;
}

/* The step's id, from its parent's response; false if that has none. */
static bool find_id(const struct plan_step *step, int64_t *id)
{
    const struct plan_step *parent = step->parent;
    for (size_t i = 0; i < parent->found_count; i++) {
        const struct found *found = &parent->found[i];
        if (found->expensive || (!step->first && found->key != step->key))
            continue;
        *id = found->id;
        return true;
    }
    return false;
}

/* If the parent is a step that the client does not want, moves `step` below a wanted one whose
 * response has the same id: a stack that is requested in another way, for instance. */
static void move_below_wanted(struct plan *plan, struct plan_step *step)
{
    int64_t id;
    if (!step->parent || step->parent->score > 0 || !find_id(step, &id))
        return;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_step *other = plan->steps[i];
        for (size_t j = 0;
             other->shape == step->parent->shape && other->score > 0 && j < other->found_count;
             j++) {
            if (other->found[j].id != id)
                continue;
            step->parent = other;
            step->key = other->found[j].key;
            return;
        }
    }
}

/* Drops each step that was not requested for long, and all steps below it. */
static void drop_old(struct plan *plan)
{
    size_t count = plan->count, more = 1;
    while (more) {
        more = 0;
        for (size_t i = 0; i < count; i++) {
            struct plan_step *step = plan->steps[i];
            if (step->dropped || (step->score >= LEAST && !(step->parent && step->parent->dropped)))
                continue;
            step->dropped = true;
            more = 1;
        }
    }
    plan->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct plan_step *step = plan->steps[i];
        if (step->dropped)
            step_free(step);
        else
            plan->steps[plan->count++] = step;
    }
}

void plan_stop(struct plan *plan, int64_t thread, bool judge)
{
    for (size_t i = 0; judge && plan->stopped && i < plan->count; i++)
        judge_step(plan->steps[i]);
    for (size_t i = 0; i < plan->count; i++)
        move_below_wanted(plan, plan->steps[i]);
    drop_old(plan);
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_step *step = plan->steps[i];
        step->prefetch = step->used = step->asked = false;
        free(step->found);
        step->found = NULL;
        step->found_count = 0;
    }
    plan->thread = thread;
    plan->stopped = true;
}

/* --- asking ahead --- */

static bool is_due(const struct plan *plan, const struct plan_step *step, int64_t *id)
{
    *id = plan->thread;
    return step->score > 0 && !step->prefetch && !step->asked &&
           (!step->parent || find_id(step, id));
}

struct plan_step *plan_next(struct plan *plan, int64_t number, struct buf *arguments)
{
    int64_t id;
    for (size_t i = 0; plan->stopped && i < plan->count; i++) {
        struct plan_step *step = plan->steps[i];
        if (!is_due(plan, step, &id))
            continue;
        step->prefetch = true;
        step->number = number;
        if (step->after)
            buf_printf(arguments, "%s%" PRId64 "%s", step->before, id, step->after);
        else if (step->before)
            buf_add_string(arguments, step->before);
        return step;
    }
    return NULL;
}

const char *plan_command(const struct plan_step *step)
{
    return step->shape->command;
}

bool plan_used(struct plan *plan, int64_t number)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_step *step = plan->steps[i];
        if (!step->prefetch || step->used || step->number != number)
            continue;
        step->used = true;
        return true;
    }
    return false;
}

/* --- learning --- */

static const struct shape *find_shape(const char *command)
{
    for (size_t i = 0; i < SHAPES; i++)
        if (text_equal(command, shapes[i].command))
            return &shapes[i];
    return NULL;
}

/* The step whose response, since the last stop, has the id. */
static struct plan_step *find_parent(const struct plan *plan, const struct shape *shape, int64_t id,
                                     uint64_t *key)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_step *step = plan->steps[i];
        bool gives = shape == &shapes[SCOPES] ? step->shape == &shapes[STACK]
                                              : step->shape >= &shapes[SCOPES];
        for (size_t j = 0; gives && j < step->found_count; j++) {
            if (step->found[j].id != id || step->found[j].expensive)
                continue;
            *key = step->found[j].key;
            return step;
        }
    }
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? same_value(a, (struct span){0, strlen(a)}, b, (struct span){0, strlen(b)})
                  : a == b;
}

/* True if the arguments are the same with an id of 0 in the hole. */
static bool same_template(const struct plan_step *step, const char *before, const char *after)
{
    if (!step->after || !after)
        return !step->after && !after && same_text(step->before, before);
    char *own = mem_format("%s0%s", step->before, step->after);
    char *other = mem_format("%s0%s", before, after);
    bool same = same_text(own, other);
    free(own);
    free(other);
    return same;
}

/* True if the step would request the id with this key now. */
static bool leads_to(const struct plan_step *step, uint64_t key)
{
    int64_t wanted, id;
    if (!step->parent)
        return true;
    if (!step->first)
        return step->key == key;
    for (size_t i = 0; i < step->parent->found_count; i++)
        if (step->parent->found[i].key == key) {
            wanted = step->parent->found[i].id;
            return find_id(step, &id) && id == wanted;
        }
    return false;
}

static struct plan_step *find_or_add(struct plan *plan, const struct shape *shape,
                                     struct plan_step *parent, uint64_t key, const char *before,
                                     const char *after)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_step *step = plan->steps[i];
        if (step->shape == shape && step->parent == parent && leads_to(step, key) &&
            same_template(step, before, after))
            return step;
    }
    struct plan_step *step = add(plan, (int)(shape - shapes), parent, before, after);
    if (!step)
        return NULL;
    step->first = false;
    step->key = key;
    step->score = 0; /* the client's first request adds a point at the next stop */
    return step;
}

static struct plan_step *note(struct plan *plan, const struct shape *shape,
                              struct plan_step *parent, uint64_t key, char *before, char *after)
{
    struct plan_step *step = find_or_add(plan, shape, parent, key, before, after);
    free(before);
    free(after);
    if (step)
        step->asked = true;
    return step;
}

struct plan_step *plan_asked(struct plan *plan, const char *json, const struct envelope *request)
{
    const struct shape *shape = find_shape(request->name);
    struct span all = request->arguments, hole;
    struct plan_step *parent = NULL;
    uint64_t key = 0;
    int64_t id;
    if (!shape || !plan->stopped || all.len > ARGUMENTS || memchr(json + all.at, 0, all.len))
        return NULL;
    if (!shape->hole)
        return note(plan, shape, NULL, 0, all.len ? mem_string_n(json + all.at, all.len) : NULL,
                    NULL);
    if (!scan_find(json, all, shape->hole, &hole) || !scan_integer(json, hole, &id))
        return NULL;
    if (shape == &shapes[STACK] ? id != plan->thread
                                : !(parent = find_parent(plan, shape, id, &key)))
        return NULL;
    size_t behind = hole.at + hole.len;
    return note(plan, shape, parent, key, mem_string_n(json + all.at, hole.at - all.at),
                mem_string_n(json + behind, all.at + all.len - behind));
}

static void read_item(struct plan_step *step, const char *json, struct span item, uint64_t index)
{
    struct span at;
    struct found found = {.key = index};
    if (!scan_integer_at(json, item, step->shape->id, &found.id) || found.id == 0)
        return;
    if (step->shape->name) {
        if (!scan_find(json, item, step->shape->name, &at))
            return;
        found.key = hash_bytes(json + at.at, at.len, 0);
    }
    scan_boolean_at(json, item, "expensive", &found.expensive);
    step->found[step->found_count++] = found;
}

void plan_answered(struct plan_step *step, const char *json, const struct envelope *response)
{
    struct span list, item;
    size_t cursor = 0, index = 0;
    if (!response->success || !response->body.len || !step->shape->list ||
        !scan_find(json, response->body, step->shape->list, &list) || json[list.at] != '[')
        return;
    free(step->found);
    step->found = mem_array(IDS, sizeof *step->found);
    step->found_count = 0;
    while (step->found_count < IDS && index < LOOKED_AT && scan_element(json, list, &cursor, &item))
        read_item(step, json, item, index++);
    step->found = mem_resize(step->found, step->found_count + 1, sizeof *step->found);
}
