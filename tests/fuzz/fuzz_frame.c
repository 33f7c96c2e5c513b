/* Feeds a stream to the framing at once and in pieces: both must see the same messages, and what
 * it took for a message must be framed as it says. */
#include "dap/frame.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BODY = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
    if (!condition)
        abort();
}

/* Reads on; false once the stream is lost. Each message goes to `log`, framed anew. */
static bool feed(struct frame *frame, const char *bytes, size_t len, struct buf *log)
{
    for (;;) {
        size_t used, body_len;
        char header[FRAME_HEADER_ROOM];
        enum frame_status status = frame_feed(frame, bytes, len, &used);
        check(used <= len);
        bytes += used;
        len -= used;
        if (status == FRAME_ERROR) {
            check(frame_problem(frame)[0]);
            buf_add_string(log, frame_problem(frame));
            return false;
        }
        if (status == FRAME_MORE) {
            check(len == 0);
            return true;
        }
        const char *body = frame_body(frame, &body_len);
        check(body_len <= MAX_BODY && body[body_len] == '\0' && frame_idle(frame));
        buf_add(log, header, frame_header(header, body_len));
        buf_add(log, body, body_len);
    }
}

static void read_whole(const char *bytes, size_t len, struct buf *log, bool *lost)
{
    struct frame frame;
    frame_init(&frame, MAX_BODY);
    *lost = !feed(&frame, bytes, len, log);
    frame_free(&frame);
}

static void read_pieces(const char *bytes, size_t len, size_t piece, struct buf *log)
{
    struct frame frame;
    bool good = true;
    frame_init(&frame, MAX_BODY);
    for (size_t at = 0; good && at < len; at += piece)
        good = feed(&frame, bytes + at, len - at < piece ? len - at : piece, log);
    frame_free(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = {0}, pieces = {0}, again = {0};
    bool lost, lost_again;
    if (size < 1)
        return 0;
    const char *bytes = (const char *)data + 1;
    buf_add_string(&whole, "");
    buf_add_string(&pieces, "");
    buf_add_string(&again, "");
    read_whole(bytes, size - 1, &whole, &lost);
    read_pieces(bytes, size - 1, 1 + data[0] % 32, &pieces);
    check(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
    if (!lost) {
        read_whole(whole.data, whole.len, &again, &lost_again);
        check(!lost_again && whole.len == again.len &&
              memcmp(whole.data, again.data, whole.len) == 0);
    }
    buf_free(&whole);
    buf_free(&pieces);
    buf_free(&again);
    return 0;
}
