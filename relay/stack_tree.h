/* The stacks of many tasks as one tree: equal ones merged, from the outermost frame on, each branch
 * with who is on it. Pure. */
#ifndef RAYDBG_RELAY_STACK_TREE_H
#define RAYDBG_RELAY_STACK_TREE_H

#include "dap/scan.h"
#include "relay/crowd.h"

#include <stdbool.h>

struct stack_tree;

/* Without `full`, frames that are marked as subtle (Ray's own, libraries') are left out, unless a
 * stack has no others. */
struct stack_tree *stack_tree_create(bool full);
void stack_tree_destroy(struct stack_tree **tree);
/* `frames` is the array stackFrames of a stackTrace response's body, innermost first; of a task
 * that is `running` it is where it was when it was asked. False, and the task is among those
 * without a stack, if it is none. */
bool stack_tree_add(struct stack_tree *tree, const struct crowd_member *who, bool running,
                    const char *json, struct span frames);
/* One that has no stack to show, because `why` ("running"). */
void stack_tree_skip(struct stack_tree *tree, const struct crowd_member *who, const char *why);

void stack_tree_text(struct stack_tree *tree, struct buf *out);
/* An object; docs/many.md has its schema. */
void stack_tree_json(struct stack_tree *tree, struct buf *out);

#endif
