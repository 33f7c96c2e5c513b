#include "relay/evidence/process_request.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "relay/evidence/evidence.h"
#include "relay/evidence/profiling_switch.h"

#include <stdlib.h>

struct process_request {
    uint32_t magic;
    struct cluster *cluster;
    struct process_query query;
    char *name, *node; /* the query's */
    const struct process_request_calls *calls;
    void *arg;
    struct evidence *evidence;
    struct profiling_switch *profiling;
    struct stack_processes processes;
    struct process_stack *items; /* one for each of them */
    struct process_stacks *asked;
    struct process_answer answer;
    int64_t began_us;
};
INVARIANT_MAGIC(process_request, 0x8697ca55)
#define process_request_checked(object) process_request_checked_at(INVARIANT_HERE, object)

static void say_step(const struct process_request *request, const char *note)
{
    if (request->calls->on_step)
        request->calls->on_step(request->arg, note);
}

static size_t count_nodes(const struct process_request *request)
{
    size_t count = 0;
    for (size_t i = 0; i < request->processes.count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = request->items[k].node == request->items[i].node;
        count += !seen;
    }
    return count;
}

static void on_texts(void *arg)
{
    struct process_request *request = process_request_checked(arg);
    request->answer.took_us = loop_now_us() - request->began_us;
    request->calls->on_end(request->arg, NULL, &request->answer);
}

static void say_sent(const struct process_request *request)
{
    const struct process_stacks_query *stacks = &request->query.stacks;
    size_t count = request->processes.count;
    const char *plural = count == 1 ? "" : "es";
    char *note =
        stacks->memory ? mem_format("memray is in the process for %u s; to attach it "
                                    "and to draw takes half a minute more ...",
                                    stacks->seconds)
        : stacks->seconds
            ? mem_format("profiling %zu process%s, %u s each ...", count, plural, stacks->seconds)
            : mem_format("reading the stacks of %zu process%s ...", count, plural);
    say_step(request, note);
    free(note);
}

static void on_switch(void *arg, const struct err *err)
{
    struct process_request *request = process_request_checked(arg);
    size_t count = request->processes.count;
    if (err) {
        request->calls->on_end(request->arg, err, NULL);
        return;
    }
    say_sent(request);
    request->items = mem_array(count, sizeof *request->items);
    for (size_t i = 0; i < count; i++) {
        request->items[i].worker = request->processes.items[i];
        request->items[i].node =
            why_records_node(request->answer.records, request->items[i].worker->node_id);
    }
    request->answer.items = request->items;
    request->answer.count = count;
    request->answer.nodes = count_nodes(request);
    request->answer.idle = request->processes.idle;
    request->asked = process_stacks_ask(request->cluster, request->items, count,
                                        &request->query.stacks, on_texts, request);
}

static int find_processes(struct process_request *request, struct err *err)
{
    const struct stack_select *select = &request->query.select;
    if (stack_processes_find(request->answer.records, select, &request->processes, err) != 0)
        return -1;
    if (!request->query.one || request->processes.count == 1)
        return 0;
    err_set(err, ERR_NOT_FOUND, "%s means %zu processes, not one", select->name,
            request->processes.count);
    return err_hint(err, "give one as PID@NODE; raydbg stack %s shows them", select->name);
}

static void on_evidence(void *arg, const struct err *problem, const struct why_records *records,
                        const struct why_subject *subject)
{
    struct process_request *request = process_request_checked(arg);
    struct err err;
    (void)subject;
    request->answer.records = records;
    if (!problem && find_processes(request, &err) != 0)
        problem = &err;
    if (problem) {
        request->calls->on_end(request->arg, problem, NULL);
        return;
    }
    say_step(request, "asking whether stacks and profiles are allowed ...");
    request->profiling = profiling_switch_ask(request->cluster, on_switch, request);
}

struct process_request *process_request_begin(struct cluster *cluster,
                                              const struct process_query *query,
                                              const struct process_request_calls *calls, void *arg,
                                              struct err *err)
{
    static const struct evidence_query asked = {.tables_only = true};
    struct process_request *request = mem_alloc(sizeof *request);
    *request = (struct process_request){
        .cluster = cluster,
        .query = *query,
        .name = mem_string(query->select.name),
        .node = mem_string(query->select.node),
        .calls = calls,
        .arg = arg,
        .began_us = loop_now_us(),
    };
    process_request_set_magic(request);
    request->query.select.name = request->name;
    request->query.select.node = request->node;
    request->evidence = evidence_ask(cluster, &asked, on_evidence, request, err);
    if (!request->evidence)
        process_request_free(&request);
    else
        say_step(request, "asking the cluster for its processes ...");
    return request;
}

void process_request_free(struct process_request **request)
{
    struct process_request *it = *request;
    if (!it)
        return;
    *request = NULL;
    process_stacks_free(&it->asked);
    for (size_t i = 0; it->items && i < it->processes.count; i++)
        process_stack_clear(&it->items[i]);
    free(it->items);
    free(it->processes.items);
    profiling_switch_free(&it->profiling);
    evidence_free(&it->evidence);
    free(it->name);
    free(it->node);
    process_request_clear_magic(it);
    free(it);
}

bool process_request_is_sent(const struct process_request *request)
{
    return request->asked != NULL;
}

void process_answer_head(const struct process_answer *answer, const char *done, struct buf *out)
{
    buf_printf(out, "%zu process%s on %zu node%s%s", answer->count, answer->count == 1 ? "" : "es",
               answer->nodes, answer->nodes == 1 ? "" : "s", done);
    if (answer->idle)
        buf_printf(out, "; idle ones left out: %zu (--all)", answer->idle);
    buf_add_string(out, "\n");
}
