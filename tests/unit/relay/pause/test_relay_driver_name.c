/* What a driver is called, by its command line. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/pause/driver_name.h"

#include <stdlib.h>

static void programs(void **state)
{
    (void)state;
    static const struct {
        const char *entrypoint, *program;
    } rows[] = {
        {"python train.py", "train.py"},
        {"python3.11 -u -X dev -W ignore /home/me/train.py --lr 1", "train.py"},
        {"/usr/bin/python3 \"/home/my dir/train.py\" -m no", "train.py"},
        {"\"/opt/my python/bin/python\" a\\\"b.py", "a\"b.py"},
        {"python -m pkg.train --epochs 3", "pkg.train"},
        {"python -c \"import ray\"", NULL},
        {"python -", NULL},
        {"python", NULL},
        {"(interactive_shell) python", NULL},
        {"cd /app && FOO=1 python train.py", "train.py"},
        {"./bundle --port 1", "bundle"},
        {"unknown", NULL},
        {"  ", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *program = driver_program(rows[i].entrypoint);
        assert_true(text_equal(program, rows[i].program));
        free(program);
    }
}

static void names(void **state)
{
    (void)state;
    char *name = driver_name("train.py");
    assert_string_equal(name, "driver train.py");
    free(name);
    name = driver_name(NULL);
    assert_string_equal(name, "driver");
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
