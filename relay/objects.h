/* What one stopped worker's references are: its own words (GetCoreWorkerStats), its node's store,
 * and for those that are looked at, owner, copies and creator. Shared by the clients of a hub.
 *
 * It is asked when the worker stops and forgotten when it goes on. Nothing waits for it: what is
 * not known yet is not known. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_OBJECTS_H
#define RAYDBG_RELAY_OBJECTS_H

#include "proto/object_records.h"
#include "relay/annotate.h"
#include "relay/cluster.h"
#include "relay/loop.h"
#include "relay/pause.h"

struct objects;

/* `cluster` is borrowed and must outlive it; `worker_id` as in its pause. */
struct objects *objects_create(struct loop *loop, struct cluster *cluster, const char *worker_id);
void objects_destroy(struct objects **objects);

/* The worker has stopped: asks, unless an answer for this stop is there or under way. Right after
 * a step it does so some 100 ms later, when the client's own questions have been answered, unless
 * somebody wants or waits for what the stop before does not tell. */
void objects_ask(struct objects *objects);
/* The worker goes on: what is known is not true any more. */
void objects_forget(struct objects *objects);
/* Counts the stops that were forgotten: what was said under another number is stale. */
int64_t objects_generation(const struct objects *objects);

/* Another number whenever anything that is said of an object, or of an actor, may be another thing
 * than before: while it is the same, so is every word. */
int64_t objects_facts(const struct objects *objects);

enum objects_state {
    OBJECTS_NONE, /* not asked */
    OBJECTS_ASKING,
    OBJECTS_KNOWN,
    OBJECTS_FAILED, /* objects_problem() says why; it was logged once, and is tried again */
};
enum objects_state objects_state(const struct objects *objects);
const char *objects_problem(const struct objects *objects);

/* fn runs when something more is known (or it is known that it will not be). Any number of
 * listeners; never from within. It may do anything but destroy the objects. */
typedef void (*objects_fn)(void *arg);
void objects_listen(struct objects *objects, objects_fn fn, void *arg);
void objects_unlisten(struct objects *objects, const void *arg);

/* Wants owner, copies and creator of an object, too; asks for all that is wanted in a few calls:
 * soon if there is nothing to say of one of them yet (objects_can_tell), else at leisure, some
 * 100 ms later, when the client's own questions have been answered. An object that the worker does
 * not list (an expression has just made it) makes it be asked again, and so does one that is not
 * made yet, every second that it is wanted. Nothing is wanted while the worker runs, and no more
 * than 2,000 objects in one stop. */
void objects_want(struct objects *objects, const struct object_id *id);
/* Somebody waits for what is wanted. */
void objects_hurry(struct objects *objects);
/* Everything that is wanted is known, or known to be unknown. */
bool objects_settled(const struct objects *objects);
/* Ray had no event of a task that made something that is wanted, and will be asked once more. That
 * does not unsettle anything. */
bool objects_expects_more(const struct objects *objects);

/* The worker's references; NULL before OBJECTS_KNOWN. */
const struct ray_worker_objects *objects_worker(const struct objects *objects);
/* Its references from the largest to the smallest; `*count` of them. As objects_ref(): valid until
 * the loop runs again. */
const struct ray_object_ref *const *objects_sorted(struct objects *objects, size_t *count);
const struct ray_object_ref *objects_ref(const struct objects *objects, const struct object_id *id);
/* How many there are; right after a step as many as before it, until that is known anew. False: it
 * is not known. */
bool objects_count(const struct objects *objects, size_t *count);
/* The counters of its node's store; NULL if they are not known. */
const struct ray_store_stats *objects_store(const struct objects *objects);
/* "node-1" or an ip: how the worker's node is called. */
const char *objects_node_name(const struct objects *objects, const char *node_id);

/* For annotate_source. Right after a step it is what was true before it, until that is known
 * anew: listeners are told. */
bool objects_note(const struct objects *objects, const struct object_id *id,
                  struct object_note *out);
/* Whether objects_note() has something to say, or nothing for good: nobody has to wait. */
bool objects_can_tell(const struct objects *objects, const struct object_id *id);
/* objects_can_tell() and objects_note() at once, and before them, if `want`, objects_want(): for
 * messages that have thousands of references. */
struct object_look {
    bool can_tell, known;
};
struct object_look objects_look(struct objects *objects, const struct object_id *id, bool want,
                                struct object_note *out);
/* Asks for the cluster's actors, once a stop, when one is wanted that is not known: false then, and
 * listeners are told later. */
bool objects_actor(struct objects *objects, const char *actor_id, struct actor_note *out);

/* The nine rows below a reference, in their order, always all of them; "unknown: why" where a fact
 * is not known. */
struct object_property {
    const char *name; /* "size", "nodes", "owner", "call site", "reference", "kinds", "copies",
                         "spilled", "created by" */
    char *value;
};
enum { OBJECT_PROPERTIES = 9 };
void objects_describe(const struct objects *objects, const struct object_id *id,
                      const struct annotate_options *options,
                      struct object_property out[OBJECT_PROPERTIES]);
void object_properties_clear(struct object_property properties[OBJECT_PROPERTIES]);

#endif
