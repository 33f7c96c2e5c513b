/* The inside of session_objects.h, for the files that make it up: session_objects.c (requests and
 * responses), session_objects_wait.c (what waits, and what was told), session_objects_own.c (what
 * the session answers itself), session_objects_view.c (arrays that are views of the store),
 * session_objects_again.c (answers that come in parts, and such as came before). */
#ifndef RAYDBG_RELAY_SESSION_OBJECTS_STATE_H
#define RAYDBG_RELAY_SESSION_OBJECTS_STATE_H

#include "relay/id_map.h"
#include "relay/objects.h"
#include "relay/session_objects.h"
#include "relay/session_objects_kept.h"
#include "relay/session_objects_known.h"
#include "relay/session_objects_rows.h"

/* What a request said that its response does not repeat. */
struct asked {
    struct asked *next;
    int64_t seq;       /* the client's */
    int64_t reference; /* variablesReference, or 0 */
    int64_t frame;     /* that it is about, or 0 */
    bool clipboard;
};

/* A message that waits for facts. */
struct held {
    struct held *next;
    enum held_kind {
        HELD_RESPONSE,  /* debuggee's, to be passed on */
        HELD_VARIABLES, /* a request, for a row of the session's own */
        HELD_LIST,      /* a request, raydbg/objects */
    } kind;
    char command[DAP_NAME_MAX];
    char *json;
    size_t len;
    struct asked asked;
    bool applies;   /* a response that has values to annotate */
    unsigned wants; /* what objects_settled() says nothing about: WANTS_… */
};
enum {
    WANTS_ACTORS = 1, /* known when anything more is known, or not in this stop */
    WANTS_STORE = 2,
};

struct session_objects {
    struct session *session;
    int64_t generation; /* of what `known` and `told` have */
    bool listening;
    struct known known;
    struct id_map told; /* what was sent before all was known, by hash */
    struct asked *asked;
    struct held *held; /* oldest first */
    size_t held_bytes;
    struct timer *patience; /* ends the waiting */
    struct timer *quiet;    /* lets facts come together before they are announced */
    struct view_ask *view_asks;
    struct kept_list kept; /* of this stop */
    struct buf spare;      /* what the last one was gathered in, for the next */
    struct buf spare_edited;
    struct timer *idle;    /* drops all of them if they are of no use any more */
    struct gather *gather; /* an answer that comes in parts and is wanted whole, or NULL */
    struct gather *given;  /* one that has come, while it is passed on; or NULL */
    bool *destroyed;       /* set meanwhile, to see whether this was destroyed */
    bool flushing;         /* nothing is to be held again */
    bool tired;            /* facts were waited for in vain: not again, until some come */
    bool knows_actors;     /* all that will be known of them in this stop */
    bool view_late;        /* a response was sent before it was known that it shows a view */
};

/* What is made for one message. */
struct render {
    struct session_objects *it;
    struct objects *objects;
    struct row_source rows;
    int64_t frame;
    size_t missing; /* references of which nothing can be said yet */
    size_t wanted;
    unsigned wants;
    bool pending; /* it shows an object that is not made yet: another look may find that it is */
    struct id_key *shown; /* what it says that may become known better */
    size_t shown_count, shown_room;
};

/* session_objects.c */
/* What the session's debuggee has; NULL: there is no cluster, or no debuggee. */
struct objects *session_objects_of(const struct session *session);
struct render session_objects_render(struct session_objects *it, struct objects *objects,
                                     int64_t frame);
/* Ends it. If it was sent, what it shows is noted as told. */
void render_end(struct render *render, bool sent);
/* An object in the message: more is wanted of it, and that it is shown is noted. */
void render_object(struct render *render, const struct object_id *id);
void session_objects_pass(struct session_objects *it, const struct held *held);

/* session_objects_wait.c */
/* More may become known without anything being asked again. */
bool facts_pending(const struct objects *objects);
/* The same, or something will be asked again: the worker, which did not answer, or for the task
 * that made an object. Nobody waits for that. */
bool facts_may_come(const struct objects *objects);
/* Keeps a copy. */
void session_objects_hold(struct session_objects *it, const struct held *held);
/* Sends those that need not wait any more. */
void session_objects_release(struct session_objects *it);
void session_objects_listen(struct session_objects *it, struct objects *objects);
/* What a message shows of a thing that may become known better. */
enum told_kind { TOLD_OBJECT, TOLD_ACTOR, TOLD_ALL_OF_OBJECT, TOLD_STORE, TOLD_COUNT };
void render_shows(struct render *render, enum told_kind kind, const struct object_id *id,
                  const char *actor_id);
/* Something that was sent may look different now. */
void session_objects_announce(struct session_objects *it, struct objects *objects);

/* session_objects_again.c */
/* True: the response came before in this stop, nothing that was said in it has changed, and it is
 * sent as it was then; *as_it_is: by the caller, unchanged. */
bool session_objects_send_again(struct session_objects *it, const struct held *held,
                                const struct envelope *envelope, bool *as_it_is);
/* annotate_applies(), which may have been asked before. */
bool session_objects_applies(const struct session_objects *it, const struct held *held);
/* known_inherit(), of what may have been looked at before. */
void session_objects_inherit(struct session_objects *it, const struct held *held);
/* The response is sent as `edited`, or unchanged if that is empty; it stays where it is. */
void session_objects_keep(struct session_objects *it, const struct render *render,
                          const struct held *held, const struct envelope *envelope,
                          const struct buf *edited);
/* An empty buffer to annotate an answer into, and what became of it, for the next: the buffer is
 * empty after. */
struct buf session_objects_take_spare(struct session_objects *it);
void session_objects_save_spare(struct session_objects *it, struct buf *edited);
void session_objects_drop_kept(struct session_objects *it);
/* What is gathered is forgotten; its request is not answered. */
void session_objects_drop_gather(struct session_objects *it);

/* session_objects_own.c */
void session_objects_answer(struct session_objects *it, const struct held *held);

/* session_objects_view.c */
/* Before or while the children of an array are asked for: which object's memory it shows. */
void session_objects_ask_view(struct session_objects *it, struct objects *objects,
                              int64_t reference);
/* Whose answers nobody waits for any more. */
void session_objects_drop_views(struct session_objects *it);
bool session_objects_view_pending(const struct session_objects *it, int64_t reference);

#endif
