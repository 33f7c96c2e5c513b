/* The event loop, with each of the two ways in which it waits. */
#include "cmocka_prelude.h"
#include "waits.h"

#include "relay/io/loop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t long_ms = 20000, short_ms = 20;

typedef struct loop *create_fn(bool tls, struct err *err);

struct world {
    struct loop *loop;
    char told[64];
    struct timer *timer;
    struct watch *watch;
    int reader;
    int64_t skipped_us;
    bool done;
};

static struct world world;

static void create(create_fn *fn)
{
    struct err err;
    world = (struct world){.loop = fn(false, &err)};
    assert_non_null(world.loop);
}

static int with_poll(void **state)
{
    (void)state;
    create(loop_create);
    return 0;
}

/* The machine that runs the tests has what it takes (tools/setup). */
static int with_epoll(void **state)
{
    (void)state;
    create(loop_create_many);
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    loop_destroy(&world.loop);
    assert_null(world.loop);
    return 0;
}

static void tell(void *word)
{
    size_t at = strlen(world.told);
    snprintf(world.told + at, sizeof world.told - at, "%s", (const char *)word);
}

static void end(void *arg)
{
    (void)arg;
    loop_stop(world.loop);
}

static void timers_fire_in_their_order(void **state)
{
    (void)state;
    static char late[] = "late", soon[] = "soon ";
    struct timer *cancelled = timer_start(world.loop, 1, tell, late);
    timer_start(world.loop, 2 * short_ms, tell, late);
    timer_start(world.loop, 1, tell, soon);
    timer_start(world.loop, 3 * short_ms, end, NULL);
    timer_cancel(&cancelled);
    assert_null(cancelled);
    loop_run(world.loop);
    assert_string_equal(world.told, "soon late");
}

static void finish(void *arg)
{
    (void)arg;
    world.done = true;
}

static void tick(void *arg)
{
    world.timer = NULL;
    tell(arg);
    if (strlen(world.told) < 6)
        world.timer = timer_start(world.loop, 3000, tick, arg);
    world.skipped_us = loop_now_us();
}

/* A clock that a test moves: no time passes meanwhile. */
static void skipped_time_fires_what_is_due(void **state)
{
    (void)state;
    static char t[] = "t", a[] = "a", b[] = "b";
    int64_t before = loop_now_us();
    world.timer = timer_start(world.loop, 3000, tick, t);
    struct timer *cancelled = timer_start(world.loop, 1000, tell, b);
    timer_start(world.loop, 4000, tell, a);
    timer_start(world.loop, long_ms, tell, b);
    timer_cancel(&cancelled);
    loop_skip(world.loop, 2000);
    assert_string_equal(world.told, "");
    loop_skip(world.loop, 5000);
    assert_string_equal(world.told, "tat");
    assert_in_range(world.skipped_us - before, 6000000, 7000000);
    assert_true(loop_now_us() - before >= 7000000);
    loop_skip(world.loop, long_ms);
    assert_string_equal(world.told, "tattttb");
    assert_null(world.timer);
    /* What is not due by then is due sooner by the time that was skipped. */
    timer_start(world.loop, long_ms, finish, NULL);
    loop_skip(world.loop, long_ms - short_ms);
    assert_true(loop_run_until(world.loop, &world.done, long_ms));
}

static void end_later(void *arg)
{
    (void)arg;
    timer_start(world.loop, short_ms, end, NULL);
}

static void a_timer_of_a_post_fires(void **state)
{
    (void)state;
    int64_t before = loop_now_us();
    loop_post(world.loop, end_later, NULL);
    /* Without it a loop that has forgotten the first would wait for ever. */
    struct timer *limit = timer_start(world.loop, long_ms, end, NULL);
    loop_run(world.loop);
    assert_true(loop_now_us() - before < long_ms * 1000);
    timer_cancel(&limit);
}

static void who_waits_sees_what_a_timer_did(void **state)
{
    (void)state;
    timer_start(world.loop, short_ms, finish, NULL);
    assert_true(loop_run_until(world.loop, &world.done, long_ms));
    world.done = false;
    assert_false(loop_run_until(world.loop, &world.done, short_ms));
}

static void one_turn_ends_in_time(void **state)
{
    (void)state;
    int64_t before = loop_now_us();
    loop_run_once(world.loop, short_ms);
    loop_run_once(world.loop, 0);
    assert_true(loop_now_us() - before < long_ms * 1000);
}

static void *post_both(void *arg)
{
    static char first[] = "first ", second[] = "second";
    (void)arg;
    settle_us(short_ms * 1000);
    loop_post(world.loop, tell, first);
    loop_post(world.loop, tell, second);
    loop_post(world.loop, finish, NULL);
    return NULL;
}

static void another_thread_posts(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, post_both, NULL), 0);
    assert_true(loop_run_until(world.loop, &world.done, long_ms));
    pthread_join(thread, NULL);
    assert_string_equal(world.told, "first second");
}

static void on_readable(void *arg)
{
    (void)arg;
    size_t at = strlen(world.told);
    ssize_t len = read(world.reader, world.told + at, sizeof world.told - at - 1);
    if (len <= 0) {
        watch_stop(&world.watch);
        world.done = true;
    }
}

static void a_watch_sees_bytes_and_the_end(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    world.reader = ends[0];
    world.watch = watch_start(world.loop, ends[0], on_readable, NULL);
    assert_int_equal(write(ends[1], "bytes", 5), 5);
    close(ends[1]);
    assert_true(loop_run_until(world.loop, &world.done, long_ms));
    assert_string_equal(world.told, "bytes");
    close(ends[0]);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void what_is_left_goes_with_the_loop(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    world.watch = watch_start(world.loop, ends[0], nothing, NULL);
    loop_run_once(world.loop, 1);
    loop_post(world.loop, finish, NULL);
    loop_destroy(&world.loop);
    assert_true(world.done);
    free(world.watch); /* its owner outlived the loop */
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
}

static bool has_epoll(void)
{
    for (int fd = 0; fd < 256; fd++) {
        char path[32], what[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, what, sizeof what - 1) > 0 && strstr(what, "[eventpoll]"))
            return true;
    }
    return false;
}

static void few_need_no_epoll(void **state)
{
    (void)state;
    assert_false(has_epoll());
}

static void many_are_waited_for_by_epoll(void **state)
{
    (void)state;
    assert_true(has_epoll());
}

#define BOTH(test)                                                                                 \
    {#test " (poll)", test, with_poll, destroy, NULL},                                             \
    {                                                                                              \
#test " (epoll)", test, with_epoll, destroy, NULL                                          \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_need_no_epoll, with_poll, destroy),
        cmocka_unit_test_setup_teardown(many_are_waited_for_by_epoll, with_epoll, destroy),
        BOTH(timers_fire_in_their_order),
        BOTH(skipped_time_fires_what_is_due),
        BOTH(a_timer_of_a_post_fires),
        BOTH(who_waits_sees_what_a_timer_did),
        BOTH(one_turn_ends_in_time),
        BOTH(another_thread_posts),
        BOTH(a_watch_sees_bytes_and_the_end),
        BOTH(what_is_left_goes_with_the_loop),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
