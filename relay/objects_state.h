/* The inside of objects, for the files that make it up: objects.c (asking), objects_known.c (what
 * is known). */
#ifndef RAYDBG_RELAY_OBJECTS_STATE_H
#define RAYDBG_RELAY_OBJECTS_STATE_H

#include "relay/directory.h"
#include "relay/object_notes.h"
#include "relay/object_owners.h"
#include "relay/object_table.h"
#include "relay/objects.h"

/* Different causes of failure that are told in the log. */
enum { OBJECTS_CAUSES = 8 };

struct listener {
    struct listener *next;
    objects_fn fn; /* NULL: gone, while others are told */
    void *arg;
};

struct objects {
    struct loop *loop;
    struct cluster *cluster;
    struct source *source;
    struct object_client *client; /* NULL: the cluster has none of this */
    struct directory *directory;
    struct owners *owners;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* once it is known */
    char *address;                          /* of the worker; the same */
    int64_t generation;
    int64_t facts; /* objects_facts() */
    enum objects_state state;
    char problem[512];
    bool calling;   /* the worker is asked: at most one such call is in flight */
    int64_t called; /* in which generation */
    bool refresh;   /* what it was waiting for may have come */
    int64_t answered_us;
    bool again; /* there is more than the last answer said */
    struct ray_worker_objects worker;
    bool known; /* `worker` is an answer of this generation */
    struct object_table refs;
    const struct ray_object_ref **sorted;
    struct object_notes earlier; /* of the stop before */
    size_t earlier_count;        /* of the worker's references */
    bool earlier_counted;
    int64_t forgotten_us;
    struct ray_store_stats store;
    bool store_known, store_calling;
    bool store_stale; /* it is of an earlier stop */
    int64_t store_us; /* when it was last asked for */
    struct timer *store_due;
    struct timer *patience;
    struct timer *retry; /* after a failure */
    int64_t retry_ms;    /* when the next one is due */
    struct timer *soon;  /* looks what can be done, and tells */
    struct timer *later;
    struct timer *leisure; /* ends it: then the worker is asked, and for what is wanted */
    bool eager;            /* what is wanted is asked for now, until it is settled */
    int64_t proved_us;     /* the end of the last stop in which all was settled */
    bool news, urgent;     /* to be told; now */
    struct listener *listeners;
    bool telling;
    char *causes[OBJECTS_CAUSES];
};

#endif
