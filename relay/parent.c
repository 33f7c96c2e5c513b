#include "relay/parent.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "dap/rules.h"
#include "relay/multi_names.h"
#include "relay/session_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slow cluster is asked less often: the pause between two looks is so many times as long as one
 * took. */
enum { LOOK_MS = 200, LOOK_SHARE = 4 };
/* How long a task that has no name yet is waited for. */
enum { NAME_US = 2000000 };

enum birth_state {
    BIRTH_QUEUED,
    BIRTH_ASKED,    /* the client was asked to start a session, which has not come yet */
    BIRTH_JOINED,   /* the session is there */
    BIRTH_OVER,     /* it was, and has left the task held: the user is done with this stop */
    BIRTH_DECLINED, /* it was not started, or could not attach: not tried again for this stop */
};

struct birth {
    struct birth *next;
    struct parent *parent;
    struct pause pause;
    enum birth_state state;
    struct session *child; /* JOINED */
    int64_t since_us;      /* when the pause was first seen */
    int64_t until_us;      /* ASKED: when it is given up */
    bool seen;             /* in the look under way */
    bool told;             /* that it is queued */
};

struct parent {
    struct session *session;
    struct birth *births; /* in the order in which the pauses were seen */
    char *configuration; /* the members that each child's configuration begins with, "" or "…," */
    struct timer *timer;
    int64_t look_us; /* when the look under way began */
    bool looking;
    bool configured;
    bool left;
};

/* --- births --- */

static bool is_active(const struct birth *birth)
{
    return birth->state == BIRTH_ASKED || birth->state == BIRTH_JOINED;
}

static size_t active_count(const struct parent *parent)
{
    size_t count = 0;
    for (const struct birth *at = parent->births; at; at = at->next)
        count += is_active(at);
    return count;
}

/* Nobody comes for it any more. */
static void birth_settle(struct birth *birth, enum birth_state state)
{
    struct session *session = birth->parent->session;
    if (session->options.tickets)
        tickets_revoke(session->options.tickets, birth);
    asks_drop(&session->asks, birth);
    birth->state = state;
}

static void birth_free(struct birth *birth)
{
    birth_settle(birth, BIRTH_OVER);
    if (birth->child)
        birth->child->birth = NULL;
    pause_clear(&birth->pause);
    free(birth);
}

static struct birth *birth_for(struct parent *parent, const struct pause *pause)
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

static void look_soon(struct parent *parent, int64_t ms);

static void say_declined(const struct birth *birth, const char *what, const char *why)
{
    char title[256];
    pause_title(&birth->pause, title, sizeof title);
    char *text = mem_format("raydbg: no session was started for %s: %s%s%s\n", title, what,
                            text_empty(why) ? "" : ": ", why ? why : "");
    client_say(&birth->parent->session->client, "console", text);
    free(text);
}

/* --- asking the client --- */

/* As its thread is called in a session over many. A task's name is the cluster's word: "${" is not
 * for an editor to act on. */
static char *child_name(const struct birth *birth)
{
    char *name = multi_name(birth->parent->session->attach.thread_name, &birth->pause, NULL, NULL);
    for (char *at = name; (at = strstr(at, "${"));)
        *at = '_';
    return name;
}

/* What `raydbg attach` takes for this pause, for the editor's own use. */
static char *child_task(const struct pause *pause)
{
    if (*pause->task_id && !pause->ambiguous)
        return mem_string(pause->task_id);
    return mem_format("%" PRId64 "@%s", pause->pid, pause->node_ip ? pause->node_ip : "");
}

static char *start_arguments(struct birth *birth)
{
    struct buf out = {0};
    char ticket[TICKET_ROOM];
    char *name = child_name(birth), *task = child_task(&birth->pause);
    tickets_issue(birth->parent->session->options.tickets, birth, loop_now_us() / 1000, ticket);
    buf_printf(&out, "{\"request\":\"attach\",\"configuration\":{%s\"name\":",
               birth->parent->configuration);
    message_quote(&out, name);
    buf_add_string(&out, ",\"task\":");
    message_quote(&out, task);
    buf_printf(&out, ",\"ticket\":\"%s\"}}", ticket);
    explicit_bzero(ticket, sizeof ticket);
    free(name);
    free(task);
    return buf_take(&out);
}

static void on_answer(void *arg, bool success, const char *why)
{
    struct birth *birth = arg;
    struct parent *parent = birth->parent;
    if (success || birth->state != BIRTH_ASKED)
        return;
    birth_settle(birth, BIRTH_DECLINED);
    say_declined(birth, "the client would not", why);
    look_soon(parent, 0);
}

static void ask(struct birth *birth)
{
    struct session *session = birth->parent->session;
    char *arguments = start_arguments(birth);
    birth->state = BIRTH_ASKED;
    birth->until_us = loop_now_us() + (int64_t)TICKET_LIFE_MS * 1000;
    asks_add(&session->asks, client_request(&session->client, "startDebugging", arguments),
             on_answer, birth);
    explicit_bzero(arguments, strlen(arguments));
    free(arguments);
}

/* --- looking for pauses --- */

static void note_pause(struct parent *parent, const struct pause *pause)
{
    struct birth *birth = birth_for(parent, pause);
    birth->seen = true;
    /* What was held and waits now is nobody's any more: a new stop. */
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

static void note_pauses(struct parent *parent)
{
    struct session *session = parent->session;
    struct pause_list list = {0};
    hubs_list(session->options.hubs, cluster_pauses(session->options.cluster), &list);
    for (struct birth *at = parent->births; at; at = at->next)
        at->seen = false;
    for (size_t i = 0; i < list.count; i++) {
        const struct pause *pause = &list.items[i];
        if ((pause->state == PAUSE_WAITING || pause->state == PAUSE_HELD) &&
            pause_filter_matches(&session->attach.many, pause))
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

static void give_up_late(struct parent *parent)
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

/* One line for all that have to wait now. */
static void tell_queued(struct parent *parent)
{
    enum { SHOWN = 5 };
    struct buf names = {0};
    size_t count = 0;
    for (struct birth *at = parent->births; at; at = at->next) {
        if (!is_ready(at) || at->told)
            continue;
        at->told = true;
        if (count++ < SHOWN) {
            char *name = child_name(at);
            buf_printf(&names, "%s%s", count > 1 ? ", " : "", name);
            free(name);
        }
    }
    if (!count)
        return;
    char *text =
        mem_format("raydbg: %zu more paused task%s wait%s until one of %" PRId64
                   " sessions ends (maxSessions): %s%s\n",
                   count, count == 1 ? "" : "s", count == 1 ? "s" : "",
                   parent->session->attach.max_sessions, names.data, count > SHOWN ? ", …" : "");
    client_say(&parent->session->client, "console", text);
    free(text);
    buf_free(&names);
}

static void start_children(struct parent *parent)
{
    int64_t room = parent->session->attach.max_sessions - (int64_t)active_count(parent);
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
    struct parent *parent = arg;
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
    struct parent *parent = arg;
    parent->timer = NULL;
    parent->looking = true;
    parent->look_us = loop_now_us();
    cluster_refresh(parent->session->options.cluster, on_looked, parent);
}

static void look_soon(struct parent *parent, int64_t ms)
{
    if (parent->looking || parent->left || !parent->configured)
        return;
    timer_cancel(&parent->timer);
    parent->timer = timer_start(parent->session->options.loop, ms, look, parent);
}

/* --- requests --- */

static void on_configuration_done(struct parent *parent, const struct envelope *request)
{
    struct session *session = parent->session;
    char text[300], what[200];
    if (parent->configured || !session->attach_seq) {
        client_refuse(&session->client, request->seq, request->name,
                      "configurationDone is only allowed once", false);
        return;
    }
    parent->configured = true;
    client_respond(&session->client, request->seq, request->name, NULL);
    client_respond(&session->client, session->attach_seq, "attach", NULL);
    session->attach_seq = 0;
    pause_filter_describe(&session->attach.many, what, sizeof what);
    snprintf(text, sizeof text, "raydbg: a session of its own starts for each paused task: %s\n",
             what);
    client_say(&session->client, "console", text);
    look_soon(parent, 0);
}

bool parent_request(struct parent *parent, const char *json, const struct envelope *request)
{
    static const char *const not_ours[] = {"initialize", "attach", "disconnect",
                                           "terminate",  "cancel", "raydbg/clusterObjects"};
    struct client *client = &parent->session->client;
    const struct rule *rule = rules_find(RULE_FROM_CLIENT, DAP_REQUEST, request->name);
    struct buf body = {0};
    for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++)
        if (text_equal(request->name, not_ours[i]))
            return false;
    if (rule->action == RULE_REFUSE)
        return false;
    if (text_equal(request->name, "configurationDone")) {
        on_configuration_done(parent, request);
    } else if (text_equal(request->name, "threads")) {
        client_respond(client, request->seq, request->name, "{\"threads\":[]}");
    } else if (breakpoints_is_set(request->name)) {
        breakpoints_unarmed_body(json, request, "the sessions of the tasks set it", &body);
        client_respond(client, request->seq, request->name, body.data);
    } else {
        client_refuse(client, request->seq, request->name,
                      "this session only starts others: each task has a session of its own", false);
    }
    buf_free(&body);
    return true;
}

/* --- life --- */

const char *parent_obstacle(const struct session *session)
{
    if (!session->options.hubs || !session->options.tickets)
        return "sessions of their own need a relay (raydbg relay)";
    if (!session->options.cluster)
        return "this relay serves no cluster";
    if (!session->starts_sessions)
        return "this client cannot start sessions (supportsStartDebuggingRequest)";
    return NULL;
}

/* What is the parent's own, what says where to attach to, and what an editor does around a session.
 */
static bool is_own(const char *json, struct span key)
{
    static const char *const names[] = {
        "name",       "task",    "tasks",        "job",          "actor",         "node",
        "mode",       "ticket",  "maxSessions",  "token",        "preLaunchTask", "postDebugTask",
        "type",       "request", "restart",      "presentation", "compounds",     "threadName",
        "allThreads", "eager",   "preserveFocus"};
    if (key.len > 3 && json[key.at + 1] == '_' && json[key.at + 2] == '_')
        return true; /* "__sessionId" */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (scan_key_is(json, key, names[i]))
            return true;
    return false;
}

static char *common_configuration(const char *json, struct span arguments)
{
    struct buf out = {0};
    struct span key, value;
    size_t cursor = 0;
    if (scan_find(json, arguments, "type", &value) && json[value.at] == '"')
        buf_printf(&out, "\"type\":%.*s,", (int)value.len, json + value.at);
    else
        buf_add_string(&out, "\"type\":\"raydbg\",");
    buf_add_string(&out, "\"request\":\"attach\",");
    while (scan_member(json, arguments, &cursor, &key, &value))
        if (!is_own(json, key))
            buf_printf(&out, "%.*s:%.*s,", (int)key.len, json + key.at, (int)value.len,
                       json + value.at);
    return buf_take(&out);
}

struct parent *parent_open(struct session *session, const char *json, const struct envelope *attach)
{
    struct parent *parent = mem_alloc(sizeof *parent);
    parent->session = session;
    parent->configuration = common_configuration(json, attach->arguments);
    client_event(&session->client, "initialized", NULL);
    return parent;
}

void parent_leave(struct parent *parent)
{
    if (parent->left)
        return;
    parent->left = true;
    timer_cancel(&parent->timer);
    if (parent->looking)
        cluster_refresh_cancel(parent->session->options.cluster, parent);
    for (struct birth *at = parent->births; at; at = at->next) {
        struct session *child = at->child;
        birth_settle(at, BIRTH_OVER);
        if (!child)
            continue;
        at->child = NULL;
        child->birth = NULL;
        session_dismiss(child, "the session that started this one has ended");
    }
}

void parent_destroy(struct parent **parent)
{
    struct parent *it = *parent;
    if (!it)
        return;
    parent_leave(it);
    *parent = NULL;
    while (it->births) {
        struct birth *next = it->births->next;
        birth_free(it->births);
        it->births = next;
    }
    free(it->configuration);
    free(it);
}

/* --- a child's side --- */

const struct pause *birth_pause(const struct birth *birth)
{
    return &birth->pause;
}

int parent_admit(struct session *child, struct err *err)
{
    struct tickets *tickets = child->options.tickets;
    void *bearer = NULL;
    enum ticket_verdict verdict =
        tickets ? tickets_use(tickets, child->attach.ticket, loop_now_us() / 1000, &bearer)
                : TICKET_UNKNOWN;
    if (verdict != TICKET_GOOD) {
        err_set(err, ERR_DENIED, "this ticket %s", ticket_verdict_text(verdict));
        if (!tickets)
            err_why(err, "there is no relay here, which would have made it");
        return err_hint(err, "attach by \"task\" instead");
    }
    struct birth *birth = bearer;
    enum auth_role role = birth->parent->session->role;
    birth->state = BIRTH_JOINED;
    birth->child = child;
    child->birth = birth;
    if (child->role == AUTH_NONE || role < child->role)
        child->role = role;
    return 0;
}

void parent_child_over(struct session *child)
{
    struct birth *birth = child->birth;
    if (!birth)
        return;
    /* `initialize` is kept until a session is attached. */
    birth_settle(birth, child->initialize ? BIRTH_DECLINED : BIRTH_OVER);
    birth->child = NULL;
    child->birth = NULL;
    look_soon(birth->parent, 0);
}
