#include "cli/client/dap_client_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- threads --- */

static struct dap_client_thread *find_thread(const struct dap_client *client, int64_t id)
{
    for (size_t i = 0; i < client->thread_count; i++)
        if (client->threads[i].id == id)
            return &client->threads[i];
    return NULL;
}

static struct dap_client_thread *need_thread(struct dap_client *client, int64_t id)
{
    struct dap_client_thread *thread = find_thread(client, id);
    if (thread)
        return thread;
    size_t count = client->thread_count + 1;
    client->threads = mem_resize(client->threads, count, sizeof *client->threads);
    client->thread_count = count;
    thread = &client->threads[count - 1];
    *thread = (struct dap_client_thread){.id = id, .number = ++client->last_number};
    return thread;
}

static void set_running(struct dap_client_thread *thread)
{
    free(thread->reason);
    free(thread->description);
    free(thread->text);
    thread->reason = thread->description = thread->text = NULL;
    thread->stopped = thread->fresh = thread->stepped_off = false;
}

static void remove_thread(struct dap_client *client, int64_t id)
{
    struct dap_client_thread *thread = find_thread(client, id);
    if (!thread)
        return;
    set_running(thread);
    free(thread->name);
    size_t index = (size_t)(thread - client->threads);
    size_t after = client->thread_count - index - 1;
    memmove(thread, thread + 1, after * sizeof *thread);
    client->thread_count--;
}

static void set_all_running(struct dap_client *client)
{
    for (size_t i = 0; i < client->thread_count; i++)
        set_running(&client->threads[i]);
}

static void set_all_stopped(struct dap_client *client)
{
    client->all_stopped = true;
    for (size_t i = 0; i < client->thread_count; i++) {
        struct dap_client_thread *thread = &client->threads[i];
        thread->fresh = thread->fresh || !thread->stopped;
        thread->stopped = true;
    }
}

void dap_client_free_threads(struct dap_client *client)
{
    while (client->thread_count)
        remove_thread(client, client->threads[0].id);
    free(client->threads);
}

/* --- events --- */

/* Moves the thread to the end of the list, which is in the order of the last stops. */
static struct dap_client_thread *move_last(struct dap_client *client,
                                           struct dap_client_thread *thread)
{
    struct dap_client_thread moved = *thread;
    size_t after = client->thread_count - (size_t)(thread - client->threads) - 1;
    memmove(thread, thread + 1, after * sizeof *thread);
    thread[after] = moved;
    return &thread[after];
}

static void on_stopped(struct dap_client *client, struct json body)
{
    struct dap_client_thread *thread =
        move_last(client, need_thread(client, json_integer(body, "threadId", -1)));
    bool all = client->many && json_boolean(body, "allThreadsStopped", false);
    bool again = all && thread->stopped && !thread->fresh; /* the event is about the others */
    set_running(thread);
    thread->stopped = true;
    thread->fresh = !again;
    thread->reason = json_string(body, "reason");
    thread->description = json_string(body, "description");
    thread->text = json_string(body, "text");
    if (all)
        set_all_stopped(client);
}

static void on_continued(struct dap_client *client, struct json body)
{
    int64_t id = json_integer(body, "threadId", -1);
    if (json_boolean(body, "allThreadsContinued", false))
        set_all_running(client);
    else if (find_thread(client, id) || client->all_stopped)
        set_running(need_thread(client, id));
    struct dap_client_thread *thread = find_thread(client, id);
    if (thread)
        thread->stepped_off = json_boolean(body, "raydbgSteppedOff", false);
}

static void on_thread(struct dap_client *client, struct json body)
{
    int64_t id = json_integer(body, "threadId", -1);
    if (json_string_is(body, "reason", "exited")) {
        remove_thread(client, id);
        return;
    }
    bool again = find_thread(client, id) != NULL;
    need_thread(client, id);
    for (size_t i = 0; again && i < client->thread_count; i++) {
        free(client->threads[i].name); /* a second `started`: the names of all may have changed */
        client->threads[i].name = NULL;
    }
}

void dap_client_set_ended(struct dap_client *client)
{
    set_all_running(client);
    client->ended = true;
}

static void on_terminated(struct dap_client *client, struct json body)
{
    (void)body;
    dap_client_set_ended(client);
}

static void on_initialized(struct dap_client *client, struct json body)
{
    (void)body;
    client->initialized = true;
}

static void on_output(struct dap_client *client, struct json body)
{
    char *category = json_string(body, "category");
    char *text = json_string(body, "output");
    if (text)
        client->ops.on_output(client->arg, category ? category : "console", text);
    free(category);
    free(text);
}

static void on_breakpoint(struct dap_client *client, struct json body)
{
    client->ops.on_breakpoint(client->arg, json_get(body, "breakpoint"));
}

static const struct {
    const char *name;
    void (*handle)(struct dap_client *client, struct json body);
} events[] = {
    {"stopped", on_stopped},       {"continued", on_continued},     {"thread", on_thread},
    {"terminated", on_terminated}, {"initialized", on_initialized}, {"output", on_output},
    {"breakpoint", on_breakpoint},
};

void dap_client_take_event(struct dap_client *client, const char *name, struct json body)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (text_equal(events[i].name, name))
            events[i].handle(client, body);
}

/* --- threads that go on --- */

int dap_client_resume(struct dap_client *client, const char *command, int64_t thread,
                      struct err *err)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", thread);
    struct dap_client_thread *it = find_thread(client, thread);
    if (!it || !it->stopped)
        return err_set(err, ERR_FAILED, "the thread runs: ^C pauses it");
    /* Before the response: the next `stopped` may come with it and must not be overwritten. A step
     * resumes one thread (relay/session/attach_arguments: steppingResumesAllThreads), `continue`
     * all. */
    if (text_equal(command, "continue") && !client->many)
        set_all_running(client);
    else
        set_running(it);
    if (dap_client_request(client, command, arguments, NULL, err) == 0)
        return 0;
    it = find_thread(client, thread);
    if (it && !client->ended)
        it->stopped = true;
    return -1;
}

void dap_client_let_go(struct dap_client *client, int64_t thread)
{
    struct dap_client_thread *it = find_thread(client, thread);
    if (it)
        set_running(it);
}

/* --- what is known --- */

const struct dap_client_thread *dap_client_next_stop(struct dap_client *client)
{
    for (size_t i = 0; i < client->thread_count; i++) {
        if (client->threads[i].fresh) {
            client->threads[i].fresh = false;
            return &client->threads[i];
        }
    }
    return NULL;
}

void dap_client_seen(struct dap_client *client, int64_t id)
{
    struct dap_client_thread *thread = find_thread(client, id);
    if (thread)
        thread->fresh = false;
}

bool dap_client_has_fresh_stop(const struct dap_client *client)
{
    for (size_t i = 0; i < client->thread_count; i++)
        if (client->threads[i].fresh)
            return true;
    return false;
}

const struct dap_client_thread *dap_client_thread(const struct dap_client *client, int64_t id)
{
    return find_thread(client, id);
}

int dap_client_threads(struct dap_client *client, const struct dap_client_thread **threads,
                       size_t *count, struct err *err)
{
    struct reply reply;
    if (dap_client_request(client, "threads", NULL, &reply, err) != 0)
        return -1;
    size_t cursor = 0;
    struct json list = json_get(reply.body, "threads"), element;
    while (json_each(list, &cursor, &element)) {
        int64_t id = json_integer(element, "id", -1);
        bool fresh = !find_thread(client, id);
        struct dap_client_thread *thread = need_thread(client, id);
        if (fresh)
            thread->stopped = thread->fresh = client->all_stopped;
        free(thread->name);
        thread->name = json_string(element, "name");
    }
    reply_clear(&reply);
    client->all_stopped = false;
    *threads = client->threads;
    *count = client->thread_count;
    return 0;
}

bool dap_client_knows_all(const struct dap_client *client)
{
    return !client->all_stopped;
}

const struct dap_client_thread *dap_client_known(const struct dap_client *client, size_t *count)
{
    *count = client->thread_count;
    return client->threads;
}
