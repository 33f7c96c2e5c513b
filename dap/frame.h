/* The DAP base protocol: `Content-Length: N\r\n\r\n` and N bytes of JSON. No I/O. */
#ifndef RAYDBG_DAP_FRAME_H
#define RAYDBG_DAP_FRAME_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Header bytes that a peer may send, the empty line among them. */
#define FRAME_HEADER_LIMIT 4096
/* Room for any header that frame_header() writes. */
#define FRAME_HEADER_ROOM 48

/* How much of a large body is collected before FRAME_LARGE. */
#define FRAME_HEAD_SIZE 16384

enum frame_status {
    FRAME_MORE,    /* all bytes were consumed, a message is not complete yet */
    FRAME_MESSAGE, /* frame_body() is one whole message; call again with the rest */
    FRAME_ERROR,   /* the stream is lost: frame_problem() says why; feed no more */
    /* Only after frame_set_large(): frame_body() is a message's first FRAME_HEAD_SIZE bytes, */
    FRAME_LARGE,
    FRAME_PART, /* and what was consumed is its next ones. frame_left() are to come. */
};

/* Opaque but for the tests; initialise with frame_init(). */
struct frame {
    struct buf header;
    struct buf body;
    size_t max_body;
    size_t large; /* 0: none is */
    size_t expected;
    size_t passed; /* bytes of a body that were not collected, head included */
    size_t line;   /* where in `header` the current line starts */
    bool has_length;
    int state;
    char *problem; /* NULL until the stream is lost: there are thousands */
};

/* A body of more than `max_body` bytes is an error, told from its header alone. */
void frame_init(struct frame *frame, size_t max_body);
void frame_free(struct frame *frame);
/* A body of more than `large` (>= FRAME_HEAD_SIZE) bytes gives FRAME_LARGE first. The next
 * frame_feed() goes on to collect it (FRAME_ERROR if it is above max_body), unless frame_pass() was
 * called: then its rest comes as FRAME_PART, of any length in all, and is not kept. */
void frame_set_large(struct frame *frame, size_t large);
void frame_pass(struct frame *frame);
/* Bytes of the body under way that are still to come; 0 in a header or between messages. */
size_t frame_left(const struct frame *frame);
/* The stream may start inside a message: all is skipped up to the next `Content-Length: N`, empty
 * line and `{`, which never stand so in JSON (its strings hold no raw CR). Nothing is skipped of a
 * stream that starts with that. Call before the first frame_feed(). */
void frame_resync(struct frame *frame);
/* Frees the memory that the next message may have again, if a message is not under way. */
void frame_trim(struct frame *frame);

/* Reads from `bytes`; `*consumed` says how many it took. Header names are case-insensitive, other
 * headers than Content-Length are skipped, bare LF is accepted as a line end. What comes out does
 * not depend on how the bytes are cut into calls. */
enum frame_status frame_feed(struct frame *frame, const char *bytes, size_t len, size_t *consumed);

/* The message after FRAME_MESSAGE: valid, and NUL-terminated, until the next frame_feed(). */
const char *frame_body(const struct frame *frame, size_t *len);
/* One sentence, fit for a user, after FRAME_ERROR. */
const char *frame_problem(const struct frame *frame);
/* True between messages: an end of stream here is clean. */
bool frame_idle(const struct frame *frame);

/* Writes the header of a body of `len` bytes; returns its length. */
size_t frame_header(char out[FRAME_HEADER_ROOM], size_t len);
/* Appends the header of a body that is `head` and `rest_len` bytes more, and `head`. */
void frame_start(struct buf *out, const char *head, size_t head_len, size_t rest_len);

#endif
