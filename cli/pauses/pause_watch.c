#include "cli/pauses/pause_watch.h"

#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/signals.h"
#include "relay/pause/pause_change.h"
#include "relay/pause/pause_json.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The interval between refreshes. It grows with the time that a refresh takes. */
enum { INTERVAL_MS = 50, SLOWEST_MS = 2000, BACKOFF = 4 };
/* How often to look for a relay while there is none: for its file here, its entry in the
 * cluster. */
enum { LOOK_HERE_MS = 1000, LOOK_MS = 10000 };

/* --- changes --- */

static void add_change(void *arg, enum pause_change change, const struct pause *pause)
{
    struct buf *out = arg;
    buf_printf(out, "{\"event\": \"%s\", \"pause\": ", pause_change_name(change));
    pause_json(pause, out);
    buf_add_string(out, "}\n");
}

void pause_changes(const struct pause_list *before, const struct pause_list *after, struct buf *out)
{
    pause_change_each(before, after, pause_json, add_change, out);
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

enum watch_end {
    WATCH_ENDED, /* by the user, or the reader of stdout is gone */
    WATCH_LOST,  /* the relay that was found no longer answers: see `problem` */
    WATCH_LOOK,  /* there may be a relay by now */
};

struct watcher {
    struct relay_choice *choice; /* the choice that the origin is from */
    const struct relay_wish *wish;
    const char *given;
    struct pause_source *origin;
    const struct list_request *request;
    struct pause_list shown; /* contents of the last line or screen */
    int64_t asked_us;
    /* While there is no relay: the earliest time to look for one in the state directory, and in the
     * cluster. */
    int64_t look_here_us, look_us;
    struct timer *timer, *look_timer;
    enum watch_end end;
    struct err problem;
    bool redraws; /* stdout is a terminal */
    bool states;  /* lines report when the cluster is away */
    bool away;    /* the cluster did not answer last time */
    bool moved;   /* the origin is new, and has not answered yet */
    bool answered;
    int code;
};

static void stop(struct watcher *watcher, enum watch_end end)
{
    watcher->end = end;
    loop_stop(watcher->choice->loop);
}

/* Frees the text. Ends the watch if the reader of stdout is gone. */
static void print_lines(struct watcher *watcher, struct buf *out)
{
    if (!list_put(stdout, out))
        stop(watcher, WATCH_ENDED);
    buf_free(out);
}

static void redraw(struct watcher *watcher, const struct pause_list *shown)
{
    struct buf out = {0};
    buf_add_string(&out, "\033[H\033[J");
    list_screen(watcher->origin, watcher->request, shown, &out);
    buf_add_string(&out, "^C ends this\n");
    list_put(stdout, &out);
    buf_free(&out);
}

static void print_changes(struct watcher *watcher, const struct pause_list *shown)
{
    struct buf out = {0};
    pause_changes(&watcher->shown, shown, &out);
    print_lines(watcher, &out);
}

/* Reports it once. */
static void tell_away(struct watcher *watcher, const struct err *err)
{
    struct buf out = {0};
    if (watcher->away)
        return;
    watcher->away = true;
    command_fail(err);
    if (watcher->states)
        watch_away(err, &out);
    print_lines(watcher, &out);
}

static void tell_live(struct watcher *watcher)
{
    struct buf out = {0};
    if (watcher->away)
        fprintf(stderr, "raydbg: %s answers again\n", pause_source_name(watcher->origin));
    if (watcher->states)
        watch_live(pause_source_cluster(watcher->origin), pause_source_relay(watcher->origin),
                   &out);
    print_lines(watcher, &out);
    watcher->away = watcher->moved = false;
    watcher->answered = true;
}

static void show(struct watcher *watcher)
{
    struct pause_list shown;
    pause_select_apply(&watcher->request->select, pause_source_pauses(watcher->origin), &shown);
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
    int64_t rest = pause_source_rest_ms(watcher->origin);
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
        stop(watcher, WATCH_ENDED);
        return;
    }
    if (err && watcher->choice->found == RELAY_FOUND) {
        watcher->problem = *err;
        stop(watcher, WATCH_LOST);
        return;
    }
    if (err) {
        tell_away(watcher, err);
    } else {
        if (watcher->away || watcher->moved || !watcher->answered)
            tell_live(watcher);
        show(watcher);
    }
    watcher->timer = timer_start(watcher->choice->loop, next_interval(watcher), ask, watcher);
}

static void ask(void *arg)
{
    struct watcher *watcher = arg;
    watcher->timer = NULL;
    watcher->asked_us = loop_now_us();
    pause_source_refresh(watcher->origin, on_refreshed, watcher);
}

static void on_signal(void *arg)
{
    stop(arg, WATCH_ENDED);
}

/* --- between relays and the cluster --- */

static void look(void *arg)
{
    struct watcher *watcher = arg;
    int64_t now_us = loop_now_us();
    watcher->look_timer = NULL;
    if (now_us >= watcher->look_us ||
        (now_us >= watcher->look_here_us && relay_is_here(watcher->wish, watcher->given)))
        stop(watcher, WATCH_LOOK);
    else
        watcher->look_timer = timer_start(watcher->choice->loop, LOOK_HERE_MS, look, watcher);
}

/* Makes `fresh` the watcher's choice and takes ownership of it. False if it cannot be asked. */
static bool use(struct watcher *watcher, struct relay_choice *fresh)
{
    timer_cancel(&watcher->timer);
    pause_source_destroy(&watcher->origin);
    relay_choice_clear(watcher->choice);
    *watcher->choice = *fresh;
    *fresh = (struct relay_choice){0};
    watcher->origin = pause_source_of_choice(watcher->choice, &watcher->problem);
    if (!watcher->origin)
        return false;
    watcher->moved = true;
    watcher->look_here_us = loop_now_us();
    watcher->look_us = loop_now_us() + LOOK_MS * 1000L;
    ask(watcher);
    return true;
}

/* Changes to a relay if there is one by now. */
static void use_relay(struct watcher *watcher)
{
    struct relay_choice fresh;
    if (relay_choose_quietly(&fresh, watcher->wish, watcher->given)) {
        char *name = relay_address_short(&fresh.relay);
        fprintf(stderr, "raydbg: the relay %s runs now: it is asked\n", name);
        free(name);
        use(watcher, &fresh);
        return;
    }
    relay_choice_clear(&fresh);
    watcher->look_here_us = watcher->look_us = loop_now_us() + LOOK_MS * 1000L;
}

/* The relay is lost: changes to the next one, or to the cluster. False if the user ends the
 * watch. */
static bool find_again(struct watcher *watcher)
{
    struct relay_choice fresh;
    bool waits = watcher->moved; /* the previous origin did not answer, either */
    for (;; waits = true) {
        if (waits) {
            tell_away(watcher, &watcher->problem);
            if (watcher->end == WATCH_ENDED || signals_wait(SLOWEST_MS))
                return false;
        }
        bool chosen =
            relay_choose(&fresh, watcher->wish, watcher->given, true, &watcher->problem) == 0;
        if (chosen && use(watcher, &fresh))
            return true;
        relay_choice_clear(&fresh);
    }
}

/* --- run --- */

static void run_once(struct watcher *watcher)
{
    struct loop *loop = watcher->choice->loop;
    struct signals *signals = signals_start(loop, on_signal, watcher);
    if (watcher->choice->found == RELAY_NONE && watcher->wish->wanted)
        watcher->look_timer = timer_start(loop, LOOK_HERE_MS, look, watcher);
    loop_run(loop);
    timer_cancel(&watcher->look_timer);
    signals_stop(&signals);
}

static bool go_on(struct watcher *watcher)
{
    if (watcher->end == WATCH_LOST)
        return find_again(watcher);
    if (watcher->end == WATCH_LOOK)
        use_relay(watcher);
    return watcher->end != WATCH_ENDED;
}

int pause_watch(struct relay_choice *choice, const struct relay_wish *wish, const char *given,
                const struct list_request *request)
{
    struct watcher watcher = {
        .choice = choice,
        .wish = wish,
        .given = given,
        .request = request,
        .redraws = isatty(STDOUT_FILENO) && request->format == LIST_TABLE,
        .states = request->format == LIST_JSON,
    };
    watcher.origin = pause_source_of_choice(choice, &watcher.problem);
    if (!watcher.origin)
        return command_fail(&watcher.problem);
    watcher.look_us = loop_now_us() + LOOK_MS * 1000L;
    if (watcher.redraws)
        fputs("\033[?1049h", stdout);
    ask(&watcher);
    do
        run_once(&watcher);
    while (go_on(&watcher));
    if (watcher.redraws)
        fputs("\033[?1049l", stdout);
    timer_cancel(&watcher.timer);
    pause_source_destroy(&watcher.origin);
    pause_list_clear(&watcher.shown);
    return watcher.code;
}
