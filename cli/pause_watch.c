#include "cli/pause_watch.h"

#include "base/hash.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/pause_output.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "relay/pause_index.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How often the cluster is asked; a refresh that takes long makes the pause after it longer. */
enum { INTERVAL_MS = 50, SLOWEST_MS = 2000, BACKOFF = 4 };

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- printing --- */

/* False if nobody reads it. */
static bool put(FILE *stream, const struct buf *text)
{
    return text->len == 0 ||
           (fwrite(text->data, 1, text->len, stream) == text->len && fflush(stream) == 0);
}

static size_t count_nodes(const struct pause_list *list)
{
    struct hash_index seen = {0};
    for (size_t i = 0; i < list->count; i++) {
        uint64_t node = hash_text(list->items[i].node_id, 0);
        size_t cursor = 0;
        uintptr_t any;
        if (!hash_index_next(&seen, node, &cursor, &any))
            hash_index_add(&seen, node, 0);
    }
    size_t nodes = seen.count;
    hash_index_clear(&seen);
    return nodes;
}

static void add_cluster(const struct origin *origin, struct buf *out)
{
    const struct cluster_facts *facts = origin_facts(origin);
    buf_add_string(out, origin_cluster(origin));
    if (facts->ray_version[0])
        buf_printf(out, " (Ray %s)", facts->ray_version);
}

/* The command for the first row. */
static void add_attach_hint(const struct pause_list *all, const struct pause_list *shown,
                            struct buf *out)
{
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    size_t index = 0;
    if (shown->count == 0)
        return;
    while (index < all->count && !pause_same(&all->items[index], &shown->items[0]))
        index++;
    pause_short_id(all, index, id);
    buf_printf(out, "attach: raydbg attach %s\n", id);
}

static void add_relay(const struct origin *origin, struct buf *out)
{
    const struct pause_list *all = origin_pauses(origin);
    size_t held = 0;
    if (!origin_relay(origin))
        return;
    for (size_t i = 0; i < all->count; i++)
        held += all->items[i].state == PAUSE_HELD;
    buf_printf(out, "%s relay %s holds %zu", terminal_utf8() ? " \u00b7" : ",",
               origin_relay(origin), held);
}

static void add_footer(const struct origin *origin, const struct pause_list *shown, struct buf *out)
{
    size_t nodes = count_nodes(shown);
    buf_printf(out, "%zu on %zu node%s of cluster ", shown->count, nodes, nodes == 1 ? "" : "s");
    add_cluster(origin, out);
    add_relay(origin, out);
    buf_add_string(out, "\n");
    add_attach_hint(origin_pauses(origin), shown, out);
}

/* Nothing paused is an answer too, and says what to look at. */
static void add_empty(const struct origin *origin, const struct list_request *request,
                      struct buf *out)
{
    const struct cluster_facts *facts = origin_facts(origin);
    const struct pause_select *select = &request->select;
    size_t others = origin_pauses(origin)->count;
    bool filtered = select->job || select->node || select->actor || select->has_state;
    buf_printf(out, "No task is paused on ");
    add_cluster(origin, out);
    buf_printf(out, ", %zu node%s, %zu worker%s", facts->nodes_alive,
               facts->nodes_alive == 1 ? "" : "s", facts->workers_alive,
               facts->workers_alive == 1 ? "" : "s");
    add_relay(origin, out);
    buf_add_string(out, ".\n");
    if (filtered && others)
        buf_printf(out, "%zu worker%s with an open debugger did not fit the filters.\n", others,
                   others == 1 ? "" : "s");
    else
        buf_add_string(out, "A breakpoint() that does not show up here: is debugpy installed on "
                            "the workers, and RAY_DEBUG unset or 1?  raydbg doctor\n");
}

static void add_table(const struct origin *origin, const struct list_request *request,
                      const struct pause_list *shown, struct buf *out)
{
    struct table_style style = {
        .width = terminal_columns(stdout),
        .colour = terminal_colour(stdout),
        .utf8 = terminal_utf8(),
        .now_ms = wall_ms(),
    };
    (void)request;
    pauses_table(shown, origin_pauses(origin), &style, out);
}

void list_print(const struct origin *origin, const struct list_request *request)
{
    struct pause_list shown;
    struct buf out = {0}, talk = {0};
    pause_select_apply(&request->select, origin_pauses(origin), &shown);
    if (request->format == LIST_JSON)
        pauses_json(&shown, &out);
    else if (request->format == LIST_YAML)
        pauses_yaml(&shown, &out);
    else if (shown.count)
        add_table(origin, request, &shown, &out);
    if (shown.count == 0)
        add_empty(origin, request, &talk);
    else if (request->format == LIST_TABLE)
        add_footer(origin, &shown, &out);
    put(stdout, &out);
    put(stderr, &talk);
    buf_free(&out);
    buf_free(&talk);
    pause_list_clear(&shown);
}

/* --- changes --- */

static void add_change(const char *event, const struct pause *pause, struct buf *out)
{
    buf_printf(out, "{\"event\": \"%s\", \"pause\": ", event);
    pause_json(pause, out);
    buf_add_string(out, "}\n");
}

/* As far as JSON tells it. */
static bool looks_same(const struct pause *a, const struct pause *b)
{
    if (pause_equal(a, b))
        return true;
    struct buf one = {0}, two = {0};
    pause_json(a, &one);
    pause_json(b, &two);
    bool same = text_equal(one.data, two.data);
    buf_free(&one);
    buf_free(&two);
    return same;
}

void pause_changes(const struct pause_list *before, const struct pause_list *after, struct buf *out)
{
    struct pause_index old, fresh;
    pause_index_make(&old, before);
    pause_index_make(&fresh, after);
    for (size_t i = 0; i < before->count; i++)
        if (!pause_index_find(&fresh, &before->items[i]))
            add_change("removed", &before->items[i], out);
    for (size_t i = 0; i < after->count; i++) {
        const struct pause *known = pause_index_find(&old, &after->items[i]);
        if (!known)
            add_change("added", &after->items[i], out);
        else if (!looks_same(known, &after->items[i]))
            add_change("changed", &after->items[i], out);
    }
    pause_index_clear(&old);
    pause_index_clear(&fresh);
}

static void add_object(cJSON *object, struct buf *out)
{
    char *text = cJSON_PrintUnformatted(object);
    buf_printf(out, "%s\n", text ? text : "null");
    cJSON_free(text);
    cJSON_Delete(object);
}

static void add_member(cJSON *object, const char *name, const char *text)
{
    if (text_empty(text))
        cJSON_AddNullToObject(object, name);
    else
        cJSON_AddStringToObject(object, name, text);
}

void watch_live(const char *cluster, const char *relay, struct buf *out)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "event", "live");
    add_member(line, "cluster", cluster);
    add_member(line, "relay", relay);
    add_object(line, out);
}

void watch_away(const struct err *err, struct buf *out)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "event", "away");
    cJSON *error = cJSON_AddObjectToObject(line, "error");
    add_member(error, "what", err->what);
    add_member(error, "why", err->why);
    add_member(error, "hint", err->hint);
    add_object(line, out);
}

/* --- watching --- */

struct watcher {
    struct loop *loop;
    struct origin *origin;
    const struct list_request *request;
    struct pause_list shown; /* what the last line or screen told */
    int64_t asked_us;
    struct timer *timer;
    bool redraws; /* a terminal */
    bool states;  /* lines say when the cluster is away */
    bool away;    /* the cluster did not answer last time */
    bool answered;
    int code;
};

static void redraw(struct watcher *watcher, const struct pause_list *shown)
{
    struct buf out = {0};
    buf_add_string(&out, "\033[H\033[J");
    if (shown->count) {
        add_table(watcher->origin, watcher->request, shown, &out);
        add_footer(watcher->origin, shown, &out);
    } else {
        add_empty(watcher->origin, watcher->request, &out);
    }
    buf_add_string(&out, "^C ends this\n");
    put(stdout, &out);
    buf_free(&out);
}

/* Ends the watching if nobody reads it. Frees the text. */
static void print_lines(const struct watcher *watcher, struct buf *out)
{
    if (!put(stdout, out))
        loop_stop(watcher->loop);
    buf_free(out);
}

static void print_changes(const struct watcher *watcher, const struct pause_list *shown)
{
    struct buf out = {0};
    pause_changes(&watcher->shown, shown, &out);
    print_lines(watcher, &out);
}

static void tell_away(const struct watcher *watcher, const struct err *err)
{
    struct buf out = {0};
    command_fail(err);
    if (watcher->states)
        watch_away(err, &out);
    print_lines(watcher, &out);
}

static void tell_live(const struct watcher *watcher)
{
    struct buf out = {0};
    if (watcher->away)
        fprintf(stderr, "raydbg: %s answers again\n", origin_name(watcher->origin));
    if (watcher->states)
        watch_live(origin_cluster(watcher->origin), origin_relay(watcher->origin), &out);
    print_lines(watcher, &out);
}

static void show(struct watcher *watcher)
{
    struct pause_list shown;
    pause_select_apply(&watcher->request->select, origin_pauses(watcher->origin), &shown);
    if (watcher->redraws)
        redraw(watcher, &shown);
    else
        print_changes(watcher, &shown);
    pause_list_clear(&watcher->shown);
    watcher->shown = shown;
}

static void ask(void *arg);

static int64_t next_interval(const struct watcher *watcher)
{
    int64_t took_ms = (loop_now_us() - watcher->asked_us) / 1000;
    int64_t wait = watcher->away ? SLOWEST_MS : BACKOFF * took_ms;
    int64_t rest = origin_rest_ms(watcher->origin);
    if (wait < rest)
        wait = rest;
    if (wait < INTERVAL_MS)
        wait = INTERVAL_MS;
    return wait < SLOWEST_MS ? wait : SLOWEST_MS;
}

static void on_refreshed(void *arg, const struct err *err)
{
    struct watcher *watcher = arg;
    if (err && !watcher->answered) {
        watcher->code = command_fail(err);
        loop_stop(watcher->loop);
        return;
    }
    if (err && !watcher->away)
        tell_away(watcher, err);
    else if (!err && (watcher->away || !watcher->answered))
        tell_live(watcher);
    watcher->away = err != NULL;
    if (!err) {
        watcher->answered = true;
        show(watcher);
    }
    watcher->timer = timer_start(watcher->loop, next_interval(watcher), ask, watcher);
}

static void ask(void *arg)
{
    struct watcher *watcher = arg;
    watcher->timer = NULL;
    watcher->asked_us = loop_now_us();
    origin_refresh(watcher->origin, on_refreshed, watcher);
}

static void on_signal(void *arg)
{
    struct watcher *watcher = arg;
    loop_stop(watcher->loop);
}

int pause_watch(struct loop *loop, struct origin *origin, const struct list_request *request)
{
    struct watcher watcher = {
        .loop = loop,
        .origin = origin,
        .request = request,
        .redraws = isatty(STDOUT_FILENO) && request->format == LIST_TABLE,
        .states = request->format == LIST_JSON,
    };
    struct signals *signals = signals_start(loop, on_signal, &watcher);
    if (watcher.redraws)
        fputs("\033[?1049h", stdout);
    ask(&watcher);
    loop_run(loop);
    if (watcher.redraws)
        fputs("\033[?1049l", stdout);
    timer_cancel(&watcher.timer);
    signals_stop(&signals);
    pause_list_clear(&watcher.shown);
    return watcher.code;
}
