/* The keeper's slots: what is in one is that connection's and no other's. */
#include "cmocka_prelude.h"

#include "keeper_fixture.h"
#include "relay/keeper/keeper_find.h"
#include "relay/keeper/keeper_process.h"
#include "relay/keeper/keeper_wire.h"

/* A relay that is killed before its first snapshot must not leave another connection's. */
static void test_a_slot_that_is_used_again_has_no_old_snapshot(void **state)
{
    (void)state;
    int gone[2], stays[2];
    tcp_pair(gone);
    tcp_pair(stays);
    struct keeper *keeper = start();
    struct kept *kept = keeper_put(keeper, gone[0], NULL, 0, 0);
    kept_snapshot(kept, "old", 3, 0);
    kept_drop(&kept);
    assert_non_null(keeper_put(keeper, stays[0], NULL, 0, 0));
    assert_int_equal(keeper_leave(&keeper), 1);
    keeper = start();
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.len[0], 0);
    assert_flows(stays[1], found.fd[0]);
    kept_drop(&found.kept[0]);
    close(found.fd[0]);
    keeper_leave(&keeper);
    for (int i = 0; i < 2; i++) {
        close(gone[i]);
        close(stays[i]);
    }
}

static struct keeper_message ask(int socket, struct keeper_message message, const int *fds,
                                 size_t fd_count)
{
    int got[KEEPER_BATCH];
    size_t count;
    assert_true(keeper_send(socket, &message, fds, fd_count, true));
    assert_int_equal(keeper_receive(socket, &message, got, &count, true), KEEPER_GOT);
    while (count)
        close(got[--count]);
    return message;
}

/* The first connection stays; were it replaced, nobody could end it any more. */
static void test_a_slot_is_given_once(void **state)
{
    (void)state;
    int first[2], second[2];
    struct err err = {0};
    tcp_pair(first);
    tcp_pair(second);
    int socket = keeper_find(path, &err);
    assert_true(socket >= 0);
    struct keeper_message hello = {.kind = KEEPER_HELLO, .ms = MINUTE};
    struct keeper_message put = {.kind = KEEPER_PUT, .slot = 7};
    assert_int_equal(ask(socket, hello, NULL, 0).kind, KEEPER_WELCOME);
    assert_int_equal(ask(socket, put, &first[0], 1).kind, KEEPER_DONE);
    assert_int_equal(ask(socket, put, &second[0], 1).kind, KEEPER_FULL);
    struct keeper_message given =
        ask(socket, (struct keeper_message){.kind = KEEPER_TAKE}, NULL, 0);
    assert_int_equal(given.count, 1);
    assert_int_equal(given.slots[0], 7);
    close(first[0]);
    close(second[0]);
    assert_true(closes(second[1]));
    assert_true(is_open(first[1]));
    struct keeper_message drop = {.kind = KEEPER_DROP, .slot = 7};
    assert_true(keeper_send(socket, &drop, NULL, 0, true));
    assert_true(closes(first[1]));
    struct keeper_message leave = {.kind = KEEPER_LEAVE};
    assert_int_equal(ask(socket, leave, NULL, 0).kind, KEEPER_LEFT);
    close(socket);
    close(first[1]);
    close(second[1]);
}

int main(int argc, char **argv)
{
    keeper_process_resume(argc, argv);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_slot_that_is_used_again_has_no_old_snapshot, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_slot_is_given_once, setup, teardown),
    };
    return cmocka_run_group_tests_name("keeper slots", tests, NULL, NULL);
}
