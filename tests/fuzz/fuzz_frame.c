/* Feeds a stream to the framing at once and in pieces: both must see the same messages, and what
 * it took for a message must be framed as it says. The same for a stream that starts inside a
 * message, of which the first whole message is found wherever the cut was. */
#include "fuzz.h"

#include "dap/frame.h"

enum { MAX_BODY = 4096 };

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

static void init(struct frame *frame, bool resync)
{
    frame_init(frame, MAX_BODY);
    if (resync)
        frame_resync(frame);
}

static void read_whole(const char *bytes, size_t len, bool resync, struct buf *log, bool *lost)
{
    struct frame frame;
    init(&frame, resync);
    *lost = !feed(&frame, bytes, len, log);
    frame_free(&frame);
}

static void read_pieces(const char *bytes, size_t len, bool resync, size_t piece, struct buf *log)
{
    struct frame frame;
    bool good = true;
    init(&frame, resync);
    for (size_t at = 0; good && at < len; at += piece)
        good = feed(&frame, bytes + at, len - at < piece ? len - at : piece, log);
    frame_free(&frame);
}

/* JSON holds no raw CR, so that no rest of a message looks like a header. */
static void check_found(const char *rest, size_t len)
{
    static const char message[] = "Content-Length: 14\r\n\r\n{\"whole\":true}";
    struct buf text = {0}, log = {0};
    bool lost;
    if (memchr(rest, '\r', len))
        return;
    buf_add(&text, rest, len);
    buf_add_string(&text, message);
    buf_add_string(&log, "");
    read_whole(text.data, text.len, true, &log, &lost);
    check(!lost && strcmp(log.data, message) == 0);
    buf_free(&text);
    buf_free(&log);
}

static void check_stream(const char *bytes, size_t len, bool resync, size_t piece)
{
    struct buf whole = {0}, pieces = {0}, again = {0};
    bool lost, lost_again;
    buf_add_string(&whole, "");
    buf_add_string(&pieces, "");
    buf_add_string(&again, "");
    read_whole(bytes, len, resync, &whole, &lost);
    read_pieces(bytes, len, resync, piece, &pieces);
    check(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
    if (!lost) {
        read_whole(whole.data, whole.len, false, &again, &lost_again);
        check(!lost_again && whole.len == again.len &&
              memcmp(whole.data, again.data, whole.len) == 0);
    }
    buf_free(&whole);
    buf_free(&pieces);
    buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char *bytes = copy_exact(data + 1, size - 1);
    check_stream(bytes, size - 1, false, 1 + data[0] % 32);
    check_stream(bytes, size - 1, true, 1 + data[0] % 32);
    check_found(bytes, size - 1);
    free(bytes);
    return 0;
}
