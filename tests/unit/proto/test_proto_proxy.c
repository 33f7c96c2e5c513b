/* Which connection goes to which proxy. */
#include "cmocka_prelude.h"

#include "proto/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_loopback_in_every_form(void **state)
{
    (void)state;
    static const char *const here[] = {
        "127.0.0.1",
        "127.9.9.9",
        "127.1",
        "2130706433",
        "0x7f.1",
        "::1",
        "0::1",
        "::ffff:127.0.0.1",
        "::ffff:7f00:102",
        "0:0:0:0:0:0:0:1",
        "localhost",
        "LocalHost",
        "localhost.",
    };
    static const char *const elsewhere[] = {
        "",
        "128.0.0.1",
        "0.0.0.0",
        "::",
        "::2",
        "::ffff:10.0.0.1",
        "10",
        "localhost.evil.",
        "127.0.0.1.evil.org",
        "a.localhost",
        "localhost..",
    };
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        if (!proxy_is_loopback(here[i]))
            fail_msg("%s", here[i]);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (proxy_is_loopback(elsewhere[i]))
            fail_msg("%s", elsewhere[i]);
}

static void test_no_proxy(void **state)
{
    (void)state;
    static const struct {
        const char *list, *host;
        bool has;
    } cases[] = {
        {NULL, "a", false},
        {"", "a", false},
        {" , ,", "a", false},
        {"*", "a", true},
        {"b,*", "10.0.0.1", true},
        {"a.org", "a.org", true},
        {"A.Org.", "a.oRG", true},
        {".a.org", "a.org.", true},
        {"a.org", "x.a.org", true},
        {"..a.org", "x.a.org", true},
        {"a.org", "xa.org", false},
        {"x.a.org", "a.org", false},
        {"a.org:443", "a.org", true},
        {"b.org\ta.org", "a.org", true},
        {".", "a", false},
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1:80", "10.0.0.1", true},
        {"10.1", "10.0.0.1", true},
        {"10.0.0.1", "110.0.0.1", false},
        {"0.0.1", "10.0.0.1", false},
        {"10.0.0.0/8", "10.255.0.1", true},
        {"10.0.0.0/8", "11.0.0.1", false},
        {"10.0.0.128/25", "10.0.0.127", false},
        {"10.0.0.128/25", "10.0.0.129", true},
        {"10.0.0.0/33", "10.0.0.1", false},
        {"10.0.0.0/", "10.0.0.0", false},
        {"10.0.0.0/-1", "10.0.0.0", false},
        {"a/8", "a", false},
        {"0.0.0.0/0", "10.0.0.1", true},
        {"0.0.0.0/0", "fd00::1", false},
        {"::/0", "10.0.0.1", false},
        {"fd00::/8", "fdff::1", true},
        {"fd00::/8", "fe00::1", false},
        {"[fd00::1]", "fd00:0::1", true},
        {"[fd00::1]:443", "fd00::1", true},
        {"fd00::1", "fd00::1", true},
        {"10.0.0.1", "::ffff:10.0.0.1", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (proxy_list_has(cases[i].list, cases[i].host) != cases[i].has)
            fail_msg("%s in %s", cases[i].host, cases[i].list);
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void test_the_variables(void **state)
{
    (void)state;
    static const struct {
        const char *lower, *upper, *no_lower, *no_upper, *address, *user;
    } cases[] = {
        {.lower = "http://p:3128/", .address = "p:3128"},
        {.upper = "HTTP://p:3128", .address = "p:3128"},
        {.lower = "p:1", .upper = "q:2", .address = "p:1"},
        {.lower = "", .upper = "q:2"},
        {.lower = "[::1]:8", .address = "[::1]:8"},
        {.lower = "http://a:b%40c%@p:1", .address = "p:1", .user = "a:b@c%"},
        {.lower = "http://a:b@c@p:1", .address = "p:1", .user = "a:b@c"},
        {.lower = "p:1", .no_lower = "h.org"},
        {.lower = "p:1", .no_upper = "h.org"},
        {.lower = "p:1", .no_lower = "", .no_upper = "h.org", .address = "p:1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct proxy proxy;
        struct err err = {0};
        set("https_proxy", cases[i].lower);
        set("HTTPS_PROXY", cases[i].upper);
        set("no_proxy", cases[i].no_lower);
        set("NO_PROXY", cases[i].no_upper);
        assert_int_equal(proxy_find(&proxy, "h.org", &err), 0);
        assert_string_equal(proxy.address ? proxy.address : "",
                            cases[i].address ? cases[i].address : "");
        assert_string_equal(proxy.user ? proxy.user : "", cases[i].user ? cases[i].user : "");
        proxy_clear(&proxy);
        assert_int_equal(proxy_find(&proxy, "127.0.0.1", &err), 0);
        assert_null(proxy.address);
    }
}

/* The text of an error never has a password. */
static void test_values_that_cannot_be_used(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "https://secret@p:1",
        "socks5://secret@p:1",
        "p",
        "http://secret@p",
        ":1",
        "p:0",
        "p:65536",
        "secret@",
        "p: 1",
        "http://",
    };
    char long_user[200];
    snprintf(long_user, sizeof long_user, "%0150d:secret@p:1", 1);
    set("HTTPS_PROXY", NULL);
    set("no_proxy", NULL);
    set("NO_PROXY", NULL);
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        struct proxy proxy;
        struct err err = {0};
        char line[512];
        set("https_proxy", i < sizeof bad / sizeof *bad ? bad[i] : long_user);
        assert_int_equal(proxy_find(&proxy, "h.org", &err), -1);
        err_line(&err, line, sizeof line);
        assert_non_null(strstr(line, "https_proxy"));
        assert_null(strstr(line, "secret"));
        assert_null(proxy.address);
        assert_null(proxy.user);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback_in_every_form),
        cmocka_unit_test(test_no_proxy),
        cmocka_unit_test(test_the_variables),
        cmocka_unit_test(test_values_that_cannot_be_used),
    };
    return cmocka_run_group_tests_name("proxy", tests, NULL, NULL);
}
