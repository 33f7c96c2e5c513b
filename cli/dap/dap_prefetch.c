#include "cli/dap/dap_prefetch.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/message.h"
#include "dap/reads.h"
#include "dap/same.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A relay that keeps its own limits stays below these. */
enum { ENTRIES = 64, BYTES = 1024 * 1024 };

/* A request that the relay prefetches. */
struct entry {
    struct entry *next;
    int64_t id;
    char command[DAP_NAME_MAX];
    char *arguments; /* JSON, or NULL for none */
    char *response;  /* the whole message; NULL while it is on its way */
    size_t response_len;
    char *request; /* the client's own, which waits for it; or NULL */
    size_t request_len;
    int64_t request_seq;
    int64_t asked_us; /* when the relay announced it */
};

struct dap_prefetch {
    struct loop *loop;
    const struct dap_prefetch_ops *ops;
    void *arg;
    struct entry *entries;
    size_t count, bytes;
    struct buf used;     /* ids of used answers, with a comma before each */
    struct timer *tired; /* fires when a request has waited too long */
    int64_t batch;       /* of the entries; 0: none is valid */
    int64_t latest;      /* the latest batch so far */
    int64_t said;        /* number of requests on this connection that may change something */
    bool before_stop;    /* the batch was announced, its stop was not */
};

struct dap_prefetch *dap_prefetch_create(struct loop *loop, const struct dap_prefetch_ops *ops,
                                         void *arg)
{
    struct dap_prefetch *ahead = mem_alloc(sizeof *ahead);
    ahead->loop = loop;
    ahead->ops = ops;
    ahead->arg = arg;
    return ahead;
}

static void entry_free(struct entry *entry)
{
    free(entry->arguments);
    free(entry->response);
    free(entry->request);
    free(entry);
}

void dap_prefetch_destroy(struct dap_prefetch **ahead)
{
    struct dap_prefetch *it = *ahead;
    if (!it)
        return;
    *ahead = NULL;
    timer_cancel(&it->tired);
    while (it->entries) {
        struct entry *entry = it->entries;
        it->entries = entry->next;
        entry_free(entry);
    }
    buf_free(&it->used);
    free(it);
}

/* --- the end of a batch --- */

static void tell_used(struct dap_prefetch *ahead)
{
    struct buf body = {0}, event = {0};
    if (!ahead->used.len)
        return;
    buf_printf(&body, "{\"batch\":%" PRId64 ",\"used\":[%s]}", ahead->batch, ahead->used.data + 1);
    message_event(&event, 0, "raydbg/ahead", body.data);
    buf_clear(&ahead->used, SIZE_MAX);
    ahead->ops->tell(ahead->arg, event.data, event.len);
    buf_free(&body);
    buf_free(&event);
}

/* Frees the entry; a request that waits for it goes to the relay. */
static void let_go(struct dap_prefetch *ahead, struct entry *entry)
{
    if (entry->request)
        ahead->ops->release(ahead->arg, entry->request, entry->request_len);
    entry_free(entry);
}

static void drop(struct dap_prefetch *ahead, const char *why)
{
    struct entry *entries = ahead->entries;
    timer_cancel(&ahead->tired);
    if (entries)
        log_debug("%zu answers ahead are dropped: %s", ahead->count, why);
    ahead->entries = NULL;
    ahead->count = ahead->bytes = 0;
    tell_used(ahead);
    ahead->batch = 0;
    while (entries) {
        struct entry *entry = entries;
        entries = entry->next;
        let_go(ahead, entry);
    }
}

static void on_tired(void *arg)
{
    struct dap_prefetch *ahead = arg;
    ahead->tired = NULL;
    drop(ahead, "one does not come");
}

void dap_prefetch_restart(struct dap_prefetch *ahead)
{
    buf_clear(&ahead->used, 0);
    drop(ahead, "the relay is gone");
    ahead->said = ahead->latest = 0;
    ahead->before_stop = false;
}

/* --- from the client --- */

static bool is_it(const struct dap_prefetch *ahead, const struct entry *entry, const char *json,
                  const struct envelope *request)
{
    const char *arguments = entry->arguments ? entry->arguments : "";
    bool fresh = loop_now_us() - entry->asked_us <= ahead->ops->fresh_ms * 1000;
    return !entry->request && fresh && text_equal(entry->command, request->name) &&
           same_value(arguments, (struct span){0, strlen(arguments)}, json, request->arguments);
}

static struct entry **find_request(struct dap_prefetch *ahead, const char *json,
                                   const struct envelope *request)
{
    struct entry **at = &ahead->entries;
    while (*at && !is_it(ahead, *at, json, request))
        at = &(*at)->next;
    return at;
}

static struct entry **find_id(struct dap_prefetch *ahead, int64_t id)
{
    struct entry **at = &ahead->entries;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static struct entry *take(struct dap_prefetch *ahead, struct entry **at)
{
    struct entry *entry = *at;
    *at = entry->next;
    ahead->count--;
    return entry;
}

static void answer(struct dap_prefetch *ahead, struct entry *entry, int64_t request_seq)
{
    log_debug("%s is answered ahead", entry->command);
    buf_printf(&ahead->used, ",%" PRId64, entry->id);
    ahead->ops->answer(ahead->arg, entry->response, entry->response_len, request_seq);
    entry_free(entry);
}

bool dap_prefetch_takes(struct dap_prefetch *ahead, const char *json, size_t len,
                        const struct envelope *request)
{
    if (!dap_command_is(request->name, DAP_COMMAND_READS)) {
        drop(ahead, request->name);
        return false;
    }
    struct entry **at = find_request(ahead, json, request);
    if (!*at)
        return false;
    if ((*at)->response) {
        answer(ahead, take(ahead, at), request->seq);
    } else {
        (*at)->request = mem_string_n(json, len);
        (*at)->request_len = len;
        (*at)->request_seq = request->seq;
        if (!ahead->tired)
            ahead->tired = timer_start(ahead->loop, ahead->ops->patience_ms, on_tired, ahead);
    }
    return true;
}

void dap_prefetch_sent(struct dap_prefetch *ahead, const struct envelope *request)
{
    ahead->said += !dap_command_is(request->name, DAP_COMMAND_READS);
}

/* --- from the relay --- */

static void add(struct dap_prefetch *ahead, const char *json, struct span item)
{
    struct span command, arguments;
    int64_t id;
    if (ahead->count == ENTRIES || !scan_integer_at(json, item, "id", &id) ||
        !scan_find(json, item, "command", &command))
        return;
    char *name = scan_string(json, command);
    struct entry *entry = mem_alloc(sizeof *entry);
    entry->id = id;
    entry->asked_us = loop_now_us();
    text_copy(entry->command, sizeof entry->command, name ? name : "");
    if (scan_find(json, item, "arguments", &arguments))
        entry->arguments = mem_string_n(json + arguments.at, arguments.len);
    free(name);
    entry->next = ahead->entries;
    ahead->entries = entry;
    ahead->count++;
}

static void on_asks(struct dap_prefetch *ahead, const char *json, const struct envelope *event,
                    int64_t batch, struct span asks)
{
    struct span item;
    int64_t heard;
    size_t cursor = 0;
    if (!scan_integer_at(json, event->body, "heard", &heard) || heard != ahead->said) {
        log_debug("requests ahead are not noted: the relay has not received all that was sent");
        return;
    }
    if (batch != ahead->batch && batch <= ahead->latest) {
        log_debug("requests ahead are not noted: their batch was dropped");
        return;
    }
    if (batch != ahead->batch) {
        drop(ahead, "another stop");
        ahead->batch = ahead->latest = batch;
        ahead->before_stop = true;
    }
    while (scan_element(json, asks, &cursor, &item))
        add(ahead, json, item);
}

static void on_answer(struct dap_prefetch *ahead, const char *json, const struct envelope *event,
                      int64_t id)
{
    struct span response;
    struct entry **at = find_id(ahead, id);
    if (!*at || (*at)->response)
        return;
    if (!scan_find(json, event->body, "response", &response) ||
        ahead->bytes + response.len > BYTES) {
        log_debug("no answer to %s comes ahead: it failed or is too large", (*at)->command);
        let_go(ahead, take(ahead, at));
        return;
    }
    struct entry *entry = *at;
    entry->response = mem_string_n(json + response.at, response.len);
    entry->response_len = response.len;
    ahead->bytes += response.len;
    log_debug("the answer to %s has come ahead", entry->command);
    if (entry->request)
        answer(ahead, take(ahead, at), entry->request_seq);
}

static void on_word(struct dap_prefetch *ahead, const char *json, const struct envelope *event)
{
    struct span at;
    int64_t batch, id;
    if (!event->body.len || !scan_integer_at(json, event->body, "batch", &batch))
        return;
    if (scan_find(json, event->body, "asks", &at) && json[at.at] == '[')
        on_asks(ahead, json, event, batch, at);
    else if (batch == ahead->batch && scan_integer_at(json, event->body, "id", &id))
        on_answer(ahead, json, event, id);
    else if (batch == ahead->batch)
        drop(ahead, "somebody else changes something");
}

bool dap_prefetch_event(struct dap_prefetch *ahead, const char *json, const struct envelope *event)
{
    if (text_equal(event->name, "raydbg/ahead")) {
        on_word(ahead, json, event);
        return true;
    }
    bool its_own = ahead->before_stop && text_equal(event->name, "stopped");
    ahead->before_stop = false;
    if (!its_own && reads_end_with(event->name))
        drop(ahead, event->name);
    return false;
}
