#include "relay/keeper/keeper_wire.h"

#include "relay/io/fd_packet.h"

#include <errno.h>
#include <unistd.h>

#define HEAD_BYTES offsetof(struct keeper_message, slots)
#define FIXED_BYTES offsetof(struct keeper_message, tag) /* the same in every version */

bool keeper_send(int socket, struct keeper_message *message, const int *fds, size_t fd_count,
                 bool block)
{
    message->magic = KEEPER_MAGIC;
    if (!message->version)
        message->version = KEEPER_PROTOCOL;
    size_t slots = message->kind == KEEPER_GIVEN ? message->count : 0;
    return fd_packet_send(socket, message, HEAD_BYTES + slots * sizeof *message->slots, fds,
                          fd_count, block);
}

static bool is_message(const struct keeper_message *message, size_t len)
{
    if (len < FIXED_BYTES || message->magic != KEEPER_MAGIC)
        return false;
    if (message->version < KEEPER_PROTOCOL_OLDEST || message->version > KEEPER_PROTOCOL)
        return message->kind == KEEPER_HELLO || message->kind == KEEPER_VERSIONS;
    size_t slots = message->kind == KEEPER_GIVEN ? message->count : 0;
    return slots <= KEEPER_BATCH && len == HEAD_BYTES + slots * sizeof *message->slots;
}

enum keeper_got keeper_receive(int socket, struct keeper_message *message, int *fds,
                               size_t *fd_count, bool block)
{
    ssize_t len = fd_packet_receive(socket, message, sizeof *message, fds, fd_count, block);
    if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return KEEPER_NOTHING_YET;
    if (len > 0 && is_message(message, (size_t)len))
        return KEEPER_GOT;
    while (*fd_count)
        close(fds[--*fd_count]);
    return KEEPER_GONE;
}
