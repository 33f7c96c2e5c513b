/* Writes what is known of Ray's objects into what a debugger shows of its variables: the telling
 * part first, because an editor's row has some 23 characters. Pure: no I/O, no clock.
 *
 *   8.0 MB · pid 5842@node-1 · ObjectRef(00…)        pending SUBMITTED_TO_WORKER · ObjectRef(00…)
 *   8.0 MB spilled · pid 5842@node-1 · ObjectRef(…)  lost (owner died) · ObjectRef(00…)
 *   H "name" · pid 7@node-1 · ALIVE · Actor(H, …)    12 refs, 96 MB · [ObjectRef(00…), …]
 *
 * What is not known is left out. Of a container all references count, the bytes of an object once;
 * "12+ refs, 96+ MB" if debugpy shows but a part of it, "12 refs, 96+ MB" if some sizes are not
 * known.
 *
 * Only values are touched that are a reference (the whole value is `ObjectRef(<56 hex digits>)` and
 * the type is ObjectRef), an actor's handle (`Actor(Class, <32 hex digits>)`, type ActorHandle), or
 * a container of Python's whose repr has references outside of its string literals and of other
 * classes' reprs. Every other byte of the message stays as it was: text is only put in. A container
 * whose repr cannot be read for sure (debugpy has cut a string with quotes in it, say) stays, too.
 */
#ifndef RAYDBG_RELAY_ANNOTATE_H
#define RAYDBG_RELAY_ANNOTATE_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "proto/object_records.h"

#include <stdbool.h>

/* What the row of one object says. */
struct object_note {
    enum object_state {
        OBJECT_STATE_UNKNOWN, /* nothing is known: no annotation */
        OBJECT_STATE_READY,
        OBJECT_STATE_PENDING, /* `status` says how far it is */
        OBJECT_STATE_SPILLED,
        OBJECT_STATE_LOST, /* `status` says why: "owner died", "node died" */
    } state;
    int64_t size;   /* bytes; -1: unknown */
    char owner[96]; /* "pid 5842@node-1", or "" */
    char status[64];
};

struct actor_note {
    char class_name[64], name[64]; /* name "" if it has none */
    char node[64];                 /* host name or ip */
    int64_t pid;                   /* 0: unknown */
    char state[32];                /* "ALIVE", "RESTARTING", "DEAD" */
};

/* From `objectStore` in the attach arguments; all zero is the default. */
struct annotate_options {
    bool off; /* "annotate": "off" */
    enum annotate_unit { ANNOTATE_AUTO, ANNOTATE_B, ANNOTATE_KB, ANNOTATE_MB, ANNOTATE_GB } unit;
    bool no_size, no_owner, no_state; /* "fields": those that are not named */
};

/* What stands behind a row that can be expanded. */
enum annotate_kind {
    ANNOTATE_REF,       /* `id` */
    ANNOTATE_ACTOR,     /* `actor_id` */
    ANNOTATE_CONTAINER, /* of refs */
    ANNOTATE_ARRAY,     /* numpy array, Arrow table or array, pandas frame or series: by its type */
};

struct annotate_seen {
    enum annotate_kind kind;
    int64_t reference; /* its variablesReference; 0: cannot be expanded */
    struct object_id id;
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)];
    const char *name;          /* unescaped; "" in an answer to `evaluate` */
    const char *evaluate_name; /* unescaped, or "" */
};

struct annotate_source {
    /* False: not known, or not yet. Else all of *out is set. */
    bool (*object)(void *arg, const struct object_id *id, struct object_note *out);
    bool (*actor)(void *arg, const char *actor_id, struct actor_note *out);
    /* Each row that is of interest, annotated or not; and each object within a container once,
     * right after it, with its names and `reference` 0. May be NULL. */
    void (*seen)(void *arg, const struct annotate_seen *seen);
    void *arg;
};

/* Whether the message may hold anything to annotate or to be seen: a cheap look, never wrong when
 * false, as debugpy writes JSON (no letter is escaped). */
bool annotate_applies(const char *json, size_t len);

/* Appends the response (`variables`, `evaluate`, `setVariable`, `setExpression`; `command` says
 * which) with its values annotated. References get "readOnly" in presentationHint.attributes, known
 * or not; but in `setVariable`'s answer, where DAP has no hint. False, and nothing appended, if
 * there is nothing to change: also for a failure, and with options->off (`seen` is called then).
 * Not to be called for the answer to an `evaluate` with context "clipboard": who copies a value
 * wants debugpy's. `json` was read by envelope_read(). */
bool annotate_response(const char *command, const char *json, size_t len,
                       const struct envelope *response, const struct annotate_options *options,
                       const struct annotate_source *source, struct buf *out);

/* The annotated text of one reference, as a row shows it; appends. */
void annotate_object(const struct object_id *id, const struct object_note *note,
                     const struct annotate_options *options, struct buf *out);
/* "8.0 MB", "817 B"; -1 gives "? B". 1 MB is 10^6 bytes, as in `ray memory --units MB`. Appends. */
void annotate_size(int64_t bytes, enum annotate_unit unit, struct buf *out);

/* An edit box starts from the annotated text: appends the request (`setVariable`, `setExpression`,
 * `evaluate`) with the annotation in front of its value or expression taken away: all up to the
 * last " · " that has no quote (but around an actor's name) and no '#' in front of it. Python has
 * no " · " outside of strings and comments, so that nothing a user meant is lost. False, and
 * nothing appended, if there is none. */
bool annotate_strip(const char *json, size_t len, const struct envelope *request, struct buf *out);

#endif
