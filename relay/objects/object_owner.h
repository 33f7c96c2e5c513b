/* Finds the owners of the objects that one worker refers to, and the locations that the owners
 * report. An object's id often tells its owner (relay/objects/object_origin.h); where it does not,
 * the raylets are asked, within limits. Only the owner's answer counts: a process that borrows an
 * object answers a request for its location, too. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_OBJECTS_OBJECT_OWNER_H
#define RAYDBG_RELAY_OBJECTS_OBJECT_OWNER_H

#include "proto/object_client.h"
#include "relay/cluster/record_cache.h"
#include "relay/objects/object_details.h"
#include "relay/objects/object_table.h"

struct owners;

/* The facts that were found about one object. */
struct finding {
    struct object_id id;
    bool done;   /* the search for owner and location has ended */
    bool traced; /* the search for the task that made it has ended */
    enum object_owner owner;
    int64_t owner_pid;                   /* 0: unknown */
    const struct named_node *owner_node; /* NULL: unknown */
    bool owner_is_driver;
    struct ray_object_location location; /* `known` once its owner has reported it */
    char owner_why[160];                 /* why it is unknown */
    char location_why[160];
};

/* `client`, `records` and `table` are borrowed; the searches are entered in `table`. `changed` runs
 * after each answer, never from within. */
struct owners *owners_create(struct object_client *client, struct record_cache *records,
                             struct object_table *table, const char *worker_id, loop_fn changed,
                             void *arg);
void owners_destroy(struct owners **owners);

/* Adds an object to search for; owners_advance() sends the requests. False if it was added before,
 * or 2,000 objects were. */
bool owners_want(struct owners *owners, const struct object_id *id);
/* Sends the requests and draws the conclusions that are possible by now; `is_mine` says if the
 * worker itself owns an object. Call it after owners_want(), and after each change of the record
 * cache or of this. */
void owners_advance(struct owners *owners, bool (*is_mine)(void *arg, const struct object_id *id),
                    void *arg);
/* True if a task was reported late: it may tell the owner of an object that has no known one. Call
 * owners_advance(). */
bool owners_outdated(const struct owners *owners);
/* Asks the owner once more where an object is. Until it answers, the last answer counts; for an
 * object of the worker's own, the worker's newer reference does. This unsettles nothing. */
void owners_renew(struct owners *owners, const struct object_id *id);
/* Ends all searches without a result; `why` is the reason in the findings. */
void owners_give_up(struct owners *owners, const char *why);
/* Drops all objects and findings; answers still in flight are ignored. */
void owners_forget(struct owners *owners);
/* Enters all searches in the table again: it was cleared. */
void owners_enter(const struct owners *owners);
bool owners_settled(const struct owners *owners);
/* The findings in the order of owners_want(); NULL past the last. */
const struct finding *owners_at(const struct owners *owners, size_t index);
/* NULL if the object is not searched for. */
const struct finding *owners_finding(const struct object_entry *entry);

#endif
