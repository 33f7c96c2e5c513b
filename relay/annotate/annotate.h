/* Annotates the variables that a debugger shows with facts about Ray's objects, the most useful one
 * first, because an editor's row has some 23 characters. Pure: no I/O, no clock.
 *
 *   8.0 MB · pid 5842@node-1 · ObjectRef(00…)        pending SUBMITTED_TO_WORKER · ObjectRef(00…)
 *   8.0 MB spilled · pid 5842@node-1 · ObjectRef(…)  lost (owner died) · ObjectRef(00…)
 *   H "name" · pid 7@node-1 · ALIVE · Actor(H, …)    12 refs, 96 MB · [ObjectRef(00…), …]
 *
 * Unknown facts are left out. A container's row counts all its references, and the bytes of each
 * object once: "12+ refs, 96+ MB" if debugpy shows only a part of the container, "12 refs, 96+ MB"
 * if some sizes are unknown.
 *
 * A value is annotated if it is a reference (the whole value is `ObjectRef(<56 hex digits>)` and
 * the type is ObjectRef), an actor's handle (`Actor(Class, <32 hex digits>)`, type ActorHandle), or
 * one of Python's containers whose repr has references outside of its string literals and of other
 * classes' reprs. Text is only inserted: every other byte of the message stays unchanged. So does a
 * container whose repr cannot be read with certainty (debugpy may cut a string that has quotes). */
#ifndef RAYDBG_RELAY_ANNOTATE_ANNOTATE_H
#define RAYDBG_RELAY_ANNOTATE_ANNOTATE_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "proto/object_records.h"

#include <stdbool.h>

/* The facts that the row of one object shows. The texts are borrowed, and stay until the loop goes
 * on. */
struct object_note {
    enum object_state {
        OBJECT_STATE_UNKNOWN, /* nothing is known: no annotation */
        OBJECT_STATE_READY,
        OBJECT_STATE_PENDING, /* `status` is its progress */
        OBJECT_STATE_SPILLED,
        OBJECT_STATE_LOST, /* `status` is the reason: "owner died", "node died" */
    } state;
    int64_t size;           /* bytes; -1: unknown */
    int64_t owner_pid;      /* 0: unknown */
    const char *owner_node; /* host name or ip; not NULL with a pid */
    const char *status;     /* or NULL */
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
    bool no_size, no_owner, no_state; /* "fields": true for each one not named */
};

/* The kinds of values that annotate_source's `seen` gets. */
enum annotate_kind {
    ANNOTATE_REF,       /* `id` */
    ANNOTATE_ACTOR,     /* `actor_id` */
    ANNOTATE_CONTAINER, /* of refs */
    ANNOTATE_ARRAY,     /* numpy array, Arrow table or array, pandas frame or series: by its type */
};

/* Unescaped, without a NUL at its end; it stays until the callback returns. */
struct annotate_name {
    const char *at;
    size_t len; /* 0: there is none */
};

struct annotate_seen {
    enum annotate_kind kind;
    int64_t reference; /* its variablesReference; 0: cannot be expanded */
    struct object_id id;
    char actor_id[ID_TEXT(ID_ACTOR_BYTES)];
    struct annotate_name name, evaluate_name; /* no name in an answer to `evaluate` */
};

struct annotate_source {
    /* False if nothing is known (yet); else all of *out is set. */
    bool (*object)(void *arg, const struct object_id *id, struct object_note *out);
    bool (*actor)(void *arg, const char *actor_id, struct actor_note *out);
    /* Gets each row of an annotate_kind, annotated or not; right after a container also each object
     * in it, once, with the container's names and `reference` 0. May be NULL. */
    void (*seen)(void *arg, const struct annotate_seen *seen);
    /* Gets the variablesReferences of the rows of a `variables` response, of any kind, that can be
     * expanded: each run of rows whose references count up by one. May be NULL. */
    void (*children)(void *arg, int64_t first, int64_t last);
    void *arg;
};

/* True if the message may hold anything to annotate or for `seen`: a cheap check. False is certain,
 * because debugpy escapes no letters in its JSON. */
bool annotate_applies(const char *json, size_t len);

/* Appends the response to `command` (`variables`, `evaluate`, `setVariable`, `setExpression`) with
 * its values annotated. References, known or not, get "readOnly" in presentationHint.attributes,
 * except in a `setVariable` response, where DAP has no hint. Returns false and appends nothing if
 * there is nothing to change, also for a failed response, and with options->off (which still calls
 * `seen`). Do not call it for the response to an `evaluate` with context "clipboard": a user who
 * copies a value wants debugpy's. `json` was read by envelope_read(). */
bool annotate_response(const char *command, const char *json, size_t len,
                       const struct envelope *response, const struct annotate_options *options,
                       const struct annotate_source *source, struct buf *out);

/* The same for a response of which only the head was read, with envelope_read_head(), and whose
 * body is taken to reach to the message's end. The pass that annotates checks the rest, so that no
 * other pass has to. *checked is false, and nothing is appended, if the rest is malformed or has a
 * key behind the body: only envelope_read() can then tell what the response is. `seen` and `object`
 * may have been called. */
bool annotate_unchecked(const char *command, const char *json, size_t len,
                        const struct envelope *head, const struct annotate_options *options,
                        const struct annotate_source *source, struct buf *out, bool *checked);

/* Appends the annotated text of one reference, as a row shows it. */
void annotate_object(const struct object_id *id, const struct object_note *note,
                     const struct annotate_options *options, struct buf *out);
/* Appends the owner, "pid 5842@node-1", or nothing if it is unknown. */
void annotate_owner(const struct object_note *note, struct buf *out);
/* Appends "8.0 MB", "817 B"; "? B" for -1. 1 MB is 10^6 bytes, as in `ray memory --units MB`. */
void annotate_size(int64_t bytes, enum annotate_unit unit, struct buf *out);

/* An editor's edit box starts from the annotated text: appends the request (`setVariable`,
 * `setExpression`, `evaluate`) without the annotation in front of its value or expression, which is
 * all text up to the last " · " that has no quote (except around an actor's name) and no '#' in
 * front of it. Python has no " · " outside of strings and comments, so no text of the user's is
 * lost. Returns false and appends nothing if there is no annotation. */
bool annotate_strip(const char *json, size_t len, const struct envelope *request, struct buf *out);

#endif
