#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/many_verbs/many_verbs_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct request *next;
    struct many_verbs *verbs;
    int64_t thread;
    int64_t until_us;
    char *expression; /* NULL: only the stack is wanted */
    request_fn fn;
    void *arg;
};

static void request_free(struct request *request)
{
    LIST_DROP(request->verbs->requests, request);
    free(request->expression);
    free(request);
}

static void finish(struct request *request, struct request_result *result)
{
    request_fn fn = request->fn;
    void *arg = request->arg;
    result->thread = request->thread;
    request_free(request);
    fn(arg, result);
}

static void fail(struct request *request, const char *problem)
{
    struct request_result result = {.problem = problem};
    finish(request, &result);
}

static int64_t left_ms(const struct request *request)
{
    int64_t left = (request->until_us - loop_now_us()) / 1000;
    return left > 1 ? left : 1;
}

/* The line of an error text that says what failed: the last one of a traceback. */
static char *last_line(char *text)
{
    size_t len = text ? strlen(text) : 0;
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
        text[--len] = '\0';
    char *newline = len ? strrchr(text, '\n') : NULL;
    char *line = newline ? newline + 1 : text;
    return line ? line + strspn(line, " \t") : NULL;
}

static void on_value(void *arg, struct many_task *task, const char *json, size_t len,
                     const struct envelope *response)
{
    struct request *request = arg;
    struct request_result result = {0};
    (void)task, (void)len;
    if (!json) {
        fail(request, "no answer in time");
        return;
    }
    char *text = NULL, *type = NULL;
    if (!response->success)
        text = scan_string(json, response->message);
    else
        text = envelope_result(json, response);
    if (response->success)
        type = scan_string_at(json, response->body, "type");
    if (response->success && text)
        result.value = text;
    else
        result.problem = text_empty(text) ? "the evaluation failed" : last_line(text);
    result.type = text_empty(type) ? NULL : type;
    finish(request, &result);
    free(text);
    free(type);
}

static void ask_value(struct request *request, struct many_task *task, int64_t frame)
{
    struct buf arguments = {0};
    buf_add_string(&arguments, "{\"expression\":");
    message_quote(&arguments, request->expression);
    buf_printf(&arguments, ",\"frameId\":%" PRId64 ",\"context\":\"watch\"}", frame);
    many_ask(task, "evaluate", arguments.data, left_ms(request), on_value, request);
    buf_free(&arguments);
}

static void use_stack(struct request *request, struct many_task *task, const char *json,
                      const struct envelope *response)
{
    struct request_result result = {.json = json};
    if (!response->success || !response->body.len ||
        !scan_find(json, response->body, "stackFrames", &result.frames) ||
        !frame_location_top(json, result.frames, &result.top)) {
        fail(request, "it has no stack");
        return;
    }
    if (request->expression)
        ask_value(request, task, result.top.frame);
    else
        finish(request, &result);
    frame_location_clear(&result.top);
}

static void on_stack(void *arg, struct many_task *task, const char *json, size_t len,
                     const struct envelope *response)
{
    (void)len;
    if (json)
        use_stack(arg, task, json, response);
    else
        fail(arg, "no answer in time");
}

/* --- a thread that runs --- */

/* Gives frames as DAP has them, innermost first, in hexadecimal, which no repr escapes. Finds the
 * thread by the id that debugpy gave it. */
static const char running_stack[] =
    "(lambda i,n:n('json').dumps([{'id':0,'name':f.f_code.co_name,'line':l,"
    "'source':{'path':f.f_code.co_filename},**({'presentationHint':'subtle'}"
    " if '/site-packages/' in f.f_code.co_filename else {})}"
    " for t in n('threading').enumerate()"
    " if n('_pydevd_bundle.pydevd_constants',fromlist=['a']).get_thread_id(t)=="
    "n('_pydevd_bundle._debug_adapter.pydevd_base_schema',fromlist=['a'])"
    ".BaseSchema._dap_id_to_obj_id.get(i)"
    " for f,l in list(n('traceback').walk_stack(n('sys')._current_frames().get(t.ident)))[:100]]"
    ").encode().hex())(%" PRId64 ",__import__)";

/* Decodes the hexadecimal, with or without a string's quotes; NULL if it is none. */
static char *unhex(const char *repr)
{
    bool quoted = repr && *repr == '\'';
    size_t len = repr ? strlen(repr) : 0;
    len -= quoted ? len > 1 ? 2 : 1 : 0;
    if (len == 0 || len % 2)
        return NULL;
    char *hex = mem_string_n(repr + quoted, len), *text = mem_alloc(len / 2 + 1);
    if (!text_unhex(hex, (uint8_t *)text, len / 2)) {
        free(text);
        text = NULL;
    }
    free(hex);
    return text;
}

static void on_running(void *arg, struct many_task *task, const char *json, size_t len,
                       const struct envelope *response)
{
    struct request *request = arg;
    struct request_result result = {0};
    struct scan scan;
    char *repr = envelope_result(json, response);
    char *text = unhex(repr);
    (void)task, (void)len;
    if (text)
        scan_init(&scan, text, strlen(text));
    if (text && scan_value(&scan, &result.frames) && result.frames.len > 2) {
        result.json = text;
        finish(request, &result);
    } else {
        fail(request, "running");
    }
    free(text);
    free(repr);
}

static void start_running(struct request *request)
{
    struct many_task *task;
    const struct many_thread *thread =
        many_thread_by_id(request->verbs->many, request->thread, &task);
    if (!thread || !many_task_is_there(task) || task->pause.debugger == PAUSE_PDB) {
        fail(request, "running");
        return;
    }
    struct buf arguments = {0};
    char *expression = mem_format(running_stack, thread->own);
    buf_add_string(&arguments, "{\"context\":\"repl\",\"expression\":");
    message_quote(&arguments, expression);
    buf_add_string(&arguments, "}");
    many_ask(task, "evaluate", arguments.data, left_ms(request), on_running, request);
    buf_free(&arguments);
    free(expression);
}

/* --- the beginning --- */

static void start(struct request *request)
{
    struct many_task *task;
    struct many_thread *thread = many_thread_by_id(request->verbs->many, request->thread, &task);
    struct envelope envelope;
    const char *problem;
    if (!thread || !thread->stopped || !many_task_is_there(task)) {
        fail(request, thread && thread->shown ? "running" : "it has ended");
        return;
    }
    if (thread->stack &&
        envelope_read(&envelope, thread->stack, thread->stack_len, &problem) == 0) {
        char *copy = mem_string_n(thread->stack, thread->stack_len); /* the stop may end here */
        use_stack(request, task, copy, &envelope);
        free(copy);
        return;
    }
    char *arguments = mem_format("{\"threadId\":%" PRId64 "}", thread->own);
    many_ask(task, "stackTrace", arguments, left_ms(request), on_stack, request);
    free(arguments);
}

static struct request *begin(struct many_verbs *verbs, int64_t thread, const char *expression,
                             int64_t timeout_ms, request_fn fn, void *arg)
{
    struct request *request = mem_alloc(sizeof *request);
    *request = (struct request){
        .next = verbs->requests,
        .verbs = verbs,
        .thread = thread,
        .until_us = loop_now_us() + timeout_ms * 1000,
        .expression = mem_string(expression),
        .fn = fn,
        .arg = arg,
    };
    verbs->requests = request;
    return request;
}

void request_value(struct many_verbs *verbs, int64_t thread, const char *expression,
                   int64_t timeout_ms, request_fn fn, void *arg)
{
    start(begin(verbs, thread, expression, timeout_ms, fn, arg));
}

void request_stack(struct many_verbs *verbs, int64_t thread, int64_t timeout_ms, request_fn fn,
                   void *arg)
{
    start(begin(verbs, thread, NULL, timeout_ms, fn, arg));
}

void request_running(struct many_verbs *verbs, int64_t thread, int64_t timeout_ms, request_fn fn,
                     void *arg)
{
    start_running(begin(verbs, thread, NULL, timeout_ms, fn, arg));
}

void request_drop(struct many_verbs *verbs, const void *arg)
{
    for (struct request *request = verbs->requests, *next; request; request = next) {
        next = request->next;
        if (request->arg != arg)
            continue;
        many_drop_requests(verbs->many, request);
        request_free(request);
    }
}

bool request_is_open(const struct many_verbs *verbs, int64_t thread, const void *arg)
{
    for (const struct request *request = verbs->requests; request; request = request->next)
        if (request->thread == thread && request->arg == arg)
            return true;
    return false;
}
