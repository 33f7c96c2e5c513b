/* The internals of owners, shared by object_owner.c (requests and conclusions) and
 * object_owner_candidates.c (which processes to ask). */
#ifndef RAYDBG_RELAY_OBJECTS_OBJECT_OWNER_STATE_H
#define RAYDBG_RELAY_OBJECTS_OBJECT_OWNER_STATE_H

#include "relay/objects/object_owner.h"

/* A process that may own an object. */
struct candidate {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    const struct named_node *node;
    char *address; /* NULL if Ray gives none */
    int64_t pid;
    bool is_driver;
    enum object_owner how;
    enum { TO_ASK, ASKED, TELLS, DENIES, SILENT } state;
};

enum { CANDIDATES_MAX = 3 }; /* by the object's id, by the raylets, by a guess */

struct query {
    struct finding finding;
    bool gathered; /* the candidates by the object's id are known */
    bool mine;
    bool guessed;
    struct candidate candidates[CANDIDATES_MAX];
    size_t count;
    struct candidate *owner; /* the candidate that reported the location, or NULL */
    bool renew;              /* the owner is to be asked again */
};

/* One request to one process for the locations of several objects. */
struct request {
    struct request *next;
    struct owners *owners;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *address;
    struct object_id *ids;
    size_t count;
};

struct owners {
    struct object_client *client;
    struct record_cache *records;
    struct object_table *table;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    loop_fn changed;
    void *arg;
    struct query **queries;
    size_t count;
    struct request *building, *requests; /* to be sent; in flight */
    size_t raylets;                      /* raylets that have yet to answer */
    bool raylets_asked;
    size_t came_late; /* record_cache_came_late() at the last check */
};

/* object_owner_candidates.c. All return false while they wait for a record, and add no candidate
 * twice, so that they can be called again. */

/* Adds a process that may own the object. */
bool owners_add_process(struct owners *owners, struct query *query,
                        const struct ray_worker *worker);
/* Adds the process that owns an object by its id, if the id tells. */
bool owners_gather(struct owners *owners, struct query *query);
/* The last resort for an object that a task has put: adds the task's process, alive or not. */
bool owners_guess(struct owners *owners, struct query *query);

#endif
