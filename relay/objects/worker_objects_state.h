/* The internals of worker_objects, shared by its files, each of which calls only those before it:
 * worker_objects_known.c (what is known), worker_objects.c (requests), worker_objects_want.c (what
 * is wanted). */
#ifndef RAYDBG_RELAY_OBJECTS_WORKER_OBJECTS_STATE_H
#define RAYDBG_RELAY_OBJECTS_WORKER_OBJECTS_STATE_H

#include "base/invariant.h"
#include "relay/cluster/record_cache.h"
#include "relay/objects/object_last_stop.h"
#include "relay/objects/object_owner.h"
#include "relay/objects/object_table.h"
#include "relay/objects/worker_objects.h"

/* Different causes of failure that are logged. */
enum { WORKER_OBJECTS_CAUSES = 8 };

struct listener {
    struct listener *next;
    worker_objects_fn fn; /* NULL: removed while listeners run */
    void *arg;
};

struct worker_objects {
    uint32_t magic;
    struct loop *loop;
    struct cluster *cluster;
    struct ray_source *source;
    struct object_client *client; /* NULL: this cluster is read by its dashboard */
    struct record_cache *records;
    struct owners *owners;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    const struct named_node *node; /* the worker's, once it is known */
    char *address;                 /* of the worker, once it is known */
    int64_t generation;
    enum worker_objects_state state;
    char problem[512];
    bool calling;   /* a call to the worker is in flight: at most one */
    int64_t called; /* the generation of that call */
    bool refresh;   /* ask the worker again: a pending object may be made by now */
    int64_t answered_us;
    bool again; /* ask the worker again: its last answer lacks a wanted object */
    struct ray_worker_objects worker;
    bool known; /* `worker` is an answer of this generation */
    struct object_table table;
    const struct ray_object_ref **sorted;
    struct object_last_stop earlier; /* the notes of the previous stop */
    size_t earlier_count;            /* the number of references at the previous stop */
    bool earlier_counted;
    int64_t forgotten_us;
    struct ray_store_stats store;
    bool store_known, store_calling;
    bool store_stale;     /* `store` is of an earlier stop */
    int64_t store_us;     /* when it was last asked for */
    int64_t store_called; /* the generation of that call */
    struct timer *store_due;
    struct timer *patience;
    struct timer *retry; /* after a failure */
    int64_t retry_ms;    /* the delay of the next one */
    struct timer *soon;  /* runs look(), then the listeners */
    struct timer *later;
    struct timer *leisure; /* delays the requests after a step */
    bool eager;            /* requests for what is wanted go out at once, until it is settled */
    int64_t proved_us;     /* the end of the last stop in which all was settled */
    bool news, urgent;     /* listeners are to run; at once */
    struct listener *listeners;
    bool telling;
    char *causes[WORKER_OBJECTS_CAUSES];
};
INVARIANT_MAGIC(worker_objects, 0x6b211ad0)
#define worker_objects_checked(object) worker_objects_checked_at(INVARIANT_HERE, object)

/* One object: its id, the worker's reference, what was found out about it, and its note of the
 * previous stop. */
struct known_object {
    const struct object_probe *probe;
    const struct ray_object_ref *ref; /* or NULL */
    const struct finding *finding;    /* or NULL */
    const struct object_note *earlier;
};

/* worker_objects_known.c */
/* `probe` is borrowed. */
struct known_object known_object_find(const struct worker_objects *objects,
                                      const struct object_probe *probe);
/* worker_objects_can_tell() and worker_objects_note() for what known_object_find() gave. */
bool known_object_can_tell(const struct worker_objects *objects, const struct known_object *it);
bool known_object_note(const struct worker_objects *objects, const struct known_object *it,
                       struct object_note *out);

/* worker_objects.c */
/* From the loop: sends the requests that are possible by now and, with `news`, runs the listeners,
 * once for all calls that come together. */
void worker_objects_look_soon(struct worker_objects *objects, bool news);
/* True if all was settled at a stop that ended less than 1 s ago: its notes need no check yet. */
bool worker_objects_is_proved(const struct worker_objects *objects);
/* Asks for what is wanted, but 100 ms later. */
void worker_objects_take_leisure(struct worker_objects *objects);

#endif
