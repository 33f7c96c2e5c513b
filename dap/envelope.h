/* What a router must know of a DAP message, read in one pass over its top-level keys. */
#ifndef RAYDBG_DAP_ENVELOPE_H
#define RAYDBG_DAP_ENVELOPE_H

#include "dap/scan.h"

#include <stdbool.h>
#include <stdint.h>

enum dap_kind { DAP_REQUEST, DAP_RESPONSE, DAP_EVENT };

#define DAP_NAME_MAX 64

/* Spans point into the text given to envelope_read(); a span of length 0 means there is none.
 * Only top-level keys count: a nested "seq" is never taken for the message's. */
struct envelope {
    enum dap_kind kind;
    char name[DAP_NAME_MAX]; /* command or event, unescaped */
    int64_t seq;             /* 0 if absent: some clients leave it out of events */
    int64_t request_seq;     /* responses */
    bool success;            /* responses; false if absent */
    struct span whole;       /* the object, without surrounding white space */
    struct span seq_at;
    struct span request_seq_at;
    struct span arguments; /* requests */
    struct span body;      /* responses, events */
    struct span message;   /* responses */
    /* cancel.arguments.requestId, progressStart.body.requestId: a seq of the other side. */
    int64_t nested_id;
    struct span nested_id_at;
};

/* 0, or -1 with one sentence in `problem` (static storage, fit for a user): not JSON, not an
 * object, no type, no command/event, a seq or request_seq that is no integer, a name too long. */
int envelope_read(struct envelope *envelope, const char *text, size_t len, const char **problem);

/* Reads the start of a response or an event of which more is to come: `text` may be cut anywhere.
 * True if type, seq and event, or type, seq, request_seq, command and success, all stand in front
 * of a `body` or `message` key that `text` reaches. The spans of seq and request_seq are set then,
 * and whole.at, and body.at if a `body` starts within `text`; the lengths of body, message and
 * whole are 0. Only top-level keys whose values are complete count. What is not read can still
 * surprise: one of these keys again behind the body would win with a JSON parser; no adapter writes
 * that. False for a progressStart, whose id is in its body.
 */
bool envelope_read_head(struct envelope *envelope, const char *text, size_t len);

/* The envelope of `json`, without a second reading: `before` is that of the message before its
 * arguments or body were edited, when it was `len_before` bytes long, with the edits inside them.
 */
void envelope_moved(const struct envelope *before, size_t len_before, const char *json, size_t len,
                    struct envelope *out);

#endif
