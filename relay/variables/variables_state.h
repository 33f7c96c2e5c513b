/* The internals of variables.h, shared by variables.c (requests and responses), variables_edit.c
 * (what a response gets), variables_wait.c (held messages, and what the client was shown),
 * variables_own.c (requests that the session answers itself), array_views.c (arrays that are views
 * of the store), variables_gather.c (answers that come in parts). */
#ifndef RAYDBG_RELAY_VARIABLES_VARIABLES_STATE_H
#define RAYDBG_RELAY_VARIABLES_VARIABLES_STATE_H

#include "base/fixed_map.h"
#include "base/invariant.h"
#include "relay/objects/worker_objects.h"
#include "relay/variables/variables.h"
#include "relay/variables/variables_rows.h"
#include "relay/variables/variables_seen.h"

/* The members of a request that its response does not repeat. */
struct awaited {
    struct awaited *next;
    int64_t seq;       /* the client's */
    int64_t reference; /* variablesReference, or 0 */
    int64_t frame;     /* the frameId that it is about, or 0 */
    bool clipboard;
};

/* A message that waits for facts. */
struct held {
    struct held *next;
    enum held_kind {
        HELD_RESPONSE,  /* the debuggee's, to be passed on */
        HELD_VARIABLES, /* a request, for a row of the session's own */
        HELD_LIST,      /* a request, raydbg/objects */
    } kind;
    char command[DAP_NAME_MAX];
    char *json;
    size_t len;
    struct awaited awaited;
    bool applies;   /* a response that has values to annotate */
    unsigned wants; /* facts that worker_objects_settled() does not cover: WANTS_… */
};
enum {
    WANTS_ACTORS = 1, /* known with the next facts, or not at this stop */
    WANTS_STORE = 2,
};

struct variables {
    uint32_t magic;
    struct variables_context *context;
    int64_t generation; /* of the facts in `known` and `told` */
    bool listening;
    struct known known;
    struct fixed_map told; /* hashes of what was sent before all was known */
    struct awaited *awaited;
    struct held *held; /* oldest first */
    size_t held_bytes;
    struct timer *patience; /* ends the waiting */
    struct timer *quiet;    /* lets facts come together before they are announced */
    struct view_request *view_requests;
    struct buf spare;        /* the memory of the last gathered answer, for the next */
    struct buf spare_edited; /* the same of the annotated answer */
    struct buf spare_shown;  /* the same of what it has shown */
    bool spare_used;         /* since `idle` last ran */
    struct timer *idle;      /* frees them if they were not used */
    struct gather *gather;   /* an answer that is being gathered from parts, or NULL */
    struct gather *given;    /* a gathered answer while it is passed on, or NULL */
    bool *destroyed;         /* with `given`: where to note that this was destroyed; or NULL */
    bool flushing;           /* no message may be held again */
    bool tired;              /* a wait for facts was in vain: no more waiting until some come */
    bool knows_actors;       /* all that will be known of actors at this stop is known */
    bool view_late;          /* a response was sent before it was known that it shows a view */
};
INVARIANT_MAGIC(variables, 0xf570f725)
#define variables_checked(object) variables_checked_at(INVARIANT_HERE, object)

/* The rendering of one message. */
struct render {
    struct variables *it;
    struct worker_objects *objects;
    struct row_source rows;
    int64_t frame;
    size_t missing; /* references without any facts yet */
    size_t wanted;
    unsigned wants;
    struct object_probe probe; /* of the object that was seen last */
    struct buf shown;          /* of id_key: the things in it of which more may become known */
};

/* variables.c */
void variables_pass(struct variables *it, const struct held *held);
/* The objects of the session's debuggee; NULL without a cluster or a debuggee. */
struct worker_objects *variables_of(const struct variables_context *context);

/* variables_edit.c */
struct render variables_render(struct variables *it, struct worker_objects *objects, int64_t frame);
/* Ends the rendering. If the message was sent, notes what it has shown the client. */
void render_end(struct render *render, bool sent);
/* An object in the message: asks for more facts about it, and notes that it is shown. */
void render_object(struct render *render, const struct object_id *id);
/* Appends the response with all that is known. False: there is nothing to change, or *problem,
 * else NULL, says why the response is malformed. If only its head was read, checks the rest, too,
 * and reads `envelope` again if it has to. */
bool variables_edit(struct render *render, const struct held *held, struct envelope *envelope,
                    struct buf *out, const char **problem);

/* variables_wait.c */
/* True if more may become known without asking again. */
bool variables_pending(const struct worker_objects *objects);
/* The same, or a request will be repeated: to a worker that did not answer, or for the task that
 * made an object. No response waits for that. */
bool variables_may_come(const struct worker_objects *objects);
/* Holds a copy of the message. */
void variables_hold(struct variables *it, const struct held *held);
/* Sends the held messages that need not wait longer. */
void variables_release(struct variables *it);
void variables_listen(struct variables *it, struct worker_objects *objects);
/* The kinds of things in a message of which more may become known. */
enum told_kind { TOLD_OBJECT, TOLD_ACTOR, TOLD_ALL_OF_OBJECT, TOLD_STORE, TOLD_COUNT };
void render_shows(struct render *render, enum told_kind kind, const struct object_id *id,
                  const char *actor_id);
/* Facts have come: sends `invalidated` if something that was sent looks different by them. */
void variables_announce(struct variables *it, struct worker_objects *objects);

/* variables_gather.c */
/* annotate_applies(), or its result from the scan while the response was gathered. */
bool variables_applies(const struct variables *it, const struct held *held);
/* True if only the response's head was read: annotate_unchecked() is to check the rest. */
bool variables_unchecked(const struct variables *it, const struct held *held);
/* known_inherit(), or the same with the runs that the scan has found. */
void variables_inherit(struct variables *it, const struct held *held);
/* variables_take_spare() gives an empty buffer, with the memory of `spare` if there is any;
 * variables_save_spare() keeps the memory of a large one for the next, and leaves `used` empty. */
struct buf variables_take_spare(struct buf *spare);
void variables_save_spare(struct variables *it, struct buf *used, struct buf *spare);
void variables_drop_spares(struct variables *it);
/* Drops the answer that is being gathered; its request gets no response. */
void variables_drop_gather(struct variables *it);

/* variables_own.c */
void variables_answer(struct variables *it, const struct held *held);

/* array_views.c */
/* Asks which object's memory an array shows: to be called when a client asks for its children. */
void variables_ask_view(struct variables *it, struct worker_objects *objects, int64_t reference);
/* Drops the requests of variables_ask_view(): their answers do not count any more. */
void variables_drop_views(struct variables *it);
bool array_views_pending(const struct variables *it, int64_t reference);

#endif
