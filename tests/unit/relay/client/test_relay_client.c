/* The way out to one client, while a message passes in parts by another way. */
#include "cmocka_prelude.h"

#include "relay/client/client.h"

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

static void on_halves(void *arg, const char *head, size_t head_len, const char *rest,
                      size_t rest_len)
{
    struct buf *all = arg;
    buf_add_string(all, "halves:");
    buf_add(all, head, head_len);
    buf_add(all, rest, rest_len);
    buf_add_string(all, "\n");
}

static void on_pass(void *arg, const char *json, size_t len, const struct envelope *envelope,
                    int64_t request_seq)
{
    struct buf *all = arg;
    buf_printf(all, "pass %s %d:", envelope->name, (int)request_seq);
    buf_add(all, json, len);
    buf_add_string(all, "\n");
}

/* A response of which `tail` stands behind the body. */
static struct buf response(size_t size, const char *tail)
{
    struct buf json = {0};
    buf_add_string(&json, "{\"seq\": 5, \"type\": \"response\", \"command\": \"x\", \"body\": \"");
    for (size_t i = 0; i < size; i++)
        buf_add_string(&json, "b");
    buf_printf(&json, "\", %s}", tail);
    return json;
}

static void pass(struct client *client, const struct buf *json)
{
    struct envelope envelope;
    const char *problem;
    assert_int_equal(envelope_read(&envelope, json->data, json->len, &problem), 0);
    client_pass(client, json->data, json->len, &envelope, 70);
}

/* In two runs a message has the bytes that it has in one, wherever its numbers stand. */
static void test_long_messages_in_halves(void **state)
{
    (void)state;
    static const char *const tails[] = {"\"success\": true, \"request_seq\": 6",
                                        "\"success\": true"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        struct buf whole = {0}, halves = {0}, json = response(100000, tails[i]);
        struct client one, two;
        client_init(&one, on_message, &whole);
        client_init(&two, on_message, &halves);
        two.halves = on_halves;
        pass(&one, &json);
        pass(&two, &json);
        assert_int_equal(halves.len, whole.len + strlen("halves:"));
        assert_string_equal(halves.data + strlen("halves:"), whole.data);
        assert_non_null(strstr(whole.data, i ? "\"request_seq\":70," : "\"request_seq\": 70}"));
        client_free(&one);
        client_free(&two);
        buf_free(&json);
        buf_free(&whole);
        buf_free(&halves);
    }
}

static void test_halves_wait_and_stop_as_others(void **state)
{
    (void)state;
    struct buf all = {0}, small = response(10, "\"success\": true");
    struct buf large = response(100000, "\"success\": true");
    struct client client;
    client_init(&client, on_message, &all);
    client.halves = on_halves;
    pass(&client, &small);
    assert_null(strstr(all.data, "halves:"));
    buf_clear(&all, 0);
    client_large(&client, true);
    pass(&client, &large);
    assert_int_equal(all.len, 0);
    client_large(&client, false);
    assert_int_equal(lines(&all), 1);
    client.gone = true;
    pass(&client, &large);
    assert_int_equal(lines(&all), 1);
    client_free(&client);
    buf_free(&small);
    buf_free(&large);
    buf_free(&all);
}

/* Who reads the debuggee's messages itself gets them as they are; the session's own go the usual
 * way. */
static void test_messages_as_they_came(void **state)
{
    (void)state;
    struct buf all = {0}, json = response(3, "\"success\": true, \"request_seq\": 6");
    struct client client;
    client_init(&client, on_message, &all);
    client.pass = on_pass;
    pass(&client, &json);
    assert_string_equal(all.data,
                        "pass x 70:{\"seq\": 5, \"type\": \"response\", \"command\": \"x\", "
                        "\"body\": \"bbb\", \"success\": true, \"request_seq\": 6}\n");
    buf_clear(&all, 0);
    client_event(&client, "one", NULL);
    assert_null(strstr(all.data, "pass"));
    client.gone = true;
    pass(&client, &json);
    assert_int_equal(lines(&all), 1);
    client_free(&client);
    buf_free(&json);
    buf_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_comes_into_a_message_in_parts),
        cmocka_unit_test(test_who_is_gone_gets_nothing),
        cmocka_unit_test(test_long_messages_in_halves),
        cmocka_unit_test(test_halves_wait_and_stop_as_others),
        cmocka_unit_test(test_messages_as_they_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
