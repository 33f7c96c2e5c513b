#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/compare.h"
#include "relay/multi_verbs_state.h"
#include "relay/stack_tree.h"

#include <stdlib.h>
#include <string.h>

/* One question to many, which is answered when all have, or their time is over. */
struct inquiry {
    struct inquiry *next;
    struct multi_verbs *verbs;
    struct verbs_reply reply;
    enum many_verb_format format;
    struct compare *compare; /* one of the two */
    struct stack_tree *tree;
    size_t open; /* answers to come, and one more while it is being asked */
};

enum { STACK_MS = 5000, RUNNING_MS = 1000, VALUE_MS = 5000 };

static void free_inquiry(struct inquiry *inquiry)
{
    struct inquiry **at = &inquiry->verbs->inquiries;
    while (*at && *at != inquiry)
        at = &(*at)->next;
    if (*at)
        *at = inquiry->next;
    look_drop(inquiry->verbs, inquiry);
    compare_destroy(&inquiry->compare);
    stack_tree_destroy(&inquiry->tree);
    free(inquiry);
}

void inquiry_drop(struct multi_verbs *verbs)
{
    while (verbs->inquiries)
        free_inquiry(verbs->inquiries);
}

/* Of those that the verb is about, or NULL, with the answer given. The caller frees `ids`, asks
 * each of `count`, and takes one away when all are asked. */
static struct inquiry *begin(struct multi_verbs *verbs, const struct many_verb *verb,
                             const struct verbs_reply *reply, int64_t **ids, size_t *count)
{
    struct err err = {0};
    if (verbs_select(verbs, verb->subject, ids, count, &err) != 0) {
        verbs_refuse(verbs, reply, &err);
        return NULL;
    }
    struct inquiry *inquiry = mem_alloc(sizeof *inquiry);
    *inquiry = (struct inquiry){.next = verbs->inquiries,
                                .verbs = verbs,
                                .reply = *reply,
                                .format = verb->format,
                                .open = *count + 1};
    verbs->inquiries = inquiry;
    return inquiry;
}

static void write_text(struct inquiry *inquiry, struct buf *out)
{
    if (inquiry->tree && inquiry->format == VERB_JSON)
        stack_tree_json(inquiry->tree, out);
    else if (inquiry->tree)
        stack_tree_text(inquiry->tree, out);
    else if (inquiry->format == VERB_JSON)
        compare_json(inquiry->compare, out);
    else if (inquiry->format == VERB_CSV)
        compare_csv(inquiry->compare, out);
    else
        compare_text(inquiry->compare, out);
}

static void one_less(struct inquiry *inquiry)
{
    struct buf text = {0}, body = {0};
    if (--inquiry->open)
        return;
    write_text(inquiry, &text);
    if (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    if (inquiry->tree)
        stack_tree_json(inquiry->tree, &body);
    else
        compare_json(inquiry->compare, &body);
    if (inquiry->format != VERB_JSON) { /* the object, and how a user reads it */
        body.len--;
        buf_add_string(&body, ",\"text\":");
        message_quote(&body, text.data);
        buf_add_string(&body, "}");
    }
    verbs_answer(inquiry->verbs, &inquiry->reply, text.data, body.data);
    buf_free(&text);
    buf_free(&body);
    free_inquiry(inquiry);
}

static bool find_member(const struct multi_verbs *verbs, int64_t id, struct crowd_member *who)
{
    struct multi_target *target;
    const struct multi_thread *thread = multi_thread_by_id(verbs->multi, id, &target);
    *who = thread ? verbs_member(target, thread)
                  : (struct crowd_member){.thread = id, .rank = -1, .name = (char *)"a task"};
    return thread && thread->stopped;
}

/* Who was asked and runs meanwhile has answered nothing that could be shown. */
static void on_value(void *arg, const struct look_result *result)
{
    struct inquiry *inquiry = arg;
    struct crowd_member who;
    bool stopped = find_member(inquiry->verbs, result->thread, &who);
    if (result->value)
        compare_add(inquiry->compare, &who, COMPARE_VALUE, result->value, result->type);
    else
        compare_add(inquiry->compare, &who, stopped ? COMPARE_ERROR : COMPARE_NOT_ASKED,
                    stopped ? result->problem : "running", NULL);
    one_less(inquiry);
}

static void on_stack(void *arg, const struct look_result *result)
{
    struct inquiry *inquiry = arg;
    struct crowd_member who;
    bool stopped = find_member(inquiry->verbs, result->thread, &who);
    if (result->json)
        stack_tree_add(inquiry->tree, &who, !stopped, result->json, result->frames);
    else
        stack_tree_skip(inquiry->tree, &who, result->problem);
    one_less(inquiry);
}

void inquiry_compare(struct multi_verbs *verbs, const struct many_verb *verb,
                     const struct verbs_reply *reply)
{
    int64_t *ids;
    size_t count;
    struct inquiry *inquiry = begin(verbs, verb, reply, &ids, &count);
    if (!inquiry)
        return;
    int64_t timeout_ms = verb->timeout_ms ? verb->timeout_ms : VALUE_MS;
    inquiry->compare = compare_create(verb->expression);
    for (size_t i = 0; i < count; i++)
        look_value(verbs, ids[i], verb->expression, timeout_ms, on_value, inquiry);
    free(ids);
    one_less(inquiry);
}

static void ask_stack(struct inquiry *inquiry, int64_t id)
{
    struct crowd_member who;
    if (find_member(inquiry->verbs, id, &who))
        look_stack(inquiry->verbs, id, STACK_MS, on_stack, inquiry);
    else
        look_running(inquiry->verbs, id, RUNNING_MS, on_stack, inquiry);
}

void inquiry_stacks(struct multi_verbs *verbs, const struct many_verb *verb,
                    const struct verbs_reply *reply)
{
    int64_t *ids;
    size_t count;
    struct inquiry *inquiry = begin(verbs, verb, reply, &ids, &count);
    if (!inquiry)
        return;
    inquiry->tree = stack_tree_create(verb->full);
    for (size_t i = 0; i < count; i++)
        ask_stack(inquiry, ids[i]);
    free(ids);
    one_less(inquiry);
}
