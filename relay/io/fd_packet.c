#include "relay/io/fd_packet.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FD_PACKET_FDS * sizeof(int))];
};

bool fd_packet_send(int socket, const void *bytes, size_t len, const int *fds, size_t fd_count,
                    bool block)
{
    struct iovec part = {(void *)(uintptr_t)bytes, len};
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
    return sent >= 0; /* the kernel sends a packet whole or not at all */
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

ssize_t fd_packet_receive(int socket, void *bytes, size_t size, int *fds, size_t *fd_count,
                          bool block)
{
    union control control;
    struct iovec part = {bytes, size};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    *fd_count = 0;
    ssize_t len;
    do
        len = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_TRUNC | (block ? 0 : MSG_DONTWAIT));
    while (len < 0 && errno == EINTR);
    if (len >= 0)
        take_fds(&header, fds, fd_count);
    return len;
}
