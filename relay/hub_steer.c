/* A hub as the relay that owns it sees it. */
#include "relay/hub_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/socket.h"

#include <stdlib.h>

bool hub_is_over(const struct hub *hub)
{
    return hub->over || hub->releasing;
}

bool hub_is_finished(const struct hub *hub)
{
    return hub->over && !hub->members;
}

bool hub_was_cut(const struct hub *hub)
{
    return hub->over && hub->silent && !hub->releasing;
}

void hub_keep(struct hub *hub)
{
    hub->hold = HUB_ON_PAUSE;
    hub_run_alone(hub);
    hub_save(hub);
}

bool hub_is_held(const struct hub *hub)
{
    return hub->ready && !hub_is_over(hub) && (hub->hold != HUB_NEVER || hub->members);
}

const struct pause *hub_pause(const struct hub *hub)
{
    return &hub->pause;
}

const char *hub_reason(const struct hub *hub)
{
    return hub->reason;
}

size_t hub_members(const struct hub *hub)
{
    size_t count = 0;
    for (const struct member *at = hub->members; at; at = at->next)
        count++;
    return count;
}

const char *hub_driver(const struct hub *hub)
{
    return hub->driver && hub->driver->name ? hub->driver->name : "";
}

int64_t hub_held_since_ms(const struct hub *hub)
{
    return hub_is_held(hub) ? hub->held_since_ms : 0;
}

int64_t hub_idle_ms(const struct hub *hub)
{
    return (loop_now_us() - hub->touched_us) / 1000;
}

void *hub_arg(const struct hub *hub)
{
    return hub->arg;
}

const struct err *hub_problem(const struct hub *hub)
{
    return hub->problem;
}

struct note {
    const char *category, *text;
};

static void pass_note(struct member *member, const void *with)
{
    const struct note *note = with;
    member->ops->on_note(member->arg, note->category, note->text);
}

void hub_tell(struct hub *hub, const char *category, const char *text)
{
    struct note note = {category, text};
    hub_each_member(hub, pass_note, &note);
}

static void tell_who(struct hub *hub, const char *format, const char *who)
{
    char title[256];
    pause_title(&hub->pause, title, sizeof title);
    char *text = mem_format(format, title, who);
    hub_tell(hub, "console", text);
    free(text);
}

const char *hub_continue(struct hub *hub, const char *who)
{
    if (!hub->ready || hub_is_over(hub))
        return "it is not attached";
    if (target_state(hub->target) == TARGET_READY) {
        target_run(hub->target, false);
        hub_save(hub);
        return NULL;
    }
    if (!target_has_stopped(hub->target))
        return "it runs already";
    hub->touched_us = loop_now_us();
    stops_resume(&hub->stops, 0, true);
    hub_renew_objects(hub);
    hub_tell_continued(hub, NULL, 0, true);
    tell_who(hub, "raydbg: %s was continued by %s\n", who);
    hub_note_place(hub);
    target_ask(hub->target, "continue", "{\"threadId\":0}", 0, NULL, NULL);
    hub_save(hub);
    return NULL;
}

void hub_release(struct hub *hub, const char *who)
{
    if (hub_is_over(hub))
        return;
    tell_who(hub, "raydbg: %s was released by %s: it goes on\n", who);
    hub->releasing = true;
    hub_stop_saving(hub);
    if (hub->ready)
        target_leave(hub->target, false);
    else
        hub_lose(hub, "the attach was given up");
}

void hub_update_pause(struct hub *hub, const struct pause *pause)
{
    struct pause fresh = {0};
    if (!pause->task_name && hub->pause.task_name)
        return;
    pause_copy(&fresh, pause);
    free(fresh.file);
    fresh.file = hub->pause.file;
    fresh.line = hub->pause.line;
    hub->pause.file = NULL;
    pause_clear(&hub->pause);
    hub->pause = fresh;
}

/* --- the network --- */

static const char silence[] =
    "nothing comes back from the worker's machine: the network between is cut, or it is down. The "
    "relay does not let the task go, but debugpy does when it has not heard of its client for some "
    "16 s; the relay attaches again when the task waits again";

static void tell_silent(struct member *member, const void *why)
{
    member->ops->on_silent(member->arg, why);
}

static void tell_stops(struct member *member, const void *with)
{
    (void)with;
    if (member->configured)
        hub_replay(member->hub, member);
}

int64_t hub_look_network(struct hub *hub)
{
    if (!hub->shared || !hub->ready || hub_is_over(hub))
        return 0;
    int64_t left_ms = socket_silent_in_ms(target_fd(hub->target));
    bool silent = left_ms == 0;
    if (silent == hub->silent)
        return left_ms;
    hub->silent = silent;
    if (silent) {
        hub_each_member(hub, tell_silent, silence);
    } else {
        hub_tell(hub, "important", "raydbg: the worker answers again\n");
        hub_each_member(hub, tell_stops, NULL);
    }
    hub_changed(hub);
    return left_ms;
}
