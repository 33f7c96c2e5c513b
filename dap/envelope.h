/* The parts of a DAP message that a router needs, read in one pass over its top-level keys. */
#ifndef RAYDBG_DAP_ENVELOPE_H
#define RAYDBG_DAP_ENVELOPE_H

#include "dap/scan.h"

#include <stdbool.h>
#include <stdint.h>

enum dap_kind { DAP_REQUEST, DAP_RESPONSE, DAP_EVENT };

#define DAP_NAME_MAX 64

/* Spans point into the text given to envelope_read(); a span of length 0 means there is none.
 * Only top-level keys count: a nested "seq" is never taken for that of the message. */
struct envelope {
    enum dap_kind kind;
    char name[DAP_NAME_MAX]; /* command or event, unescaped; may be "" unless it is a request */
    int64_t seq;             /* 0 if absent: some clients leave it out of events */
    int64_t request_seq;     /* responses */
    bool success;            /* responses; false if absent */
    struct span whole;       /* the object, without surrounding white space */
    struct span seq_at;
    struct span request_seq_at;
    struct span arguments; /* requests */
    struct span body;      /* responses, events */
    struct span message;   /* responses */
    /* The seq of another request: cancel.arguments.requestId, progressStart.body.requestId. */
    int64_t nested_id;
    struct span nested_id_at;
};

/* 0, or -1 with one sentence in `problem` (static storage, fit for a user): the message is not
 * JSON, not an object, or has no type; a request has no command, or one that is too long; an event
 * has no name; a request's seq or a response's request_seq is not an integer.
 *
 * Only the parts that a router needs are checked. The relay replaces the seq of a response or an
 * event: if it is not an integer, `seq` is 0 and `seq_at` is still set. The relay finds a response
 * by its request_seq: if its command is missing, not a string or too long, `name` is "". It is also
 * "" for an event whose name is too long: the relay knows no such event. */
int envelope_read(struct envelope *envelope, const char *text, size_t len, const char **problem);

/* Reads the start of a response or an event that has not arrived completely: `text` may be cut
 * anywhere. True if type, seq and event, or type, seq, request_seq and success, all precede a
 * `body` or `message` key that `text` reaches. If a response's command does not, `name` is "". Then
 * the spans of seq and request_seq are set, and whole.at, and body.at if a `body` starts within
 * `text`; the lengths of body, message and whole are 0. Only top-level keys whose values are
 * complete count. A JSON parser would prefer a second key of the same name behind the body, which
 * is not read here; no adapter writes one. False for a progressStart, whose id is in its body. */
bool envelope_read_head(struct envelope *envelope, const char *text, size_t len);

/* The text of the result in the answer to an `evaluate`. NULL if there is no answer (`json` is
 * NULL), if it failed, or if it has none. The caller frees it. */
char *envelope_result(const char *json, const struct envelope *response);

/* Computes the envelope of `json`, an edited message, without reading it again, unless it has a
 * nested id. `before` is the envelope of the message before the edit, when it had `len_before`
 * bytes; all edits are inside its arguments or body. */
void envelope_moved(const struct envelope *before, size_t len_before, const char *json, size_t len,
                    struct envelope *out);

#endif
