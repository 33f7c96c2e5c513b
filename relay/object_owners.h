/* Finds out who owns the objects that one worker refers to, and where they are by its owner's
 * words. An object's id names its owner more or less (relay/object_origin.h); where it does not,
 * the raylets are asked, within limits. Only the owner is believed: who borrows an object answers,
 * too, when it is asked where that is. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_OBJECT_OWNERS_H
#define RAYDBG_RELAY_OBJECT_OWNERS_H

#include "proto/object_client.h"
#include "relay/directory.h"
#include "relay/object_properties.h"
#include "relay/object_table.h"

struct owners;

/* What was found of one object; `done` once no more will be. */
struct finding {
    struct object_id id;
    bool done;   /* owner and location */
    bool traced; /* the task that made it was asked for */
    enum object_owner owner;
    int64_t owner_pid; /* 0: unknown */
    char owner_node[ID_TEXT(ID_UNIQUE_BYTES)];
    bool owner_is_driver;
    char owner_why[160];                 /* why it is unknown */
    struct ray_object_location location; /* `known` once its owner has told */
    char location_why[160];
};

/* Both are borrowed. `changed` runs after each answer, never from within a call. */
struct owners *owners_create(struct object_client *client, struct directory *directory,
                             const char *worker_id, loop_fn changed, void *arg);
void owners_destroy(struct owners **owners);

/* Wants to know of an object; owners_advance() asks. False if it was wanted already, or so many are
 * that no more are asked for. */
bool owners_want(struct owners *owners, const struct object_id *id);
/* Asks and concludes what can be by now; `is_mine` says whether the worker itself owns an object.
 * Call it when something was wanted, and after each change of the directory or of this. */
void owners_advance(struct owners *owners, bool (*is_mine)(void *arg, const struct object_id *id),
                    void *arg);
/* A task that was reported late may tell the owner of what nobody is known to own:
 * owners_advance(). */
bool owners_outdated(const struct owners *owners);
/* Asks the owner once more where an object is; until it answers, the last answer stands. Nothing is
 * waited for. */
void owners_renew(struct owners *owners, const struct object_id *id);
/* Nothing will be found out about what is wanted: `why`. */
void owners_give_up(struct owners *owners, const char *why);
/* Nothing is wanted any more. */
void owners_forget(struct owners *owners);
bool owners_settled(const struct owners *owners);
/* The findings in the order in which they were wanted; NULL past the last. */
const struct finding *owners_at(const struct owners *owners, size_t index);
const struct finding *owners_find(const struct owners *owners, const struct object_probe *probe);

#endif
