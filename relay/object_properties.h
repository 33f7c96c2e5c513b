/* What is said of one object, from what is known of it: its note and the rows below it. Pure. */
#ifndef RAYDBG_RELAY_OBJECT_PROPERTIES_H
#define RAYDBG_RELAY_OBJECT_PROPERTIES_H

#include "relay/annotate.h"
#include "relay/objects.h"

/* How the process that owns an object is. */
enum object_owner {
    OBJECT_OWNER_UNKNOWN, /* `owner_why` */
    OBJECT_OWNER_ALIVE,
    OBJECT_OWNER_DEAD,      /* it has ended; which it was may be unknown: `owner_pid` is 0 */
    OBJECT_OWNER_NODE_DEAD, /* with its machine */
};

/* All borrowed. */
struct object_facts {
    struct object_id id;
    const struct ray_object_ref *ref; /* this worker's reference; NULL: `ref_why` */
    const char *ref_why;
    bool mine; /* this worker owns it */
    enum object_owner owner;
    int64_t owner_pid;
    const char *owner_node; /* how it is called */
    bool owner_is_driver;
    const char *owner_why;
    const struct ray_object_location *location; /* the owner's words; NULL: `location_why` */
    const char *location_why;
    const struct ray_task *task;   /* that made it; NULL: `task_why` */
    const struct ray_actor *actor; /* in whose process it was made; NULL: none, or unknown */
    const char *task_why;
    const char *(*node_name)(void *arg, const char *node_id);
    void *arg;
};

/* False: nothing is known that would be worth a note. */
bool object_facts_note(const struct object_facts *facts, struct object_note *out);
void object_facts_describe(const struct object_facts *facts, const struct annotate_options *options,
                           struct object_property out[OBJECT_PROPERTIES]);

/* Ray's words for where a reference was made, the user's own frame first:
 * "(put object)  | ray/x.py:f:1 | app.py:g:7" is "app.py:g:7 | ray/x.py:f:1 (put object)". The
 * caller frees it. */
char *object_call_site(const char *call_site);

#endif
