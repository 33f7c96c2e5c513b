/* Makes one object's note, and the rows below it, from the facts that are known of it. Pure. */
#ifndef RAYDBG_RELAY_OBJECTS_OBJECT_DETAILS_H
#define RAYDBG_RELAY_OBJECTS_OBJECT_DETAILS_H

#include "proto/object_records.h"
#include "relay/annotate/annotate.h"

/* The state of the process that owns an object. */
enum object_owner {
    OBJECT_OWNER_UNKNOWN, /* `owner_why` says why */
    OBJECT_OWNER_ALIVE,
    OBJECT_OWNER_DEAD,      /* it has ended; `owner_pid` is 0 if its identity is unknown */
    OBJECT_OWNER_NODE_DEAD, /* its node has died */
};

/* All borrowed. */
struct object_facts {
    const struct object_id *id;
    const struct ray_object_ref *ref; /* this worker's reference; NULL: `ref_why` */
    const char *ref_why;
    bool mine; /* this worker owns it */
    enum object_owner owner;
    int64_t owner_pid;
    const char *owner_node; /* the node's display name */
    bool owner_is_driver;
    const char *owner_why;
    const struct ray_object_location *location; /* as the owner reports it; NULL: `location_why` */
    const char *location_why;
    const struct ray_task *task; /* the task that made it; NULL: `task_why` */
    /* The actor in whose process it was made; NULL: none, or unknown. */
    const struct ray_actor *actor;
    const char *task_why;
    const char *(*node_name)(void *arg, const char *node_id);
    void *arg;
};

/* The nine rows below a reference, always all of them and in this order. `value` is "unknown: why"
 * where a fact is not known; object_details_clear() frees it. */
struct object_property {
    const char *name; /* "size", "nodes", "owner", "call site", "reference", "kinds", "copies",
                         "spilled", "created by" */
    char *value;
};
enum { OBJECT_DETAILS = 9 };

/* False if nothing is known that is worth a note. */
bool object_facts_note(const struct object_facts *facts, struct object_note *out);
void object_facts_describe(const struct object_facts *facts, const struct annotate_options *options,
                           struct object_property out[OBJECT_DETAILS]);
void object_details_clear(struct object_property properties[OBJECT_DETAILS]);

/* Ray's call site of a reference, with the user's own frame moved to the front:
 * "(put object)  | ray/x.py:f:1 | app.py:g:7" becomes "app.py:g:7 | ray/x.py:f:1 (put object)". The
 * caller frees it. */
char *object_call_site(const char *call_site);

#endif
