/* Replaces spans of a text and keeps every other byte unchanged. */
#ifndef RAYDBG_DAP_SPLICE_H
#define RAYDBG_DAP_SPLICE_H

#include "base/buf.h"
#include "dap/envelope.h"

/* `at.len` 0 inserts before `at.at`. `with` is borrowed until splice_apply() returns. */
struct edit {
    struct span at;
    const char *with;
    size_t len;
};

/* Appends the edited text to `out`. Edits must be in ascending order and must not overlap. */
void splice_apply(const char *text, size_t len, const struct edit *edits, size_t count,
                  struct buf *out);

/* Edits one after the other, for a caller that does not know them all in advance: splice_over()
 * each span in ascending order, append the replacement to `out`, then splice_end(). */
struct splice {
    const char *text;
    struct buf *out;
    size_t done; /* of the text */
};

/* Appends the text up to the span, which is not empty, and leaves the span out. */
void splice_over(struct splice *splice, struct span at);
/* Appends the rest. False, with nothing appended, if there was no edit. */
bool splice_end(struct splice *splice, size_t len);

/* Appends the message with a new seq (and, in a response, request_seq) to `out`, without a header.
 * A message without a seq gets one. `request_seq` is ignored unless the message is a response. */
void splice_seq(const char *text, size_t len, const struct envelope *envelope, int64_t seq,
                int64_t request_seq, struct buf *out);
/* Appends only the start of the message, up to its last change. The caller adds `text` from the
 * returned offset on, which does not change. */
size_t splice_seq_head(const char *text, const struct envelope *envelope, int64_t seq,
                       int64_t request_seq, struct buf *out);

#endif
