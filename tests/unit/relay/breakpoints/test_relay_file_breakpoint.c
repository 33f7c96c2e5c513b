/* A breakpoint by file: what is sound, and what the process is sent for it. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/breakpoints/file_breakpoint.h"

#include <stdlib.h>
#include <string.h>

static int read(struct file_breakpoint *out, const char *json, struct err *err)
{
    return file_breakpoint_read(out, json, (struct span){0, strlen(json)}, err);
}

static void all_fields_come_back(void **state)
{
    (void)state;
    static const char json[] =
        "{\"id\":7,\"line\":57,\"file\":\"/w/t.py\",\"if\":\"loss != loss\","
        "\"log\":\"{x}\",\"task\":\"Trainer.*\",\"node\":\"10.0.0.9\",\"rank\":0,"
        "\"hit\":3,\"skip\":7,\"hits\":4";
    struct file_breakpoint one;
    struct err err;
    struct buf out = {0}, whole = {0};
    buf_printf(&whole, "%s}", json);
    assert_int_equal(read(&one, whole.data, &err), 0);
    file_breakpoint_json(&one, &out);
    assert_string_equal(out.data, json);
    file_breakpoint_clear(&one);
    assert_null(one.file);
    buf_free(&out);
    buf_free(&whole);
}

static void what_is_not_sound_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{}",
        "{\"file\":\"/w/t.py\"}",
        "{\"line\":1}",
        "{\"file\":\"t.py\",\"line\":1}",
        "{\"file\":\"/w/t.py\",\"line\":0}",
        "{\"file\":\"/w/t.py\",\"line\":-3}",
        "{\"file\":\"/w/t.py\",\"line\":\"1\"}",
        "{\"file\":\"/w/t.py\",\"line\":1,\"hit\":-1}",
        "{\"file\":\"/w/t.py\",\"line\":1,\"rank\":-2}",
        "{\"file\":\"/w/t.py\",\"line\":1,\"skip\":-1}",
        "{\"file\":\"/w/t.py\",\"line\":1,\"skip\":4000000000}",
        "{\"file\":\"/w/t.py\",\"line\":1,\"hit\":2,\"first\":true}",
        "{\"file\":\"/w/t.py\",\"line\":1,\"log\":\"x\",\"stop_all\":true}",
        "{\"file\":7,\"line\":1}",
    };
    struct file_breakpoint one;
    struct err err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(read(&one, wrong[i], &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_null(one.file);
    }
    struct buf long_one = {0};
    buf_add_string(&long_one, "{\"line\":1,\"file\":\"/");
    for (int i = 0; i < 4100; i++)
        buf_add_string(&long_one, "x");
    buf_add_string(&long_one, "\"}");
    assert_int_equal(read(&one, long_one.data, &err), -1);
    assert_true(strstr(err.what, "4096"));
    buf_free(&long_one);
}

static void expect_dap(const char *json, const char *expected)
{
    struct file_breakpoint one;
    struct err err;
    struct buf out = {0};
    assert_int_equal(read(&one, json, &err), 0);
    file_breakpoint_dap(&one, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
    file_breakpoint_clear(&one);
}

static void the_agent_checks_what_pydevd_would_not(void **state)
{
    (void)state;
    expect_dap("{\"file\":\"/t.py\",\"line\":5}", "{\"line\":5}");
    expect_dap("{\"id\":2,\"file\":\"/t.py\",\"line\":5,\"if\":\"a == \\\"b\\\"\"}",
               "{\"line\":5,\"condition\":\"__import__('sys').modules['raydbg_agent'].check(2,"
               "\\\"\\\",-1,\\\"a == \\\\\\\"b\\\\\\\"\\\",\\\"\\\",False,globals(),locals())\"}");
    expect_dap("{\"id\":3,\"file\":\"/t.py\",\"line\":5,\"task\":\"T\",\"log\":\"l\",\"hit\":9}",
               "{\"line\":5,\"condition\":\"__import__('sys').modules['raydbg_agent'].check(3,"
               "\\\"T\\\",-1,\\\"\\\",\\\"l\\\",True,globals(),locals())\"}");
    expect_dap("{\"id\":4,\"file\":\"/t.py\",\"line\":5,\"rank\":0}",
               "{\"line\":5,\"condition\":\"__import__('sys').modules['raydbg_agent'].check(4,"
               "\\\"\\\",0,\\\"\\\",\\\"\\\",False,globals(),locals())\"}");
    expect_dap("{\"file\":\"/t.py\",\"line\":5,\"node\":\"10.0.0.9\"}", "{\"line\":5}");
}

/* `stops` has a character for each hit: x if it stops. */
static void expect_stops(const char *json, const char *stops)
{
    struct file_breakpoint one;
    struct err err;
    const char *last = strrchr(stops, 'x');
    const struct breakpoint_node anywhere = {0};
    assert_int_equal(read(&one, json, &err), 0);
    bool ends = one.hit || one.first;
    for (const char *at = stops; *at; at++) {
        assert_int_equal(file_breakpoint_count(&one), *at == 'x');
        assert_int_equal(file_breakpoint_is_spent(&one), ends && at >= last);
        assert_int_equal(file_breakpoint_reaches(&one, &anywhere), !(ends && at >= last));
    }
    assert_int_equal(one.hits, strlen(stops));
    file_breakpoint_clear(&one);
}

static void hits_are_counted(void **state)
{
    (void)state;
    expect_stops("{\"file\":\"/t.py\",\"line\":5,\"hit\":3}", "--x--");
    expect_stops("{\"file\":\"/t.py\",\"line\":5,\"skip\":2}", "--xxx");
    expect_stops("{\"file\":\"/t.py\",\"line\":5,\"first\":true}", "x---");
    expect_stops("{\"file\":\"/t.py\",\"line\":5,\"first\":true,\"skip\":2}", "--x--");
    expect_stops("{\"file\":\"/t.py\",\"line\":5,\"hit\":2,\"skip\":1}", "--x-");
    expect_stops("{\"file\":\"/t.py\",\"line\":5,\"stop_all\":true}", "xxxx");
}

static void expect_reach(const char *node, const char *node_id, const char *node_ip, bool expected)
{
    struct file_breakpoint one;
    struct err err;
    struct buf json = {0};
    const struct breakpoint_node here = {node_id, node_ip};
    buf_printf(&json, "{\"file\":\"/t.py\",\"line\":5,\"node\":\"%s\"}", node);
    assert_int_equal(read(&one, json.data, &err), 0);
    assert_int_equal(file_breakpoint_reaches(&one, &here), expected);
    file_breakpoint_clear(&one);
    buf_free(&json);
}

static void a_node_has_an_id_and_an_address(void **state)
{
    (void)state;
    expect_reach("", "", NULL, true); /* none is named */
    expect_reach("10.0.0.9", "c0ffee", "10.0.0.9", true);
    expect_reach("10.0.0.9", "c0ffee", "10.0.0.90", false);
    expect_reach("c0f", "c0ffee", "10.0.0.9", true);
    expect_reach("ffee", "c0ffee", "10.0.0.9", false);
    expect_reach("127.0.0.1", "", "127.0.0.1", false); /* a driver is none of the node's workers */
    expect_reach("c0f", "", NULL, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_fields_come_back),
        cmocka_unit_test(what_is_not_sound_is_refused),
        cmocka_unit_test(the_agent_checks_what_pydevd_would_not),
        cmocka_unit_test(hits_are_counted),
        cmocka_unit_test(a_node_has_an_id_and_an_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
