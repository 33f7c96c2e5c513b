/* Tickets of child sessions: good once, for a minute, and for their own bearer only. */
#include "cmocka_prelude.h"

#include "relay/access/tickets.h"

#include <string.h>

struct fixture {
    struct tickets *tickets;
    int a, b; /* bearers */
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture.tickets = tickets_create();
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    tickets_destroy(&fixture->tickets);
    assert_null(fixture->tickets);
    return 0;
}

static void one_is_good_once(void **state)
{
    struct fixture *fixture = *state;
    char text[TICKET_ROOM];
    void *bearer = NULL;
    tickets_issue(fixture->tickets, &fixture->a, 1000, text);
    assert_int_equal(tickets_use(fixture->tickets, text, 2000, &bearer), TICKET_GOOD);
    assert_ptr_equal(bearer, &fixture->a);
    bearer = NULL;
    assert_int_equal(tickets_use(fixture->tickets, text, 2001, &bearer), TICKET_USED);
    assert_null(bearer);
    /* A used one is not said to have expired. */
    assert_int_equal(tickets_use(fixture->tickets, text, 9000000, &bearer), TICKET_USED);
}

static void it_is_hex_and_never_the_same(void **state)
{
    struct fixture *fixture = *state;
    char one[TICKET_ROOM], other[TICKET_ROOM];
    tickets_issue(fixture->tickets, &fixture->a, 0, one);
    tickets_issue(fixture->tickets, &fixture->a, 0, other);
    assert_string_not_equal(one, other);
    assert_int_equal(strlen(one), TICKET_ROOM - 1);
    assert_int_equal(strspn(one, "0123456789abcdef"), TICKET_ROOM - 1);
}

static void each_has_its_bearer(void **state)
{
    struct fixture *fixture = *state;
    char one[TICKET_ROOM], other[TICKET_ROOM];
    void *bearer = NULL;
    tickets_issue(fixture->tickets, &fixture->a, 0, one);
    tickets_issue(fixture->tickets, &fixture->b, 0, other);
    assert_int_equal(tickets_use(fixture->tickets, other, 1, &bearer), TICKET_GOOD);
    assert_ptr_equal(bearer, &fixture->b);
    assert_int_equal(tickets_use(fixture->tickets, one, 1, &bearer), TICKET_GOOD);
    assert_ptr_equal(bearer, &fixture->a);
}

static void others_are_unknown(void **state)
{
    struct fixture *fixture = *state;
    char text[TICKET_ROOM], almost[TICKET_ROOM + 1];
    void *bearer = NULL;
    tickets_issue(fixture->tickets, &fixture->a, 0, text);
    memcpy(almost, text, sizeof text);
    almost[TICKET_ROOM - 1] = '0'; /* longer */
    almost[TICKET_ROOM] = '\0';
    assert_int_equal(tickets_use(fixture->tickets, almost, 1, &bearer), TICKET_UNKNOWN);
    memcpy(almost, text, sizeof text);
    almost[TICKET_ROOM - 2] = '\0'; /* shorter */
    assert_int_equal(tickets_use(fixture->tickets, almost, 1, &bearer), TICKET_UNKNOWN);
    assert_int_equal(tickets_use(fixture->tickets, "", 1, &bearer), TICKET_UNKNOWN);
    almost[0] = almost[0] == 'a' ? 'b' : 'a';
    assert_int_equal(tickets_use(fixture->tickets, almost, 1, &bearer), TICKET_UNKNOWN);
    assert_null(bearer);
    assert_int_equal(tickets_use(fixture->tickets, text, 1, &bearer), TICKET_GOOD);
}

static void it_lives_for_a_minute(void **state)
{
    struct fixture *fixture = *state;
    char one[TICKET_ROOM], other[TICKET_ROOM];
    void *bearer = NULL;
    tickets_issue(fixture->tickets, &fixture->a, 500, one);
    tickets_issue(fixture->tickets, &fixture->b, 501, other);
    assert_int_equal(tickets_use(fixture->tickets, one, 500 + TICKET_LIFE_MS, &bearer),
                     TICKET_EXPIRED);
    assert_null(bearer);
    assert_int_equal(tickets_use(fixture->tickets, other, 500 + TICKET_LIFE_MS, &bearer),
                     TICKET_GOOD);
}

static void revoking_is_for_what_is_still_good(void **state)
{
    struct fixture *fixture = *state;
    char used[TICKET_ROOM], good[TICKET_ROOM], other[TICKET_ROOM];
    void *bearer = NULL;
    tickets_issue(fixture->tickets, &fixture->a, 0, used);
    tickets_issue(fixture->tickets, &fixture->a, 0, good);
    tickets_issue(fixture->tickets, &fixture->b, 0, other);
    assert_int_equal(tickets_use(fixture->tickets, used, 1, &bearer), TICKET_GOOD);
    tickets_revoke(fixture->tickets, &fixture->a);
    bearer = NULL;
    assert_int_equal(tickets_use(fixture->tickets, used, 1, &bearer), TICKET_USED);
    assert_int_equal(tickets_use(fixture->tickets, good, 1, &bearer), TICKET_REVOKED);
    assert_null(bearer);
    assert_int_equal(tickets_use(fixture->tickets, other, 1, &bearer), TICKET_GOOD);
}

static void a_long_life_needs_little_memory(void **state)
{
    struct fixture *fixture = *state;
    char first[TICKET_ROOM], text[TICKET_ROOM];
    void *bearer = NULL;
    tickets_issue(fixture->tickets, &fixture->b, 0, first);
    for (int64_t i = 0; i < 2000; i++) {
        tickets_issue(fixture->tickets, &fixture->a, i, text);
        assert_int_equal(tickets_use(fixture->tickets, text, i, &bearer), TICKET_GOOD);
    }
    assert_in_range(tickets_count(fixture->tickets), 100, 300);
    /* What is good is never forgotten. */
    assert_int_equal(tickets_use(fixture->tickets, first, 2000, &bearer), TICKET_GOOD);
    assert_ptr_equal(bearer, &fixture->b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_is_good_once, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_hex_and_never_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(each_has_its_bearer, setup, teardown),
        cmocka_unit_test_setup_teardown(others_are_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(it_lives_for_a_minute, setup, teardown),
        cmocka_unit_test_setup_teardown(revoking_is_for_what_is_still_good, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_life_needs_little_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
