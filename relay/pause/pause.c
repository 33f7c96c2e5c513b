#include "relay/pause/pause.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/job_id.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHORT_ID = 6, PREFIX_MIN = 4 };

static const char *const state_names[] = {
    [PAUSE_WAITING] = "waiting",
    [PAUSE_ATTACHED] = "attached",
    [PAUSE_HELD] = "held",
    [PAUSE_IDLE] = "idle",
};

static const char *const debugger_names[] = {
    [PAUSE_DEBUGPY] = "debugpy", [PAUSE_PDB] = "pdb", [PAUSE_PYDEVD] = "pydevd"};

const char *pause_state_name(enum pause_state state)
{
    return state_names[state];
}

const char *pause_debugger_name(enum pause_debugger kind)
{
    return debugger_names[kind];
}

bool pause_debugger_parse(const char *name, enum pause_debugger *out)
{
    for (size_t i = 0; i < sizeof debugger_names / sizeof *debugger_names; i++) {
        *out = (enum pause_debugger)i;
        if (text_equal(name, debugger_names[i]))
            return true;
    }
    return false;
}

bool pause_state_parse(const char *name, enum pause_state *out)
{
    for (size_t i = 0; i < sizeof state_names / sizeof *state_names; i++) {
        if (text_equal(name, state_names[i])) {
            *out = (enum pause_state)i;
            return true;
        }
    }
    return false;
}

const char *pause_since_source(const struct pause *pause)
{
    if (pause->since_ms == 0)
        return NULL;
    return pause->debugger == PAUSE_PDB ? "breakpoint" : "task_start";
}

void pause_copy(struct pause *to, const struct pause *from)
{
    *to = *from;
    to->task_name = mem_string(from->task_name);
    to->actor_class = mem_string(from->actor_class);
    to->actor_name = mem_string(from->actor_name);
    to->node_ip = mem_string(from->node_ip);
    to->node_name = mem_string(from->node_name);
    to->host = mem_string(from->host);
    to->file = mem_string(from->file);
    to->reason = mem_string(from->reason);
    to->driver = mem_string(from->driver);
    to->candidates = NULL;
    if (from->candidate_count) {
        to->candidates = mem_array(from->candidate_count, sizeof *to->candidates);
        memcpy(to->candidates, from->candidates, from->candidate_count * sizeof *to->candidates);
    }
}

void pause_clear(struct pause *pause)
{
    free(pause->task_name);
    free(pause->actor_class);
    free(pause->actor_name);
    free(pause->node_ip);
    free(pause->node_name);
    free(pause->host);
    free(pause->file);
    free(pause->reason);
    free(pause->driver);
    free(pause->candidates);
    *pause = (struct pause){0};
}

void pause_list_clear(struct pause_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        pause_clear(&list->items[i]);
    free(list->items);
    *list = (struct pause_list){0};
}

bool pause_same(const struct pause *a, const struct pause *b)
{
    bool same_endpoint = a->port == b->port && text_equal(a->host, b->host);
    if (a->debugger != b->debugger)
        return false;
    if (a->debugger == PAUSE_PYDEVD)
        return same_endpoint;
    if (!text_equal(a->worker_id, b->worker_id))
        return false;
    return same_endpoint || (a->debugger == PAUSE_DEBUGPY && *a->worker_id);
}

bool pause_same_stop(const struct pause *a, const struct pause *b)
{
    if (!pause_same(a, b) || a->stopped_ms != b->stopped_ms)
        return false;
    return a->stopped_ms || (a->line == b->line && text_equal(a->task_id, b->task_id));
}

uint64_t pause_endpoint_hash(const char *host, uint16_t port)
{
    return hash_text(host ? host : "", port);
}

static bool texts_equal(const struct pause *a, const struct pause *b)
{
    return text_equal(a->task_name, b->task_name) && text_equal(a->actor_class, b->actor_class) &&
           text_equal(a->actor_name, b->actor_name) && text_equal(a->node_ip, b->node_ip) &&
           text_equal(a->node_name, b->node_name) && text_equal(a->host, b->host) &&
           text_equal(a->file, b->file) && text_equal(a->reason, b->reason) &&
           text_equal(a->driver, b->driver);
}

static bool ids_equal(const struct pause *a, const struct pause *b)
{
    return strcmp(a->task_id, b->task_id) == 0 && strcmp(a->actor_id, b->actor_id) == 0 &&
           strcmp(a->job_id, b->job_id) == 0 && strcmp(a->node_id, b->node_id) == 0 &&
           strcmp(a->worker_id, b->worker_id) == 0 && strcmp(a->breakpoint, b->breakpoint) == 0 &&
           strcmp(a->parent_task_id, b->parent_task_id) == 0 && strcmp(a->run, b->run) == 0;
}

static bool numbers_equal(const struct pause *a, const struct pause *b)
{
    return a->pid == b->pid && a->debugger == b->debugger && a->port == b->port &&
           a->state == b->state && a->paused_threads == b->paused_threads &&
           a->ambiguous == b->ambiguous && a->name_pending == b->name_pending &&
           a->line == b->line && a->clients == b->clients && a->held_ms == b->held_ms &&
           a->stopped_ms == b->stopped_ms && a->client_left == b->client_left &&
           a->since_ms == b->since_ms && a->candidate_count == b->candidate_count;
}

bool pause_equal(const struct pause *a, const struct pause *b)
{
    return numbers_equal(a, b) && ids_equal(a, b) && texts_equal(a, b) &&
           (a->candidate_count == 0 ||
            memcmp(a->candidates, b->candidates, a->candidate_count * sizeof *a->candidates) == 0);
}

bool pause_of_job(const struct pause *pause, const char *job)
{
    return job_id_is(pause->job_id, job);
}

static bool id_equal(const char *id, const char *text)
{
    return *id && strcasecmp(id, text) == 0;
}

static bool id_prefix(const char *id, const char *text)
{
    size_t len = strlen(text);
    return len >= PREFIX_MIN && strncasecmp(id, text, len) == 0;
}

bool pause_on_node(const struct pause *pause, const char *node)
{
    return *node && (text_equal(pause->node_ip, node) || text_equal(pause->node_name, node) ||
                     id_prefix(pause->node_id, node));
}

bool pause_of_actor(const struct pause *pause, const char *actor)
{
    return *actor && (text_equal(pause->actor_class, actor) ||
                      text_equal(pause->actor_name, actor) || id_prefix(pause->actor_id, actor));
}

/* The id that pause_short_id() shortens. */
static const char *main_id(const struct pause *pause)
{
    return *pause->task_id ? pause->task_id : pause->worker_id;
}

void pause_title(const struct pause *pause, char *out, size_t size)
{
    const char *name = pause->task_name     ? pause->task_name
                       : pause->actor_class ? pause->actor_class
                                            : "worker";
    char *shown = text_printable(name, strlen(name), "");
    char *node = text_printable(pause->node_ip ? pause->node_ip : "an unknown node",
                                strlen(pause->node_ip ? pause->node_ip : "an unknown node"), "");
    const char *id = main_id(pause);
    int len = snprintf(out, size, "%s", shown);
    if (*id && len >= 0 && (size_t)len < size)
        len += snprintf(out + len, size - (size_t)len, " (%.*s)", SHORT_ID, id);
    if (len >= 0 && (size_t)len < size)
        len += snprintf(out + len, size - (size_t)len, " on %s", node);
    if (pause->pid && len >= 0 && (size_t)len < size)
        snprintf(out + len, size - (size_t)len, " pid %lld", (long long)pause->pid);
    free(shown);
    free(node);
}

/* The number of leading digits that two ids share; the whole length if they are equal. */
static size_t shared(const char *a, const char *b)
{
    size_t len = 0;
    while (a[len] && a[len] == b[len])
        len++;
    return len;
}

void pause_short_id(const struct pause_list *list, size_t index, char out[ID_TEXT(ID_UNIQUE_BYTES)])
{
    const char *id = main_id(&list->items[index]);
    size_t need = SHORT_ID;
    for (size_t i = 0; i < list->count; i++) {
        const char *other = main_id(&list->items[i]);
        if (i != index && !text_equal(id, other) && shared(id, other) >= need)
            need = shared(id, other) + 1;
    }
    snprintf(out, ID_TEXT(ID_UNIQUE_BYTES), "%.*s", (int)need, id);
}

/* An id and the row that has it. */
struct owned_id {
    const char *id;
    size_t row;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct owned_id *)a)->id, ((const struct owned_id *)b)->id);
}

/* In sorted order, an id shares the longest prefix with the next different id on either side. */
size_t *pause_short_lengths(const struct pause_list *list)
{
    struct owned_id *ids = mem_array(list->count, sizeof *ids);
    size_t *lengths = mem_array(list->count, sizeof *lengths);
    for (size_t i = 0; i < list->count; i++)
        ids[i] = (struct owned_id){main_id(&list->items[i]), i};
    if (list->count)
        qsort(ids, list->count, sizeof *ids, by_text);
    for (size_t first = 0, next; first < list->count; first = next) {
        size_t need = SHORT_ID;
        for (next = first + 1; next < list->count && text_equal(ids[next].id, ids[first].id);)
            next++;
        if (first && shared(ids[first - 1].id, ids[first].id) >= need)
            need = shared(ids[first - 1].id, ids[first].id) + 1;
        if (next < list->count && shared(ids[next].id, ids[first].id) >= need)
            need = shared(ids[next].id, ids[first].id) + 1;
        for (size_t i = first; i < next; i++)
            lengths[ids[i].row] = need;
    }
    free(ids);
    return lengths;
}

/* pause_find()'s kinds of match, the best first. */

static bool by_id(const struct pause *pause, const char *text)
{
    for (size_t i = 0; i < pause->candidate_count; i++)
        if (id_equal(pause->candidates[i], text))
            return true;
    return id_equal(pause->task_id, text) || id_equal(pause->actor_id, text) ||
           id_equal(pause->worker_id, text);
}

static bool by_name(const struct pause *pause, const char *text)
{
    return text_equal(pause->task_name, text) || text_equal(pause->actor_name, text) ||
           text_equal(pause->actor_class, text);
}

static bool by_process(const struct pause *pause, const char *text)
{
    char digits[24];
    int64_t pid;
    size_t len = strcspn(text, "@");
    if (len == 0 || len >= sizeof digits)
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)len, text);
    if (!text_to_int(digits, 1, INT32_MAX, &pid) || pause->pid != pid)
        return false;
    return !text[len] || pause_on_node(pause, text + len + 1);
}

static bool by_task_prefix(const struct pause *pause, const char *text)
{
    for (size_t i = 0; i < pause->candidate_count; i++)
        if (id_prefix(pause->candidates[i], text))
            return true;
    return id_prefix(pause->task_id, text);
}

static bool by_other_prefix(const struct pause *pause, const char *text)
{
    return id_prefix(pause->actor_id, text) || id_prefix(pause->worker_id, text);
}

static bool (*const finders[])(const struct pause *, const char *) = {
    by_id, by_name, by_process, by_task_prefix, by_other_prefix,
};

bool pause_is_called(const struct pause *pause, const char *task)
{
    for (size_t kind = 0; kind < sizeof finders / sizeof *finders; kind++)
        if (!text_empty(task) && finders[kind](pause, task))
            return true;
    return false;
}

/* Drops idle workers, except one that is the only match: a name never means several of them. */
static size_t drop_idle(const struct pause_list *list, size_t *matches, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (list->items[matches[i]].state != PAUSE_IDLE)
            matches[kept++] = matches[i];
    return kept || count > 1 ? kept : count;
}

void pause_find(const struct pause_list *list, const char *task, size_t **matches, size_t *count)
{
    *matches = mem_array(list->count, sizeof **matches);
    *count = 0;
    if (text_empty(task))
        return;
    for (size_t kind = 0; kind < sizeof finders / sizeof *finders && *count == 0; kind++)
        for (size_t i = 0; i < list->count; i++)
            if (finders[kind](&list->items[i], task))
                (*matches)[(*count)++] = i;
    *count = drop_idle(list, *matches, *count);
}

/* --- the end of a pause --- */

static bool runs(const struct pause *worker, const char *task_id)
{
    if (worker->state == PAUSE_IDLE)
        return false;
    if (!*task_id || !*worker->task_id || worker->ambiguous)
        return true;
    if (text_equal(worker->task_id, task_id))
        return true;
    for (size_t i = 0; i < worker->candidate_count; i++)
        if (text_equal(worker->candidates[i], task_id))
            return true;
    return false;
}

/* An actor's next call is another task, but the same debugging: its task id does not count. Only
 * the debugger's connection shows the end of a driver, or of a thread whose call was over before.
 */
bool pause_is_over(const struct pause *pause, const struct pause_list *list)
{
    if (!*pause->task_id)
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (text_equal(list->items[i].worker_id, pause->worker_id))
            return !runs(&list->items[i],
                         pause->ambiguous || *pause->actor_id ? "" : pause->task_id);
    return false; /* gone, or not in the list: the debugger's connection shows which */
}
