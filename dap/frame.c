#include "dap/frame.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* IN_HEAD collects the start of a large body; at AT_HEAD the caller decides about its rest. */
enum { IN_NAME, IN_VALUE, IN_HEAD, AT_HEAD, IN_BODY, PASSING, AT_MESSAGE, SEEKING, LOST };

/* Bytes of memory that a connection keeps between messages. */
enum { KEEP = 65536 };

/* The longest header that frame_resync() looks for. */
enum { SOUGHT_MAX = 64 };

void frame_init(struct frame *frame, size_t max_body)
{
    *frame = (struct frame){.max_body = max_body, .state = IN_NAME};
}

void frame_free(struct frame *frame)
{
    buf_free(&frame->header);
    buf_free(&frame->body);
    free(frame->problem);
    frame->problem = NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool lose(struct frame *frame, const char *problem)
{
    frame->problem = mem_string(problem);
    frame->state = LOST;
    return false;
}

static bool lose_to_size(struct frame *frame)
{
    frame->problem =
        mem_format("a Content-Length announces a message of more than %zu bytes", frame->max_body);
    frame->state = LOST;
    return false;
}

/* `value` is the text behind the colon, without the white space around it. */
static bool content_length(struct frame *frame, const char *value, size_t len)
{
    size_t number = 0;
    if (frame->has_length)
        return lose(frame, "a header has more than one Content-Length");
    if (len == 0)
        return lose(frame, "a Content-Length has no number");
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9')
            return lose(frame, "a Content-Length is not a number of bytes");
        size_t digit = (size_t)(value[i] - '0');
        number = number > (SIZE_MAX - digit) / 10 ? SIZE_MAX : number * 10 + digit;
    }
    if (number == SIZE_MAX || (number > frame->max_body && !frame->large))
        return lose_to_size(frame);
    frame->expected = number;
    frame->has_length = true;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool header_line(struct frame *frame, const char *line, size_t len)
{
    static const char name[] = "Content-Length";
    const char *colon = memchr(line, ':', len);
    if (!colon || colon == line)
        return lose(frame, "a header line is not of the form \"Name: value\"");
    size_t name_len = (size_t)(colon - line);
    const char *value = colon + 1, *end = line + len;
    while (value < end && is_space(*value))
        value++;
    while (end > value && is_space(end[-1]))
        end--;
    if (name_len == sizeof name - 1 && strncasecmp(line, name, name_len) == 0)
        return content_length(frame, value, (size_t)(end - value));
    return true;
}

static void begin_body(struct frame *frame)
{
    bool large = frame->large && frame->expected > frame->large;
    frame->state = large ? IN_HEAD : IN_BODY;
    buf_reserve(&frame->body, frame->expected < KEEP ? frame->expected : KEEP / 2);
}

/* Handles the line whose end was just added to `header`: a header line, or the empty line. */
static bool header_line_end(struct frame *frame)
{
    const char *line = frame->header.data + frame->line;
    size_t len = frame->header.len - frame->line - 1;
    if (len && line[len - 1] == '\r')
        len--;
    frame->line = frame->header.len;
    if (len)
        return header_line(frame, line, len);
    if (!frame->has_length)
        return lose(frame, "a header has no Content-Length");
    begin_body(frame);
    return true;
}

/* Reads a complete header in the usual form and returns its length; 0 for any other header, which
 * is then read byte by byte. */
static size_t usual_header(struct frame *frame, const char *bytes, size_t len)
{
    static const char name[] = "Content-Length: ", end[] = "\r\n\r\n";
    enum { NAME = sizeof name - 1, END = sizeof end - 1, DIGITS = 9 };
    size_t at = NAME, number = 0;
    if (len < NAME || memcmp(bytes, name, NAME) != 0)
        return 0;
    for (; at < len && at < NAME + DIGITS && is_digit(bytes[at]); at++)
        number = number * 10 + (size_t)(bytes[at] - '0');
    if (at == NAME || len - at < END || memcmp(bytes + at, end, END) != 0 ||
        number > frame->max_body)
        return 0;
    frame->expected = number;
    frame->has_length = true;
    begin_body(frame);
    return at + END;
}

/* True if `c` may come next in a header. A stream that is not DAP (TLS, bare JSON) fails at its
 * first bytes. */
static bool header_byte_fits(const struct frame *frame, char c)
{
    size_t len = frame->header.len;
    if (len && frame->header.data[len - 1] == '\r')
        return c == '\n';
    if (c == '\r' || c == '\n')
        return true;
    if (frame->state == IN_NAME)
        return c == ':' || c == '-' || c == '_' || (c >= '0' && c <= '9') ||
               (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return c == '\t' || (c >= ' ' && c <= '~');
}

static bool header_byte(struct frame *frame, char c)
{
    if (!header_byte_fits(frame, c))
        return lose(frame, "a header holds bytes that no DAP header has");
    if (frame->header.len == FRAME_HEADER_LIMIT)
        return lose(frame, "a header is too long for DAP");
    buf_add(&frame->header, &c, 1);
    if (c == ':')
        frame->state = IN_VALUE;
    if (c != '\n')
        return true;
    frame->state = IN_NAME;
    return header_line_end(frame);
}

static void start_message(struct frame *frame)
{
    buf_clear(&frame->header, KEEP);
    buf_clear(&frame->body, KEEP);
    frame->line = 0;
    frame->passed = 0;
    frame->has_length = false;
    frame->state = IN_NAME;
}

static bool in_header(const struct frame *frame)
{
    return frame->state == IN_NAME || frame->state == IN_VALUE;
}

/* --- a stream that starts inside a message --- */

/* True if `c` continues the header that `sought` begins. */
static bool sought_fits(const struct buf *sought, char c)
{
    static const char name[] = "content-length:";
    size_t len = sought->len;
    if (len < sizeof name - 1)
        return c == name[len] || (name[len] >= 'a' && c == name[len] - 'a' + 'A');
    char last = sought->data[len - 1];
    if (c == ' ')
        return last == ':' || last == ' ';
    if (is_digit(c))
        return last == ':' || last == ' ' || is_digit(last);
    if (c == '\r')
        return is_digit(last) || (last == '\n' && is_digit(sought->data[len - 3]));
    if (c == '\n')
        return last == '\r';
    return c == '{' && last == '\n' && sought->data[len - 3] == '\n';
}

/* Skips to the first byte behind a header; returns how many bytes it skipped. */
static size_t seek(struct frame *frame, const char *bytes, size_t len)
{
    struct buf *sought = &frame->header;
    for (size_t at = 0; at < len; at++) {
        bool fits = sought->len < SOUGHT_MAX && sought_fits(sought, bytes[at]);
        if (fits && bytes[at] == '{') {
            char header[SOUGHT_MAX];
            size_t header_len = sought->len;
            memcpy(header, sought->data, header_len);
            start_message(frame);
            for (size_t i = 0; i < header_len && in_header(frame); i++)
                header_byte(frame, header[i]);
            return at;
        }
        /* The header has its first letter only once, so it cannot start inside a failed match. */
        if (!fits)
            buf_clear(sought, KEEP);
        if (fits || bytes[at] == 'C' || bytes[at] == 'c')
            buf_add(sought, &bytes[at], 1);
    }
    return len;
}

void frame_resync(struct frame *frame)
{
    frame->state = SEEKING;
}

/* --- bodies --- */

/* Fills the body up to `limit` bytes; true once it has them all. */
static bool collect(struct frame *frame, size_t limit, const char *bytes, size_t len, size_t *at)
{
    size_t missing = limit - frame->body.len;
    size_t take = len - *at < missing ? len - *at : missing;
    buf_add(&frame->body, bytes + *at, take);
    *at += take;
    return take == missing;
}

static enum frame_status pass(struct frame *frame, size_t len, size_t *consumed)
{
    size_t left = frame_left(frame);
    *consumed = len < left ? len : left;
    frame->passed += *consumed;
    if (*consumed == left)
        start_message(frame);
    return *consumed ? FRAME_PART : FRAME_MORE;
}

/* The caller has not called frame_pass(): collects the whole body. */
static void collect_rest(struct frame *frame)
{
    frame->state = IN_BODY;
    if (frame->expected > frame->max_body)
        lose_to_size(frame);
}

enum frame_status frame_feed(struct frame *frame, const char *bytes, size_t len, size_t *consumed)
{
    size_t at = 0;
    if (frame->state == PASSING)
        return pass(frame, len, consumed);
    if (frame->state == AT_MESSAGE)
        start_message(frame);
    else if (frame->state == AT_HEAD)
        collect_rest(frame);
    else if (frame->state == SEEKING)
        at = seek(frame, bytes, len);
    if (frame->state == IN_NAME && !frame->header.len)
        at += usual_header(frame, bytes + at, len - at);
    while (at < len && in_header(frame))
        header_byte(frame, bytes[at++]);
    if (frame->state == IN_HEAD && collect(frame, FRAME_HEAD_SIZE, bytes, len, &at))
        frame->state = AT_HEAD;
    else if (frame->state == IN_BODY && collect(frame, frame->expected, bytes, len, &at))
        frame->state = AT_MESSAGE;
    *consumed = at;
    if (frame->state == LOST)
        return FRAME_ERROR;
    if (frame->state == AT_HEAD)
        return FRAME_LARGE;
    return frame->state == AT_MESSAGE ? FRAME_MESSAGE : FRAME_MORE;
}

void frame_set_large(struct frame *frame, size_t large)
{
    frame->large = large;
}

void frame_pass(struct frame *frame)
{
    frame->passed = frame->body.len;
    buf_free(&frame->body);
    frame->state = PASSING;
}

size_t frame_left(const struct frame *frame)
{
    if (frame->state == PASSING)
        return frame->expected - frame->passed;
    if (frame->state == IN_HEAD || frame->state == AT_HEAD || frame->state == IN_BODY)
        return frame->expected - frame->body.len;
    return 0;
}

void frame_trim(struct frame *frame)
{
    if (frame->state == AT_MESSAGE)
        start_message(frame);
    bool in_body = frame->state == IN_HEAD || frame->state == AT_HEAD || frame->state == IN_BODY;
    if (in_body || frame->header.len)
        return;
    buf_free(&frame->header);
    buf_free(&frame->body);
}

const char *frame_body(const struct frame *frame, size_t *len)
{
    *len = frame->body.len;
    return frame->body.data;
}

const char *frame_problem(const struct frame *frame)
{
    return frame->problem;
}

bool frame_idle(const struct frame *frame)
{
    return frame->state == AT_MESSAGE || (frame->state == IN_NAME && frame->header.len == 0);
}

void frame_start(struct buf *out, const char *head, size_t head_len, size_t rest_len)
{
    char header[FRAME_HEADER_ROOM];
    buf_add(out, header, frame_header(header, head_len + rest_len));
    buf_add(out, head, head_len);
}

size_t frame_header(char out[FRAME_HEADER_ROOM], size_t len)
{
    return (size_t)snprintf(out, FRAME_HEADER_ROOM, "Content-Length: %zu\r\n\r\n", len);
}
