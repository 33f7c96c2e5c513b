#include "relay/evidence/stack_request.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

struct stack_request {
    const struct stack_request_calls *calls;
    void *arg;
    bool full;
    struct process_request *request;
    struct stack_answer answer;
};

static void on_step(void *arg, const char *note)
{
    const struct stack_request *request = arg;
    if (request->calls->on_step)
        request->calls->on_step(request->arg, note);
}

static void on_end(void *arg, const struct err *problem, const struct process_answer *found)
{
    struct stack_request *request = arg;
    struct err err;
    if (problem) {
        request->calls->on_end(request->arg, problem, NULL);
        return;
    }
    struct live_stacks *stacks = live_stacks_create(found->records, request->full);
    request->answer = (struct stack_answer){stacks, found};
    for (size_t i = 0; i < found->count; i++)
        live_stacks_add(stacks, found->items[i].worker, found->items[i].text,
                        found->items[i].problem);
    bool failed = found->count && !live_stacks_read(stacks);
    if (failed)
        live_stacks_problem(stacks, &err);
    request->calls->on_end(request->arg, failed ? &err : NULL, &request->answer);
}

struct stack_request *stack_request_begin(struct cluster *cluster, const struct stack_query *query,
                                          const struct stack_request_calls *calls, void *arg,
                                          struct err *err)
{
    static const struct process_request_calls request_calls = {on_step, on_end};
    const struct process_query asked = {.select = query->select,
                                        .stacks = {.native = query->native}};
    struct stack_request *request = mem_alloc(sizeof *request);
    *request = (struct stack_request){.calls = calls, .arg = arg, .full = query->full};
    request->request = process_request_begin(cluster, &asked, &request_calls, request, err);
    if (!request->request)
        stack_request_free(&request);
    return request;
}

void stack_request_free(struct stack_request **request)
{
    struct stack_request *it = *request;
    if (!it)
        return;
    *request = NULL;
    live_stacks_destroy(&it->answer.stacks);
    process_request_free(&it->request);
    free(it);
}

void stack_answer_text(const struct stack_answer *answer, struct buf *out)
{
    char done[40];
    snprintf(done, sizeof done, ", read in %.1f s", (double)answer->processes->took_us / 1e6);
    process_answer_head(answer->processes, done, out);
    live_stacks_text(answer->stacks, out);
}
