#include "cli/debuggee.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/envelope.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request whose response is, or may still be, wanted. */
struct waiting {
    struct waiting *next;
    int64_t seq;
    bool answered;
    bool success;
    bool abandoned; /* nobody wants it any more */
    struct reply reply;
    char *message;
};

struct debuggee {
    struct loop *loop;
    struct adapter *adapter;
    struct debuggee_ops ops;
    void *arg;
    int64_t seq;
    struct waiting *waiting;
    struct debuggee_thread *threads; /* in the order of their last stop */
    size_t thread_count;
    int64_t last_number;
    bool many;
    bool all_stopped; /* those, too, that the next `threads` response names first */
    bool initialized;
    bool ended;
    struct err end; /* why; code 0: in order */
};

enum { LEAVE_TIMEOUT_MS = 3500 };

void reply_clear(struct reply *reply)
{
    free(reply->text);
    *reply = (struct reply){0};
}

/* --- threads --- */

static struct debuggee_thread *find_thread(const struct debuggee *debuggee, int64_t id)
{
    for (size_t i = 0; i < debuggee->thread_count; i++)
        if (debuggee->threads[i].id == id)
            return &debuggee->threads[i];
    return NULL;
}

static struct debuggee_thread *need_thread(struct debuggee *debuggee, int64_t id)
{
    struct debuggee_thread *thread = find_thread(debuggee, id);
    if (thread)
        return thread;
    size_t count = debuggee->thread_count + 1;
    debuggee->threads = mem_resize(debuggee->threads, count, sizeof *debuggee->threads);
    debuggee->thread_count = count;
    thread = &debuggee->threads[count - 1];
    *thread = (struct debuggee_thread){.id = id, .number = ++debuggee->last_number};
    return thread;
}

static void set_running(struct debuggee_thread *thread)
{
    free(thread->reason);
    free(thread->description);
    free(thread->text);
    thread->reason = thread->description = thread->text = NULL;
    thread->stopped = thread->fresh = false;
}

static void remove_thread(struct debuggee *debuggee, int64_t id)
{
    struct debuggee_thread *thread = find_thread(debuggee, id);
    if (!thread)
        return;
    set_running(thread);
    free(thread->name);
    size_t index = (size_t)(thread - debuggee->threads);
    size_t after = debuggee->thread_count - index - 1;
    memmove(thread, thread + 1, after * sizeof *thread);
    debuggee->thread_count--;
}

static void set_all_running(struct debuggee *debuggee)
{
    for (size_t i = 0; i < debuggee->thread_count; i++)
        set_running(&debuggee->threads[i]);
}

static void set_all_stopped(struct debuggee *debuggee)
{
    debuggee->all_stopped = true;
    for (size_t i = 0; i < debuggee->thread_count; i++) {
        struct debuggee_thread *thread = &debuggee->threads[i];
        thread->fresh = thread->fresh || !thread->stopped;
        thread->stopped = true;
    }
}

/* --- events --- */

/* To the end of the list: the latest stop. */
static struct debuggee_thread *move_last(struct debuggee *debuggee, struct debuggee_thread *thread)
{
    struct debuggee_thread moved = *thread;
    size_t after = debuggee->thread_count - (size_t)(thread - debuggee->threads) - 1;
    memmove(thread, thread + 1, after * sizeof *thread);
    thread[after] = moved;
    return &thread[after];
}

static void on_stopped(struct debuggee *debuggee, struct json body)
{
    struct debuggee_thread *thread =
        move_last(debuggee, need_thread(debuggee, json_integer(body, "threadId", -1)));
    bool all = debuggee->many && json_boolean(body, "allThreadsStopped", false);
    bool again = all && thread->stopped && !thread->fresh; /* it is about the others */
    set_running(thread);
    thread->stopped = true;
    thread->fresh = !again;
    thread->reason = json_string(body, "reason");
    thread->description = json_string(body, "description");
    thread->text = json_string(body, "text");
    if (all)
        set_all_stopped(debuggee);
}

static void on_continued(struct debuggee *debuggee, struct json body)
{
    int64_t id = json_integer(body, "threadId", -1);
    if (json_boolean(body, "allThreadsContinued", false))
        set_all_running(debuggee);
    else if (find_thread(debuggee, id) || debuggee->all_stopped)
        set_running(need_thread(debuggee, id));
}

static void on_thread(struct debuggee *debuggee, struct json body)
{
    int64_t id = json_integer(body, "threadId", -1);
    if (json_string_is(body, "reason", "exited")) {
        remove_thread(debuggee, id);
        return;
    }
    bool again = find_thread(debuggee, id) != NULL;
    need_thread(debuggee, id);
    for (size_t i = 0; again && i < debuggee->thread_count; i++) {
        free(debuggee->threads[i].name); /* one that starts again: names are others now */
        debuggee->threads[i].name = NULL;
    }
}

static void on_terminated(struct debuggee *debuggee, struct json body)
{
    (void)body;
    set_all_running(debuggee);
    debuggee->ended = true;
}

static void on_initialized(struct debuggee *debuggee, struct json body)
{
    (void)body;
    debuggee->initialized = true;
}

static void on_output(struct debuggee *debuggee, struct json body)
{
    char *category = json_string(body, "category");
    char *text = json_string(body, "output");
    if (text)
        debuggee->ops.on_output(debuggee->arg, category ? category : "console", text);
    free(category);
    free(text);
}

static void on_breakpoint(struct debuggee *debuggee, struct json body)
{
    debuggee->ops.on_breakpoint(debuggee->arg, json_get(body, "breakpoint"));
}

static const struct {
    const char *name;
    void (*handle)(struct debuggee *debuggee, struct json body);
} events[] = {
    {"stopped", on_stopped},       {"continued", on_continued},     {"thread", on_thread},
    {"terminated", on_terminated}, {"initialized", on_initialized}, {"output", on_output},
    {"breakpoint", on_breakpoint},
};

static void on_event(struct debuggee *debuggee, const char *name, struct json body)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (text_equal(events[i].name, name))
            events[i].handle(debuggee, body);
}

/* --- responses --- */

static void forget(struct debuggee *debuggee, struct waiting *it)
{
    for (struct waiting **at = &debuggee->waiting; *at; at = &(*at)->next) {
        if (*at == it) {
            *at = it->next;
            break;
        }
    }
    reply_clear(&it->reply);
    free(it->message);
    free(it);
}

static void on_response(struct debuggee *debuggee, const char *json, size_t len,
                        const struct envelope *envelope)
{
    struct waiting *it = debuggee->waiting;
    while (it && it->seq != envelope->request_seq)
        it = it->next;
    if (!it || it->answered)
        return;
    if (it->abandoned) {
        forget(debuggee, it);
        return;
    }
    it->answered = true;
    it->success = envelope->success;
    it->reply.text = mem_string_n(json, len);
    it->reply.body = (struct json){it->reply.text, envelope->body};
    if (envelope->message.len)
        it->message = scan_string(json, envelope->message);
}

static void on_message(void *arg, const char *json, size_t len)
{
    struct debuggee *debuggee = arg;
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0)
        return;
    if (envelope.kind == DAP_RESPONSE)
        on_response(debuggee, json, len, &envelope);
    else if (envelope.kind == DAP_EVENT)
        on_event(debuggee, envelope.name, (struct json){json, envelope.body});
}

static void on_end(void *arg, const struct err *err)
{
    struct debuggee *debuggee = arg;
    if (err)
        debuggee->end = *err;
    on_terminated(debuggee, (struct json){0});
}

/* --- requests --- */

static struct waiting *send_request(struct debuggee *debuggee, const char *command,
                                    const char *arguments)
{
    struct waiting *it = mem_alloc(sizeof *it);
    it->seq = ++debuggee->seq;
    it->next = debuggee->waiting;
    debuggee->waiting = it;
    struct buf message = {0};
    message_request(&message, it->seq, command, arguments);
    adapter_send(debuggee->adapter, message.data, message.len);
    buf_free(&message);
    return it;
}

/* The last line with something on it: what went wrong, in a Python traceback. */
static const char *last_line(char *message)
{
    size_t len = strlen(message);
    while (len && strchr(" \r\n", message[len - 1]))
        message[--len] = '\0';
    const char *newline = strrchr(message, '\n');
    return newline ? newline + 1 : message;
}

static int fail_response(struct waiting *it, const char *command, struct err *err)
{
    int64_t code = json_integer(it->reply.body, "error/id", ERR_FAILED);
    if (code <= ERR_NONE || code > ERR_UNREACHABLE)
        code = ERR_FAILED;
    char *line = text_empty(it->message) ? NULL : mem_string(it->message);
    err_set(err, (enum err_code)code, "%s", line ? last_line(line) : command);
    if (!line)
        err_why(err, "the worker refused it without a word");
    free(line);
    return -1;
}

static int fail_ended(const struct debuggee *debuggee, struct err *err)
{
    if (!debuggee->end.code)
        return err_set(err, ERR_FAILED, "the session with the worker is over");
    *err = debuggee->end;
    return -1;
}

static int await(struct debuggee *debuggee, struct waiting *it, const char *command,
                 int64_t timeout_ms, struct reply *reply, struct err *err)
{
    int64_t end = timeout_ms < 0 ? INT64_MAX : loop_now_us() / 1000 + timeout_ms;
    bool wanted = true, in_time = true;
    while (!it->answered && !debuggee->ended && wanted && in_time) {
        int64_t left = end - loop_now_us() / 1000;
        in_time = left > 0;
        if (in_time)
            loop_run_once(debuggee->loop, left < 100 ? left : 100);
        wanted = debuggee->ops.on_wait(debuggee->arg);
    }
    int result = 0;
    if (it->answered && it->success) {
        if (reply) {
            *reply = it->reply;
            it->reply = (struct reply){0};
        }
    } else if (it->answered) {
        result = fail_response(it, command, err);
    } else if (debuggee->ended) {
        result = fail_ended(debuggee, err);
    } else {
        it->abandoned = true;
        return err_set(err, ERR_FAILED,
                       in_time ? "interrupted: the worker may still be at it"
                               : "the worker did not answer in time");
    }
    forget(debuggee, it);
    return result;
}

int debuggee_request_within(struct debuggee *debuggee, const char *command, const char *arguments,
                            int64_t timeout_ms, struct reply *reply, struct err *err)
{
    if (reply)
        *reply = (struct reply){0};
    if (debuggee->ended)
        return fail_ended(debuggee, err);
    struct waiting *it = send_request(debuggee, command, arguments);
    return await(debuggee, it, command, timeout_ms, reply, err);
}

int debuggee_request(struct debuggee *debuggee, const char *command, const char *arguments,
                     struct reply *reply, struct err *err)
{
    return debuggee_request_within(debuggee, command, arguments, -1, reply, err);
}

int debuggee_resume(struct debuggee *debuggee, const char *command, int64_t thread, struct err *err)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", thread);
    struct debuggee_thread *it = find_thread(debuggee, thread);
    if (!it || !it->stopped)
        return err_set(err, ERR_FAILED, "the thread runs: ^C pauses it");
    /* Before the response: the next `stopped` may come with it, and must not be undone after. A
     * step lets one thread run (relay/attach_arguments: steppingResumesAllThreads), `continue` all.
     */
    if (text_equal(command, "continue") && !debuggee->many)
        set_all_running(debuggee);
    else
        set_running(it);
    if (debuggee_request(debuggee, command, arguments, NULL, err) == 0)
        return 0;
    it = find_thread(debuggee, thread);
    if (it && !debuggee->ended)
        it->stopped = true;
    return -1;
}

void debuggee_let_go(struct debuggee *debuggee, int64_t thread)
{
    struct debuggee_thread *it = find_thread(debuggee, thread);
    if (it)
        set_running(it);
}

static int await_initialized(struct debuggee *debuggee, struct waiting *attach, struct err *err)
{
    while (!debuggee->initialized && !debuggee->ended && !attach->answered) {
        loop_run_once(debuggee->loop, 100);
        if (!debuggee->ops.on_wait(debuggee->arg)) {
            attach->abandoned = true;
            return err_set(err, ERR_FAILED, "interrupted while attaching");
        }
    }
    return 0;
}

int debuggee_attach(struct debuggee *debuggee, const char *attach, struct err *err)
{
    static const char initialize[] =
        "{\"clientID\":\"raydbg\",\"clientName\":\"raydbg attach\",\"adapterID\":\"debugpy\","
        "\"linesStartAt1\":true,\"columnsStartAt1\":true,\"pathFormat\":\"path\","
        "\"supportsVariableType\":true}";
    if (debuggee_request(debuggee, "initialize", initialize, NULL, err) != 0)
        return -1;
    struct waiting *it = send_request(debuggee, "attach", attach);
    if (await_initialized(debuggee, it, err) != 0)
        return -1;
    bool failed = it->answered && !it->success;
    if (!failed && debuggee_request(debuggee, "configurationDone", NULL, NULL, err) != 0)
        failed = true;
    /* Whatever went wrong, the attach's own answer says it best. */
    if (failed && !it->answered) {
        it->abandoned = true;
        return -1;
    }
    return await(debuggee, it, "attach", -1, NULL, err);
}

/* --- what is known --- */

const struct debuggee_thread *debuggee_next_stop(struct debuggee *debuggee)
{
    for (size_t i = 0; i < debuggee->thread_count; i++) {
        if (debuggee->threads[i].fresh) {
            debuggee->threads[i].fresh = false;
            return &debuggee->threads[i];
        }
    }
    return NULL;
}

void debuggee_seen(struct debuggee *debuggee, int64_t id)
{
    struct debuggee_thread *thread = find_thread(debuggee, id);
    if (thread)
        thread->fresh = false;
}

bool debuggee_has_fresh_stop(const struct debuggee *debuggee)
{
    for (size_t i = 0; i < debuggee->thread_count; i++)
        if (debuggee->threads[i].fresh)
            return true;
    return false;
}

const struct debuggee_thread *debuggee_thread(const struct debuggee *debuggee, int64_t id)
{
    return find_thread(debuggee, id);
}

int debuggee_threads(struct debuggee *debuggee, const struct debuggee_thread **threads,
                     size_t *count, struct err *err)
{
    struct reply reply;
    if (debuggee_request(debuggee, "threads", NULL, &reply, err) != 0)
        return -1;
    size_t cursor = 0;
    struct json list = json_get(reply.body, "threads"), element;
    while (json_each(list, &cursor, &element)) {
        int64_t id = json_integer(element, "id", -1);
        bool fresh = !find_thread(debuggee, id);
        struct debuggee_thread *thread = need_thread(debuggee, id);
        if (fresh)
            thread->stopped = thread->fresh = debuggee->all_stopped;
        free(thread->name);
        thread->name = json_string(element, "name");
    }
    reply_clear(&reply);
    debuggee->all_stopped = false;
    *threads = debuggee->threads;
    *count = debuggee->thread_count;
    return 0;
}

bool debuggee_knows_all(const struct debuggee *debuggee)
{
    return !debuggee->all_stopped;
}

const struct debuggee_thread *debuggee_known(const struct debuggee *debuggee, size_t *count)
{
    *count = debuggee->thread_count;
    return debuggee->threads;
}

bool debuggee_ended(const struct debuggee *debuggee)
{
    return debuggee->ended;
}

const struct err *debuggee_end(const struct debuggee *debuggee)
{
    return debuggee->ended && debuggee->end.code ? &debuggee->end : NULL;
}

/* --- life --- */

struct debuggee *debuggee_create(const struct session_options *options,
                                 const struct relay_address *relay, const struct debuggee_ops *ops,
                                 void *arg)
{
    static const struct adapter_ops adapter_ops = {.on_message = on_message, .on_end = on_end};
    struct debuggee *debuggee = mem_alloc(sizeof *debuggee);
    debuggee->loop = options->loop;
    debuggee->ops = *ops;
    debuggee->arg = arg;
    debuggee->adapter = adapter_create(options, relay, &adapter_ops, debuggee);
    return debuggee;
}

void debuggee_expect_many(struct debuggee *debuggee)
{
    debuggee->many = true;
}

void debuggee_leave(struct debuggee *debuggee, bool kill)
{
    struct err err;
    const char *arguments = kill ? "{\"terminateDebuggee\":true}" : "{\"terminateDebuggee\":false}";
    bool ended = debuggee->ended;
    if (debuggee->end.code)
        return;              /* nobody is there any more */
    debuggee->ended = false; /* `terminated` was the worker's: the session still takes a goodbye */
    debuggee_request_within(debuggee, "disconnect", arguments, ended ? 200 : LEAVE_TIMEOUT_MS, NULL,
                            &err);
    debuggee->ended = true;
}

void debuggee_destroy(struct debuggee **debuggee)
{
    struct debuggee *it = *debuggee;
    if (!it)
        return;
    *debuggee = NULL;
    adapter_destroy(&it->adapter);
    while (it->waiting)
        forget(it, it->waiting);
    while (it->thread_count)
        remove_thread(it, it->threads[0].id);
    free(it->threads);
    free(it);
}
