#include "relay/evidence/node_log.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/ray_source.h"
#include "relay/evidence/node_agent.h"

#include <stdlib.h>
#include <string.h>

/* SILENCE_MS ends a reading of which no bytes have come in this time, or in twice this time where
 * bytes came before. A reading as a whole has no limit: its callee may be a pager that waits for
 * its user. */
enum { DEADLINE_MS = 10000, SILENCE_MS = 10000 };

/* A request that waits for the address of its node's agent, or for the agent. */
struct node_log {
    struct node_log *next, **link;
    struct node_logs *logs;
    struct node_agent *search; /* NULL: it is over */
    char *address;             /* of the agent, once it is known */
    char *glob;                /* of a list; NULL of a reading */
    agent_list_fn listed;
    char *file; /* of a reading */
    struct agent_log_part part;
    const struct agent_log_calls *calls;
    void *arg;
    struct agent_log *reading;
    struct timer *silence; /* unless it follows */
    bool heard;            /* bytes have come since the timer's start */
    bool begun;            /* bytes have come */
    bool in_moved;         /* it looks in NODE_LOG_MOVED */
    struct err not_found;  /* of a reading there: why the file was not found before */
};

struct node_logs {
    struct cluster *cluster;
    struct agent_client *agents;
    struct node_log *requests;
};

struct node_logs *node_logs_create(struct cluster *cluster)
{
    struct node_logs *logs = mem_alloc(sizeof *logs);
    logs->cluster = cluster;
    logs->agents = agent_client_create(ray_source_rpc(cluster_source(cluster)), DEADLINE_MS);
    return logs;
}

static void request_free(struct node_log *request)
{
    timer_cancel(&request->silence);
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    free(request->address);
    free(request->glob);
    free(request->file);
    free(request);
}

void node_logs_destroy(struct node_logs **logs)
{
    struct node_logs *it = *logs;
    if (!it)
        return;
    *logs = NULL;
    for (struct node_log *request = it->requests, *next; request; request = next) {
        next = request->next;
        node_log_cancel(&request);
    }
    agent_client_destroy(&it->agents);
    free(it);
}

void node_log_cancel(struct node_log **log)
{
    struct node_log *it = *log;
    if (!it)
        return;
    *log = NULL;
    node_agent_cancel(&it->search);
    agent_client_forget(it->logs->agents, it);
    agent_log_cancel(&it->reading);
    request_free(it);
}

/* --- answers --- */

static void fail(struct node_log *request, const struct err *err)
{
    agent_list_fn listed = request->glob ? request->listed : NULL;
    const struct agent_log_calls *calls = request->calls;
    void *arg = request->arg;
    request_free(request);
    if (listed)
        listed(arg, err, NULL, 0);
    else
        calls->end(arg, err);
}

static void ask_agent(struct node_log *request);
static void listen_on(struct node_log *request);

static void on_list(void *arg, const struct err *err, char *const *names, size_t count)
{
    struct node_log *request = arg;
    agent_list_fn listed = request->listed;
    void *whose = request->arg;
    request_free(request);
    listed(whose, err, names, count);
}

static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct node_log *request = arg;
    request->begun = request->heard = true;
    request->calls->bytes(request->arg, bytes, len);
}

static bool read_moved(struct node_log *request, const struct err *err)
{
    const char *name = text_basename(request->file);
    if (request->in_moved || request->begun || err->code != ERR_NOT_FOUND ||
        !text_starts(name, "worker-"))
        return false;
    request->in_moved = true;
    request->not_found = *err;
    char *file =
        mem_format("%.*s" NODE_LOG_MOVED "%s", (int)(name - request->file), request->file, name);
    free(request->file);
    request->part.file = request->file = file;
    ask_agent(request);
    return true;
}

static void on_end(void *arg, const struct err *err)
{
    struct node_log *request = arg;
    const struct agent_log_calls *calls = request->calls;
    void *whose = request->arg;
    request->reading = NULL;
    if (err && read_moved(request, err))
        return;
    struct err why = err && request->in_moved ? request->not_found : err ? *err : (struct err){0};
    request_free(request);
    calls->end(whose, err ? &why : NULL);
}

/* --- asking --- */

/* Bytes that wait behind a callee that took long are seen in the next turn. */
static void on_silence(void *arg)
{
    struct node_log *request = arg;
    request->silence = NULL;
    if (request->heard) {
        listen_on(request);
        return;
    }
    struct err err;
    err_set(&err, ERR_UNREACHABLE, "no answer from %s within %d s", request->address,
            SILENCE_MS / 1000);
    err_why(&err, "it is busy, or the way to it is cut");
    agent_log_cancel(&request->reading);
    fail(request, &err);
}

static void listen_on(struct node_log *request)
{
    request->heard = false;
    timer_cancel(&request->silence);
    if (!request->part.follow)
        request->silence =
            timer_start(cluster_loop(request->logs->cluster), SILENCE_MS, on_silence, request);
}

static void ask_agent(struct node_log *request)
{
    static const struct agent_log_calls calls = {on_bytes, on_end};
    struct agent_client *agents = request->logs->agents;
    if (request->glob) {
        agent_client_list(agents, request->address, request->glob, on_list, request);
        return;
    }
    request->reading = agent_client_read(agents, request->address, &request->part, &calls, request);
    listen_on(request);
}

static void on_agent(void *arg, const struct err *err, const char *address)
{
    struct node_log *request = arg;
    request->search = NULL;
    if (err) {
        fail(request, err);
        return;
    }
    request->address = mem_string(address);
    ask_agent(request);
}

static struct node_log *request_new(struct node_logs *logs, void *arg)
{
    struct node_log *request = mem_alloc(sizeof *request);
    *request = (struct node_log){
        .next = logs->requests, .link = &logs->requests, .logs = logs, .arg = arg};
    if (request->next)
        request->next->link = &request->next;
    logs->requests = request;
    return request;
}

/* False if the node is dead: the request has failed, and is gone. */
static bool start(struct node_log *request, const struct ray_node *node)
{
    bool alive = node->is_alive;
    struct node_agent *search =
        node_agent_find(request->logs->cluster, node, "its logs", on_agent, request);
    if (search)
        request->search = search;
    return alive;
}

void node_logs_list(struct node_logs *logs, const struct ray_node *node, const char *glob,
                    agent_list_fn fn, void *arg)
{
    struct node_log *request = request_new(logs, arg);
    request->glob = mem_string(glob);
    request->listed = fn;
    start(request, node);
}

struct node_log *node_logs_read(struct node_logs *logs, const struct ray_node *node,
                                const struct agent_log_part *part,
                                const struct agent_log_calls *calls, void *arg)
{
    struct node_log *request = request_new(logs, arg);
    request->file = mem_string(part->file);
    request->part = *part;
    request->part.file = request->file;
    request->calls = calls;
    return start(request, node) ? request : NULL;
}
