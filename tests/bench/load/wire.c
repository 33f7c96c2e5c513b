#include "load/wire.h"

#include "base/mem.h"
#include "load/endpoint.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEAD = 400, READ = 1 << 18, PARTS_AT_ONCE = 32 };

struct wire_part {
    char head[HEAD];
    size_t head_len;
    const char *tail;
    size_t tail_len;
    char *own; /* a head that is longer; its `head` is empty */
};

void wire_start(struct wire *wire, int epoll, int fd, void *data)
{
    *wire = (struct wire){.fd = fd, .epoll = epoll, .data = data};
    epoll_watch(epoll, fd, EPOLLIN, data);
}

void wire_close(struct wire *wire)
{
    for (size_t i = 0; i < wire->part_count; i++)
        free(wire->parts[wire->part_first + i].own);
    free(wire->parts);
    buf_free(&wire->in);
    close(wire->fd);
    *wire = (struct wire){.fd = -1};
}

bool wire_read(struct wire *wire)
{
    if (wire->in_at == wire->in.len) {
        buf_clear(&wire->in, 1 << 16);
        wire->in_at = 0;
    } else if (wire->in_at > READ) {
        buf_consume(&wire->in, wire->in_at);
        wire->in_at = 0;
    }
    /* Thousands of connections do not have a large buffer each. */
    size_t room = wire->in.len > 8192 ? READ : 8192;
    ssize_t got = read(wire->fd, buf_reserve(&wire->in, room), room);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    wire->in.len += (size_t)got;
    return got > 0;
}

int wire_next(struct wire *wire, const char **body, size_t *len)
{
    static const char name[] = "Content-Length: ";
    const char *at = wire->in.data + wire->in_at;
    size_t left = wire->in.len - wire->in_at;
    if (left < sizeof name + 4)
        return 0;
    if (memcmp(at, name, sizeof name - 1) != 0)
        return -1;
    const char *end = memmem(at, left < 64 ? left : 64, "\r\n\r\n", 4);
    if (!end)
        return left < 64 ? 0 : -1;
    size_t head = (size_t)(end + 4 - at), size = strtoul(at + sizeof name - 1, NULL, 10);
    if (left - head < size)
        return 0;
    *body = at + head;
    *len = size;
    wire->in_at += head + size;
    return 1;
}

static struct wire_part *add_part(struct wire *wire)
{
    if (wire->part_first && wire->part_first + wire->part_count == wire->part_cap) {
        memmove(wire->parts, wire->parts + wire->part_first,
                wire->part_count * sizeof *wire->parts);
        wire->part_first = 0;
    }
    if (wire->part_count == wire->part_cap) {
        wire->part_cap = wire->part_cap ? 2 * wire->part_cap : 2;
        wire->parts = mem_resize(wire->parts, wire->part_cap, sizeof *wire->parts);
    }
    return &wire->parts[wire->part_first + wire->part_count++];
}

void wire_send(struct wire *wire, const char *text, size_t len, const char *tail, size_t tail_len)
{
    struct wire_part *part = add_part(wire);
    char header[40];
    int size = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", len + tail_len);
    part->head_len = (size_t)size + len;
    part->own = part->head_len > HEAD ? mem_alloc(part->head_len) : NULL;
    char *at = part->own ? part->own : part->head;
    memcpy(at, header, (size_t)size);
    memcpy(at + size, text, len);
    part->tail = tail;
    part->tail_len = tail_len;
}

void wire_printf(struct wire *wire, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        die("out of memory");
    wire_send(wire, text, (size_t)len, NULL, 0);
    free(text);
}

static size_t gather(const struct wire *wire, struct iovec *out)
{
    size_t used = 0, skip = wire->sent;
    for (size_t i = 0; i < wire->part_count && i < PARTS_AT_ONCE; i++) {
        const struct wire_part *part = &wire->parts[wire->part_first + i];
        const char *head = part->own ? part->own : part->head;
        size_t head_skip = skip < part->head_len ? skip : part->head_len;
        size_t tail_skip = skip - head_skip;
        skip = 0;
        if (head_skip < part->head_len)
            out[used++] = (struct iovec){(void *)(head + head_skip), part->head_len - head_skip};
        if (tail_skip < part->tail_len)
            out[used++] =
                (struct iovec){(void *)(part->tail + tail_skip), part->tail_len - tail_skip};
    }
    return used;
}

static void drop_sent(struct wire *wire, size_t written)
{
    wire->sent += written;
    while (wire->part_count) {
        struct wire_part *part = &wire->parts[wire->part_first];
        size_t size = part->head_len + part->tail_len;
        if (wire->sent < size)
            return;
        wire->sent -= size;
        free(part->own);
        wire->part_first++;
        wire->part_count--;
    }
    wire->part_first = 0;
}

bool wire_flush(struct wire *wire)
{
    while (wire->part_count) {
        struct iovec parts[2 * PARTS_AT_ONCE];
        ssize_t written = writev(wire->fd, parts, (int)gather(wire, parts));
        if (written < 0) {
            if (errno != EAGAIN)
                return false;
            break;
        }
        drop_sent(wire, (size_t)written);
    }
    if (wire->waits_to_write != (wire->part_count > 0)) {
        wire->waits_to_write = !wire->waits_to_write;
        epoll_change(wire->epoll, wire->fd,
                     EPOLLIN | (wire->waits_to_write ? (uint32_t)EPOLLOUT : 0), wire->data);
    }
    return true;
}
