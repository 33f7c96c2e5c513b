/* A packet on the keeper's socket, of any bytes and with any number of descriptors: it is a message
 * of this protocol, or its descriptors are closed. The first byte says how many come along. */
#include "fuzz.h"

#include "relay/keeper/keeper_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2] = {-1, -1};

/* The lowest free descriptor: it is the same before and after if none is left open. */
static int lowest_free(void)
{
    int fd = dup(pair[0]);
    check(fd >= 0);
    close(fd);
    return fd;
}

static bool is_spoken(uint32_t version)
{
    return version >= KEEPER_PROTOCOL_OLDEST && version <= KEEPER_PROTOCOL;
}

static void check_message(const struct keeper_message *message, size_t size)
{
    check(message->magic == KEEPER_MAGIC);
    if (!is_spoken(message->version)) {
        check(message->kind == KEEPER_HELLO || message->kind == KEEPER_VERSIONS);
        return;
    }
    size_t slots = message->kind == KEEPER_GIVEN ? message->count : 0;
    check(slots <= KEEPER_BATCH);
    check(size == offsetof(struct keeper_message, slots) + slots * sizeof *message->slots);
}

/* What was received is sent on as the same. */
static void check_again(struct keeper_message *message)
{
    struct keeper_message again;
    int fds[KEEPER_BATCH];
    size_t count;
    if (!is_spoken(message->version))
        return;
    check(keeper_send(pair[1], message, NULL, 0, false));
    check(keeper_receive(pair[0], &again, fds, &count, false) == KEEPER_GOT && count == 0);
    check(again.kind == message->kind && again.count == message->count);
    check(again.tag == message->tag && again.slot == message->slot && again.ms == message->ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct keeper_message message;
    int sent[KEEPER_BATCH], fds[KEEPER_BATCH];
    size_t count;
    if (pair[0] < 0)
        check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    if (size < 2)
        return 0;
    int lowest = lowest_free();
    size_t fd_count = data[0] % (KEEPER_BATCH + 1);
    for (size_t i = 0; i < fd_count; i++)
        sent[i] = pair[0];
    check(fd_packet_send(pair[1], data + 1, size - 1, sent, fd_count, false));
    enum keeper_got got = keeper_receive(pair[0], &message, fds, &count, false);
    check(got == KEEPER_GOT || (got == KEEPER_GONE && count == 0));
    if (got == KEEPER_GOT) {
        check(count == fd_count);
        check_message(&message, size - 1);
        for (size_t i = 0; i < count; i++)
            check(fcntl(fds[i], F_GETFD) == FD_CLOEXEC && close(fds[i]) == 0);
        check_again(&message);
    }
    check(keeper_receive(pair[0], &message, fds, &count, false) == KEEPER_NOTHING_YET);
    check(lowest_free() == lowest);
    return 0;
}
