#include "relay/children/child_sessions.h"

#include "base/buf.h"
#include "base/invariant.h"
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

enum birth_state {
    BIRTH_QUEUED,
    BIRTH_ASKED,    /* the client was asked to start a session, which has not come yet */
    BIRTH_JOINED,   /* the session is there */
    BIRTH_OVER,     /* the session has left, the task held: the user is done with this stop */
    BIRTH_DECLINED, /* it was not started, or could not attach: not tried again for this stop */
};

struct birth {
    struct birth *next;
    struct child_sessions *parent;
    struct pause pause;
    enum birth_state state;
    struct session *child; /* JOINED */
    int64_t since_us;      /* when the pause was first seen */
    int64_t until_us;      /* ASKED: when it is given up */
    bool seen;             /* in the look under way */
    bool told;             /* the client knows that it is queued */
};

struct child_sessions {
    uint32_t magic;
    struct session *session;
    struct client *client; /* borrowed from `session`, as are the next two */
    const struct attach_arguments *attach;
    const struct session_options *options;
    struct birth *births; /* in the order in which the pauses were seen */
    char *configuration;  /* child_configuration_common() */
    struct timer *timer;
    int64_t look_us; /* when the look under way began */
    bool looking;
    bool configured;
    bool left;
};
INVARIANT_MAGIC(child_sessions, 0xd0029fa6)
#define child_sessions_checked(object) child_sessions_checked_at(INVARIANT_HERE, object)

/* --- births --- */

static bool is_active(const struct birth *birth)
{
    return birth->state == BIRTH_ASKED || birth->state == BIRTH_JOINED;
}

static size_t active_count(const struct child_sessions *parent)
{
    size_t count = 0;
    for (const struct birth *at = parent->births; at; at = at->next)
        count += is_active(at);
    return count;
}

static struct tickets *parent_tickets(const struct child_sessions *parent)
{
    return parent->options->admission->arg;
}

/* Ends the wait for a child: its ticket and the question to the client are void. */
static void birth_settle(struct birth *birth, enum birth_state state)
{
    tickets_revoke(parent_tickets(birth->parent), birth);
    reverse_requests_drop(session_asks(birth->parent->session), birth);
    birth->state = state;
}

static void birth_free(struct birth *birth)
{
    birth_settle(birth, BIRTH_OVER);
    if (birth->child)
        session_forget_bearer(birth->child);
    pause_clear(&birth->pause);
    free(birth);
}

static struct birth *birth_for(struct child_sessions *parent, const struct pause *pause)
{
    struct birth **at = &parent->births;
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

static void say_declined(const struct birth *birth, const char *what, const char *why)
{
    char title[256];
    pause_title(&birth->pause, title, sizeof title);
    char *text = mem_format("raydbg: no session was started for %s: %s%s%s\n", title, what,
                            text_empty(why) ? "" : ": ", why ? why : "");
    client_say(birth->parent->client, "console", text);
    free(text);
}

/* --- asking the client --- */

static void on_answer(void *arg, bool success, const char *why)
{
    struct birth *birth = arg;
    struct child_sessions *parent = birth->parent;
    if (success || birth->state != BIRTH_ASKED)
        return;
    birth_settle(birth, BIRTH_DECLINED);
    say_declined(birth, "the client would not", why);
    look_soon(parent, 0);
}

static void ask(struct birth *birth)
{
    struct child_sessions *parent = birth->parent;
    char ticket[TICKET_ROOM];
    tickets_issue(parent_tickets(parent), birth, loop_now_us() / 1000, ticket);
    char *arguments = child_configuration_start(parent->configuration, parent->attach->thread_name,
                                                &birth->pause, ticket);
    explicit_bzero(ticket, sizeof ticket);
    birth->state = BIRTH_ASKED;
    birth->until_us = loop_now_us() + (int64_t)TICKET_LIFE_MS * 1000;
    reverse_requests_add(session_asks(parent->session),
                         client_request(parent->client, "startDebugging", arguments), on_answer,
                         birth);
    explicit_bzero(arguments, strlen(arguments));
    free(arguments);
}

/* --- looking for pauses --- */

static void note_pause(struct child_sessions *parent, const struct pause *pause)
{
    struct birth *birth = birth_for(parent, pause);
    birth->seen = true;
    /* A pause that was held and waits now is a new stop. */
    if (birth->state == BIRTH_OVER && pause->state == PAUSE_WAITING) {
        birth->state = BIRTH_QUEUED;
        birth->told = false;
        birth->since_us = loop_now_us();
    }
    if (birth->state == BIRTH_QUEUED) {
        pause_clear(&birth->pause);
        pause_copy(&birth->pause, pause);
    }
}

static void note_pauses(struct child_sessions *parent)
{
    struct pause_list list = {0};
    hub_table_list(parent->options->hubs, cluster_pauses(parent->options->cluster), &list);
    for (struct birth *at = parent->births; at; at = at->next)
        at->seen = false;
    for (size_t i = 0; i < list.count; i++) {
        const struct pause *pause = &list.items[i];
        if ((pause->state == PAUSE_WAITING || pause->state == PAUSE_HELD) &&
            pause_filter_matches(&parent->attach->many, pause))
            note_pause(parent, pause);
    }
    pause_list_clear(&list);
    for (struct birth **at = &parent->births; *at;) {
        struct birth *birth = *at;
        if (birth->seen || is_active(birth)) {
            at = &birth->next;
            continue;
        }
        *at = birth->next;
        birth_free(birth);
    }
}

static void give_up_late(struct child_sessions *parent)
{
    for (struct birth *at = parent->births; at; at = at->next) {
        if (at->state != BIRTH_ASKED || loop_now_us() < at->until_us)
            continue;
        birth_settle(at, BIRTH_DECLINED);
        say_declined(at, "none came within a minute", NULL);
    }
}

static bool is_ready(const struct birth *birth)
{
    return birth->state == BIRTH_QUEUED &&
           (!birth->pause.name_pending || loop_now_us() - birth->since_us > NAME_US);
}

/* Tells the client, in one line, of all pauses that have to wait now. */
static void tell_queued(struct child_sessions *parent)
{
    enum { SHOWN = 5 };
    struct buf names = {0};
    size_t count = 0;
    for (struct birth *at = parent->births; at; at = at->next) {
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
    for (struct birth *at = parent->births; at && room > 0; at = at->next) {
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
    for (struct birth *at = parent->births; at; at = at->next) {
        struct session *child = at->child;
        birth_settle(at, BIRTH_OVER);
        if (!child)
            continue;
        at->child = NULL;
        session_forget_bearer(child);
        session_dismiss(child, "the session that started this one has ended");
    }
}

static void on_leave(void *mode, enum hub_leave how)
{
    (void)how; /* each child's session is dismissed, whatever the parent's `how` */
    leave(mode);
}

static void on_destroy(void *mode)
{
    struct child_sessions *parent = child_sessions_checked(mode);
    leave(parent);
    while (parent->births) {
        struct birth *next = parent->births->next;
        birth_free(parent->births);
        parent->births = next;
    }
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

static void *admit(void *arg, const char *ticket, struct session *child, const struct pause **pause,
                   enum auth_role *role, struct err *err)
{
    void *bearer = NULL;
    enum ticket_verdict verdict = tickets_use(arg, ticket, loop_now_us() / 1000, &bearer);
    if (verdict != TICKET_GOOD) {
        err_set(err, ERR_DENIED, "this ticket %s", ticket_verdict_text(verdict));
        err_hint(err, "attach by \"task\" instead");
        return NULL;
    }
    struct birth *birth = bearer;
    birth->state = BIRTH_JOINED;
    birth->child = child;
    *pause = &birth->pause;
    *role = session_role(birth->parent->session);
    return birth;
}

static void over(void *bearer, bool was_attached)
{
    struct birth *birth = bearer;
    birth_settle(birth, was_attached ? BIRTH_OVER : BIRTH_DECLINED);
    birth->child = NULL;
    look_soon(birth->parent, 0);
}

struct session_admission child_sessions_admission(struct tickets *tickets)
{
    return (struct session_admission){.admit = admit, .over = over, .arg = tickets};
}
