/* The way out to one client, while a message passes in parts by another way. */
#include "cmocka_prelude.h"

#include "relay/client.h"

#include <string.h>

static void on_message(void *arg, const char *json, size_t len)
{
    struct buf *all = arg;
    buf_add(all, json, len);
    buf_add_string(all, "\n");
}

static size_t lines(const struct buf *all)
{
    size_t count = 0;
    for (size_t i = 0; i < all->len; i++)
        count += all->data[i] == '\n';
    return count;
}

static void test_nothing_comes_into_a_message_in_parts(void **state)
{
    (void)state;
    struct buf all = {0};
    struct client client;
    client_init(&client, on_message, &all);
    client_event(&client, "one", NULL);
    assert_int_equal(lines(&all), 1);
    client_large(&client, true);
    client_event(&client, "two", NULL);
    client_respond(&client, 7, "three", "{\"x\":1}");
    assert_int_equal(lines(&all), 1);
    client_large(&client, false);
    assert_int_equal(lines(&all), 3);
    const char *two = strstr(all.data, "\"two\""), *three = strstr(all.data, "\"three\"");
    assert_true(two && three && two < three);
    client_event(&client, "four", NULL);
    assert_int_equal(lines(&all), 4);
    client_free(&client);
    buf_free(&all);
}

static void test_who_is_gone_gets_nothing(void **state)
{
    (void)state;
    struct buf all = {0};
    struct client client;
    client_init(&client, on_message, &all);
    client_large(&client, true);
    client_event(&client, "one", NULL);
    client.gone = true;
    client_large(&client, false);
    assert_int_equal(all.len, 0);
    client_free(&client);
    buf_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_comes_into_a_message_in_parts),
        cmocka_unit_test(test_who_is_gone_gets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
