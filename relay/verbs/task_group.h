/* Groups of tasks: named lists of filters, so that tasks that come later are in them, too. Pure. */
#ifndef RAYDBG_RELAY_VERBS_TASK_GROUP_H
#define RAYDBG_RELAY_VERBS_TASK_GROUP_H

#include "base/buf.h"
#include "base/err.h"
#include "relay/verbs/verb.h"

#include <stdbool.h>
#include <stdint.h>

/* The properties of a thread that filters match. Strings are borrowed, and NULL where unknown. */
struct task_group_subject {
    int64_t thread;
    int64_t rank; /* -1: none */
    bool ranked;  /* some task of the session has a rank: bare numbers are ranks */
    bool stopped;
    int64_t pid;
    const char *name; /* of the thread, as the client sees it */
    const char *task, *actor_class, *actor_name;
    const char *node_ip, *node_name;
    const char *job;
};

struct groups;

struct groups *groups_create(void);
void groups_destroy(struct groups **groups);

/* Makes or replaces a group. -1 with `err` if the name or a filter is not valid. */
int groups_set(struct groups *groups, const char *name, const char *const *filters, size_t count,
               struct err *err);
bool groups_remove(struct groups *groups, const char *name);
/* Valid until the next change. */
struct verb_groups groups_names(const struct groups *groups);
/* The filters as they were given, separated by blanks; NULL if there is no such group. Valid until
 * the next change. */
const char *groups_filters(const struct groups *groups, const char *name);

/* 0 if `text` is a group, "all", NULL (the same as "all") or a filter; -1 with `err` if not. */
int groups_check(const struct groups *groups, const char *text, struct err *err);
/* True if the group or filter matches the subject. */
bool groups_have(const struct groups *groups, const char *text,
                 const struct task_group_subject *subject);

#endif
