#include "relay/session/session_verbs.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/session/session_state.h"
#include "relay/variables/variables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The seq under which a verb's own request goes to the debuggee; no client uses it. */
static const int64_t verb_seq = INT64_MIN + 1;

static const struct verb {
    const char *name, *alias;
    const char *command; /* DAP's command for the step, or NULL */
    const char *help;
} verbs[] = {
    {"help", "h", NULL, "this list"},
    {"next", "n", "next", "step over"},
    {"step", "s", "stepIn", "step into"},
    {"out", "finish", "stepOut", "step out"},
    {"continue", "c", "continue", "let the task go on"},
    {"takeover", NULL, NULL, "drive, whoever does so now (needs a relay)"},
    {"release", NULL, NULL, "let the task go, for all who are attached"},
};

enum { VERBS = sizeof verbs / sizeof *verbs };

/* The verbs that only a session over many tasks has. */
static const char *const of_many[] = {"threads", "group",   "groups", "until", "u",
                                      "barrier", "b",       "stacks", "bt",    "focus",
                                      "f",       "compare", "cmp",    "all"};

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < VERBS; i++)
        if (text_equal(name, verbs[i].name) || (verbs[i].alias && text_equal(name, verbs[i].alias)))
            return &verbs[i];
    return NULL;
}

/* --- answers --- */

static void answer(struct session *session, const struct envelope *request, const char *text)
{
    struct buf body = {0};
    buf_add_string(&body, "{\"result\":");
    message_quote(&body, text);
    buf_add_string(&body, ",\"variablesReference\":0}");
    client_respond(&session->client, request->seq, request->name, body.data);
    buf_free(&body);
}

static void refuse(struct session *session, const struct envelope *request, const char *why)
{
    client_refuse(&session->client, request->seq, request->name, why, false);
}

static void help(struct session *session, const struct envelope *request)
{
    struct buf text = {0};
    for (size_t i = 0; i < VERBS; i++)
        buf_printf(&text, "/%-10s%s\n", verbs[i].name, verbs[i].help);
    buf_add_string(&text, "Anything else is Python, evaluated in the frame that is shown. A session"
                          " over many tasks\n(\"tasks\" instead of \"task\") has more.");
    answer(session, request, text.data);
    buf_free(&text);
}

static void refuse_unknown(struct session *session, const struct envelope *request,
                           const char *name)
{
    bool many = false;
    for (size_t i = 0; i < sizeof of_many / sizeof *of_many; i++)
        many |= text_equal(name, of_many[i]);
    char *why = many ? mem_format("'/%s' is for a session over many tasks, and this one has one:"
                                  " attach with \"tasks\" instead of \"task\"",
                                  name)
                     : mem_format("there is no verb '/%s': /help lists them", name);
    refuse(session, request, why);
    free(why);
}

/* --- steps --- */

/* The client asked for a value, not for a step: an event tells what becomes of the thread. */
static void tell(struct session *session, const char *event, int64_t thread, const char *more)
{
    char *body = mem_format("{\"threadId\":%" PRId64 ",%s}", thread, more);
    client_event(&session->client, event, body);
    free(body);
}

static void step(struct session *session, const struct envelope *request, const struct verb *verb)
{
    struct envelope made;
    const char *problem;
    const struct stop *stop = hub_last_stop(&session->member);
    if (!stop || hub_count_stopped(&session->member) > 1) {
        refuse(session, request,
               stop ? "several threads are stopped: the buttons of each step it"
                    : "the task is running");
        return;
    }
    int64_t thread = stop->thread;
    char *json = mem_format("{\"seq\":1,\"type\":\"request\",\"command\":\"%s\","
                            "\"arguments\":{\"threadId\":%" PRId64 "}}",
                            verb->command, thread);
    size_t len = strlen(json);
    const char *why = envelope_read(&made, json, len, &problem) == 0
                          ? hub_refusal(&session->member, json, &made)
                          : problem;
    session_act(session, why ? "refused" : verb->command, why ? verb->command : "");
    if (why) {
        refuse(session, request, why);
    } else {
        variables_flush(session_variables(session));
        answer(session, request, "");
        session->verb_thread = thread;
        tell(session, "continued", thread, "\"allThreadsContinued\":false");
        hub_forward(&session->member, (struct client_seq){verb_seq}, json, len, &made);
    }
    free(json);
}

bool session_verbs_response(struct session *session, const struct pending *pending,
                            const char *json, const struct envelope *envelope)
{
    if (!session_verbs_forgets(pending))
        return false;
    if (envelope->success)
        return true;
    char *why = envelope->message.len ? scan_string(json, envelope->message) : NULL;
    char *text = mem_format("raydbg: %s failed: %s\n", pending->command, why ? why : "");
    client_say(&session->client, "stderr", text);
    free(text);
    tell(session, "stopped", session->verb_thread,
         "\"reason\":\"step\",\"allThreadsStopped\":false");
    free(why);
    return true;
}

bool session_verbs_forgets(const struct pending *pending)
{
    return pending->client.value == verb_seq;
}

/* --- lines --- */

static void take_over(struct session *session, const struct envelope *request)
{
    const char *why = session_take_over(session);
    if (why)
        refuse(session, request, why);
    else
        answer(session, request, "");
}

static void run(struct session *session, const struct envelope *request, const char *line)
{
    char *name = mem_string_n(line + 1, strcspn(line + 1, " \t\r\n"));
    const struct verb *verb = find(name);
    if (!verb)
        refuse_unknown(session, request, name);
    else if (verb->command)
        step(session, request, verb);
    else if (text_equal(verb->name, "takeover"))
        take_over(session, request);
    else if (text_equal(verb->name, "release"))
        session_release(session, request);
    else
        help(session, request);
    free(name);
}

/* `start` counts from 0, as debugpy's own does. */
static void complete(struct session *session, const struct envelope *request, const char *line)
{
    struct buf body = {0};
    size_t len = strlen(line);
    buf_add_string(&body, "{\"targets\":[");
    for (size_t i = 0, count = 0; i < VERBS; i++) {
        if (strncmp(verbs[i].name, line + 1, len - 1) != 0)
            continue;
        buf_printf(&body, "%s{\"label\":\"/%s\",\"type\":\"keyword\",\"start\":0,\"length\":%zu}",
                   count++ ? "," : "", verbs[i].name, len);
    }
    buf_add_string(&body, "]}");
    client_respond(&session->client, request->seq, request->name, body.data);
    buf_free(&body);
}

bool session_verbs_request(struct session *session, const char *json,
                           const struct envelope *envelope)
{
    bool completes = text_equal(envelope->name, "completions");
    if (session->mode || !session_attached(session) ||
        (!completes && !text_equal(envelope->name, "evaluate")))
        return false;
    char *text = scan_string_at(json, envelope->arguments, completes ? "text" : "expression");
    char *context = completes ? NULL : scan_string_at(json, envelope->arguments, "context");
    const char *line = text ? text + strspn(text, " \t") : "";
    bool taken = *line == '/' && (completes || text_equal(context, "repl"));
    if (taken && completes)
        complete(session, envelope, line);
    else if (taken)
        run(session, envelope, line);
    free(text);
    free(context);
    return taken;
}
