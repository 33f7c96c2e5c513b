#include "dap/splice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Most pieces between two edits are short, and there are four in each row of thousands: they are
 * copied without a call. */
static inline char *put(char *to, const char *bytes, size_t len)
{
    enum { BLOCK = 16, PAIR = 2 * BLOCK, SHORT = 2 * PAIR };
    if (len < BLOCK || len > SHORT)
        return len ? mempcpy(to, bytes, len) : to;
    /* The last two blocks may overlap the first two, which have been written with the same bytes.
     */
    size_t second = len > PAIR ? BLOCK : 0;
    memcpy(to, bytes, BLOCK);
    memcpy(to + second, bytes + second, BLOCK);
    memcpy(to + len - BLOCK - second, bytes + len - BLOCK - second, BLOCK);
    memcpy(to + len - BLOCK, bytes + len - BLOCK, BLOCK);
    return to + len;
}

void splice_apply(const char *text, size_t len, const struct edit *edits, size_t count,
                  struct buf *out)
{
    size_t at = 0, room = len;
    for (size_t i = 0; i < count; i++)
        room += edits[i].len;
    char *to = buf_reserve(out, room);
    for (size_t i = 0; i < count; i++) {
        to = put(to, text + at, edits[i].at.at - at);
        to = put(to, edits[i].with, edits[i].len);
        at = edits[i].at.at + edits[i].at.len;
    }
    to = put(to, text + at, len - at);
    *to = '\0';
    out->len = (size_t)(to - out->data);
}

void splice_over(struct splice *splice, struct span at)
{
    buf_add(splice->out, splice->text + splice->done, at.at - splice->done);
    splice->done = at.at + at.len;
}

bool splice_end(struct splice *splice, size_t len)
{
    if (splice->done)
        buf_add(splice->out, splice->text + splice->done, len - splice->done);
    return splice->done > 0;
}

/* A number to write, with its key if the message does not have the key. */
struct number {
    char text[48];
    struct edit edit;
};

static void set_number(struct number *number, const struct envelope *envelope, const char *key,
                       struct span at, int64_t value)
{
    int len = at.len
                  ? snprintf(number->text, sizeof number->text, "%" PRId64, value)
                  : snprintf(number->text, sizeof number->text, "\"%s\":%" PRId64 ",", key, value);
    /* A new key goes first, with a comma: the object is never empty, it has a type. */
    if (!at.len)
        at.at = envelope->whole.at + 1;
    number->edit = (struct edit){at, number->text, (size_t)len};
}

size_t splice_seq_head(const char *text, const struct envelope *envelope, int64_t seq,
                       int64_t request_seq, struct buf *out)
{
    struct number own, request;
    size_t count = 1;
    set_number(&own, envelope, "seq", envelope->seq_at, seq);
    struct edit edits[2] = {own.edit};
    if (envelope->kind == DAP_RESPONSE) {
        set_number(&request, envelope, "request_seq", envelope->request_seq_at, request_seq);
        bool first = request.edit.at.at < own.edit.at.at;
        edits[first ? 0 : 1] = request.edit;
        edits[first ? 1 : 0] = own.edit;
        count = 2;
    }
    size_t behind = edits[count - 1].at.at + edits[count - 1].at.len;
    splice_apply(text, behind, edits, count, out);
    return behind;
}

void splice_seq(const char *text, size_t len, const struct envelope *envelope, int64_t seq,
                int64_t request_seq, struct buf *out)
{
    size_t behind = splice_seq_head(text, envelope, seq, request_seq, out);
    buf_add(out, text + behind, len - behind);
}
