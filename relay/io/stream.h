/* A two-way stream of bytes on the loop: a TCP connection, or a pair of files (stdin and stdout).
 */
#ifndef RAYDBG_RELAY_IO_STREAM_H
#define RAYDBG_RELAY_IO_STREAM_H

#include "relay/io/loop.h"

#include <stddef.h>

struct stream;

/* All run on the loop's thread. No callback follows on_close; the owner must still destroy the
 * stream. A callback may destroy the stream. */
struct stream_ops {
    /* dial_ops' on_socket (relay/io/dial.h); may be NULL. */
    void (*on_dial)(void *arg, int fd);
    void (*on_open)(void *arg);
    void (*on_bytes)(void *arg, const char *bytes, size_t len);
    /* Everything queued has been handed to the kernel; may be NULL. */
    void (*on_drain)(void *arg);
    /* `why` is NULL for an orderly end by the peer, else one clause ("connection refused"). */
    void (*on_close)(void *arg, const char *why);
};

/* Connects to `host`:`port`; on_open or, after at most `timeout_ms`, on_close follows, never from
 * within this call. `quickack` acknowledges each read at once (docs/facts/debugpy.md#versions). */
struct stream *stream_connect(struct loop *loop, const char *host, uint16_t port,
                              int64_t timeout_ms, bool quickack, const struct stream_ops *ops,
                              void *arg);
/* Takes ownership of the connected TCP socket `fd`. on_open is not called; on_bytes may follow at
 * once, and on_close also if the loop cannot take the socket, never from within this call. */
struct stream *stream_adopt(struct loop *loop, int fd, bool quickack, const struct stream_ops *ops,
                            void *arg);
/* Reads from `in`, writes to `out`; regular files and /dev/null are fine. The fds stay the caller's
 * and are set to non-blocking for the stream's life. */
struct stream *stream_files(struct loop *loop, int in, int out, const struct stream_ops *ops,
                            void *arg);

/* Sends a head and a body as one run of bytes, in one system call where possible; bytes that the
 * kernel does not take are copied and queued. Ignored after on_close. */
void stream_write(struct stream *stream, const void *head, size_t head_len, const void *body,
                  size_t body_len);
/* Bytes that the kernel has not taken yet. */
size_t stream_queued(const struct stream *stream);
/* The connected socket of a TCP stream; -1 before and after. */
int stream_fd(const struct stream *stream);
/* Call it from within on_bytes if the peer will probably send nothing before it receives something:
 * the bytes read need not be acknowledged at once then (`quickack`). */
void stream_ack_can_wait(struct stream *stream);
/* Stops or resumes reading. Bytes that came before a connection broke are delivered before on_close
 * even if reading is stopped. */
void stream_read_enable(struct stream *stream, bool enable);
/* Writes the queue and closes: of a TCP stream's queue what the kernel takes at once, a file's for
 * at most 2 s. No callback runs after this. */
void stream_destroy(struct stream **stream);

#endif
