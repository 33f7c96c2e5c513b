#include "relay/evidence/process_look.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "relay/evidence/evidence.h"
#include "relay/evidence/profiling_switch.h"

#include <stdlib.h>

struct process_look {
    uint32_t magic;
    struct cluster *cluster;
    struct process_look_question question;
    char *name, *node; /* the question's */
    const struct process_look_calls *calls;
    void *arg;
    struct evidence *evidence;
    struct profiling_switch *profiling;
    struct stack_processes processes;
    struct process_stack *items; /* one for each of them */
    struct process_stacks *asked;
    struct process_look_answer answer;
    int64_t began_us;
};
INVARIANT_MAGIC(process_look, 0x8697ca55)
#define process_look_checked(object) process_look_checked_at(INVARIANT_HERE, object)

static void say_step(const struct process_look *look, const char *note)
{
    if (look->calls->on_step)
        look->calls->on_step(look->arg, note);
}

static size_t count_nodes(const struct process_look *look)
{
    size_t count = 0;
    for (size_t i = 0; i < look->processes.count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = look->items[k].node == look->items[i].node;
        count += !seen;
    }
    return count;
}

static void on_texts(void *arg)
{
    struct process_look *look = process_look_checked(arg);
    look->answer.took_us = loop_now_us() - look->began_us;
    look->calls->on_end(look->arg, NULL, &look->answer);
}

static void say_asking(const struct process_look *look)
{
    const struct process_stacks_question *stacks = &look->question.stacks;
    size_t count = look->processes.count;
    const char *plural = count == 1 ? "" : "es";
    char *note =
        stacks->memory ? mem_format("memray is in the process for %u s; to attach it "
                                    "and to draw takes half a minute more ...",
                                    stacks->seconds)
        : stacks->seconds
            ? mem_format("profiling %zu process%s, %u s each ...", count, plural, stacks->seconds)
            : mem_format("reading the stacks of %zu process%s ...", count, plural);
    say_step(look, note);
    free(note);
}

static void on_switch(void *arg, const struct err *err)
{
    struct process_look *look = process_look_checked(arg);
    size_t count = look->processes.count;
    if (err) {
        look->calls->on_end(look->arg, err, NULL);
        return;
    }
    say_asking(look);
    look->items = mem_array(count, sizeof *look->items);
    for (size_t i = 0; i < count; i++) {
        look->items[i].worker = look->processes.items[i];
        look->items[i].node =
            why_records_node(look->answer.records, look->items[i].worker->node_id);
    }
    look->answer.items = look->items;
    look->answer.count = count;
    look->answer.nodes = count_nodes(look);
    look->answer.idle = look->processes.idle;
    look->asked = process_stacks_ask(look->cluster, look->items, count, &look->question.stacks,
                                     on_texts, look);
}

static int find_processes(struct process_look *look, struct err *err)
{
    const struct stack_select *select = &look->question.select;
    if (stack_processes_find(look->answer.records, select, &look->processes, err) != 0)
        return -1;
    if (!look->question.one || look->processes.count == 1)
        return 0;
    err_set(err, ERR_NOT_FOUND, "%s means %zu processes, not one", select->name,
            look->processes.count);
    return err_hint(err, "give one as PID@NODE; raydbg stack %s shows them", select->name);
}

static void on_evidence(void *arg, const struct err *problem, const struct why_records *records,
                        const struct why_subject *subject)
{
    struct process_look *look = process_look_checked(arg);
    struct err err;
    (void)subject;
    look->answer.records = records;
    if (!problem && find_processes(look, &err) != 0)
        problem = &err;
    if (problem) {
        look->calls->on_end(look->arg, problem, NULL);
        return;
    }
    say_step(look, "asking whether stacks and profiles are allowed ...");
    look->profiling = profiling_switch_ask(look->cluster, on_switch, look);
}

struct process_look *process_look_ask(struct cluster *cluster,
                                      const struct process_look_question *question,
                                      const struct process_look_calls *calls, void *arg,
                                      struct err *err)
{
    static const struct evidence_question asked = {.tables_only = true};
    struct process_look *look = mem_alloc(sizeof *look);
    *look = (struct process_look){
        .cluster = cluster,
        .question = *question,
        .name = mem_string(question->select.name),
        .node = mem_string(question->select.node),
        .calls = calls,
        .arg = arg,
        .began_us = loop_now_us(),
    };
    process_look_set_magic(look);
    look->question.select.name = look->name;
    look->question.select.node = look->node;
    look->evidence = evidence_ask(cluster, &asked, on_evidence, look, err);
    if (!look->evidence)
        process_look_free(&look);
    else
        say_step(look, "asking the cluster for its processes ...");
    return look;
}

void process_look_free(struct process_look **look)
{
    struct process_look *it = *look;
    if (!it)
        return;
    *look = NULL;
    process_stacks_free(&it->asked);
    for (size_t i = 0; it->items && i < it->processes.count; i++)
        process_stack_clear(&it->items[i]);
    free(it->items);
    free(it->processes.items);
    profiling_switch_free(&it->profiling);
    evidence_free(&it->evidence);
    free(it->name);
    free(it->node);
    process_look_clear_magic(it);
    free(it);
}

bool process_look_is_asking(const struct process_look *look)
{
    return look->asked != NULL;
}

void process_look_head(const struct process_look_answer *answer, const char *done, struct buf *out)
{
    buf_printf(out, "%zu process%s on %zu node%s%s", answer->count, answer->count == 1 ? "" : "es",
               answer->nodes, answer->nodes == 1 ? "" : "s", done);
    if (answer->idle)
        buf_printf(out, "; idle ones left out: %zu (--all)", answer->idle);
    buf_add_string(out, "\n");
}
