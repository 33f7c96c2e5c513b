/* The stacks of many tasks as one tree: equal stacks are merged from the outermost frame on, and
 * each branch has the tasks that are on it. Pure. */
#ifndef RAYDBG_RELAY_VERBS_STACK_TREE_H
#define RAYDBG_RELAY_VERBS_STACK_TREE_H

#include "dap/scan.h"
#include "relay/verbs/task_set.h"

#include <stdbool.h>

struct stack_tree;

/* Without `full`, frames that are marked as subtle (Ray's own, libraries') are left out, unless a
 * stack has no others. */
struct stack_tree *stack_tree_create(bool full);
void stack_tree_destroy(struct stack_tree **tree);
/* Adds a task's stack. `frames` is the array stackFrames of a stackTrace response's body, innermost
 * first; that of a `running` task shows where it was at the request. False if there are no frames:
 * the task is then among those without a stack. */
bool stack_tree_add(struct stack_tree *tree, const struct task_list_item *who, bool running,
                    const char *json, struct span frames);
/* Adds a task that has no stack to show, because `why` ("running"). */
void stack_tree_skip(struct stack_tree *tree, const struct task_list_item *who, const char *why);

void stack_tree_text(struct stack_tree *tree, struct buf *out);
/* An object; docs/many.md has its schema. */
void stack_tree_json(struct stack_tree *tree, struct buf *out);

#endif
