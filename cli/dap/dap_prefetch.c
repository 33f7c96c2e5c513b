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
    struct dap_prefetch *prefetch = mem_alloc(sizeof *prefetch);
    prefetch->loop = loop;
    prefetch->ops = ops;
    prefetch->arg = arg;
    return prefetch;
}

static void entry_free(struct entry *entry)
{
    free(entry->arguments);
    free(entry->response);
    free(entry->request);
    free(entry);
}

void dap_prefetch_destroy(struct dap_prefetch **prefetch)
{
    struct dap_prefetch *it = *prefetch;
    if (!it)
        return;
    *prefetch = NULL;
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

static void tell_used(struct dap_prefetch *prefetch)
{
    struct buf body = {0}, event = {0};
    if (!prefetch->used.len)
        return;
    buf_printf(&body, "{\"batch\":%" PRId64 ",\"used\":[%s]}", prefetch->batch,
               prefetch->used.data + 1);
    message_event(&event, 0, "raydbg/prefetch", body.data);
    buf_clear(&prefetch->used, SIZE_MAX);
    prefetch->ops->tell(prefetch->arg, event.data, event.len);
    buf_free(&body);
    buf_free(&event);
}

/* Frees the entry; a request that waits for it goes to the relay. */
static void let_go(struct dap_prefetch *prefetch, struct entry *entry)
{
    if (entry->request)
        prefetch->ops->release(prefetch->arg, entry->request, entry->request_len);
    entry_free(entry);
}

static void drop(struct dap_prefetch *prefetch, const char *why)
{
    struct entry *entries = prefetch->entries;
    timer_cancel(&prefetch->tired);
    if (entries)
        log_debug("%zu prefetched answers are dropped: %s", prefetch->count, why);
    prefetch->entries = NULL;
    prefetch->count = prefetch->bytes = 0;
    tell_used(prefetch);
    prefetch->batch = 0;
    while (entries) {
        struct entry *entry = entries;
        entries = entry->next;
        let_go(prefetch, entry);
    }
}

static void on_tired(void *arg)
{
    struct dap_prefetch *prefetch = arg;
    prefetch->tired = NULL;
    drop(prefetch, "one does not come");
}

void dap_prefetch_restart(struct dap_prefetch *prefetch)
{
    buf_clear(&prefetch->used, 0);
    drop(prefetch, "the relay is gone");
    prefetch->said = prefetch->latest = 0;
    prefetch->before_stop = false;
}

/* --- from the client --- */

static bool is_it(const struct dap_prefetch *prefetch, const struct entry *entry, const char *json,
                  const struct envelope *request)
{
    const char *arguments = entry->arguments ? entry->arguments : "";
    bool fresh = loop_now_us() - entry->asked_us <= prefetch->ops->fresh_ms * 1000;
    return !entry->request && fresh && text_equal(entry->command, request->name) &&
           same_value(arguments, (struct span){0, strlen(arguments)}, json, request->arguments);
}

static struct entry **find_request(struct dap_prefetch *prefetch, const char *json,
                                   const struct envelope *request)
{
    struct entry **at = &prefetch->entries;
    while (*at && !is_it(prefetch, *at, json, request))
        at = &(*at)->next;
    return at;
}

static struct entry **find_id(struct dap_prefetch *prefetch, int64_t id)
{
    struct entry **at = &prefetch->entries;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static struct entry *take(struct dap_prefetch *prefetch, struct entry **at)
{
    struct entry *entry = *at;
    *at = entry->next;
    prefetch->count--;
    return entry;
}

static void answer(struct dap_prefetch *prefetch, struct entry *entry, int64_t request_seq)
{
    log_debug("%s has a prefetched answer", entry->command);
    buf_printf(&prefetch->used, ",%" PRId64, entry->id);
    prefetch->ops->answer(prefetch->arg, entry->response, entry->response_len, request_seq);
    entry_free(entry);
}

bool dap_prefetch_takes(struct dap_prefetch *prefetch, const char *json, size_t len,
                        const struct envelope *request)
{
    if (!dap_command_is(request->name, DAP_COMMAND_READS)) {
        drop(prefetch, request->name);
        return false;
    }
    struct entry **at = find_request(prefetch, json, request);
    if (!*at)
        return false;
    if ((*at)->response) {
        answer(prefetch, take(prefetch, at), request->seq);
    } else {
        (*at)->request = mem_string_n(json, len);
        (*at)->request_len = len;
        (*at)->request_seq = request->seq;
        if (!prefetch->tired)
            prefetch->tired =
                timer_start(prefetch->loop, prefetch->ops->patience_ms, on_tired, prefetch);
    }
    return true;
}

void dap_prefetch_sent(struct dap_prefetch *prefetch, const struct envelope *request)
{
    prefetch->said += !dap_command_is(request->name, DAP_COMMAND_READS);
}

/* --- from the relay --- */

static void add(struct dap_prefetch *prefetch, const char *json, struct span item)
{
    struct span command, arguments;
    int64_t id;
    if (prefetch->count == ENTRIES || !scan_integer_at(json, item, "id", &id) ||
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
    entry->next = prefetch->entries;
    prefetch->entries = entry;
    prefetch->count++;
}

static void on_asks(struct dap_prefetch *prefetch, const char *json, const struct envelope *event,
                    int64_t batch, struct span asks)
{
    struct span item;
    int64_t heard;
    size_t cursor = 0;
    if (!scan_integer_at(json, event->body, "heard", &heard) || heard != prefetch->said) {
        log_debug(
            "prefetched requests are not noted: the relay has not received all that was sent");
        return;
    }
    if (batch != prefetch->batch && batch <= prefetch->latest) {
        log_debug("prefetched requests are not noted: their batch was dropped");
        return;
    }
    if (batch != prefetch->batch) {
        drop(prefetch, "another stop");
        prefetch->batch = prefetch->latest = batch;
        prefetch->before_stop = true;
    }
    while (scan_element(json, asks, &cursor, &item))
        add(prefetch, json, item);
}

static void on_answer(struct dap_prefetch *prefetch, const char *json, const struct envelope *event,
                      int64_t id)
{
    struct span response;
    struct entry **at = find_id(prefetch, id);
    if (!*at || (*at)->response)
        return;
    if (!scan_find(json, event->body, "response", &response) ||
        prefetch->bytes + response.len > BYTES) {
        log_debug("the answer to %s is not prefetched: it failed or is too large", (*at)->command);
        let_go(prefetch, take(prefetch, at));
        return;
    }
    struct entry *entry = *at;
    entry->response = mem_string_n(json + response.at, response.len);
    entry->response_len = response.len;
    prefetch->bytes += response.len;
    log_debug("the answer to %s has been prefetched", entry->command);
    if (entry->request)
        answer(prefetch, take(prefetch, at), entry->request_seq);
}

static void on_word(struct dap_prefetch *prefetch, const char *json, const struct envelope *event)
{
    struct span at;
    int64_t batch, id;
    if (!event->body.len || !scan_integer_at(json, event->body, "batch", &batch))
        return;
    if (scan_find(json, event->body, "asks", &at) && json[at.at] == '[')
        on_asks(prefetch, json, event, batch, at);
    else if (batch == prefetch->batch && scan_integer_at(json, event->body, "id", &id))
        on_answer(prefetch, json, event, id);
    else if (batch == prefetch->batch)
        drop(prefetch, "somebody else changes something");
}

bool dap_prefetch_event(struct dap_prefetch *prefetch, const char *json,
                        const struct envelope *event)
{
    if (text_equal(event->name, "raydbg/prefetch")) {
        on_word(prefetch, json, event);
        return true;
    }
    bool its_own = prefetch->before_stop && text_equal(event->name, "stopped");
    prefetch->before_stop = false;
    if (!its_own && reads_end_with(event->name))
        drop(prefetch, event->name);
    return false;
}
