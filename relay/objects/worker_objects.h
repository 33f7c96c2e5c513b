/* The references of one stopped worker: its core worker's list (GetCoreWorkerStats), its node's
 * store, and for objects that a client looks at, owner, copies and creator. Shared by the clients
 * of a hub.
 *
 * The worker is asked when it stops, and the answers are dropped when it goes on. No call waits:
 * facts that have not arrived are unknown. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_OBJECTS_WORKER_OBJECTS_H
#define RAYDBG_RELAY_OBJECTS_WORKER_OBJECTS_H

#include "proto/object_records.h"
#include "relay/annotate/annotate.h"
#include "relay/cluster/cluster.h"
#include "relay/cluster/object_id_map.h"
#include "relay/io/loop.h"
#include "relay/objects/object_details.h"
#include "relay/pause/pause.h"

struct worker_objects;

/* `cluster` is borrowed and must outlive it; `worker_id` as in its pause. */
struct worker_objects *worker_objects_create(struct loop *loop, struct cluster *cluster,
                                             const char *worker_id);
void worker_objects_destroy(struct worker_objects **objects);

/* The worker has stopped: asks it, unless an answer for this stop is there or under way. Right
 * after a step it asks some 100 ms later, when the client's own requests have been answered, unless
 * a client wants or waits for facts that the previous stop does not give. */
void worker_objects_ask(struct worker_objects *objects);
/* The worker goes on: drops the answers, except notes to show right after a step. */
void worker_objects_forget(struct worker_objects *objects);
/* Counts the forgotten stops: facts from under another number are stale. */
int64_t worker_objects_generation(const struct worker_objects *objects);

enum worker_objects_state {
    WORKER_OBJECTS_NONE, /* not asked */
    WORKER_OBJECTS_ASKING,
    WORKER_OBJECTS_KNOWN,
    WORKER_OBJECTS_FAILED, /* worker_objects_problem() says why; logged once, and retried */
};
enum worker_objects_state worker_objects_state(const struct worker_objects *objects);
const char *worker_objects_problem(const struct worker_objects *objects);

/* fn runs when more is known, or when it is clear that it will not be; never from within a call.
 * Any number of listeners. fn may do anything except destroy the objects. */
typedef void (*worker_objects_fn)(void *arg);
void worker_objects_listen(struct worker_objects *objects, worker_objects_fn fn, void *arg);
void worker_objects_unlisten(struct worker_objects *objects, const void *arg);

/* Asks for owner, copies and creator of an object, too. All that is wanted is asked for in a few
 * calls: soon if one of the objects has no note yet (worker_objects_can_tell), else some 100 ms
 * later, when the client's own requests have been answered. The worker is asked again for an object
 * that it does not list (an expression has just made it), and for a pending one that is wanted
 * again, once a second. Does nothing while the worker runs, and past 2,000 objects in one stop. */
void worker_objects_want(struct worker_objects *objects, const struct object_id *id);
/* A client waits for what is wanted: asks at once. */
void worker_objects_hurry(struct worker_objects *objects);
/* True if everything that is wanted is known, or known to be unknown. */
bool worker_objects_settled(const struct worker_objects *objects);
/* True if Ray had no event of a task that made a wanted object, and will be asked once more.
 * worker_objects_settled() is not affected. */
bool worker_objects_expects_more(const struct worker_objects *objects);

/* The worker's references; NULL before WORKER_OBJECTS_KNOWN. */
const struct ray_worker_objects *worker_objects_worker(const struct worker_objects *objects);
/* Its references from the largest to the smallest; `*count` of them. Like the result of
 * worker_objects_ref(), valid until the loop runs again. */
const struct ray_object_ref *const *objects_sorted(struct worker_objects *objects, size_t *count);
const struct ray_object_ref *worker_objects_ref(const struct worker_objects *objects,
                                                const struct object_id *id);
/* The number of references. Right after a step it is the number before the step, until the worker
 * has answered. False if it is unknown. */
bool worker_objects_count(const struct worker_objects *objects, size_t *count);
/* The counters of its node's store; NULL if they are not known. */
const struct ray_store_stats *worker_objects_store(const struct worker_objects *objects);
/* A node's display name: "node-1", or an ip. */
const char *worker_objects_node_name(const struct worker_objects *objects, const char *node_id);

/* For annotate_source. Right after a step it gives the note from before the step, until this stop's
 * facts are known: listeners run then. */
bool worker_objects_note(const struct worker_objects *objects, const struct object_id *id,
                         struct object_note *out);
/* True if worker_objects_note() has a note, or will have none at this stop: no need to wait. */
bool worker_objects_can_tell(const struct worker_objects *objects, const struct object_id *id);
/* If `want`, worker_objects_want(); then worker_objects_can_tell() and worker_objects_note() in one
 * call, of an object whose hash is known: for messages with thousands of references. */
struct object_lookup {
    bool can_tell, known;
};
struct object_lookup worker_objects_lookup(struct worker_objects *objects,
                                           const struct object_probe *probe, bool want,
                                           struct object_note *out);
/* False if the actor is not known. Then the cluster's actors are asked for, once a stop, and
 * listeners run later. */
bool worker_objects_actor(struct worker_objects *objects, const char *actor_id,
                          struct actor_note *out);

/* The nine rows below a reference: relay/objects/object_details.h. */
void worker_objects_describe(const struct worker_objects *objects, const struct object_id *id,
                             const struct annotate_options *options,
                             struct object_property out[OBJECT_DETAILS]);

#endif
