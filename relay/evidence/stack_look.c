#include "relay/evidence/stack_look.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

struct stack_look {
    const struct stack_look_calls *calls;
    void *arg;
    bool full;
    struct process_look *look;
    struct stack_look_answer answer;
};

static void on_step(void *arg, const char *note)
{
    const struct stack_look *look = arg;
    if (look->calls->on_step)
        look->calls->on_step(look->arg, note);
}

static void on_end(void *arg, const struct err *problem, const struct process_look_answer *found)
{
    struct stack_look *look = arg;
    struct err err;
    if (problem) {
        look->calls->on_end(look->arg, problem, NULL);
        return;
    }
    struct live_stacks *stacks = live_stacks_create(found->records, look->full);
    look->answer = (struct stack_look_answer){stacks, found};
    for (size_t i = 0; i < found->count; i++)
        live_stacks_add(stacks, found->items[i].worker, found->items[i].text,
                        found->items[i].problem);
    bool failed = found->count && !live_stacks_read(stacks);
    if (failed)
        live_stacks_problem(stacks, &err);
    look->calls->on_end(look->arg, failed ? &err : NULL, &look->answer);
}

struct stack_look *stack_look_ask(struct cluster *cluster,
                                  const struct stack_look_question *question,
                                  const struct stack_look_calls *calls, void *arg, struct err *err)
{
    static const struct process_look_calls look_calls = {on_step, on_end};
    const struct process_look_question asked = {.select = question->select,
                                                .stacks = {.native = question->native}};
    struct stack_look *look = mem_alloc(sizeof *look);
    *look = (struct stack_look){.calls = calls, .arg = arg, .full = question->full};
    look->look = process_look_ask(cluster, &asked, &look_calls, look, err);
    if (!look->look)
        stack_look_free(&look);
    return look;
}

void stack_look_free(struct stack_look **look)
{
    struct stack_look *it = *look;
    if (!it)
        return;
    *look = NULL;
    live_stacks_destroy(&it->answer.stacks);
    process_look_free(&it->look);
    free(it);
}

void stack_look_text(const struct stack_look_answer *answer, struct buf *out)
{
    char done[40];
    snprintf(done, sizeof done, ", read in %.1f s", (double)answer->processes->took_us / 1e6);
    process_look_head(answer->processes, done, out);
    live_stacks_text(answer->stacks, out);
}
