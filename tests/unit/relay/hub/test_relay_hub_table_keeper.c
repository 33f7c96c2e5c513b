/* What a relay takes over from the one before, and what it cannot. */
#include "cmocka_prelude.h"
#include "keeper_fixture.h"

#include "relay/hub/hub_table.h"
#include "relay/keeper/keeper_process.h"

static void on_change(void *arg)
{
    (void)arg;
}

/* An older relay, or a newer one, has left a connection: its task is not to wait for ever. */
static void what_cannot_be_read_is_let_go(void **state)
{
    (void)state;
    static const struct hub_table_ops ops = {.on_change = on_change};
    int pair[2];
    tcp_pair(pair);
    body_fd = pair[0];
    pid_t relay = fork_relay(put_one, NULL);
    kill_relay(relay);
    close(pair[0]);
    assert_true(is_open(pair[1]));
    struct keeper *keeper = start();
    struct hub_table_options options = {
        .loop = loop_create(false, NULL), .keeper = keeper, .name = "test"};
    struct hub_table *hubs = hub_table_create(&options, &ops, NULL);
    assert_int_equal(hub_table_take_over(hubs), 0);
    assert_true(closes(pair[1]));
    close(pair[1]);
    hub_table_destroy(&hubs);
    loop_destroy(&options.loop);
    assert_int_equal(keeper_leave(&keeper), 0);
}

int main(int argc, char **argv)
{
    keeper_process_resume(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_let_go, setup, teardown),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests_name("hub_table_keeper", tests, NULL, NULL);
}
