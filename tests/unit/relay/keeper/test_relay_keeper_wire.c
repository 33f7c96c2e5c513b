/* Packets on the keeper's socket that are no message: refused, and their descriptors are closed. */
#include "cmocka_prelude.h"

#include "relay/keeper/keeper_wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static int make_pair(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int close_pair(void **state)
{
    (void)state;
    return close(ends[0]) | close(ends[1]);
}

/* The same before and after if nothing was left open between. */
static int lowest_free(void)
{
    int fd = dup(ends[0]);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

/* Sends the message with the descriptor and so many bytes more, or less. */
static enum keeper_got pass(struct keeper_message *message, long more)
{
    char bytes[sizeof *message + 64] = {0};
    struct keeper_message got;
    int fds[KEEPER_BATCH];
    size_t fd_count;
    int lowest = lowest_free();
    size_t len = offsetof(struct keeper_message, slots) + message->count * sizeof *message->slots;
    message->magic = KEEPER_MAGIC;
    message->version = KEEPER_PROTOCOL;
    memcpy(bytes, message, sizeof *message);
    assert_true(fd_packet_send(ends[1], bytes, (size_t)((long)len + more), &ends[1], 1, true));
    enum keeper_got status = keeper_receive(ends[0], &got, fds, &fd_count, true);
    assert_int_equal(fd_count, status == KEEPER_GOT);
    if (status == KEEPER_GOT)
        close(fds[0]);
    assert_int_equal(lowest_free(), lowest);
    return status;
}

static void the_length_is_that_of_the_slots(void **state)
{
    (void)state;
    for (uint32_t count = 0; count <= KEEPER_BATCH; count += KEEPER_BATCH / 2) {
        struct keeper_message message = {.kind = KEEPER_GIVEN, .count = count};
        assert_int_equal(pass(&message, 0), KEEPER_GOT);
        assert_int_equal(pass(&message, -1), KEEPER_GONE);
        assert_int_equal(pass(&message, 1), KEEPER_GONE);
        assert_int_equal(pass(&message, 64), KEEPER_GONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_length_is_that_of_the_slots, make_pair, close_pair),
    };
    return cmocka_run_group_tests_name("keeper wire", tests, NULL, NULL);
}
