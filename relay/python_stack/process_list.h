/* Processes that py-spy was asked for: the tasks of each, and why nothing of it is shown. Pure. */
#ifndef RAYDBG_RELAY_PYTHON_STACK_PROCESS_LIST_H
#define RAYDBG_RELAY_PYTHON_STACK_PROCESS_LIST_H

#include "base/buf.h"
#include "relay/why_records/why_records.h"

/* More calls than that run in one process only in async actors, whose coroutines have no stacks. */
enum { PROCESS_ATTEMPTS = 64 };

struct process_item {
    const struct ray_worker *worker;
    const struct ray_attempt *attempts[PROCESS_ATTEMPTS];
    size_t attempt_count; /* may be more than PROCESS_ATTEMPTS */
    bool is_read;         /* py-spy's text could be read */
    const char *reason;   /* why nothing of it is shown; NULL: something is */
    const char *hint;     /* what to do about it; NULL: nothing */
    char *words;          /* of a problem that is not known */
};

struct process_list {
    const struct why_records *records; /* borrowed */
    struct process_item *items;
    size_t count;
    const struct ray_attempt **running; /* by worker; from the first process_list_add() on */
    size_t running_count;
    bool indexed;
};

/* Valid until the next one is added. The records must not change from the first one on. */
struct process_item *process_list_add(struct process_list *list, const struct ray_worker *worker);
void process_list_clear(struct process_list *list);
/* There is no text of it: for this problem, in py-spy's words or the agent's. */
void process_list_fail(struct process_item *item, const char *problem);
/* How many of them have a text that could be read. */
size_t process_list_read(const struct process_list *list);
/* Sets `err` to the reason of the first process of which nothing is shown, with what to do about
 * it; `what` is what it has not given, "stack". 0 if there is none. */
int process_list_problem(const struct process_list *list, const char *what, struct err *err);

/* "not shown: 2 processes, idle: 103@10.0.0.9, 104@10.0.0.9", a line for each reason. */
void process_list_text(const struct process_list *list, struct buf *out);
/* The members of an object that are the same for all commands, without braces: its ids, tasks,
 * not_shown. */
void process_list_json(const struct process_list *list, const struct process_item *item,
                       struct buf *out);

#endif
