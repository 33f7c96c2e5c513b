#include "relay/children/child_sessions.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/access/tickets.h"
#include "relay/children/child_configuration.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The time between two looks is LOOK_MS, or LOOK_SHARE times as long as a look took, if that is
 * more: a slow cluster is asked less often. */
enum { LOOK_MS = 200, LOOK_SHARE = 4 };
/* How long to wait for the name of a task that has none yet. */
enum { NAME_US = 2000000 };

enum child_state {
    CHILD_QUEUED,
    CHILD_ASKED,    /* the client was asked to start a session, which has not come yet */
    CHILD_JOINED,   /* the session is there */
    CHILD_OVER,     /* the session has left, the task held: the user is done with this stop */
    CHILD_DECLINED, /* it was not started, or could not attach: not tried again for this stop */
};

struct child {
    struct child *next;
    struct child_sessions *parent;
    struct pause pause;
    enum child_state state;
    struct session *session; /* JOINED */
    int64_t since_us;        /* when the pause was first seen */
    int64_t until_us;        /* ASKED: when it is given up */
    bool seen;               /* in the look under way */
    bool told;               /* the client knows that it is queued */
};

struct child_sessions {
    uint32_t magic;
    struct session *session;
    struct client *client; /* borrowed from `session`, as are the next two */
    const struct attach_arguments *attach;
    const struct session_options *options;
    struct child *children; /* in the order in which the pauses were seen */
    char *configuration;    /* child_configuration_common() */
    struct timer *timer;
    int64_t look_us; /* when the look under way began */
    bool looking;
    bool configured;
    bool left;
};
INVARIANT_MAGIC(child_sessions, 0xd0029fa6)
#define child_sessions_checked(object) child_sessions_checked_at(INVARIANT_HERE, object)

/* --- children --- */

static bool is_active(const struct child *child)
{
    return child->state == CHILD_ASKED || child->state == CHILD_JOINED;
}

static size_t active_count(const struct child_sessions *parent)
{
    size_t count = 0;
    for (const struct child *at = parent->children; at; at = at->next)
        count += is_active(at);
    return count;
}

static struct tickets *parent_tickets(const struct child_sessions *parent)
{
    return parent->options->admission->arg;
}

/* Ends the wait for a child: its ticket and the question to the client are void. */
static void child_settle(struct child *child, enum child_state state)
{
    tickets_revoke(parent_tickets(child->parent), child);
    reverse_requests_drop(session_asks(child->parent->session), child);
    child->state = state;
}

static void child_free(struct child *child)
{
    child_settle(child, CHILD_OVER);
    if (child->session)
        session_forget_bearer(child->session);
    pause_clear(&child->pause);
    free(child);
}

static struct child *child_for(struct child_sessions *parent, const struct pause *pause)
{
    struct child **at = &parent->children;
    while (*at && !pause_same(&(*at)->pause, pause))
        at = &(*at)->next;
    if (!*at) {
        *at = mem_alloc(sizeof **at);
        (*at)->parent = parent;
        (*at)->since_us = loop_now_us();
    }
    return *at;
}

static void look_soon(struct child_sessions *parent, int64_t ms);

static void say_declined(const struct child *child, const char *what, const char *why)
{
    char title[256];
    pause_title(&child->pause, title, sizeof title);
    char *text = mem_format("raydbg: no session was started for %s: %s%s%s\n", title, what,
                            text_empty(why) ? "" : ": ", why ? why : "");
    client_say(child->parent->client, "console", text);
    free(text);
}

/* --- asking the client --- */

static void on_answer(void *arg, bool success, const char *why)
{
    struct child *child = arg;
    struct child_sessions *parent = child->parent;
    if (success || child->state != CHILD_ASKED)
        return;
    child_settle(child, CHILD_DECLINED);
    say_declined(child, "the client would not", why);
    look_soon(parent, 0);
}

static void ask(struct child *child)
{
    struct child_sessions *parent = child->parent;
    char ticket[TICKET_ROOM];
    tickets_issue(parent_tickets(parent), child, loop_now_us() / 1000, ticket);
    char *arguments = child_configuration_start(parent->configuration, parent->attach->thread_name,
                                                &child->pause, ticket);
    explicit_bzero(ticket, sizeof ticket);
    child->state = CHILD_ASKED;
    child->until_us = loop_now_us() + (int64_t)TICKET_LIFE_MS * 1000;
    reverse_requests_add(session_asks(parent->session),
                         client_request(parent->client, "startDebugging", arguments), on_answer,
                         child);
    explicit_bzero(arguments, strlen(arguments));
    free(arguments);
}

/* --- looking for pauses --- */

static void note_pause(struct child_sessions *parent, const struct pause *pause)
{
    struct child *child = child_for(parent, pause);
    child->seen = true;
    /* A pause that was held and waits now is a new stop. */
    if (child->state == CHILD_OVER && pause->state == PAUSE_WAITING) {
        child->state = CHILD_QUEUED;
        child->told = false;
        child->since_us = loop_now_us();
    }
    if (child->state == CHILD_QUEUED) {
        pause_clear(&child->pause);
        pause_copy(&child->pause, pause);
    }
}

static void note_pauses(struct child_sessions *parent)
{
    struct pause_list list = {0};
    hub_table_list(parent->options->hubs, cluster_pauses(parent->options->cluster), &list);
    for (struct child *at = parent->children; at; at = at->next)
        at->seen = false;
    for (size_t i = 0; i < list.count; i++) {
        const struct pause *pause = &list.items[i];
        if ((pause->state == PAUSE_WAITING || pause->state == PAUSE_HELD) &&
            pause_filter_matches(&parent->attach->many, pause))
            note_pause(parent, pause);
    }
    pause_list_clear(&list);
    for (struct child **at = &parent->children; *at;) {
        struct child *child = *at;
        if (child->seen || is_active(child)) {
            at = &child->next;
            continue;
        }
        *at = child->next;
        child_free(child);
    }
}

static void give_up_late(struct child_sessions *parent)
{
    for (struct child *at = parent->children; at; at = at->next) {
        if (at->state != CHILD_ASKED || loop_now_us() < at->until_us)
            continue;
        child_settle(at, CHILD_DECLINED);
        say_declined(at, "none came within a minute", NULL);
    }
}

static bool is_ready(const struct child *child)
{
    return child->state == CHILD_QUEUED &&
           (!child->pause.name_pending || loop_now_us() - child->since_us > NAME_US);
}

/* Tells the client, in one line, of all pauses that have to wait now. */
static void tell_queued(struct child_sessions *parent)
{
    enum { SHOWN = 5 };
    struct buf names = {0};
    size_t count = 0;
    for (struct child *at = parent->children; at; at = at->next) {
        if (!is_ready(at) || at->told)
            continue;
        at->told = true;
        if (count++ < SHOWN) {
            char *name = child_configuration_name(parent->attach->thread_name, &at->pause);
            buf_printf(&names, "%s%s", count > 1 ? ", " : "", name);
            free(name);
        }
    }
    if (!count)
        return;
    char *text = mem_format("raydbg: %zu more paused task%s wait%s until one of %" PRId64
                            " sessions ends (maxSessions): %s%s\n",
                            count, count == 1 ? "" : "s", count == 1 ? "s" : "",
                            parent->attach->max_sessions, names.data, count > SHOWN ? ", …" : "");
    client_say(parent->client, "console", text);
    free(text);
    buf_free(&names);
}

static void start_children(struct child_sessions *parent)
{
    int64_t room = parent->attach->max_sessions - (int64_t)active_count(parent);
    for (struct child *at = parent->children; at && room > 0; at = at->next) {
        if (!is_ready(at))
            continue;
        ask(at);
        room--;
    }
    tell_queued(parent);
}

static void on_looked(void *arg, const struct err *err)
{
    struct child_sessions *parent = child_sessions_checked(arg);
    int64_t took_ms = (loop_now_us() - parent->look_us) / 1000;
    parent->looking = false;
    if (!err)
        note_pauses(parent);
    give_up_late(parent);
    if (!err)
        start_children(parent);
    look_soon(parent, took_ms * LOOK_SHARE > LOOK_MS ? took_ms * LOOK_SHARE : LOOK_MS);
}

static void look(void *arg)
{
    struct child_sessions *parent = child_sessions_checked(arg);
    parent->timer = NULL;
    parent->looking = true;
    parent->look_us = loop_now_us();
    cluster_refresh(parent->options->cluster, on_looked, parent);
}

static void look_soon(struct child_sessions *parent, int64_t ms)
{
    if (parent->looking || parent->left || !parent->configured)
        return;
    timer_cancel(&parent->timer);
    parent->timer = timer_start(parent->options->loop, ms, look, parent);
}

/* --- requests --- */

static void on_configuration_done(struct child_sessions *parent, const struct envelope *request)
{
    struct client *client = parent->client;
    char text[300], what[200];
    if (parent->configured || !session_attach_is_open(parent->session)) {
        client_refuse(client, request->seq, request->name, "configurationDone is only allowed once",
                      false);
        return;
    }
    parent->configured = true;
    client_respond(client, request->seq, request->name, NULL);
    session_attach_succeeded(parent->session);
    pause_filter_describe(&parent->attach->many, what, sizeof what);
    snprintf(text, sizeof text, "raydbg: a session of its own starts for each paused task: %s\n",
             what);
    client_say(client, "console", text);
    look_soon(parent, 0);
}

static void on_request(void *mode, const char *json, size_t len, const struct envelope *request)
{
    struct child_sessions *parent = child_sessions_checked(mode);
    struct client *client = parent->client;
    struct buf body = {0};
    (void)len;
    if (text_equal(request->name, "configurationDone")) {
        on_configuration_done(parent, request);
    } else if (text_equal(request->name, "threads")) {
        client_respond(client, request->seq, request->name, "{\"threads\":[]}");
    } else if (breakpoint_union_is_set(request->name)) {
        breakpoint_union_unarmed_body(json, request, "the sessions of the tasks set it", &body);
        client_respond(client, request->seq, request->name, body.data);
    } else {
        client_refuse(client, request->seq, request->name,
                      "this session only starts others: each task has a session of its own", false);
    }
    buf_free(&body);
}

/* --- life --- */

const char *child_sessions_obstacle(const struct session *session)
{
    const struct session_options *options = session_options(session);
    if (!options->hubs || !options->admission)
        return "sessions of their own need a relay (raydbg relay)";
    if (!options->cluster)
        return "this relay serves no cluster";
    if (!session_starts_sessions(session))
        return "this client cannot start sessions (supportsStartDebuggingRequest)";
    return NULL;
}

struct child_sessions *child_sessions_open(struct session *session, const char *json,
                                           const struct envelope *attach)
{
    struct child_sessions *parent = mem_alloc(sizeof *parent);
    child_sessions_set_magic(parent);
    parent->session = session;
    parent->client = session_client(session);
    parent->attach = session_attach_arguments(session);
    parent->options = session_options(session);
    parent->configuration = child_configuration_common(json, attach->arguments);
    session_send_initialized(session);
    return parent;
}

static void leave(struct child_sessions *parent)
{
    if (parent->left)
        return;
    parent->left = true;
    timer_cancel(&parent->timer);
    if (parent->looking)
        cluster_refresh_cancel(parent->options->cluster, parent);
    for (struct child *at = parent->children; at; at = at->next) {
        struct session *session = at->session;
        child_settle(at, CHILD_OVER);
        if (!session)
            continue;
        at->session = NULL;
        session_forget_bearer(session);
        session_dismiss(session, "the session that started this one has ended");
    }
}

static void on_leave(void *mode, enum hub_leave how)
{
    (void)how; /* each child's session is dismissed, whatever the parent's `how` */
    leave(child_sessions_checked(mode));
}

static void on_destroy(void *mode)
{
    struct child_sessions *parent = child_sessions_checked(mode);
    leave(parent);
    LIST_FREE(parent->children, child_free);
    free(parent->configuration);
    child_sessions_clear_magic(parent);
    free(parent);
}

static bool is_over(const void *mode)
{
    (void)mode;
    return false;
}

static void on_flow(void *mode, bool enable)
{
    (void)mode, (void)enable;
}

static const struct pause *shown_pause(const void *mode)
{
    (void)mode;
    return NULL;
}

static size_t count_debuggees(const void *mode)
{
    (void)mode;
    return 0;
}

static bool drives_any(const void *mode)
{
    (void)mode;
    return false;
}

const struct session_mode_ops child_sessions_mode_ops = {
    .request = on_request,
    .leave = on_leave,
    .is_over = is_over,
    .flow = on_flow,
    .pause = shown_pause,
    .count = count_debuggees,
    .drives = drives_any,
    .destroy = on_destroy,
};

/* --- a child's side --- */

static void *admit(void *arg, const char *ticket, struct session *session,
                   const struct pause **pause, enum auth_role *role, struct err *err)
{
    void *bearer = NULL;
    enum ticket_verdict verdict = tickets_use(arg, ticket, loop_now_us() / 1000, &bearer);
    if (verdict != TICKET_GOOD) {
        err_set(err, ERR_DENIED, "this ticket %s", ticket_verdict_text(verdict));
        err_hint(err, "attach by \"task\" instead");
        return NULL;
    }
    struct child *child = bearer;
    child->state = CHILD_JOINED;
    child->session = session;
    *pause = &child->pause;
    *role = session_role(child->parent->session);
    return child;
}

static void over(void *bearer, bool was_attached)
{
    struct child *child = bearer;
    child_settle(child, was_attached ? CHILD_OVER : CHILD_DECLINED);
    child->session = NULL;
    look_soon(child->parent, 0);
}

struct session_admission child_sessions_admission(struct tickets *tickets)
{
    return (struct session_admission){.admit = admit, .over = over, .arg = tickets};
}
