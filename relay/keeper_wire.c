#include "relay/keeper_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_BYTES offsetof(struct keeper_message, slots)
#define FIXED_BYTES offsetof(struct keeper_message, tag) /* the same in every version */

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(KEEPER_BATCH * sizeof(int))];
};

bool keeper_send(int socket, struct keeper_message *message, const int *fds, size_t fd_count,
                 bool block)
{
    message->magic = KEEPER_MAGIC;
    message->version = KEEPER_PROTOCOL;
    size_t slots = message->kind == KEEPER_GIVEN ? message->count : 0;
    struct iovec part = {message, HEAD_BYTES + slots * sizeof *message->slots};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    union control control;
    if (fd_count) {
        memset(&control, 0, sizeof control);
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(fd_count * sizeof *fds);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fd_count * sizeof *fds);
        memcpy(CMSG_DATA(rights), fds, fd_count * sizeof *fds);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL | (block ? 0 : MSG_DONTWAIT));
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

static void take_fds(struct msghdr *header, int *fds, size_t *fd_count)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
        memcpy(fds + *fd_count, CMSG_DATA(part), count * sizeof *fds);
        *fd_count += count;
    }
}

static bool is_message(const struct keeper_message *message, size_t len)
{
    if (len < FIXED_BYTES || message->magic != KEEPER_MAGIC)
        return false;
    if (message->version != KEEPER_PROTOCOL)
        return message->kind == KEEPER_HELLO || message->kind == KEEPER_VERSIONS;
    size_t slots = message->kind == KEEPER_GIVEN ? message->count : 0;
    return slots <= KEEPER_BATCH && len == HEAD_BYTES + slots * sizeof *message->slots;
}

enum keeper_got keeper_receive(int socket, struct keeper_message *message, int *fds,
                               size_t *fd_count, bool block)
{
    union control control;
    struct iovec part = {message, sizeof *message};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    *fd_count = 0;
    ssize_t len;
    do
        len = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | (block ? 0 : MSG_DONTWAIT));
    while (len < 0 && errno == EINTR);
    if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return KEEPER_NOTHING_YET;
    if (len <= 0)
        return KEEPER_GONE;
    take_fds(&header, fds, fd_count);
    if (is_message(message, (size_t)len))
        return KEEPER_GOT;
    while (*fd_count)
        close(fds[--*fd_count]);
    return KEEPER_GONE;
}

void keeper_raise_fd_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}
