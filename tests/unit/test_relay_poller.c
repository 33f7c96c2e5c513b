/* Sockets that are polled: who is told of what, and that nobody is who is not there any more. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "relay/poller.h"
#include "relay/wire.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MANY = 150, WAIT_MS = 5000, QUIET_MS = 30 };

/* One end is polled, the other written to. */
struct end {
    struct polled polled;
    struct world *world;
    int fd, other;
    unsigned told;
    uint32_t events;
    bool removes_all; /* when it is told: the others */
};

struct world {
    struct loop *loop;
    struct end *ends[MANY];
    size_t count, told;
    bool enough;
    size_t expected;
};

static void on_ready(struct polled *polled, uint32_t events)
{
    struct end *end = lws_container_of(polled, struct end, polled);
    struct world *world = end->world;
    char bytes[16];
    end->told++;
    end->events = events;
    world->told++;
    world->enough = world->told >= world->expected;
    if (events & EPOLLIN)
        assert_true(recv(end->fd, bytes, sizeof bytes, MSG_DONTWAIT) >= 0);
    for (size_t i = 0; end->removes_all && i < world->count; i++)
        if (world->ends[i] != end)
            poller_remove(loop_poller(world->loop), &world->ends[i]->polled);
}

static struct end *add(struct world *world, uint32_t wanted)
{
    int pair[2];
    struct end *end = mem_alloc(sizeof *end);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    end->polled.handle = on_ready;
    end->world = world;
    end->fd = pair[0];
    end->other = pair[1];
    assert_true(poller_add(loop_poller(world->loop), &end->polled, end->fd, wanted));
    world->ends[world->count++] = end;
    return end;
}

static void say(const struct end *end)
{
    assert_int_equal(write(end->other, "x", 1), 1);
}

static void wait_for(struct world *world, size_t told)
{
    world->told = 0;
    world->expected = told;
    world->enough = false;
    assert_true(loop_run_until(world->loop, &world->enough, WAIT_MS));
}

static void assert_quiet(struct world *world)
{
    bool never = false;
    size_t told = world->told;
    loop_run_until(world->loop, &never, QUIET_MS);
    assert_int_equal(world->told, told);
}

static int set_up(void **state)
{
    struct err err;
    struct world *world = mem_alloc(sizeof *world);
    world->loop = loop_create(false, &err);
    *state = world;
    return world->loop ? 0 : -1;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < world->count; i++) {
        struct end *end = world->ends[i];
        poller_remove(loop_poller(world->loop), &end->polled);
        close(end->fd);
        close(end->other);
        free(end);
    }
    loop_destroy(&world->loop);
    free(world);
    return 0;
}

static void test_all_that_are_ready_are_told(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < MANY; i++)
        say(add(world, EPOLLIN));
    wait_for(world, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(world->ends[i]->told, 1);
    assert_quiet(world);
}

static void test_what_is_wanted(void **state)
{
    struct world *world = *state;
    struct end *end = add(world, 0);
    say(end);
    assert_quiet(world);
    poller_want(loop_poller(world->loop), &end->polled, EPOLLIN | EPOLLOUT);
    wait_for(world, 1);
    assert_int_equal(end->events, EPOLLIN | EPOLLOUT);
    poller_want(loop_poller(world->loop), &end->polled, EPOLLIN);
    assert_quiet(world);
    say(end);
    wait_for(world, 1);
    assert_int_equal(end->events, EPOLLIN);
}

static void test_an_end_is_told_unasked(void **state)
{
    struct world *world = *state;
    struct end *end = add(world, 0);
    shutdown(end->other, SHUT_RDWR);
    wait_for(world, 1);
    assert_true(end->events & EPOLLHUP);
}

/* All are ready in one look of the kernel's, and the first takes the others away. */
static void test_who_is_removed_before_its_turn_is_not_told(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < 20; i++) {
        struct end *end = add(world, EPOLLIN);
        end->removes_all = true;
        say(end);
    }
    wait_for(world, 1);
    assert_int_equal(world->told, 1);
    assert_quiet(world);
}

/* The closer and the keeper have duplicates of sockets that this process has closed. */
static void test_a_duplicate_that_lives_is_not_told(void **state)
{
    struct world *world = *state;
    struct end *end = add(world, EPOLLIN);
    int copy = dup(end->fd);
    poller_remove(loop_poller(world->loop), &end->polled);
    close(end->fd);
    end->fd = copy;
    say(end);
    assert_quiet(world);
    poller_remove(loop_poller(world->loop), &end->polled); /* once more does nothing */
    assert_true(poller_add(loop_poller(world->loop), &end->polled, end->fd, EPOLLIN));
    wait_for(world, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_that_are_ready_are_told),
        TEST(test_what_is_wanted),
        TEST(test_an_end_is_told_unasked),
        TEST(test_who_is_removed_before_its_turn_is_not_told),
        TEST(test_a_duplicate_that_lives_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
