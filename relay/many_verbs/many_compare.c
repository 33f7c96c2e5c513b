#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/many_verbs/many_verbs_state.h"
#include "relay/verbs/compare.h"
#include "relay/verbs/stack_tree.h"

#include <stdlib.h>
#include <string.h>

/* One question to many tasks; it is answered when all have answered, or their time is over. */
struct query {
    struct query *next;
    struct many_verbs *verbs;
    struct verbs_reply reply;
    enum verb_format format;
    struct compare *compare; /* either this or the tree */
    struct stack_tree *tree;
    size_t open; /* answers to come, and one more until all are asked */
};

enum { STACK_MS = 5000, RUNNING_MS = 1000, VALUE_MS = 5000 };

static void free_query(struct query *query)
{
    LIST_DROP(query->verbs->queries, query);
    request_drop(query->verbs, query);
    compare_destroy(&query->compare);
    stack_tree_destroy(&query->tree);
    free(query);
}

void query_drop(struct many_verbs *verbs)
{
    while (verbs->queries)
        free_query(verbs->queries);
}

/* Begins a question to the threads that the verb selects; NULL if that was refused. The caller asks
 * each of `count`, frees `ids`, and calls one_less() when all are asked. */
static struct query *begin(struct many_verbs *verbs, const struct verb *verb,
                           const struct verbs_reply *reply, int64_t **ids, size_t *count)
{
    struct err err = {0};
    if (verbs_select(verbs, verb->subject, ids, count, &err) != 0) {
        verbs_refuse(verbs, reply, &err);
        return NULL;
    }
    struct query *query = mem_alloc(sizeof *query);
    *query = (struct query){.next = verbs->queries,
                            .verbs = verbs,
                            .reply = *reply,
                            .format = verb->format,
                            .open = *count + 1};
    verbs->queries = query;
    return query;
}

static void write_text(struct query *query, struct buf *out)
{
    if (query->tree && query->format == VERB_JSON)
        stack_tree_json(query->tree, out);
    else if (query->tree)
        stack_tree_text(query->tree, out);
    else if (query->format == VERB_JSON)
        compare_json(query->compare, out);
    else if (query->format == VERB_CSV)
        compare_csv(query->compare, out);
    else
        compare_text(query->compare, out);
}

static void one_less(struct query *query)
{
    struct buf text = {0}, body = {0};
    if (--query->open)
        return;
    write_text(query, &text);
    if (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    if (query->tree)
        stack_tree_json(query->tree, &body);
    else
        compare_json(query->compare, &body);
    if (query->format != VERB_JSON) { /* the object, with the text that users read */
        body.len--;
        buf_add_string(&body, ",\"text\":");
        message_quote(&body, text.data);
        buf_add_string(&body, "}");
    }
    verbs_answer(query->verbs, &query->reply, text.data, body.data);
    buf_free(&text);
    buf_free(&body);
    free_query(query);
}

static bool find_member(const struct many_verbs *verbs, int64_t id, struct task_list_item *who)
{
    struct many_task *task;
    const struct many_thread *thread = many_thread_by_id(verbs->many, id, &task);
    *who = thread ? verbs_member(task, thread)
                  : (struct task_list_item){.thread = id, .rank = -1, .name = (char *)"a task"};
    return thread && thread->stopped;
}

/* Without a value, a thread that runs meanwhile counts as not asked. */
static void on_value(void *arg, const struct request_result *result)
{
    struct query *query = arg;
    struct task_list_item who;
    bool stopped = find_member(query->verbs, result->thread, &who);
    if (result->value)
        compare_add(query->compare, &who, COMPARE_VALUE, result->value, result->type);
    else
        compare_add(query->compare, &who, stopped ? COMPARE_ERROR : COMPARE_NOT_ASKED,
                    stopped ? result->problem : "running", NULL);
    one_less(query);
}

static void on_stack(void *arg, const struct request_result *result)
{
    struct query *query = arg;
    struct task_list_item who;
    bool stopped = find_member(query->verbs, result->thread, &who);
    if (result->json)
        stack_tree_add(query->tree, &who, !stopped, result->json, result->frames);
    else
        stack_tree_skip(query->tree, &who, result->problem);
    one_less(query);
}

void query_compare(struct many_verbs *verbs, const struct verb *verb,
                   const struct verbs_reply *reply)
{
    int64_t *ids;
    size_t count;
    struct query *query = begin(verbs, verb, reply, &ids, &count);
    if (!query)
        return;
    int64_t timeout_ms = verb->timeout_ms ? verb->timeout_ms : VALUE_MS;
    query->compare = compare_create(verb->expression);
    for (size_t i = 0; i < count; i++)
        request_value(verbs, ids[i], verb->expression, timeout_ms, on_value, query);
    free(ids);
    one_less(query);
}

static void ask_stack(struct query *query, int64_t id)
{
    struct task_list_item who;
    if (find_member(query->verbs, id, &who))
        request_stack(query->verbs, id, STACK_MS, on_stack, query);
    else
        request_running(query->verbs, id, RUNNING_MS, on_stack, query);
}

void query_stacks(struct many_verbs *verbs, const struct verb *verb,
                  const struct verbs_reply *reply)
{
    int64_t *ids;
    size_t count;
    struct query *query = begin(verbs, verb, reply, &ids, &count);
    if (!query)
        return;
    query->tree = stack_tree_create(verb->full);
    for (size_t i = 0; i < count; i++)
        ask_stack(query, ids[i]);
    free(ids);
    one_less(query);
}
