#include "relay/evidence/process_stacks.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/ray_source.h"
#include "relay/evidence/node_agent.h"

#include <stdlib.h>

/* py-spy takes some 100 ms of a core for stacks, a second with native frames, and some percent of a
 * core for a profile. */
enum { DEADLINE_MS = 30000 };

struct agent_request {
    struct process_stacks *stacks;
    struct process_stack *item;
    struct node_agent *search;
    bool begun;
};

struct process_stacks {
    struct cluster *cluster;
    struct agent_client *agents;
    struct agent_request *requests;
    size_t count, left;
    struct process_stacks_query query;
    process_stacks_fn fn;
    void *arg;
    struct timer *start;
};

void process_stack_clear(struct process_stack *item)
{
    free(item->text);
    free(item->problem);
    free(item->warning);
    *item = (struct process_stack){0};
}

void process_stacks_free(struct process_stacks **stacks)
{
    struct process_stacks *it = *stacks;
    if (!it)
        return;
    *stacks = NULL;
    timer_cancel(&it->start);
    for (size_t i = 0; i < it->count; i++)
        node_agent_cancel(&it->requests[i].search);
    agent_client_destroy(&it->agents);
    free(it->requests);
    free(it);
}

static void begin_next(struct process_stacks *stacks, const struct ray_node *node);

/* The next process of the same node takes this one's place. */
static void answered(struct agent_request *request)
{
    struct process_stacks *stacks = request->stacks;
    stacks->left--;
    begin_next(stacks, request->item->node);
}

/* The one place that ends the sweep: `fn` may free it. */
static void tell_if_done(struct process_stacks *stacks)
{
    if (!stacks->left)
        stacks->fn(stacks->arg);
}

static void on_stack(void *arg, const struct err *err, const char *text, const char *warning)
{
    struct agent_request *request = arg;
    struct process_stacks *stacks = request->stacks;
    if (err)
        request->item->problem = mem_string(*err->why ? err->why : err->what);
    else
        request->item->text = mem_string(text);
    request->item->warning = text_empty(warning) ? NULL : mem_string(warning);
    answered(request);
    tell_if_done(stacks);
}

static void ask_agent(struct agent_request *request, const char *address)
{
    const struct process_stacks *stacks = request->stacks;
    const struct process_stacks_query *query = &stacks->query;
    const struct agent_profile profile = {.pid = request->item->worker->pid,
                                          .seconds = query->seconds,
                                          .native = query->native,
                                          .idle = query->idle,
                                          .memory = query->memory};
    if (query->seconds)
        agent_client_profile(stacks->agents, address, &profile, on_stack, request);
    else
        agent_client_stack(stacks->agents, address, profile.pid, profile.native, on_stack, request);
}

static void on_agent(void *arg, const struct err *err, const char *address)
{
    struct agent_request *request = arg;
    struct process_stacks *stacks = request->stacks;
    bool searched = request->search != NULL; /* else it runs from within begin() */
    request->search = NULL;
    if (!err) {
        ask_agent(request, address);
        return;
    }
    request->item->problem = mem_string(err->what);
    answered(request);
    if (searched)
        tell_if_done(stacks);
}

static void begin(struct agent_request *request)
{
    request->begun = true;
    struct node_agent *search = node_agent_find(request->stacks->cluster, request->item->node,
                                                "its stacks", on_agent, request);
    if (search)
        request->search = search;
}

static void begin_next(struct process_stacks *stacks, const struct ray_node *node)
{
    for (size_t i = 0; i < stacks->count; i++) {
        if (!stacks->requests[i].begun && stacks->requests[i].item->node == node) {
            begin(&stacks->requests[i]);
            return;
        }
    }
}

static void on_start(void *arg)
{
    struct process_stacks *stacks = arg;
    size_t most = stacks->query.seconds ? PROCESS_PROFILES_AT_A_TIME : PROCESS_STACKS_AT_A_TIME;
    stacks->start = NULL;
    for (size_t i = 0; i < stacks->count; i++) {
        size_t begun = 0;
        for (size_t k = 0; k < i; k++)
            begun += stacks->requests[k].begun &&
                     stacks->requests[k].item->node == stacks->requests[i].item->node;
        if (!stacks->requests[i].begun && begun < most)
            begin(&stacks->requests[i]);
    }
    tell_if_done(stacks);
}

struct process_stacks *process_stacks_ask(struct cluster *cluster, struct process_stack *items,
                                          size_t count, const struct process_stacks_query *query,
                                          process_stacks_fn fn, void *arg)
{
    struct process_stacks *stacks = mem_alloc(sizeof *stacks);
    *stacks = (struct process_stacks){
        .cluster = cluster,
        .agents = agent_client_create(ray_source_rpc(cluster_source(cluster)), DEADLINE_MS),
        .requests = mem_array(count, sizeof *stacks->requests),
        .count = count,
        .left = count,
        .query = *query,
        .fn = fn,
        .arg = arg};
    for (size_t i = 0; i < count; i++)
        stacks->requests[i] = (struct agent_request){.stacks = stacks, .item = &items[i]};
    stacks->start = timer_start(cluster_loop(cluster), 0, on_start, stacks);
    return stacks;
}
