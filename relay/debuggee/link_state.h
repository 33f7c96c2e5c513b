/* The inside of a link, for its files: link.c (life, sending, Ray's pdb) and link_read.c
 * (reading). */
#ifndef RAYDBG_RELAY_DEBUGGEE_LINK_STATE_H
#define RAYDBG_RELAY_DEBUGGEE_LINK_STATE_H

#include "base/buf.h"
#include "base/invariant.h"
#include "dap/frame.h"
#include "relay/debuggee/link.h"

/* A request of the relay's own. It is the tag of its pending entry. */
struct link_request {
    struct link *link;
    struct link_request *next;
    struct timer *timer;
    link_answer_fn fn; /* NULL: an answer is dropped */
    void *arg;
};

/* Where the rest of a large message goes. */
enum large { LARGE_NONE, LARGE_OWNER, LARGE_NOBODY };

/* There are thousands of these, most of them idle: no buffer is kept between messages. */
struct link {
    uint32_t magic;
    struct stream *stream;
    struct loop *loop;
    struct pdb_handshake *handshake; /* NULL: the peer speaks DAP */
    struct frame frame;
    struct seqmap *pending;
    struct link_request *requests;
    const struct link_ops *ops;
    void *arg;
    int64_t first_seq;
    int64_t timeout_ms; /* on a connection to Ray's pdb */
    int closer;         /* the connection's slot in the closer, or -1 */
    bool greeting;      /* of debugpy's adapter, which has not wholly come */
    bool unguarded;     /* the peer is a pydevd: closing does no harm */
    struct timer *open; /* link_accept(): calls on_open */
    size_t owed;        /* requests that the adapter has not answered, even if their sender has
                         * gone */
    size_t excused;     /* see link_excuse() */
    size_t orphans;     /* of those owed, whose sender has gone: link_take_pending() */
    enum large large;
    struct buf rest;      /* bytes that wait until reading is enabled */
    struct timer *resume; /* delivers `rest` */
    char *ended;          /* why the stream has closed, until `rest` is delivered */
    bool stopped;         /* link_read_enable(…, false) */
    bool looked;          /* the last message was an answer after which the adapter sends nothing by
                           * itself */
    bool closed;
    int busy;    /* callbacks under way; a link destroyed meanwhile is freed after the last */
    bool doomed; /* destroyed: no more callbacks */
};
INVARIANT_MAGIC(link, 0x24bce598)
#define link_checked(object) link_checked_at(INVARIANT_HERE, object)

/* link.c */
/* Tells the closer what is unanswered or unsent, and if the greeting has come; call it after each
 * change. */
void link_note_owed(struct link *link);
/* Sends a message and frees it. */
void link_send_frame(struct link *link, struct buf *json);
/* Ends what a `busy++` began; frees a link that was destroyed meanwhile. */
void link_leave(struct link *link);
/* Only the first call has an effect: it runs large_end for a message under way, each link_ask()
 * callback, then on_close. Any of them may destroy the link: a caller that still needs it keeps it
 * `busy`. */
void link_close(struct link *link, const char *why);

/* link_read.c */
/* The stream's on_bytes and on_close, with the link. */
void link_on_stream_bytes(void *arg, const char *bytes, size_t len);
void link_on_stream_close(void *arg, const char *why);

#endif
