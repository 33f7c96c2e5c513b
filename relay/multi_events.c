/* What the inner session of a target says unasked. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/splice.h"

#include <stdlib.h>

/* Editors show what is important as a notice that covers something: not one for each of many. */
enum { LOUD_MS = 2000 };

static void on_initialized(struct multi_target *target, const char *json, size_t len,
                           const struct envelope *event)
{
    (void)json, (void)len, (void)event;
    multi_target_ready(target);
}

static void on_terminated(struct multi_target *target, const char *json, size_t len,
                          const struct envelope *event)
{
    (void)json, (void)len, (void)event;
    if (target->state != MULTI_LEAVING)
        multi_target_ended(target, NULL);
}

static void ignore(struct multi_target *target, const char *json, size_t len,
                   const struct envelope *event)
{
    (void)target, (void)json, (void)len, (void)event;
}

static void on_continued(struct multi_target *target, const char *json, size_t len,
                         const struct envelope *event)
{
    (void)len;
    multi_thread_on_continued(target, json, event);
}

static void on_thread(struct multi_target *target, const char *json, size_t len,
                      const struct envelope *event)
{
    (void)len;
    multi_thread_on_thread(target, json, event);
}

static void on_capabilities(struct multi_target *target, const char *json, size_t len,
                            const struct envelope *event)
{
    struct span at;
    (void)len;
    if (!event->body.len || !scan_find(json, event->body, "capabilities", &at))
        return;
    free(target->capabilities);
    target->capabilities = mem_string_n(json + at.at, at.len);
    if (target->state == MULTI_RUNNING)
        multi_limits_tell(target->multi);
}

static void on_breakpoint(struct multi_target *target, const char *json, size_t len,
                          const struct envelope *event)
{
    (void)len;
    multi_sets_event(target->multi->sets, target, json, event);
}

static void on_module(struct multi_target *target, const char *json, size_t len,
                      const struct envelope *event)
{
    (void)len;
    multi_modules_event(target->multi->modules, target, json, event);
}

static void on_role(struct multi_target *target, const char *json, size_t len,
                    const struct envelope *event)
{
    (void)len;
    free(target->role);
    target->role = mem_string_n(json + event->body.at, event->body.len);
    bool drove = target->drives;
    target->drives = session_drives(target->inner);
    multi_role_tell(target->multi);
    if (target->drives && !drove && target->state == MULTI_RUNNING)
        multi_sets_arm(target->multi->sets, target); /* what an observer set counts from now on */
}

void multi_role_tell(struct multi *multi)
{
    const char *role = NULL;
    for (const struct multi_target *at = multi->targets; at; at = at->next) {
        if (!at->role || at->state == MULTI_GONE || at->state == MULTI_LEAVING)
            continue;
        if (at->drives) {
            role = at->role;
            break;
        }
        role = role ? role : at->role;
    }
    if (!role || multi->leaving || text_equal(role, multi->role))
        return;
    free(multi->role);
    multi->role = mem_string(role);
    client_event(&multi->session->client, "raydbg/role", multi->role);
}

static void on_output(struct multi_target *target, const char *json, size_t len,
                      const struct envelope *event)
{
    struct multi *multi = target->multi;
    struct span category = {0};
    struct buf quiet = {0};
    if (event->body.len)
        scan_find(json, event->body, "category", &category);
    bool own = category.len && scan_string_is(json, category, "console");
    bool loud = category.len && scan_string_is(json, category, "important");
    if (target->state == MULTI_LEAVING && own)
        return; /* a goodbye for each: the client gets one for all */
    if (loud && loop_now_us() - multi->loud_us < (int64_t)LOUD_MS * 1000) {
        struct edit edit = {category, "\"console\"", sizeof "\"console\"" - 1};
        splice_apply(json, len, &edit, 1, &quiet);
        client_pass_edited(&multi->session->client, &quiet, 0);
        buf_free(&quiet);
        return;
    }
    if (loud)
        multi->loud_us = loop_now_us();
    multi_pass_out(target, 0, 0, json, len, event);
}

static const struct {
    const char *event;
    void (*handle)(struct multi_target *target, const char *json, size_t len,
                   const struct envelope *event);
} handlers[] = {
    {"initialized", on_initialized},
    {"terminated", on_terminated},
    {"exited", ignore},  /* one of many */
    {"process", ignore}, /* there is room for one in a client */
    {"stopped", multi_thread_on_stopped},
    {"continued", on_continued},
    {"thread", on_thread},
    {"capabilities", on_capabilities},
    {"breakpoint", on_breakpoint},
    {"module", on_module},
    {"progressStart", multi_progress_on_event},
    {"progressUpdate", multi_progress_on_event},
    {"progressEnd", multi_progress_on_event},
    {"raydbg/role", on_role},
    {"output", on_output},
};

void multi_on_event(struct multi_target *target, const char *json, size_t len,
                    const struct envelope *event)
{
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (text_equal(event->name, handlers[i].event)) {
            handlers[i].handle(target, json, len, event);
            return;
        }
    }
    multi_pass_out(target, 0, 0, json, len, event);
}
