/* What a job's runtime_env says about debugpy. */
#include "cmocka_prelude.h"

#include "proto/runtime_env.h"

#include <stdio.h>
#include <string.h>

static void check(const char *text, enum runtime_packages expected)
{
    if (runtime_env_packages(text) != expected)
        fail_msg("%s: %d and not %d", text, (int)runtime_env_packages(text), (int)expected);
}

static void packages_of_the_node(void **state)
{
    (void)state;
    assert_int_equal(runtime_env_packages(NULL), RUNTIME_PACKAGES_NODE);
    check("", RUNTIME_PACKAGES_NODE);
    check("{}", RUNTIME_PACKAGES_NODE);
    check("{\"env_vars\": {\"pip\": \"debugpy\"}}", RUNTIME_PACKAGES_NODE);
    check("{\"pip\": []}", RUNTIME_PACKAGES_NODE);
    check("{\"pip\": [\"debugpy-mode==1\", \"debugpyx\", 7, null]}", RUNTIME_PACKAGES_NODE);
    check("{\"pip\": {\"packages\": [\"numpy\"]}}", RUNTIME_PACKAGES_NODE);
    check("{\"pip\": [\"./wheels/debugpy-1.8.22.tar.gz\"]}", RUNTIME_PACKAGES_NODE);
}

static void debugpy_is_named(void **state)
{
    (void)state;
    static const char *const names[] = {"debugpy",
                                        "Debugpy",
                                        "debugpy>=1.8.0",
                                        "debugpy ~= 1.8",
                                        "debugpy[x]==1.8.0",
                                        " debugpy;python_version>'3'",
                                        "debugpy@file:/d",
                                        "/w/debugpy-1.8.22-cp311-cp311-manylinux_2_34_x86_64.whl",
                                        "https://h/debugpy-1.8.22-py2.py3-none-any.whl"};
    static const char *const forms[] = {
        "{\"pip\": [\"numpy\", \"*\"]}",
        "{\"pip\": {\"packages\": [\"*\"], \"pip_check\": false}}",
        "{\"uv\": [\"*\"]}",
        "{\"uv\": {\"packages\": [\"*\"]}}",
        "{\"conda\": {\"dependencies\": [\"pip\", {\"pip\": [\"*\"]}]}}",
        "{\"conda\": {\"dependencies\": [\"*\"]}}",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
            char text[200];
            const char *gap = strchr(forms[k], '*');
            snprintf(text, sizeof text, "%.*s%s%s", (int)(gap - forms[k]), forms[k], names[i],
                     gap + 1);
            check(text, RUNTIME_PACKAGES_DEBUGPY);
        }
}

static void packages_of_its_own(void **state)
{
    (void)state;
    check("{\"conda\": \"torch\"}", RUNTIME_PACKAGES_OWN);
    check("{\"conda\": {\"dependencies\": [\"numpy\"]}}", RUNTIME_PACKAGES_OWN);
    check("{\"image_uri\": \"docker.io/r/ray\"}", RUNTIME_PACKAGES_OWN);
    check("{\"container\": {\"image\": \"r\"}}", RUNTIME_PACKAGES_OWN);
    check("{\"py_executable\": \"uv run\"}", RUNTIME_PACKAGES_OWN);
}

static void anything_else_says_nothing(void **state)
{
    (void)state;
    check("[]", RUNTIME_PACKAGES_UNKNOWN);
    check("{\"pip\": [\"debugpy\"", RUNTIME_PACKAGES_UNKNOWN);
    check("null", RUNTIME_PACKAGES_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packages_of_the_node),
        cmocka_unit_test(debugpy_is_named),
        cmocka_unit_test(packages_of_its_own),
        cmocka_unit_test(anything_else_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
