/* The DAP base protocol: `Content-Length: N\r\n\r\n` and N bytes of JSON. No I/O. */
#ifndef RAYDBG_DAP_FRAME_H
#define RAYDBG_DAP_FRAME_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* The longest header that a peer may send, in bytes, including the empty line. */
#define FRAME_HEADER_LIMIT 4096
/* Room for any header that frame_header() writes. */
#define FRAME_HEADER_ROOM 48

/* Bytes of a large body that are collected before FRAME_LARGE. */
#define FRAME_HEAD_SIZE 16384

enum frame_status {
    FRAME_MORE,    /* all bytes were consumed, a message is not complete yet */
    FRAME_MESSAGE, /* frame_body() is one whole message; call again with the rest */
    FRAME_ERROR,   /* the stream is lost: frame_problem() says why; feed no more */
    /* Only after frame_set_large(): */
    FRAME_LARGE, /* frame_body() is the first FRAME_HEAD_SIZE bytes of a message */
    FRAME_PART,  /* the consumed bytes are the next ones of its body; frame_left() more follow */
};

/* Opaque, except to the tests; initialise with frame_init(). */
struct frame {
    struct buf header;
    struct buf body;
    size_t max_body;
    size_t large; /* see frame_set_large(); 0: no body is large */
    size_t expected;
    size_t passed; /* bytes of the body so far, head included, after frame_pass() */
    size_t line;   /* where in `header` the current line starts */
    bool has_length;
    int state;
    char *problem; /* NULL until the stream is lost; allocated, as there are thousands */
};

/* A body of more than `max_body` bytes is an error, as soon as its header has been read. */
void frame_init(struct frame *frame, size_t max_body);
void frame_free(struct frame *frame);
/* A body of more than `large` (>= FRAME_HEAD_SIZE) bytes gives FRAME_LARGE first. The next
 * frame_feed() then collects the whole body (FRAME_ERROR if it is above max_body), unless the
 * caller has called frame_pass(): then the rest, of any length, comes as FRAME_PART and is not
 * kept. */
void frame_set_large(struct frame *frame, size_t large);
void frame_pass(struct frame *frame);
/* Bytes of the current body that have not arrived yet; 0 in a header or between messages. */
size_t frame_left(const struct frame *frame);
/* For a stream that may start inside a message: skips everything up to the next header line
 * `Content-Length: N`, empty line and `{`, a sequence that JSON cannot contain (its strings hold no
 * raw CR). A stream that starts with this sequence loses nothing. Call before the first
 * frame_feed(). */
void frame_resync(struct frame *frame);
/* Frees the buffers, which the next message allocates again. Does nothing inside a message. */
void frame_trim(struct frame *frame);

/* Reads from `bytes`; `*consumed` is how many it took. Header names are case-insensitive, headers
 * other than Content-Length are skipped, bare LF is accepted as a line end. The messages do not
 * depend on how the bytes are split into calls. */
enum frame_status frame_feed(struct frame *frame, const char *bytes, size_t len, size_t *consumed);

/* The message after FRAME_MESSAGE: valid, and NUL-terminated, until the next frame_feed(). */
const char *frame_body(const struct frame *frame, size_t *len);
/* One sentence, fit for a user, after FRAME_ERROR. */
const char *frame_problem(const struct frame *frame);
/* True between messages: an end of stream here is clean. */
bool frame_idle(const struct frame *frame);

/* Writes the header of a body of `len` bytes; returns its length. */
size_t frame_header(char out[FRAME_HEADER_ROOM], size_t len);
/* Appends the header of a body of `head_len` + `rest_len` bytes, and `head`, the body's start. */
void frame_start(struct buf *out, const char *head, size_t head_len, size_t rest_len);

#endif
