/* One DAP connection of a load program. It shares no code with the relay's own framing, which it is
 * there to check. */
#ifndef RAYDBG_LOAD_WIRE_H
#define RAYDBG_LOAD_WIRE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_part;

/* All zero but for `fd` and `epoll` is a new one; `data` is what epoll tells. */
struct wire {
    int fd;
    int epoll;
    void *data;
    struct buf in;
    size_t in_at;
    struct wire_part *parts;
    size_t part_first, part_count, part_cap;
    size_t sent; /* of the first part */
    bool waits_to_write;
};

void wire_start(struct wire *wire, int epoll, int fd, void *data);
void wire_close(struct wire *wire);
/* Reads what is there, once. False: the peer has closed, or `errno` says why not. */
bool wire_read(struct wire *wire);
/* The next whole message. 0: more has to be read; -1: what came is no DAP. The body stays until
 * the next wire_read(). */
int wire_next(struct wire *wire, const char **body, size_t *len);
/* Sends header and message as soon as the socket takes it: `text` is copied, `tail` is not, and
 * must stay. Writes nothing before wire_flush(). */
void wire_send(struct wire *wire, const char *text, size_t len, const char *tail, size_t tail_len);
void wire_printf(struct wire *wire, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* False: the connection is broken. */
bool wire_flush(struct wire *wire);

#endif
