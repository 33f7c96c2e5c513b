/* The client's side of a WebSocket, on a plain socket. */
#ifndef RAYDBG_TESTS_WEBSOCKET_CLIENT_H
#define RAYDBG_TESTS_WEBSOCKET_CLIENT_H

#include "listener_fixture.h"

enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10, FIN = 0x80 };

#define UPGRADE(path)                                                                              \
    "GET " path " HTTP/1.1\r\n" HOST "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"   \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

static inline void put_frame(int fd, int head, const void *bytes, size_t len)
{
    static const uint8_t mask[4] = {0x12, 0x34, 0x56, 0x78};
    struct buf frame = {0};
    uint8_t start[14] = {(uint8_t)head};
    size_t at = 2;
    if (len < 126) {
        start[1] = (uint8_t)(0x80 | len);
    } else if (len < 65536) {
        start[1] = 0x80 | 126;
        start[at++] = (uint8_t)(len >> 8);
        start[at++] = (uint8_t)len;
    } else {
        start[1] = 0x80 | 127;
        for (int shift = 56; shift >= 0; shift -= 8)
            start[at++] = (uint8_t)(len >> shift);
    }
    memcpy(start + at, mask, sizeof mask);
    buf_add(&frame, start, at + sizeof mask);
    buf_add(&frame, bytes, len);
    for (size_t i = 0; i < len; i++)
        frame.data[at + sizeof mask + i] ^= (char)mask[i % 4];
    put(fd, frame.data, frame.len);
    buf_free(&frame);
}

static inline void put_message(int fd, const char *text)
{
    put_frame(fd, FIN | TEXT, text, strlen(text));
}

/* Reads on until the other side has closed. */
static inline void drain_to_end(int fd)
{
    char bytes[256];
    while (read(fd, bytes, sizeof bytes) > 0)
        continue;
    close(fd);
}

/* Reads a frame's header; its payload's length. */
static inline size_t take_header(int fd, int *head)
{
    uint8_t start[8];
    assert_int_equal(take(fd, start, 2), 2);
    *head = start[0];
    assert_int_equal(start[1] & 0x80, 0);
    size_t len = start[1], more = len == 126 ? 2 : len == 127 ? 8 : 0;
    if (!more)
        return len;
    assert_int_equal(take(fd, start, more), more);
    len = 0;
    for (size_t i = 0; i < more; i++)
        len = len << 8 | start[i];
    return len;
}

/* One message, from as many frames as it has; the caller frees. */
static inline char *take_message(int fd, size_t *total, int *frames)
{
    struct buf text = {0};
    int head;
    *frames = 0;
    do {
        size_t len = take_header(fd, &head);
        assert_int_equal(head & 0x0f, *frames ? CONTINUATION : TEXT);
        assert_true(len <= 65536);
        assert_int_equal(take(fd, buf_reserve(&text, len), len), len);
        text.len += len;
        ++*frames;
    } while (!(head & FIN));
    *total = text.len;
    return buf_take(&text);
}

static inline void expect_message(int fd, const char *text)
{
    size_t len;
    int frames;
    char *got = take_message(fd, &len, &frames);
    assert_string_equal(got, text);
    free(got);
}

/* The close frame's code; then the end. */
static inline void expect_close(int fd, int code)
{
    int head;
    uint8_t bytes[125];
    size_t len = take_header(fd, &head);
    assert_int_equal(head, FIN | CLOSE);
    assert_int_equal(take(fd, bytes, len), len);
    assert_true(len >= 2);
    assert_int_equal(bytes[0] << 8 | bytes[1], code);
    put_frame(fd, FIN | CLOSE, bytes, 2);
    expect_end(fd);
}

static inline char *take_http_header(int fd)
{
    struct buf text = {0};
    do {
        assert_int_equal(take(fd, buf_reserve(&text, 1), 1), 1);
        text.len++;
        text.data[text.len] = '\0';
    } while (!text_ends(text.data, "\r\n\r\n"));
    return buf_take(&text);
}

static inline int open_websocket(const struct server *server, const char *request)
{
    int fd = dial(server);
    put_text(fd, request);
    char *answer = take_http_header(fd);
    if (!strstr(answer, "101 ") || !strstr(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
        fail_msg("%s", answer);
    free(answer);
    return fd;
}

#endif
